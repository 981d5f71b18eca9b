// LU and inverse of one matrix, vectors along its rows: a pack holds as many neighbouring elements of a row as a vector has lanes. Then an
// interchange of rows moves whole vectors, and the updates of rows by rows are the same whatever the type and the layout. Only a panel that
// is being factored, as many columns as a vector has lanes, is turned: its packs are pieces of columns.

#include "lu/single.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lu/single_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "simd/pack-inl.hpp"
#include "simd/pack_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace myriad::HWY_NAMESPACE {
using lapack::Int;

/// Elements of a matrix that are used one at a time, for all lanes. Rows stand in the lanes of packs, `step` reals lie between columns, and
/// the imaginary part `lanes` reals behind the real one. Row i is the (i - first)-th in ascending (sign 1) or descending (-1) order, or
/// where there is an order, its i-th.
template <typename T>
struct Scalars {
  using P = Pack<T>;
  using R = typename P::R;
  R const* data;
  std::int64_t step;
  int first = 0;
  int sign = 1;
  int const* order = nullptr;

  HWY_INLINE R const* row(int i) const {
    int const e = order ? order[i] : i - first;
    return data + sign * (e / P::lanes * P::size + e % P::lanes);
  }
  static HWY_INLINE P broadcast(R const* p) {
    constexpr typename P::D d;
    if constexpr (is_complex<T>)
      return {hn::Set(d, p[0]), hn::Set(d, p[P::lanes])};
    else
      return {hn::Set(d, p[0])};
  }
};

