// Small products. Matrices with contiguous rows or columns are computed one by one, a tile of C in registers at a time (gemm_tile-inl.hpp);
// interleaved matrices side by side, one per vector lane.

#include <numeric>

#include "gemm/gemm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/gemm_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gemm/gemm_tile-inl.hpp"
#include "simd/pack-inl.hpp"
#include "simd/pack_blas-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

/// Batches of at least this size exceed the caches: a C that is not read is written past them.
inline constexpr std::int64_t far_bytes = 32 << 20;

/// Batches of at least this size exceed the caches of one core: prefetching pays for matrices of several tiles. Below, it costs 10%.
inline constexpr std::int64_t outer_bytes = 1 << 20;

/// Matrices are worked on in steps of at most about this many bytes of C, and three times as many of A, B and C.
inline constexpr std::int64_t step_bytes = 2048;

/// Strides of a matrix, in elements.
struct Strides {
  std::int64_t rs;
  std::int64_t cs;
  bool operator==(Strides const&) const = default;
};

template <typename T>
Strides strides_of(Batch<T> const& batch, std::int64_t b) {
  return {batch.row_stride_of(b), batch.col_stride_of(b)};
}
inline Strides transposed(Strides s) { return {s.cs, s.rs}; }

/// Shape and layout of one product.
struct Problem {
  std::int64_t m, n, k;
  Strides a, b, c;
  bool operator==(Problem const&) const = default;
};

template <typename T>
Problem problem_of(GemmTask<T> const& task, std::int64_t q) {
  return {.m = task.c.rows_of(q),
          .n = task.c.cols_of(q),
          .k = task.alpha == T(0) ? 0 : task.a.cols_of(q),
          .a = strides_of(task.a, q),
          .b = strides_of(task.b, q),
          .c = strides_of(task.c, q)};
}

/// Whether C^T = B^T A^T is computed instead, to make the rows of C contiguous, or else those of A.
inline bool is_turned(Problem const& p) {
  // A product with a vector mostly reads the matrix. Its rows fill the lanes where they are contiguous. Else they are copied to contiguous
  // columns or, while they are few enough for a tile, its elements are broadcast and one lane is used, which needs no copy.
  if (p.n == 1) return p.m > 1 && p.m <= tile_columns && p.a.rs != 1;
  if (p.m == 1) return p.n > tile_columns || p.b.cs == 1;
  bool const rows = p.c.rs == 1, cols = p.c.cs == 1;
  if (rows || cols) return cols;
  return p.a.rs != 1 && p.b.cs == 1;
}
inline Problem turned(Problem const& p) {
  return {.m = p.n, .n = p.m, .k = p.k, .a = transposed(p.b), .b = transposed(p.a), .c = transposed(p.c)};
}

/// Divides `size` into pieces of nearly equal size, none above `most`.
struct Pieces {
  std::int64_t number, least, longer;
  Pieces(std::int64_t size, std::int64_t most)
      : number((size + most - 1) / most), least(number ? size / number : 0), longer(number ? size % number : 0) {}
  /// Size of piece i; the longer ones come first.
  [[nodiscard]] std::int64_t of(std::int64_t i) const { return least + (i < longer); }
};

/// How products of one shape and layout are computed.
template <typename T>
struct Plan {
  static constexpr std::int64_t lanes = vector_reals<T>;
  Problem problem;
  bool turn;  ///< C^T = B^T A^T
  std::int64_t vectors;
  Pieces heights;  ///< of the vectors that a column of C takes
  Pieces widths;   ///< of the columns of C
  bool copy_a;  ///< copies the rows of a tile to contiguous, padded columns: not contiguous, not whole vectors, or not kept in the L1 cache
  TileTask<T> tile;

