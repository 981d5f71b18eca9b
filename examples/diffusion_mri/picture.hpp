#pragma once
/// Fractional anisotropy as a picture.

#include <filesystem>

#include "tensor_shape.hpp"

namespace diffusion {

/// Writes a PNG file with the slices of the volume side by side, separated by white lines, y upwards. The upper half is gray, from 0 to 1;
/// the lower half has colours of directions (red along x, green along y, blue along z), brighter with more anisotropy. A voxel has `pixels`
/// x `pixels` pixels; a voxel without tensor is black. Throws std::runtime_error that names the file if it cannot be written.
void draw_anisotropy(std::filesystem::path const& path, std::array<std::int64_t, 3> const& shape, TensorShapes const& shapes, int pixels);

}  // namespace diffusion
