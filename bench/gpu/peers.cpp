#include "gpu/peers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace myriad::bench {
namespace {

void* open(std::initializer_list<char const*> names) {
  for (char const* const name : names)
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

void check(int status, char const* what) {
  if (status != 0) throw PeerError(std::string(what) + ": status " + std::to_string(status));
}

template <typename F>
F* symbol(void* library, std::string const& name) {
  auto* const found = reinterpret_cast<F*>(dlsym(library, name.c_str()));
  if (!found) throw std::runtime_error(name + " is not in this library");
  return found;
}

/// The library function named `prefix`, letter of the type, `name`.
template <typename F>
F* function(void* library, char const* prefix, char const* name, Dtype dtype) {
  constexpr std::array letters{'S', 'D', 'C', 'Z'};
  return symbol<F>(library, std::string(prefix) + letters.at(static_cast<std::size_t>(dtype)) + name);
}

// Values of cublasFillMode_t, cublasOperation_t, cublasSideMode_t, cublasDiagType_t and cusolverEigMode_t.
constexpr int lower = 0, upper = 1, no_transpose = 0, transpose = 1, left = 0, non_unit = 0, with_vectors = 1;

/// cudaDataType of the elements, and of their real type.
int data_type(Dtype dtype) { return std::array{0, 1, 4, 5}.at(static_cast<std::size_t>(dtype)); }
int real_data_type(Dtype dtype) { return data_type(dtype) % 4; }
std::int64_t bytes_of(Dtype dtype) { return std::array{4, 8, 8, 16}.at(static_cast<std::size_t>(dtype)); }
/// The Jacobi routine has one name for symmetric and another for Hermitian matrices.
std::string syevj_name(Dtype dtype, char const* what) {
  return std::string(dtype == Dtype::f32 || dtype == Dtype::f64 ? "syevjBatched" : "heevjBatched") + what;
}

bool is_real(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::f64; }
std::string sytrd_name(Dtype dtype) { return is_real(dtype) ? "sytrd" : "hetrd"; }
std::string orgtr_name(Dtype dtype) { return is_real(dtype) ? "orgtr" : "ungtr"; }
std::string ormtr_name(Dtype dtype) { return is_real(dtype) ? "ormtr" : "unmtr"; }

/// In the form of NVML and nvidia-smi: "GPU-01234567-89ab-cdef-0123-456789abcdef".
std::string uuid_of(Device const& device) {
  std::string out = "GPU";
  for (std::size_t k = 0; k < device.uuid.size(); ++k)
    out += fmt::format("{}{:02x}", k == 0 || k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "", device.uuid[k]);
  return out;
}

constexpr int compute_32f = 68, compute_64f = 70, default_algorithm = -1;  // CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT
/// Type parameters of the Ex forms: of elements, of sums, and a scalar in the type of alpha and beta.
struct Ex {
  int type, compute;
  std::array<float, 2> single;
  std::array<double, 2> wide;

  Ex(Dtype dtype, double scalar)
      : type(dtype == Dtype::f16    ? 2   // CUDA_R_16F
             : dtype == Dtype::bf16 ? 14  // CUDA_R_16BF
                                    : data_type(dtype)),
        compute(dtype == Dtype::f64 || dtype == Dtype::c64 ? compute_64f : compute_32f),
        single{static_cast<float>(scalar), 0},
        wide{scalar, 0} {}
  [[nodiscard]] void const* scalar() const { return compute == compute_64f ? static_cast<void const*>(wide.data()) : single.data(); }
};

}  // namespace

Peers::Peers(void* stream, bool wanted) {
  if (!wanted) return;
  open_cublas(stream);
  open_cusolver(stream);
}

void Peers::open_cublas(void* stream) {
  blas_ = open({"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"});
  if (!blas_) {
    problem_ += "cuBLAS was not found: libcublas.so.13, libcublas.so.12, /usr/local/cuda/lib64/libcublas.so; set LD_LIBRARY_PATH. ";
    return;
  }
  if (symbol<int(void**)>(blas_, "cublasCreate_v2")(&blas_handle_) != 0) {
    blas_handle_ = nullptr;
    problem_ += "cuBLAS was found but does not start. ";
    return;
  }
  check(symbol<int(void*, void*)>(blas_, "cublasSetStream_v2")(blas_handle_, stream), "cublasSetStream");
  symbol<int(void*, int*)>(blas_, "cublasGetVersion_v2")(blas_handle_, &cublas_version_);
}

void Peers::open_cusolver(void* stream) {
  solver_ = open({"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", "/usr/local/cuda/lib64/libcusolver.so"});
  if (!solver_) {
    problem_ += "cuSOLVER was not found: libcusolver.so.12, libcusolver.so.11, /usr/local/cuda/lib64/libcusolver.so; set LD_LIBRARY_PATH.";
    return;
  }
  if (symbol<int(void**)>(solver_, "cusolverDnCreate")(&solver_handle_) != 0) {
    solver_handle_ = nullptr;
    problem_ += "cuSOLVER was found but does not start.";
    return;
  }
  check(symbol<int(void*, void*)>(solver_, "cusolverDnSetStream")(solver_handle_, stream), "cusolverDnSetStream");
  symbol<int(int*)>(solver_, "cusolverGetVersion")(&cusolver_version_);
  check(symbol<int(void**)>(solver_, "cusolverDnCreateSyevjInfo")(&jacobi_), "cusolverDnCreateSyevjInfo");
  check(symbol<int(void**)>(solver_, "cusolverDnCreateGesvdjInfo")(&singular_jacobi_), "cusolverDnCreateGesvdjInfo");
  check(symbol<int(void**)>(solver_, "cusolverDnCreateParams")(&parameters_), "cusolverDnCreateParams");
}

Peers::~Peers() {
  if (blas_handle_) symbol<int(void*)>(blas_, "cublasDestroy_v2")(blas_handle_);
  if (jacobi_) symbol<int(void*)>(solver_, "cusolverDnDestroySyevjInfo")(jacobi_);
  if (singular_jacobi_) symbol<int(void*)>(solver_, "cusolverDnDestroyGesvdjInfo")(singular_jacobi_);
  if (parameters_) symbol<int(void*)>(solver_, "cusolverDnDestroyParams")(parameters_);
  if (solver_handle_) symbol<int(void*)>(solver_, "cusolverDnDestroy")(solver_handle_);
}

void Peers::gemm_strided(Dtype dtype, int n, int k, void const* one, void const* a, void const* b, void* c, int count) {
  long long const stride = static_cast<long long>(n) * k;
  check(function<int(void*, int, int, int, int, int, void const*, void const*, int, long long, void const*, int, long long, void const*,
                     void*, int, long long, int)>(blas_, "cublas", "gemmStridedBatched", dtype)(blas_handle_, no_transpose, no_transpose, n,
                                                                                                n, k, one, a, n, stride, b, k, stride, one,
                                                                                                c, n, static_cast<long long>(n) * n, count),
        "gemmStridedBatched");
}
void Peers::gemm_ex(Dtype dtype, int n, int k, double alpha, void const* a, void const* b, void* c, int count) {
  Ex const of(dtype, alpha), one(dtype, 1);
  long long const stride = static_cast<long long>(n) * k;
  check(symbol<int(void*, int, int, int, int, int, void const*, void const*, int, int, long long, void const*, int, int, long long,
                   void const*, void*, int, int, long long, int, int, int)>(blas_, "cublasGemmStridedBatchedEx")(
            blas_handle_, no_transpose, no_transpose, n, n, k, of.scalar(), a, of.type, n, stride, b, of.type, k, stride, one.scalar(), c,
            of.type, n, static_cast<long long>(n) * n, count, of.compute, default_algorithm),
        "cublasGemmStridedBatchedEx");
}
void Peers::gemm_ex(Dtype dtype, int n, int k, void* const* a, void* const* b, void* const* c, int count) {
  Ex const of(dtype, 1);
  check(symbol<int(void*, int, int, int, int, int, void const*, void* const*, int, int, void* const*, int, int, void const*, void* const*,
                   int, int, int, int, int)>(blas_, "cublasGemmBatchedEx")(blas_handle_, no_transpose, no_transpose, n, n, k, of.scalar(),
                                                                           a, of.type, n, b, of.type, k, of.scalar(), c, of.type, n, count,
                                                                           of.compute, default_algorithm),
        "cublasGemmBatchedEx");
}
bool Peers::has_grouped_ex(Dtype dtype) const {
  return dtype != Dtype::c32 && dtype != Dtype::c64 && dlsym(blas_, "cublasGemmGroupedBatchedEx") != nullptr;
}
void Peers::gemm_grouped_ex(Dtype dtype, int n, int k, void* const* a, void* const* b, void* const* c, int count) {
  Ex const of(dtype, 1);
  int const operation = no_transpose;
  check(symbol<int(void*, int const*, int const*, int const*, int const*, int const*, void const*, void* const*, int, int const*,
                   void* const*, int, int const*, void const*, void* const*, int, int const*, int, int const*, int)>(
            blas_, "cublasGemmGroupedBatchedEx")(blas_handle_, &operation, &operation, &n, &n, &k, of.scalar(), a, of.type, &n, b, of.type,
                                                 &k, of.scalar(), c, of.type, &n, 1, &count, of.compute),
        "cublasGemmGroupedBatchedEx");
}
void Peers::gemv_strided(Dtype dtype, std::int64_t m, std::int64_t n, bool by_rows, void const* one, void const* zero, void const* a,
                         void const* x, void* y, int count) {
  int const rows = static_cast<int>(by_rows ? n : m), columns = static_cast<int>(by_rows ? m : n);
  check(function<int(void*, int, int, int, void const*, void const*, int, long long, void const*, int, long long, void const*, void*, int,
                     long long, int)>(blas_, "cublas", "gemvStridedBatched", dtype)(
            blas_handle_, by_rows ? transpose : no_transpose, rows, columns, one, a, rows, m * n, x, 1, n, zero, y, 1, m, count),
        "gemvStridedBatched");
}
void Peers::symv(Dtype dtype, bool hermitian, Uplo uplo, int n, void const* one, void const* zero, void const* a, void const* x, void* y) {
  check(function<int(void*, int, int, void const*, void const*, int, void const*, int, void const*, void*, int)>(
            blas_, "cublas", hermitian ? "hemv_v2" : "symv_v2", dtype)(blas_handle_, uplo == Uplo::lower ? lower : upper, n, one, a, n, x,
                                                                       1, zero, y, 1),
        hermitian ? "hemv" : "symv");
}
void Peers::triangle(Dtype dtype, bool solves, int n, void const* a, void* x) {
  char const* const name = solves ? "trsv_v2" : "trmv_v2";
  check(function<int(void*, int, int, int, int, void const*, int, void*, int)>(blas_, "cublas", name, dtype)(
            blas_handle_, lower, no_transpose, non_unit, n, a, n, x, 1),
        name);
}
void Peers::gemm(Dtype dtype, int n, void const* one, void* const* a, void* const* b, void* const* c, int count) {
  check(
      function<int(void*, int, int, int, int, int, void const*, void* const*, int, void* const*, int, void const*, void* const*, int, int)>(
          blas_, "cublas", "gemmBatched", dtype)(blas_handle_, no_transpose, no_transpose, n, n, n, one, a, n, b, n, one, c, n, count),
      "gemmBatched");
}
void Peers::gemm_grouped(Dtype dtype, std::vector<int> const& n, std::vector<int> const& of_each, void* const* a, void* const* b,
                         void* const* c) {
  std::vector<int> const operations(n.size(), no_transpose);
  std::vector<float> const one(n.size(), 1);
  std::vector<double> const one_of_double(n.size(), 1);
  void const* const scalars = dtype == Dtype::f64 ? static_cast<void const*>(one_of_double.data()) : one.data();
  check(function<int(void*, int const*, int const*, int const*, int const*, int const*, void const*, void* const*, int const*, void* const*,
                     int const*, void const*, void* const*, int const*, int, int const*)>(blas_, "cublas", "gemmGroupedBatched", dtype)(
            blas_handle_, operations.data(), operations.data(), n.data(), n.data(), n.data(), scalars, a, n.data(), b, n.data(), scalars, c,
            n.data(), static_cast<int>(n.size()), of_each.data()),
        "gemmGroupedBatched");
}
void Peers::getrf(Dtype dtype, int n, void* const* a, int* pivots, int* info, int count) {
  check(function<int(void*, int, void* const*, int, int*, int*, int)>(blas_, "cublas", "getrfBatched", dtype)(blas_handle_, n, a, n, pivots,
                                                                                                              info, count),
        "getrfBatched");
}
void Peers::getrs(Dtype dtype, int n, int nrhs, void* const* a, int const* pivots, void* const* b, int count) {
  int info = 0;
  check(function<int(void*, int, int, int, void* const*, int, int const*, void* const*, int, int*, int)>(
            blas_, "cublas", "getrsBatched", dtype)(blas_handle_, no_transpose, n, nrhs, a, n, pivots, b, n, &info, count),
        "getrsBatched");
}
void Peers::getri(Dtype dtype, int n, void* const* a, int const* pivots, void* const* c, int* info, int count) {
  check(function<int(void*, int, void* const*, int, int const*, void* const*, int, int*, int)>(blas_, "cublas", "getriBatched", dtype)(
            blas_handle_, n, a, n, pivots, c, n, info, count),
        "getriBatched");
}
void Peers::matinv(Dtype dtype, int n, void* const* a, void* const* c, int* info, int count) {
  check(function<int(void*, int, void* const*, int, void* const*, int, int*, int)>(blas_, "cublas", "matinvBatched", dtype)(
            blas_handle_, n, a, n, c, n, info, count),
        "matinvBatched");
}
void Peers::geqrf(Dtype dtype, int n, void* const* a, void* const* tau, int count) {
  int info = 0;
  check(function<int(void*, int, int, void* const*, int, void* const*, int*, int)>(blas_, "cublas", "geqrfBatched", dtype)(
            blas_handle_, n, n, a, n, tau, &info, count),
        "geqrfBatched");
}
void Peers::gels(Dtype dtype, int n, void* const* a, void* const* b, int* info, int count) {
  int arguments = 0;
  check(function<int(void*, int, int, int, int, void* const*, int, void* const*, int, int*, int*, int)>(
            blas_, "cublas", "gelsBatched", dtype)(blas_handle_, no_transpose, n, n, 1, a, n, b, n, &arguments, info, count),
        "gelsBatched");
}
void Peers::trsm(Dtype dtype, int n, int columns, void const* alpha, void* const* a, void* const* b, int count) {
  check(function<int(void*, int, int, int, int, int, int, void const*, void* const*, int, void* const*, int, int)>(
            blas_, "cublas", "trsmBatched", dtype)(blas_handle_, left, lower, no_transpose, non_unit, n, columns, alpha, a, n, b, n, count),
        "trsmBatched");
}
void Peers::potrf(Dtype dtype, int n, void* const* a, int* info, int count) {
  check(function<int(void*, int, int, void* const*, int, int*, int)>(solver_, "cusolverDn", "potrfBatched", dtype)(solver_handle_, lower, n,
                                                                                                                   a, n, info, count),
        "potrfBatched");
}
void Peers::potrs(Dtype dtype, int n, void* const* a, void* const* b, int* info, int count) {
  check(function<int(void*, int, int, int, void* const*, int, void* const*, int, int*, int)>(solver_, "cusolverDn", "potrsBatched", dtype)(
            solver_handle_, lower, n, 1, a, n, b, n, info, count),
        "potrsBatched");
}

int Peers::getrf_elements(Dtype dtype, int n, void const* a) {
  int elements = 0;
  check(function<int(void*, int, int, void const*, int, int*)>(solver_, "cusolverDn", "getrf_bufferSize", dtype)(solver_handle_, n, n, a, n,
                                                                                                                 &elements),
        "getrf_bufferSize");
  return elements;
}
void Peers::getrf(Dtype dtype, int n, void* a, int* pivots, void* work, int* info) {
  check(function<int(void*, int, int, void*, int, void*, int*, int*)>(solver_, "cusolverDn", "getrf", dtype)(solver_handle_, n, n, a, n,
                                                                                                             work, pivots, info),
        "getrf");
}
int Peers::potrf_elements(Dtype dtype, int n, void const* a) {
  int elements = 0;
  check(function<int(void*, int, int, void const*, int, int*)>(solver_, "cusolverDn", "potrf_bufferSize", dtype)(solver_handle_, lower, n,
                                                                                                                 a, n, &elements),
        "potrf_bufferSize");
  return elements;
}
void Peers::potrf(Dtype dtype, int n, void* a, void* work, int elements, int* info) {
  check(function<int(void*, int, int, void*, int, void*, int, int*)>(solver_, "cusolverDn", "potrf", dtype)(solver_handle_, lower, n, a, n,
                                                                                                            work, elements, info),
        "potrf");
}
int Peers::geqrf_elements(Dtype dtype, int n, void const* a) {
  int elements = 0;
  check(function<int(void*, int, int, void const*, int, int*)>(solver_, "cusolverDn", "geqrf_bufferSize", dtype)(solver_handle_, n, n, a, n,
                                                                                                                 &elements),
        "geqrf_bufferSize");
  return elements;
}
void Peers::geqrf(Dtype dtype, int n, void* a, void* tau, void* work, int elements, int* info) {
  check(function<int(void*, int, int, void*, int, void*, void*, int, int*)>(solver_, "cusolverDn", "geqrf", dtype)(
            solver_handle_, n, n, a, n, tau, work, elements, info),
        "geqrf");
}

std::int64_t Peers::syevj_bytes(Dtype dtype, int n, void const* a, void const* w, int count) {
  int elements = 0;
  std::string const name = syevj_name(dtype, "_bufferSize");
  check(function<int(void*, int, int, int, void const*, int, void const*, int*, void*, int)>(solver_, "cusolverDn", name.c_str(), dtype)(
            solver_handle_, with_vectors, lower, n, a, n, w, &elements, jacobi_, count),
        name.c_str());
  return elements * bytes_of(dtype);
}
void Peers::syevj(Dtype dtype, int n, void* a, void* w, void* work, std::int64_t bytes, int* info, int count) {
  std::string const name = syevj_name(dtype, "");
  check(function<int(void*, int, int, int, void*, int, void*, void*, int, int*, void*, int)>(solver_, "cusolverDn", name.c_str(), dtype)(
            solver_handle_, with_vectors, lower, n, a, n, w, work, static_cast<int>(bytes / bytes_of(dtype)), info, jacobi_, count),
        name.c_str());
}
int Peers::gesvdj_elements(Dtype dtype, int n, void const* a, void const* s, void const* u, void const* v, int count) {
  int elements = 0;
  check(function<int(void*, int, int, int, void const*, int, void const*, void const*, int, void const*, int, int*, void*, int)>(
            solver_, "cusolverDn", "gesvdjBatched_bufferSize", dtype)(solver_handle_, with_vectors, n, n, a, n, s, u, n, v, n, &elements,
                                                                      singular_jacobi_, count),
        "gesvdjBatched_bufferSize");
  return elements;
}
void Peers::gesvdj(Dtype dtype, int n, void* a, void* s, void* u, void* v, void* work, int elements, int* info, int count) {
  check(function<int(void*, int, int, int, void*, int, void*, void*, int, void*, int, void*, int, int*, void*, int)>(
            solver_, "cusolverDn", "gesvdjBatched", dtype)(solver_handle_, with_vectors, n, n, a, n, s, u, n, v, n, work, elements, info,
                                                           singular_jacobi_, count),
        "gesvdjBatched");
}
int Peers::gesvda_elements(Dtype dtype, int m, int n, void const* a, void const* s, void const* u, void const* v, int count) {
  long long const of_a = static_cast<long long>(m) * n, of_v = static_cast<long long>(n) * n;
  int elements = 0;
  check(function<int(void*, int, int, int, int, void const*, int, long long, void const*, long long, void const*, int, long long,
                     void const*, int, long long, int*, int)>(solver_, "cusolverDn", "gesvdaStridedBatched_bufferSize", dtype)(
            solver_handle_, with_vectors, n, m, n, a, m, of_a, s, n, u, m, of_a, v, n, of_v, &elements, count),
        "gesvdaStridedBatched_bufferSize");
  return elements;
}
void Peers::gesvda(Dtype dtype, int m, int n, void* a, void* s, void* u, void* v, void* work, int elements, int* info, int count) {
  long long const of_a = static_cast<long long>(m) * n, of_v = static_cast<long long>(n) * n;
  // No norms of residuals, which would take time.
  check(function<int(void*, int, int, int, int, void const*, int, long long, void*, long long, void*, int, long long, void*, int, long long,
                     void*, int, int*, double*, int)>(solver_, "cusolverDn", "gesvdaStridedBatched", dtype)(
            solver_handle_, with_vectors, n, m, n, a, m, of_a, s, n, u, m, of_a, v, n, of_v, work, elements, info, nullptr, count),
        "gesvdaStridedBatched");
}
int Peers::sytrd_elements(Dtype dtype, int n, void const* a, void const* d, void const* e, void const* tau) {
  int elements = 0;
  std::string const name = sytrd_name(dtype) + "_bufferSize";
  check(function<int(void*, int, int, void const*, int, void const*, void const*, void const*, int*)>(
            solver_, "cusolverDn", name.c_str(), dtype)(solver_handle_, lower, n, a, n, d, e, tau, &elements),
        name.c_str());
  return elements;
}
void Peers::sytrd(Dtype dtype, int n, void* a, void* d, void* e, void* tau, void* work, int elements, int* info) {
  std::string const name = sytrd_name(dtype);
  check(function<int(void*, int, int, void*, int, void*, void*, void*, void*, int, int*)>(solver_, "cusolverDn", name.c_str(), dtype)(
            solver_handle_, lower, n, a, n, d, e, tau, work, elements, info),
        name.c_str());
}
int Peers::orgtr_elements(Dtype dtype, int n, void const* a, void const* tau) {
  int elements = 0;
  std::string const name = orgtr_name(dtype) + "_bufferSize";
  check(function<int(void*, int, int, void const*, int, void const*, int*)>(solver_, "cusolverDn", name.c_str(), dtype)(
            solver_handle_, lower, n, a, n, tau, &elements),
        name.c_str());
  return elements;
}
void Peers::orgtr(Dtype dtype, int n, void* a, void const* tau, void* work, int elements, int* info) {
  std::string const name = orgtr_name(dtype);
  check(function<int(void*, int, int, void*, int, void const*, void*, int, int*)>(solver_, "cusolverDn", name.c_str(), dtype)(
            solver_handle_, lower, n, a, n, tau, work, elements, info),
        name.c_str());
}
int Peers::ormtr_elements(Dtype dtype, int n, void const* a, void const* tau, void const* c) {
  int elements = 0;
  std::string const name = ormtr_name(dtype) + "_bufferSize";
  check(function<int(void*, int, int, int, int, int, void const*, int, void const*, void const*, int, int*)>(
            solver_, "cusolverDn", name.c_str(), dtype)(solver_handle_, left, lower, no_transpose, n, n, a, n, tau, c, n, &elements),
        name.c_str());
  return elements;
}
void Peers::ormtr(Dtype dtype, int n, void const* a, void const* tau, void* c, void* work, int elements, int* info) {
  std::string const name = ormtr_name(dtype);
  check(function<int(void*, int, int, int, int, int, void const*, int, void const*, void*, int, void*, int, int*)>(
            solver_, "cusolverDn", name.c_str(), dtype)(solver_handle_, left, lower, no_transpose, n, n, a, n, tau, c, n, work, elements,
                                                        info),
        name.c_str());
}
bool Peers::has_syev() { return dlsym(solver_, "cusolverDnXsyevBatched") != nullptr; }
Peers::SyevBytes Peers::syev_bytes(Dtype dtype, int n, void const* a, void const* w, int count) {
  SyevBytes bytes{};
  check(symbol<int(void*, void*, int, int, std::int64_t, int, void const*, std::int64_t, int, void const*, int, std::size_t*, std::size_t*,
                   std::int64_t)>(solver_, "cusolverDnXsyevBatched_bufferSize")(solver_handle_, parameters_, with_vectors, lower, n,
                                                                                data_type(dtype), a, n, real_data_type(dtype), w,
                                                                                data_type(dtype), &bytes.device, &bytes.host, count),
        "XsyevBatched_bufferSize");
  return bytes;
}
void Peers::syev(Dtype dtype, int n, void* a, void* w, void* work, void* host_work, SyevBytes bytes, int* info, int count) {
  check(symbol<int(void*, void*, int, int, std::int64_t, int, void*, std::int64_t, int, void*, int, void*, std::size_t, void*, std::size_t,
                   int*, std::int64_t)>(solver_, "cusolverDnXsyevBatched")(
            solver_handle_, parameters_, with_vectors, lower, n, data_type(dtype), a, n, real_data_type(dtype), w, data_type(dtype), work,
            bytes.device, host_work, bytes.host, info, count),
        "XsyevBatched");
}
Peers::SyevBytes Peers::syevd_bytes(Dtype dtype, int n, void const* a, void const* w) {
  SyevBytes bytes{};
  check(
      symbol<int(void*, void*, int, int, std::int64_t, int, void const*, std::int64_t, int, void const*, int, std::size_t*, std::size_t*)>(
          solver_, "cusolverDnXsyevd_bufferSize")(solver_handle_, parameters_, with_vectors, lower, n, data_type(dtype), a, n,
                                                  real_data_type(dtype), w, data_type(dtype), &bytes.device, &bytes.host),
      "Xsyevd_bufferSize");
  return bytes;
}
void Peers::syevd(Dtype dtype, int n, void* a, void* w, void* work, void* host_work, SyevBytes bytes, int* info) {
  check(symbol<int(void*, void*, int, int, std::int64_t, int, void*, std::int64_t, int, void*, int, void*, std::size_t, void*, std::size_t,
                   int*)>(solver_, "cusolverDnXsyevd")(solver_handle_, parameters_, with_vectors, lower, n, data_type(dtype), a, n,
                                                       real_data_type(dtype), w, data_type(dtype), work, bytes.device, host_work,
                                                       bytes.host, info),
        "Xsyevd");
}

EnergyMeter::EnergyMeter(Device const& device) {
  library_ = open({"libnvidia-ml.so.1"});
  if (!library_) return;
  auto const init = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlInit_v2"));
  auto const get = reinterpret_cast<int (*)(char const*, void**)>(dlsym(library_, "nvmlDeviceGetHandleByUUID"));
  if (!init || !get || init() != 0 || get(uuid_of(device).c_str(), &device_) != 0) device_ = nullptr;
}
EnergyMeter::~EnergyMeter() {
  if (!library_) return;
  if (auto const shutdown = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlShutdown"))) shutdown();
}
double EnergyMeter::joules() const {
  if (!device_) return 0;
  auto const total = reinterpret_cast<int (*)(void*, unsigned long long*)>(dlsym(library_, "nvmlDeviceGetTotalEnergyConsumption"));
  unsigned long long millijoules = 0;
  return total && total(device_, &millijoules) == 0 ? static_cast<double>(millijoules) * 1e-3 : 0;
}

}  // namespace myriad::bench
