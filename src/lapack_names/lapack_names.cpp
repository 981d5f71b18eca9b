/// LAPACK's Fortran names for Myriad's routines, one matrix a call. Fortran passes everything by address, and the lengths of character
/// arguments behind the others.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lapack_names/entry.hpp"

namespace myriad::lapack_names {
namespace {

using Length = std::size_t;  ///< hidden length of a character argument
using std::max;
using std::min;

// LU

template <Element T>
bool getrf(char const* name, Int const* m, Int const* n, T* a, Int const* lda, Int* pivots, Int* info) {
  Call call(name, info);
  if (!call.size(*m, 1).size(*n, 2).leading(*lda, *m, 4).begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::getrf<T>(queue, o.matrix(a, *m, *n, *lda), o.vector(pivots, min(*m, *n)), o.number(info));
  });
}

template <Element T>
bool getrs(char const* name, char const* trans, Int const* n, Int const* nrhs, T const* a, Int const* lda, Int const* pivots, T* b,
           Int const* ldb, Int* info, Length) {
  Call call(name, info);
  Op op{};
  call.letter(trans, "NTC", 1, op).size(*n, 2).size(*nrhs, 3).leading(*lda, *n, 5).leading(*ldb, *n, 8);
  if (!call.begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::getrs<T>(queue, op, o.matrix(a, *n, *n, *lda), o.vector(pivots, *n), o.matrix(b, *n, *nrhs, *ldb));
  });
}

template <Element T>
bool gesv(char const* name, Int const* n, Int const* nrhs, T* a, Int const* lda, Int* pivots, T* b, Int const* ldb, Int* info) {
  Call call(name, info);
  if (!call.size(*n, 1).size(*nrhs, 2).leading(*lda, *n, 4).leading(*ldb, *n, 7).begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::gesv<T>(queue, o.matrix(a, *n, *n, *lda), o.vector(pivots, *n), o.matrix(b, *n, *nrhs, *ldb), o.number(info));
  });
}

template <Element T>
bool getri(char const* name, Int const* n, T* a, Int const* lda, Int const* pivots, T* work, Int const* lwork, Int* info) {
  Call call(name, info);
  if (!call.size(*n, 1).leading(*lda, *n, 3).workspace(work, *lwork, *n, 6).begins()) return true;
  return call.run(
      [&](Queue& queue, Operands& o) { myriad::getri<T>(queue, o.matrix(a, *n, *n, *lda), o.vector(pivots, *n), o.number(info)); });
}

// Cholesky

template <Element T>
bool potrf(char const* name, char const* uplo, Int const* n, T* a, Int const* lda, Int* info, Length) {
  Call call(name, info);
  Uplo triangle{};
  if (!call.letter(uplo, "UL", 1, triangle).size(*n, 2).leading(*lda, *n, 4).begins()) return true;
  return call.run([&](Queue& queue, Operands& o) { myriad::potrf<T>(queue, triangle, o.matrix(a, *n, *n, *lda), o.number(info)); });
}

template <Element T>
bool potrs(char const* name, char const* uplo, Int const* n, Int const* nrhs, T const* a, Int const* lda, T* b, Int const* ldb, Int* info,
           Length) {
  Call call(name, info);
  Uplo triangle{};
  call.letter(uplo, "UL", 1, triangle).size(*n, 2).size(*nrhs, 3).leading(*lda, *n, 5).leading(*ldb, *n, 7);
  if (!call.begins()) return true;
  return call.run(
      [&](Queue& queue, Operands& o) { myriad::potrs<T>(queue, triangle, o.matrix(a, *n, *n, *lda), o.matrix(b, *n, *nrhs, *ldb)); });
}

template <Element T>
bool posv(char const* name, char const* uplo, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Int* info,
          Length) {
  Call call(name, info);
  Uplo triangle{};
  call.letter(uplo, "UL", 1, triangle).size(*n, 2).size(*nrhs, 3).leading(*lda, *n, 5).leading(*ldb, *n, 7);
  if (!call.begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::posv<T>(queue, triangle, o.matrix(a, *n, *n, *lda), o.matrix(b, *n, *nrhs, *ldb), o.number(info));
  });
}

template <Element T>
bool potri(char const* name, char const* uplo, Int const* n, T* a, Int const* lda, Int* info, Length) {
  Call call(name, info);
  Uplo triangle{};
  if (!call.letter(uplo, "UL", 1, triangle).size(*n, 2).leading(*lda, *n, 4).begins()) return true;
  return call.run([&](Queue& queue, Operands& o) { myriad::potri<T>(queue, triangle, o.matrix(a, *n, *n, *lda), o.number(info)); });
}

template <Element T>
bool trtri(char const* name, char const* uplo, char const* diag, Int const* n, T* a, Int const* lda, Int* info, Length, Length) {
  Call call(name, info);
  Uplo triangle{};
  Diag diagonal{};
  if (!call.letter(uplo, "UL", 1, triangle).letter(diag, "NU", 2, diagonal).size(*n, 3).leading(*lda, *n, 5).begins()) return true;
  return call.run(
      [&](Queue& queue, Operands& o) { myriad::trtri<T>(queue, triangle, diagonal, o.matrix(a, *n, *n, *lda), o.number(info)); });
}

// QR

