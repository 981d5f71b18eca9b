#include "eigen/eigen_cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "core/dtype.hpp"
#include "core/lapack.hpp"
#include "core/local_matrix.hpp"
#include "myriad/error.hpp"

namespace myriad::cpu {
namespace {

using lapack::Int;

/// Workspace of one thread.
template <typename T>
struct SyevdScratch {
  Scratch<T> a, work;
  Scratch<Real<T>> w, real_work;
  Scratch<Int> int_work;
};

/// Whether the triangle, without the imaginary parts of its diagonal, has neither NaN nor infinity.
template <typename T>
bool all_finite(Uplo uplo, LocalMatrix<T> const& a) {
  bool finite = true;
  for_part(part_of(uplo), a.rows(), a.cols(), [&](auto i, auto j) {
    T const x = a.data()[i + j * a.ld()];
    finite = finite && std::isfinite(std::real(x)) && (i == j || std::isfinite(std::imag(x)));
  });
  return finite;
}

/// Elements of LAPACK's workspaces.
struct WorkSizes {
  Int work, real, integers;
};

/// LAPACK's minimum sizes, with room in `work` for blocks of 64, so that LAPACK never reduces its block size. Throws if they overflow
/// LAPACK's integers.
template <typename T>
WorkSizes work_sizes(Job job, std::int64_t n) {
  bool const vectors = job == Job::vectors;
  // In double, since n has not been checked.
  auto const size = [&](double square, double linear, double constant) {
    double const x = static_cast<double>(n), elements = square * x * x + linear * x + constant;
    if (elements > static_cast<double>(std::numeric_limits<Int>::max()))
      throw BadArgument("syevd", 3, "n",
                        fmt::format("is {}; LAPACK's workspace would have {:.0f} elements, more than its integers hold", n, elements));
    return static_cast<Int>(elements);
  };
  if (!vectors) return {size(0, 65, 0), size(0, 1, 0), 0};
  if (is_complex<T>) return {size(1, 66, 0), size(2, 5, 1), size(0, 5, 3)};
  return {size(2, 70, 1), 0, size(0, 5, 3)};
}

/// Eigenvalues only. Matrices near overflow or underflow are scaled to norm one.
template <typename T>
Int values_by_lapack(Uplo uplo, LocalMatrix<T> const& a, Real<T>* w, SyevdScratch<T>& scratch) {
  using R = Real<T>;
  Int const n = a.rows();
  WorkSizes const sizes = work_sizes<T>(Job::values, n);
  R largest = 0;
  auto const element = [&](std::int64_t i, std::int64_t j) -> T& { return a.data()[i + j * a.ld()]; };
  for_part(part_of(uplo), n, n, [&](auto i, auto j) {
    if (i == j) element(i, j) = std::real(element(i, j));
    largest = std::max({largest, std::abs(std::real(element(i, j))), std::abs(std::imag(element(i, j)))});
  });
  R const least = std::sqrt(std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon());
  bool const scales = largest > 0 && (largest < least || largest > 1 / least);
  int const exponent = scales ? std::ilogb(largest) : 0;
  // In two steps, since the whole power of two may overflow.
  auto const times_power = [](R x, int power) { return std::ldexp(std::ldexp(x, power / 2), power - power / 2); };
  if (scales)
    for_part(part_of(uplo), n, n, [&](auto i, auto j) {
      T& x = element(i, j);
      if constexpr (is_complex<T>)
        x = T(times_power(x.real(), -exponent), times_power(x.imag(), -exponent));
      else
        x = times_power(x, -exponent);
    });
  R* const e = scratch.real_work.reserve(sizes.real);
  T* const tau = scratch.work.reserve(sizes.work);
  lapack::sytrd<T>(uplo, n, a.data(), a.ld(), w, e, tau, tau + n, sizes.work - n);
  Int const info = lapack::steqr(n, w, e);
  for (Int i = 0; i < n && scales; ++i) w[i] = times_power(w[i], exponent);
  return info;
}

template <typename T>
Int eigen_by_lapack(Job job, Uplo uplo, LocalMatrix<T> const& a, Real<T>* w, SyevdScratch<T>& scratch) {
  if (job == Job::values) return values_by_lapack(uplo, a, w, scratch);
  std::int64_t const n = a.rows();
  WorkSizes const sizes = work_sizes<T>(job, n);
  // LAPACK scales matrices near overflow, which would spread a NaN from an imaginary part to the real part.
  if constexpr (is_complex<T>)
    for (std::int64_t i = 0; i < n; ++i) a.data()[i + i * a.ld()] = std::real(a.data()[i + i * a.ld()]);
  return lapack::syevd<T>(job, uplo, a.rows(), a.data(), a.ld(), w, scratch.work.reserve(sizes.work), sizes.work,
                          scratch.real_work.reserve(sizes.real), sizes.real, scratch.int_work.reserve(sizes.integers), sizes.integers);
}

/// Returns info.
template <typename T>
Int eigen_of(SyevdTask<T> const& task, std::int64_t b, SyevdScratch<T>& scratch) {
  LocalMatrix<T> const a(task.a, b, scratch.a, part_of(task.uplo), Place::copy);
  Int const n = a.rows();
  if (n == 0) return 0;
  bool const finite = all_finite(task.uplo, a);
  Real<T>* const w = scratch.w.reserve(n);
  Int const info = finite ? eigen_by_lapack(task.job, task.uplo, a, w, scratch) : n;
  if (finite)
    for (Int i = 0; i < n; ++i) *task.w.at(b, i, 0) = w[i];
  else
    fill_with_nan(task.w, b);
  if (finite && task.job == Job::vectors) a.store(Part::all);
  if (!finite && task.job == Job::vectors) fill_with_nan(task.a, b);
  return info;
}

}  // namespace

template <Element T>
void syevd(Queue& queue, SyevdTask<T> const& task) {
  if (task.a.count > 0) (void)work_sizes<T>(task.job, task.a.rows);  // throws before anything is written
  auto const by_lapack = [&](std::int64_t b, SyevdScratch<T>& scratch) {
    Int const info = eigen_of(task, b, scratch);
    if (task.info) task.info[b] = static_cast<int>(info);
  };
  run_by_size(
      queue, shapes(task.a), [&](auto const& shape) { return syevd_fits_lanes<T>(task.job, shape); },
      [&](std::int64_t begin, std::int64_t end) {
        std::vector<unsigned char> unsolved(static_cast<std::size_t>(end - begin), 0);
        syevd_lanes(SyevdLanesTask<T>{.call = task, .first = begin, .unsolved = unsolved.data()}, begin, end);
        SyevdScratch<T> scratch;
        for (std::int64_t b = begin; b < end; ++b)
          if (unsolved[static_cast<std::size_t>(b - begin)] != 0) by_lapack(b, scratch);
      },
      [&](std::int64_t begin, std::int64_t end) {
        SyevdScratch<T> scratch;
        for (std::int64_t b = begin; b < end; ++b) by_lapack(b, scratch);
      });
}

#define MYRIAD_INSTANTIATE(T) template void syevd<T>(Queue&, SyevdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