/// Rows i0 to i0 + M - 1, N packs wide, less S times the rows [first, last); where `solve`, then solved with the lower triangle that S has
/// there. inverse: packs of the reciprocals of its diagonal, or null where that is one.
template <typename T, int M, int N>
HWY_INLINE void update_rows(Scalars<T> s, int i0, int first, int last, bool solve, typename Pack<T>::R const* inverse, PackMatrix<T> w) {
  using P = Pack<T>;
  using R = typename P::R;
  P x[M][N];
  R const* row[M];
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i) {
    row[i] = s.row(i0 + i);
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) x[i][j] = w.load(i0 + i, j);
  }
  for (std::int64_t p = first; p < last; ++p) {
    P other[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) other[j] = w.load(p, j);
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      P const l = s.broadcast(row[i] + p * s.step);
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) x[i][j] = neg_mul_add(l, other[j], x[i][j]);
    }
  }
  if (solve) {
#pragma GCC unroll 4
    for (int k = 0; k < M; ++k) {
      if (inverse) {
        P const r = P::load(inverse + (i0 + k) * P::size);
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) x[k][j] = mul(x[k][j], r);
      }
#pragma GCC unroll 4
      for (int i = k + 1; i < M; ++i) {
        P const l = s.broadcast(row[i] + (i0 + k) * s.step);
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) x[i][j] = neg_mul_add(l, x[k][j], x[i][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) w.store(i0 + i, j, x[i][j]);
}

/// Transposes lanes-by-lanes elements: packs from(0), from(1), ... of rows become packs to(0), to(1), ... of columns, or the reverse.
template <typename T, typename From, typename To>
HWY_INLINE void turn(From const& from, To const& to) {
  using P = Pack<T>;
  using V = typename P::V;
  V re[P::lanes];
  [[maybe_unused]] V im[is_complex<T> ? P::lanes : 1];
  for (int r = 0; r < P::lanes; ++r) {
    P const x = from(r);
    re[r] = real_part(x);
    if constexpr (is_complex<T>) im[r] = x.im;
  }
  transpose<typename P::R>(re);
  if constexpr (is_complex<T>) transpose<typename P::R>(im);
  for (int r = 0; r < P::lanes; ++r) {
    P x;
    if constexpr (is_complex<T>)
      x = {re[r], im[r]};
    else
      x = {re[r]};
    to(r, x);
  }
}

/// A panel of `lanes` columns, turned: pack (v, j) holds rows v*lanes, v*lanes + 1, ... of column j; behind the last row are zeros. Its
/// rows stay where they are: what an interchange moves is their positions.
template <typename T>
struct TurnedPanel {
  using P = Pack<T>;
  using R = typename P::R;
  R* data;
  int rows;
  int* order;  ///< order[i]: the row at position i

  [[nodiscard]] int vectors() const { return (rows + P::lanes - 1) / P::lanes; }
  [[nodiscard]] std::int64_t column_step() const { return static_cast<std::int64_t>(vectors() | 1) * P::size; }
  HWY_INLINE R* at(int v, int j) const { return data + v * P::size + j * column_step(); }
  /// The real part of an element; the imaginary one is `lanes` reals behind.
  HWY_INLINE R* element(int i, int j) const { return at(i / P::lanes, j) + i % P::lanes; }
  /// By what multiples of the pivot row the rows of vector v are reduced: those of L, and zeros in rows that are done with.
  HWY_INLINE R* multipliers(int v) const { return at(v, P::lanes); }
  /// The positions of the rows of vector v; behind the last row -1.
  HWY_INLINE R* positions(int v) const { return at(v, P::lanes + 1); }
  [[nodiscard]] Scalars<T> scalars() const { return {.data = data, .step = column_step(), .order = order}; }

  HWY_NOINLINE void load(PackMatrix<T> w) const {
    for (int v = 0; v < vectors(); ++v)
      turn<T>([&](int r) HWY_ATTR { return v * P::lanes + r < rows ? w.load(v * P::lanes + r, 0) : P::zero(); },
              [&](int j, P x) HWY_ATTR { x.store(at(v, j)); });
  }
  /// Rows by their positions.
  HWY_NOINLINE void store(PackMatrix<T> w) const {
    for (int v = 0; v < vectors(); ++v)
      turn<T>([&](int j) HWY_ATTR { return P::load(at(v, j)); },
              [&](int r, P x) HWY_ATTR {
                if (v * P::lanes + r < rows) w.store(static_cast<int>(positions(v)[r]), 0, x);
              });
  }
};

/// The row of the largest element of a column, lanes side by side: each lane keeps its first largest.
template <typename T>
struct PivotSearch {
  using P = Pack<T>;
  using R = typename P::R;
  typename P::V size, row;

  HWY_INLINE PivotSearch() : size(hn::Set(typename P::D(), R(-1))), row(hn::Zero(typename P::D())) {}

  /// sizes of what stands in `rows`, negative where it does not count; a NaN is larger than nothing. Rows come in any order: of equals the
  /// lowest wins.
  HWY_INLINE void look_at(typename P::V sizes, typename P::V rows) {
    auto const equal = hn::And(hn::Eq(sizes, size), hn::Ge(sizes, hn::Zero(typename P::D())));
    auto const larger = hn::Or(hn::Gt(sizes, size), hn::And(equal, hn::Lt(rows, row)));
    size = hn::IfThenElse(larger, sizes, size);
    row = hn::IfThenElse(larger, rows, row);
  }
  [[nodiscard]] HWY_INLINE int result() const {
    constexpr typename P::D d;
    HWY_ALIGN R rows[P::lanes];
    hn::Store(row, d, rows);
    auto const largest = hn::Eq(size, hn::MaxOfLanes(d, size));
    // A second pass over the lanes only where there are equals.
    if (HWY_LIKELY(hn::CountTrue(d, largest) == 1)) return static_cast<int>(rows[hn::FindFirstTrue(d, largest)]);
    return static_cast<int>(hn::GetLane(hn::MinOfLanes(d, hn::IfThenElse(largest, row, hn::Set(d, R(1 << 20))))));
  }
};

/// Subtracts multiples of row k from N columns.
template <typename T, int N>
HWY_INLINE void update_columns(TurnedPanel<T> panel, int row, int j0) {
  using P = Pack<T>;
  P u[N];
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) u[j] = Scalars<T>::broadcast(panel.element(row, j0 + j));
  int const vectors = panel.vectors();
  for (int v = 0; v < vectors; ++v) {
    P const l = P::load(panel.multipliers(v));
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      auto* const y = panel.at(v, j0 + j);
      neg_mul_add(l, u[j], P::load(y)).store(y);
    }
  }
}

