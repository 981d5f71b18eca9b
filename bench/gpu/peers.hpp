#pragma once
/// Routines of cuBLAS and cuSOLVER, loaded at run time, that Myriad has too.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "myriad/device.hpp"
#include "myriad/types.hpp"

namespace myriad::bench {

/// A call that a peer refuses, for instance because the batch is too large.
class PeerError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The batched products and factorizations of cuBLAS and cuSOLVER on one stream; all pointers are device pointers.
class Peers {
 public:
  /// Loads the libraries, which are large, only if `wanted`.
  Peers(void* stream, bool wanted);
  ~Peers();
  Peers(Peers const&) = delete;
  Peers& operator=(Peers const&) = delete;

  /// Why one of them is unusable; empty if both are usable.
  [[nodiscard]] std::string const& problem() const { return problem_; }
  [[nodiscard]] bool has_cublas() const { return blas_handle_ != nullptr; }
  [[nodiscard]] bool has_cusolver() const { return solver_handle_ != nullptr; }
  [[nodiscard]] int cublas_version() const { return cublas_version_; }
  [[nodiscard]] int cusolver_version() const { return cusolver_version_; }

  /// C = A B + C, A n-by-k, B k-by-n, packed batches; for square matrices also by pointers.
  void gemm_strided(Dtype dtype, int n, int k, void const* one, void const* a, void const* b, void* c, int count);
  void gemm(Dtype dtype, int n, void const* one, void* const* a, void* const* b, void* const* c, int count);
  /// The same for groups of square matrices: group g has of_each[g] matrices of n[g] rows, consecutive in the arrays of pointers. Types s
  /// and d.
  void gemm_grouped(Dtype dtype, std::vector<int> const& n, std::vector<int> const& of_each, void* const* a, void* const* b,
                    void* const* c);
  /// C += alpha A B for n-by-k matrices A of any type but complex 16-bit ones, by the Ex forms, which have a type parameter. Sums of 16-bit
  /// numbers are floats.
  void gemm_ex(Dtype dtype, int n, int k, double alpha, void const* a, void const* b, void* c, int count);
  /// The same by pointers, with alpha = 1; gemm_grouped_ex: as one group of a grouped batch.
  void gemm_ex(Dtype dtype, int n, int k, void* const* a, void* const* b, void* const* c, int count);
  [[nodiscard]] bool has_grouped_ex(Dtype dtype) const;
  void gemm_grouped_ex(Dtype dtype, int n, int k, void* const* a, void* const* b, void* const* c, int count);
  /// y = A x for a packed batch of m-by-n matrices, column-major or row-major.
  void gemv_strided(Dtype dtype, std::int64_t m, std::int64_t n, bool by_rows, void const* one, void const* zero, void const* a,
                    void const* x, void* y, int count);
  /// y = A x for one matrix, symmetric or, if `hermitian` and complex, Hermitian.
  void symv(Dtype dtype, bool hermitian, Uplo uplo, int n, void const* one, void const* zero, void const* a, void const* x, void* y);
  /// For one lower, not unit triangle: x = A x or, if `solves`, the solution of A x = b in place of b.
  void triangle(Dtype dtype, bool solves, int n, void const* a, void* x);
  void getrf(Dtype dtype, int n, void* const* a, int* pivots, int* info, int count);
  void getrs(Dtype dtype, int n, int nrhs, void* const* a, int const* pivots, void* const* b, int count);
  void getri(Dtype dtype, int n, void* const* a, int const* pivots, void* const* c, int* info, int count);
  void matinv(Dtype dtype, int n, void* const* a, void* const* c, int* info, int count);  ///< n up to 32
  void geqrf(Dtype dtype, int n, void* const* a, void* const* tau, int count);
  void gels(Dtype dtype, int n, void* const* a, void* const* b, int* info, int count);                       ///< one right-hand side
  void trsm(Dtype dtype, int n, int columns, void const* alpha, void* const* a, void* const* b, int count);  ///< lower, not unit
  void potrf(Dtype dtype, int n, void* const* a, int* info, int count);                  ///< lower; cuSOLVER, like potrs
  void potrs(Dtype dtype, int n, void* const* a, void* const* b, int* info, int count);  ///< one right-hand side
  /// Factorizations of one matrix, by cuSOLVER; the workspace query of each is in elements.
  [[nodiscard]] int getrf_elements(Dtype dtype, int n, void const* a);
  void getrf(Dtype dtype, int n, void* a, int* pivots, void* work, int* info);
  [[nodiscard]] int potrf_elements(Dtype dtype, int n, void const* a);
  void potrf(Dtype dtype, int n, void* a, void* work, int elements, int* info);  ///< lower
  [[nodiscard]] int geqrf_elements(Dtype dtype, int n, void const* a);
  void geqrf(Dtype dtype, int n, void* a, void* tau, void* work, int elements, int* info);
  /// Values and vectors from lower triangles of packed batches: syevj by Jacobi's method, syev by a method that cuSOLVER chooses. Each has
  /// a workspace query.
  [[nodiscard]] std::int64_t syevj_bytes(Dtype dtype, int n, void const* a, void const* w, int count);
  void syevj(Dtype dtype, int n, void* a, void* w, void* work, std::int64_t bytes, int* info, int count);
  [[nodiscard]] bool has_syev();  ///< cuSOLVER of CUDA 12.6 and later
  struct SyevBytes {
    std::size_t device, host;
  };
  [[nodiscard]] SyevBytes syev_bytes(Dtype dtype, int n, void const* a, void const* w, int count);
  void syev(Dtype dtype, int n, void* a, void* w, void* work, void* host_work, SyevBytes bytes, int* info, int count);
  /// The same for one matrix.
  [[nodiscard]] SyevBytes syevd_bytes(Dtype dtype, int n, void const* a, void const* w);
  void syevd(Dtype dtype, int n, void* a, void* w, void* work, void* host_work, SyevBytes bytes, int* info);
  /// Values and vectors of square matrices of up to 32 rows by Jacobi's method; the workspace query is in elements.
  [[nodiscard]] int gesvdj_elements(Dtype dtype, int n, void const* a, void const* s, void const* u, void const* v, int count);
  void gesvdj(Dtype dtype, int n, void* a, void* s, void* u, void* v, void* work, int elements, int* info, int count);
  /// The same of m-by-n matrices with m >= n, by a method that is accurate for well conditioned matrices alone, as cuSOLVER's documentation
  /// says.
  [[nodiscard]] int gesvda_elements(Dtype dtype, int m, int n, void const* a, void const* s, void const* u, void const* v, int count);
  void gesvda(Dtype dtype, int m, int n, void* a, void* s, void* u, void* v, void* work, int elements, int* info, int count);
  /// For one matrix, from its lower triangle; the workspace query is in elements.
  [[nodiscard]] int sytrd_elements(Dtype dtype, int n, void const* a, void const* d, void const* e, void const* tau);
  void sytrd(Dtype dtype, int n, void* a, void* d, void* e, void* tau, void* work, int elements, int* info);
  /// Q of sytrd; and C = Q C for an n-by-n C.
  [[nodiscard]] int orgtr_elements(Dtype dtype, int n, void const* a, void const* tau);
  void orgtr(Dtype dtype, int n, void* a, void const* tau, void* work, int elements, int* info);
  [[nodiscard]] int ormtr_elements(Dtype dtype, int n, void const* a, void const* tau, void const* c);
  void ormtr(Dtype dtype, int n, void const* a, void const* tau, void* c, void* work, int elements, int* info);

 private:
  void open_cublas(void* stream);
  void open_cusolver(void* stream);

  void* blas_ = nullptr;
  void* blas_handle_ = nullptr;
  void* solver_ = nullptr;
  void* solver_handle_ = nullptr;
  void* jacobi_ = nullptr;           ///< syevjInfo_t
  void* singular_jacobi_ = nullptr;  ///< gesvdjInfo_t
  void* parameters_ = nullptr;
  int cublas_version_ = 0, cusolver_version_ = 0;
  std::string problem_;
};

/// Energy counter of a GPU in joules, from NVML; 0 without NVML, and for a part of a GPU (MIG), which has no meter. The GPU is identified
/// by its UUID, since NVML numbers all GPUs of the machine and CUDA those in CUDA_VISIBLE_DEVICES.
class EnergyMeter {
 public:
  explicit EnergyMeter(Device const& device);
  ~EnergyMeter();
  EnergyMeter(EnergyMeter const&) = delete;
  EnergyMeter& operator=(EnergyMeter const&) = delete;
  [[nodiscard]] double joules() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace myriad::bench
