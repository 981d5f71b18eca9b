#pragma once
/// Input matrices of every kind.

#include "case/problem.hpp"
#include "case/wide.hpp"

namespace myriad::cases {

using Generated = Dense<std::complex<double>>;

/// The row and column, counted from zero, that the singular kinds spoil and where the NaN stands; -1 for other kinds or no such element.
[[nodiscard]] std::int64_t special_index(Input input, std::int64_t size);

/// An m-by-n matrix; imaginary parts are zero where the problem's type is real.
[[nodiscard]] Generated general(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t m, std::int64_t n);
/// The same with another kind of input than the problem's.
[[nodiscard]] Generated general(Problem const& problem, Input input, std::int64_t b, std::uint64_t stream, std::int64_t m, std::int64_t n);

/// A Hermitian positive definite matrix (or, for the singular kinds, one whose leading minor of that order is not).
[[nodiscard]] Generated positive(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n);

/// A well-behaved triangle; NaN in the other triangle and, with Diag::unit, on the diagonal.
[[nodiscard]] Generated triangular(Problem const& problem, std::int64_t b, std::uint64_t stream, std::int64_t n);

}  // namespace myriad::cases
