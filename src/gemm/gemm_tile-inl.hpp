/// Kernels for small products, with a tile of C in registers. Included once per SIMD target, hence no plain include guard.

#if defined(MYRIAD_GEMM_TILE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYRIAD_GEMM_TILE_INL_HPP
#undef MYRIAD_GEMM_TILE_INL_HPP
#else
#define MYRIAD_GEMM_TILE_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <utility>

#include "myriad/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int vector_registers = 32;
#else
inline constexpr int vector_registers = 16;
#endif

/// Whether loads and stores of partial vectors are masked. Elsewhere A is padded, and the last rows of C are stored one by one.
inline constexpr bool has_masks = HWY_TARGET == HWY_AVX3;

template <typename T>
inline constexpr int reals = is_complex<T> ? 2 : 1;

/// Reals in a vector of rows. A complex element takes two neighbouring lanes, or two scalars where a vector has one lane.
template <typename T>
inline constexpr int vector_reals = std::max(static_cast<int>(hn::MaxLanes(hn::ScalableTag<Real<T>>())), reals<T>);

/// Vectors of rows in the tallest tile, columns in the widest.
inline constexpr int tile_height = 3;
inline constexpr int tile_columns = 12;

/// Columns of the widest tile with `height` vectors of rows, such that the accumulators (two for a complex element), the vectors of A and
/// one broadcast element of B fit the registers.
template <typename T>
constexpr int tile_width(int height) {
  return std::clamp((vector_registers - height - 1) / (height * reals<T>), 1, tile_columns);
}

/// Parameters that all tiles of C = alpha A B + beta C share. Strides count reals; the rows of A are contiguous.
template <typename T>
struct TileTask {
  T alpha;
  T beta;
  bool conj_a;
  bool conj_b;
  std::int64_t k;
  std::int64_t a_cs;
  std::int64_t b_rs, b_cs;
  std::int64_t c_rs, c_cs;
  std::int64_t a_next, b_next, c_next;  ///< distances to the next matrix
};

/// Computes a tile at `c`, with `rows` reals per column, from the rows of A at `a` and the columns of B at `b`; then the same tile of the
/// count - 1 matrices that follow.
template <typename T>
using TileFunction = void (*)(TileTask<T> const& t, Real<T> const* a, Real<T> const* b, Real<T>* c, std::int64_t rows, std::int64_t count);

/// Pairs of lanes (x, y).
template <typename D, typename R>
HWY_INLINE hn::Vec<D> pairs(D d, R x, R y) {
  return hn::OddEven(hn::Set(d, y), hn::Set(d, x));
}

/// x * factor, with one factor for all elements.
template <typename T, typename V>
HWY_INLINE V scaled(V x, T factor) {
  constexpr hn::ScalableTag<Real<T>> d;
  if constexpr (is_complex<T>)
    return hn::MulAdd(hn::Reverse2(d, x), pairs(d, -factor.imag(), factor.imag()), hn::Mul(x, hn::Set(d, factor.real())));
  else
    return hn::Mul(x, hn::Set(d, factor));
}

/// C = product + beta C for n elements of a column, one at a time.
template <typename T>
HWY_INLINE void finish_column(Real<T> const* product, std::int64_t n, T beta, T* c, std::int64_t step) {
  for (std::int64_t i = 0; i < n; ++i) {
    T x;
    if constexpr (is_complex<T>)
      x = T(product[2 * i], product[2 * i + 1]);
    else
      x = product[i];
    T& y = c[i * step];
    y = beta == T(0) ? x : beta == T(1) ? x + y : x + beta * y;
  }
}

