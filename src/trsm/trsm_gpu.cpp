#include "trsm/trsm_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/dtype.hpp"
#include "gemm/gemm_gpu.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"
#include "trsm/trsm_by_blocks.hpp"

namespace myriad::gpu {
namespace {

TrsmTiny plan(int n, std::int64_t columns) {
  int const lanes = n <= 2 ? 1 : n <= 4 ? 2 : n <= 8 ? 4 : n <= 16 ? 8 : 16;
  constexpr auto packed = simt::Layout::packed_columns;
  return {.n = n,
          .nrhs = static_cast<int>(std::min(most_columns, columns)),
          .lanes = lanes,
          .matrices = 32 / lanes,
          .lower = Triangle::unused,
          .upper = Triangle::unused,
          .interchange = Interchange::never,
          .right = RightSide::given,
          .a = packed,
          .b = packed,
          .pivots = packed};
}

KernelSource source(Dtype dtype, TrsmTiny const& c) {
  return {.header = "trsm/trsm_tiny.cuh",
          .name = fmt::format("myriad::trsm_tiny<{}, myriad::TrsmTiny{{{}, {}, {}, {}, myriad::Triangle({}), myriad::Triangle({}), "
                              "myriad::Interchange({}), myriad::RightSide({}), {}, {}, {}}}>",
                              device_name(dtype), c.n, c.nrhs, c.lanes, c.matrices, static_cast<int>(c.lower), static_cast<int>(c.upper),
                              static_cast<int>(c.interchange), static_cast<int>(c.right), device_name(c.a), device_name(c.b),
                              device_name(c.pivots)),
          .options = {"-default-device", "--fmad=false"}};
}

}  // namespace

template <typename T>
void substitute(Queue& queue, Substitution<T> const& task) {
  if (task.b.empty()) {
    if (task.info) clear(queue, task.info, task.b.count);
    return;
  }
  require_tiny(task.routine, task.b.rows, task.b.rows);
  using D = DeviceElement<T>;
  TrsmTinyArguments<D> const args{.alpha = std::bit_cast<D>(task.alpha),
                                  .a = matrices_of(task.a),
                                  .b = matrices_of(task.b),
                                  .columns = task.b.cols,
                                  .pivots = matrices_of(rows(task.pivots, 0, task.b.rows)),
                                  .info = task.info};
  TrsmTiny c = plan(static_cast<int>(task.b.rows), task.b.cols);
  c.lower = task.lower;
  c.upper = task.upper;
  c.interchange = args.pivots.given() ? task.interchange : Interchange::never;
  c.right = task.right;
  c.a = layout_of(args.a);
  c.b = task.b.cols > c.nrhs ? by_elements(layout_of(args.b)) : layout_of(args.b);
  if (args.pivots.given() && layout_of(args.pivots) != simt::Layout::packed_columns) c.pivots = simt::Layout::columns;
  c.matrices = matrices_of_block(c.matrices, c.lanes, c.a == simt::Layout::interleaved || c.b == simt::Layout::interleaved, sizeof(T));
  Kernel const& kernel = kernel_for(queue, kernel_key(kernel_id("trsm/trsm_tiny"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
  launch(
      queue, kernel,
      {.blocks = (args.b.count + c.matrices - 1) / c.matrices, .threads = c.threads(), .shared_bytes = TrsmTinyMemory(sizeof(T), c).bytes},
      args);
}

template <typename T>
void trsm(Queue& queue, TrsmTask<T> const& task) {
  Triangle const triangle = task.diag == Diag::unit ? Triangle::unit : Triangle::non_unit;
  bool const lower = task.uplo == Uplo::lower;
  trsm_by_blocks(
      task, tiny_largest,
      [&](TrsmTask<T> const& part) {
        substitute<T>(queue, {.routine = "trsm",
                              .lower = lower ? triangle : Triangle::unused,
                              .upper = lower ? Triangle::unused : triangle,
                              .interchange = Interchange::never,
                              .right = RightSide::given,
                              .alpha = part.alpha,
                              .a = part.a,
                              .pivots = {},
                              .b = part.b,
                              .info = nullptr});
      },
      [&](T alpha, Batch<T const> const& a, Batch<T const> const& b, T beta, Batch<T> const& c) {
        gemm<T>(queue, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c});
      });
}

template <typename T>
void trmm(Queue& queue, TrsmTask<T> const& task) {
  bool const lower = task.uplo == Uplo::lower, unit = task.diag == Diag::unit;
  auto const multiply = [&](T alpha, Batch<T const> const& a, Batch<T const> const& b, T beta, Batch<T> const& c,
                            Structure structure = Structure::general) {
    gemm<T>(queue, {.alpha = alpha, .a = a, .b = b, .beta = beta, .c = c}, structure);
  };
  trmm_by_blocks(
      task, gemm_rows_in_place,
      [&](TrsmTask<T> const& part) {
        multiply(part.alpha, part.a, part.b, T(0), part.b,
                 lower ? (unit ? Structure::unit_lower : Structure::lower) : (unit ? Structure::unit_upper : Structure::upper));
      },
      multiply);
}

std::vector<KernelSource> trsm_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64})
    for (int n = 1; n <= tiny_largest; ++n) {
      if (!filter.wants_dtype(dtype) || !filter.wants_size(n)) continue;
      auto const add = [&](char const* routine, std::int64_t columns, Triangle lower, Triangle upper, Interchange interchange,
                           RightSide right) {
        if (!filter.wants_routine(routine)) return;
        TrsmTiny c = plan(n, columns);
        c.lower = lower;
        c.upper = upper;
        c.interchange = interchange;
        c.right = right;
        if (columns > c.nrhs) c.b = simt::Layout::columns;
        kernels.push_back(source(dtype, c));
      };
      add("trsm", 1, Triangle::non_unit, Triangle::unused, Interchange::never, RightSide::given);
      add("trsm", 1, Triangle::unused, Triangle::non_unit, Interchange::never, RightSide::given);
      add("getrs", 1, Triangle::unit, Triangle::non_unit, Interchange::before, RightSide::given);
      add("trtri", n, Triangle::non_unit, Triangle::unused, Interchange::never, RightSide::identity_in_place);
      add("trtri", n, Triangle::unused, Triangle::non_unit, Interchange::never, RightSide::identity_in_place);
      add("getri", n, Triangle::unit, Triangle::non_unit, Interchange::before, RightSide::identity);
    }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                        \
  template void trsm<T>(Queue&, TrsmTask<T> const&); \
  template void trmm<T>(Queue&, TrsmTask<T> const&); \
  template void substitute<T>(Queue&, Substitution<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
