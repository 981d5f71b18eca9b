#pragma once
/// Refinement of solutions, column by column: when it ends, and bounds of the error.

#include "refine/refine_large.cuh"

namespace myriad {
namespace simt {

/// Calls use(b, c, place among all columns, rows) for each column of X, a block to each.
template <typename T, typename Use>
SIMT_INLINE void for_columns(Matrices<T> const& x, Use use) {
  for (Index at = block_index(); at < x.count * x.cols; at += block_count()) {
    Index const b = at / x.cols;
    int const c = static_cast<int>(at % x.cols), n = x.rows_of(b);
    if (c < x.cols_of(b)) use(b, c, at, n);
  }
}

/// What a block knows of a vector, by refine_threads times as many bytes of shared memory. All threads call it.
template <typename R>
struct VectorReduction {
  R* const numbers;
  int* const places;

  SIMT_INLINE explicit VectorReduction(char* memory)
      : numbers(reinterpret_cast<R*>(memory)), places(reinterpret_cast<int*>(numbers + refine_threads)) {}

  SIMT_INLINE R sum(R mine) const {
    return reduced(mine, 0, [](R& x, int&, R y, int) { x += y; }).value;
  }
  SIMT_INLINE R largest(R mine) const {
    return reduced(mine, 0, [](R& x, int&, R y, int) { x = larger_or_nan(x, y); }).value;
  }
  /// The place of the largest number, the first of several; NaN is larger than all.
  SIMT_INLINE int place_of_largest(R mine, int place) const {
    return reduced(mine, place,
                   [](R& x, int& p, R y, int q) {
                     bool const wins = x == x && (!(y == y) || y > x);
                     bool const equals = x == y || (!(x == x) && !(y == y));
                     if (!wins && !(equals && q < p)) return;
                     x = y;
                     p = q;
                   })
        .place;
  }
  SIMT_INLINE bool any(bool mine) const { return sum(mine ? R(1) : R(0)) > R(0); }

 private:
  struct Result {
    R value;
    int place;
  };
  template <typename Join>
  SIMT_INLINE Result reduced(R mine, int place, Join join) const {
    int const thread = thread_index();
    numbers[thread] = mine;
    places[thread] = place;
    for (int distance = refine_threads / 2; distance > 0; distance /= 2) {
      sync_block();
      if (thread < distance) join(numbers[thread], places[thread], numbers[thread + distance], places[thread + distance]);
    }
    sync_block();
    Result const out{numbers[0], places[0]};
    sync_block();
    return out;
  }
};

}  // namespace simt

/// Bytes of shared memory of gerfs_estimate.
template <typename T>
inline constexpr int estimate_shared_bytes = refine_threads*(sizeof(simt::Real<T>) + sizeof(int));

/// Keeps a column of X that is better than those before, and says whether it is refined further; else its residual becomes zero. Sweep -1
/// only says which columns start again.
///
/// Launch: any number of blocks of refine_threads threads, without shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) gerfs_judge(GerfsStepArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  constexpr int most_sweeps = 5;
  constexpr R saturated = R(0.1), unit_roundoff = power_of_two<R, -53, -24>;  // an error that large may fail to fall while X gets better
  GerfsArguments<T> const& g = args.columns;
  for_columns(g.x, [&](Index b, int c, Index at, int n) {
    bool const begins = args.sweep == 0, again = args.sweeps == Sweeps::plain;
    R const enough = R(n + 1) * unit_roundoff;
    if (args.sweep < 0) {
      if (thread_index() == 0) g.active[at] = g.best[at] > enough ? 1 : 0;
      return;
    }
    if ((again || !begins) && g.active[at] == 0) return;
    R former = begins && !again ? R(infinity()) : g.best[at];
    R const error = worst_of_stripes(g.worst + at * g.stripes, n), last = begins ? R(infinity()) : g.last[at];
    bool const better = (begins && !again) || error < former;
    if (better) former = error;
    bool const falling = R(2) * error <= last || last > saturated;
    bool const ends = args.sweep == most_sweeps || (again ? !(former > enough) : !(error > unit_roundoff) || !falling);
    sync_block();
    for (int i = thread_index(); i < n; i += refine_threads) {
      if (better) store_global(g.kept.at(b, i, c), *g.x.at(b, i, c));
      if (ends) store_global(g.residual.at(b, i, c), from_real<T>(0));
    }
    if (thread_index() != 0) return;
    if (better) g.best[at] = error;
    g.last[at] = error;
    g.active[at] = ends ? 0 : 1;
    if (better && g.berr.given()) store_global(g.berr.at(b, c, 0), error);
  });
}

/// Adds the corrections. Launch: as gerfs_judge.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) gerfs_correct(GerfsStepArguments<T> const args) {
  using namespace simt;
  GerfsArguments<T> const& g = args.columns;
  for_columns(g.x, [&](Index b, int c, Index at, int n) {
    if (g.active[at] == 0) return;
    for (int i = thread_index(); i < n; i += refine_threads) {
      T* const x = g.x.at(b, i, c);
      store_global(x, *x + *g.residual.at(b, i, c));
    }
  });
}

