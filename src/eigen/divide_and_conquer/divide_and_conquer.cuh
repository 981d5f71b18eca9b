#pragma once
/// The symmetric tridiagonal eigenproblem with vectors by divide and conquer (Cuppen 1981, Gu and Eisenstat 1995), by one block. The matrix
/// is split into leaves, solved by implicit QL with eight lanes each. They are merged in pairs, level by level, all pairs of a level in
/// parallel.
///
/// A merge sorts the poles, deflates those that are negligible or nearly equal, finds roots with four lanes each
/// (eigen/divide_and_conquer/secular.cuh), and multiplies the vectors by those of the merge, whose elements are computed on the fly. The
/// new vectors overwrite the old ones: a warp has eight of them, half of the rows at a time, in registers.

#include "eigen/divide_and_conquer/divide_memory.cuh"
#include "eigen/divide_and_conquer/secular.cuh"
#include "eigen/eigen_rows.cuh"

namespace myriad::simt {

/// `q(i, j)`: element (i, j) of the vectors, of up to N rows and columns, in shared memory; columns are contiguous.
template <typename R, int N, int threads, typename Q>
struct DivideAndConquer {
  static constexpr int warps = threads / warp_size;
  static_assert(threads == lanes_of_root * N && N % 32 == 0);  // four threads per root, eight columns per warp

  Q q;
  DivideTree tree;
  R* d;  ///< diagonal; at the end the eigenvalue of each column
  R* e;  ///< off-diagonal; overwritten

 private:
  static constexpr int columns_of_warp = 8;
  static constexpr int chunk = 16;  ///< poles that a warp takes at a time
  static_assert(N <= DivideTree::most_rows * DivideMemory::most_leaves);

  R* poles;  ///< of each problem, at its first row
  R* z;
  R* offsets;         ///< of roots
  R* scales;          ///< of vectors
  R* tears;           ///< off-diagonal elements at the first row of each leaf
  int* counts;        ///< number of poles of each problem after deflation
  int* listed;        ///< number of poles with elements in the upper half, and in the lower half
  unsigned* origins;  ///< of a pole: its column, and two bits for the halves in which that has elements
  unsigned short* pole_of_column;
  unsigned short* lists;  ///< poles of each half, in the order of columns
  R tolerance = R(0);     ///< negligible relative to the matrix
  static constexpr unsigned short no_pole = 0xffff;

  int const thread = thread_index();
  int const lane = lane_index();
  int const warp = thread / warp_size;

  struct Problem {
    int m, begin, middle, end;
    SIMT_INLINE int half_begin(int half) const { return half == 0 ? begin : middle; }
    SIMT_INLINE int half_end(int half) const { return half == 0 ? middle : end; }
  };
  SIMT_INLINE Problem problem(int level, int m) const {
    return {m, tree.begin(level, m), tree.begin(level - 1, 2 * m + 1), tree.begin(level, m + 1)};
  }
  SIMT_INLINE R tear(int level, int m) const { return tears[(2 * m + 1) << (level - 1)]; }
  SIMT_INLINE R rho(int level, int m) const { return R(2) * magnitude(tear(level, m)); }
  SIMT_INLINE int column_of(unsigned origin) const { return static_cast<int>(origin & 0xffff); }
  SIMT_INLINE unsigned halves_of(unsigned origin) const { return origin >> 16; }

 public:
  /// `memory`: DivideMemory(sizeof(R), rows).bytes, aligned to 16 bytes.
  SIMT_INLINE DivideAndConquer(Q vectors, int rows, R* diagonal, R* beside, char* memory) : q(vectors), tree(rows), d(diagonal), e(beside) {
    tears = reinterpret_cast<R*>(memory);
    poles = tears + DivideMemory::most_leaves;
    z = poles + rows;
    offsets = z + rows;
    scales = beside;  // overwritten by then
    counts = reinterpret_cast<int*>(offsets + rows);
    listed = counts + DivideMemory::most_leaves;
    origins = reinterpret_cast<unsigned*>(listed + 2 * DivideMemory::most_leaves);
    pole_of_column = reinterpret_cast<unsigned short*>(origins + rows);
    lists = pole_of_column + rows;
  }

