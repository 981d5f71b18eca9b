#pragma once
/// The singular value decomposition of a matrix by a block: the algorithm of SvdAcrossLanes, for sizes known at run time.
///
/// Rows are sorted by their largest element, QR with column pivoting gives R, and one-sided Jacobi makes the columns of W = R^H orthogonal.
/// W is in registers; columns move from thread to thread through shared memory. J follows from V and R, and U = Q J.

#include "svd/svd_block_config.cuh"
#include "svd/svd_jacobi.cuh"

namespace myriad::simt {

template <typename T, SvdBlock C>
class SvdInBlock {
  using R = Real<T>;
  static constexpr SvdBlockMemory memory{sizeof(T), sizeof(R), C};
  static constexpr int size = C.size, warps = C.warps();
  static constexpr int per_chunk = 16 / sizeof(T);
  static constexpr int levels = 5;  ///< of groups of columns after the first: see SvdAcrossLanes

  // While columns are rotated, `parts` neighbouring threads share two columns: thread p has chunks p, p + parts, ... Else `split`
  // neighbouring threads share one, in the same way.
  static constexpr int parts = C.parts, split = parts / 2;
  static constexpr int rows = size / parts, held = size / (split * per_chunk);
  static_assert(size % (parts * per_chunk) == 0 && size <= 2 * SvdBlock::pairs && 2 * split == parts && split <= 4);
  static constexpr int group = per_chunk * split >= 8 ? 1 : 8 / (per_chunk * split);  ///< chunks that are skipped together
  static_assert(held % group == 0 && group * per_chunk * split == 8);

 public:
  SvdScale<R> scale;

  SIMT_INLINE static T& tile(int i, int j) { return elements()[j * memory.line + i]; }
  SIMT_INLINE static R& value(int j) { return of<R>(memory.values)[j]; }
  /// Places of A's rows in the order of their largest elements, and of its columns in the order of R: those of the rows of U and V.
  SIMT_INLINE static int* row_places() { return of<int>(memory.row_places); }
  SIMT_INLINE static int* column_places() { return of<int>(memory.column_places); }

  /// Calls use(i, j) for all i < m and j < n; neighbouring threads have neighbouring i, or j if `by_rows`.
  template <typename Use>
  SIMT_INLINE static void for_elements(int m, int n, bool by_rows, Use use) {
    int const length = by_rows ? n : m, lines = by_rows ? m : n;
    SIMT_LOOP
    for (int line = warp(); line < lines; line += warps) {
      SIMT_LOOP
      for (int along = lane_index(); along < length; along += 32) use(by_rows ? line : along, by_rows ? along : line);
    }
  }

  /// Finds the scale and the order of the rows of the m-by-n matrix in the tile. Returns whether all elements are finite.
  SIMT_INLINE bool measure(int m, int n) {
    constexpr int lines = C.threads() / 64;  // threads of a row
    int const i = thread_index() % 64, first = thread_index() / 64;
    R largest = R(0);
    unsigned key = 0;
    if (i < m) SIMT_UNROLL_BY(2)
    for (int j = first; j < n; j += lines) {
      T const x = tile(i, j);
      key = larger(key, leading_bits_of_parts(x));
      largest = larger(largest, magnitude(real_part(x)));
      if constexpr (is_complex<T>) largest = larger(largest, magnitude(x.im));
    }
    of<int>(memory.keys)[thread_index()] = static_cast<int>(key);
    unsigned const most = largest_of_warp(key);
    SIMT_UNROLL
    for (int distance = 16; distance > 0; distance /= 2) largest = larger(largest, shuffle_xor(largest, distance));
    if (lane_index() == 0) {
      of<int>(memory.of_warps)[warp()] = static_cast<int>(most);
      of<R>(memory.of_warps + 8 * warps)[warp()] = largest;
    }
    sync_block();
    auto const key_of = [&](int row) {
      unsigned found = 0;
      SIMT_UNROLL
      for (int l = 0; l < lines; ++l) found = larger(found, static_cast<unsigned>(of<int>(memory.keys)[row + 64 * l]));
      return found;
    };
    if (thread_index() < m) {
      unsigned const own = key_of(thread_index());
      int rank = 0;
      SIMT_UNROLL_BY(2)
      for (int k = 0; k < m; ++k) {
        unsigned const other = key_of(k);
        rank += other > own || (other == own && k < thread_index()) ? 1 : 0;
      }
      row_order()[rank] = thread_index();
      row_places()[thread_index()] = rank;
    } else if (thread_index() < size) {
      row_order()[thread_index()] = thread_index();
    }
    unsigned top = 0;
    SIMT_UNROLL
    for (int w = 0; w < warps; ++w) {
      top = larger(top, static_cast<unsigned>(of<int>(memory.of_warps)[w]));
      largest = larger(largest, of<R>(memory.of_warps + 8 * warps)[w]);
    }
    sync_block();
    bool const finite = top < leading_bits_of_power<R>(exponent_bias<R> + 1);
    if (finite) scale = SvdScale<R>(largest);
    return finite;
  }

