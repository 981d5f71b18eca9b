#pragma once
/// C = alpha P + beta C with alpha and beta in memory, for matrices at equal distances: 16 bytes per load and store where lines allow it.

#include "scale_add/scale_add_config.cuh"

namespace myriad {

template <typename T, int width>
struct alignas(sizeof(T) * width) ScaleAddChunk {
  T at[width];
};

template <typename Chunk>
SIMT_INLINE Chunk load_scale_add_chunk(bool wanted, Chunk const* from) {
  if constexpr (sizeof(Chunk) == 2)
    return wanted ? *from : Chunk{};
  else
    return simt::load_changing_if(wanted, from);
}

/// The elements of lines in chunks of `width`; those of an incomplete last chunk stay as they are.
template <int width, typename T, typename Output>
SIMT_INLINE void scale_add_chunks(ScaleAddLinesArguments<T, Output> const& args, T alpha, T beta) {
  using namespace simt;
  constexpr int held = scale_add_of_thread;
  bool const is_zero = !args.has_terms || alpha == from_real<T>(0);
  bool const reads_c = !(beta == from_real<T>(0)), keeps_c = is_zero && beta == from_real<T>(1);
  Index const chunks = args.sizes[0] / width, all = chunks * args.sizes[1] * args.sizes[2];
  if (all == 0) return;
  bool const one_line = all == chunks;
  ShortDivision const by_line(chunks), by_group(args.sizes[1]);
  SIMT_LOOP
  for (Index first = block_index() * scale_add_of_block; first < all; first += block_count() * scale_add_of_block) {
    Index const lines = one_line ? 0 : first / chunks, groups = one_line ? 0 : lines / args.sizes[1];
    ScaleAddChunk<T, width> product[held];
    ScaleAddChunk<Output, width> former[held];
    Output* c[held];
    bool is[held];
    SIMT_UNROLL
    for (int e = 0; e < held; ++e) {
      int const beyond = e * scale_add_threads + thread_index();
      is[e] = first + beyond < all;
      Index x = first - lines * chunks + beyond, line = 0, group = 0;
      if (!one_line) {
        line = lines - groups * args.sizes[1] + by_line.divide(x);
        group = groups + by_group.divide(line);
      }
      // Loads do not wait for alpha and beta, but those of C have to.
      T const* const p = args.p + x * width * args.p_strides[0] + line * args.p_strides[1] + group * args.p_strides[2];
      c[e] = args.c + x * width * args.c_strides[0] + line * args.c_strides[1] + group * args.c_strides[2];
      product[e] = load_scale_add_chunk(is[e] && args.has_terms, reinterpret_cast<ScaleAddChunk<T, width> const*>(p));
    }
    if (keeps_c) return;
    SIMT_UNROLL
    for (int e = 0; e < held; ++e)
      former[e] = load_scale_add_chunk(is[e] && reads_c, reinterpret_cast<ScaleAddChunk<Output, width> const*>(c[e]));
    SIMT_UNROLL
    for (int e = 0; e < held; ++e) {
      ScaleAddChunk<Output, width> sum;
      SIMT_UNROLL
      for (int i = 0; i < width; ++i) {
        T value = is_zero ? from_real<T>(0) : alpha * simt::conjugate_if(args.p_conjugated, product[e].at[i]);
        if (reads_c) {
          T const before = simt::conjugate_if(args.c_conjugated, widened(former[e].at[i]));
          value = is_zero ? beta * before : multiply_add(beta, before, value);
        }
        sum.at[i] = rounded<Output>(simt::conjugate_if(args.c_conjugated, value));
      }
      if (is[e]) store_global(reinterpret_cast<ScaleAddChunk<Output, width>*>(c[e]), sum);
    }
  }
}

/// Launch: any number of blocks of scale_add_threads threads.
template <typename T, typename Output>
SIMT_KERNEL void SIMT_BOUNDS(scale_add_threads, 4) scale_add_lines(ScaleAddLinesArguments<T, Output> const args) {
  using namespace simt;
  constexpr int width = scale_add_width<T>;
  if (static_cast<void const*>(args.p) == static_cast<void const*>(args.c))
    if (args.alpha.read() == from_real<T>(1) && args.beta.read() == from_real<T>(0)) return;
  T const alpha = args.alpha.read(), beta = args.beta.read();
  ScaleAddLinesArguments<T, Output> rest = args;
  if constexpr (width > 1)
    if (args.wide) {
      scale_add_chunks<width>(args, alpha, beta);
      Index const done = args.sizes[0] - args.sizes[0] % width;
      rest.sizes[0] -= done;
      rest.p += done;
      rest.c += done;
    }
  scale_add_chunks<1>(rest, alpha, beta);
}

}  // namespace myriad