/// PA = LU of `steps` columns of a panel; what else it holds is updated. pivots: positions, counted from zero. Returns info.
template <typename T>
HWY_NOINLINE Int factor_turned(TurnedPanel<T> panel, int steps, Int* pivots) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr int lanes = P::lanes;
  int const vectors = panel.vectors();
  auto const set = [&](int i) HWY_ATTR { return hn::Set(d, static_cast<R>(i)); };
  auto const rows_of = [&](int v) HWY_ATTR { return hn::Add(hn::Iota(d, R(0)), set(v * lanes)); };
  PivotSearch<T> search;
  for (int v = 0; v < vectors; ++v) {
    search.look_at(abs1(P::load(panel.at(v, 0))), rows_of(v));
    hn::Store(hn::IfThenElse(hn::Lt(rows_of(v), set(panel.rows)), rows_of(v), set(-1)), d, panel.positions(v));
  }
  for (int i = 0; i < panel.rows; ++i) panel.order[i] = i;
  Int info = 0;
  for (int k = 0; k < steps; ++k) {
    // In the first place nothing is larger than a NaN.
    int const displaced = panel.order[k];
    R const* const first = panel.element(displaced, k);
    bool nan = first[0] != first[0];
    if constexpr (is_complex<T>) nan |= first[lanes] != first[lanes];
    int const position = nan ? k : search.result();
    int const row = panel.order[position];
    pivots[k] = position;
    std::swap(panel.order[k], panel.order[position]);
    P pivot = Scalars<T>::broadcast(panel.element(row, k));
    if (hn::AllTrue(d, is_zero(pivot))) {  // zeros below stay
      if (info == 0) info = k + 1;
      pivot = P::set(T(1));
    }
    Divisor<T> const divisor(pivot);
    // Elements below the pivot are divided by it, and the next column is updated and searched; then the others are updated.
    bool const next = k + 1 < lanes;
    P const u = next ? Scalars<T>::broadcast(panel.element(row, k + 1)) : P::zero();
    search = {};
    for (int v = 0; v < vectors; ++v) {
      auto positions = hn::Load(d, panel.positions(v));
      positions = hn::IfThenElse(hn::Eq(rows_of(v), set(displaced)), set(position), positions);
      positions = hn::IfThenElse(hn::Eq(rows_of(v), set(row)), set(k), positions);
      hn::Store(positions, d, panel.positions(v));
      auto const below = hn::Gt(positions, set(k));
      P const x = P::load(panel.at(v, k));
      P const l = divisor.divide(x);
      select(below, l, x).store(panel.at(v, k));
      P const multiplier = select(below, l, P::zero());
      multiplier.store(panel.multipliers(v));
      if (!next) continue;
      P const y = neg_mul_add(multiplier, u, P::load(panel.at(v, k + 1)));
      y.store(panel.at(v, k + 1));
      search.look_at(hn::IfThenElse(below, abs1(y), set(-1)), positions);
    }
    in_steps<4>(k + 2, lanes, [&]<int N>(int j) HWY_ATTR { update_columns<T, N>(panel, row, j); });
  }
  return info;
}

/// Packs of an m-by-n matrix by rows, and what else the algorithms need.
template <typename T>
struct SingleSpace {
  using P = Pack<T>;
  using R = typename P::R;
  int m, n;
  int width;  ///< packs that a row has
  PackMatrix<T> w;
  R* blocks;  ///< the turned panel; blocks of rows, the blocks on the diagonal and their reciprocals for the inverse

  SingleSpace(Real<T>* workspace, std::int64_t rows, std::int64_t cols)
      : m(static_cast<int>(rows)), n(static_cast<int>(cols)), width((n + P::lanes - 1) / P::lanes) {
    auto const address = reinterpret_cast<std::uintptr_t>(workspace);
    constexpr std::uintptr_t vector = sizeof(R) * P::lanes;
    R* const base = workspace + (vector - address % vector) % vector / sizeof(R);
    w = {base, (width | 1) * P::size, P::size};  // an odd distance, since columns of packs are read too
    blocks = base + m * w.rs;
  }
};

/// The columns of a matrix as a batch of rows: a pack of these is a pack of the matrix by rows.
template <typename T>
Batch<T> columns_of(Batch<T> const& a, std::int64_t b) {
  return {.data = a.matrix(b),
          .rows = 1,
          .cols = a.rows_of(b),
          .row_stride = 0,
          .col_stride = a.row_stride_of(b),
          .batch_stride = a.col_stride_of(b),
          .count = a.cols_of(b),
          .conjugated = a.conjugated};
}

/// The columns that pack c of a row holds; what is beyond the last column repeats the first of them. column(j): where column j lies.
template <typename T, typename Column>
Group group_of_columns(int c, int n, Column const& column) {
  constexpr int lanes = Pack<T>::lanes;
  Group group{};
  group.active = std::min(lanes, n - c * lanes);
  for (int lane = 0; lane < max_lanes; ++lane)
    group.index[static_cast<std::size_t>(lane)] = column(c * lanes + (lane < group.active ? lane : 0));
  return group;
}

template <typename T>
void load_rows(SingleSpace<T> const& space, Batch<T const> const& columns) {
  using P = Pack<T>;
  for (int c = 0; c < space.width; ++c) {
    Group const group = group_of_columns<T>(c, space.n, [](int j) { return j; });
    load_group<T>(GroupView<T const>(columns, group, P::lanes), 1, space.m, space.w.at(0, c), space.w.rs / P::size);
  }
}