template <Element T>
bool geqrf(char const* name, Int const* m, Int const* n, T* a, Int const* lda, T* tau, T* work, Int const* lwork, Int* info) {
  Call call(name, info);
  call.size(*m, 1).size(*n, 2).leading(*lda, *m, 4).workspace(work, *lwork, *m > 0 ? *n : 1, 7);
  if (!call.begins()) return true;
  return call.run([&](Queue& queue, Operands& o) { myriad::geqrf<T>(queue, o.matrix(a, *m, *n, *lda), o.vector(tau, min(*m, *n))); });
}

template <Element T>
bool geqp3(char const* name, Int const* m, Int const* n, T* a, Int const* lda, Int* jpvt, T* tau, T* work, Int const* lwork, Int* info) {
  Call call(name, info);
  std::int64_t const least = min(*m, *n) <= 0 ? 1 : is_complex<T> ? std::int64_t{*n} + 1 : 3 * std::int64_t{*n} + 1;
  call.size(*m, 1).size(*n, 2).leading(*lda, *m, 4).workspace(work, *lwork, least, 8);
  if (!call.begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::geqp3<T>(queue, o.matrix(a, *m, *n, *lda), o.vector(jpvt, *n), o.vector(tau, min(*m, *n)));
  });
}
template <Element T>
bool geqp3_complex(char const* name, Int const* m, Int const* n, T* a, Int const* lda, Int* jpvt, T* tau, T* work, Int const* lwork,
                   Real<T>*, Int* info) {
  return geqp3<T>(name, m, n, a, lda, jpvt, tau, work, lwork, info);
}

template <Element T>
bool orgqr(char const* name, Int const* m, Int const* n, Int const* k, T* a, Int const* lda, T const* tau, T* work, Int const* lwork,
           Int* info) {
  Call call(name, info);
  call.size(*m, 1).require(*n >= 0 && *n <= *m, 2).require(*k >= 0 && *k <= *n, 3).leading(*lda, *m, 5).workspace(work, *lwork, *n, 8);
  if (!call.begins()) return true;
  return call.run([&](Queue& queue, Operands& o) { myriad::orgqr<T>(queue, o.matrix(a, *m, *n, *lda), o.vector(tau, *k)); });
}

template <Element T>
constexpr char const* adjoints = is_complex<T> ? "NC" : "NT";

template <Element T>
bool ormqr(char const* name, char const* side, char const* trans, Int const* m, Int const* n, Int const* k, T const* a, Int const* lda,
           T const* tau, T* c, Int const* ldc, T* work, Int const* lwork, Int* info, Length, Length) {
  Call call(name, info);
  Side at{};
  Op op{};
  call.letter(side, "LR", 1, at).letter(trans, adjoints<T>, 2, op).size(*m, 3).size(*n, 4);
  Int const rows = at == Side::left ? *m : *n;
  call.require(*k >= 0 && *k <= rows, 5).leading(*lda, rows, 7).leading(*ldc, *m, 10);
  if (!call.workspace(work, *lwork, at == Side::left ? *n : *m, 12).begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::ormqr<T>(queue, at, op, o.matrix(a, rows, *k, *lda), o.vector(tau, *k), o.matrix(c, *m, *n, *ldc));
  });
}

template <Element T>
bool is_zero(T const* a, Int rows, Int cols, Int ld) {
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      if (a[i + j * ld] != T(0)) return false;
  return true;
}

template <Element T>
bool gels(char const* name, char const* trans, Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb,
          T* work, Int const* lwork, Int* info, Length) {
  Call call(name, info);
  Op op{};
  Int const least = min(*m, *n), most = max(*m, *n);
  call.letter(trans, adjoints<T>, 1, op).size(*m, 2).size(*n, 3).size(*nrhs, 4).leading(*lda, *m, 6).leading(*ldb, most, 8);
  if (!call.workspace(work, *lwork, std::int64_t{least} + max(least, *nrhs), 10).begins()) return true;
  if (least == 0 || *nrhs == 0 || is_zero(a, *m, *n, *lda)) {  // LAPACK's info is 0 here
    for (std::int64_t j = 0; j < *nrhs; ++j) std::fill_n(b + j * *ldb, most, T(0));
    return true;
  }
  return call.run([&](Queue& queue, Operands& o) {
    Batch<T> const matrix = o.matrix(a, *m, *n, *lda);
    myriad::gels<T>(queue, op == Op::none ? matrix : conjugate_transposed(matrix), o.matrix(b, most, *nrhs, *ldb), o.number(info));
  });
}

template <Element T>
bool gelsy(char const* name, Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Int* jpvt,
           Real<T> const* rcond, Int* rank, T* work, Int const* lwork, Int* info) {
  Call call(name, info);
  std::int64_t const least = min(*m, *n);
  Int const most = max(*m, *n);
  call.size(*m, 1).size(*n, 2).size(*nrhs, 3).leading(*lda, *m, 5).leading(*ldb, most, 7);
  std::int64_t const beside = max({2 * least, std::int64_t{*n} + 1, least + *nrhs});
  bool const nothing = least <= 0 || *nrhs <= 0;  // for which real routines need no workspace
  if (!call.workspace(work, *lwork, nothing && !is_complex<T> ? 1 : least + beside, 12).begins()) return true;
  if (least == 0 || *nrhs == 0) {
    *rank = 0;
    return true;
  }
  if (std::isnan(*rcond)) return false;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::gelsy<T>(queue, o.matrix(a, *m, *n, *lda), o.matrix(b, most, *nrhs, *ldb), o.vector(jpvt, *n), *rcond, o.number(rank));
  });
}
template <Element T>
bool gelsy_complex(char const* name, Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Int* jpvt,
                   Real<T> const* rcond, Int* rank, T* work, Int const* lwork, Real<T>*, Int* info) {
  return gelsy<T>(name, m, n, nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, info);
}