/// A tile of H vectors by N columns, in `count` matrices. Each element is summed in ascending order of k with one multiply-add a step,
/// whatever the tile.
template <typename T, int H, int N>
void vector_tile(TileTask<T> const& t, Real<T> const* a_matrix, Real<T> const* b_matrix, Real<T>* c_matrix, std::int64_t rows,
                 std::int64_t count) {
  using R = Real<T>;
  using D = hn::ScalableTag<R>;
  using V = hn::Vec<D>;
  constexpr D d;
  constexpr int lanes = vector_reals<T>;
  constexpr bool complex = is_complex<T>;
  std::int64_t const tail = rows - (H - 1) * lanes;
  auto const mask = hn::FirstN(d, static_cast<std::size_t>(tail));
  bool const in_vectors = t.c_rs == reals<T> && (has_masks || tail == lanes);
  for (std::int64_t q = 0; q < count; ++q) {
    V sum[H][N];
    V cross[complex ? H : 1][complex ? N : 1];  // products with the imaginary parts of B
#pragma GCC unroll 12
    for (int j = 0; j < N; ++j) {
#pragma GCC unroll 12
      for (int v = 0; v < H; ++v) {
        sum[v][j] = hn::Zero(d);
        if constexpr (complex) cross[v][j] = hn::Zero(d);
      }
    }
    R const* a = a_matrix;
    R const* b = b_matrix;
    for (std::int64_t p = t.k; p > 0; --p) {
      V x[H];
#pragma GCC unroll 12
      for (int v = 0; v < H; ++v) {
        if (has_masks && v == H - 1)
          x[v] = hn::MaskedLoad(mask, d, a + v * lanes);
        else
          x[v] = hn::LoadU(d, a + v * lanes);
      }
#pragma GCC unroll 12
      for (int j = 0; j < N; ++j) {
        V const re = hn::Set(d, b[j * t.b_cs]);
#pragma GCC unroll 12
        for (int v = 0; v < H; ++v) sum[v][j] = hn::MulAdd(x[v], re, sum[v][j]);
        if constexpr (complex) {
          V const im = hn::Set(d, b[j * t.b_cs + 1]);
#pragma GCC unroll 12
          for (int v = 0; v < H; ++v) cross[v][j] = hn::MulAdd(x[v], im, cross[v][j]);
        }
      }
      a += t.a_cs;
      b += t.b_rs;
    }
    if constexpr (complex) {
      // a b = (ar br - ai bi, ai br + ar bi); conjugation flips the sign of each product with an imaginary part of that operand.
      V const sum_sign = pairs(d, R(1), R(t.conj_a ? -1 : 1));
      V const cross_sign = pairs(d, R(t.conj_a == t.conj_b ? -1 : 1), R(t.conj_b ? -1 : 1));
#pragma GCC unroll 12
      for (int j = 0; j < N; ++j) {
#pragma GCC unroll 12
        for (int v = 0; v < H; ++v) sum[v][j] = hn::MulAdd(hn::Reverse2(d, cross[v][j]), cross_sign, hn::Mul(sum[v][j], sum_sign));
      }
    }
    if (t.alpha != T(1)) {
#pragma GCC unroll 12
      for (int j = 0; j < N; ++j) {
#pragma GCC unroll 12
        for (int v = 0; v < H; ++v) sum[v][j] = scaled<T>(sum[v][j], t.alpha);
      }
    }
    if (in_vectors) {
      if (t.beta != T(0)) {
#pragma GCC unroll 12
        for (int j = 0; j < N; ++j) {
#pragma GCC unroll 12
          for (int v = 0; v < H; ++v) {
            R const* const c = c_matrix + j * t.c_cs + v * lanes;
            V const y = has_masks && v == H - 1 ? hn::MaskedLoad(mask, d, c) : hn::LoadU(d, c);
            sum[v][j] = hn::Add(sum[v][j], t.beta == T(1) ? y : scaled<T>(y, t.beta));
          }
        }
      }
#pragma GCC unroll 12
      for (int j = 0; j < N; ++j) {
#pragma GCC unroll 12
        for (int v = 0; v < H; ++v) {
          R* const c = c_matrix + j * t.c_cs + v * lanes;
          if (has_masks && v == H - 1)
            hn::BlendedStore(sum[v][j], mask, d, c);
          else
            hn::StoreU(sum[v][j], d, c);
        }
      }
    } else {
      HWY_ALIGN R product[N][H * lanes];
#pragma GCC unroll 12
      for (int j = 0; j < N; ++j) {
#pragma GCC unroll 12
        for (int v = 0; v < H; ++v) hn::Store(sum[v][j], d, product[j] + v * lanes);
      }
      for (int j = 0; j < N; ++j)
        finish_column<T>(product[j], rows / reals<T>, t.beta, reinterpret_cast<T*>(c_matrix + j * t.c_cs), t.c_rs / reals<T>);
    }
    a_matrix += t.a_next;
    b_matrix += t.b_next;
    c_matrix += t.c_next;
  }
}

/// The same tile by scalars, for complex elements where a vector has one lane.
template <typename T, int N>
void scalar_tile(TileTask<T> const& t, Real<T> const* a_matrix, Real<T> const* b_matrix, Real<T>* c_matrix, std::int64_t rows,
                 std::int64_t count) {
  using R = Real<T>;
  for (std::int64_t q = 0; q < count; ++q) {
    for (int j = 0; j < N; ++j) {
      for (std::int64_t i = 0; i < rows; i += 2) {
        R re = 0, im = 0;
        for (std::int64_t p = 0; p < t.k; ++p) {
          R const* const a = a_matrix + q * t.a_next + p * t.a_cs + i;
          R const* const b = b_matrix + q * t.b_next + p * t.b_rs + j * t.b_cs;
          R const a_im = t.conj_a ? -a[1] : a[1];
          R const b_im = t.conj_b ? -b[1] : b[1];
          re += a[0] * b[0] - a_im * b_im;
          im += a[0] * b_im + a_im * b[0];
        }
        T const sum = t.alpha == T(1) ? T(re, im) : t.alpha * T(re, im);
        R const product[2] = {sum.real(), sum.imag()};
        finish_column<T>(product, 1, t.beta, reinterpret_cast<T*>(c_matrix + q * t.c_next + i / 2 * t.c_rs + j * t.c_cs), 1);
      }
    }
  }
}

/// The tile of H vectors by N columns, or null where it would not fit the registers.
template <typename T, int H, int N>
constexpr TileFunction<T> tile_function() {
  if constexpr (N > tile_width<T>(H))
    return nullptr;
  else if constexpr (static_cast<int>(hn::MaxLanes(hn::ScalableTag<Real<T>>())) < reals<T>)
    return &scalar_tile<T, N>;
  else
    return &vector_tile<T, H, N>;
}

template <typename T>
using TileRow = std::array<TileFunction<T>, tile_columns>;

template <typename T, int H, int... N>
constexpr TileRow<T> tile_row(std::integer_sequence<int, N...>) {
  return {tile_function<T, H, N + 1>()...};
}
template <typename T, int... H>
constexpr std::array<TileRow<T>, tile_height> tile_table(std::integer_sequence<int, H...>) {
  return {tile_row<T, H + 1>(std::make_integer_sequence<int, tile_columns>())...};
}

/// tiles<T>[h - 1][n - 1]: h vectors by n columns
template <typename T>
inline constexpr std::array<TileRow<T>, tile_height> tiles = tile_table<T>(std::make_integer_sequence<int, tile_height>());

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
