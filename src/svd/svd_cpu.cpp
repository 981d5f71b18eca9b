#include "svd/svd_cpu.hpp"

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
struct GesvdScratch {
  Scratch<T> a, u, vt, work;
  Scratch<Real<T>> s, real_work;
  Scratch<Int> int_work;
  /// LAPACK's optimal size of `work` for the last shape.
  Int m = -1, n = -1, size = 0;
};

/// The largest modulus of a real or imaginary part; NaN or infinity if there is one.
template <typename T>
Real<T> largest_part(LocalMatrix<T> const& a) {
  Real<T> largest = 0, sum = 0;
  for_part(Part::all, a.rows(), a.cols(), [&](auto i, auto j) {
    T const x = a.data()[i + j * a.ld()];
    for (Real<T> const part : {std::abs(std::real(x)), std::abs(std::imag(x))}) {
      largest = std::max(largest, part);
      sum += part * 0;
    }
  });
  return sum == 0 ? largest : std::numeric_limits<Real<T>>::quiet_NaN();
}

/// 2^exponent as two factors, since the power itself may overflow.
template <typename R>
struct Power {
  R first, second;
  explicit Power(int exponent) : first(std::ldexp(R(1), exponent / 2)), second(std::ldexp(R(1), exponent - exponent / 2)) {}
  template <typename T>
  T operator*(T x) const {
    return x * first * second;
  }
};

/// A matrix of singular vectors for LAPACK, with spare columns on either side (see Place::copy).
template <typename T>
struct Vectors {
  Int rows, cols;
  T* data;
  Vectors(Int m, Int n, Scratch<T>& scratch) : rows(m), cols(n), data(scratch.reserve(std::int64_t{m} * n + 4 * std::int64_t{m}) + 2 * m) {}
  [[nodiscard]] Int ld() const { return std::max<Int>(rows, 1); }
  void store(Batch<T> const& to, std::int64_t b) const {
    for_part(Part::all, rows, cols,
             [&](auto i, auto j) { *to.at(b, i, j) = conjugate_if(to.conjugated, data[i + j * std::int64_t{rows}]); });
  }
};

/// gesdd or, with `by_qr`, gesvd, which iterates in another way.
template <typename T>
Int svd_by_lapack(bool by_qr, char job, LocalMatrix<T> const& a, Real<T>* s, Vectors<T> const& u, Vectors<T> const& vt,
                  GesvdScratch<T>& scratch) {
  std::int64_t const m = a.rows(), n = a.cols(), least = std::min(m, n), most = std::max(m, n);
  Real<T>* const real_work =
      is_complex<T> ? scratch.real_work.reserve(job == 'N' ? 7 * least : std::max(5 * least, 2 * (most + least) + 1) * least + 7 * least)
                    : nullptr;
  Int* const int_work = scratch.int_work.reserve(8 * least);
  auto const call = [&](T* work, Int size) {
    return by_qr ? lapack::gesvd<T>(job, a.rows(), a.cols(), a.data(), a.ld(), s, u.data, u.ld(), vt.data, vt.ld(), work, size, real_work)
                 : lapack::gesdd<T>(job, a.rows(), a.cols(), a.data(), a.ld(), s, u.data, u.ld(), vt.data, vt.ld(), work, size, real_work,
                                    int_work);
  };
  if (by_qr || a.rows() != scratch.m || a.cols() != scratch.n) {
    T size{};
    call(&size, -1);
    scratch.m = by_qr ? -1 : a.rows();
    scratch.n = a.cols();
    // A number in single precision may have been rounded down.
    scratch.size = static_cast<Int>(static_cast<double>(std::real(size)) * (1 + 1e-6)) + 1;
  }
  return call(scratch.work.reserve(scratch.size), scratch.size);
}

template <typename T>
void scale(LocalMatrix<T> const& a, int exponent) {
  if (exponent == 0) return;
  Power<Real<T>> const power(exponent);
  for_part(Part::all, a.rows(), a.cols(), [&](auto i, auto j) { a.data()[i + j * a.ld()] = power * a.data()[i + j * a.ld()]; });
}

template <typename T>
void set_identity(Batch<T> const& x, std::int64_t b) {
  for_part(Part::all, x.rows_of(b), x.cols_of(b), [&](auto i, auto j) { *x.at(b, i, j) = T(i == j ? 1 : 0); });
}

/// gejsv of a matrix that is not wide.
template <typename T>
Int gejsv_of(GesvdTask<T> const& task, LocalMatrix<T> const& a, int exponent, GesvdScratch<T>& scratch, std::int64_t b) {
  Int const m = a.rows(), n = a.cols();
  bool const vectors = task.job != SvdJob::values, full = task.job == SvdJob::full;
  Vectors<T> const u(m, vectors ? full ? m : n : 0, scratch.u), v(vectors ? n : 1, vectors ? n : 0, scratch.vt);
  Real<T>* const s = scratch.s.reserve(n);
  lapack::GejsvSizes const sizes(m, n, vectors);
  Real<T>* const real_work = is_complex<T> ? scratch.real_work.reserve(sizes.reals) : nullptr;
  Real<T> factor{};
  Int const info = lapack::gejsv<T>(vectors ? full ? 'A' : 'S' : 'N', m, n, a.data(), a.ld(), s, u.data, u.ld(), v.data, v.ld(),
                                    scratch.work.reserve(sizes.work), real_work, scratch.int_work.reserve(sizes.integers), factor);
  Power<Real<T>> const power(exponent);
  for (Int i = 0; i < n; ++i) *task.s.at(b, i, 0) = power * (factor * s[i]);
  if (wants_u(task.job)) u.store(task.u, b);
  if (wants_vt(task.job)) v.store(conjugate_transposed(task.vt), b);
  return info;
}