// Symmetric eigenproblems

template <Element T>
bool syevd(Call& call, Job job, Uplo triangle, Int n, T* a, Int lda, Real<T>* w, Int* info) {
  if (!call.begins()) return true;
  return call.run(
      [&](Queue& queue, Operands& o) { myriad::syevd<T>(queue, job, triangle, o.matrix(a, n, n, lda), o.vector(w, n), o.number(info)); });
}

template <Element T>
bool syevd(char const* name, char const* jobz, char const* uplo, Int const* n, T* a, Int const* lda, T* w, T* work, Int const* lwork,
           Int* integers, Int const* liwork, Int* info, Length, Length) {
  Call call(name, info);
  Job job{};
  Uplo triangle{};
  call.letter(jobz, "NV", 1, job).letter(uplo, "UL", 2, triangle).size(*n, 3).leading(*lda, *n, 5).query(*lwork == -1 || *liwork == -1);
  std::int64_t const size = *n;
  bool const vectors = job == Job::vectors && size > 1;
  call.workspace(work, *lwork,
                 size <= 1 ? 1
                 : vectors ? 1 + 6 * size + 2 * size * size
                           : 2 * size + 1,
                 8)
      .workspace(integers, *liwork, vectors ? 3 + 5 * size : 1, 10);
  return syevd<T>(call, job, triangle, *n, a, *lda, w, info);
}

template <Element T>
bool heevd(char const* name, char const* jobz, char const* uplo, Int const* n, T* a, Int const* lda, Real<T>* w, T* work, Int const* lwork,
           Real<T>* reals, Int const* lrwork, Int* integers, Int const* liwork, Int* info, Length, Length) {
  Call call(name, info);
  Job job{};
  Uplo triangle{};
  call.letter(jobz, "NV", 1, job).letter(uplo, "UL", 2, triangle).size(*n, 3).leading(*lda, *n, 5);
  call.query(*lwork == -1 || *lrwork == -1 || *liwork == -1);
  std::int64_t const size = *n;
  bool const vectors = job == Job::vectors && size > 1;
  call.workspace(work, *lwork,
                 size <= 1 ? 1
                 : vectors ? 2 * size + size * size
                           : size + 1,
                 8)
      .workspace(reals, *lrwork, vectors ? 1 + 5 * size + 2 * size * size : size, 10)
      .workspace(integers, *liwork, vectors ? 3 + 5 * size : 1, 12);
  return syevd<T>(call, job, triangle, *n, a, *lda, w, info);
}

template <Element T>
bool sytrd(char const* name, char const* uplo, Int const* n, T* a, Int const* lda, Real<T>* d, Real<T>* e, T* tau, T* work,
           Int const* lwork, Int* info, Length) {
  Call call(name, info);
  Uplo triangle{};
  if (!call.letter(uplo, "UL", 1, triangle).size(*n, 2).leading(*lda, *n, 4).workspace(work, *lwork, 1, 9).begins()) return true;
  Int const beside = max(0, *n - 1);
  return call.run([&](Queue& queue, Operands& o) {
    myriad::sytrd<T>(queue, triangle, o.matrix(a, *n, *n, *lda), o.vector(d, *n), o.vector(e, beside), o.vector(tau, beside));
  });
}

template <Element T>
bool orgtr(char const* name, char const* uplo, Int const* n, T* a, Int const* lda, T const* tau, T* work, Int const* lwork, Int* info,
           Length) {
  Call call(name, info);
  Uplo triangle{};
  Int const beside = max(0, *n - 1);
  if (!call.letter(uplo, "UL", 1, triangle).size(*n, 2).leading(*lda, *n, 4).workspace(work, *lwork, beside, 7).begins()) return true;
  return call.run([&](Queue& queue, Operands& o) { myriad::orgtr<T>(queue, triangle, o.matrix(a, *n, *n, *lda), o.vector(tau, beside)); });
}

template <Element T>
bool ormtr(char const* name, char const* side, char const* uplo, char const* trans, Int const* m, Int const* n, T const* a, Int const* lda,
           T const* tau, T* c, Int const* ldc, T* work, Int const* lwork, Int* info, Length, Length, Length) {
  Call call(name, info);
  Side at{};
  Uplo triangle{};
  Op op{};
  call.letter(side, "LR", 1, at).letter(uplo, "UL", 2, triangle).letter(trans, adjoints<T>, 3, op).size(*m, 4).size(*n, 5);
  Int const order = at == Side::left ? *m : *n;
  call.leading(*lda, order, 7).leading(*ldc, *m, 10);
  if (!call.workspace(work, *lwork, at == Side::left ? *n : *m, 12).begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::ormtr<T>(queue, at, triangle, op, o.matrix(a, order, order, *lda), o.vector(tau, max(0, order - 1)), o.matrix(c, *m, *n, *ldc));
  });
}

// Singular values

