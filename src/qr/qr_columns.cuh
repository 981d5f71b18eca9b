#pragma once
/// Householder reflections on one matrix in registers, by columns: lane l of `lanes` holds columns l, l + lanes, ...
///
/// So a product of v with a column is a sum within one lane. The column at hand goes to the other lanes through shared memory as it is, not
/// yet as v: its sum of squares is its product with itself, which its lane computes while the others compute theirs. Then every lane has
/// the reflector from this sum and the column's first element.
///
/// Steps are a loop, so that code stays small. Register arrays need constant indices, so the rows rotate: the row at hand is always the
/// first. A row of R and V leaves the registers through `finish(slot, row, value)` when it is finished.

#include "reflectors/reflector.cuh"

namespace myriad::simt {

/// `width` columns of M rows, and how lanes share a vector, which stays in registers between its two uses or is read twice.
template <typename T, int M, int width, int lanes, bool keeps_vector>
struct ColumnsAcrossLanes {
  static constexpr int held = ceil_div(width, lanes);
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int buffered = ceil_div(M, per_chunk) * per_chunk;  // of a vector in the buffer, of which there are two
  static constexpr int block = smaller(lanes, M <= 24 ? 4 : 8);        ///< steps that work on as many rows

  T a[held][M];
  int lane;
  T* buffer;

  SIMT_INLINE ColumnsAcrossLanes(int lane_of_matrix, T* buffer_of_matrix) : lane(lane_of_matrix), buffer(buffer_of_matrix) {}
  SIMT_INLINE int column(int slot) const { return lane + slot * lanes; }
  SIMT_INLINE bool exists(int slot) const { return width % lanes == 0 || column(slot) < width; }

 protected:
  /// Where the lanes share the vector of step k.
  SIMT_INLINE T* vector_buffer(int k) const { return buffer + k % 2 * buffered; }

  /// Elements 0 to window - 1 of a shared vector.
  template <int window>
  struct Vector {
    static constexpr int chunks = ceil_div(window, per_chunk);
    T const* memory;
    Chunked<T> kept[keeps_vector ? chunks : 1];

    SIMT_INLINE void read(T const* from) {
      memory = from;
      SIMT_UNROLL
      for (int c = 0; keeps_vector && c < chunks; ++c) kept[c].chunk = load_chunk(from + c * per_chunk);
    }
    SIMT_INLINE T first() const { return keeps_vector ? kept[0].x[0] : memory[0]; }
    /// use(i, x(i)) for i = 1 to window - 1, upwards or downwards.
    template <bool upwards, typename Use>
    SIMT_INLINE void visit(Use use) const {
      SIMT_UNROLL
      for (int step = 0; step < chunks; ++step) {
        int const c = upwards ? step : chunks - 1 - step;
        Chunked<T> const part = keeps_vector ? kept[keeps_vector ? c : 0] : Chunked<T>(load_chunk(memory + c * per_chunk));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) {
          int const i = c * per_chunk + (upwards ? e : per_chunk - 1 - e);
          if (i > 0 && i < window) use(i, part.x[upwards ? e : per_chunk - 1 - e]);
        }
      }
    }
  };

  /// x^H y for the columns of slots `slot` and later, over rows from 1: element i of y is in register i - shift.
  template <int slot, int shift, typename V>
  SIMT_INLINE void products(V const& x, T (&product)[held]) const {
    constexpr int parts = held - slot > 2 ? 1 : held - slot > 1 ? 2 : 4;  // sums that do not wait for each other
    T sum[held][parts];
    SIMT_UNROLL
    for (int c = slot; c < held; ++c) {
      SIMT_UNROLL
      for (int p = 0; p < parts; ++p) sum[c][p] = from_real<T>(0);
    }
    x.template visit<true>([&](int i, T element) {
      SIMT_UNROLL
      for (int c = slot; c < held; ++c) sum[c][i % parts] = conjugate_multiply_add(element, a[c][i - shift], sum[c][i % parts]);
    });
    SIMT_UNROLL
    for (int c = slot; c < held; ++c) {
      product[c] = sum[c][0];
      if constexpr (parts == 2) product[c] = sum[c][0] + sum[c][1];
      if constexpr (parts == 4) product[c] = (sum[c][0] + sum[c][1]) + (sum[c][2] + sum[c][3]);
    }
  }
};