  /// All threads of the block call this; it ends with a barrier. Returns 0, or the number of off-diagonal elements of leaves that did not
  /// become negligible. `nothing`: tolerance of a larger matrix that this one is a part of.
  template <int most_sweeps>
  SIMT_INLINE int solve(R nothing = R(0)) {
    tear_apart(nothing);
    int const info = solve_leaves<most_sweeps>();
    SIMT_LOOP
    for (int level = 1; level <= tree.levels; ++level) {
      sort(level);
      sync_block();
      for (int m = warp; m < tree.problems(level); m += warps) deflate(level, problem(level, m));
      sync_block();
      find_roots(level);
      multiply(level);
    }
    return info;
  }

 private:
  /// T = diag(T_1, T_2, ...) + a rank-one matrix per tear, with elements of modulus |tear|.
  SIMT_INLINE void tear_apart(R nothing) {
    constexpr R u = power_of_two<R, -53, -24>;
    R top = R(0);
    for (int i = lane; i < tree.n; i += warp_size) top = larger(top, larger(magnitude(d[i]), i + 1 < tree.n ? magnitude(e[i]) : R(0)));
    SIMT_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) top = larger(top, shuffle_xor(top, mask));
    tolerance = larger(R(8) * u * top, nothing);
    sync_block();
    for (int j = warp; j < tree.n; j += warps)
      for (int i = lane; i < tree.n; i += warp_size) q(i, j) = R(i == j ? 1 : 0);
    int const leaf = thread;
    if (leaf > 0 && leaf < tree.problems(0)) {
      int const first = tree.begin(0, leaf);
      R const beside = e[first - 1];
      tears[leaf] = beside;
      d[first - 1] = d[first - 1] - magnitude(beside);
    }
    sync_block();
    if (leaf > 0 && leaf < tree.problems(0)) {
      int const first = tree.begin(0, leaf);
      d[first] = d[first] - magnitude(tears[leaf]);
    }
    sync_block();
  }

  template <int most_sweeps>
  SIMT_INLINE int solve_leaves() {
    constexpr int lanes = 8;
    for (int of_warp = warp * (warp_size / lanes); of_warp < tree.problems(0); of_warp += threads / lanes) {
      int const leaf = of_warp + lane / lanes;
      bool const is = leaf < tree.problems(0);  // else a problem without rows
      int const first = is ? tree.begin(0, leaf) : 0, rows = is ? tree.begin(0, leaf + 1) - first : 0;
      auto const at = [&](int i, int j) -> R& { return q(first + i, first + j); };
      EigenAcrossLanes<R, DivideTree::most_rows, lanes, true, decltype(at)> eigen(at, rows, lane % lanes, reinterpret_cast<char*>(poles));
      eigen.d = d + first;
      eigen.e = e + first;
      eigen.template iterate<true, most_sweeps>();
      if (is && lane % lanes == 0) counts[leaf] = eigen.info;
    }
    sync_block();
    int info = 0;
    for (int leaf = 0; leaf < tree.problems(0); ++leaf) info += counts[leaf];
    return info;
  }

  /// Sorts the values of both halves as poles, ascending. z is the last row of the upper vectors and the first row of the lower ones.
  SIMT_INLINE void sort(int level) {
    int const p = thread / lanes_of_root, part = thread % lanes_of_root;
    bool const is = p < tree.n;
    Problem const of = problem(level, is ? tree.problem_of(level, p) : 0);
    R const value = d[is ? p : 0];
    int place = 0;
    SIMT_UNROLL_BY(4)
    for (int other = of.begin + part; other < of.end; other += lanes_of_root)
      place += d[other] < value || (d[other] == value && other < p) ? 1 : 0;
    place += shuffle_xor(place, 1);
    place += shuffle_xor(place, 2);
    if (!is || part != 0) return;
    bool const upper = p < of.middle;
    R const element = upper ? q(of.middle - 1, p) : q(of.middle, p);
    constexpr R root_of_half = R(0.70710678118654752440);
    poles[of.begin + place] = value;
    z[of.begin + place] = root_of_half * (!upper && tear(level, of.m) < R(0) ? -element : element);
    origins[of.begin + place] = static_cast<unsigned>(p) | (upper ? 1u : 2u) << 16;
    pole_of_column[p] = no_pole;
  }

