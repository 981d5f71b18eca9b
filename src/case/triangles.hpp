#pragma once
/// Storage of symmetric, Hermitian and triangular matrices: one triangle, and elements that must not be read in the other.

#include "case/storage.hpp"
#include "case/wide.hpp"
#include "symv/symmetry.cuh"

namespace myriad::cases {

/// Whether element (i, j) is in the triangle, diagonal included.
inline bool in_triangle(Uplo uplo, std::int64_t i, std::int64_t j) { return i == j || (i > j) == (uplo == Uplo::lower); }

/// Sets garbage imaginary parts on the diagonal of a Hermitian matrix.
template <typename T>
void spoil_diagonal(Array<T>& a, std::int64_t b) {
  if constexpr (is_complex<T>)
    for (std::int64_t i = 0; i < a.rows(b); ++i) a.set(b, i, i, T(a.get(b, i, i).real(), 7));
}

/// Stores the problem's triangle of a matrix. Elements that a routine must not read are NaN, and imaginary parts of a Hermitian diagonal
/// garbage.
template <typename T, typename W>
void assign_triangle(Problem const& p, Array<T>& a, std::int64_t b, Dense<W> const& made, Symmetry symmetry = Symmetry::hermitian) {
  a.assign(b, made);
  for (std::int64_t j = 0; j < a.cols(b) && !p.timing; ++j)
    for (std::int64_t i = 0; i < a.rows(b); ++i)
      if (!in_triangle(p.uplo, i, j)) a.set(b, i, j, marker<T>(0x0ff));
  if (symmetry == Symmetry::hermitian) spoil_diagonal(a, b);
}
template <typename T>
bool other_triangle_unchanged(Array<T> const& a, std::int64_t b, Uplo uplo) {
  for (std::int64_t j = 0; j < a.cols(b); ++j)
    for (std::int64_t i = 0; i < a.rows(b); ++i)
      if (!in_triangle(uplo, i, j) && !a.element_unchanged(b, i, j)) return false;
  return true;
}

/// The full matrix whose triangle `uplo` is stored.
template <typename W>
Dense<W> made_whole(Symmetry symmetry, Uplo uplo, Dense<W> const& a) {
  if (symmetry == Symmetry::hermitian) return hermitian(uplo, a);
  Dense<W> whole(a.rows(), a.cols());
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) whole(i, j) = in_triangle(uplo, i, j) ? a(i, j) : a(j, i);
  return whole;
}

/// Elements of the triangles of all matrices.
template <typename T>
double triangle_bytes(Array<T> const& a) {
  double elements = 0;
  for (std::int64_t b = 0; b < a.count(); ++b) elements += 0.5 * static_cast<double>(a.rows(b)) * static_cast<double>(a.rows(b) + 1);
  return elements * sizeof(T);
}

}  // namespace myriad::cases