  Plan(GemmTask<T> const& task, Problem const& given)
      : problem(is_turned(given) ? turned(given) : given),
        turn(is_turned(given)),
        vectors((problem.m * reals<T> + lanes - 1) / lanes),
        heights(vectors, tile_height),
        widths(problem.n, tile_width<T>(static_cast<int>(std::max<std::int64_t>(heights.of(0), 1)))),
        copy_a((problem.a.rs != 1 && problem.m > 1) || (!has_masks && problem.m * reals<T> % lanes != 0) ||
               (problem.k > 256 && widths.number > 4)),
        tile{.alpha = problem.k == 0 ? T(1) : task.alpha,  // alpha is not used then, even if it is NaN
             .beta = task.beta,
             .conj_a = turn ? task.b.conjugated : task.a.conjugated,
             .conj_b = turn ? task.a.conjugated : task.b.conjugated,
             .k = problem.k,
             .a_cs = problem.a.cs * reals<T>,
             .b_rs = problem.b.rs * reals<T>,
             .b_cs = problem.b.cs * reals<T>,
             .c_rs = problem.m == 1 ? reals<T> : problem.c.rs * reals<T>,
             .c_cs = problem.c.cs * reals<T>,
             .a_next = (turn ? task.b : task.a).batch_stride * reals<T>,
             .b_next = (turn ? task.a : task.b).batch_stride * reals<T>,
             .c_next = task.c.batch_stride * reals<T>} {}

  [[nodiscard]] bool one_tile() const { return !copy_a && heights.number == 1 && widths.number == 1; }
};

/// Copies `rows` contiguous rows of A, k elements each, to columns of `ld` reals, padded with zeros.
template <typename R>
void copy_contiguous_rows(R const* HWY_RESTRICT a, std::int64_t rs, std::int64_t rows, std::int64_t k, R* HWY_RESTRICT to,
                          std::int64_t ld) {
  using V = hn::Vec<hn::ScalableTag<R>>;
  constexpr hn::ScalableTag<R> d;
  constexpr std::int64_t lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (std::int64_t i = 0; i < ld; i += lanes) {
    for (std::int64_t p = 0; p < k; p += lanes) {
      std::int64_t const columns = std::min(lanes, k - p);
      V x[lanes];
      if (has_masks || columns == lanes) {
        auto const mask = hn::FirstN(d, static_cast<std::size_t>(columns));
        for (std::int64_t r = 0; r < lanes; ++r) {
          if (i + r >= rows)
            x[r] = hn::Zero(d);
          else
            x[r] = has_masks ? hn::MaskedLoad(mask, d, a + (i + r) * rs + p) : hn::LoadU(d, a + (i + r) * rs + p);
        }
      } else {
        HWY_ALIGN R row[lanes] = {};
        for (std::int64_t r = 0; r < lanes; ++r) {
          for (std::int64_t e = 0; e < columns; ++e) row[e] = i + r < rows ? a[(i + r) * rs + p + e] : R(0);
          x[r] = hn::Load(d, row);
        }
      }
      transpose<R>(x);
      for (std::int64_t e = 0; e < lanes; ++e)
        if (e < columns) hn::StoreU(x[e], d, to + (p + e) * ld + i);
    }
  }
}

/// Copies `rows` rows of A, k elements each, to columns of `ld` reals, padded with zeros.
template <typename T>
void copy_rows(T const* a, Strides s, std::int64_t rows, std::int64_t k, Real<T>* to, std::int64_t ld) {
  if constexpr (sizeof(T) <= sizeof(double) && vector_reals < T >> reals<T>) {
    if (s.cs == 1 && s.rs != 1) {
      // Only bits are moved: two floats are copied as one double.
      using Whole = std::conditional_t<is_complex<T>, double, T>;
      copy_contiguous_rows<Whole>(reinterpret_cast<Whole const*>(a), s.rs, rows, k, reinterpret_cast<Whole*>(to), ld / reals<T>);
      return;
    }
  }
  for (std::int64_t p = 0; p < k; ++p) {
    T* const column = reinterpret_cast<T*>(to + p * ld);
    for (std::int64_t i = 0; i < rows; ++i) column[i] = a[i * s.rs + p * s.cs];
    std::fill(to + p * ld + rows * reals<T>, to + (p + 1) * ld, Real<T>(0));
  }
}

