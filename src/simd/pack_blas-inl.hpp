/// Small dense algebra on packs: every "element" is a pack, so that each operation works on one element of several matrices.
/// Included once per SIMD target, hence no plain include guard.

#if defined(MYRIAD_SIMD_PACK_BLAS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_SIMD_PACK_BLAS_INL_HPP
#undef MYRIAD_SIMD_PACK_BLAS_INL_HPP
#else
#define MYRIAD_SIMD_PACK_BLAS_INL_HPP
#endif

#include "simd/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// A matrix of packs: element (i, j) at data + i*rs + j*cs. Strides count reals, not packs.
template <typename T, typename R = typename Pack<T>::R>
struct PackMatrix {
  R* data;
  std::int64_t rs;
  std::int64_t cs;

  HWY_INLINE R* at(std::int64_t i, std::int64_t j) const { return data + i * rs + j * cs; }
  HWY_INLINE PackMatrix block(std::int64_t i, std::int64_t j) const { return {at(i, j), rs, cs}; }
  HWY_INLINE PackMatrix transposed() const { return {data, cs, rs}; }
  HWY_INLINE Pack<T> load(std::int64_t i, std::int64_t j) const { return Pack<T>::load(at(i, j)); }
  HWY_INLINE void store(std::int64_t i, std::int64_t j, Pack<T> x) const { x.store(at(i, j)); }
};

/// Column-major packs with leading dimension ld (in packs).
template <typename T>
HWY_INLINE PackMatrix<T> pack_matrix(typename Pack<T>::R* data, std::int64_t ld) {
  return {data, Pack<T>::size, ld * Pack<T>::size};
}

/// Registers of a tile of C: half of all; the rest hold operands.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int tile_registers = 16;
#else
inline constexpr int tile_registers = 8;
#endif
template <typename T>
inline constexpr int tile_rows = is_complex<T>&& tile_registers == 8 ? 2 : 4;
template <typename T>
inline constexpr int tile_cols = tile_registers / (tile_rows<T> * (is_complex<T> ? 2 : 1));

/// Algorithms are fully unrolled up to this size. Complex packs fill the registers sooner. The rarely used baseline targets are not
/// unrolled, to save compile time.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
template <typename T>
inline constexpr int unrolled_size = is_complex<T> ? 4 : 8;
#else
template <typename T>
inline constexpr int unrolled_size = 1;
#endif

/// Calls `f.operator()<N>()` if n is a size N for which the algorithms are unrolled; returns whether it is.
template <typename T, int N = unrolled_size<T>, typename F>
HWY_INLINE bool if_unrolled(std::int64_t n, F const& f) {
  if constexpr (N > 1) {
    if (n != N) return if_unrolled<T, N - 1>(n, f);
    f.template operator()<N>();
    return true;
  } else {
    return false;
  }
}

/// One tile of gemm_sub.
template <typename T, int M, int N, bool conj_a, bool conj_b>
HWY_INLINE void gemm_sub_tile(std::int64_t k, PackMatrix<T> a, PackMatrix<T> b, PackMatrix<T> c) {
  Pack<T> x[M][N];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) x[i][j] = c.load(i, j);
  for (std::int64_t p = 0; p < k; ++p) {
    Pack<T> ai[M];
    for (int i = 0; i < M; ++i) ai[i] = conj_a ? conj(a.load(i, p)) : a.load(i, p);
    for (int j = 0; j < N; ++j) {
      Pack<T> const bj = conj_b ? conj(b.load(p, j)) : b.load(p, j);
      for (int i = 0; i < M; ++i) x[i][j] = neg_mul_add(ai[i], bj, x[i][j]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) c.store(i, j, x[i][j]);
}

/// gemm_sub for N columns of C.
template <typename T, int N, bool conj_a = false, bool conj_b = false>
HWY_INLINE void gemm_sub_strip(std::int64_t m, std::int64_t k, PackMatrix<T> a, PackMatrix<T> b, PackMatrix<T> c) {
  constexpr int rows = tile_rows<T>;
  std::int64_t i = 0;
  for (; i + rows <= m; i += rows) gemm_sub_tile<T, rows, N, conj_a, conj_b>(k, a.block(i, 0), b, c.block(i, 0));
  for (; i < m; ++i) gemm_sub_tile<T, 1, N, conj_a, conj_b>(k, a.block(i, 0), b, c.block(i, 0));
}

/// C = C - A B with A m-by-k, B k-by-n, all of packs; A or B conjugated on request. Each element is updated in ascending k, one
/// multiply-add at a time, whatever the tiling, so that blocked and unblocked algorithms give the same bits.
template <typename T, bool conj_a = false, bool conj_b = false>
HWY_NOINLINE void gemm_sub(std::int64_t m, std::int64_t n, std::int64_t k, PackMatrix<T> a, PackMatrix<T> b, PackMatrix<T> c) {
  constexpr int cols = tile_cols<T>;
  std::int64_t j = 0;
  for (; j + cols <= n; j += cols) gemm_sub_strip<T, cols, conj_a, conj_b>(m, k, a, b.block(0, j), c.block(0, j));
  for (; j < n; ++j) gemm_sub_strip<T, 1, conj_a, conj_b>(m, k, a, b.block(0, j), c.block(0, j));
}

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