/// QR of the first N columns; the others become Q^H times themselves.
template <typename T, int M, int N, int width, int lanes, bool keeps_vector, bool ragged>
struct QrAcrossLanes : ColumnsAcrossLanes<T, M, width, lanes, keeps_vector> {
  using Base = ColumnsAcrossLanes<T, M, width, lanes, keeps_vector>;
  using Base::a, Base::lane, Base::held, Base::block;
  using R = Real<T>;
  static constexpr int reflectors = smaller(M, N);
  static constexpr int steps = is_complex<T> ? reflectors : smaller(M - 1, N);  ///< a real number needs no reflector
  using Base::Base;

  /// finish(slot, row, value) gets R, V, and the other columns; note(k, tau) is called in one lane. Of a ragged batch the matrix has
  /// `real_steps` steps.
  template <typename Note, typename Finish>
  SIMT_INLINE void factor(int real_steps, Note note, Finish finish) {
    if constexpr (lanes > 1) {
      group_ = lanes == 32 ? ~0u : ((1u << lanes % 32) - 1) << (lane_index() & ~(lanes - 1));
      if constexpr (steps > 0) pass<0, M>(0);
    }
    factor_blocks<0>(real_steps, note, finish);
    if (steps < reflectors && lane == 0) note(steps, from_real<T>(0));
    constexpr int first_left = steps > 0 ? (steps - 1) / lanes + 1 : 0;
    SIMT_UNROLL
    for (int c = first_left; c < held; ++c) {
      SIMT_UNROLL
      for (int i = 0; i < M - steps; ++i) finish(c, steps + i, a[c][i]);
    }
  }

 private:
  unsigned group_ = 0;  ///< the lanes of this matrix
  T scale_;             ///< by which this lane's column of the slot at hand becomes v

  template <int first, typename Note, typename Finish>
  SIMT_INLINE void factor_blocks(int real_steps, Note note, Finish finish) {
    if constexpr (first < steps) {
      constexpr int slot = first / lanes;
      constexpr int end = smaller(first + block, smaller(slot * lanes + lanes, steps));
      constexpr bool last_of_slot = end == steps || end % lanes == 0;
      if (first % lanes == 0) scale_ = from_real<T>(1);
      if constexpr (end == first + 1) {
        step<slot, M - first, last_of_slot>(first, end, real_steps, note, finish);
      } else {
        SIMT_LOOP
        for (int k = first; k < end; ++k) step<slot, M - first, last_of_slot>(k, end, real_steps, note, finish);
      }
      if constexpr (last_of_slot) {
        SIMT_UNROLL
        for (int i = 0; i < M - end; ++i) finish(slot, end + i, scale_ * a[slot][i]);
      }
      factor_blocks<end>(real_steps, note, finish);
    }
  }

  /// A column in the registers of the only lane, as Vector.
  template <int slot, int window>
  struct OwnColumn {
    T const (&x)[held][M];
    SIMT_INLINE void read(T const*) {}
    SIMT_INLINE T first() const { return x[slot][0]; }
    template <bool upwards, typename Use>
    SIMT_INLINE void visit(Use use) const {
      SIMT_UNROLL
      for (int i = 1; i < window; ++i) use(i, x[slot][i]);
    }
  };
  template <int slot, int window>
  SIMT_INLINE auto vector_of() const {
    if constexpr (lanes == 1)
      return OwnColumn<slot, window>{a};
    else
      return typename Base::template Vector<window>();
  }

