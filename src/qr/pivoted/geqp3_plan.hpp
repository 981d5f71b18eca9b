#pragma once
/// Plan of QR with column pivoting. Not measured.

#include <cstdint>

#include "qr/pivoted/geqp3_config.cuh"

namespace myriad {

constexpr Geqp3 geqp3_plan(Geqp3In in) { return {in, 2}; }

/// Whether a block holds an m-by-n matrix in so many bytes of shared memory.
template <typename D>
constexpr bool geqp3_holds(std::int64_t m, std::int64_t n, std::int64_t shared_bytes) {
  return m <= shared_bytes && n <= shared_bytes && Geqp3Memory<D>::bytes(geqp3_plan(Geqp3In::shared_memory), m, n) <= shared_bytes;
}

/// Threads of a block; the result does not depend on it. About four columns of a warp at a time, and 16 rows of a lane at most.
constexpr int geqp3_threads(std::int64_t m, std::int64_t n) {
  std::int64_t const work = m * n;
  return m <= 32 && n <= 32 ? 32 : work <= 64 * 64 ? 64 : work <= 96 * 96 ? 128 : 256;
}

}  // namespace myriad
