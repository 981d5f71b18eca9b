#pragma once
/// Pictures of fractional anisotropy and of denoising.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tensor_shape.hpp"

namespace diffusion {

/// Writes a PNG file with the slices of the volume side by side, separated by white lines, y upwards. The upper half is gray, from 0 to 1;
/// the lower half has colours of directions (red along x, green along y, blue along z), brighter with more anisotropy. A voxel has `pixels`
/// x `pixels` pixels; a voxel without tensor is black. Throws std::runtime_error that names the file if it cannot be written.
void draw_anisotropy(std::filesystem::path const& path, std::array<std::int64_t, 3> const& shape, TensorShapes const& shapes, int pixels);

/// Writes a PNG file with one slice of one measurement, y upwards: before denoising, after it, and what was removed. Signals are gray from
/// 0 to the largest one before; of the removed part, gray is 0, and black and white are three times the noise level below and above.
void draw_denoising(std::filesystem::path const& path, Volume const& before, std::vector<double> const& after, double noise,
                    std::int64_t slice, std::int64_t measurement, int pixels);

}  // namespace diffusion
