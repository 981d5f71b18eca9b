#pragma once
/// Batches for kernels on the host twin.

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "myriad/batch.hpp"
#include "simt/tile.hpp"

namespace myriad {

using simt::Layout;

inline constexpr std::array layouts{Layout::packed_columns, Layout::interleaved, Layout::packed_rows, Layout::dense_rows, Layout::columns};

/// A kernel's layout of a ragged batch.
constexpr Layout ragged_layout(Layout layout) { return simt::is_by_rows(layout) ? Layout::ragged_rows : Layout::ragged_columns; }

/// A batch with its memory.
template <typename T>
struct Stored {
  std::vector<T> memory;
  std::vector<std::int64_t> sizes;
  Batch<T> view;

  Stored(int m, int n, std::int64_t count, Layout layout) : memory(static_cast<std::size_t>((m * n + 1) * count + 8)) {
    switch (layout) {
      case Layout::interleaved:
        view = interleaved(memory.data(), m, n, count);
        break;
      case Layout::packed_rows:
        view = row_major(memory.data(), m, n, {.count = count});
        break;
      case Layout::rows:
      case Layout::ragged_rows:
      case Layout::dense_rows:
        view = row_major(memory.data() + 1, m, n, {.stride = m * n + 1, .count = count});  // few begin at multiples of 16 bytes
        break;
      case Layout::columns:
      case Layout::ragged_columns:
      case Layout::dense_columns:
        view = batch(memory.data() + 1, m, n, {.stride = m * n + 1, .count = count});
        break;
      case Layout::packed_columns:
        view = batch(memory.data(), m, n, {.count = count});
        break;
    }
  }
};

/// Normally distributed numbers.
template <typename T>
void fill(std::vector<T>& memory, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<Real<T>> normal;
  for (T& x : memory) {
    if constexpr (is_complex<T>)
      x = T(normal(random), normal(random));
    else
      x = normal(random);
  }
}

}  // namespace myriad
