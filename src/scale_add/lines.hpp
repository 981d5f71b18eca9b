#pragma once
/// Matrices at equal distances as lines of elements.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "scale_add/scale_add_config.cuh"

namespace myriad::gpu {

/// Arguments without alpha and beta: lines that are as long as C and P allow. Neither has pointers or sizes of its own per matrix.
template <typename T, typename Output>
ScaleAddLinesArguments<T, Output> lines_of(simt::Matrices<T const> const& p, simt::Matrices<Output> const& c) {
  struct Dimension {
    simt::Index size, p, c;
  };
  std::array<Dimension, 3> of{
      {{c.rows, p.row_stride, c.row_stride}, {c.cols, p.col_stride, c.col_stride}, {c.count, p.batch_stride, c.batch_stride}}};
  auto const has_one = [](Dimension const& x) { return x.size == 1; };
  std::sort(of.begin(), of.end(), [&](Dimension const& x, Dimension const& y) {
    return std::pair(has_one(x), std::abs(x.c)) < std::pair(has_one(y), std::abs(y.c));
  });
  std::size_t dimensions = 1;
  for (std::size_t d = 1; d < of.size(); ++d) {
    Dimension& last = of[dimensions - 1];
    if (has_one(of[d])) break;
    if (of[d].c == last.size * last.c && of[d].p == last.size * last.p)
      last.size *= of[d].size;
    else
      of[dimensions++] = of[d];
  }
  constexpr simt::Index width = scale_add_width<T>;
  auto const aligned = [](auto const* x) { return reinterpret_cast<std::uintptr_t>(x) % (sizeof(*x) * width) == 0; };
  ScaleAddLinesArguments<T, Output> args{};
  args.p = p.data;
  args.c = c.data;
  args.p_conjugated = p.conjugated;
  args.c_conjugated = c.conjugated;
  args.wide = of[0].p == 1 && of[0].c == 1 && aligned(p.data) && aligned(c.data);
  for (std::size_t d = 0; d < of.size(); ++d) {
    if (d >= dimensions) of[d] = {.size = 1, .p = 0, .c = 0};
    args.sizes[d] = of[d].size;
    args.p_strides[d] = of[d].p;
    args.c_strides[d] = of[d].c;
    args.wide = args.wide && (d == 0 || (of[d].p % width == 0 && of[d].c % width == 0));
  }
  return args;
}

}  // namespace myriad::gpu