  /// Factors P A = Q R for the scaled matrix, or a zero one. `conjugated`: the tile has conj(A).
  SIMT_INLINE void factor(int m, int n, bool conjugated, bool zero) {
    int const j = column();
    for_elements(size, size, false, [&](int i, int c) {
      T const x = tile(i, c);
      tile(i, c) = i < m && c < n && !zero ? scale.scaled(conjugate_if(conjugated, x)) : from_real<T>(0);
    });
    sync_block();
    T a[held][per_chunk];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) a[r][e] = tile(row_order()[row(r, e)], smaller(j, size - 1));
    }
    R norm = sum_of_column<R>([&](int r, int e, R sum) { return add_square(a[r][e], sum); }), norm_before = norm;
    bool left = j < n;
    sync_block();
    SIMT_LOOP
    for (int k = 0; k < n; ++k) {
      int* const of_warps = of<int>(memory.of_warps) + k % 2 * warps;
      unsigned const key = largest_of_warp(left ? (leading_bits(bits_of(norm)) & ~127u) | static_cast<unsigned>(64 - j) : 0);
      if (lane_index() == 0) of_warps[warp()] = static_cast<int>(key);
      sync_block();
      unsigned best = 0;
      SIMT_UNROLL
      for (int w = 0; w < warps; ++w) best = larger(best, static_cast<unsigned>(of_warps[w]));
      bool const is_pivot = j == 64 - static_cast<int>(best & 127);
      T* const v = vector(k);
      if (is_pivot) {
        left = false;
        for_chunks_from(k, [&](int r) {
          Chunked<T> x;
          SIMT_UNROLL
          for (int e = 0; e < per_chunk; ++e) x.x[e] = row(r, e) >= k ? a[r][e] : from_real<T>(0);
          store_chunk(v + row(r, 0), x.chunk);
        });
      }
      sync_block();
      T products[classes][halves];
      R squares[classes][halves];
      SIMT_UNROLL
      for (int s = 0; s < classes; ++s) {
        SIMT_UNROLL
        for (int e = 0; e < halves; ++e) {
          products[s][e] = from_real<T>(0);
          squares[s][e] = R(0);
        }
      }
      T head_of_column = from_real<T>(0);
      for_chunks_from(k, [&](int r) {
        Chunked<T> const x(load_chunk(v + row(r, 0)));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) {
          T& product = products[r % classes][e % halves];
          product = conjugate_multiply_add(x.x[e], a[r][e], product);
          R& square = squares[r % classes][e % halves];
          square = add_square(x.x[e], square);
        }
      });
      SIMT_UNROLL
      for (int first = 0; first < held; first += group) {
        if (k < first * per_chunk * split || k >= (first + group) * per_chunk * split) continue;
        SIMT_UNROLL
        for (int r = first; r < first + group; ++r) {
          SIMT_UNROLL
          for (int e = 0; e < per_chunk; ++e) head_of_column = choose(row(r, e) == k ? ~0u : 0u, a[r][e], head_of_column);
        }
      }
      SIMT_UNROLL
      for (int distance = split / 2; distance > 0; distance /= 2) head_of_column = head_of_column + shuffle_xor(head_of_column, distance);
      T product = sum_of_classes(products);
      R const square = sum_of_classes(squares);
      T const head = v[k];
      bool const reflects = square >= svd_least_square<R>;
      T beta = from_real<T>(0);
      R factor = R(0);
      if (reflects) {
        R const length = square_root(square), modulus_of_head = modulus(head);
        T const direction = modulus_of_head == R(0) ? from_real<T>(1)
                            : is_complex<T>         ? sign(head)
                                                    : from_real<T>(copy_sign(R(1), real_part(head)));
        beta = -length * direction;
        factor = reciprocal(length * (length + modulus_of_head));
      }
      product = factor * subtract_product(product, conjugate(beta), head_of_column);
      T r_of_column = subtract_product(head_of_column, product, head - beta);
      if (is_pivot && reflects) r_of_column = beta;
      if (!left && !is_pivot) r_of_column = from_real<T>(0);
      if (part_of_column() == 0) {
        if (j < size) home(k)[j] = conjugate(r_of_column);
        if (is_pivot) {
          pivots()[k] = j;
          column_places()[j] = k;
          of<T>(memory.diagonal)[k] = r_of_column;
          of<T>(memory.heads)[k] = reflects ? head - beta : head;
          of<R>(memory.factors)[k] = factor;
        }
      }
      norm -= square_of(r_of_column);
      bool const computes = left && norm < power_of_two<R, -10, -10> * norm_before;  // a norm anew, since most of it is gone
      for_chunks_from(k, [&](int r) {
        Chunked<T> const x(load_chunk(v + row(r, 0)));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) a[r][e] = subtract_product(a[r][e], x.x[e], product);  // wrong in row k, which is done
      });
      if (svd_any(computes)) {
        R const sum = sum_of_column<R>([&](int r, int e, R before) { return row(r, e) > k ? add_square(a[r][e], before) : before; });
        if (computes) norm = norm_before = sum;
      }
    }
    sync_block();
    SIMT_LOOP
    for (int k = warp(); k < (n + 7) / 8 * 8; k += warps) {  // R, and zeros where for_chunks_from goes beyond
      SIMT_LOOP
      for (int l = lane_index(); l < (k < n ? k + 1 : size); l += 32)
        vector(k)[l] = k >= n ? from_real<T>(0) : l == k ? of<T>(memory.heads)[k] : conjugate(home(l)[pivots()[k]]);
    }
  }

  /// Makes the n columns of R^H orthogonal. Returns whether that converged.
  SIMT_INLINE bool iterate(int n) {
    SIMT_UNROLL
    for (int x = 0; x < 2; ++x) {
      int const c = 2 * pair() + x;
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) {
        int const i = row_of_pair(r);
        w_[x][r] = c < n && i < n ? home(c)[pivots()[i]] : from_real<T>(0);
      }
    }
    sync_block();
    bool done = n <= 1;
    SIMT_LOOP
    for (int sweep = 0; sweep < most_svd_sweeps && !done; ++sweep) {
      SIMT_UNROLL
      for (int x = 0; x < 2; ++x) {
        R const sum = squares_of(w_[x]);
        square_[x] = sum >= svd_least_square<R> ? sum : R(0);
        weight_[x] = R(1);
      }
      SweepState state;
      SIMT_LOOP
      for (int level = 0; level <= levels; ++level) {
        int const count = (n + (2 << level) - 1) >> (level + 1);
        int const place = pair() >> level, next = place + 1 == count ? 0 : place + 1;
        int const source = pair() + (place < count ? (next - place) * (1 << level) : 0);
        SIMT_LOOP
        for (int round = 0; round < count; ++round) {
          rotate(state);
          move(source, w_[1], square_[1], weight_[1]);
        }
        if (level < levels) {
          // The even columns of two pairs make a pair of the next level, and the odd ones another.
          bool const upper = (pair() >> level & 1) != 0;
          SIMT_UNROLL
          for (int r = 0; r < rows; ++r) exchange_if(upper, w_[0][r], w_[1][r]);
          exchange_if(upper, square_[0], square_[1]);
          exchange_if(upper, weight_[0], weight_[1]);
          move(pair() ^ 1 << level, w_[1], square_[1], weight_[1]);
          SIMT_UNROLL
          for (int r = 0; r < rows; ++r) exchange_if(upper, w_[0][r], w_[1][r]);
          exchange_if(upper, square_[0], square_[1]);
          exchange_if(upper, weight_[0], weight_[1]);
        }
      }
      SIMT_UNROLL
      for (int x = 0; x < 2; ++x) {
        R const scaling = square_root(weight_[x]);
        SIMT_UNROLL
        for (int r = 0; r < rows; ++r) w_[x][r] = scaling * w_[x][r];
      }
      // Columns return to where they were before the first level.
      sync_block();
      SIMT_UNROLL
      for (int x = 0; x < 2; ++x) store(home(pair() + x * SvdBlock::pairs), w_[x]);
      int* const of_warps = of<int>(memory.of_warps);
      unsigned const cosine = largest_of_warp(ordered(state.cosine)), turn = largest_of_warp(ordered(state.turn));
      if (lane_index() == 0) {
        of_warps[warp()] = static_cast<int>(cosine);
        of_warps[warps + warp()] = static_cast<int>(turn);
      }
      sync_block();
      SIMT_UNROLL
      for (int x = 0; x < 2; ++x) load(home(2 * pair() + x), w_[x]);
      SIMT_UNROLL
      for (int w = 0; w < warps; ++w) {
        state.cosine = larger(state.cosine, static_cast<int>(static_cast<unsigned>(of_warps[w]) ^ 0x80000000u));
        state.turn = larger(state.turn, static_cast<int>(static_cast<unsigned>(of_warps[warps + w]) ^ 0x80000000u));
      }
      done = state.template is_last<R>(n);
      sync_block();
    }
    return done;
  }

  /// Computes the singular values, in descending order. The tile becomes V, with zeros as columns where singular values are zero.
  /// Returns the number of others.
  SIMT_INLINE int finish(int n) {
    R length[2];
    SIMT_UNROLL
    for (int x = 0; x < 2; ++x) {
      R const sum = squares_of(w_[x]);
      length[x] = square_root(sum);
      if (svd_any(sum < svd_least_square<R>)) {
        constexpr R up = power_of_two<R, 600, 100>;
        R const of_scaled = (R(1) / up) * square_root(sum_of_rows<R>([&](int r, R before) { return add_square(up * w_[x][r], before); }));
        if (sum < svd_least_square<R>) length[x] = of_scaled;
      }
      if (part() == 0) value(2 * pair() + x) = length[x];
    }
    sync_block();
    int rank = 0, mine[2] = {0, 0};
    SIMT_UNROLL_BY(2)
    for (int k = 0; k < n; ++k) {
      R const other = value(k);
      rank += other >= svd_least<R> ? 1 : 0;
      SIMT_UNROLL
      for (int x = 0; x < 2; ++x) mine[x] += other > length[x] || (other == length[x] && k < 2 * pair() + x) ? 1 : 0;
    }
    sync_block();
    SIMT_UNROLL
    for (int x = 0; x < 2; ++x) {
      if (2 * pair() + x >= n) continue;
      if (part() == 0) value(mine[x]) = length[x];
      R const inverse = length[x] >= svd_least<R> ? reciprocal(length[x]) : R(0);
      SIMT_UNROLL
      for (int r = 0; r < rows; ++r) tile(row_of_pair(r), mine[x]) = inverse * w_[x][r] + from_real<T>(0);  // no -0, see apply_if
    }
    sync_block();
    return rank;
  }

  /// The tile, which has V, becomes U with `columns` columns.
  SIMT_INLINE void form_u(int n, int columns, int rank) {
    int const c = column();
    bool inaccurate = false;
    R const sum = find_column_of_j(n, c);
    R const error = R(12 * n) * power_of_two<R, -53, -24>;
    if (c < rank && !(magnitude(sum - R(1)) <= error)) inaccurate = true;
    R const normalizing = multiply_add(R(-0.5), sum, R(1.5));
    sync_warp();
    SIMT_LOOP
    for (int i = part_of_column(); i < size && c < size; i += split)
      tile(i, c) = c < n && i < n ? normalizing * tile(i, c) : from_real<T>(R(i == c ? 1 : 0));
    int* const of_warps = of<int>(memory.of_warps);
    bool const some_inaccurate = svd_any(inaccurate);
    if (lane_index() == 0) of_warps[warp()] = some_inaccurate ? 1 : 0;
    sync_block();
    inaccurate = false;
    SIMT_UNROLL
    for (int w = 0; w < warps; ++w) inaccurate = inaccurate || of_warps[w] != 0;
    complete(n, inaccurate ? 0 : rank, rank, n);
    SIMT_LOOP
    for (int k = warp(); k < n; k += warps) {
      int const from = k / 8 * 8;
      if (from + lane_index() < k) vector(k)[from + lane_index()] = from_real<T>(0);
    }
    T x[held][per_chunk];
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) x[r][e] = tile(row(r, e), smaller(c, size - 1));
    }
    sync_block();
    SIMT_LOOP
    for (int k = n - 1; k >= 0; --k) {
      T products[classes][halves];
      SIMT_UNROLL
      for (int s = 0; s < classes; ++s) {
        SIMT_UNROLL
        for (int e = 0; e < halves; ++e) products[s][e] = from_real<T>(0);
      }
      for_chunks_from(k, [&](int r) {
        Chunked<T> const v(load_chunk(vector(k) + row(r, 0)));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) {
          T& product = products[r % classes][e % halves];
          product = conjugate_multiply_add(v.x[e], x[r][e], product);
        }
      });
      T const product = of<R>(memory.factors)[k] * sum_of_classes(products);
      for_chunks_from(k, [&](int r) {
        Chunked<T> const v(load_chunk(vector(k) + row(r, 0)));
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) x[r][e] = subtract_product(x[r][e], v.x[e], product);
      });
    }
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e)
        if (c < columns) tile(row(r, e), c) = x[r][e] + from_real<T>(0);
    }
    sync_block();
  }

  /// See complete_basis.
  SIMT_OUTLINE static void complete(int of_rows, int first, int rank, int last) {
    if (first >= last) return;
    sync_block();
    if (warp() == 0)
      complete_basis<size, 32>([](int i, int j) -> T& { return tile(i, j); }, of_rows, first, rank, last, lane_index(),
                               of<T>(memory.scratch));
    sync_block();
  }

 private:
  T w_[2][rows];  ///< of two columns of R^H
  R square_[2];   ///< squared lengths of the columns
  R weight_[2];   ///< the columns are w times their roots
  int turn_ = 0;  ///< of the two buffers

  static constexpr int classes = 4 / split, halves = per_chunk > 1 ? 2 : 1;  ///< of the sums over a column

  template <typename X>
  SIMT_INLINE static X* of(int at) {
    return reinterpret_cast<X*>(shared_memory() + at);
  }
  SIMT_INLINE static int warp() { return thread_index() / 32; }
  SIMT_INLINE static T* elements() { return of<T>(0); }
  SIMT_INLINE static int* row_order() { return of<int>(memory.row_order); }
  SIMT_INLINE static int* pivots() { return of<int>(memory.pivots); }
  SIMT_INLINE static T* vector(int k) { return of<T>(memory.vectors) + k * size; }
  /// A column of R^H between the rotations; the columns that move are in the same memory.
  SIMT_INLINE static T* home(int c) { return elements() + c * memory.slot_line; }

  SIMT_INLINE static int column() { return thread_index() / split; }
  SIMT_INLINE static int part_of_column() { return thread_index() % split; }
  SIMT_INLINE static int row(int r, int e) { return (part_of_column() + r * split) * per_chunk + e; }
  SIMT_INLINE static int pair() { return thread_index() / parts; }
  SIMT_INLINE static int part() { return thread_index() % parts; }
  SIMT_INLINE static int row_of_pair(int r) { return (part() + r / per_chunk * parts) * per_chunk + r % per_chunk; }
  SIMT_INLINE static unsigned ordered(int x) { return static_cast<unsigned>(x) ^ 0x80000000u; }

  /// Calls use(r) for the chunks of the group that has row k, and those below.
  template <typename Use>
  SIMT_INLINE static void for_chunks_from(int k, Use use) {
    SIMT_UNROLL
    for (int first = 0; first < held; first += group) {
      if (k >= (first + group) * per_chunk * split) continue;
      SIMT_UNROLL
      for (int r = first; r < first + group; ++r) use(r);
    }
  }

  // Sums over a column are formed in an order that does not depend on the number of threads: of chunks 0, 4, 8, ... (while columns are
  // rotated 0, 8, 16, ...), of chunks 1, 5, 9, ... and so on.
  template <int threads, int count, int sums_of_chunk, typename X>
  SIMT_INLINE static X sum_over(X const (&sums)[count][sums_of_chunk]) {
    X sum[count];
    SIMT_UNROLL
    for (int s = 0; s < count; ++s) {
      if constexpr (sums_of_chunk == 1)
        sum[s] = sums[s][0];
      else
        sum[s] = sums[s][0] + sums[s][1];
    }
    SIMT_UNROLL
    for (int distance = count / 2; distance > 0; distance /= 2) {
      SIMT_UNROLL
      for (int s = 0; s < distance; ++s) sum[s] = sum[s] + sum[s + distance];
    }
    SIMT_UNROLL
    for (int distance = threads / 2; distance > 0; distance /= 2) sum[0] = sum[0] + shuffle_xor(sum[0], distance);
    return sum[0];
  }
  template <typename X>
  SIMT_INLINE static X sum_of_classes(X const (&sums)[classes][halves]) {
    return sum_over<split>(sums);
  }
  template <typename X, typename Add>
  SIMT_INLINE static X sum_of_column(Add add) {
    X sums[classes][halves]{};
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) sums[r % classes][e % halves] = add(r, e, sums[r % classes][e % halves]);
    }
    return sum_over<split>(sums);
  }
  /// Sums over a column under rotation; add(r, sum).
  template <typename X, typename Add>
  SIMT_INLINE static X sum_of_rows(Add add) {
    constexpr int count = 8 / parts;
    X sums[count][halves]{};
    SIMT_UNROLL
    for (int r = 0; r < rows; ++r) {
      X& sum = sums[r / per_chunk % count][r % halves];
      sum = add(r, sum);
    }
    return sum_over<parts>(sums);
  }
  SIMT_INLINE static R squares_of(T const (&x)[rows]) {
    return sum_of_rows<R>([&](int r, R sum) { return add_square(x[r], sum); });
  }

  SIMT_INLINE static void store(T* to, T const (&x)[rows]) {
    SIMT_UNROLL
    for (int r = 0; r < rows; r += per_chunk) {
      Chunked<T> chunk;
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) chunk.x[e] = x[r + e];
      store_chunk(to + row_of_pair(r), chunk.chunk);
    }
  }
  SIMT_INLINE static void load(T const* from, T (&x)[rows]) {
    SIMT_UNROLL
    for (int r = 0; r < rows; r += per_chunk) {
      Chunked<T> const chunk(load_chunk(from + row_of_pair(r)));
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) x[r + e] = chunk.x[e];
    }
  }

  SIMT_INLINE void rotate(SweepState& state) {
    T const product = sum_of_rows<T>([&](int r, T sum) { return conjugate_multiply_add(w_[0][r], w_[1][r], sum); });
    ColumnRotation<T> const rotation(square_[0], square_[1], product, weight_[0], weight_[1]);
    if (rotation.rotates) state.add(rotation);
    rotation.update_if(rotation.rotates, square_[0], square_[1], weight_[0], weight_[1]);
    rotation.apply_if(rotation.rotates, w_[0], w_[1]);
  }

  /// Replaces a column by that of the pair `source`.
  SIMT_INLINE void move(int source, T (&x)[rows], R& square, R& weight) {
    int const buffer = turn_ * SvdBlock::pairs;
    turn_ ^= 1;
    R* const moved = of<R>(memory.moved) + 2 * buffer;
    store(home(buffer + pair()), x);
    if (part() == 0) {
      moved[2 * pair()] = square;
      moved[2 * pair() + 1] = weight;
    }
    sync_block();
    load(home(buffer + source), x);
    square = moved[2 * source];
    weight = moved[2 * source + 1];
  }

  /// Replaces a column of V by that of J, see SvdAcrossLanes; returns its squared length. Row k of R serves both: for a product with V if
  /// J(k) is found so, and else for what J(k) contributes to the sums of later substitutions.
  SIMT_INLINE static R find_column_of_j(int n, int c) {
    bool const exists = c < n;  // all lanes take part in the sums
    R const s = value(c), inverse = s >= svd_least<R> ? reciprocal(s) : R(0);
    T v[held][per_chunk], substituted[held][per_chunk];  // V from row k on, after zeros; sums for the rows from k on
    SIMT_UNROLL
    for (int r = 0; r < held; ++r) {
      SIMT_UNROLL
      for (int e = 0; e < per_chunk; ++e) {
        v[r][e] = exists ? tile(row(r, e), c) : from_real<T>(0);
        substituted[r][e] = from_real<T>(0);
      }
    }
    sync_warp();
    R square = R(0);
    bool substitutes = true;
    SIMT_LOOP
    for (int k = 0; k < n; ++k) {
      T const r_kk = of<T>(memory.diagonal)[k];
      T mine = from_real<T>(0), sum = mine;
      SIMT_UNROLL
      for (int first = 0; first < held; first += group) {
        if (k < first * per_chunk * split || k >= (first + group) * per_chunk * split) continue;
        SIMT_UNROLL
        for (int r = first; r < first + group; ++r) {
          SIMT_UNROLL
          for (int e = 0; e < per_chunk; ++e) {
            unsigned const here = row(r, e) == k ? ~0u : 0u;
            mine = choose(here, v[r][e], mine);
            sum = choose(here, substituted[r][e], sum);
            v[r][e] = choose(here, from_real<T>(0), v[r][e]);
          }
        }
      }
      SIMT_UNROLL
      for (int distance = split / 2; distance > 0; distance /= 2) {
        mine = mine + shuffle_xor(mine, distance);
        sum = sum + shuffle_xor(sum, distance);
      }
      substitutes = substitutes && modulus(r_kk) > s;
      T result = reciprocal(square_of(r_kk)) * (r_kk * (s * mine - sum));
      if (svd_any(exists && !substitutes)) {
        T products[classes][halves];
        SIMT_UNROLL
        for (int q = 0; q < classes; ++q) {
          SIMT_UNROLL
          for (int e = 0; e < halves; ++e) products[q][e] = from_real<T>(0);
        }
        for_rows_of_r(k, n, [&](int r, int e, T x) {
          T& product = products[r % classes][e % halves];
          product = multiply_add(x, v[r][e], product);
        });
        T const by_product = inverse * multiply_add(r_kk, mine, sum_of_classes(products));
        if (!substitutes) result = by_product;
      }
      if (svd_any(exists && substitutes))
        for_rows_of_r(k, n, [&](int r, int e, T x) { substituted[r][e] = conjugate_multiply_add(x, result, substituted[r][e]); });
      if (part_of_column() == 0 && exists) tile(k, c) = result;
      square = add_square(result, square);
    }
    return square;
  }
  /// Calls use(r, e, R(k, l)) for the rows l = row(r, e) > k of a column of V, and, with another number, for some that are done.
  template <typename Use>
  SIMT_INLINE static void for_rows_of_r(int k, int n, Use use) {
    SIMT_UNROLL
    for (int first = 0; first < held; first += group) {
      if (k >= (first + group) * per_chunk * split || first * per_chunk * split >= n) continue;
      SIMT_UNROLL
      for (int r = first; r < first + group; ++r) {
        SIMT_UNROLL
        for (int e = 0; e < per_chunk; ++e) use(r, e, vector(row(r, e))[k]);
      }
    }
  }
};

}  // namespace myriad::simt

