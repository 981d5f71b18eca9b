#pragma once
/// Ragged batches whose matrices take different algorithms by their sizes, so that each gets the same bits as alone.

#include <algorithm>
#include <array>
#include <cstdint>

#include "blocked/arena.hpp"
#include "blocked/by_sizes_config.cuh"
#include "blocked/machine.hpp"
#include "core/dtype.hpp"
#include "runtime/views.hpp"

namespace myriad {

inline constexpr gpu::KernelName select_sizes_kernel{"blocked/by_sizes", "select_sizes"};
inline constexpr gpu::KernelName select_info_kernel{"blocked/by_sizes", "select_info"};

/// One class of sizes: views of the batches in which the matrices of other classes are empty.
struct SizeClass {
  std::int64_t upto;  ///< rows
  std::int64_t *a_rows, *a_cols, *b_rows, *b_cols;
  int* info;  ///< of this class alone

  /// The view of the square matrices.
  template <typename T>
  Batch<T> of_a(Batch<T> a) const {
    a = of_any(a);
    a.cols = a.rows;
    return a;
  }
  /// The matrices, square or not.
  template <typename T>
  Batch<T> of_any(Batch<T> a) const {
    a.rows = std::min(upto, a.rows);
    a.row_sizes = a_rows;
    a.col_sizes = a_cols;
    return a;
  }
  /// The view of the matrices beside them.
  template <typename T>
  Batch<T> of_b(Batch<T> b) const {
    b.rows = std::min(upto, b.rows);
    b.row_sizes = b_rows;
    b.col_sizes = b_cols;
    return b;
  }
};

/// Workspace of by_sizes: sizes for one class at a time, infos of all classes.
struct BySizesWork {
  std::int64_t *a_rows, *a_cols, *b_rows, *b_cols;
  int* infos;

  BySizesWork(Arena& arena, std::int64_t count)
      : a_rows(arena.take<std::int64_t>(count)),
        a_cols(arena.take<std::int64_t>(count)),
        b_rows(arena.take<std::int64_t>(count)),
        b_cols(arena.take<std::int64_t>(count)),
        infos(arena.take<int>(by_sizes_classes * count)) {}
};

/// Calls run(SizeClass) for the matrices with up to limits[0] rows, for those with up to limits[1] and so on, and for the rest, as far as
/// `a` may have such. A limit that is not larger than the one before is passed over. `b`: the matrices beside A, or A itself. `info`: null,
/// or the array for the info of each matrix.
template <typename T, Machine<T> M, typename Run>
void by_sizes(M& machine, Batch<T const> const& a, Batch<T const> const& b, std::array<std::int64_t, by_sizes_classes - 1> const& limits,
              int* info, Run run) {
  std::int64_t const count = a.count;
  auto memory = machine.memory(bytes_of<BySizesWork>(count));
  auto const work = placed<BySizesWork>(memory.data(), count);
  auto const shape_of = [](Batch<T const> const& x) {
    Batch<int const> shape;
    shape.rows = x.rows, shape.cols = x.cols, shape.count = x.count;
    shape.row_sizes = x.row_sizes, shape.col_sizes = x.col_sizes;
    shape.row_offset = x.row_offset, shape.col_offset = x.col_offset;
    return gpu::matrices_of(shape);
  };
  auto const of_device = [](std::int64_t* p) { return reinterpret_cast<simt::Index*>(p); };
  gpu::Grid const grid{.blocks = (count + by_sizes_threads - 1) / by_sizes_threads, .threads = by_sizes_threads};
  SelectInfoArguments merge{.a = shape_of(a), .limits = {}, .of_classes = work.infos, .info = info};
  std::int64_t above = -1;
  for (std::size_t k = 0; k < by_sizes_classes; ++k) {
    std::int64_t const upto = k < limits.size() ? std::min(limits[k], a.rows) : a.rows;
    merge.limits[k] = upto;
    if (upto <= above) continue;
    machine.run(select_sizes_kernel, grid,
                SelectSizesArguments{.a = shape_of(a),
                                     .b = shape_of(b),
                                     .above = above,
                                     .upto = upto,
                                     .a_rows = of_device(work.a_rows),
                                     .a_cols = of_device(work.a_cols),
                                     .b_rows = of_device(work.b_rows),
                                     .b_cols = of_device(work.b_cols)},
                dtype_of<T>);
    run(SizeClass{.upto = upto,
                  .a_rows = work.a_rows,
                  .a_cols = work.a_cols,
                  .b_rows = work.b_rows,
                  .b_cols = work.b_cols,
                  .info = work.infos + static_cast<std::int64_t>(k) * count});
    above = upto;
  }
  if (info) machine.run(select_info_kernel, grid, merge, dtype_of<T>);
}

}  // namespace myriad
