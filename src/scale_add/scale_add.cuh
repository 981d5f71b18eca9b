#pragma once
/// C = alpha P + beta C with alpha and beta in memory, for all layouts, triangles and ragged batches.

#include "scale_add/scale_add_config.cuh"

namespace myriad {

/// x y + z for a real x: infinite parts of y do not become NaN.
template <typename T>
SIMT_INLINE T real_multiply_add(simt::Real<T> x, T y, T z) {
  if constexpr (simt::is_complex<T>)
    return {simt::multiply_add(x, y.re, z.re), simt::multiply_add(x, y.im, z.im)};
  else
    return simt::multiply_add(x, y, z);
}

/// Launch: any number of blocks of scale_add_threads threads.
template <typename T, typename Output>
SIMT_KERNEL void SIMT_BOUNDS(scale_add_threads, 2) scale_add(ScaleAddArguments<T, Output> const args) {
  using namespace simt;
  constexpr int held = scale_add_of_thread;
  T const alpha = args.alpha.read(), beta = args.beta.read();
  bool const reads_p = !(alpha == from_real<T>(0)), reads_c = !(beta == from_real<T>(0)), keeps_c = beta == from_real<T>(1);
  bool const hermitian = args.written == Written::lower_hermitian;
  if (!reads_p && keeps_c) return;
  bool const in_place = args.p.pointers ? args.p.pointers == reinterpret_cast<T const* const*>(args.c.pointers)
                                        : args.p.data == reinterpret_cast<T const*>(args.c.data);
  if (in_place && alpha == from_real<T>(1) && !reads_c) return;

  // Elements are numbered in the order in which neighbours are close together in memory.
  Index const sizes[3]{args.interleaved ? args.c.count : args.c.rows, args.interleaved ? args.c.rows : args.c.cols,
                       args.interleaved ? args.c.cols : args.c.count};
  Index const all = sizes[0] * sizes[1] * sizes[2];
  ShortDivision const by_line(sizes[0]), by_group(sizes[1]);
  SIMT_LOOP
  for (Index first = block_index() * scale_add_of_block; first < all; first += block_count() * scale_add_of_block) {
    Index const lines = first / sizes[0], groups = lines / sizes[1];
    struct Element {
      Index b;
      int i, j;
      bool is, has_terms;
    };
    Element elements[held];
    T product[held];
    Output former[held];
    SIMT_UNROLL
    for (int e = 0; e < held; ++e) {
      Index x = first - lines * sizes[0] + e * scale_add_threads + thread_index();
      Index line = lines - groups * sizes[1] + by_line.divide(x);
      Index const last = groups + by_group.divide(line);
      Element& at = elements[e];
      at.b = args.interleaved ? x : last;
      at.i = static_cast<int>(args.interleaved ? line : x);
      at.j = static_cast<int>(args.interleaved ? last : line);
      at.is =
          last < sizes[2] && at.i < args.c.rows_of(at.b) && at.j < args.c.cols_of(at.b) && (args.written == Written::whole || at.i >= at.j);
      at.has_terms = at.is && reads_p && args.has_terms(at.b);
      at.is = at.is && (at.has_terms || !keeps_c);
      product[e] = from_real<T>(0);
      if (at.has_terms) {
        product[e] = alpha * conjugate_if(args.p.conjugated, *args.p.at(at.b, at.i, at.j));
        if (args.of_two) {
          T const mirrored = conjugate_if(hermitian, *args.p.at(at.b, at.j, at.i));
          product[e] = product[e] + conjugate_if(hermitian, alpha) * mirrored;
        }
      }
      if (at.is && reads_c) former[e] = *args.c.at(at.b, at.i, at.j);
    }
    SIMT_UNROLL
    for (int e = 0; e < held; ++e) {
      Element const& at = elements[e];
      if (!at.is) continue;
      T value = product[e];
      bool const diagonal = hermitian && at.i == at.j;
      if (reads_c) {
        T before = conjugate_if(args.c.conjugated, widened(former[e]));
        if (diagonal) before = from_real<T>(real_part(before));
        if (hermitian)
          value = real_multiply_add(real_part(beta), before, value);
        else
          value = at.has_terms ? multiply_add(beta, before, value) : beta * before;
      }
      if (diagonal) value = from_real<T>(real_part(value));
      store_global(args.c.at(at.b, at.i, at.j), rounded<Output>(conjugate_if(args.c.conjugated, value)));
    }
  }
}

}  // namespace myriad