  /// Deflation, by a warp (LAPACK's laed2): removes poles with a negligible element of z and, of two nearly equal poles, one, after a
  /// rotation that makes its element zero. Their vectors are those of the merge up to rounding. The remaining poles move to the front.
  SIMT_INLINE void deflate(int level, Problem const& of) {
    int const size = of.end - of.begin;
    R const strength = rho(level, of.m);
    int count = 0;
    R held_pole = R(0), held_z = R(0);
    unsigned held_origin = 0;
    bool holds = false;
    auto const keep = [&] {
      if (lane == 0) {
        poles[of.begin + count] = held_pole;
        z[of.begin + count] = held_z;
        origins[of.begin + count] = held_origin;
        pole_of_column[column_of(held_origin)] = static_cast<unsigned short>(count);
      }
      ++count;
    };
    SIMT_LOOP
    for (int first = 0; first < size; first += warp_size) {
      int const mine = of.begin + smaller(first + lane, size - 1);
      R const my_pole = poles[mine], my_z = z[mine];
      unsigned const my_origin = origins[mine];
      unsigned candidates =
          ballot(first + lane < size && strength * magnitude(my_z) > tolerance);  // also orders the loads before the writes
      sync_warp();
      SIMT_LOOP
      for (; candidates != 0; candidates &= candidates - 1) {
        int const next = lowest_bit(candidates);
        R pole = shuffle(my_pole, next), element = shuffle(my_z, next);
        unsigned origin = shuffle(my_origin, next);
        if (holds) {
          R const squares = multiply_add(element, element, held_z * held_z), apart = pole - held_pole;
          if (magnitude(apart * element * held_z) <= tolerance * squares) {
            R const scale = reciprocal_square_root(squares);
            R const c = element * scale, s = held_z * scale;
            int const kept = column_of(origin), out = column_of(held_origin);
            for (int i = of.begin + lane; i < of.end; i += warp_size) {
              R const x = q(i, out), y = q(i, kept);
              q(i, out) = multiply_add(c, x, -s * y);
              q(i, kept) = multiply_add(c, y, s * x);
            }
            if (lane == 0) d[out] = multiply_add(apart, s * s, held_pole);
            pole = multiply_add(apart, c * c, held_pole);
            element = squares * scale;
            origin |= held_origin & 0x30000u;
          } else {
            keep();
          }
        }
        held_pole = pole;
        held_z = element;
        held_origin = origin;
        holds = true;
      }
    }
    if (holds) keep();
    sync_warp();
    // Lists the poles with elements in each half, in the order of columns, so that lanes read neighbouring columns without bank conflicts.
    int in_upper = 0, in_lower = 0;
    unsigned short* const upper = lists + of.begin;
    unsigned short* const lower = upper + tree.n;
    SIMT_LOOP
    for (int first = 0; first < size; first += warp_size) {
      unsigned short const pole = pole_of_column[of.begin + smaller(first + lane, size - 1)];
      bool const is = first + lane < size && pole != no_pole;
      unsigned const halves = is ? halves_of(origins[of.begin + pole]) : 0;
      unsigned const with_upper = ballot((halves & 1) != 0), with_lower = ballot((halves & 2) != 0);
      unsigned const before = (1u << lane) - 1;
      if ((halves & 1) != 0) upper[in_upper + count_bits(with_upper & before)] = pole;
      if ((halves & 2) != 0) lower[in_lower + count_bits(with_lower & before)] = pole;
      in_upper += count_bits(with_upper);
      in_lower += count_bits(with_lower);
    }
    if (lane == 0) {
      counts[of.m] = count;
      listed[2 * of.m] = in_upper;
      listed[2 * of.m + 1] = in_lower;
    }
  }

  SIMT_INLINE SecularEquation<R> equation(int level, Problem const& of) const {
    return {poles + of.begin, z + of.begin, counts[of.m], rho(level, of.m)};
  }

  SIMT_INLINE void find_roots(int level) {
    int const p = thread / lanes_of_root, part = thread % lanes_of_root;
    Problem const of = problem(level, p < tree.n ? tree.problem_of(level, p) : 0);
    SecularEquation<R> const secular = equation(level, of);
    bool const is = p < tree.n && p - of.begin < secular.count;
    int const j = is ? p - of.begin : 0;
    R const offset = secular.root(j, is, part);
    if (is && part == 0) offsets[p] = offset;
    sync_block();
    R const element = secular.element_for_roots(offsets + of.begin, j, is, part);
    if (is && part == 0) z[p] = copy_sign(element, z[p]);
    sync_block();
    R const scale = secular.scale_of_vector(j, offset, is, part);
    if (is && part == 0) {
      scales[p] = scale;
      d[column_of(origins[p])] = secular.poles[secular.origin(j, offset)] + offset;
    }
    sync_block();
  }

