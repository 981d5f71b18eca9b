#pragma once
/// QR, products with Q, Q itself and least squares of many matrices of up to 32 rows and columns, each read once and written once.

#include "qr/qr_columns.cuh"
#include "qr/qr_tiny_config.cuh"
#include "qr/range_scales.cuh"
#include "simt/divisor.hpp"

namespace myriad {

/// Matrices of a ragged batch whose shape is the kernel's, tall or wide; others look empty.
template <typename T>
struct OfOneShape {
  simt::Matrices<T> const& batch;
  simt::Matrices<T> const& a;
  bool wide;

  SIMT_INLINE bool has(simt::Index b) const { return wide ? a.rows_of(b) < a.cols_of(b) : a.rows_of(b) <= a.cols_of(b); }
  SIMT_INLINE int rows_of(simt::Index b) const { return has(b) ? batch.rows_of(b) : 0; }
  SIMT_INLINE int cols_of(simt::Index b) const { return has(b) ? batch.cols_of(b) : 0; }
  SIMT_INLINE simt::Index row_stride_of(simt::Index b) const { return batch.row_stride_of(b); }
  SIMT_INLINE simt::Index col_stride_of(simt::Index b) const { return batch.col_stride_of(b); }
  SIMT_INLINE T* at(simt::Index b, int i, int j) const { return batch.at(b, i, j); }
};

/// Solves R x = y or, adjoint, R^H x = y for `columns` rows y of a tile, with R in the columns of another; of a ragged batch R has `real_n`
/// of n columns. Returns info.
template <bool adjoint, int n, int columns, int lanes, typename A, typename C>
SIMT_INLINE int substitute(A& a, C& c, int q, int lane, int real_n) {
  using namespace simt;
  auto const divisor_of = [&](int k) { return Divisor(real_part(a.at(q, k, k))); };
  auto const divide = [](auto const& divisor, auto x) {
    if constexpr (is_complex<decltype(x)>)
      return decltype(x){divisor.divide(x.re), divisor.divide(x.im)};
    else
      return divisor.divide(x);
  };
  int info = 0;
  SIMT_LOOP
  for (int step = 0; step < n; ++step) {
    int const k = adjoint ? step : n - 1 - step;
    if (k < real_n) {
      auto const divisor = divisor_of(k);
      if (divisor.y == decltype(divisor.y)(0) && (info == 0 || !adjoint)) info = k + 1;
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j) {
        auto const x = divide(divisor, c.at(q, j, k));
        SIMT_LOOP
        for (int i = lane + (adjoint ? k + 1 : 0); i < (adjoint ? real_n : k); i += lanes)
          c.at(q, j, i) = subtract_product(c.at(q, j, i), adjoint ? conjugate_if(true, a.at(q, i, k)) : a.at(q, k, i), x);
      }
    }
    sync_warp();
  }
  SIMT_LOOP
  for (int i = lane; i < real_n; i += lanes) {
    SIMT_UNROLL
    for (int j = 0; j < columns; ++j) c.at(q, j, i) = divide(divisor_of(i), c.at(q, j, i));
  }
  sync_warp();
  return info;
}

/// Conjugates the rows that are this lane's.
template <int rows, int cols, int lanes, typename Tile>
SIMT_INLINE void conjugate_rows(Tile& tile, int q, int lane) {
  SIMT_LOOP
  for (int j = lane; j < rows; j += lanes) {
    SIMT_LOOP
    for (int i = 0; i < cols; ++i) tile.at(q, j, i) = simt::conjugate_if(true, tile.at(q, j, i));
  }
}