/// Memory that is prefetched, a share at a time.
class Ahead {
 public:
  /// Prefetches nothing
  Ahead() = default;
  /// Prefetches `share` reals at a time
  template <typename R>
  Ahead(R const* first, std::int64_t share)
      : line_(reinterpret_cast<char const*>(first)), left_(0), share_(share * static_cast<std::int64_t>(sizeof(R))) {}
  HWY_INLINE void fetch(std::int64_t shares = 1) {
    left_ += shares * share_;
    std::int64_t const lines = (left_ + 63) / 64;
    for (std::int64_t i = 0; i < lines; ++i) hwy::Prefetch(line_ + i * 64);
    line_ += lines * 64;
    left_ -= lines * 64;
  }

 private:
  char const* line_ = nullptr;
  std::int64_t left_ = 0;  ///< bytes that are due but not fetched; negative: fetched but not due
  std::int64_t share_ = 0;
};

/// Computes one product.
template <typename T>
void multiply(Plan<T> const& plan, Real<T> const* a, Real<T> const* b, Real<T>* c, Ahead& ahead_a, Ahead& ahead_b, Ahead& ahead_c) {
  using R = Real<T>;
  TileTask<T> tile = plan.tile;
  std::int64_t rows_left = plan.problem.m * reals<T>;
  for (std::int64_t h = 0; h < plan.heights.number; ++h) {
    std::int64_t const height = plan.heights.of(h);
    std::int64_t const rows = std::min(height * Plan<T>::lanes, rows_left);
    R const* a_tile = a;
    if (plan.copy_a) {
      auto* const copy = static_cast<R*>(lane_workspace());
      tile.a_cs = height * Plan<T>::lanes;
      copy_rows<T>(reinterpret_cast<T const*>(a), plan.problem.a, rows / reals<T>, plan.problem.k, copy, tile.a_cs);
      a_tile = copy;
    }
    auto const& row = tiles<T>[static_cast<std::size_t>(height - 1)];
    R const* b_tile = b;
    R* c_tile = c;
    for (std::int64_t w = 0; w < plan.widths.number; ++w) {
      std::int64_t const width = plan.widths.of(w);
      ahead_a.fetch();
      ahead_b.fetch();
      ahead_c.fetch();
      row[static_cast<std::size_t>(width - 1)](tile, a_tile, b_tile, c_tile, rows, 1);
      b_tile += width * tile.b_cs;
      c_tile += width * tile.c_cs;
    }
    rows_left -= rows;
    a += rows / reals<T> * plan.problem.a.rs * reals<T>;
    c += rows / reals<T> * tile.c_rs;
  }
}

/// Copies n reals past the caches, without reading the lines that are written.
template <typename R>
void stream(R const* HWY_RESTRICT from, R* HWY_RESTRICT to, std::int64_t n) {
  constexpr hn::ScalableTag<R> d;
  constexpr std::int64_t lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  std::int64_t i = 0;
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 64 != 0; ++i) to[i] = from[i];
  for (; i + 64 / static_cast<std::int64_t>(sizeof(R)) <= n; i += 64 / static_cast<std::int64_t>(sizeof(R)))
    for (std::int64_t e = 0; e < 64 / static_cast<std::int64_t>(sizeof(R)); e += lanes)
      hn::Stream(hn::LoadU(d, from + i + e), d, to + i + e);
  for (; i < n; ++i) to[i] = from[i];
}

