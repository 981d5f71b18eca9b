#pragma once
/// cuBLAS and cuSOLVER, found at run time, as far as they have what Myriad has.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "myriad/device.hpp"
#include "myriad/types.hpp"

namespace myriad::bench {

/// The batched products and factorizations of cuBLAS and cuSOLVER on one stream; all pointers are of the device.
/// A peer that does not do what it is asked to: it is too much for it.
class PeerError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Peers {
 public:
  /// Opens none unless `wanted`: their libraries are large.
  Peers(void* stream, bool wanted);
  ~Peers();
  Peers(Peers const&) = delete;
  Peers& operator=(Peers const&) = delete;

  /// Why one of them cannot be used; empty where both can.
  [[nodiscard]] std::string const& problem() const { return problem_; }
  [[nodiscard]] bool has_cublas() const { return blas_handle_ != nullptr; }
  [[nodiscard]] bool has_cusolver() const { return solver_handle_ != nullptr; }
  [[nodiscard]] int cublas_version() const { return cublas_version_; }
  [[nodiscard]] int cusolver_version() const { return cusolver_version_; }

  /// C = A B + C, A n-by-k, B k-by-n, one after the other; of square matrices also by pointers.
  void gemm_strided(Dtype dtype, int n, int k, void const* one, void const* a, void const* b, void* c, int count);
  void gemm(Dtype dtype, int n, void const* one, void* const* a, void* const* b, void* const* c, int count);
  /// The same of groups of as many square matrices of a size as `of_each` says, behind one another in the arrays of pointers; s and d.
  void gemm_grouped(Dtype dtype, std::vector<int> const& n, std::vector<int> const& of_each, void* const* a, void* const* b,
                    void* const* c);
  /// C += alpha A B for n-by-k matrices A of any type but complex ones of 16 bits, by the forms that are told the type; sums of numbers of
  /// 16 bits are floats.
  void gemm_ex(Dtype dtype, int n, int k, double alpha, void const* a, void const* b, void* c, int count);
  /// The same behind pointers, with alpha = 1; as one group of a grouped batch.
  void gemm_ex(Dtype dtype, int n, int k, void* const* a, void* const* b, void* const* c, int count);
  [[nodiscard]] bool has_grouped_ex(Dtype dtype) const;
  void gemm_grouped_ex(Dtype dtype, int n, int k, void* const* a, void* const* b, void* const* c, int count);
  /// y = A x of m-by-n matrices, one after the other, by columns or by rows.
  void gemv_strided(Dtype dtype, std::int64_t m, std::int64_t n, bool by_rows, void const* one, void const* zero, void const* a,
                    void const* x, void* y, int count);
  /// y = A x, A symmetric, or Hermitian where it is complex and so said; of one matrix.
  void symv(Dtype dtype, bool hermitian, Uplo uplo, int n, void const* one, void const* zero, void const* a, void const* x, void* y);
  /// x = A x or, where it `solves`, A x = b in the place of b; A lower, not unit, of one matrix.
  void triangle(Dtype dtype, bool solves, int n, void const* a, void* x);
  void getrf(Dtype dtype, int n, void* const* a, int* pivots, int* info, int count);
  void getrs(Dtype dtype, int n, int nrhs, void* const* a, int const* pivots, void* const* b, int count);
  void getri(Dtype dtype, int n, void* const* a, int const* pivots, void* const* c, int* info, int count);
  void matinv(Dtype dtype, int n, void* const* a, void* const* c, int* info, int count);  ///< n up to 32
  void geqrf(Dtype dtype, int n, void* const* a, void* const* tau, int count);
  void gels(Dtype dtype, int n, void* const* a, void* const* b, int* info, int count);                       ///< one right-hand side
  void trsm(Dtype dtype, int n, int columns, void const* alpha, void* const* a, void* const* b, int count);  ///< lower, not unit
  void potrf(Dtype dtype, int n, void* const* a, int* info, int count);                  ///< lower; cuSOLVER, as the next one
  void potrs(Dtype dtype, int n, void* const* a, void* const* b, int* info, int count);  ///< one right-hand side
  /// Values and vectors from lower triangles, matrices one after the other; by Jacobi's method, and as cuSOLVER likes. The first of each
  /// pair says how much workspace the second takes.
  [[nodiscard]] std::int64_t syevj_bytes(Dtype dtype, int n, void const* a, void const* w, int count);
  void syevj(Dtype dtype, int n, void* a, void* w, void* work, std::int64_t bytes, int* info, int count);
  [[nodiscard]] bool has_syev();  ///< cuSOLVER of CUDA 12.6 and later
  struct SyevBytes {
    std::size_t device, host;
  };
  [[nodiscard]] SyevBytes syev_bytes(Dtype dtype, int n, void const* a, void const* w, int count);
  void syev(Dtype dtype, int n, void* a, void* w, void* work, void* host_work, SyevBytes bytes, int* info, int count);
  /// The same of one matrix.
  [[nodiscard]] SyevBytes syevd_bytes(Dtype dtype, int n, void const* a, void const* w);
  void syevd(Dtype dtype, int n, void* a, void* w, void* work, void* host_work, SyevBytes bytes, int* info);
  /// Of one matrix, from its lower triangle; the first one says how much workspace the second takes, in elements.
  [[nodiscard]] int sytrd_elements(Dtype dtype, int n, void const* a, void const* d, void const* e, void const* tau);
  void sytrd(Dtype dtype, int n, void* a, void* d, void* e, void* tau, void* work, int elements, int* info);
  /// Q of that; and C = Q C of n-by-n matrices.
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
  void* jacobi_ = nullptr;  ///< syevjInfo_t
  void* parameters_ = nullptr;
  int cublas_version_ = 0, cusolver_version_ = 0;
  std::string problem_;
};

/// Joules that a GPU has taken since some time, through NVML; 0 where there is none, and of a part of a GPU (MIG), which has no meter. NVML
/// counts all GPUs of the machine and CUDA those in CUDA_VISIBLE_DEVICES, so that the UUID says which it is and the number does not.
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
