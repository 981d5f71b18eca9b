#pragma once
/// Fractional anisotropy as a picture.

#include <filesystem>

#include "tensor_shape.hpp"

namespace diffusion {

/// Writes a PNG file with the slices of the volume side by side, a white line apart, upwards in y; above in shades of gray, from 0 to 1,
/// below in the colours of the directions: red along x, green along y, blue along z, the brighter the more anisotropic. A voxel has
/// `pixels` x `pixels` pixels; one that has no tensor is black. Throws std::runtime_error that names the file where it cannot be written.
void draw_anisotropy(std::filesystem::path const& path, std::array<std::int64_t, 3> const& shape, TensorShapes const& shapes, int pixels);

}  // namespace diffusion
