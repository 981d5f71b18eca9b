// Small products. Where matrices lie in rows or columns, each is computed by itself, a tile of C in registers at a time
// (gemm_tile-inl.hpp); where they are interleaved, side by side, one matrix per vector lane.

#include "gemm/gemm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm/gemm_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gemm/gemm_tile-inl.hpp"
#include "simd/pack-inl.hpp"
#include "simd/pack_blas-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {

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

/// Whether C^T = B^T A^T is computed instead, so that the rows of C are contiguous, else those of A.
inline bool is_turned(Problem const& p) {
  bool const rows = p.c.rs == 1 || p.m == 1, cols = p.c.cs == 1 || p.n == 1;
  if (rows && cols) return p.n > p.m;
  if (rows || cols) return cols;
  return p.a.rs != 1 && p.b.cs == 1;
}
inline Problem turned(Problem const& p) {
  return {.m = p.n, .n = p.m, .k = p.k, .a = transposed(p.b), .b = transposed(p.a), .c = transposed(p.c)};
}

/// Cuts `size` into pieces of nearly equal size, none above `most`: piece i starts at cut(i).
struct Pieces {
  std::int64_t size;
  std::int64_t number;
  Pieces(std::int64_t size_, std::int64_t most) : size(size_), number((size_ + most - 1) / most) {}
  [[nodiscard]] std::int64_t cut(std::int64_t i) const { return i * size / number; }
};

/// How products of one shape and layout are computed.
template <typename T>
struct Plan {
  static constexpr std::int64_t lanes = vector_reals<T>;
  Problem problem;
  bool turn;    ///< C^T = B^T A^T
  bool copy_a;  ///< A is brought to contiguous, padded columns first
  std::int64_t vectors;
  Pieces heights;  ///< of the vectors that a column of C takes
  Pieces widths;   ///< of the columns of C
  Epilogue<T> epilogue;
  Tile<T> tile;  ///< all but the pointers

  Plan(GemmTask<T> const& task, Problem const& given)
      : problem(is_turned(given) ? turned(given) : given),
        turn(is_turned(given)),
        copy_a(false),
        vectors((problem.m * reals<T> + lanes - 1) / lanes),
        heights(vectors, tile_height),
        widths(problem.n, tile_width<T>(static_cast<int>(heights.number ? (vectors + heights.number - 1) / heights.number : 1))),
        epilogue{.alpha = task.alpha,
                 .beta = task.beta,
                 .conj_a = turn ? task.b.conjugated : task.a.conjugated,
                 .conj_b = turn ? task.a.conjugated : task.b.conjugated},
        tile{} {
    copy_a = (problem.a.rs != 1 && problem.m > 1) || (!has_masks && problem.m * reals<T> % lanes != 0);
    if (problem.m == 1) problem.c.rs = 1;
    tile.a_cs = copy_a ? vectors * lanes : problem.a.cs * reals<T>;
    tile.b_rs = problem.b.rs * reals<T>;
    tile.b_cs = problem.b.cs * reals<T>;
    tile.c_rs = problem.c.rs * reals<T>;
    tile.c_cs = problem.c.cs * reals<T>;
    tile.k = problem.k;
    tile.rows = problem.m * reals<T>;
    tile.count = 1;
    if (problem.k == 0) epilogue.alpha = T(1);  // alpha is not used then, even if it is NaN
  }

  [[nodiscard]] bool one_tile() const { return !copy_a && heights.number == 1 && widths.number == 1; }
};

/// Copies the m-by-k matrix at `a` to columns of `ld` reals, the rows beyond m filled with zeros.
template <typename T>
void copy_columns(T const* a, Strides s, std::int64_t m, std::int64_t k, Real<T>* to, std::int64_t ld) {
  for (std::int64_t p = 0; p < k; ++p) {
    T* const column = reinterpret_cast<T*>(to + p * ld);
    for (std::int64_t i = 0; i < m; ++i) column[i] = a[i * s.rs + p * s.cs];
    std::fill(to + p * ld + m * reals<T>, to + (p + 1) * ld, Real<T>(0));
  }
}

