#pragma once
/// The task of pinv, gelsd, matrix_rank, cond and norm2.

#include <cstdint>

#include "myriad/batch.hpp"
#include "svd/by_svd_config.cuh"

namespace myriad {

/// X = pinv(A) B, or X = pinv(A) without B, where singular values that do not count are zero; ranks, condition numbers and norms. What a
/// routine does not ask for is null or not given.
template <typename T>
struct BySvdTask {
  char const* routine;  ///< for errors
  int n_position;       ///< of its argument n
  Batch<T const> a;
  Batch<T const> b{};  ///< its first m rows are the right-hand sides; may be `x`
  Batch<T> x{};        ///< its first n rows receive X
  Batch<Real<T>> s{};
  SvdCutoff<Real<T>> cutoff{};
  int* rank = nullptr;
  Real<T>*cond = nullptr, *norm2 = nullptr;
  bool residuals = false;  ///< whether rows n and below of x receive residuals, if m > n
  int* info = nullptr;

  [[nodiscard]] bool has_b() const { return b.data || b.pointers; }
  [[nodiscard]] bool has_s() const { return s.data || s.pointers; }
  /// Whether U and V are needed
  [[nodiscard]] bool solves() const { return x.data || x.pointers; }
  /// Matrices q to q + count - 1
  [[nodiscard]] BySvdTask part(std::int64_t q, std::int64_t count) const {
    BySvdTask out = *this;
    out.a = matrices(a, q, count);
    if (has_b()) out.b = matrices(b, q, count);
    if (solves()) out.x = matrices(x, q, count);
    if (has_s()) out.s = matrices(s, q, count);
    for (int** const numbers : {&out.rank, &out.info})
      if (*numbers) *numbers += q;
    for (Real<T>** const numbers : {&out.cond, &out.norm2})
      if (*numbers) *numbers += q;
    return out;
  }
};

}  // namespace myriad