/// column(j): where column j belongs
template <typename T, typename Column>
void store_rows(SingleSpace<T> const& space, Batch<T> const& columns, Column const& column) {
  using P = Pack<T>;
  for (int c = 0; c < space.width; ++c) {
    Group const group = group_of_columns<T>(c, space.n, column);
    GroupView<T> view(columns, group, P::lanes);
    for (std::size_t lane = 1; lane < P::lanes; ++lane)  // a view looks at the ends of a group only
      view.adjacent &= group.index[lane] == group.index[lane - 1] + 1;
    store_group<T>(view, 1, space.m, space.w.at(0, c), space.w.rs / P::size);
  }
}

/// Calls update_rows for N packs and rows [first, last) in tiles. f(i, tile): the tile of rows from i on.
template <typename T, int N, typename F>
HWY_INLINE void for_row_tiles(int first, int last, F const& f) {
  constexpr int most = N == 1 ? 4 : tile_rows<T>;
  in_steps<most>(first, last, f);
}

/// PA = LU. pivots: rows counted from one. Returns info.
template <typename T>
HWY_NOINLINE Int factor_rows(SingleSpace<T> const& space, Int* pivots) {
  using P = Pack<T>;
  constexpr int lanes = P::lanes;
  PackMatrix<T> const w = space.w;
  int const steps = std::min(space.m, space.n);
  Int info = 0;
  for (int k0 = 0; k0 < steps; k0 += lanes) {
    int const c = k0 / lanes, rows = space.m - k0, width = std::min(lanes, steps - k0);
    std::array<int, single_largest> order;
    TurnedPanel<T> const panel{space.blocks, rows, order.data()};
    panel.load(w.block(k0, c));
    Int const panel_info = factor_turned<T>(panel, width, pivots + k0);
    if (info == 0 && panel_info != 0) info = panel_info + k0;
    for (int k = k0; k < k0 + width; ++k) {
      int const row = k0 + pivots[k];
      pivots[k] = row + 1;
      if (row != k)
        for (int j = 0; j < space.width; ++j) {
          P const x = w.load(k, j);
          w.store(k, j, w.load(row, j));
          w.store(row, j, x);
        }
    }
    panel.store(w.block(k0, c));
    Scalars<T> const l = panel.scalars();
    in_steps<tile_cols<T>>(c + 1, space.width, [&]<int N>(int j) HWY_ATTR {
      PackMatrix<T> const x = w.block(k0, j);
      for_row_tiles<T, N>(0, width, [&]<int M>(int i) HWY_ATTR { update_rows<T, M, N>(l, i, 0, i, true, nullptr, x); });
      for_row_tiles<T, N>(width, rows, [&]<int M>(int i) HWY_ATTR { update_rows<T, M, N>(l, i, 0, width, false, nullptr, x); });
    });
  }
  return info;
}

/// Turns pack c of `rows` rows from i0 on: pack j of `to` holds column j of them.
template <typename T>
HWY_INLINE void turn_rows(PackMatrix<T> w, int i0, int rows, int c, typename Pack<T>::R* to) {
  using P = Pack<T>;
  turn<T>([&](int r) HWY_ATTR { return r < rows ? w.load(i0 + r, c) : P::zero(); },
          [&](int j, P x) HWY_ATTR { x.store(to + j * P::size); });
}