/// Launch: any number of blocks of refine_threads threads; a thread to a matrix.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) gerfs_sizes(GerfsSizesArguments const args) {
  using namespace simt;
  for (Index b = block_index() * refine_threads + thread_index(); b < args.x.count; b += block_count() * refine_threads) {
    int const n = args.x.rows_of(b), columns = args.x.cols_of(b);
    bool active = false;
    for (int c = 0; c < columns; ++c) active = active || args.active[b * args.x.cols + c] != 0;
    args.factor_rows[b] = args.factor_row_offset + (active ? n : 0);
    args.factor_cols[b] = args.factor_col_offset + (active ? n : 0);
    args.rows[b] = args.row_offset + (active ? n : 0);
    args.cols[b] = args.col_offset + (active ? columns : 0);
  }
}

/// One step of the estimate. Launch: any number of blocks of refine_threads threads with estimate_shared_bytes<T> of shared memory.
template <typename T>
SIMT_KERNEL void SIMT_BOUNDS(refine_threads, 2) gerfs_estimate(EstimateArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  GerfsArguments<T> const& g = args.columns;
  VectorReduction<R> const reduction(shared_memory());
  int const thread = thread_index();
  EstimateStep const step = args.step;
  for_columns(g.x, [&](Index b, int c, Index at, int n) {
    bool const for_all_columns = step == EstimateStep::start || step == EstimateStep::alternating || step == EstimateStep::last;
    if (!for_all_columns && g.active[at] == 0) return;
    signed char* const signs = g.signs + at * g.x.rows;
    auto const value = [&](int i) -> T { return *g.residual.at(b, i, c); };
    auto const weight = [&](int i) -> R { return *g.scale.at(b, i, c); };
    auto const set = [&](int i, T x) { store_global(g.residual.at(b, i, c), x); };
    bool ends = false;
    R const former = step == EstimateStep::start ? R(0) : g.best[at];
    R estimate = former;
    int place = -1;
    if (step == EstimateStep::start) {
      R const slack = R(n + 1) * power_of_two<R, -52, -23>;
      for (int i = thread; i < n; i += refine_threads) {
        store_global(g.scale.at(b, i, c), multiply_add(slack, weight(i), magnitude(value(i))));
        set(i, from_real<T>(R(1) / R(n)));
      }
    } else if (step == EstimateStep::alternating) {
      for (int i = thread; i < n; i += refine_threads) {
        R const size = n > 1 ? R(1) + R(i) / R(n - 1) : R(1);
        set(i, from_real<T>(i % 2 == 0 ? size : -size));
      }
    } else if (step == EstimateStep::unit) {
      R largest = R(-1);
      int mine = n;
      for (int i = thread; i < n; i += refine_threads) {
        R const size = modulus(value(i));
        if (mine == n || size > largest || (largest == largest && !(size == size))) {
          largest = size;
          mine = i;
        }
      }
      place = reduction.place_of_largest(largest, mine);
      ends = args.again && modulus(value(g.place[at])) == modulus(value(place));
      sync_block();
      for (int i = thread; i < n; i += refine_threads) set(i, from_real<T>(!ends && i == place ? 1 : 0));
    } else {
      R sum = 0;
      bool differs = step == EstimateStep::first;
      for (int i = thread; i < n; i += refine_threads) {
        T const x = weight(i) * value(i);
        sum += modulus(x);
        if constexpr (!simt::is_complex<T>)
          if (step == EstimateStep::next) differs = differs || (x > R(0) ? 1 : -1) != signs[i];
        if constexpr (simt::is_complex<T>) differs = true;
      }
      R const norm = reduction.sum(sum);
      if (step == EstimateStep::last) {
        // As good as anything where the weighted vector of all ones has it.
        estimate = larger_or_nan(former, n > 1 ? R(2) * (norm / (R(3) * R(n))) : norm);
        R size = 0;
        for (int i = thread; i < n; i += refine_threads) size = larger_or_nan(size, magnitude(*g.kept.at(b, i, c)));
        size = reduction.largest(size);
        if (!(estimate == estimate) && size < R(infinity())) estimate = R(infinity());  // infinity times a weight that vanished
        if (thread == 0) store_global(g.ferr.at(b, c, 0), n == 0 ? R(0) : size == R(0) ? estimate : estimate / size);
        sync_block();
        return;
      }
      ends = n == 1 || (step == EstimateStep::next && (!reduction.any(differs) || !(norm > former)));
      estimate = step == EstimateStep::first ? norm : larger_or_nan(former, norm);
      sync_block();
      for (int i = thread; i < n; i += refine_threads) {
        T const x = weight(i) * value(i);
        if (ends) {
          set(i, from_real<T>(0));
        } else if constexpr (simt::is_complex<T>) {
          R const size = modulus(x);
          set(i, weight(i) * (size > R(0) ? sign(x) : from_real<T>(1)));
        } else {
          signs[i] = x > R(0) ? 1 : -1;
          set(i, x > R(0) ? weight(i) : -weight(i));
        }
      }
    }
    sync_block();
    if (thread != 0) return;
    g.best[at] = estimate;
    g.active[at] = ends || n == 0 ? 0 : 1;
    if (place >= 0) g.place[at] = place;
  });
}

}  // namespace myriad