  /// Step k of a block that ends before step `end`, on registers 0 to window - 1.
  template <int slot, int window, bool last_of_slot, typename Note, typename Finish>
  SIMT_INLINE void step(int k, int end, int real_steps, Note note, Finish finish) {
    int const source = lanes == 1 ? 0 : k - slot * lanes;
    bool const at_hand = lanes == 1 || lane == source;
    bool const finished = lanes == 1 || lane <= source;
    bool identity = ragged && k >= real_steps;
    R back = R(1);  // takes back by what the column at hand was scaled
    auto x = vector_of<slot, window>();
    T gain[held]{};
    R beta;
    T tau, v_scale;
    if constexpr (lanes > 1) sync_warp();
    bool scaled = false;
    SIMT_LOOP
    for (;;) {
      x.read(this->vector_buffer(k));
      T product[held];
      this->template products<slot, 0>(x, product);
      R tail = identity ? R(Reflector<T>::identity) : real_part(product[slot]);
      if constexpr (lanes > 1) tail = shuffle(tail, (lane_index() & ~(lanes - 1)) + source);
      Reflector<T> const reflector(x.first(), tail);
      bool usual = reflector.usual;
      SIMT_UNROLL
      for (int c = slot; c < held; ++c) {
        gain[c] = reflector.gain(a[c][0], product[c]);
        usual &= (c == slot && finished) | reflector.is_usual(gain[c]);
      }
      beta = reflector.beta;
      tau = reflector.tau();
      v_scale = reflector.v_scale;
      // Seldom a column has to be scaled, for all lanes and once.
      bool here = !usual;
      if constexpr (lanes > 1) {
        unsigned const unusual = ballot(!usual);
        if (scaled || unusual == 0) break;
        here = (unusual & group_) != 0;
        sync_warp();
      } else {
        if (scaled || usual) break;
      }
      scaled = true;
      if (here && at_hand) {
        T* const column = lanes == 1 ? a[slot] : this->vector_buffer(k);
        identity = scale_column<window>(column, back) || identity;
        SIMT_UNROLL
        for (int i = 0; lanes > 1 && i < window; ++i) a[slot][i] = column[i];
      }
      if constexpr (lanes > 1) sync_warp();
    }
    if (at_hand) {
      scale_ = v_scale;
      note(k, tau);
    }
    T factor[held]{};
    SIMT_UNROLL
    for (int c = slot; c < held; ++c) {
      T row = a[c][0] + gain[c];
      if (c == slot) row = at_hand ? from_real<T>(beta * back) : finished ? scale_ * a[c][0] : row;
      finish(c, k, row);
      factor[c] = c == slot && finished ? from_real<T>(0) : gain[c] * v_scale;
    }
    // The next column is passed while the others are still at work.
    if constexpr (lanes > 1) {
      rotate<slot, slot + 1, window>(x, factor);
      if (!last_of_slot || k + 1 < end) pass<slot, window>(k + 1);
    }
    rotate<slot + 1, held, window>(x, factor);
    if constexpr (lanes == 1) {
      SIMT_UNROLL
      for (int i = 1; i < window; ++i) a[slot][i - 1] = a[slot][i];
    } else if constexpr (last_of_slot && slot + 1 < held) {
      if (k + 1 == end && end < steps) pass<slot + 1, window>(k + 1);
    }
  }

  /// Moves rows one place up and adds the factors times x.
  template <int from, int to, int window, typename V>
  SIMT_INLINE void rotate(V const& x, T const (&factor)[held]) {
    x.template visit<true>([&](int i, T element) {
      SIMT_UNROLL
      for (int c = from; c < to; ++c) a[c][i - 1] = multiply_add(factor[c], element, a[c][i]);
    });
    SIMT_UNROLL
    for (int c = from; c < to; ++c) a[c][window - 1] = from_real<T>(0);
  }

  /// Gives column k, if it is in this lane and slot, to the other lanes.
  template <int slot, int window>
  SIMT_INLINE void pass(int k) {
    if constexpr (lanes > 1)
      if (this->column(slot) == k) {
        SIMT_UNROLL
        for (int i = 0; i < window; i += Base::per_chunk) {
          Chunked<T> part;
          SIMT_UNROLL
          for (int e = 0; e < Base::per_chunk; ++e) part.x[e] = i + e < window ? a[slot][i + e] : from_real<T>(0);
          store_chunk(this->vector_buffer(k) + i, part.chunk);
        }
      }
  }

  /// Scales a column by a power of two that brings its largest element near one; returns whether no reflector is needed.
  template <int window>
  SIMT_INLINE static bool scale_column(T* column, R& back) {
    R most = R(0);
    bool none = true;
    each<window>([&](int i) {
      bool zero = column[i] == from_real<T>(0);
      if constexpr (is_complex<T>)
        zero = i == 0 ? column[i].im == R(0) : zero;
      else
        zero = zero || i == 0;
      none = none && zero;
      most = larger(most, magnitude(column[i]));
    });
    if (none) return true;
    R const scale = reciprocal_power(most);
    back = reciprocal(scale);
    each<window>([&](int i) { column[i] = scale * column[i]; });
    return false;
  }
  /// Visits the elements of a column in registers, or in memory: then code matters, which is seldom run.
  template <int window, typename Visit>
  SIMT_INLINE static void each(Visit visit) {
    if constexpr (lanes == 1) {
      SIMT_UNROLL
      for (int i = 0; i < window; ++i) visit(i);
    } else {
      SIMT_LOOP
      for (int i = 0; i < window; ++i) visit(i);
    }
  }
};