namespace myriad {

/// Launch: any number of blocks of C.threads() threads with SvdBlockMemory(sizeof(T), sizeof(Real<T>), C).bytes of dynamic shared memory.
template <typename T, SvdBlock C>
SIMT_KERNEL void SIMT_BOUNDS(C.threads(), C.blocks_per_sm) svd_block(SvdBlockArguments<T> const args) {
  using namespace simt;
  using R = simt::Real<T>;
  SvdInBlock<T, C> svd;
  for (Index b = block_index(); b < args.a.count; b += block_count()) {
    int const rows = args.a.rows_of(b), cols = args.a.cols_of(b), m = larger(rows, cols), n = smaller(rows, cols);
    if (m <= args.above || m > args.upto) continue;
    bool const wide = rows < cols;
    auto const lies_by_rows = [&](Matrices<T> const& x) {
      Index const row_step = x.row_stride_of(b), col_step = x.col_stride_of(b);
      return (col_step < 0 ? -col_step : col_step) < (row_step < 0 ? -row_step : row_step);
    };
    {
      T const* const from = args.a.at(b, 0, 0);
      Index const row_stride = args.a.row_stride_of(b), col_stride = args.a.col_stride_of(b);
      Index const down = wide ? col_stride : row_stride, right = wide ? row_stride : col_stride;
      svd.for_elements(m, n, lies_by_rows(args.a) != wide,
                       [&](int i, int j) { copy_async<T>(&svd.tile(i, j), from + i * down + j * right); });
    }
    wait_copies();
    sync_block();
    bool const finite = svd.measure(m, n);
    svd.factor(m, n, args.a.conjugated != wide, !finite);
    sync_block();
    bool const converged = svd.iterate(n);
    int const rank = svd.finish(n);
    SIMT_LOOP
    for (int j = thread_index(); j < n; j += C.threads())
      store_global(args.s.at(b, j, 0), finite ? svd.scale.back(svd.value(j)) : R(quiet_nan()));
    // `left`: the tile has U of the matrix that is decomposed.
    auto const store = [&](bool left) {
      bool const is_u = left != wide;
      Matrices<T> const& out = args.out[is_u ? 0 : 1];
      if (!out.given()) return;
      bool const adjoint = !is_u, conjugates = adjoint != out.conjugated;
      Index const row_stride = out.row_stride_of(b), col_stride = out.col_stride_of(b);
      Index const down = adjoint ? col_stride : row_stride, right = adjoint ? row_stride : col_stride;
      T* const to = out.at(b, 0, 0);
      int const* const places = left ? svd.row_places() : svd.column_places();
      svd.for_elements(left ? m : n, left && args.full ? m : n, lies_by_rows(out) != adjoint, [&](int i, int j) {
        store_global(to + i * down + j * right, finite ? conjugate_if(conjugates, svd.tile(places[i], j)) : not_a_number<T>());
      });
    };
    svd.complete(n, rank, rank, n);
    store(false);
    if (args.out[wide ? 1 : 0].given()) {
      sync_block();
      svd.form_u(n, args.full ? m : n, rank);
      store(true);
    }
    if (args.info && thread_index() == 0) args.info[b] = finite && converged ? 0 : n;
    sync_block();
  }
}

}  // namespace myriad