template <Element T>
bool gebrd(char const* name, Int const* m, Int const* n, T* a, Int const* lda, Real<T>* d, Real<T>* e, T* tauq, T* taup, T* work,
           Int const* lwork, Int* info) {
  Call call(name, info);
  if (!call.size(*m, 1).size(*n, 2).leading(*lda, *m, 4).workspace(work, *lwork, max(*m, *n), 10).begins()) return true;
  Int const k = min(*m, *n);
  return call.run([&](Queue& queue, Operands& o) {
    myriad::gebrd<T>(queue, o.matrix(a, *m, *n, *lda), o.vector(d, k), o.vector(e, max(0, k - 1)), o.vector(tauq, k), o.vector(taup, k));
  });
}

template <Element T>
bool orgbr(char const* name, char const* vect, Int const* m, Int const* n, Int const* k, T* a, Int const* lda, T const* tau, T* work,
           Int const* lwork, Int* info, Length) {
  Call call(name, info);
  Vect factor{};
  call.letter(vect, "QP", 1, factor).size(*m, 2);
  bool const q = factor == Vect::q;
  Int const order = q ? *m : *n, some = q ? *n : *m;
  call.require(*n >= 0 && some <= order && some >= min(order, *k), 3).size(*k, 4).leading(*lda, *m, 6);
  if (!call.workspace(work, *lwork, min(*m, *n), 9).begins()) return true;
  return call.run(
      [&](Queue& queue, Operands& o) { myriad::orgbr<T>(queue, factor, *k, o.matrix(a, *m, *n, *lda), o.vector(tau, min(order, *k))); });
}

template <Element T>
bool ormbr(char const* name, char const* vect, char const* side, char const* trans, Int const* m, Int const* n, Int const* k, T const* a,
           Int const* lda, T const* tau, T* c, Int const* ldc, T* work, Int const* lwork, Int* info, Length, Length, Length) {
  Call call(name, info);
  Vect factor{};
  Side at{};
  Op op{};
  call.letter(vect, "QP", 1, factor).letter(side, "LR", 2, at).letter(trans, adjoints<T>, 3, op).size(*m, 4).size(*n, 5).size(*k, 6);
  bool const q = factor == Vect::q;
  Int const order = at == Side::left ? *m : *n, some = min(order, *k);
  call.leading(*lda, q ? order : some, 8).leading(*ldc, *m, 11).workspace(work, *lwork, at == Side::left ? *n : *m, 13);
  if (!call.begins()) return true;
  return call.run([&](Queue& queue, Operands& o) {
    myriad::ormbr<T>(queue, factor, at, op, *k, q ? o.matrix(a, order, some, *lda) : o.matrix(a, some, order, *lda), o.vector(tau, some),
                     o.matrix(c, *m, *n, *ldc));
  });
}

/// jobz = O overwrites A by U (m >= n) or V^H, so that A itself is copied first.
template <Element T>
bool gesdd(char const* name, char const* jobz, Int const* m, Int const* n, T* a, Int const* lda, Real<T>* s, T* u, Int const* ldu, T* vt,
           Int const* ldvt, T* work, Int const* lwork, Int* info) {
  Call call(name, info);
  char job{};
  call.letter(jobz, "NSAO", 1, job).size(*m, 2).size(*n, 3).leading(*lda, *m, 5);
  Int const k = min(*m, *n);
  bool const over_u = job == 'O' && *m >= *n, over_vt = job == 'O' && *m < *n;
  bool const has_u = job == 'S' || job == 'A' || over_vt, has_vt = job == 'S' || job == 'A' || over_u;
  call.leading(*ldu, has_u ? *m : 1, 8).leading(*ldvt, job == 'A' || over_u ? *n : job == 'S' ? k : 1, 10);
  // Least sizes over all shapes: LAPACK's are larger for some, and smaller than its documentation says.
  std::int64_t const size = k, square = size * size;
  std::int64_t const least = is_complex<T> ? (job == 'O' ? square : 0) + 3 * size
                             : job == 'N'  ? 8 * size
                                           : (job == 'O' ? 4 : 3) * square + 7 * size;
  if (!call.workspace(work, *lwork, least, 12).begins()) return true;
  if (k == 0) return true;  // LAPACK then leaves U and V^H to the caller
  bool const served = call.run([&](Queue& queue, Operands& o) {
    std::vector<T> copy;
    T* from = a;
    Int from_ld = *lda;
    if (job == 'O') {
      copy.resize(static_cast<std::size_t>(*m) * static_cast<std::size_t>(*n));
      for (std::int64_t j = 0; j < *n; ++j) std::copy_n(a + j * *lda, *m, copy.data() + j * *m);
      from = copy.data();
      from_ld = *m;
    }
    Batch<T> const left = over_u ? o.matrix(a, *m, k, *lda) : has_u ? o.matrix(u, *m, job == 'A' ? *m : k, *ldu) : Batch<T>{};
    Batch<T> const right = over_vt ? o.matrix(a, k, *n, *lda) : has_vt ? o.matrix(vt, job == 'A' ? *n : k, *n, *ldvt) : Batch<T>{};
    SvdJob const what = job == 'N' ? SvdJob::values : job == 'A' ? SvdJob::full : SvdJob::thin;
    myriad::gesvd<T>(queue, what, o.matrix(from, *m, *n, from_ld), o.vector(s, k), left, right, o.number(info));
    queue.wait();  // before the copy goes
  });
  if (served && *info > 0 && *s != *s) *info = -4;  // as LAPACK for NaN; for infinity, too, where LAPACK may not return
  return served;
}

