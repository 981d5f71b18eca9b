#pragma once
/// The eigenproblem of D + rho z z^T, D diagonal and ascending: secular equation and elements of the vectors. Poles may also be squares,
/// as for singular values.
///
/// Four consecutive lanes of a warp, or `lanes`, share a root or a pole. Each takes every fourth term of its sums, so the bits depend only
/// on the number of poles.

#include "simt/types.hpp"

namespace myriad::simt {

inline constexpr int lanes_of_root = 4;
static_assert(warp_size % lanes_of_root == 0);

/// The sum over `lanes` consecutive lanes, the same in all of them.
template <int lanes, typename R>
SIMT_INLINE R sum_of_lanes(R x) {
  SIMT_UNROLL
  for (int mask = 1; mask < lanes; mask *= 2) x = x + shuffle_xor(x, mask);
  return x;
}

/// A root of c x^2 - a x + b = 0 without cancellation: (a - root) / 2c or, if `plus`, (a + root) / 2c.
template <typename R>
SIMT_INLINE R root_of_quadratic(R a, R b, R c, bool plus) {
  R const square = magnitude(multiply_add(a, a, R(-4) * b * c));
  R const root = square > R(0) ? square * reciprocal_square_root(square) : R(0);
  R const signed_root = plus ? root : -root;
  bool const adds = plus == (a >= R(0));
  R const over = adds ? a + signed_root : b + b;
  R const under = adds ? c + c : a - signed_root;
  return over * reciprocal(under);
}

/// Poles that are squares; differences have full relative accuracy.
template <typename R>
struct SquaredPole {
  R root;
  SIMT_INLINE friend R operator-(SquaredPole x, SquaredPole y) { return (x.root - y.root) * (x.root + y.root); }
};
template <typename R>
struct SquaredPoles {
  R const* roots;
  SIMT_INLINE SquaredPole<R> operator[](int i) const { return {roots[i]}; }
};

/// D + rho z z^T with `count` poles D, strictly ascending, no element of z zero, rho > 0. Root j is between poles j and j + 1, the last one
/// behind the last pole. It is represented by its distance from the nearer pole: `offset` > 0 from pole j, < 0 from pole j + 1. So its
/// distance from every pole has full relative accuracy.
template <typename R, int lanes = lanes_of_root, typename Poles = R const*>
struct SecularEquation {
  Poles poles;
  R const* z;
  int count;
  R rho;

  SIMT_INLINE int origin(int j, R offset) const { return offset < R(0) ? j + 1 : j; }

  /// The offset of root j. All lanes of a warp call this; without a root (`is` false) j is arbitrary. `part`: index of the lane in its
  /// root.
  SIMT_INLINE R root(int j, bool is, int part) const {
    constexpr int most_steps = 200;  // usually three or four
    constexpr int steps_at_will = 20;
    constexpr R u = power_of_two<R, -53, -24>;
    bool const last = j + 1 == count;
    // The models' two poles: those next to the root, or the last two.
    int const left = last ? larger(j - 1, 0) : j, right = is && count > 1 ? left + 1 : left;
    R const inverse = is ? reciprocal(rho) : R(0);
    R const z_left = z[left], z_right = z[right];
    R const squares_left = z_left * z_left, squares_right = z_right * z_right;
    R const gap = poles[right] - poles[left];
    R reach = R(0);  // largest distance of the last root from its pole
    for (int i = part; i < count; i += lanes) reach = multiply_add(z[i], z[i], reach);
    reach = rho * sum_of_lanes<lanes>(reach) * (R(1) + R(8) * u);

    // The midpoint of the interval decides which pole is nearer. The start is the root of a model whose other poles contribute as at the
    // midpoint.
    R const middle = R(0.5) * (last ? reach : gap);
    Sums const there = sums(left, poles[j], middle, is, part);
    R const value = inverse + there.terms;
    bool const from_right = last || value <= R(0);
    R const middle_left = (poles[left] - poles[j]) - middle, middle_right = (poles[right] - poles[j]) - middle;
    R const others = value - squares_left * reciprocal(middle_left) - squares_right * reciprocal(middle_right);
    R const both = squares_left + squares_right;
    R offset = root_of_quadratic(from_right ? both - others * gap : multiply_add(others, gap, both),
                                 from_right ? -squares_right * gap : squares_left * gap, others, last);
    R low = last ? (value <= R(0) ? middle : R(0)) : from_right ? -middle : R(0);
    R high = last ? (value <= R(0) ? reach : middle) : from_right ? R(0) : middle;
    if (!(offset > low && offset < high)) offset = multiply_add(R(0.5), high - low, low);
    auto const origin_pole = poles[from_right ? right : left];
    R const pole_left = poles[left] - origin_pole, pole_right = poles[right] - origin_pole;

    bool done = !is || count == 1;
    if (count == 1) offset = rho * squares_left;
    bool weight_is_fixed = true;
    R former = R(0);
    SIMT_LOOP
    for (int step = 0; step < most_steps && ballot(!done) != 0; ++step) {
      Sums const here = sums(left, origin_pole, offset, !done, part);
      R const w = inverse + here.terms, slope = here.slope_left + here.slope_right;
      R const noise = multiply_add(magnitude(offset), slope, multiply_add(R(12), here.sizes, inverse + inverse));
      done |= magnitude(w) <= u * noise;
      if (w < R(0))
        low = larger(low, offset);
      else
        high = smaller(high, offset);
      // Models with two poles that match value and slope: either the weight of the nearer pole is exact, or each pole represents all on its
      // side.
      weight_is_fixed = weight_is_fixed != (w * former > R(0) && magnitude(w) > R(0.1) * magnitude(former));
      former = w;
      R const distance_left = pole_left - offset, distance_right = pole_right - offset;
      R c;
      if (!weight_is_fixed) {
        c = w - distance_left * here.slope_left - distance_right * here.slope_right;
      } else if (from_right) {
        R const ratio = z_right * reciprocal(distance_right);
        c = w - distance_left * slope - gap * ratio * ratio;
      } else {
        R const ratio = z_left * reciprocal(distance_left);
        c = w - distance_right * slope + gap * ratio * ratio;
      }
      R const product = distance_left * distance_right;
      R change = root_of_quadratic(multiply_add(distance_left + distance_right, w, -product * slope), product * w, c, last);
      if (!(w * change < R(0))) change = -w * reciprocal(slope);
      R next = offset + change;
      bool const halves = step > steps_at_will && step % 2 == 1;
      if (halves || !(next > low && next < high)) next = multiply_add(R(0.5), high - low, low);
      done |= next == offset;
      if (!done) offset = next;
    }
    return offset;
  }

