#pragma once
/// Description of a test problem: sizes, layout, kind of input, routine variant, seed. Plain data; equal problems give equal inputs.

#include <array>
#include <complex>
#include <cstdint>
#include <string>

#include "myriad/svd.hpp"
#include "myriad/types.hpp"

namespace myriad::cases {

/// Memory layout of the batches of a case.
enum class Layout {
  column_major,
  padded,  ///< column-major, ld > m, gaps between matrices
  row_major,
  row_major_padded,
  interleaved,
  interleaved_padded,  ///< interleaved with gaps between rows and columns
  woven,               ///< column j of all matrices contiguous: the batch stride is between row and column stride
  spread,              ///< both strides larger than one
  block,               ///< a block of larger matrices
  conjugated,          ///< padded, and stored conjugated
  pointers,            ///< column-major, array of pointers not in order of addresses
  row_major_pointers,
};
inline constexpr std::array all_layouts{
    Layout::column_major, Layout::padded, Layout::row_major, Layout::row_major_padded, Layout::interleaved, Layout::interleaved_padded,
    Layout::woven,        Layout::spread, Layout::block,     Layout::conjugated,       Layout::pointers,    Layout::row_major_pointers};
[[nodiscard]] char const* name(Layout layout);
[[nodiscard]] char const* name(Dtype dtype);

/// Kinds of input.
enum class Input {
  random,          ///< uniform in [-1, 1]; Hermitian matrices get a dominant diagonal; 16-bit types: multiples of 1/8
  conditioned,     ///< known singular values (eigenvalues), geometric from 1 to 1e-3
  dominant,        ///< diagonally dominant
  graded,          ///< falling from the first to the last row and column
  scaled,          ///< rows and columns times random powers of two from 2^-20 to 2^20; 16-bit types: from 2^-3 to 2^3
  singular_first,  ///< LU, QR: a zero column; Cholesky: a negative pivot; triangular: a zero on the diagonal; all at the first step
  singular_middle,
  singular_last,
  nan,       ///< one NaN in the middle
  infinite,  ///< one infinity in the middle
  ties,      ///< many equal candidates for a pivot, every step exact: totally unimodular
  zero,
  growth,  ///< LU: U grows by 1.9 per step, for every choice among largest pivots; for others as random
};
[[nodiscard]] char const* name(Input input);

/// Sizes of one matrix: m, n, and k (inner size of gemm, right-hand sides, reflectors).
struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};
/// Adapts a shape to a routine (square, tall).
using FixShape = Shape (*)(Shape);

struct Problem {
  Dtype dtype = Dtype::f64;
  std::int64_t m = 4;
  std::int64_t n = 4;
  std::int64_t k = 1;
  std::int64_t count = 1;
  Layout layout = Layout::column_major;
  bool ragged = false;  ///< random sizes per matrix, from 0 to m, n, k
  bool flush = false;   ///< arrays fill their memory: no canary before the first element and behind the last
  Input input = Input::random;
  Input bad = Input::nan;  ///< kind of matrix number `bad_place`
  std::int64_t bad_place = -1;
  std::uint64_t seed = 1;
  std::int64_t first = 0;  ///< matrix b is number first + b of the seed's infinite sequence, whatever the batch
  Op op = Op::none;        ///< op(A): a view for gemm and trsm, an argument for getrs, ormqr, gerfs
  Op op_b = Op::none;      ///< op(B) of gemm
  Uplo uplo = Uplo::lower;
  Side side = Side::left;
  Diag diag = Diag::non_unit;
  Job job = Job::vectors;
  SvdJob svd_job = SvdJob::thin;
  Vect vect = Vect::q;
  std::complex<double> alpha = 1;  ///< the real part is used for real types
  std::complex<double> beta = 0;
  Arithmetic arithmetic = Arithmetic::standard;  ///< of gemm
  /// Arrays for a benchmark: pivots, tau and eigenvalues contiguous per matrix in every layout; numbers instead of NaN in triangles that
  /// must not be read, which other libraries may expect; 16-bit numbers that are no multiples of 1/8.
  bool timing = false;
  bool pivots = true;      ///< false: factors without pivoting, or no pivots wanted
  FixShape fix = nullptr;  ///< set by the registry

  [[nodiscard]] Shape bounds() const;                                                            ///< m, n, k adapted to the routine
  [[nodiscard]] Shape shape_of(std::int64_t b) const;                                            ///< of matrix b
  [[nodiscard]] Layout layout_beside() const { return timing ? Layout::column_major : layout; }  ///< of pivots, tau and eigenvalues
  [[nodiscard]] Input input_of(std::int64_t b) const { return b == bad_place ? bad : input; }
  [[nodiscard]] std::string text() const;  ///< everything needed to reproduce it
};

/// Random numbers that depend only on seed, matrix and stream.
class Random {
 public:
  Random(Problem const& problem, std::int64_t b, std::uint64_t stream);
  std::uint64_t bits();
  double uniform();  ///< in [-1, 1)
  std::int64_t below(std::int64_t limit);

 private:
  std::uint64_t state_;
};

}  // namespace myriad::cases
