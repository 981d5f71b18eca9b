#include "gpu/peer_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "cholesky/case.hpp"
#include "core/dtype.hpp"
#include "eigen/case.hpp"
#include "eigen/tridiagonal/tridiagonal_case.hpp"
#include "gemm/case.hpp"
#include "lu/case.hpp"
#include "qr/case.hpp"
#include "svd/case.hpp"
#include "symm/case.hpp"
#include "symv/case.hpp"
#include "syrk/case.hpp"
#include "trsm/case.hpp"

namespace myriad::bench {
namespace {

using namespace cases;
using Timer = PeerTimer;

/// The addresses of all matrices.
template <typename T>
class Pointers {
 public:
  Pointers(Timer const& timer, Batch<T> const& of) {
    std::vector<T*> host;
    for (std::int64_t b = 0; b < of.count; ++b) host.push_back(of.data + b * of.batch_stride);
    array_ = to_device(timer.queue, host);
    timer.queue.wait();
  }
  operator void* const*() const { return reinterpret_cast<void* const*>(array_.data()); }

 private:
  DeviceArray<T*> array_;
};

/// A copy of the elements of a batch without gaps.
template <typename T>
DeviceArray<T> copy_of(Timer const& timer, Batch<T> const& of) {
  DeviceArray<T> out(timer.queue, of.count * of.rows * of.cols);
  copy<T>(timer.queue, of.data, out.size(), out.data());
  return out;
}

template <typename T>
int order(Batch<T> const& a) {
  return static_cast<int>(a.rows);
}
template <typename T>
int number(Batch<T> const& a) {
  return static_cast<int>(a.count);
}

/// Whether a loop over routines for one matrix may be faster than a batched one.
template <typename T>
bool is_few(Batch<T> const& a) {
  return a.count <= 64 && a.rows >= 128;
}
/// Times a routine of cuSOLVER for one matrix: call(workspace, its elements, info).
template <typename T, typename Call>
void measure_one(Timer const& timer, char const* name, int elements, Call const& call) {
  DeviceArray<T> const work(timer.queue, elements);
  DeviceArray<int> const info(timer.queue, 1);
  timer.measure(name, [&] { call(work.data(), elements, info.data()); });
}
/// The same one matrix after the other: call(number of the matrix, workspace, its elements, info).
template <typename T, typename Call>
void measure_each(Timer const& timer, char const* name, int elements, Batch<T> const& a, Call const& call) {
  measure_one<T>(timer, name, elements, [&](T* work, int of_work, int* info) {
    for (std::int64_t b = 0; b < a.count; ++b) call(b, work, of_work, info);
  });
}

/// C += A B by all forms. There are no other products for batches.
template <typename T>
void measure_products(Timer const& timer, T const* a, T const* b, Batch<T> const& c) {
  if (!timer.peers.has_cublas()) return;
  Peers& peers = timer.peers;
  int const n = order(c), count = number(c);
  T const one(1);
  Batch<T> of_a = c, of_b = c;
  of_a.data = const_cast<T*>(a), of_b.data = const_cast<T*>(b);
  Pointers<T> const pa(timer, of_a), pb(timer, of_b), pc(timer, c);
  timer.measure("cuBLAS gemmStridedBatched", [&] { peers.gemm_strided(dtype_of<T>, n, n, &one, a, b, c.data, count); });
  timer.measure("cuBLAS gemmBatched", [&] { peers.gemm(dtype_of<T>, n, &one, pa, pb, pc, count); });
  timer.measure("cuBLAS gemmStridedBatchedEx", [&] { peers.gemm_ex(dtype_of<T>, n, n, 1, a, b, c.data, count); });
  if (peers.has_grouped_ex(dtype_of<T>))
    timer.measure("cuBLAS gemmGroupedBatchedEx", [&] { peers.gemm_grouped_ex(dtype_of<T>, n, n, pa, pb, pc, count); });
}

/// cuBLAS has no complex 16-bit products. Programs with separate planes of real and imaginary parts call it four times; here the first half
/// of an array is the plane of the real parts.
void measure_planar_products(Timer const& timer, GemmCase<complex_half>& c, int n, int k, int count) {
  static_assert(sizeof(complex_half) == 2 * sizeof(half));
  auto const planes = [](Batch<complex_half> const& of) {
    auto* const real = reinterpret_cast<half*>(of.data);
    return std::array{real, real + of.count * of.rows * of.cols};
  };
  auto const a = planes(c.a.view()), b = planes(c.b.view()), z = planes(c.c.view());
  timer.measure("4 planar cuBLAS gemmStridedBatchedEx", [&] {
    timer.peers.gemm_ex(Dtype::f16, n, k, 1, a[0], b[0], z[0], count);
    timer.peers.gemm_ex(Dtype::f16, n, k, -1, a[1], b[1], z[0], count);
    timer.peers.gemm_ex(Dtype::f16, n, k, 1, a[0], b[1], z[1], count);
    timer.peers.gemm_ex(Dtype::f16, n, k, 1, a[1], b[0], z[1], count);
  });
}

template <typename T>
void measure(Timer const& timer, GemmCase<T>& c) {
  if constexpr (!HalfElement<T>) {
    measure_products<T>(timer, c.a.view().data, c.b.view().data, c.c.view());
  } else if (timer.peers.has_cublas()) {
    Peers& peers = timer.peers;
    constexpr Dtype dtype = dtype_of<T>;
    int const n = order(c.c.view()), k = static_cast<int>(c.a.view().cols), count = number(c.c.view());
    if constexpr (is_complex<T>) {
      measure_planar_products(timer, c, n, k, count);
    } else {
      timer.measure("cuBLAS gemmStridedBatchedEx",
                    [&] { peers.gemm_ex(dtype, n, k, 1, c.a.view().data, c.b.view().data, c.c.view().data, count); });
      if (count > 4'000'000) return;
      Pointers<T> const pa(timer, c.a.view()), pb(timer, c.b.view()), pc(timer, c.c.view());
      timer.measure("cuBLAS gemmBatchedEx", [&] { peers.gemm_ex(dtype, n, k, pa, pb, pc, count); });
      if (peers.has_grouped_ex(dtype))
        timer.measure("cuBLAS gemmGroupedBatchedEx", [&] { peers.gemm_grouped_ex(dtype, n, k, pa, pb, pc, count); });
    }
  }
}
template <typename T>
void measure(Timer const& timer, SymmCase<T>& c) {
  measure_products<T>(timer, c.a.view().data, c.b.view().data, c.c.view());
}
template <typename T>
void measure(Timer const& timer, SyrkCase<T>& c) {
  auto const b = copy_of(timer, c.a.view());
  measure_products<T>(timer, c.a.view().data, b.data(), c.c.view());
}
template <typename T>
void measure(Timer const& timer, TrmmCase<T>& c) {
  auto const b = copy_of(timer, c.b.view());
  measure_products<T>(timer, c.a.view().data, b.data(), c.b.view());
}

/// y = A x with both triangles of A.
template <typename T>
void measure_gemv(Timer const& timer, char const* name, Batch<T> const& a, bool by_rows, T const* x, T* y) {
  T const one(1), zero(0);
  timer.measure(name, [&] { timer.peers.gemv_strided(dtype_of<T>, a.rows, a.cols, by_rows, &one, &zero, a.data, x, y, number(a)); });
}
template <typename T>
void measure(Timer const& timer, GemvCase<T>& c) {
  if (!timer.peers.has_cublas()) return;
  bool const by_rows = c.problem().layout == Layout::row_major;
  measure_gemv<T>(timer, "cuBLAS gemvStridedBatched", c.a.view(), by_rows, c.x.data(), c.y.data());
}
template <typename T>
void measure(Timer const& timer, GerCase<T>& c) {
  if (!timer.peers.has_cublas()) return;
  T const one(1);
  timer.measure("cuBLAS gemmStridedBatched", [&] {
    timer.peers.gemm_strided(dtype_of<T>, order(c.a.view()), 1, &one, c.x.data(), c.y.data(), c.a.data(), number(c.a.view()));
  });
}
template <typename T, Symmetry symmetry>
void measure_symv(Timer const& timer, SymmetricProductCase<T, symmetry>& c) {
  if (!timer.peers.has_cublas()) return;
  constexpr bool hermitian = symmetry == Symmetry::hermitian && is_complex<T>;
  T const one(1), zero(0);
  Batch<T> const& a = c.a.view();
  if (a.count == 1)
    timer.measure(hermitian ? "cuBLAS hemv" : "cuBLAS symv", [&] {
      timer.peers.symv(dtype_of<T>, hermitian, c.problem().uplo, order(a), &one, &zero, a.data, c.x.data(), c.y.data());
    });
  measure_gemv<T>(timer, "cuBLAS gemvStridedBatched, all of A", a, false, c.x.data(), c.y.data());
}
template <typename T>
void measure(Timer const& timer, SymvCase<T>& c) {
  measure_symv(timer, c);
}
template <typename T>
void measure(Timer const& timer, HemvCase<T>& c) {
  measure_symv(timer, c);
}

template <typename T>
void measure_triangle(Timer const& timer, bool solves, TriangleCase<T>& c) {
  if (timer.peers.has_cublas() && c.a.view().count == 1)
    timer.measure(solves ? "cuBLAS trsv" : "cuBLAS trmv",
                  [&] { timer.peers.triangle(dtype_of<T>, solves, order(c.a.view()), c.a.data(), c.b.data()); });
}
template <typename T>
void measure_trsm(Timer const& timer, TriangleCase<T>& c) {
  if (!timer.peers.has_cublas()) return;
  T const one(1);
  Pointers<T> const pa(timer, c.a.view()), pb(timer, c.b.view());
  int const columns = static_cast<int>(c.b.view().cols);
  timer.measure("cuBLAS trsmBatched", [&] { timer.peers.trsm(dtype_of<T>, order(c.a.view()), columns, &one, pa, pb, number(c.a.view())); });
}
template <typename T>
void measure(Timer const& timer, TrmvCase<T>& c) {
  measure_triangle(timer, false, c);
  auto const x = copy_of(timer, c.b.view());
  if (timer.peers.has_cublas()) measure_gemv<T>(timer, "cuBLAS gemvStridedBatched, all of A", c.a.view(), false, x.data(), c.b.data());
}
template <typename T>
void measure(Timer const& timer, TrsvCase<T>& c) {
  measure_triangle(timer, true, c);
  measure_trsm(timer, c);
}
template <typename T>
void measure(Timer const& timer, TrsmCase<T>& c) {
  measure_trsm(timer, c);
}

template <typename T>
void measure_lu(Timer const& timer, Batch<T> const& a) {
  if (!timer.peers.has_cublas()) return;
  Pointers<T> const pa(timer, a);
  DeviceArray<int> const pivots(timer.queue, a.count * a.rows), info(timer.queue, a.count);
  timer.measure("cuBLAS getrfBatched", [&] { timer.peers.getrf(dtype_of<T>, order(a), pa, pivots.data(), info.data(), number(a)); });
}
template <typename T>
void measure(Timer const& timer, GetrfCase<T>& c) {
  Batch<T> const& a = c.a.view();
  measure_lu(timer, a);
  if (!timer.peers.has_cusolver() || !is_few(a)) return;
  int const n = order(a);
  DeviceArray<int> const pivots(timer.queue, n);
  measure_each<T>(
      timer, "cuSOLVER getrf", timer.peers.getrf_elements(dtype_of<T>, n, a.data), a,
      [&](std::int64_t b, T* work, int, int* info) { timer.peers.getrf(dtype_of<T>, n, a.matrix(b), pivots.data(), work, info); });
}
template <typename T>
void measure(Timer const& timer, DetCase<T>& c) {
  measure_lu(timer, c.a.view());
}
template <typename T>
void measure(Timer const& timer, GetrsCase<T>& c) {
  if (!timer.peers.has_cublas()) return;
  Pointers<T> const pa(timer, c.a.view()), pb(timer, c.b.view());
  timer.measure("cuBLAS getrsBatched",
                [&] { timer.peers.getrs(dtype_of<T>, order(c.a.view()), 1, pa, c.pivots.data(), pb, number(c.a.view())); });
}
template <typename T>
void measure_lu_solution(Timer const& timer, Batch<T> const& a, Batch<T> const& b) {
  if (!timer.peers.has_cublas()) return;
  Pointers<T> const pa(timer, a), pb(timer, b);
  DeviceArray<int> const pivots(timer.queue, a.count * a.rows), info(timer.queue, a.count);
  timer.measure("cuBLAS getrfBatched, getrsBatched", [&] {
    timer.peers.getrf(dtype_of<T>, order(a), pa, pivots.data(), info.data(), number(a));
    timer.peers.getrs(dtype_of<T>, order(a), 1, pa, pivots.data(), pb, number(a));
  });
}
template <typename T>
void measure(Timer const& timer, GesvCase<T>& c) {
  measure_lu_solution(timer, c.a.view(), c.b.view());
}
template <typename T>
void measure(Timer const& timer, SolveCase<T>& c) {
  measure_lu_solution(timer, c.a.view(), c.b.view());
}
template <typename T>
void measure(Timer const& timer, InverseCase<T>& c) {
  if (!timer.peers.has_cublas()) return;
  Batch<T> const& a = c.a.view();
  int const n = order(a), count = number(a);
  Pointers<T> const pa(timer, a), px(timer, c.x.view());
  DeviceArray<int> const pivots(timer.queue, a.count * n);
  timer.measure("cuBLAS getrfBatched, getriBatched", [&] {
    timer.peers.getrf(dtype_of<T>, n, pa, pivots.data(), c.info.data(), count);
    timer.peers.getri(dtype_of<T>, n, pa, pivots.data(), px, c.info.data(), count);
  });
  if (n <= 32) timer.measure("cuBLAS matinvBatched", [&] { timer.peers.matinv(dtype_of<T>, n, pa, px, c.info.data(), count); });
}

template <typename T>
void measure(Timer const& timer, GeqrfCase<T>& c) {
  if (!timer.peers.has_cublas()) return;
  Pointers<T> const pa(timer, c.a.view()), pt(timer, c.tau.view());
  timer.measure("cuBLAS geqrfBatched", [&] { timer.peers.geqrf(dtype_of<T>, order(c.a.view()), pa, pt, number(c.a.view())); });
  Batch<T> const& a = c.a.view();
  if (!timer.peers.has_cusolver() || !is_few(a)) return;
  int const n = order(a);
  measure_each<T>(timer, "cuSOLVER geqrf", timer.peers.geqrf_elements(dtype_of<T>, n, a.data), a,
                  [&](std::int64_t b, T* work, int elements, int* info) {
                    timer.peers.geqrf(dtype_of<T>, n, a.matrix(b), c.tau.view().matrix(b), work, elements, info);
                  });
}
template <typename T>
void measure(Timer const& timer, GelsCase<T>& c) {
  if (!timer.peers.has_cublas()) return;
  Pointers<T> const pa(timer, c.a.view()), pb(timer, c.b.view());
  timer.measure("cuBLAS gelsBatched", [&] { timer.peers.gels(dtype_of<T>, order(c.a.view()), pa, pb, c.info.data(), number(c.a.view())); });
}

template <typename T>
void measure(Timer const& timer, PotrfCase<T>& c) {
  if (!timer.peers.has_cusolver()) return;
  Pointers<T> const pa(timer, c.a.view());
  timer.measure("cuSOLVER potrfBatched", [&] { timer.peers.potrf(dtype_of<T>, order(c.a.view()), pa, c.info.data(), number(c.a.view())); });
  Batch<T> const& a = c.a.view();
  if (!is_few(a)) return;
  int const n = order(a);
  measure_each<T>(
      timer, "cuSOLVER potrf", timer.peers.potrf_elements(dtype_of<T>, n, a.data), a,
      [&](std::int64_t b, T* work, int elements, int* info) { timer.peers.potrf(dtype_of<T>, n, a.matrix(b), work, elements, info); });
}
template <typename T>
void measure_cholesky_solution(Timer const& timer, Batch<T> const& a, Batch<T> const& b, int* info) {
  if (!timer.peers.has_cusolver()) return;
  Pointers<T> const pa(timer, a), pb(timer, b);
  DeviceArray<int> const one_info(timer.queue, 1);
  timer.measure(info ? "cuSOLVER potrfBatched, potrsBatched" : "cuSOLVER potrsBatched", [&] {
    if (info) timer.peers.potrf(dtype_of<T>, order(a), pa, info, number(a));
    timer.peers.potrs(dtype_of<T>, order(a), pa, pb, one_info.data(), number(a));
  });
}
template <typename T>
void measure(Timer const& timer, PotrsCase<T>& c) {
  measure_cholesky_solution<T>(timer, c.a.view(), c.b.view(), nullptr);
}
template <typename T>
void measure(Timer const& timer, PosvCase<T>& c) {
  measure_cholesky_solution<T>(timer, c.a.view(), c.b.view(), c.info.data());
}
template <typename T>
void measure(Timer const& timer, SolvePositiveDefiniteCase<T>& c) {
  measure_cholesky_solution<T>(timer, c.a.view(), c.b.view(), c.info.data());
}

template <typename T>
void measure(Timer const& timer, SyevdCase<T>& c) {
  if (!timer.peers.has_cusolver()) return;
  Peers& peers = timer.peers;
  constexpr Dtype dtype = dtype_of<T>;
  int const n = order(c.a.view()), count = number(c.a.view());
  T* const a = c.a.data();
  Real<T>* const w = c.w.data();
  int* const info = c.info.data();
  if (count == 1)
    timer.attempt("cuSOLVER Xsyevd", [&] {
      Peers::SyevBytes const bytes = peers.syevd_bytes(dtype, n, a, w);
      DeviceArray<char> const work(timer.queue, static_cast<std::int64_t>(bytes.device));
      std::vector<char> host_work(bytes.host);
      timer.measure("cuSOLVER Xsyevd", [&] { peers.syevd(dtype, n, a, w, work.data(), host_work.data(), bytes, info); });
    });
  // syevj (Jacobi's method, one block per matrix) is for small matrices, and one large matrix is not a batch.
  if (n <= 256)
    timer.attempt("cuSOLVER syevjBatched", [&] {
      std::int64_t const bytes = peers.syevj_bytes(dtype, n, a, w, count);
      DeviceArray<char> const work(timer.queue, bytes);
      timer.measure("cuSOLVER syevjBatched", [&] { peers.syevj(dtype, n, a, w, work.data(), bytes, info, count); });
    });
  if (peers.has_syev() && (count > 1 || n <= 512))
    timer.attempt("cuSOLVER XsyevBatched", [&] {
      Peers::SyevBytes const bytes = peers.syev_bytes(dtype, n, a, w, count);
      DeviceArray<char> const work(timer.queue, static_cast<std::int64_t>(bytes.device));
      std::vector<char> host_work(bytes.host);
      timer.measure("cuSOLVER XsyevBatched", [&] { peers.syev(dtype, n, a, w, work.data(), host_work.data(), bytes, info, count); });
    });
}

/// Elements of the first matrices of a batch without gaps, on the host.
template <typename T>
std::vector<T> first_of(Timer const& timer, T const* from, std::int64_t elements) {
  DeviceArray<T> const some(timer.queue, elements);
  copy<T>(timer.queue, from, elements, some.data());
  return to_host(timer.queue, some);
}
/// The largest residual norm1(A - U S V^H) / (m norm1(A) u) and orthogonality norm1(I - U^H U) / (m u), norm1(I - V^H V) / (n u) of
/// the first `number` matrices, from their elements by columns.
template <typename T>
double svd_error(std::int64_t m, std::int64_t n, std::int64_t number, std::vector<T> const& a, std::vector<T> const& u,
                 std::vector<Real<T>> const& s, std::vector<T> const& v) {
  using W = Wide<T>;
  double worst = 0;
  for (std::int64_t b = 0; b < number; ++b) {
    Dense<W> of_a(m, n), of_u(m, n), scaled(m, n), of_v(n, n);
    auto const fill = [&](Dense<W>& to, std::vector<T> const& from) {
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < to.rows(); ++i) to(i, j) = widened<W>(from[static_cast<std::size_t>((b * n + j) * to.rows() + i)]);
    };
    fill(of_a, a), fill(of_u, u), fill(of_v, v);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) scaled(i, j) = of_u(i, j) * W(s[static_cast<std::size_t>(b * n + j)]);
    for (double const error :
         {factor_error<T>(of_a - scaled * adjoint(of_v), of_a, m), orthogonality_error<T>(of_u), orthogonality_error<T>(of_v)})
      worst = std::max(worst, error == error ? error : std::numeric_limits<double>::infinity());
  }
  return worst;
}
/// gesvdaStridedBatched, if its results are right.
template <typename T>
void measure_gesvda(Timer const& timer, GesvdCase<T>& c) {
  Batch<T> const& a = c.a.view();
  int const m = order(a), n = static_cast<int>(a.cols), count = number(a);
  constexpr char const* name = "cuSOLVER gesvdaStridedBatched";
  timer.attempt(name, [&] {
    int const elements = timer.peers.gesvda_elements(dtype_of<T>, m, n, a.data, c.s.data(), c.u.data(), c.vt.data(), count);
    DeviceArray<T> const work(timer.queue, elements);
    auto const call = [&] {
      timer.peers.gesvda(dtype_of<T>, m, n, a.data, c.s.data(), c.u.data(), c.vt.data(), work.data(), elements, c.info.data(), count);
    };
    std::int64_t const some = std::min(count, 3), of_a = some * m * n;
    timer.refresh();
    auto const before = first_of<T>(timer, a.data, of_a);
    call();
    double const error = svd_error<T>(m, n, some, before, first_of<T>(timer, c.u.data(), of_a),
                                      first_of<Real<T>>(timer, c.s.data(), some * n), first_of<T>(timer, c.vt.data(), some * n * n));
    if (!(error <= 30)) throw PeerError(fmt::format("its result is wrong, {:.2g} times the limit", error / 30));
    timer.measure(name, call);
  });
}