  /// D_i - root j
  SIMT_INLINE R distance(int i, int j, R offset) const { return (poles[i] - poles[origin(j, offset)]) - offset; }

  /// Element i of the z for which the given roots are exact (Gu and Eisenstat 1995), up to a common factor. It makes vectors orthogonal
  /// despite rounded roots. All lanes of a warp call this.
  SIMT_INLINE R element_for_roots(R const* offsets, int i, bool is, int part) const {
    R product = R(1);
    SIMT_UNROLL_BY(2)
    for (int j = part; is && j < count; j += lanes) {
      R const to_root = distance(i, j, offsets[j]);
      product = product * (j == i ? to_root : to_root * reciprocal(poles[i] - poles[j]));
    }
    SIMT_UNROLL
    for (int mask = 1; mask < lanes; mask *= 2) product = product * shuffle_xor(product, mask);
    product = magnitude(product);
    return product > R(0) ? product * reciprocal_square_root(product) : R(0);
  }

  /// The factor that scales the vector of root j, elements z_i / (D_i - root), to length one. All lanes of a warp call this.
  SIMT_INLINE R scale_of_vector(int j, R offset, bool is, int part) const {
    auto const origin_pole = poles[is ? origin(j, offset) : 0];
    R squares = R(0);
    SIMT_UNROLL_BY(2)
    for (int i = part; is && i < count; i += lanes) {
      R const element = z[i] * reciprocal((poles[i] - origin_pole) - offset);
      squares = multiply_add(element, element, squares);
    }
    return reciprocal_square_root(sum_of_lanes<lanes>(squares));
  }

 private:
  struct Sums {
    R terms;                    ///< z_i^2 / (D_i - x)
    R sizes;                    ///< sum of their moduli
    R slope_left, slope_right;  ///< sums of their derivatives, up to pole `left` and beyond
  };
  template <typename Pole>
  SIMT_INLINE Sums sums(int left, Pole origin_pole, R offset, bool is, int part) const {
    R terms_left = R(0), terms_right = R(0), slope_left = R(0), slope_right = R(0);
    SIMT_UNROLL_BY(4)
    for (int i = part; is && i < count; i += lanes) {
      R const ratio = z[i] * reciprocal((poles[i] - origin_pole) - offset);
      R const ratio_left = i <= left ? ratio : R(0), ratio_right = i <= left ? R(0) : ratio;
      terms_left = multiply_add(z[i], ratio_left, terms_left);
      terms_right = multiply_add(z[i], ratio_right, terms_right);
      slope_left = multiply_add(ratio_left, ratio_left, slope_left);
      slope_right = multiply_add(ratio_right, ratio_right, slope_right);
    }
    // Terms of poles to the left of x are negative.
    terms_left = sum_of_lanes<lanes>(terms_left);
    terms_right = sum_of_lanes<lanes>(terms_right);
    return {terms_right + terms_left, magnitude(terms_right) + magnitude(terms_left), sum_of_lanes<lanes>(slope_left),
            sum_of_lanes<lanes>(slope_right)};
  }
};

}  // namespace myriad::simt
