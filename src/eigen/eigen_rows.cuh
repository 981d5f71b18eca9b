#pragma once
/// The Hermitian eigenproblem of a matrix in shared memory by lanes of a warp: reduction to tridiagonal form, Q, implicit QL with vectors.
///
/// Lane l has rows l, l + lanes, ... in row-wise work. One lane computes each sum in order, and every lane computes norms and rotations
/// itself. So the bits of a matrix depend neither on the number of lanes nor on the kernel's size. All matrices of a warp have the same
/// steps and barriers.

#include "reflectors/reflector.cuh"

namespace myriad::simt {

/// A rotation with [c s; -s c] [g; f] = [r; 0].
template <typename R>
struct Rotation {
  R c, s, r;

  SIMT_INLINE Rotation(R g, R f) {
    R const squares = multiply_add(g, g, f * f);
    R const root = reciprocal_square_root(squares);
    // Both are negligible in a matrix of norm one, and their squares may underflow: r is zero, without a rotation.
    bool const none = squares < power_of_two<R, -200, -80>;
    c = none ? R(1) : g * root;
    s = none ? R(0) : f * root;
    r = none ? R(0) : squares * root;
  }
};

/// A subset of N elements, as a bit set.
template <int N>
class Subset {
  static constexpr int words = ceil_div(N, 32);
  unsigned bits_[words] = {};

 public:
  /// Word w of the bits.
  SIMT_INLINE unsigned& word(int w) { return bits_[w]; }
  SIMT_INLINE void remove(int k) {
    SIMT_UNROLL
    for (int w = 0; w < words; ++w)
      if (words == 1 || k / 32 == w) bits_[w] &= ~(1u << k % 32);
  }
  SIMT_INLINE bool is_empty() const {
    unsigned any = 0;
    SIMT_UNROLL
    for (int w = 0; w < words; ++w) any |= bits_[w];
    return any == 0;
  }
  SIMT_INLINE int count() const {
    int sum = 0;
    SIMT_UNROLL
    for (int w = 0; w < words; ++w)
      for (unsigned bits = bits_[w]; bits != 0; bits &= bits - 1) ++sum;
    return sum;
  }
  /// The first element; 0 if there is none.
  SIMT_INLINE int first() const {
    int k = 0;
    SIMT_UNROLL
    for (int w = words - 1; w >= 0; --w)
      if (bits_[w] != 0) k = 32 * w + lowest_bit(bits_[w]);
    return k;
  }
  /// The first element from k on that is not in the set; k if there is none.
  SIMT_INLINE int first_missing(int k) const {
    int missing = k;
    SIMT_UNROLL
    for (int w = words - 1; w >= 0; --w) {
      unsigned const from = words == 1 || k / 32 == w ? ~0u << k % 32 : k / 32 < w ? ~0u : 0u;
      if ((~bits_[w] & from) != 0) missing = 32 * w + lowest_bit(~bits_[w] & from);
    }
    return missing;
  }
};

/// `at(i, j)`: element (i, j) of the matrix, which has N rows or, if `ragged`, fewer.
template <typename T, int N, int lanes, bool ragged, typename At>
struct EigenAcrossLanes {
  using R = Real<T>;
  static constexpr int held = ceil_div(N, lanes);
  /// Last columns without a reflector: the last two of a real matrix are tridiagonal already; for complex matrices the last off-diagonal
  /// element must become real.
  static constexpr int left = is_complex<T> ? 1 : 2;

  At at;
  int rows_if_ragged;
  int lane;  ///< index of the lane in its matrix
  T* v;      ///< vector of the current reflector; tau(k) replaces element k, which is zero from then on
  T* p;      ///< its product with the matrix, and that of the previous step
  R* d;      ///< diagonal of the tridiagonal matrix
  R* e;      ///< its off-diagonal
  int info = 0;

  SIMT_INLINE EigenAcrossLanes(At at_of_matrix, int rows, int lane_of_matrix, char* buffer)
      : at(at_of_matrix),
        rows_if_ragged(rows),
        lane(lane_of_matrix),
        v(reinterpret_cast<T*>(buffer)),
        p(v + N),
        d(reinterpret_cast<R*>(p + 2 * N)),
        e(d + N) {}