/// Returns info.
template <typename T>
Int gesvd_of(GesvdTask<T> const& task, std::int64_t b, GesvdScratch<T>& scratch) {
  std::int64_t const rows = task.a.rows_of(b), cols = task.a.cols_of(b);
  if (task.relative && rows < cols) return gesvd_of(conjugate_transposed(task), b, scratch);
  if (rows == 0 || cols == 0) {  // U and V^H of SvdJob::full
    set_identity(task.u, b);
    set_identity(task.vt, b);
    return 0;
  }
  LocalMatrix<T> const a(task.a, b, scratch.a, Part::all, Place::copy);
  Int const m = a.rows(), n = a.cols(), k = std::min(m, n);
  Real<T> const largest = largest_part(a);
  if (!std::isfinite(largest)) {
    for (Int i = 0; i < k; ++i) *task.s.at(b, i, 0) = std::numeric_limits<Real<T>>::quiet_NaN();
    fill_with_nan(task.u, b);
    fill_with_nan(task.vt, b);
    return k;
  }
  int const exponent = largest > 0 ? std::ilogb(largest) : 0;
  scale(a, -exponent);  // to a largest part between 1 and 2, so that results do not depend on powers of two
  if (task.relative) return gejsv_of(task, a, exponent, scratch, b);
  // LAPACK has no job for one side alone.
  bool const full = task.job == SvdJob::full, vectors = task.job != SvdJob::values;
  char const job = full ? 'A' : vectors ? 'S' : 'N';
  Vectors<T> const u(m, full ? m : vectors ? k : 0, scratch.u), vt(full ? n : vectors ? k : 1, vectors ? n : 0, scratch.vt);
  Real<T>* const s = scratch.s.reserve(k);
  Int info = svd_by_lapack(false, job, a, s, u, vt, scratch);
  if (info != 0) {
    LocalMatrix<T> const again(task.a, b, scratch.a, Part::all, Place::copy);
    scale(again, -exponent);
    info = svd_by_lapack(true, job, again, s, u, vt, scratch);
  }
  Power<Real<T>> const power(exponent);
  for (Int i = 0; i < k; ++i) *task.s.at(b, i, 0) = power * std::abs(s[i]);
  if (wants_u(task.job)) u.store(task.u, b);
  if (wants_vt(task.job)) vt.store(task.vt, b);
  return info;
}

}  // namespace

template <Element T>
void check_svd_workspace(char const* routine, Argument argument, SvdJob job, std::int64_t m, std::int64_t n) {
  double const k = static_cast<double>(std::min(m, n)), most = static_cast<double>(std::max(m, n));
  double const elements = (job == SvdJob::values ? 0 : 4 * k * k + (is_complex<T> ? 2 * k * most : 0)) + 71 * (most + k);
  if (elements > static_cast<double>(std::numeric_limits<Int>::max()))
    throw BadArgument(
        routine, argument.position, argument.name,
        fmt::format("is {} with m = {}; LAPACK's workspace would have {:.0f} elements, more than its integers hold", n, m, elements));
}

template <Element T>
void gesvd(Queue& queue, GesvdTask<T> const& task) {
  if (task.a.count > 0)
    check_svd_workspace<T>(task.relative ? "gejsv" : "gesvd", {3, "n"}, task.job, task.a.rows, task.a.cols);  // before anything is written
  auto const by_lapack = [&](std::int64_t b, GesvdScratch<T>& scratch) {
    Int const info = gesvd_of(task, b, scratch);
    if (task.info) task.info[b] = static_cast<int>(info);
  };
  run_by_size(
      queue, shapes(task.a), [&](auto const& shape) { return gesvd_fits_lanes<T>(task.job, shape); },
      [&](std::int64_t begin, std::int64_t end) {
        std::vector<unsigned char> unsolved(static_cast<std::size_t>(end - begin), 0);
        gesvd_lanes(GesvdLanesTask<T>{.call = task, .first = begin, .unsolved = unsolved.data()}, begin, end);
        GesvdScratch<T> scratch;
        for (std::int64_t b = begin; b < end; ++b)
          if (unsolved[static_cast<std::size_t>(b - begin)] != 0) by_lapack(b, scratch);
      },
      [&](std::int64_t begin, std::int64_t end) {
        GesvdScratch<T> scratch;
        for (std::int64_t b = begin; b < end; ++b) by_lapack(b, scratch);
      });
}

#define MYRIAD_INSTANTIATE(T)                                                                      \
  template void check_svd_workspace<T>(char const*, Argument, SvdJob, std::int64_t, std::int64_t); \
  template void gesvd<T>(Queue&, GesvdTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
