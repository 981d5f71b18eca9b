#pragma once
/// Applies Q of a reduction to tridiagonal form to vectors, by a block.

#include "simt/types.hpp"

namespace myriad::simt {

/// Last columns without a reflector: the last two of a real matrix are tridiagonal already; for complex matrices the last off-diagonal
/// element must become real.
template <typename T>
inline constexpr int columns_without_reflector = is_complex<T> ? 1 : 2;

/// Back-transformation: applies Q of a reduction to vectors of the tridiagonal matrix, from the last reflector on. Several lanes share a
/// column in registers; the order of sums does not depend on their number.
template <typename T, int N, int threads>
struct ReflectorsByBlock {
  static constexpr bool is_small = N <= 128 && N * static_cast<int>(sizeof(T)) <= 1024;
  static constexpr int lanes = is_small ? 4 : 8;  ///< of a column
  static constexpr int held = N / lanes;          ///< rows of a lane
  static constexpr int passes = lanes * N / threads;
  static constexpr int at_once = N > 224 ? 2 : 4;  ///< rows, limited by registers
  static_assert(held % at_once == 0 && passes * threads == lanes * N);

  /// `from(i, j)`: elements of the vectors, n columns of n rows. `to(i, j)`: their destination in shared memory, which may overlap `from`,
  /// except that the columns of pass m > 0, from n m / passes on, must not be overwritten earlier. `v`: in global memory, the vector of
  /// H(k) below the diagonal of column k and its tau on the diagonal. `memory`: 4 n elements. All threads of the block call this, with a
  /// barrier before and after it.
  template <typename From, typename To>
  SIMT_INLINE static void apply(int n, From from, To to, T const* v, Index row_stride, Index col_stride, char* memory) {
    // unknown(): with few registers, values derived from the thread's index would be spilled for the whole kernel.
    int const thread = N > 160 ? static_cast<int>(unknown(static_cast<unsigned>(thread_index()))) : thread_index();
    int const part = thread % lanes;
    auto const row = [&](int r) { return part + r * lanes; };
    int const last = n - columns_without_reflector<T> - 1;
    // Reflectors are loaded two at a time, double-buffered: number m, counted from the last one, is in slot m % 4.
    T* const stage = reinterpret_cast<T*>(memory);
    auto const load_reflectors = [&](int first) {
      int const m = first + thread / N, k = last - m, i = thread % N;
      if (m < first + 2 && k >= 0 && i >= k && i < n) copy_async(stage + m % 4 * n + i, v + i * row_stride + k * col_stride);
    };
    SIMT_LOOP
    for (int pass = 0; pass < passes; ++pass) {
      int const j = n * pass / passes + thread / lanes;
      bool const is = j < n * (pass + 1) / passes;
      T x[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) x[r] = is && row(r) < n ? from_real<T>(from(row(r), j)) : from_real<T>(0);
      sync_block();
      load_reflectors(0);
      SIMT_LOOP
      for (int k = last; k >= 0; --k) {
        int const m = last - k;
        if (m % 2 == 0) {
          wait_copies();
          sync_block();
          load_reflectors(m + 2);
        }
        T const* const of_column = stage + m % 4 * n;
        auto const load = [&](int first, T(&of_v)[at_once]) {
          SIMT_UNROLL
          for (int r = 0; r < at_once; ++r) {
            int const i = row(first + r);
            of_v[r] = i > k && i < n ? of_column[i] : from_real<T>(0);
          }
        };
        T products[2]{};  // four lanes: two sums, of alternating rows; eight lanes: one sum
        SIMT_UNROLL
        for (int first = 0; first < held; first += at_once) {
          if ((first + at_once) * lanes <= k || first * lanes >= n) continue;
          T of_v[at_once];
          load(first, of_v);
          SIMT_UNROLL
          for (int r = 0; r < at_once; ++r) {
            T& product = products[lanes == 4 ? r % 2 : 0];
            product = conjugate_multiply_add(of_v[r], x[first + r], product);
          }
        }
        T product = products[0] + (lanes == 4 ? products[1] : shuffle_xor(products[0], 4));
        product = product + shuffle_xor(product, 1);
        product = product + shuffle_xor(product, 2);
        product = of_column[k] * product;
        SIMT_UNROLL
        for (int first = 0; first < held; first += at_once) {
          if ((first + at_once) * lanes <= k || first * lanes >= n) continue;
          T of_v[at_once];
          load(first, of_v);
          SIMT_UNROLL
          for (int r = 0; r < at_once; ++r) x[first + r] = subtract_product(x[first + r], of_v[r], product);
        }
      }
      SIMT_UNROLL
      for (int r = 0; r < held; ++r)
        if (is && row(r) < n) to(row(r), j) = x[r];
    }
  }
};

}  // namespace myriad::simt