template <typename T>
void run_tiles(Plan<T> const& plan, Tile<T> tile, Real<T> const* a, Real<T> const* b, Real<T>* c) {
  for (std::int64_t h = 0; h < plan.heights.number; ++h) {
    std::int64_t const v = plan.heights.cut(h), height = plan.heights.cut(h + 1) - v;
    std::int64_t const i = v * Plan<T>::lanes;
    tile.rows = std::min(height * Plan<T>::lanes, plan.tile.rows - i);
    tile.a = a + i;
    for (std::int64_t w = 0; w < plan.widths.number; ++w) {
      std::int64_t const j = plan.widths.cut(w), width = plan.widths.cut(w + 1) - j;
      tile.b = b + j * tile.b_cs;
      tile.c = c + i / reals<T> * tile.c_rs + j * tile.c_cs;
      tiles<T>[static_cast<std::size_t>(height - 1)][static_cast<std::size_t>(width - 1)](tile, plan.epilogue);
    }
  }
}

/// The product of matrix q.
template <typename T>
void multiply_one(GemmTask<T> const& task, Plan<T> const& plan, std::int64_t q) {
  using R = Real<T>;
  auto* const c = reinterpret_cast<R*>(task.c.matrix(q));
  R const* a = nullptr;
  R const* b = nullptr;
  if (plan.problem.k > 0) {
    a = reinterpret_cast<R const*>(plan.turn ? task.b.matrix(q) : task.a.matrix(q));
    b = reinterpret_cast<R const*>(plan.turn ? task.a.matrix(q) : task.b.matrix(q));
    if (plan.copy_a) {
      auto* const copy = static_cast<R*>(lane_workspace());
      copy_columns<T>(reinterpret_cast<T const*>(a), plan.problem.a, plan.problem.m, plan.problem.k, copy, plan.tile.a_cs);
      a = copy;
    }
  }
  run_tiles<T>(plan, plan.tile, a, b, c);
}

template <typename T>
bool uniform(Batch<T> const& x) {
  return !x.pointers && !x.ragged() && !x.row_strides && !x.col_strides;
}

template <typename T>
void gemm_small(GemmTask<T> const& task, std::int64_t begin, std::int64_t end) {
  using R = Real<T>;
  if (uniform(task.a) && uniform(task.b) && uniform(task.c)) {
    Plan<T> const plan(task, problem_of(task, begin));
    if (plan.one_tile() && plan.problem.k > 0) {
      Tile<T> tile = plan.tile;
      tile.a = reinterpret_cast<R const*>(plan.turn ? task.b.matrix(begin) : task.a.matrix(begin));
      tile.b = reinterpret_cast<R const*>(plan.turn ? task.a.matrix(begin) : task.b.matrix(begin));
      tile.c = reinterpret_cast<R*>(task.c.matrix(begin));
      tile.a_next = (plan.turn ? task.b : task.a).batch_stride * reals<T>;
      tile.b_next = (plan.turn ? task.a : task.b).batch_stride * reals<T>;
      tile.c_next = task.c.batch_stride * reals<T>;
      tile.count = end - begin;
      tiles<T>[static_cast<std::size_t>(plan.vectors - 1)][static_cast<std::size_t>(plan.problem.n - 1)](tile, plan.epilogue);
      return;
    }
    for (std::int64_t q = begin; q < end; ++q) multiply_one(task, plan, q);
    return;
  }
  for (std::int64_t q = begin; q < end; ++q) {
    Problem const problem = problem_of(task, q);
    if (problem.m == 0 || problem.n == 0 || !gemm_is_small<T>({problem.m, task.a.cols_of(q), task.b.rows_of(q), problem.n})) continue;
    multiply_one(task, Plan<T>(task, problem), q);
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