  SIMT_INLINE int size() const { return ragged ? rows_if_ragged : N; }
  SIMT_INLINE int row(int r) const { return lane + r * lanes; }
  /// Zero for rows beyond the matrix, which may have no memory.
  SIMT_INLINE T element(int i, int j) const {
    bool const is_there = ragged ? i < size() : N % lanes == 0 || i < N;
    return is_there ? at(i, j) : from_real<T>(0);
  }
  /// Whether `condition` holds for any matrix of the warp.
  SIMT_INLINE static bool any(bool condition) { return ballot(condition) != 0; }

  /// Completes the matrix from its triangle and scales its largest element into [1, 2) by a power of two. Returns the inverse factor; NaN
  /// if the triangle has NaN or infinity. Such a matrix, and one that does not exist, is set to zero.
  SIMT_INLINE R make_whole(bool lower, bool exists) {
    int const n = size();
    auto top = bits_of(R(0));
    SIMT_UNROLL_BY(2)
    for (int j = 0; j < n; ++j) {
      T value[held];
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = row(r);
        bool const stored = lower ? i >= j : i <= j;
        value[r] = i >= n ? from_real<T>(0) : conjugate_if(!stored, at(stored ? i : j, stored ? j : i));
        if (i == j) value[r] = from_real<T>(real_part(value[r]));
      }
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = row(r);
        if (i >= n) continue;
        if (lower ? i < j : i > j) at(i, j) = value[r];
        top = larger(top, ordered_bits(magnitude(real_part(value[r]))));
        if constexpr (is_complex<T>) top = larger(top, ordered_bits(magnitude(value[r].im)));
      }
    }
    SIMT_UNROLL
    for (int mask = lanes / 2; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
    sync_warp();
    bool const finite = top < ordered_bits(R(infinity()));
    bool const is_there = exists && finite;
    R const scale = !is_there || top == bits_of(R(0)) ? R(1) : reciprocal_power(number_of(top));
    SIMT_UNROLL_BY(2)
    for (int j = 0; j < n; ++j) {
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) {
        int const i = row(r);
        if (i >= n) continue;
        T const value = scale * at(i, j);
        at(i, j) = !is_there ? from_real<T>(0) : i == j ? from_real<T>(real_part(value)) : value;
      }
    }
    sync_warp();
    return finite ? reciprocal_power(scale) : R(quiet_nan());
  }

  /// A = Q T Q^H, Q = H(0) H(1) ...: T goes to d and e, the vector of H(k) below the diagonal of column k, tau(k) to v[k].
  ///
  /// H^H A H = A - v w^H - w v^H with w = tau A v - (|tau|^2 / 2) (v^H A v) v. The update of a step is fused with the next step's
  /// matrix-vector product, so that each element is read and written once per step; only the next column is updated before.
  SIMT_INLINE void reduce() {
    int const n = size(), steps = n - left;
    T own_v[held]{}, own_w[held]{};  // of the previous step, for the lane's rows
    T tau = from_real<T>(0);
    R half = R(0);
    // Element j of w of the step before k.
    auto const former_w = [&](int k, int j, T former_v) { return tau * p[(k + 1) % 2 * N + j] - half * former_v; };
    auto const changed = [&](int r, T x, T former_v, T w) {
      return subtract_product(subtract_product(x, own_v[r], conjugate(w)), own_w[r], conjugate(former_v));
    };
    auto const change_column = [&](int k, int j) {
      T const former_v = at(j, k - 1), w = former_w(k, j, former_v);
      SIMT_UNROLL
      for (int r = 0; r < held; ++r)
        if (row(r) >= j && row(r) < n) at(row(r), j) = changed(r, at(row(r), j), former_v, w);
    };
    SIMT_LOOP
    for (int k = 0; k < N - left; ++k) {
      bool const works = k < steps;
      if (works && k > 0) change_column(k, k);
      sync_warp();
      if (works) {
        R tail = R(0);
        SIMT_UNROLL_BY(4)
        for (int i = k + 2; i < n; ++i) {
          T const x = at(i, k);
          tail = multiply_add(real_part(x), real_part(x), tail);
          if constexpr (is_complex<T>) tail = multiply_add(x.im, x.im, tail);
        }
        Reflector<T> reflector(at(k + 1, k), tail);
        // A column that is zero, or so small in a matrix of norm one that its square underflows, is taken as zero.
        if (!reflector.usual) reflector = Reflector<T>(at(k + 1, k), R(Reflector<T>::identity));
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          int const i = row(r);
          if (i > k && i < n) v[i] = i == k + 1 ? from_real<T>(1) : reflector.v_scale * at(i, k);
          if (i == k) d[k] = real_part(at(k, k));
        }
        if (lane == 0) {
          e[k] = reflector.beta;
          v[k] = reflector.tau();
        }
      }
      sync_warp();
      T product[held]{};
      if (works) {
        auto const multiply = [&](auto change) {
          SIMT_LOOP
          for (int first = k + 1; first < n; first += at_once) {
            T held_element[at_once][held], of_v[at_once], former_v[at_once], w[at_once];
            SIMT_UNROLL
            for (int t = 0; t < at_once; ++t) {
              int const j = smaller(first + t, n - 1);
              of_v[t] = v[j];
              if constexpr (change.value) {
                former_v[t] = at(j, k - 1);
                w[t] = former_w(k, j, former_v[t]);
              }
              SIMT_UNROLL
              for (int r = 0; r < held; ++r) held_element[t][r] = element(row(r), j);
            }
            SIMT_UNROLL
            for (int t = 0; t < at_once; ++t) {
              int const j = first + t;
              if (j >= n) continue;
              SIMT_UNROLL
              for (int r = 0; r < held; ++r) {
                if constexpr (change.value) {
                  held_element[t][r] = changed(r, held_element[t][r], former_v[t], w[t]);
                  if (row(r) > k && row(r) < n) at(row(r), j) = held_element[t][r];
                }
                product[r] = multiply_add(held_element[t][r], of_v[t], product[r]);
              }
            }
          }
        };
        if (k > 0)
          multiply(Flag<true>{});
        else
          multiply(Flag<false>{});
        SIMT_UNROLL
        for (int r = 0; r < held; ++r) {
          int const i = row(r);
          own_v[r] = i > k && i < n ? v[i] : from_real<T>(0);
          if (i <= k || i >= n) continue;
          at(i, k) = own_v[r];
          p[k % 2 * N + i] = product[r];
        }
      }
      sync_warp();
      if (!works) continue;
      tau = v[k];
      R sum = R(0);
      SIMT_UNROLL_BY(4)
      for (int j = k + 1; j < n; ++j) {
        T const x = v[j], y = p[k % 2 * N + j];
        sum = multiply_add(real_part(x), real_part(y), sum);
        if constexpr (is_complex<T>) sum = multiply_add(x.im, y.im, sum);
      }
      R size = real_part(tau) * real_part(tau);
      if constexpr (is_complex<T>) size = multiply_add(tau.im, tau.im, size);
      half = R(0.5) * size * sum;
      SIMT_UNROLL
      for (int r = 0; r < held; ++r) own_w[r] = tau * product[r] - half * own_v[r];
    }
    // The last step's update; then the remaining columns.
    int const from = larger(steps, 0);
    for (int j = from; steps > 0 && j < n; ++j) change_column(steps, j);
    sync_warp();
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = row(r);
      if (i >= from && i < n) d[i] = real_part(at(i, i));
      if (!is_complex<T> && i > 0 && i == n - 1) e[i - 1] = real_part(at(i, i - 1));
    }
    sync_warp();
  }

  /// Forms Q in place of the reflectors, from the last one on; lanes have columns.
  SIMT_INLINE void form_q() {
    int const n = size(), steps = n - left;
    if (lane == 0 && n > 0) at(n - 1, n - 1) = from_real<T>(1);
    sync_warp();
    SIMT_LOOP
    for (int k = N - left - 1; k >= 0; --k) {
      if (k < steps) {
        T const tau = v[k];
        for (int j = k + 1 + lane; j < n; j += lanes) {
          // Column k + 1 and row k + 1 are those of the identity so far.
          bool const is_new = j == k + 1;
          T product = from_real<T>(is_new ? 1 : 0);
          SIMT_UNROLL_BY(4)
          for (int i = k + 2; i < n && !is_new; ++i) product = conjugate_multiply_add(at(i, k), at(i, j), product);
          product = tau * product;
          at(k + 1, j) = from_real<T>(is_new ? 1 : 0) - product;
          SIMT_LOOP
          for (int first = k + 2; first < n; first += at_once) {
            T held_element[at_once], of_v[at_once];
            SIMT_UNROLL
            for (int t = 0; t < at_once; ++t) {
              int const i = smaller(first + t, n - 1);
              of_v[t] = at(i, k);
              held_element[t] = is_new ? from_real<T>(0) : at(i, j);
            }
            SIMT_UNROLL
            for (int t = 0; t < at_once; ++t)
              if (first + t < n) at(first + t, j) = subtract_product(held_element[t], of_v[t], product);
          }
        }
      }
      sync_warp();
    }
    for (int j = lane; j < n; j += lanes) {
      at(0, j) = from_real<T>(j == 0 ? 1 : 0);
      if (j > 0) at(j, 0) = from_real<T>(0);
    }
    sync_warp();
  }

  /// Computes the eigenvalues of the tridiagonal matrix to d, unsorted; with vectors multiplies the matrix by the eigenvectors. The loop is
  /// over rotations, one per matrix, so that no matrix of a warp waits for another's sweep. Matrices that are done, and lanes with fewer
  /// rows, skip only stores. After most_sweeps sweeps per row `info` is the number of off-diagonal elements that are not negligible.
  template <bool vectors, int most_sweeps>
  SIMT_INLINE void iterate() {
    if constexpr (N > 1) {
      int const n = size();
      Subset<N> coupled = coupled_at_first();  // those k for which e[k] is not negligible
      T carried[held]{};                       // the lane's rows of the column shared with the next rotation
      R c = R(1), s = R(1), shift = R(0), g = R(0);
      R d_here = R(0), e_here = R(0), d_above = R(0), d_written = R(0);
      int first = 0, last = 0, i = -1;  // the sweep is over rows first to last, and its next rotation of i and i + 1
      int sweeps = 0;
      bool done = false;
      SIMT_LOOP
      for (;;) {
        bool const searches = !done && i < first;
        if (any(searches)) {
          if (searches && sweeps > 0) {  // elements that are still coupled after the sweep
            R const d_first = d_above - shift;
            if (lane == 0) {
              d[first] = d_first;
              e[first] = g;
            }
            SIMT_UNROLL
            for (int r = 0; vectors && r < held; ++r)
              if (row(r) < n) at(row(r), first) = carried[r];
            if (!is_coupled(g, d_first, d_written)) coupled.remove(first);
          }
          sync_warp();
          if (searches) {
            done = coupled.is_empty();
            if (!done && ++sweeps > most_sweeps * n) {
              done = true;
              info = coupled.count();
            }
            first = done ? 0 : coupled.first();
            last = done ? 1 : coupled.first_missing(first);
            i = last - 1;
            g = done ? R(0) : wilkinson_shift(first, last);
            c = s = R(1);
            shift = R(0);
            d_above = d[last];
            d_here = d[i];
            e_here = e[i];
            SIMT_UNROLL
            for (int r = 0; vectors && r < held; ++r) carried[r] = element(row(r), last);
          }
          sync_warp();
          if (!any(!done)) break;
        }
        int const next = larger(i - 1, first);
        R const d_next = d[next], e_next = e[next];
        T x[held];
        SIMT_UNROLL
        for (int r = 0; vectors && r < held; ++r) x[r] = element(row(r), i);
        R const f = s * e_here, b = c * e_here;
        Rotation<R> const rotation(g, f);
        c = rotation.c;
        s = rotation.s;
        R const d_shifted = d_above - shift;
        R const change = multiply_add(d_here - d_shifted, s, c * (b + b));
        shift = s * change;
        g = multiply_add(c, change, -b);
        R const d_new = d_shifted + shift;
        bool const is_last = i + 1 == last;
        if (!done && lane == 0) {
          e[i + 1] = is_last ? R(0) : rotation.r;
          d[i + 1] = d_new;
        }
        if (!is_last && !is_coupled(rotation.r, d_new, d_written)) coupled.remove(i + 1);
        d_written = d_new;
        d_above = d_here;
        d_here = d_next;
        e_here = e_next;
        SIMT_UNROLL
        for (int r = 0; vectors && r < held; ++r) {
          if (!done && row(r) < n) at(row(r), i + 1) = rotated(s, x[r], c, carried[r]);
          carried[r] = rotated(c, x[r], -s, carried[r]);
        }
        if (!done) --i;
        sync_warp();
      }
    }
  }

  /// Finds the rank of each eigenvalue in ascending order. Overwrites `v`.
  SIMT_INLINE void find_places() {
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const i = row(r);
      if (i >= size()) continue;
      R const value = d[i];
      int place = 0;
      SIMT_UNROLL_BY(4)
      for (int j = 0; j < size(); ++j) place += d[j] < value || (d[j] == value && j < i) ? 1 : 0;
      places()[i] = place;
    }
  }
  SIMT_INLINE int* places() const { return reinterpret_cast<int*>(v); }

  /// Moves each column to its rank.
  SIMT_INLINE void order_columns() {
    sync_warp();
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      if (row(r) >= size()) continue;
      T of_row[N];
      SIMT_UNROLL
      for (int j = 0; j < N; ++j)
        if (j < size()) of_row[j] = at(row(r), j);
      SIMT_UNROLL
      for (int j = 0; j < N; ++j)
        if (j < size()) at(row(r), places()[j]) = of_row[j];
    }
  }

 private:
  static constexpr int at_once = held == 1 ? 4 : 2;  ///< columns, or rows, that a lane reads before it writes

  template <bool flag>
  struct Flag {
    static constexpr bool value = flag;
  };

  /// Whether an off-diagonal element exceeds rounding errors of its neighbours and of the matrix, whose largest element was in [1, 2).
  SIMT_INLINE static bool is_coupled(R beside, R above, R below) {
    constexpr R u = power_of_two<R, -53, -24>;
    return magnitude(beside) > multiply_add(R(0.5) * u, magnitude(above) + magnitude(below), R(0.125) * u);
  }
  SIMT_INLINE Subset<N> coupled_at_first() const {
    Subset<N> coupled;
    constexpr unsigned of_matrix = lanes == 32 ? ~0u : (1u << lanes % 32) - 1;
    int const first_lane = lane_index() & ~(lanes - 1);
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      int const k = row(r);
      bool const here = k + 1 < size() && is_coupled(e[k], d[k], d[k + 1]);
      coupled.word(r * lanes / 32) |= (ballot(here) >> first_lane & of_matrix) << r * lanes % 32;
    }
    return coupled;
  }

  /// d[last] minus the eigenvalue of the block's upper left 2-by-2 corner that is nearer to d[first].
  SIMT_INLINE R wilkinson_shift(int first, int last) const {
    R const half = R(0.5) * (d[first + 1] - d[first]), beside = e[first] * e[first];
    R const squares = multiply_add(half, half, beside);
    R const root = squares * reciprocal_square_root(squares);
    return multiply_add(beside, reciprocal(half + copy_sign(root, half)), d[last] - d[first]);
  }

  /// a x + b y
  SIMT_INLINE static T rotated(R a, T x, R b, T y) {
    if constexpr (is_complex<T>)
      return {multiply_add(a, x.re, b * y.re), multiply_add(a, x.im, b * y.im)};
    else
      return multiply_add(a, x, b * y);
  }
};

}  // namespace myriad::simt
