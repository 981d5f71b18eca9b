#pragma once
/// The loop of every peer: equal shares of matrices on OpenMP threads.

#include <algorithm>
#include <cstdint>

#include "myriad/batch.hpp"

namespace myriad::bench {

template <typename F>
void for_each_matrix(int threads, std::int64_t count, F const& body) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t b = 0; b < count; ++b) body(b);
}

/// Leading dimension of matrix b as stored: the column stride, or the row stride of a transposed view.
template <typename T>
int stored_ld(Batch<T> const& a, std::int64_t b, Op op = Op::none) {
  return static_cast<int>(op == Op::none ? std::max<std::int64_t>({a.col_stride_of(b), a.rows_of(b), 1})
                                         : std::max<std::int64_t>({a.row_stride_of(b), a.cols_of(b), 1}));
}

}  // namespace myriad::bench