  /// Sums of a warp for 16 rows and 8 columns: lane 4 g + t has rows g and g + 8, columns 2 t and 2 t + 1.
  using Sums = R[4];

  /// Adds the products of four columns of vectors, of which this lane has column t, with its element (t, g).
  SIMT_INLINE static void add_products(R const* column, int row, int last_row, R element, Sums& sums) {
    int const g = static_cast<int>(unknown(static_cast<unsigned>(lane_index() / 4)));  // saves a register per row for its address
    if constexpr (sizeof(R) == 8) {
      R const of_rows[2] = {column[smaller(row + g, last_row)], column[smaller(row + g + 8, last_row)]};
      multiply_add_16x8x4(of_rows, element, sums);
    } else {
      int const t = lane_index() % 4;
      R const mine[2] = {column[smaller(row + g, last_row)], column[smaller(row + g + 8, last_row)]};
      SIMT_UNROLL
      for (int k = 0; k < 4; ++k) {
        R const upper = shuffle(mine[0], 4 * g + k), lower = shuffle(mine[1], 4 * g + k);
        R const first = shuffle(element, 8 * t + k), second = shuffle(element, 8 * t + 4 + k);
        sums[0] = multiply_add(upper, first, sums[0]);
        sums[1] = multiply_add(upper, second, sums[1]);
        sums[2] = multiply_add(lower, first, sums[2]);
        sums[3] = multiply_add(lower, second, sums[3]);
      }
    }
  }

  /// Computes the vectors of a level from those of the previous level. A warp has eight consecutive roots of a problem.
  SIMT_INLINE void multiply(int level) {
    constexpr int most_tiles = N / 32;  // of 16 rows of half a problem
    int const g = lane / 4, t = lane % 4;
    int const parts = ceil_div(tree.largest(level), columns_of_warp), at_a_time = warps / parts;
    SIMT_LOOP
    for (int first = 0; first < tree.problems(level); first += at_a_time) {
      int const m = first + warp / parts;
      bool const works = warp < at_a_time * parts && m < tree.problems(level);
      Problem const of = problem(level, works ? m : 0);
      int const first_root = warp % parts * columns_of_warp;
      SecularEquation<R> const secular = equation(level, of);
      bool const any = works && first_root < secular.count;
      int const j = any ? smaller(first_root + g, secular.count - 1) : 0;
      R const offset = any ? offsets[of.begin + j] : R(1), scale = any ? scales[of.begin + j] : R(0);
      R const origin_pole = any ? secular.poles[secular.origin(j, offset)] : R(0);
      SIMT_LOOP
      for (int half = 0; half < 2; ++half) {
        int const begin = of.half_begin(half), last_row = of.half_end(half) - 1;
        unsigned short const* const list = lists + half * tree.n + of.begin;
        int const count = any ? listed[2 * of.m + half] : 0;
        Sums sums[most_tiles]{};
        SIMT_LOOP
        for (int pole = 0; pole < count; pole += chunk) {
          SIMT_UNROLL
          for (int s = 0; s < chunk / 4; ++s) {
            int const place = pole + s + 4 * t;  // columns at a distance of four
            int const i = list[smaller(place, count - 1)];
            R const element = scale * secular.z[i] * reciprocal((secular.poles[i] - origin_pole) - offset);
            R const* const column = &q(0, column_of(origins[of.begin + i]));
            SIMT_UNROLL
            for (int r = 0; r < most_tiles; ++r)
              if (begin + 16 * r <= last_row) add_products(column, begin + 16 * r, last_row, place < count ? element : R(0), sums[r]);
          }
        }
        sync_block();
        SIMT_UNROLL
        for (int c = 0; c < 2; ++c) {
          int const root = first_root + 2 * t + c;
          if (!any || root >= secular.count) continue;
          R* const column = &q(0, column_of(origins[of.begin + root]));
          SIMT_UNROLL
          for (int r = 0; r < most_tiles; ++r) {
            int const row = begin + 16 * r + g;
            if (row <= last_row) column[row] = sums[r][c];
            if (row + 8 <= last_row) column[row + 8] = sums[r][2 + c];
          }
        }
      }
      sync_block();
    }
  }
};

}  // namespace myriad::simt
