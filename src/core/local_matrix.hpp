#pragma once
/// One matrix of a batch for LAPACK, column-major and not conjugated: in place if it is stored so, else a copy.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "core/lapack.hpp"
#include "core/substitution.hpp"
#include "myriad/batch.hpp"

namespace myriad {

/// Bytes that BLAS may read behind a matrix or vector: OpenBLAS 0.3.21 loads whole pairs of complex numbers and discards the excess
/// (measured: 16 bytes).
inline constexpr std::size_t read_beyond = 64;

/// Memory aligned to cache lines, since sums of OpenBLAS depend on the alignment (asum in single and double).
template <typename T>
struct LineAligned {
  using value_type = T;
  LineAligned() = default;
  template <typename U>
  LineAligned(LineAligned<U> const&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  bool operator==(LineAligned const&) const = default;

 private:
  static constexpr std::align_val_t line{64};
};

/// Memory that a thread reuses from matrix to matrix; grows to the largest request. It is aligned to cache lines, and memory before and
/// behind it is readable.
template <typename T>
class Scratch {
 public:
  T* reserve(std::int64_t size) {
    std::size_t const needed = static_cast<std::size_t>(size) + 2 * slack;
    if (needed > memory_.size()) memory_.resize(needed);
    return memory_.data() + slack;
  }

 private:
  static constexpr std::size_t slack = read_beyond / sizeof(T);
  static_assert(read_beyond % sizeof(T) == 0);
  std::vector<T, LineAligned<T>> memory_;
};

/// The elements of a matrix that a routine reads or writes.
enum class Part { all, upper, lower };

inline Uplo other(Uplo uplo) { return uplo == Uplo::upper ? Uplo::lower : Uplo::upper; }

inline Part part_of(Uplo uplo) { return uplo == Uplo::upper ? Part::upper : Part::lower; }

/// Calls `f(i, j)` for the elements of a part of an m-by-n matrix, column by column.
template <typename F>
void for_part(Part part, std::int64_t m, std::int64_t n, F&& f) {
  for (std::int64_t j = 0; j < n; ++j) {
    std::int64_t const first = part == Part::lower ? std::min(j, m) : 0;
    std::int64_t const last = part == Part::upper ? std::min(j + 1, m) : m;
    for (std::int64_t i = first; i < last; ++i) f(i, j);
  }
}

template <typename T>
T conjugate_if(bool conjugated, T x) {
  if constexpr (is_complex<T>)
    return conjugated ? std::conj(x) : x;
  else
    return x;
}

/// Whether a matrix is used in place if its layout allows. Some LAPACK routines write into inputs and restore them, which fails if other
/// threads read them or memory is read-only. gelqf, potri, sytrd, syevd, gebrd and gesdd always get a copy: complex kernels of the first
/// four in OpenBLAS 0.3.21 walk along rows and read one column too far, and the last bits of real kernels depend on the alignment.
enum class Place { own_if_possible, copy };

/// Whether the bytes that BLAS may read behind the last element of an m-by-n matrix are in the page of that element, and so readable.
/// Larger pages are multiples of 4 KiB.
template <typename T>
bool may_be_read_beyond(T const* a, std::int64_t m, std::int64_t n, std::int64_t ld) {
  constexpr std::uintptr_t page = 4096;
  auto const end = reinterpret_cast<std::uintptr_t>(a + (m - 1) + (n - 1) * ld + 1);
  return (end - 1) / page == (end - 1 + read_beyond) / page;
}

/// Matrix b of a batch, column-major. T is const for an input. For other layouts `scratch` holds a copy that `store()` writes back.
template <typename T>
class LocalMatrix {
  using Value = std::remove_const_t<T>;

 public:
  LocalMatrix(Batch<T> const& batch, std::int64_t b, Scratch<Value>& scratch, Part part = Part::all, Place place = Place::own_if_possible)
      : m_(batch.rows_of(b)),
        n_(batch.cols_of(b)),
        rs_(batch.row_stride_of(b)),
        cs_(batch.col_stride_of(b)),
        part_(part),
        conjugated_(batch.conjugated) {
    if (m_ == 0 || n_ == 0) return;
    T* const a = batch.matrix(b);
    bool const column_major = (rs_ == 1 || m_ == 1) && (cs_ >= m_ || n_ == 1) && !conjugated_;
    std::int64_t const own_ld = n_ == 1 ? m_ : cs_;
    // A block of a much larger matrix is copied, to make it compact.
    bool const in_place = column_major && place == Place::own_if_possible && own_ld <= 8 * m_ + 512;
    if (in_place && may_be_read_beyond(a, m_, n_, own_ld)) {
      data_ = const_cast<Value*>(a);
      ld_ = own_ld;
    } else {
      source_ = a;
      // If only the address requires the copy, it keeps the leading dimension: with another one BLAS may sum in another order.
      ld_ = in_place ? own_ld : m_;
      // A readable column and a spare one on either side
      std::int64_t const beside = place == Place::copy ? 2 * m_ : 0;
      data_ = scratch.reserve(ld_ * n_ + 2 * beside) + beside;
      for_part(part_, m_, n_, [&](auto i, auto j) { data_[i + j * ld_] = conjugate_if(conjugated_, a[i * rs_ + j * cs_]); });
    }
  }

  [[nodiscard]] Value* data() const { return data_; }
  [[nodiscard]] lapack::Int rows() const { return static_cast<lapack::Int>(m_); }
  [[nodiscard]] lapack::Int cols() const { return static_cast<lapack::Int>(n_); }
  [[nodiscard]] lapack::Int ld() const { return static_cast<lapack::Int>(std::max({ld_, m_, std::int64_t{1}})); }

  /// Writes the copy back, if there is one.
  void store() const requires(!std::is_const_v<T>) { store(part_); }
  /// The same for another part than the one that was read.
  void store(Part part) const requires(!std::is_const_v<T>) {
    if (source_)
      for_part(part, m_, n_, [&](auto i, auto j) { source_[i * rs_ + j * cs_] = conjugate_if(conjugated_, data_[i + j * ld_]); });
  }

 private:
  std::int64_t m_, n_, rs_, cs_;
  Part part_;
  bool conjugated_;
  T* source_ = nullptr;
  Value* data_ = nullptr;
  std::int64_t ld_ = 1;
};

/// The first zero on the diagonal, counted from one; 0 if there is none.
template <typename T>
lapack::Int zero_on_diagonal(LocalMatrix<T> const& a) {
  return zero_on_diagonal(std::min(a.rows(), a.cols()), a.data(), a.ld());
}

/// The first `count` entries of a vector, contiguous for LAPACK.
template <typename T>
T* load_vector(Batch<T const> const& x, std::int64_t b, std::int64_t count, Scratch<T>& scratch) {
  T* const local = scratch.reserve(count);
  for (std::int64_t k = 0; k < count; ++k) local[k] = conjugate_if(x.conjugated, *x.at(b, k, 0));
  return local;
}

/// Fills matrix b with NaN.
template <typename T>
void fill_with_nan(Batch<T> const& batch, std::int64_t b) {
  Real<T> const nan = std::numeric_limits<Real<T>>::quiet_NaN();
  T value{nan};
  if constexpr (is_complex<T>) value = T(nan, nan);
  for_part(Part::all, batch.rows_of(b), batch.cols_of(b), [&](auto i, auto j) { *batch.at(b, i, j) = value; });
}

}  // namespace myriad