/// LAPACK's least sizes, since a call that Myriad does not serve needs them.
struct GelsdSizes {
  static constexpr std::int64_t leaf = 25;  // rows of its smallest subproblems
  std::int64_t k, cols, longer, sides, levels;
  bool by_lq = false;  // many more columns than rows

  GelsdSizes(Int m, Int n, Int nrhs) : k(min(m, n)), cols(n), longer(max(m, n)), sides(nrhs) {
    if (longer >= static_cast<std::int64_t>(1.6F * static_cast<float>(k))) {
      by_lq = m < n;
      if (!by_lq) longer = n;  // by QR first
    }
    levels = k > 0 ? std::max<std::int64_t>(static_cast<std::int64_t>(std::log2(static_cast<double>(k) / (leaf + 1))) + 1, 0) : 0;
  }
  [[nodiscard]] std::int64_t of_real() const {
    return k == 0 ? 1 : 3 * k + 9 * k + 2 * k * leaf + 8 * k * levels + k * sides + (leaf + 1) * (leaf + 1);
  }
  [[nodiscard]] std::int64_t of_complex() const { return k == 0 ? 1 : 2 * k + std::max(longer, k * sides); }
  /// The complex elements that LAPACK uses: by LQ more than it demands.
  [[nodiscard]] std::int64_t used() const { return by_lq ? k * k + 4 * k + k * sides : 0; }
  [[nodiscard]] std::int64_t reals() const {
    if (k == 0) return 1;
    return 10 * k + 2 * k * leaf + 8 * k * levels + 3 * leaf * sides + std::max((leaf + 1) * (leaf + 1), cols * (1 + sides) + 2 * sides);
  }
  [[nodiscard]] std::int64_t integers() const { return std::max<std::int64_t>(3 * k * levels + 11 * k, 1); }
};

template <Element T>
bool gelsd(char const* name, Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Real<T>* s,
           Real<T> const* rcond, Int* rank, T* work, Int const* lwork, Real<T>* reals, Int* integers, Int* info) {
  Call call(name, info);
  Int const k = min(*m, *n), most = max(*m, *n);
  call.size(*m, 1).size(*n, 2).size(*nrhs, 3).leading(*lda, *m, 5).leading(*ldb, most, 7);
  bool const legal = *m >= 0 && *n >= 0 && *nrhs >= 0;
  GelsdSizes const sizes(legal ? *m : 0, legal ? *n : 0, legal ? *nrhs : 0);
  call.tell(integers, sizes.integers());
  if constexpr (is_complex<T>)
    call.tell(reals, sizes.reals()).workspace(work, *lwork, sizes.of_complex(), 12, sizes.used());
  else
    call.workspace(work, *lwork, sizes.of_real(), 12);
  if (!call.begins()) return true;
  if (k == 0) {
    *rank = 0;
    return true;
  }
  return call.run([&](Queue& queue, Operands& o) {
    Real<T> const cutoff = *rcond > 0 && *rcond < 1 ? *rcond : Real<T>(-1);  // as LAPACK, which documents it for negative ones only
    myriad::gelsd<T>(queue, o.matrix(a, *m, *n, *lda), o.matrix(b, most, *nrhs, *ldb), o.vector(s, k), cutoff, o.number(rank),
                     o.number(info));
  });
}
template <Element T>
bool gelsd_real(char const* name, Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, T* s,
                T const* rcond, Int* rank, T* work, Int const* lwork, Int* integers, Int* info) {
  return gelsd<T>(name, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, static_cast<T*>(nullptr), integers, info);
}
template <Element T>
bool gelsd_complex(char const* name, Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Real<T>* s,
                   Real<T> const* rcond, Int* rank, T* work, Int const* lwork, Real<T>* reals, Int* integers, Int* info) {
  return gelsd<T>(name, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, reals, integers, info);
}

template <Element T>
bool gesdd_real(char const* name, char const* jobz, Int const* m, Int const* n, T* a, Int const* lda, T* s, T* u, Int const* ldu, T* vt,
                Int const* ldvt, T* work, Int const* lwork, Int*, Int* info, Length) {
  return gesdd<T>(name, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, info);
}
template <Element T>
bool gesdd_complex(char const* name, char const* jobz, Int const* m, Int const* n, T* a, Int const* lda, Real<T>* s, T* u, Int const* ldu,
                   T* vt, Int const* ldvt, T* work, Int const* lwork, Real<T>*, Int*, Int* info, Length) {
  return gesdd<T>(name, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, info);
}

// Equilibration and refinement

/// Myriad's scalings are powers of two: geequb, not geequ.
template <Element T>
bool geequb(char const* name, Int const* m, Int const* n, T const* a, Int const* lda, Real<T>* r, Real<T>* c, Real<T>* row_ratio,
            Real<T>* col_ratio, Real<T>* largest, Int* info) {
  Call call(name, info);
  if (!call.size(*m, 1).size(*n, 2).leading(*lda, *m, 4).begins()) return true;
  if (*m == 0 || *n == 0) {
    *row_ratio = *col_ratio = 1;
    *largest = 0;
    return true;
  }
  bool const served = call.run([&](Queue& queue, Operands& o) {
    myriad::geequ<T>(queue, o.matrix(a, *m, *n, *lda), o.vector(r, *m), o.vector(c, *n), o.number(row_ratio), o.number(col_ratio),
                     o.number(largest), o.number(info));
  });
  return served && *info == 0;  // of a matrix with a column of zeros LAPACK returns the scalings of rows
}