/// cuSOLVER's routines return V where gesvd returns V^H.
template <typename T>
void measure(Timer const& timer, GesvdCase<T>& c) {
  if (!timer.peers.has_cusolver() || c.problem().svd_job != SvdJob::thin) return;
  Batch<T> const& a = c.a.view();
  int const n = order(a), count = number(a);
  if (n > 32 || a.cols != n) {
    if (n >= a.cols) measure_gesvda(timer, c);
    return;
  }
  timer.attempt("cuSOLVER gesvdjBatched", [&] {
    int const elements = timer.peers.gesvdj_elements(dtype_of<T>, n, a.data, c.s.data(), c.u.data(), c.vt.data(), count);
    DeviceArray<T> const work(timer.queue, elements);
    timer.measure("cuSOLVER gesvdjBatched", [&] {
      timer.peers.gesvdj(dtype_of<T>, n, a.data, c.s.data(), c.u.data(), c.vt.data(), work.data(), elements, c.info.data(), count);
    });
  });
}

template <typename T>
void measure(Timer const& timer, SytrdCase<T>& c) {
  Batch<T> const& a = c.a.view();
  if (!timer.peers.has_cusolver() || a.count > 1) return;
  int const n = order(a);
  measure_one<T>(timer, "cuSOLVER sytrd", timer.peers.sytrd_elements(dtype_of<T>, n, a.data, c.d.data(), c.e.data(), c.tau.data()),
                 [&](T* work, int elements, int* info) {
                   timer.peers.sytrd(dtype_of<T>, n, a.data, c.d.data(), c.e.data(), c.tau.data(), work, elements, info);
                 });
}
template <typename T>
void measure(Timer const& timer, OrgtrCase<T>& c) {
  Batch<T> const& a = c.a.view();
  if (!timer.peers.has_cusolver() || a.count > 1) return;
  int const n = order(a);
  measure_one<T>(timer, is_complex<T> ? "cuSOLVER ungtr" : "cuSOLVER orgtr",
                 timer.peers.orgtr_elements(dtype_of<T>, n, a.data, c.tau.data()),
                 [&](T* work, int elements, int* info) { timer.peers.orgtr(dtype_of<T>, n, a.data, c.tau.data(), work, elements, info); });
}
template <typename T>
void measure(Timer const& timer, OrmtrCase<T>& c) {
  Batch<T> const& a = c.a.view();
  if (!timer.peers.has_cusolver() || a.count > 1) return;
  int const n = order(a);
  measure_one<T>(timer, is_complex<T> ? "cuSOLVER unmtr" : "cuSOLVER ormtr",
                 timer.peers.ormtr_elements(dtype_of<T>, n, a.data, c.tau.data(), c.c.data()), [&](T* work, int elements, int* info) {
                   timer.peers.ormtr(dtype_of<T>, n, a.data, c.tau.data(), c.c.data(), work, elements, info);
                 });
}

}  // namespace

void measure_peers(PeerTimer const& timer, CaseRun& run) {
  auto const call = [&](auto& c) { measure(timer, c); };
  with_any_dtype(run.problem().dtype, [&]<typename T>() {
    if constexpr (HalfElement<T>)
      for_case_of<T, GemmCase>(run, call);
    else if (run.problem().layout == Layout::row_major)  // a product with a transposed matrix for cuBLAS
      for_case_of<T, GemvCase>(run, call);
    else
      for_case_of<T, GemmCase, SymmCase, SyrkCase, TrmmCase, GemvCase, GerCase, SymvCase, HemvCase, TrmvCase, TrsvCase, TrsmCase, GetrfCase,
                  DetCase, GetrsCase, GesvCase, SolveCase, InverseCase, GeqrfCase, GelsCase, PotrfCase, PotrsCase, PosvCase,
                  SolvePositiveDefiniteCase, SyevdCase, SytrdCase, OrgtrCase, OrmtrCase, GesvdCase>(run, call);
  });
}

}  // namespace myriad::bench