/// Multiplies matrices [begin, end) of a batch in which all have one shape and lie at equal distances.
template <typename T>
void multiply_range(GemmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using R = Real<T>;
  Plan<T> const plan(task, problem_of(task, begin));
  TileTask<T> const& tile = plan.tile;
  std::int64_t const m = plan.problem.m, n = plan.problem.n, k = plan.problem.k;
  R* c = reinterpret_cast<R*>(task.c.matrix(begin));
  R const* a = c;  // not read where k = 0
  R const* b = c;
  if (k > 0) {
    a = reinterpret_cast<R const*>(plan.turn ? task.b.matrix(begin) : task.a.matrix(begin));
    b = reinterpret_cast<R const*>(plan.turn ? task.a.matrix(begin) : task.b.matrix(begin));
  }
  std::int64_t const size = m * n * reals<T>;
  auto const bytes = [&](std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(T)); };
  bool const dense = tile.c_rs == reals<T> && (tile.c_cs == m * reals<T> || n == 1) && tile.c_next == size;
  std::int64_t const footprint = bytes((m * n + m * k + k * n) * task.c.count);
  bool const far = footprint >= far_bytes;
  // Matrices are computed in steps, and the operands of the next step are prefetched meanwhile. Several steps are copied out together, so
  // that they end with a cache line.
  std::int64_t const step = std::max<std::int64_t>(std::min(step_bytes / bytes(m * n), 3 * step_bytes / bytes(m * n + m * k + k * n)), 1);
  std::int64_t const whole_lines = 64 / std::gcd(bytes(m * n), std::int64_t{64});
  std::int64_t const aligned_step = (step + whole_lines - 1) / whole_lines * whole_lines;
  std::int64_t const copied = plan.copy_a ? tile_height * Plan<T>::lanes * k : 0;  // reals
  bool const fits = copied * static_cast<std::int64_t>(sizeof(R)) + bytes(m * n) + 9 * step_bytes <= lane_workspace_bytes;
  bool const streamed = far && dense && fits && task.beta == T(0);
  std::int64_t const group = streamed && bytes(m * n) * aligned_step <= 8 * step_bytes ? aligned_step : step;
  std::int64_t const tiles_each = plan.heights.number * plan.widths.number;
  // Reals from one matrix to the next, if they are close and worth prefetching
  bool const ahead = footprint >= (plan.one_tile() ? far_bytes : outer_bytes);
  std::int64_t const near_a = ahead && tile.a_next <= 2 * m * k * reals<T> ? tile.a_next : 0;
  std::int64_t const near_b = ahead && tile.b_next <= 2 * k * n * reals<T> ? tile.b_next : 0;
  // C is prefetched only where it is read and as large as A and B together, as in A + x y^T.
  std::int64_t const near_c =
      ahead && !plan.one_tile() && task.beta != T(0) && m * n >= k * (m + n) && tile.c_next <= 2 * size ? tile.c_next : 0;
  R* const buffer = static_cast<R*>(lane_workspace()) + copied;
  for (std::int64_t q = begin; q < end; q += group) {
    std::int64_t const count = std::min(group, end - q);
    R* const target = streamed ? buffer + reinterpret_cast<std::uintptr_t>(c) % 64 / sizeof(R) : c;
    for (std::int64_t first = 0; first < count; first += step) {
      std::int64_t const last = std::min(first + step, count);
      Ahead ahead_a(a + (first + step) * tile.a_next, (near_a + tiles_each - 1) / tiles_each);
      Ahead ahead_b(b + (first + step) * tile.b_next, (near_b + tiles_each - 1) / tiles_each);
      Ahead ahead_c(c + (first + step) * tile.c_next, (near_c + tiles_each - 1) / tiles_each);
      if (plan.one_tile()) {
        ahead_a.fetch(last - first);
        ahead_b.fetch(last - first);
        tiles<T>[static_cast<std::size_t>(plan.vectors - 1)][static_cast<std::size_t>(n - 1)](
            tile, a + first * tile.a_next, b + first * tile.b_next, target + first * tile.c_next, m * reals<T>, last - first);
      } else {
        for (std::int64_t i = first; i < last; ++i)
          multiply(plan, a + i * tile.a_next, b + i * tile.b_next, target + i * tile.c_next, ahead_a, ahead_b, ahead_c);
      }
    }
    if (streamed) stream(target, c, count * size);
    a += count * tile.a_next;
    b += count * tile.b_next;
    c += count * tile.c_next;
  }
  if (streamed) hwy::FlushStream();
}

/// Rows and columns of the blocks of A, B and C that fit the workspace together, as packs.
template <typename T>
constexpr std::int64_t lane_block() {
  constexpr std::int64_t packs = lane_workspace_bytes / static_cast<std::int64_t>(sizeof(Real<T>) * Pack<T>::size);
  std::int64_t edge = 1;
  while (3 * (edge + 1) * (edge + 1) <= packs) ++edge;
  return edge;
}

/// Prefetches the m-by-n matrices of the next group if they are interleaved: each of their elements is in another cache line.
template <typename T>
HWY_INLINE void fetch_next_group(GroupView<T const> const& view, std::int64_t m, std::int64_t n) {
  if (!view.adjacent || m * n > 512) return;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      T const* const p = view.base[0] + i * view.rs[0] + j * view.cs[0] + Pack<T>::lanes;
      hwy::Prefetch(p);
      if constexpr (is_complex<T>) hwy::Prefetch(p + Pack<T>::lanes / 2);
    }
  }
}