template <Element T>
bool laqge(char const* name, Int const* m, Int const* n, T* a, Int const* lda, Real<T> const* r, Real<T> const* c, Real<T> const* row_ratio,
           Real<T> const* col_ratio, Real<T> const* largest, char* equilibrated, Length) {
  using R = Real<T>;
  *equilibrated = 'N';
  if (*m <= 0 || *n <= 0) return true;
  constexpr R enough = static_cast<R>(0.1), small = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
  bool const rows = !(*row_ratio >= enough && *largest >= small && *largest <= 1 / small);
  bool const cols = !(*col_ratio >= enough);
  if (!rows && !cols) return true;
  bool const served = Call(name, nullptr).run([&](Queue& queue, Operands& o) {
    myriad::laqge<T>(queue, o.matrix(a, *m, *n, *lda), rows ? o.vector(r, *m) : Batch<R const>{},
                     cols ? o.vector(c, *n) : Batch<R const>{});
  });
  *equilibrated = rows && cols ? 'B' : rows ? 'R' : 'C';
  return served;
}

template <Element T, typename Work>
bool gerfs(char const* name, char const* trans, Int const* n, Int const* nrhs, T const* a, Int const* lda, T const* factors,
           Int const* ldaf, Int const* pivots, T const* b, Int const* ldb, T* x, Int const* ldx, Real<T>* ferr, Real<T>* berr, T*, Work*,
           Int* info, Length) {
  Call call(name, info);
  Op op{};
  call.letter(trans, "NTC", 1, op).size(*n, 2).size(*nrhs, 3).leading(*lda, *n, 5).leading(*ldaf, *n, 7).leading(*ldb, *n, 10);
  if (!call.leading(*ldx, *n, 12).begins()) return true;
  if (*n == 0) {
    std::fill_n(ferr, *nrhs, Real<T>(0));
    std::fill_n(berr, *nrhs, Real<T>(0));
    return true;
  }
  return call.run([&](Queue& queue, Operands& o) {
    myriad::gerfs<T>(queue, op, o.matrix(a, *n, *n, *lda), o.matrix(factors, *n, *n, *ldaf), o.vector(pivots, *n),
                     o.matrix(b, *n, *nrhs, *ldb), o.matrix(x, *n, *nrhs, *ldx), o.vector(ferr, *nrhs), o.vector(berr, *nrhs));
  });
}

/// LAPACK's complex counterpart of BLAS symv.
template <Element T>
bool symv(char const* name, char const* uplo, Int const* n, T const* alpha, T const* a, Int const* lda, T const* x, Int const* incx,
          T const* beta, T* y, Int const* incy, Length) {
  Call call(name, nullptr);
  Uplo triangle{};
  call.letter(uplo, "UL", 1, triangle).size(*n, 2).leading(*lda, *n, 5).require(*incx != 0, 7).require(*incy != 0, 10);
  if (!call.begins()) return true;
  if (*incx < 0 || *incy < 0) return false;  // strides of a batch are not negative
  return call.run([&](Queue& queue, Operands& o) {
    myriad::symv<T>(queue, triangle, *alpha, o.matrix(a, *n, *n, *lda), o.vector(x, *n, *incx), *beta, o.vector(y, *n, *incy));
  });
}

}  // namespace
}  // namespace myriad::lapack_names

using myriad::lapack_names::Entry;
using myriad::lapack_names::Int;
using Length = std::size_t;
namespace names = myriad::lapack_names;

/// Defines the function `name`_ with the parameters given, which calls `routine` with the arguments given.
#define MYRIAD_NAME(name, routine, parameters, arguments) \
  static Entry entry_of_##name(#name);                    \
  extern "C" MYRIAD_API void name##_ parameters { entry_of_##name.with(routine) arguments; }