/// C becomes Q C or Q^H C, where Q = H(1) ... H(K), for `width` columns of M rows.
template <typename T, int M, int K, int width, int lanes, bool keeps_vector>
struct ReflectAcrossLanes : ColumnsAcrossLanes<T, M, width, lanes, keeps_vector> {
  using Base = ColumnsAcrossLanes<T, M, width, lanes, keeps_vector>;
  using Base::a, Base::lane, Base::held, Base::block;
  using Base::Base;

  /// Q^H C. v(i, k) is element i of v, for i > k; finish(slot, row, value) gets the result.
  template <typename Element, typename Tau, typename Finish>
  SIMT_INLINE void apply_adjoint(Element v, Tau tau, Finish finish) {
    if constexpr (K > 0) share<M>(0, v);
    adjoint_blocks<0>(v, tau, finish);
    SIMT_UNROLL
    for (int c = 0; c < held; ++c) {
      SIMT_UNROLL
      for (int i = 0; i < M - K; ++i) finish(c, K + i, a[c][i]);
    }
  }
  /// Q C, of which begin(slot, row) gives an element; the result is in the registers.
  template <typename Element, typename Tau, typename Begin>
  SIMT_INLINE void apply(Element v, Tau tau, Begin begin) {
    SIMT_UNROLL
    for (int c = 0; c < held; ++c) {
      SIMT_UNROLL
      for (int i = 0; i < M; ++i) a[c][i] = i < M - K ? begin(c, i + K) : from_real<T>(0);
    }
    if constexpr (K > 0) {
      constexpr int last = (K - 1) / block * block;
      share<M - last>(K - 1, v);
      blocks<last>(v, tau, begin);
    }
  }

 private:
  /// Puts elements k to k + window - 1 of v into the buffer of step k.
  template <int window, typename Element>
  SIMT_INLINE void share(int k, Element v) {
    T* const x = this->vector_buffer(k);
    SIMT_LOOP
    for (int i = lane; i < window; i += lanes) x[i] = i > 0 && k + i < M ? v(k + i, k) : from_real<T>(0);
  }

  template <int first, typename Element, typename Tau, typename Finish>
  SIMT_INLINE void adjoint_blocks(Element v, Tau tau, Finish finish) {
    if constexpr (first < K) {
      constexpr int window = M - first;
      SIMT_LOOP
      for (int k = first; k < smaller(first + block, K); ++k) {
        sync_warp();
        typename Base::template Vector<window> x;
        x.read(this->vector_buffer(k));
        if (k + 1 < K) share<window>(k + 1, v);
        T product[held], factor[held];
        this->template products<0, 0>(x, product);
        SIMT_UNROLL
        for (int c = 0; c < held; ++c) {
          factor[c] = -conjugate_if(true, tau(k)) * (a[c][0] + product[c]);
          finish(c, k, a[c][0] + factor[c]);
        }
        x.template visit<true>([&](int i, T element) {
          SIMT_UNROLL
          for (int c = 0; c < held; ++c) a[c][i - 1] = multiply_add(factor[c], element, a[c][i]);
        });
        SIMT_UNROLL
        for (int c = 0; c < held; ++c) a[c][window - 1] = from_real<T>(0);
      }
      adjoint_blocks<first + block>(v, tau, finish);
    }
  }

  template <int first, typename Element, typename Tau, typename Begin>
  SIMT_INLINE void blocks(Element v, Tau tau, Begin begin) {
    constexpr int window = M - first;
    SIMT_LOOP
    for (int k = smaller(first + block, K) - 1; k >= first; --k) {
      sync_warp();
      typename Base::template Vector<window> x;
      x.read(this->vector_buffer(k));
      if (k > 0) share<smaller(window + block, M)>(k - 1, v);
      T product[held], factor[held], former[held];
      this->template products<0, 1>(x, product);
      SIMT_UNROLL
      for (int c = 0; c < held; ++c) {
        former[c] = begin(c, k);
        factor[c] = -tau(k) * (former[c] + product[c]);
      }
      x.template visit<false>([&](int i, T element) {
        SIMT_UNROLL
        for (int c = 0; c < held; ++c) a[c][i] = multiply_add(factor[c], element, a[c][i - 1]);
      });
      SIMT_UNROLL
      for (int c = 0; c < held; ++c) a[c][0] = former[c] + factor[c];
    }
    if constexpr (first > 0) blocks<first - block>(v, tau, begin);
  }
};

}  // namespace myriad::simt