/// Multiplies matrices [begin, end) of a batch in which all have one shape, one matrix per vector lane.
template <typename T>
void multiply_lanes(GemmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using P = Pack<T>;
  constexpr std::int64_t most = lane_block<T>();
  std::int64_t const m = task.c.rows, n = task.c.cols, k = task.a.cols;
  Pieces const rows(m, most), columns(n, most), depths(k, most);
  auto* const a = static_cast<typename P::R*>(lane_workspace());
  auto* const b = a + most * most * P::size;
  auto* const c = b + most * most * P::size;
  P const minus_alpha = P::set(-task.alpha);
  P const beta = P::set(task.beta);
  auto const every_shape = [](auto const&) { return true; };
  for_each_group(P::lanes, begin, end, shapes(task.a, task.b), every_shape, [&](Group const& group) HWY_ATTR {
    GroupView<T const> const view_a(task.a, group, P::lanes), view_b(task.b, group, P::lanes);
    GroupView<T> const view_c(task.c, group, P::lanes);
    GroupView<T const> const old_c(task.c, group, P::lanes);
    fetch_next_group<T>(view_a, m, k);
    fetch_next_group<T>(view_b, k, n);
    fetch_next_group<T>(old_c, m, n);
    for (std::int64_t j = 0, w = 0; w < columns.number; j += columns.of(w++)) {
      std::int64_t const width = columns.of(w);
      for (std::int64_t i = 0, h = 0; h < rows.number; i += rows.of(h++)) {
        std::int64_t const height = rows.of(h);
        std::int64_t const size = height * width * P::size;
        for (std::int64_t e = 0; e < size; e += P::size) P::zero().store(c + e);
        for (std::int64_t p = 0, d = 0; d < depths.number; p += depths.of(d++)) {
          std::int64_t const depth = depths.of(d);
          load_group<T>(view_a.at(i, p, P::lanes), height, depth, a, height);
          load_group<T>(view_b.at(p, j, P::lanes), depth, width, b, depth);
          gemm_sub<T>(height, width, depth, pack_matrix<T>(a, height), pack_matrix<T>(b, depth), pack_matrix<T>(c, height));
        }
        if (task.beta == T(0)) {
          for (std::int64_t e = 0; e < size; e += P::size) mul(P::load(c + e), minus_alpha).store(c + e);
        } else {
          load_group<T>(old_c.at(i, j, P::lanes), height, width, b, height);
          for (std::int64_t e = 0; e < size; e += P::size)
            mul_add(P::load(c + e), minus_alpha, task.beta == T(1) ? P::load(b + e) : mul(P::load(b + e), beta)).store(c + e);
        }
        store_group<T>(view_c.at(i, j, P::lanes), height, width, c, height);
      }
    }
  });
}

template <typename T>
void gemm_small(GemmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using R = Real<T>;
  if (uniform(task.a) && uniform(task.b) && uniform(task.c)) {
    bool const product = task.alpha != T(0) && task.a.cols > 0;
    if (product && is_interleaved(task))
      multiply_lanes(task, begin, end);
    else
      multiply_range(task, begin, end);
    return;
  }
  for (std::int64_t q = begin; q < end; ++q) {
    Problem const problem = problem_of(task, q);
    if (problem.m == 0 || problem.n == 0 || !gemm_is_small(task, q)) continue;
    Plan<T> const plan(task, problem);
    R* const c = reinterpret_cast<R*>(task.c.matrix(q));
    Ahead nothing;
    if (problem.k > 0)
      multiply(plan, reinterpret_cast<R const*>(plan.turn ? task.b.matrix(q) : task.a.matrix(q)),
               reinterpret_cast<R const*>(plan.turn ? task.a.matrix(q) : task.b.matrix(q)), c, nothing, nothing, nothing);
    else
      multiply<T>(plan, c, c, c, nothing, nothing, nothing);
  }
}

MYRIAD_LANES_IMPLEMENT(gemm_small, GemmTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(gemm_small, GemmTask)
}  // namespace myriad
#endif
