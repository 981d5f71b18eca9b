#pragma once
/// The fit of all tensors and its report on the terminal.

#include <filesystem>

#include "phantom.hpp"

namespace diffusion {

/// Fits the tensors by QR and by the normal equations, and prints times and the usual quantities; of a phantom (else null) also the errors.
/// Writes a picture unless the path is empty. Returns the exit status: 1 if a voxel has no solution.
int report_fit(Volume const& volume, Phantom const* phantom, std::filesystem::path const& picture, myriad::Backend backend);

}  // namespace diffusion
