#pragma once
/// A synthetic volume with known tensors.

#include "tensor_fit.hpp"

namespace diffusion {

struct Phantom {
  Volume volume;
  Fit truth;                      ///< the tensors that generated the signals
  std::vector<bool> has_fibres;   ///< per voxel
  std::vector<double> direction;  ///< of its fibres; as an interleaved batch of vectors
  double noise = 0;               ///< standard deviation of a channel, in the signal's units
};

/// A slab of `extent` x `extent` x `thickness` voxels: a ring of fibres that run along it, a beam of fibres through its middle, water
/// within the ring, and tissue without directions around. 64 directions with b = 1000 s/mm^2 and one measurement without gradient. `noise`
/// is the standard deviation of the receiver's two channels relative to the signal without gradient; the signal is their magnitude (Rician
/// noise). The same seed gives the same volume. Throws std::invalid_argument for an empty slab or negative noise.
[[nodiscard]] Phantom make_phantom(std::int64_t extent, std::int64_t thickness, double noise, unsigned seed);

}  // namespace diffusion