/// U^-1 L^-1 from the factors: L^-1 takes the place of L, block by block of rows from the top, then it is solved with U, from the bottom.
template <typename T>
HWY_NOINLINE void invert_rows(SingleSpace<T> const& space) {
  using P = Pack<T>;
  using R = typename P::R;
  constexpr typename P::D d;
  constexpr int lanes = P::lanes;
  PackMatrix<T> const w = space.w;
  int const n = space.n;
  R* const diagonal = space.blocks;           // the packs of U on the diagonal
  R* const inverse = diagonal + n * P::size;  // reciprocals of its diagonal, last row first
  R* const turned = inverse + n * P::size;    // a block of rows, a pack per column
  auto const lane = hn::Iota(d, R(0));
  for (int i0 = 0; i0 < n; i0 += lanes) {
    int const block = i0 / lanes, rows = std::min(lanes, n - i0);
    for (int c = 0; c <= block; ++c) turn_rows<T>(w, i0, rows, c, turned + c * lanes * P::size);
    for (int r = 0; r < rows; ++r) {
      w.load(i0 + r, block).store(diagonal + (i0 + r) * P::size);
      P const u = Scalars<T>::broadcast(w.at(i0 + r, block) + r);
      reciprocal(u).store(inverse + (n - 1 - i0 - r) * P::size);
      for (int c = 0; c < block; ++c) w.store(i0 + r, c, P::zero());
      auto const one = hn::IfThenElseZero(hn::Eq(lane, hn::Set(d, static_cast<R>(r))), hn::Set(d, R(1)));
      w.store(i0 + r, block, from_real<T>(one));
    }
    Scalars<T> const l{.data = turned, .step = P::size, .first = i0};
    in_steps<tile_cols<T>>(0, block + 1, [&]<int N>(int c) HWY_ATTR {
      // L^-1 begins in pack j with row j*lanes; above it stands U.
      int const common = (c + N - 1) * lanes;
      for_row_tiles<T, N>(i0, i0 + rows, [&]<int M>(int i) HWY_ATTR {
        for (int j = 0; j < N - 1; ++j) update_rows<T, M, 1>(l, i, (c + j) * lanes, common, false, nullptr, w.block(0, c + j));
        update_rows<T, M, N>(l, i, common, i, true, nullptr, w.block(0, c));
      });
    });
  }
  // Rows and columns are counted from the end: an upper triangle is a lower one then.
  PackMatrix<T> const from_end{w.at(n - 1, 0), -w.rs, w.cs};
  for (int i0 = (n - 1) / lanes * lanes; i0 >= 0; i0 -= lanes) {
    int const block = i0 / lanes, rows = std::min(lanes, n - i0);
    turn<T>([&](int r) HWY_ATTR { return r < rows ? P::load(diagonal + (i0 + r) * P::size) : P::zero(); },
            [&](int j, P x) HWY_ATTR { x.store(turned + j * P::size); });
    for (int c = block + 1; c < space.width; ++c) {
      turn_rows<T>(w, i0, rows, c, turned + (c - block) * lanes * P::size);
      for (int r = 0; r < rows; ++r) w.store(i0 + r, c, P::zero());
    }
    int const first = n - i0 - rows;  // of these rows, from the end
    // Row `first` stands in lane rows - 1, column 0 in pack n - 1 - i0.
    Scalars<T> const u{.data = turned + (n - 1 - i0) * P::size + rows - 1, .step = -P::size, .first = first, .sign = -1};
    in_steps<tile_cols<T>>(0, space.width, [&]<int N>(int c) HWY_ATTR {
      for_row_tiles<T, N>(first, first + rows,
                          [&]<int M>(int i) HWY_ATTR { update_rows<T, M, N>(u, i, 0, i, true, inverse, from_end.block(0, c)); });
    });
  }
}

template <typename T>
void factor_single(SingleFactorTask<T> const& task, std::int64_t, std::int64_t) {
  SingleSpace<T> const space(task.workspace, task.a.rows_of(task.index), task.a.cols_of(task.index));
  Batch<T> const columns = columns_of(task.a, task.index);
  load_rows<T>(space, columns);
  *task.info = factor_rows<T>(space, task.pivots);
  store_rows<T>(space, columns, [](int j) { return j; });
}

template <typename T>
void invert_single(SingleInverseTask<T> const& task, std::int64_t, std::int64_t) {
  using P = Pack<T>;
  std::int64_t const n = task.a.rows_of(task.index);
  SingleSpace<T> const space(task.workspace, n, n);
  load_rows<T>(space, columns_of(task.a, task.index));
  *task.info = task.factor ? factor_rows<T>(space, task.pivots) : 0;
  for (int k = 0; !task.factor && *task.info == 0 && k < n; ++k) {
    Real<T> const* const u = space.w.at(k, k / P::lanes) + k % P::lanes;
    if (u[0] == 0 && (!is_complex<T> || u[P::size - P::lanes] == 0)) *task.info = k + 1;
  }
  if (*task.info != 0) return;
  invert_rows<T>(space);
  // The interchanges, undone, take column k to its place.
  std::array<int, single_largest> place;
  for (int k = 0; k < n; ++k) place[static_cast<std::size_t>(k)] = k;
  for (int k = 0; k < n; ++k) std::swap(place[static_cast<std::size_t>(k)], place[static_cast<std::size_t>(task.pivots[k] - 1)]);
  store_rows<T>(space, columns_of(task.x, task.index), [&](int j) { return place[static_cast<std::size_t>(j)]; });
}

MYRIAD_LANES_IMPLEMENT(factor_single, SingleFactorTask)
MYRIAD_LANES_IMPLEMENT(invert_single, SingleInverseTask)

}  // namespace myriad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace myriad {
MYRIAD_LANES_DISPATCH(factor_single, SingleFactorTask)
MYRIAD_LANES_DISPATCH(invert_single, SingleInverseTask)
}  // namespace myriad
#endif
