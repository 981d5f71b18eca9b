#pragma once
/// Reduction to bidiagonal form and its Q and P: tasks.

#include <algorithm>

#include "myriad/batch.hpp"
#include "myriad/queue.hpp"
#include "myriad/svd.hpp"

namespace myriad {

template <typename T>
struct GebrdTask {
  Batch<T> a;
  Batch<Real<T>> d, e;
  Batch<T> tauq, taup;
};

/// Reflectors of gebrd that make a matrix of order `order`, for Vect::p in the columns of the conjugate transposed matrix: P is then made
/// as Q is.
struct BidiagonalReflectors {
  Vect vect;
  std::int64_t order, k;

  /// The first nonzero of reflector i is in row i + shift.
  [[nodiscard]] std::int64_t shift() const { return (vect == Vect::q ? order < k : order <= k) ? 1 : 0; }
  [[nodiscard]] std::int64_t count() const { return shift() != 0 ? std::max<std::int64_t>(order - 1, 0) : k; }
};

/// Forms Q or P in place of its reflectors, which are in columns: for Vect::p `a` is the conjugate transposed view of the caller's matrix.
template <typename T>
struct OrgbrTask {
  Vect vect;
  RaggedSize k;
  Batch<T> a;
  Batch<T const> tau;

  [[nodiscard]] BidiagonalReflectors reflectors(std::int64_t b) const { return {vect, a.rows_of(b), k.of(b)}; }
};

/// C = Q C or P C or, with `adjoint`, Q^H C or P^H C. The reflectors are in columns, as in OrgbrTask.
template <typename T>
struct OrmbrTask {
  Vect vect;
  bool adjoint;
  RaggedSize k;
  Batch<T const> a, tau;
  Batch<T> c;

  [[nodiscard]] BidiagonalReflectors reflectors(std::int64_t b) const { return {vect, a.rows_of(b), k.of(b)}; }
};

namespace cpu {

template <Element T>
void gebrd(Queue& queue, GebrdTask<T> const& task);
template <Element T>
void orgbr(Queue& queue, OrgbrTask<T> const& task);
template <Element T>
void ormbr(Queue& queue, OrmbrTask<T> const& task);

}  // namespace cpu
}  // namespace myriad