/// Launch: any number of blocks of C.threads() threads with QrTinyMemory(sizeof(T), C).bytes of dynamic shared memory.
template <typename T, QrTiny C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) qr_tiny(QrTinyArguments<T> const args) {
  using namespace simt;
  constexpr QrTinyMemory memory(sizeof(T), C);
  constexpr int width = C.n + C.beside;
  constexpr bool keeps_vector = C.vector == QrVector::kept;
  constexpr bool reflects_rest = C.job == QrJob::apply_adjoint || (C.job == QrJob::least_squares && C.beside == 0 && C.columns > 0);
  constexpr bool reflects = C.job == QrJob::apply || C.job == QrJob::generate || (C.job == QrJob::minimum_norm && C.columns > 0);
  Tile<T, C.n, C.m, C.matrices, C.lanes, C.threads(), C.a> a(shared_memory());
  Tile<T, larger(C.columns, 1), C.m, C.matrices, C.lanes, C.threads(), C.a> c(shared_memory() + memory.c);
  Tile<T, larger(C.reflectors, 1), 1, C.matrices, 1, C.threads(), Layout::packed_columns> tau(shared_memory() + memory.tau);
  int const q = thread_index() / C.lanes;
  int const lane = thread_index() % C.lanes;
  T* const buffer = reinterpret_cast<T*>(shared_memory() + memory.buffer + q * memory.buffer_of_matrix);
  auto const scales_of = [&](int of) -> RangeScales<Real<T>>& {
    return reinterpret_cast<RangeScales<Real<T>>*>(shared_memory() + memory.scales)[of];
  };
  constexpr bool by_shape = C.solves() && C.ragged();
  auto const batch_of = [&](Matrices<T> const& batch) {
    if constexpr (by_shape)
      return OfOneShape<T>{batch, args.a, C.job == QrJob::minimum_norm};
    else
      return batch;
  };
  auto const a_batch = batch_of(args.a);
  auto const c_batch = batch_of(args.c);

  for (Index first = block_index() * C.matrices; first < args.a.count; first += block_count() * C.matrices) {
    int const active = args.a.count - first < C.matrices ? static_cast<int>(args.a.count - first) : C.matrices;
    Index const b = first + q;
    a.template load<C.a>(a_batch, first, active);
    if constexpr (C.has_columns()) c.template load<C.c>(c_batch, first, active);
    if constexpr (!C.factors() && C.reflectors > 0) tau.template load<C.tau>(args.tau, first, active);
    wait_copies();
    sync_block();

    // In a ragged batch the last steps may find the identity, which they leave alone.
    int const real_m = !C.ragged() || q >= active ? C.m : a_batch.cols_of(b);
    int const real_n = !C.ragged() || q >= active ? C.n : a_batch.rows_of(b);
    int const size = smaller(real_m, real_n);
    int info = 0;
    int const right_rows = C.job == QrJob::minimum_norm ? size : real_m;  // of B as it is given

    if constexpr (C.factors()) {
      unsigned most_of_a = 0, most_of_b = C.solves() && C.columns > 0 ? 0 : leading_bits_of_power<Real<T>>(0);
      int const right_sides = !C.ragged() || !C.solves() || q >= active ? C.columns : smaller(C.columns, c_batch.rows_of(b));
      QrAcrossLanes<T, C.m, C.n, width, C.lanes, keeps_vector, C.ragged()> qr(lane, buffer);
      SIMT_UNROLL
      for (int slot = 0; slot < qr.held; ++slot) {
        int const j = qr.column(slot);
        bool const of_a = C.beside == 0 || j < C.n;
        if (!qr.exists(slot)) {
          SIMT_UNROLL
          for (int i = 0; i < C.m; ++i) qr.a[slot][i] = from_real<T>(0);
        } else if (of_a) {
          a.read_row(q, j, qr.a[slot]);
        } else {
          c.read_row(q, j - C.n, qr.a[slot]);
        }
        SIMT_UNROLL
        for (int i = 0; i < C.m; ++i) {
          qr.a[slot][i] = conjugate_if(of_a ? args.a.conjugated : args.c.conjugated, qr.a[slot][i]);
          unsigned const most = leading_bits_of_parts(qr.a[slot][i]);
          bool const given = !C.ragged() || (i < real_m && j < (of_a ? real_n : C.n + right_sides));
          if (of_a)
            most_of_a = given ? larger(most_of_a, most) : most_of_a;
          else
            most_of_b = given ? larger(most_of_b, most) : most_of_b;
        }
      }
      if constexpr (C.solves() && C.beside == 0) {
        for (int j = lane; j < right_sides; j += C.lanes)
          for (int i = 0; i < right_rows; ++i) most_of_b = larger(most_of_b, leading_bits_of_parts(c.at(q, j, i)));
      }
      SIMT_UNROLL
      for (int distance = C.lanes / 2; distance > 0; distance /= 2) {
        most_of_a = larger(most_of_a, shuffle_xor(most_of_a, distance));
        if constexpr (C.solves()) most_of_b = larger(most_of_b, shuffle_xor(most_of_b, distance));
      }
      auto const scales = RangeScales<Real<T>>::of(most_of_a, most_of_b);
      if (lane == 0) scales_of(q) = scales;
      if (scales.any()) {
        SIMT_UNROLL
        for (int slot = 0; slot < qr.held; ++slot) {
          Real<T> const scale = power<Real<T>>(C.beside == 0 || qr.column(slot) < C.n ? scales.of_a : scales.of_b);
          SIMT_UNROLL
          for (int i = 0; i < C.m; ++i) qr.a[slot][i] = scale * qr.a[slot][i];
        }
        if constexpr (C.solves() && C.beside == 0) {
          SIMT_LOOP
          for (int j = lane; j < right_sides; j += C.lanes) SIMT_LOOP
          for (int i = 0; i < right_rows; ++i) c.at(q, j, i) = power<Real<T>>(scales.of_b) * c.at(q, j, i);
        }
      }
      T finished[C.lanes == 1 ? width : 1][C.m];  // of the only lane: its rows leave together
      qr.factor(
          is_complex<T> ? size : smaller(real_m - 1, real_n),
          [&](int k, T value) { tau.at(q, k, 0) = conjugate_if(C.job == QrJob::factor && args.tau.conjugated, value); },
          [&](int slot, int i, T value) {
            int const j = qr.column(slot);
            if constexpr (C.lanes == 1) {
              finished[slot][i] = value;
            } else if (qr.exists(slot)) {
              if (C.beside == 0 || j < C.n)
                a.at(q, j, i) = value;
              else
                c.at(q, j - C.n, i) = value;
            }
          });
      if constexpr (C.lanes == 1) {
        SIMT_UNROLL
        for (int j = 0; j < width; ++j) {
          if (j < C.n)
            a.write_row(q, j, finished[j]);
          else
            c.write_row(q, j - C.n, finished[j]);
        }
      }
      sync_warp();
      if constexpr (C.job == QrJob::factor) {
        // Places are computed anew: registers would hold them all the while.
        int const thread = static_cast<int>(unknown(static_cast<unsigned>(thread_index()))), mine = thread / C.lanes;
        if (auto const scales = scales_of(mine); scales.any()) {
          SIMT_LOOP
          for (int j = thread % C.lanes; j < real_n; j += C.lanes) {
            SIMT_LOOP
            for (int i = 0; i <= j && i < real_m; ++i) a.at(mine, j, i) = power<Real<T>>(-scales.of_a) * a.at(mine, j, i);
          }
        }
      }
    }
    int reflectors = size;
    if constexpr (!C.factors()) reflectors = q < active ? smaller(size, args.tau.rows_of(b)) : C.reflectors;
    bool const given = !C.factors();  // the reflectors; else they are the kernel's own
    auto const v = [&](int i, int k) { return conjugate_if(given && args.a.conjugated, a.at(q, k, i)); };
    auto const tau_of = [&](int k) {
      return k < reflectors ? conjugate_if(given && args.tau.conjugated, tau.at(q, k, 0)) : from_real<T>(0);
    };
    constexpr int reflected = C.job == QrJob::generate ? C.n : larger(C.columns, 1);
    using Reflect = ReflectAcrossLanes<T, C.m, C.reflectors, reflected, C.lanes, keeps_vector>;

    if constexpr (is_complex<T> && C.has_columns() && C.beside == 0)
      if (args.c.conjugated) conjugate_rows<C.columns, C.m, C.lanes>(c, q, lane);
    if constexpr (reflects_rest) {
      Reflect reflect(lane, buffer);
      SIMT_UNROLL
      for (int slot = 0; slot < reflect.held; ++slot)
        if (reflect.exists(slot)) {
          c.read_row(q, reflect.column(slot), reflect.a[slot]);
        } else {
          SIMT_UNROLL
          for (int i = 0; i < C.m; ++i) reflect.a[slot][i] = from_real<T>(0);
        }
      reflect.apply_adjoint(v, tau_of, [&](int slot, int i, T value) {
        if (reflect.exists(slot)) c.at(q, reflect.column(slot), i) = value;
      });
      sync_warp();
    }
    if constexpr (C.solves()) {
      if constexpr (C.beside == 0) sync_warp();
      info = substitute<C.job == QrJob::minimum_norm, C.reflectors, C.columns, C.lanes>(a, c, q, lane, size);
    }
    if constexpr (reflects) {
      Reflect reflect(lane, buffer);
      reflect.apply(v, tau_of, [&](int slot, int i) {
        if constexpr (C.job == QrJob::generate) {
          return from_real<T>(i == reflect.column(slot) ? 1 : 0);
        } else {
          bool const zero = !reflect.exists(slot) || (C.job == QrJob::minimum_norm && i >= size);
          return zero ? from_real<T>(0) : c.at(q, reflect.column(slot), i);
        }
      });
      sync_warp();
      SIMT_UNROLL
      for (int slot = 0; slot < reflect.held; ++slot) {
        if (!reflect.exists(slot)) continue;
        if constexpr (C.job == QrJob::generate)
          a.write_row(q, reflect.column(slot), reflect.a[slot]);
        else
          c.write_row(q, reflect.column(slot), reflect.a[slot]);
      }
    }

    if constexpr (C.solves() && C.columns > 0)
      if (auto const scales = scales_of(static_cast<int>(unknown(static_cast<unsigned>(thread_index()))) / C.lanes); scales.any()) SIMT_LOOP
    for (int j = lane; j < C.columns; j += C.lanes) SIMT_LOOP
    for (int i = 0; i < real_m; ++i) {
      bool const solution = C.job == QrJob::minimum_norm || i < size;  // else of the residual
      c.at(q, j, i) = power<Real<T>>((solution ? scales.of_a : 0) - scales.of_b) * c.at(q, j, i);
    }

    // As it is stored; and what was not computed, as it was.
    if constexpr (is_complex<T> && C.writes_a())
      if (args.a.conjugated) conjugate_rows<C.n, C.m, C.lanes>(a, q, lane);
    if constexpr (is_complex<T> && C.has_columns())
      if (args.c.conjugated) conjugate_rows<C.columns, C.m, C.lanes>(c, q, lane);
    if (C.solves() && info != 0 && q < active)
      for (int j = lane; j < smaller(C.columns, c_batch.rows_of(b)); j += C.lanes)
        for (int i = 0; i < c_batch.cols_of(b); ++i) c.at(q, j, i) = *c_batch.at(b, j, i);
    sync_block();
    if constexpr (C.writes_a())
      if (!args.keeps_a) a.template store<C.a>(a_batch, first, active);
    if constexpr (C.has_columns()) c.template store<C.c>(c_batch, first, active);
    if constexpr (C.job == QrJob::factor) {
      if constexpr (C.ragged()) {
        for (int k = lane; k < size && q < active; k += C.lanes) *args.tau.at(b, k, 0) = tau.at(q, k, 0);
      } else {
        tau.template store<C.tau>(args.tau, first, active);
      }
    }
    if constexpr (C.solves())
      if (args.info && lane == 0 && q < active) {
        bool mine = true;
        if constexpr (by_shape) mine = a_batch.has(b);
        if (mine) args.info[b] = info;
      }
    if (first + block_count() * C.matrices < args.a.count) sync_block();
  }
}

}  // namespace myriad