/// All names of one type: T and its real type R; its letter t; `org` or `ung`, `orm` or `unm` and `sy` or `he`, with which names begin; the
/// type of gerfs' second workspace.
#define MYRIAD_NAMES(T, R, t, forms, applies, symmetric, Work)                                                                             \
  MYRIAD_NAME(t##getrf, names::getrf<T>, (Int const* m, Int const* n, T* a, Int const* lda, Int* ipiv, Int* info),                         \
              (m, n, a, lda, ipiv, info))                                                                                                  \
  MYRIAD_NAME(t##getrs, names::getrs<T>,                                                                                                   \
              (char const* trans, Int const* n, Int const* nrhs, T const* a, Int const* lda, Int const* ipiv, T* b, Int const* ldb,        \
               Int* info, Length l1),                                                                                                      \
              (trans, n, nrhs, a, lda, ipiv, b, ldb, info, l1))                                                                            \
  MYRIAD_NAME(t##gesv, names::gesv<T>, (Int const* n, Int const* nrhs, T* a, Int const* lda, Int* ipiv, T* b, Int const* ldb, Int* info),  \
              (n, nrhs, a, lda, ipiv, b, ldb, info))                                                                                       \
  MYRIAD_NAME(t##getri, names::getri<T>, (Int const* n, T* a, Int const* lda, Int const* ipiv, T* work, Int const* lwork, Int* info),      \
              (n, a, lda, ipiv, work, lwork, info))                                                                                        \
  MYRIAD_NAME(t##potrf, names::potrf<T>, (char const* uplo, Int const* n, T* a, Int const* lda, Int* info, Length l1),                     \
              (uplo, n, a, lda, info, l1))                                                                                                 \
  MYRIAD_NAME(t##potrs, names::potrs<T>,                                                                                                   \
              (char const* uplo, Int const* n, Int const* nrhs, T const* a, Int const* lda, T* b, Int const* ldb, Int* info, Length l1),   \
              (uplo, n, nrhs, a, lda, b, ldb, info, l1))                                                                                   \
  MYRIAD_NAME(t##posv, names::posv<T>,                                                                                                     \
              (char const* uplo, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Int* info, Length l1),         \
              (uplo, n, nrhs, a, lda, b, ldb, info, l1))                                                                                   \
  MYRIAD_NAME(t##potri, names::potri<T>, (char const* uplo, Int const* n, T* a, Int const* lda, Int* info, Length l1),                     \
              (uplo, n, a, lda, info, l1))                                                                                                 \
  MYRIAD_NAME(t##trtri, names::trtri<T>,                                                                                                   \
              (char const* uplo, char const* diag, Int const* n, T* a, Int const* lda, Int* info, Length l1, Length l2),                   \
              (uplo, diag, n, a, lda, info, l1, l2))                                                                                       \
  MYRIAD_NAME(t##geqrf, names::geqrf<T>, (Int const* m, Int const* n, T* a, Int const* lda, T* tau, T* work, Int const* lwork, Int* info), \
              (m, n, a, lda, tau, work, lwork, info))                                                                                      \
  MYRIAD_NAME(t##forms##qr, names::orgqr<T>,                                                                                               \
              (Int const* m, Int const* n, Int const* k, T* a, Int const* lda, T const* tau, T* work, Int const* lwork, Int* info),        \
              (m, n, k, a, lda, tau, work, lwork, info))                                                                                   \
  MYRIAD_NAME(t##applies##qr, names::ormqr<T>,                                                                                             \
              (char const* side, char const* trans, Int const* m, Int const* n, Int const* k, T const* a, Int const* lda, T const* tau,    \
               T* c, Int const* ldc, T* work, Int const* lwork, Int* info, Length l1, Length l2),                                          \
              (side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info, l1, l2))                                                      \
  MYRIAD_NAME(t##gels, names::gels<T>,                                                                                                     \
              (char const* trans, Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, T* work,        \
               Int const* lwork, Int* info, Length l1),                                                                                    \
              (trans, m, n, nrhs, a, lda, b, ldb, work, lwork, info, l1))                                                                  \
  MYRIAD_NAME(t##symmetric##trd, names::sytrd<T>,                                                                                          \
              (char const* uplo, Int const* n, T* a, Int const* lda, R* d, R* e, T* tau, T* work, Int const* lwork, Int* info, Length l1), \
              (uplo, n, a, lda, d, e, tau, work, lwork, info, l1))                                                                         \
  MYRIAD_NAME(t##forms##tr, names::orgtr<T>,                                                                                               \
              (char const* uplo, Int const* n, T* a, Int const* lda, T const* tau, T* work, Int const* lwork, Int* info, Length l1),       \
              (uplo, n, a, lda, tau, work, lwork, info, l1))                                                                               \
  MYRIAD_NAME(t##applies##tr, names::ormtr<T>,                                                                                             \
              (char const* side, char const* uplo, char const* trans, Int const* m, Int const* n, T const* a, Int const* lda,              \
               T const* tau, T* c, Int const* ldc, T* work, Int const* lwork, Int* info, Length l1, Length l2, Length l3),                 \
              (side, uplo, trans, m, n, a, lda, tau, c, ldc, work, lwork, info, l1, l2, l3))                                               \
  MYRIAD_NAME(t##gebrd, names::gebrd<T>,                                                                                                   \
              (Int const* m, Int const* n, T* a, Int const* lda, R* d, R* e, T* tauq, T* taup, T* work, Int const* lwork, Int* info),      \
              (m, n, a, lda, d, e, tauq, taup, work, lwork, info))                                                                         \
  MYRIAD_NAME(t##forms##br, names::orgbr<T>,                                                                                               \
              (char const* vect, Int const* m, Int const* n, Int const* k, T* a, Int const* lda, T const* tau, T* work, Int const* lwork,  \
               Int* info, Length l1),                                                                                                      \
              (vect, m, n, k, a, lda, tau, work, lwork, info, l1))                                                                         \
  MYRIAD_NAME(t##applies##br, names::ormbr<T>,                                                                                             \
              (char const* vect, char const* side, char const* trans, Int const* m, Int const* n, Int const* k, T const* a,                \
               Int const* lda, T const* tau, T* c, Int const* ldc, T* work, Int const* lwork, Int* info, Length l1, Length l2, Length l3), \
              (vect, side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info, l1, l2, l3))                                            \
  MYRIAD_NAME(t##geequb, names::geequb<T>,                                                                                                 \
              (Int const* m, Int const* n, T const* a, Int const* lda, R* r, R* c, R* rowcnd, R* colcnd, R* amax, Int* info),              \
              (m, n, a, lda, r, c, rowcnd, colcnd, amax, info))                                                                            \
  MYRIAD_NAME(t##laqge, names::laqge<T>,                                                                                                   \
              (Int const* m, Int const* n, T* a, Int const* lda, R const* r, R const* c, R const* rowcnd, R const* colcnd, R const* amax,  \
               char* equed, Length l1),                                                                                                    \
              (m, n, a, lda, r, c, rowcnd, colcnd, amax, equed, l1))                                                                       \
  MYRIAD_NAME(                                                                                                                             \
      t##gerfs, (names::gerfs<T, Work>),                                                                                                   \
      (char const* trans, Int const* n, Int const* nrhs, T const* a, Int const* lda, T const* af, Int const* ldaf, Int const* ipiv,        \
       T const* b, Int const* ldb, T* x, Int const* ldx, R* ferr, R* berr, T* work, Work* more, Int* info, Length l1),                     \
      (trans, n, nrhs, a, lda, af, ldaf, ipiv, b, ldb, x, ldx, ferr, berr, work, more, info, l1))

