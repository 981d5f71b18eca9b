#pragma once
/// Products of kernels on the host twin, against sums term by term.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "gemm/gemm_arguments.cuh"
#include "myriad/myriad.hpp"
#include "runtime/views.hpp"
#include "stored.hpp"

namespace myriad {

/// A tested product: sizes, layouts of A, B and C, and which of m, n, k are ragged.
struct Product {
  int m, n, k;
  Layout a, b, c;
  bool ragged_m = false, ragged_n = false, ragged_k = false;
  bool shared_a = false;  ///< one A for all
  Structure structure = Structure::general;
  Written written = Written::whole;
  bool in_place = false;  ///< C is B
  bool conjugated_a = true, conjugated_b = false;
  bool zeros = false;                               ///< A is zero, and C -0
  bool scheduled = false;                           ///< 16-bit products: ragged, with a schedule
  bool pointers = false;                            ///< A, B and C behind pointers
  bool transposed_a = false, transposed_b = false;  ///< stored transposed, if interleaved
};

/// A batch of rows-by-columns matrices, which may be stored transposed.
template <typename T>
Stored<T> stored(int rows, int columns, std::int64_t count, Layout layout, bool transposed_ones) {
  if (!transposed_ones) return {rows, columns, count, layout};
  Stored<T> x(columns, rows, count, layout);
  x.view = transposed(x.view);
  return x;
}
/// The same matrices behind pointers, which are put into `addresses`.
template <typename T>
Batch<T> behind(Batch<T> x, std::vector<T*>& addresses) {
  for (std::int64_t q = 0; q < x.count; ++q) addresses.push_back(x.matrix(q));
  x.data = nullptr;
  x.pointers = addresses.data();
  x.row_offset = x.col_offset = 0;
  return x;
}

/// The sum of `terms` products, in the order of k; `left(t)` and `right(t)` are the factors.
struct InOrder {
  template <typename D, typename Left, typename Right>
  D operator()(D sum, std::int64_t terms, Left const& left, Right const& right) const {
    for (std::int64_t t = 0; t < terms; ++t) sum = simt::multiply_add(left(t), right(t), sum);
    return sum;
  }
};

/// Expects every element to have the bits of that sum, whatever the tiles, and everything else to be untouched.
/// `run` gets the arguments of the kernel. Compiled once per type, not for every kernel.
template <typename T, typename Sum = InOrder>
void check_product(Product const& p, std::int64_t count, T alpha, T beta,
                   std::type_identity_t<void (*)(GemmArguments<gpu::DeviceElement<T>> const&)> run, Sum const& sum_of = {}) {
  using D = gpu::DeviceElement<T>;
  SCOPED_TRACE(testing::Message() << p.m << " x " << p.n << " x " << p.k << ", alpha " << alpha << ", beta " << beta);
  auto a = stored<T>(p.m, p.k, count, p.a, p.transposed_a), b = stored<T>(p.k, p.n, count, p.b, p.transposed_b);
  Stored<T> product(p.m, p.n, count, p.c);
  fill(a.memory, 1);
  fill(b.memory, 2);
  fill(product.memory, 3);
  if (p.zeros) {
    std::fill(a.memory.begin(), a.memory.end(), T(0));
    std::fill(product.memory.begin(), product.memory.end(), -T(0));
  }
  auto const sizes = [&](int bound, std::int64_t step) {
    std::array<std::int64_t, 5> const some{bound, 0, (bound + 1) / 2, 1, bound - 1};
    std::vector<std::int64_t> out;
    for (std::int64_t q = 0; q < count; ++q) out.push_back(some[static_cast<std::size_t>((step * q + q / 5) % 5)]);
    return out;
  };
  auto const m = sizes(p.m, 1), n = sizes(p.n, 2), k = sizes(p.k, 3);
  if (p.ragged_m) a.view.row_sizes = product.view.row_sizes = m.data();
  if (p.ragged_n) b.view.col_sizes = product.view.col_sizes = n.data();
  if (p.ragged_k) a.view.col_sizes = b.view.row_sizes = k.data();
  if (p.shared_a) a.view.batch_stride = 0;
  if (beta == T(0) && !p.in_place) std::fill(product.memory.begin(), product.memory.end(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
  if (p.written == Written::lower_hermitian)
    for (std::int64_t q = 0; q < count; ++q)
      for (int i = 0; i < p.n; ++i)
        *product.view.at(q, i, i) = std::bit_cast<T>([x = std::bit_cast<D>(*product.view.at(q, i, i))]() mutable {
          if constexpr (is_complex<T>) x.im = std::numeric_limits<Real<T>>::quiet_NaN();
          return x;
        }());
  Stored<T> const before = [&] {
    Stored<T> copy(p.m, p.n, count, p.c);
    copy.memory = product.memory;
    return copy;
  }();
  bool const none = alpha == T(0);
  // Elements that must not be read
  for (std::int64_t q = 0; q < (p.shared_a ? 1 : count); ++q)
    for (int i = 0; i < p.m && p.structure != Structure::general; ++i)
      for (int j = 0; j < p.k; ++j)
        if (!is_stored(p.structure, i, j)) *a.view.at(q, i, j) = T(std::numeric_limits<Real<T>>::quiet_NaN());
  auto const element_of_a = [&](std::int64_t q, std::int64_t i, std::int64_t j) {
    bool const stored = is_stored(p.structure, static_cast<int>(i), static_cast<int>(j));
    if (!stored && is_triangular(p.structure)) return simt::from_real<D>(i == j ? 1 : 0);
    D const x = std::bit_cast<D>(stored ? *a.view.at(q, i, j) : *a.view.at(q, j, i));
    if (p.structure != Structure::hermitian) return x;
    return i == j ? simt::from_real<D>(simt::real_part(x)) : simt::conjugate_if(!stored, x);
  };
  Batch<T const> a_in = a.view, b_in = b.view;
  if (p.conjugated_a) a_in = conjugated(a_in);
  if (p.conjugated_b) b_in = conjugated(b_in);
  Batch<T> c_in = product.view;
  std::vector<T const*> of_a, of_b;
  std::vector<T*> of_c;
  if (p.pointers || (p.b == Layout::columns && !p.ragged_k && !p.ragged_n)) b_in = behind(b_in, of_b);
  if (p.pointers) a_in = behind(a_in, of_a), c_in = behind(c_in, of_c);
  GemmArguments<D> args{.alpha = std::bit_cast<D>(alpha),
                        .beta = std::bit_cast<D>(beta),
                        .a = gpu::matrices_of(a_in),
                        .b = gpu::matrices_of(b_in),
                        .c = gpu::matrices_of(c_in),
                        .depth = none ? 0 : p.k};
  if (p.in_place) args.b = args.c.as_const();
  if (none) {  // neither A nor B is read
    args.a.data = args.b.data = nullptr;
    args.a.pointers = args.b.pointers = nullptr;
  }
  auto const element_of_b = [&](std::int64_t q, std::int64_t i, std::int64_t j) {
    return p.in_place ? before.memory[static_cast<std::size_t>(product.view.at(q, i, j) - product.memory.data())] : *b.view.at(q, i, j);
  };
  run(args);

  for (std::int64_t q = 0; q < count; ++q)
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i) {
        T const former = before.memory[static_cast<std::size_t>(product.view.at(q, i, j) - product.memory.data())];
        D expected = std::bit_cast<D>(former);
        if (i < product.view.rows_of(q) && j < product.view.cols_of(q) && (p.written == Written::whole || i >= j)) {
          std::int64_t const terms = none ? 0 : a.view.cols_of(q);
          D const sum = sum_of(
              simt::from_real<D>(0), terms, [&](std::int64_t t) { return simt::conjugate_if(p.conjugated_a, element_of_a(q, i, t)); },
              [&](std::int64_t t) { return simt::conjugate_if(p.conjugated_b, std::bit_cast<D>(element_of_b(q, t, j))); });
          D const added = terms == 0 ? simt::from_real<D>(0) : std::bit_cast<D>(alpha) * sum;
          D const c0 = std::bit_cast<D>(former), scaled = std::bit_cast<D>(beta);
          expected = beta == T(0) ? added : terms == 0 ? scaled * c0 : simt::multiply_add(scaled, c0, added);
          if constexpr (is_complex<T>) {
            // beta is real, and imaginary parts of the diagonal are neither read nor written.
            if (p.written == Written::lower_hermitian && beta != T(0))
              expected = {std::fma(scaled.re, c0.re, added.re), std::fma(scaled.re, c0.im, added.im)};
            if (p.written == Written::lower_hermitian && i == j) expected.im = 0;
          }
          if (p.written != Written::whole && terms == 0 && beta == T(1)) expected = c0;
        }
        T const got = *product.view.at(q, i, j);
        ASSERT_EQ(std::memcmp(&got, &expected, sizeof(T)), 0) << "matrix " << q << ", " << i << "," << j << ": " << got;
      }
}

}  // namespace myriad
