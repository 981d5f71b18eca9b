#pragma once
/// Generates input matrices of every kind.

#include "case/problem.hpp"
#include "case/wide.hpp"

namespace myriad::cases {

using Generated = Dense<std::complex<double>>;

/// The row and column, from zero, at which singular kinds are singular and the NaN is; -1 for other kinds or no such element.
[[nodiscard]] std::int64_t special_index(Input input, std::int64_t size);

/// An m-by-n matrix; imaginary parts are zero if the problem's type is real.
[[nodiscard]] Generated general(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t m, std::int64_t n);
/// The same with another kind of input than the problem's.
[[nodiscard]] Generated general(Problem const& problem, Input input, std::int64_t b, std::uint64_t stream, std::int64_t m, std::int64_t n);

/// A Hermitian positive definite matrix (or, for the singular kinds, one whose leading minor of that order is not).
[[nodiscard]] Generated positive(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n);

/// A Hermitian matrix for eigenproblems. Kinds define its eigenvalues: `conditioned` has them geometric, of both signs; `graded` rows and
/// columns that fall; `scaled` rows and columns times powers of two and, of two matrices in three, all of it near the ends of the type's
/// range; `singular_first` two tight clusters; `singular_middle` pairs a few units in the last place apart; `singular_last` all but two
/// zero; `ties` Wilkinson's tridiagonal matrix, whose largest ones are nearly equal in pairs.
[[nodiscard]] Generated with_eigenvalues(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n);

/// A well-behaved triangle; NaN in the other triangle and, with Diag::unit, on the diagonal.
[[nodiscard]] Generated triangular(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n);

}  // namespace myriad::cases