#define MYRIAD_REAL_NAMES(T, t)                                                                                                          \
  MYRIAD_NAME(t##gelsd, names::gelsd_real<T>,                                                                                            \
              (Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, T* s, T const* rcond, Int* rank, \
               T* work, Int const* lwork, Int* iwork, Int* info),                                                                        \
              (m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, iwork, info))                                                    \
  MYRIAD_NAME(t##gelsy, names::gelsy<T>,                                                                                                 \
              (Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Int* jpvt, T const* rcond,       \
               Int* rank, T* work, Int const* lwork, Int* info),                                                                         \
              (m, n, nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, info))                                                        \
  MYRIAD_NAME(t##geqp3, names::geqp3<T>,                                                                                                 \
              (Int const* m, Int const* n, T* a, Int const* lda, Int* jpvt, T* tau, T* work, Int const* lwork, Int* info),               \
              (m, n, a, lda, jpvt, tau, work, lwork, info))                                                                              \
  MYRIAD_NAME(t##gesdd, names::gesdd_real<T>,                                                                                            \
              (char const* jobz, Int const* m, Int const* n, T* a, Int const* lda, T* s, T* u, Int const* ldu, T* vt, Int const* ldvt,   \
               T* work, Int const* lwork, Int* iwork, Int* info, Length l1),                                                             \
              (jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork, info, l1))                                                   \
  MYRIAD_NAMES(T, T, t, org, orm, sy, Int)                                                                                               \
  MYRIAD_NAME(t##syevd, names::syevd<T>,                                                                                                 \
              (char const* jobz, char const* uplo, Int const* n, T* a, Int const* lda, T* w, T* work, Int const* lwork, Int* iwork,      \
               Int const* liwork, Int* info, Length l1, Length l2),                                                                      \
              (jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info, l1, l2))

#define MYRIAD_COMPLEX_NAMES(T, R, t)                                                                                                    \
  MYRIAD_NAME(t##gelsd, names::gelsd_complex<T>,                                                                                         \
              (Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, R* s, R const* rcond, Int* rank, \
               T* work, Int const* lwork, R* rwork, Int* iwork, Int* info),                                                              \
              (m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork, iwork, info))                                             \
  MYRIAD_NAME(t##gelsy, names::gelsy_complex<T>,                                                                                         \
              (Int const* m, Int const* n, Int const* nrhs, T* a, Int const* lda, T* b, Int const* ldb, Int* jpvt, R const* rcond,       \
               Int* rank, T* work, Int const* lwork, R* rwork, Int* info),                                                               \
              (m, n, nrhs, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, rwork, info))                                                 \
  MYRIAD_NAME(t##geqp3, names::geqp3_complex<T>,                                                                                         \
              (Int const* m, Int const* n, T* a, Int const* lda, Int* jpvt, T* tau, T* work, Int const* lwork, R* rwork, Int* info),     \
              (m, n, a, lda, jpvt, tau, work, lwork, rwork, info))                                                                       \
  MYRIAD_NAME(t##gesdd, names::gesdd_complex<T>,                                                                                         \
              (char const* jobz, Int const* m, Int const* n, T* a, Int const* lda, R* s, T* u, Int const* ldu, T* vt, Int const* ldvt,   \
               T* work, Int const* lwork, R* rwork, Int* iwork, Int* info, Length l1),                                                   \
              (jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rwork, iwork, info, l1))                                            \
  MYRIAD_NAMES(T, R, t, ung, unm, he, R)                                                                                                 \
  MYRIAD_NAME(t##heevd, names::heevd<T>,                                                                                                 \
              (char const* jobz, char const* uplo, Int const* n, T* a, Int const* lda, R* w, T* work, Int const* lwork, R* rwork,        \
               Int const* lrwork, Int* iwork, Int const* liwork, Int* info, Length l1, Length l2),                                       \
              (jobz, uplo, n, a, lda, w, work, lwork, rwork, lrwork, iwork, liwork, info, l1, l2))                                       \
  MYRIAD_NAME(t##symv, names::symv<T>,                                                                                                   \
              (char const* uplo, Int const* n, T const* alpha, T const* a, Int const* lda, T const* x, Int const* incx, T const* beta,   \
               T* y, Int const* incy, Length l1),                                                                                        \
              (uplo, n, alpha, a, lda, x, incx, beta, y, incy, l1))

MYRIAD_REAL_NAMES(float, s)
MYRIAD_REAL_NAMES(double, d)
MYRIAD_COMPLEX_NAMES(std::complex<float>, float, c)
MYRIAD_COMPLEX_NAMES(std::complex<double>, double, z)
