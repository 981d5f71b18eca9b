#include "gemm/gemm_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/dtype.hpp"
#include "gemm/gemm_halves_space.hpp"
#include "gemm/gemm_halves_warpgroups_plan.hpp"
#include "gemm/gemm_schedule_config.cuh"
#include "gemm/gemm_space.hpp"
#include "gemm/gemm_spans_space.hpp"
#include "gemm/gemv_space.hpp"
#include "runtime/launch.hpp"
#include "runtime/tensor_map.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

/// Whether the elements of each matrix lie side by side, down its columns or along its rows.
template <typename T>
bool side_by_side(simt::Matrices<T> const& x) {
  return (x.row_stride == 1 && !x.row_strides) || (x.col_stride == 1 && !x.col_strides);
}
template <typename T>
Lines lines_of(simt::Matrices<T> const& x) {
  return x.row_stride == 1 && !x.row_strides ? Lines::columns : Lines::rows;
}

/// How many elements of a line of 16-bit numbers may be moved at once, as far as sizes, strides and the address say; the kernel looks at
/// what differs from matrix to matrix.
template <typename T>
int unit_of(simt::Matrices<T> const& x) {
  if (x.row_strides || x.col_strides) return 1;
  bool const by_columns = lines_of(x) == Lines::columns;
  std::int64_t const whole =
      (by_columns ? x.rows : x.cols) | (by_columns ? x.col_stride : x.row_stride) | (x.pointers ? 0 : x.batch_stride);
  auto const address = x.pointers ? 0 : reinterpret_cast<std::uintptr_t>(x.data);
  int unit = 16 / static_cast<int>(sizeof(T));
  while (unit > 1 && (whole % unit != 0 || address % (static_cast<std::size_t>(unit) * sizeof(T)) != 0)) unit /= 2;
  return unit;
}

template <typename T>
bool is_ragged(simt::Matrices<T> const& x) {
  return x.row_sizes || x.col_sizes || x.row_strides || x.col_strides;
}
template <typename T>
bool has_no_gaps(simt::Matrices<T> const& x) {
  return lines_of(x) == Lines::columns ? x.col_stride == x.rows : x.row_stride == x.cols;
}

KernelSource source(Dtype dtype, GemmRing const& c) {
  return {
      .header = "gemm/gemm_ring.cuh",
      .name = fmt::format("myriad::gemm_ring<{}, myriad::GemmRing{{{}, {}, {}, {}, {}, {}, {}, {}, myriad::Lines({}), "
                          "myriad::Lines({}), myriad::Lines({}), myriad::Structure({}), myriad::Written({}), myriad::Factors({}), {}}}>",
                          device_name(dtype), c.m, c.n, c.k, c.stages, c.warps_down, c.warps_across, c.blocks_per_sm, c.c_beside,
                          static_cast<int>(c.a), static_cast<int>(c.b), static_cast<int>(c.c), static_cast<int>(c.structure),
                          static_cast<int>(c.written), static_cast<int>(c.factors), c.scheduled),
      .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, GemmSpans const& c) {
  return {.header = "gemm/gemm_spans.cuh",
          .name = fmt::format("myriad::gemm_spans<{}, myriad::GemmSpans{{{}, {}, {}, {}, {}, {}, {}, myriad::Lines({}), {}, {}, {}, {}}}>",
                              device_name(dtype), c.m, c.n, c.k, c.columns, c.stages, c.a_stages, c.blocks_per_sm, static_cast<int>(c.a),
                              c.held_rows, c.held_columns, c.unit, c.c_shared),
          .options = {"-default-device", "--fmad=false"},
          .arch_specific = true};  // others take the ring, and need not have it in their packs
}
KernelSource source(Dtype dtype, GemmHalves const& c, Dtype output) {
  return {.header = "gemm/gemm_halves.cuh",
          .name = fmt::format("myriad::gemm_halves<{}, {}, myriad::GemmHalves{{{}, {}, {}, {}, {}, {}, {}, {}, myriad::Places({}), "
                              "myriad::Extent({}), {}, {}, {}, {}}}>",
                              device_name(dtype), device_name(output), c.m, c.n, c.k, c.warps, c.warps_down, c.warps_across, c.matrices,
                              c.blocks_per_sm, static_cast<int>(c.places), static_cast<int>(c.extent), device_name(c.a), device_name(c.b),
                              device_name(c.c), c.scheduled),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, GemmHalvesStream const& c, Dtype output) {
  return {.header = "gemm/gemm_halves_stream.cuh",
          .name = fmt::format("myriad::gemm_halves_stream<{}, {}, myriad::GemmHalvesStream{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
                              "myriad::Lines({}), myriad::Lines({}), {}, {}, {}}}>",
                              device_name(dtype), device_name(output), c.m, c.n, c.k, c.columns, c.stages, c.warps, c.down, c.column_step,
                              c.words, c.blocks_per_sm, static_cast<int>(c.a), static_cast<int>(c.b), c.a_unit, c.b_unit, c.c_unit),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, GemmHalvesBlocks const& c, Dtype output) {
  return {.header = "gemm/gemm_halves_blocks.cuh",
          .name = fmt::format("myriad::gemm_halves_blocks<{}, {}, myriad::GemmHalvesBlocks{{{}, {}, {}, {}, {}, {}, {}, "
                              "myriad::Lines({}), myriad::Lines({}), myriad::Lines({}), {}, {}}}>",
                              device_name(dtype), device_name(output), c.m, c.n, c.k, c.stages, c.warps_down, c.warps_across,
                              c.blocks_per_sm, static_cast<int>(c.a), static_cast<int>(c.b), static_cast<int>(c.c), c.aligned, c.scheduled),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, GemmHalvesWarpgroups const& c, Dtype output) {
  return {.header = "gemm/gemm_halves_warpgroups.cuh",
          .name = fmt::format("myriad::gemm_halves_warpgroups<{}, {}, myriad::GemmHalvesWarpgroups{{{}, {}, {}, {}, myriad::Lines({}), "
                              "myriad::Lines({})}}>",
                              device_name(dtype), device_name(output), c.warpgroups, c.columns, c.stages, c.c_stages, static_cast<int>(c.a),
                              static_cast<int>(c.b)),
          .options = {"-default-device", "--fmad=false"},
          .arch_specific = true};
}
KernelSource source(Dtype dtype, GemmTiles const& c) {
  return {.header = "gemm/gemm_tiles.cuh",
          .name = fmt::format("myriad::gemm_tiles<{}, myriad::GemmTiles{{{}, {}, {}, {}, {}, {}, {}, myriad::Extent({}), {}, {}, {}, "
                              "myriad::Structure({}), myriad::Written({}), {}}}>",
                              device_name(dtype), c.m, c.n, c.k, c.row_lanes, c.column_lanes, c.matrices, c.blocks_per_sm,
                              static_cast<int>(c.extent), device_name(c.a), device_name(c.b), device_name(c.c),
                              static_cast<int>(c.structure), static_cast<int>(c.written), c.scheduled),
          .options = {"-default-device", "--fmad=false"}};
}

KernelSource source(Dtype dtype, Gemv const& c) {
  return {.header = "gemm/gemv.cuh",
          .name = fmt::format("myriad::gemv<{}, myriad::Gemv{{{}, {}, {}, {}, {}, {}, myriad::Lines({}), {}}}>", device_name(dtype), c.rows,
                              c.k, c.lanes, c.stages, c.warps, c.blocks_per_sm, static_cast<int>(c.a), c.scheduled),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, GemvColumns const& c) {
  return {.header = "gemm/gemv_columns.cuh",
          .name = fmt::format("myriad::gemv_columns<{}, myriad::GemvColumns{{{}, {}, {}, {}}}>", device_name(dtype), c.terms, c.warps,
                              c.blocks_per_sm, c.scheduled),
          .options = {"-default-device", "--fmad=false"}};
}
KernelSource source(Dtype dtype, GemvWhole const& c) {
  return {.header = "gemm/gemv_whole.cuh",
          .name = fmt::format("myriad::gemv_whole<{}, myriad::GemvWhole{{{}, {}, {}, {}, {}, myriad::Lines({}), {}}}>", device_name(dtype),
                              c.rows, c.k, c.warps, c.blocks_per_sm, c.in_one_piece, static_cast<int>(c.a), c.scheduled),
          .options = {"-default-device", "--fmad=false"}};
}

template <typename T, typename Output>
using ArgumentsOf = GemmArguments<DeviceElement<T>, DeviceElement<Output>>;

template <typename T, typename Output>
ArgumentsOf<T, Output> arguments_of(GemmTask<T, Output> const& task) {
  using S = DeviceElement<Compute<T>>;
  return {.alpha = std::bit_cast<S>(task.alpha),
          .beta = std::bit_cast<S>(task.beta),
          .a = matrices_of(task.a),
          .b = matrices_of(task.b),
          .c = matrices_of(task.c),
          .depth = task.alpha == Compute<T>(0) ? 0 : task.a.cols};
}

/// Whether elements of all three lie side by side.
template <typename T, typename Output>
bool have_lines(GemmArguments<T, Output> const& args) {
  return side_by_side(args.a) && side_by_side(args.b) && side_by_side(args.c);
}

template <typename T, typename Output>
std::array<simt::Layout, 3> layouts_of(GemmArguments<T, Output> const& args) {
  return {layout_of(args.a), layout_of(args.b), layout_of(args.c)};
}
bool any_interleaved(std::array<simt::Layout, 3> const& layouts) {
  return std::find(layouts.begin(), layouts.end(), simt::Layout::interleaved) != layouts.end();
}

/// What a schedule needs to know of matrices.
template <typename T>
simt::Matrices<char const> sizes_of(simt::Matrices<T> const& x) {
  return {.data = nullptr,
          .pointers = nullptr,
          .rows = x.rows,
          .cols = x.cols,
          .row_stride = 0,
          .col_stride = 0,
          .batch_stride = 0,
          .count = x.count,
          .row_sizes = x.row_sizes,
          .col_sizes = x.col_sizes,
          .row_strides = nullptr,
          .col_strides = nullptr,
          .row_offset = x.row_offset,
          .col_offset = x.col_offset,
          .conjugated = false};
}

/// The schedule of a ragged batch, made on the GPU when this is: in memory of the queue's pool until the launches that use it are enqueued.
class Schedule {
 public:
  /// `parts`: the launches by ascending sizes.
  Schedule(Queue& queue, GemmScheduleArguments args)
      : blocks_(std::clamp<std::int64_t>((args.c.count + threads - 1) / threads, 1, most_blocks)),
        counts_(queue),
        memory_(queue, bytes(args.c.count, blocks_)) {
    Kernel const& kernel = kernel_for(queue, kernel_key(kernel_id("gemm/gemm_schedule")), [] { return source(); });
    if (memory_.as<char>()) {  // else the queue is prepared, and nothing is launched
      args.of_parts = memory_.as<GemmSchedulePart>();
      args.of_blocks = reinterpret_cast<simt::Index*>(args.of_parts + gemm_schedule_parts);
      args.starts = args.of_blocks + 2 * gemm_schedule_kinds * blocks_;
      args.matrices = reinterpret_cast<int*>(args.starts + args.c.count);
    }
    args.counts = counts_.data();
    launch(queue, kernel, {.blocks = blocks_, .threads = threads, .shared_bytes = gemm_schedule_bytes(threads), .together = blocks_ > 1},
           args);
    schedule_ = {.starts = args.starts, .matrices = args.matrices, .part = args.of_parts};
  }
  [[nodiscard]] GemmSchedule of_part(std::size_t p) const {
    return {schedule_.starts, schedule_.matrices, schedule_.part ? schedule_.part + p : nullptr};
  }

  static KernelSource source() {
    return {.header = "gemm/gemm_schedule.cuh",
            .name = fmt::format("myriad::gemm_schedule<{}>", threads),
            .options = {"-default-device", "--fmad=false"}};
  }

 private:
  /// They wait for each other, and a context may have few of the multiprocessors.
  static constexpr std::int64_t most_blocks = 16;
  static constexpr int threads = 256;
  static std::int64_t bytes(std::int64_t count, std::int64_t blocks) {
    return gemm_schedule_parts * std::int64_t{sizeof(GemmSchedulePart)} +
           (2 * gemm_schedule_kinds * blocks + count) * std::int64_t{sizeof(simt::Index)} + count * std::int64_t{sizeof(int)};
  }

  std::int64_t blocks_;
  GridCounts counts_;
  Workspace memory_;
  GemmSchedule schedule_{};
};

/// A batch that takes so many times as many blocks as run at a time, were all matrices as large as the largest one, gets a schedule; and
/// then as many blocks at most, so that a multiprocessor that has been faster takes more of them. An estimate: docs/kernels.md.
constexpr std::int64_t times_with_schedule = 8;

/// The same of vectors and interleaved matrices, whose blocks take less time each.
constexpr std::int64_t times_with_schedule_of_vectors = 32;

/// What a schedule is made of, but for its parts.
template <typename T, typename Output>
GemmScheduleArguments schedule_arguments(GemmArguments<T, Output> const& args, int together) {
  return {.a = sizes_of(args.a),
          .c = sizes_of(args.c),
          .together = together,
          .parts = 0,
          .part = {},
          .starts = nullptr,
          .matrices = nullptr,
          .of_parts = nullptr,
          .of_blocks = nullptr,
          .counts = nullptr};
}
template <typename T>
bool differ_in_size(simt::Matrices<T> const& x) {
  return x.row_sizes != nullptr || x.col_sizes != nullptr;
}

/// What one launch computes: m-by-n tiles of each of `together` neighbouring matrices, of which a block takes `of_block` at a time.
struct Tiling {
  int m, n, together, of_block, blocks_per_sm;
};
/// Launches the kernel of `config`, with a schedule where there are so many tiles of a ragged batch that it pays. kernel_of(config) finds
/// it and all of its grid but blocks.
template <typename T, typename Output, typename Config, typename KernelOf>
void launch_by_tiles(Queue& queue, GemmArguments<T, Output> args, Config config, Tiling const& tiling, KernelOf const& kernel_of) {
  auto const divided = [](std::int64_t x, std::int64_t by) { return (x + by - 1) / by; };
  std::int64_t const of_matrix = divided(args.c.rows, tiling.m) * divided(args.c.cols, tiling.n);
  std::int64_t const blocks = divided(divided(args.c.count, tiling.together) * of_matrix, tiling.of_block);
  std::int64_t const most = std::int64_t{queue.device().multiprocessors} * tiling.blocks_per_sm * times_with_schedule_of_vectors;
  bool const scheduled = differ_in_size(args.c) && of_matrix > 1 && blocks >= most && args.c.count <= std::numeric_limits<int>::max();
  config.scheduled = scheduled ? 1 : 0;
  auto [kernel, grid] = kernel_of(config);  // before anything is launched
  std::optional<Schedule> schedule;
  if (scheduled) {
    GemmScheduleArguments of = schedule_arguments(args, tiling.together);
    of.parts = 1;
    of.part[0] = {std::max(args.c.rows, args.c.cols), tiling.m, tiling.n};
    schedule.emplace(queue, of);
    args.schedule = schedule->of_part(0);
  }
  grid.blocks = scheduled ? most : blocks;
  launch(queue, *kernel, grid, args);
}

/// Of gemm_tiles and gemm_halves
template <typename Config>
Tiling tiling_of(Config const& c, std::int64_t m, std::int64_t n) {
  // Where matrices come whole each is one tile.
  return {.m = c.whole() ? static_cast<int>(std::max<std::int64_t>(m, 1)) : c.m,
          .n = c.whole() ? static_cast<int>(std::max<std::int64_t>(n, 1)) : c.n,
          .together = c.matrices,
          .of_block = 1,
          .blocks_per_sm = c.blocks_per_sm};
}

/// What a launch is for matrices C of up to so many rows and columns.
struct SizedKernel {
  int m, n;                                                            ///< of a tile
  int blocks_per_sm;                                                   ///< that run at a time
  std::function<std::pair<Kernel const*, Grid>(bool scheduled)> find;  ///< the kernel, and all of its grid but blocks
};
/// Of a config which has kernels with and without a schedule.
template <typename Config, typename KernelOf>
SizedKernel sized_kernel(Config config, KernelOf kernel_of) {
  return {.m = config.m, .n = config.n, .blocks_per_sm = config.blocks_per_sm, .find = [=](bool scheduled) {
            Config c = config;
            c.scheduled = scheduled ? 1 : 0;
            return kernel_of(c);
          }};
}

/// Up to which sizes matrices of a ragged batch share a launch; all that are larger share one. With a schedule a launch costs little and
/// passes over nothing, so that there are more of them, of tiles that fit better.
constexpr std::array<std::int64_t, 3> sizes_of_launches{32, 64, 128};
constexpr std::array<std::int64_t, 7> sizes_of_scheduled_launches{32, 48, 64, 80, 96, 112, 128};
static_assert(gemm_schedule_parts == sizes_of_scheduled_launches.size() + 1);
// What is planned to see whether a schedule pays is launched with one, too: a search would time what is planned.
static_assert(std::includes(sizes_of_scheduled_launches.begin(), sizes_of_scheduled_launches.end(), sizes_of_launches.begin(),
                            sizes_of_launches.end()));
std::span<std::int64_t const> launch_sizes(bool scheduled) {
  return scheduled ? std::span<std::int64_t const>(sizes_of_scheduled_launches) : sizes_of_launches;
}
/// Those of a batch whose largest matrix has n rows.
std::vector<std::int64_t> sizes_up_to(std::int64_t n, bool scheduled) {
  auto const sizes = launch_sizes(scheduled);
  std::vector<std::int64_t> out(sizes.begin(), std::lower_bound(sizes.begin(), sizes.end(), n));
  out.push_back(n);
  return out;
}

/// Launches what `sized_of(m, n)` is for matrices C of so many rows and columns at most. Of a ragged batch small matrices would leave most
/// of a tile for large ones empty, so there are several launches, each of which passes over the matrices of the others; unless there is
/// `one_plan` for all.
///
/// Where these were many more blocks than run at a time, of which those without a tile would take longer than it takes to make a schedule,
/// there is one.
template <typename T, typename Output, typename SizedOf>
void launch_by_sizes(Queue& queue, ArgumentsOf<T, Output> const& args, bool one_plan, SizedOf const& sized_of) {
  struct Part {
    std::int64_t blocks, at_a_time;
    ArgumentsOf<T, Output> args;
    SizedKernel sized;
    std::pair<Kernel const*, Grid> kernel;
  };
  // Few matrices would be waited for longer than their tiles are computed.
  bool const ragged = differ_in_size(args.c);
  bool const apart = ragged && !one_plan && args.c.count > queue.device().multiprocessors;
  std::int64_t const largest = std::max(args.c.rows, args.c.cols);
  auto const parts_by = [&](std::span<std::int64_t const> sizes) {
    std::vector<Part> parts;
    for (std::int64_t above = 0; above < largest;) {
      auto const next = std::upper_bound(sizes.begin(), sizes.end(), above);
      std::int64_t const upto = apart && next != sizes.end() ? std::min(*next, largest) : largest;
      std::int64_t const m = std::min<std::int64_t>(args.c.rows, upto), n = std::min<std::int64_t>(args.c.cols, upto);
      SizedKernel sized = sized_of(m, n);
      parts.push_back({.blocks = args.c.count * ((m + sized.m - 1) / sized.m) * ((n + sized.n - 1) / sized.n),
                       .at_a_time = std::int64_t{queue.device().multiprocessors} * sized.blocks_per_sm,
                       .args = args,
                       .sized = std::move(sized),
                       .kernel = {}});
      parts.back().args.above = above;
      parts.back().args.upto = upto;
      above = upto;
    }
    return parts;
  };
  std::vector<Part> parts = parts_by(launch_sizes(false));
  std::int64_t times = 0;
  for (Part const& part : parts) times += part.blocks / part.at_a_time;
  bool const scheduled = ragged && times >= times_with_schedule && args.c.count <= std::numeric_limits<int>::max();
  if (scheduled) parts = parts_by(launch_sizes(true));
  for (Part& part : parts) {  // nothing is launched before all kernels are found
    part.kernel = part.sized.find(scheduled);
    part.kernel.second.blocks = scheduled ? std::min(part.blocks, times_with_schedule * part.at_a_time) : part.blocks;
  }
  std::optional<Schedule> schedule;
  if (scheduled) {
    GemmScheduleArguments of = schedule_arguments(args, 1);
    for (Part const& part : parts) of.part[of.parts++] = {part.args.upto, part.sized.m, part.sized.n};
    schedule.emplace(queue, of);
    for (int p = 0; p < of.parts; ++p) parts[static_cast<std::size_t>(p)].args.schedule = schedule->of_part(static_cast<std::size_t>(p));
  }
  for (Part const& part : parts) launch(queue, *part.kernel.first, part.kernel.second, part.args);
}

/// By kernels of gemm_ring: `plan(m, n)` is the one for a C of so many rows and columns.
template <typename T, typename Plan>
void gemm_by_ring(Queue& queue, ArgumentsOf<T, T> const& args, Plan const& plan, bool one_plan = false) {
  auto const sized = [&](std::int64_t m, std::int64_t n) {
    return sized_kernel(plan(m, n), [&](GemmRing ring) {
      ring.a = lines_of(args.a);
      ring.b = lines_of(args.b);
      ring.c = lines_of(args.c);
      Kernel const& kernel =
          kernel_for(queue, kernel_key(kernel_id("gemm/gemm_ring"), dtype_of<T>, ring), [&] { return source(dtype_of<T>, ring); });
      return std::pair(&kernel,
                       Grid{.threads = ring.threads(), .shared_bytes = GemmRingMemory(sizeof(Real<T>), is_complex<T>, ring).bytes});
    });
  };
  launch_by_sizes<T, T>(queue, args, one_plan, sized);
}

/// `count` matrices from number `first` on.
template <typename T>
simt::Matrices<T> matrices(simt::Matrices<T> x, std::int64_t first, std::int64_t count) {
  if (x.data) x.data += first * x.batch_stride;
  if (x.pointers) x.pointers += first;
  for (simt::Index const** const numbers : {&x.row_sizes, &x.col_sizes, &x.row_strides, &x.col_strides})
    if (*numbers) *numbers += first;
  x.count = count;
  return x;
}

/// A product with a vector, by a kernel that has a row to a lane.
template <typename T>
void gemm_by_rows(Queue& queue, ArgumentsOf<T, T> const& args) {
  std::int64_t const m = args.c.rows, k = args.a.cols;
  Lines const lines = lines_of(args.a);
  bool const aligned = unit_of(args.a) * sizeof(T) == 16;
  bool const in_one_piece = !is_ragged(args.a) && !is_ragged(args.c) && !is_ragged(args.b) && has_no_gaps(args.a);
  // A warp, a group of its lanes or a lane has so many rows of a matrix; a block has some of these.
  auto const run = [&](char const* name, auto const& c, int rows, int of_block, int bytes) {
    // Without a schedule these kernels do not go on where a grid ends: matrices that take more than one have several.
    std::int64_t const at_a_time = std::numeric_limits<std::int32_t>::max() / ((m + rows - 1) / rows) * of_block;
    for (std::int64_t b = 0; b < args.c.count; b += at_a_time) {
      std::int64_t const some = std::min<std::int64_t>(at_a_time, args.c.count - b);
      ArgumentsOf<T, T> part = args;
      part.a = matrices(args.a, b, some);
      part.b = matrices(args.b, b, some);
      part.c = matrices(args.c, b, some);
      launch_by_tiles(queue, part, c, {.m = rows, .n = 1, .together = 1, .of_block = of_block, .blocks_per_sm = c.blocks_per_sm},
                      [&](auto const& config) {
                        Kernel const& kernel = kernel_for(queue, kernel_key(kernel_id(name), dtype_of<T>, config),
                                                          [&] { return source(dtype_of<T>, config); });
                        return std::pair(&kernel, Grid{.threads = config.threads(), .shared_bytes = bytes});
                      });
    }
  };
  switch (gemv_kernel(sizeof(T), m, k, lines, aligned, in_one_piece)) {
    case GemvKernel::columns: {
      GemvColumns const c = tuning::planned(queue, GemvColumnsSpace{{dtype_of<T>, m, k}});
      return run("gemm/gemv_columns", c, 1, c.threads(), 0);
    }
    case GemvKernel::whole: {
      GemvWhole const c = tuning::planned(queue, GemvWholeSpace{{dtype_of<T>, m, k}, in_one_piece && !aligned, lines});
      return run("gemm/gemv_whole", c, c.rows, c.warps, GemvWholeMemory(sizeof(T), c).bytes);
    }
    case GemvKernel::ring: {
      Gemv const c = tuning::planned(queue, GemvSpace{{dtype_of<T>, m, k}, lines});
      return run("gemm/gemv", c, c.rows, c.groups(), GemvMemory(sizeof(T), c).bytes);
    }
  }
}

template <typename T>
simt::Matrices<T> transposed(simt::Matrices<T> x) {
  std::swap(x.rows, x.cols);
  std::swap(x.row_stride, x.col_stride);
  std::swap(x.row_sizes, x.col_sizes);
  std::swap(x.row_strides, x.col_strides);
  std::swap(x.row_offset, x.col_offset);
  return x;
}
/// As unit_of, but 0 where the elements of each matrix are in one piece, and fewer of them than 16 bytes could be moved at once.
template <typename T>
int unit_or_piece_of(simt::Matrices<T> const& x) {
  int const unit = unit_of(x);
  return unit * static_cast<int>(sizeof(T)) < 16 && has_no_gaps(x) ? 0 : unit;
}

/// A product of real numbers with C by columns is the transposed one with C by rows; of complex ones imaginary parts would be summed in
/// another order by lanes.
template <typename T, typename Output>
ArgumentsOf<T, Output> with_lines_of_c(ArgumentsOf<T, Output> args, Lines lines) {
  if (is_complex<T> || lines_of(args.c) == lines) return args;
  args.c = transposed(args.c);
  args.a = std::exchange(args.b, transposed(args.a));
  args.a = transposed(args.a);
  return args;
}

/// By gemm_spans, if the product is one that goes through it.
template <typename T>
bool gemm_by_spans(Queue& queue, ArgumentsOf<T, T> args) {
  Device const& device = queue.device();
  if (device.major != 9 || device.minor != 0) return false;
  if (is_ragged(args.a) || is_ragged(args.b) || is_ragged(args.c)) return false;
  args = with_lines_of_c<T, T>(args, Lines::columns);
  std::int64_t const m = args.c.rows, n = args.c.cols, k = args.depth;
  if (lines_of(args.c) == Lines::rows || lines_of(args.b) == Lines::rows) return false;
  if (!has_no_gaps(args.a) || !has_no_gaps(args.b) || !has_no_gaps(args.c)) return false;
  // Behind pointers
  if ((args.a.row_offset | args.a.col_offset | args.b.row_offset | args.b.col_offset | args.c.row_offset | args.c.col_offset) != 0)
    return false;
  // Few products are divided among blocks by the ring.
  if (!gemm_spans_pays(sizeof(Real<T>), is_complex<T>, m, n, k) || args.c.count < device.multiprocessors) return false;
  // Where a matrix behind a pointer begins is not known. Neighbouring rows of C are read together where those of A are.
  int unit = args.a.pointers || args.b.pointers ? 1 : std::min(unit_of(args.a), unit_of(args.b));
  if (lines_of(args.a) == Lines::columns) unit = args.c.pointers ? 1 : std::min(unit, unit_of(args.c));
  GemmSpansSpace const space{.dtype = dtype_of<T>,
                             .m = static_cast<int>(m),
                             .n = static_cast<int>(n),
                             .k = static_cast<int>(k),
                             .a = lines_of(args.a),
                             .unit = unit};
  // By the plan alone, so that no table changes which kernel a product goes through.
  if (space.bytes(tuning::plan_of(space)) > device.shared_memory_per_block) return false;
  GemmSpans const c = tuning::planned(queue, space);
  int const bytes = space.bytes(c);
  Kernel const& kernel =
      kernel_for(queue, kernel_key(kernel_id("gemm/gemm_spans"), dtype_of<T>, c), [&] { return source(dtype_of<T>, c); });
  launch(queue, kernel, {.blocks = gemm_spans_grid(c, args.c.count, device.multiprocessors), .threads = c.threads(), .shared_bytes = bytes},
         args);
  return true;
}

/// By gemm_halves_stream, if the product is one that goes through it.
template <typename T, typename Output>
bool gemm_by_stream(Queue& queue, ArgumentsOf<T, Output> args) {
  if (!have_lines(args) || is_ragged(args.a) || is_ragged(args.b) || is_ragged(args.c)) return false;
  args = with_lines_of_c<T, Output>(args, Lines::columns);
  if (lines_of(args.c) == Lines::rows) return false;
  // Behind pointers
  if ((args.a.row_offset | args.a.col_offset | args.b.row_offset | args.b.col_offset | args.c.row_offset | args.c.col_offset) != 0)
    return false;
  std::int64_t const k = std::max<std::int64_t>(args.a.cols, 1);
  int const in = sizeof(T), out = sizeof(Output), a = unit_or_piece_of(args.a), b = unit_or_piece_of(args.b),
            of_c = unit_or_piece_of(args.c);
  int const at_once = std::min({unit_of(args.a) * in, unit_of(args.b) * in, unit_of(args.c) * out});
  if (!gemm_halves_streams(is_complex<T>, args.c.rows, args.c.cols, k, at_once)) return false;
  // Lines at distances that begin anywhere would be moved one element after the other.
  for (int const bytes : {a * in, b * in, of_c * out})
    if (bytes != 0 && bytes != 16) return false;
  // The ring divides large products among blocks.
  Device const& device = queue.device();
  if (args.c.count < device.multiprocessors && std::max(args.c.rows, args.c.cols) > 128) return false;
  GemmHalvesStreamSpace const space{{dtype_of<T>, !std::is_same_v<T, Output>, args.c.rows, args.c.cols, k},
                                    {.a = lines_of(args.a),
                                     .b = lines_of(args.b),
                                     .a_unit = a,
                                     .b_unit = b,
                                     .c_unit = of_c,
                                     .words = at_once >= 4 && !args.a.pointers && !args.b.pointers && !args.c.pointers ? 1 : 0}};
  // By the plan alone, so that no table changes which kernel a product goes through.
  if (space.bytes(space.plan()) > device.shared_memory_per_block) return false;
  GemmHalvesStream const c = tuning::planned(queue, space);
  int const bytes = space.bytes(c);
  Dtype const dtype = dtype_of<T>, output = dtype_of<Output>;
  Kernel const& kernel =
      kernel_for(queue, kernel_key(kernel_id("gemm/gemm_halves_stream"), dtype, output, c), [&] { return source(dtype, c, output); });
  launch(queue, kernel,
         {.blocks =
              c.stages == 1 ? args.c.count : std::min<std::int64_t>(args.c.count, std::int64_t{device.multiprocessors} * c.blocks_per_sm),
          .threads = c.threads(),
          .shared_bytes = bytes},
         args);
  return true;
}

/// Whether lines begin at multiples of 16 bytes, see GemmHalvesBlocks.
template <typename T>
int aligned_of(simt::Matrices<T> const& x) {
  constexpr int of_chunk = 16 / sizeof(T);
  if (x.row_strides || x.col_strides) return 0;
  if ((lines_of(x) == Lines::columns ? x.col_stride : x.row_stride) % of_chunk != 0) return 0;
  // A view of a ragged batch begins further on, which is not in its address.
  if (x.pointers || (lines_of(x) == Lines::columns ? x.row_offset : x.col_offset) % of_chunk != 0) return 1;
  return x.batch_stride % of_chunk == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 ? 2 : 0;
}

/// How many blocks take turns with the tiles of `count` matrices. Tiles at the edges of a matrix are less work: had the number of tiles of
/// a matrix and that of blocks a common divisor, some blocks would always have those, and others never.
std::int64_t blocks_in_turns(std::int64_t count, std::int64_t tiles, std::int64_t most) {
  if (count * tiles <= most) return count * tiles;
  while (most > 1 && std::gcd(most, tiles) > 1) --most;
  return most;
}

/// By gemm_halves_warpgroups, if the product is one that can; that depends on sizes, layouts and addresses, but not on how many there are.
template <typename T, typename Output>
bool gemm_by_boxes(Queue& queue, ArgumentsOf<T, Output> args) {
  Device const& device = queue.device();
  if (device.major != 9 || device.minor != 0 || args.depth == 0 || !have_lines(args)) return false;
  if (is_ragged(args.a) || is_ragged(args.b) || is_ragged(args.c)) return false;
  args = with_lines_of_c<T, Output>(args, Lines::rows);
  if (lines_of(args.c) != Lines::rows) return false;
  auto const can = [](auto const& x) {
    return !x.pointers && aligned_of(x) == 2 && (lines_of(x) == Lines::columns ? x.col_stride : x.row_stride) > 0;
  };
  if (!can(args.a) || !can(args.b) || !can(args.c)) return false;
  // Where a line of C ends in the middle of 16 bytes, the copy engine would write all of these.
  if (args.c.cols * static_cast<std::int64_t>(sizeof(Output)) % 16 != 0) return false;
  auto const begins_with_sectors = [](auto const& x) {
    auto const bytes = static_cast<std::int64_t>(sizeof(*x.data));
    std::int64_t const line = lines_of(x) == Lines::columns ? x.col_stride : x.row_stride;
    return reinterpret_cast<std::uintptr_t>(x.data) % 32 == 0 && line * bytes % 32 == 0 && x.batch_stride * bytes % 32 == 0;
  };
  GemmHalvesWarpgroupsSpace const space{
      {dtype_of<T>, !std::is_same_v<T, Output>, args.c.rows, args.c.cols, args.depth},
      {.a = lines_of(args.a),
       .b = lines_of(args.b),
       .whole_sectors = begins_with_sectors(args.a) && begins_with_sectors(args.b) && begins_with_sectors(args.c),
       .shared_memory = device.shared_memory_per_block}};
  // By the plan alone, so that no table changes which kernel a product goes through.
  if (space.plan().columns == 0) return false;
  GemmHalvesWarpgroups const c = tuning::planned(queue, space);
  auto const a = tensor_map(queue, gemm_boxes(args.a, c.a, c.a_lines_of_box())),
             b = tensor_map(queue, gemm_boxes(args.b, c.b, c.b_lines_of_box())),
             of_c = tensor_map(queue, gemm_boxes(args.c, Lines::rows, c.rows()));
  if (!a || !b || !of_c) return false;
  Dtype const dtype = dtype_of<T>, output = dtype_of<Output>;
  Kernel const& kernel =
      kernel_for(queue, kernel_key(kernel_id("gemm/gemm_halves_warpgroups"), dtype, output, c), [&] { return source(dtype, c, output); });
  std::int64_t const tiles = ((args.c.rows + c.rows() - 1) / c.rows()) * ((args.c.cols + c.columns - 1) / c.columns);
  launch(queue, kernel,
         {.blocks = blocks_in_turns(args.c.count, tiles, device.multiprocessors),
          .threads = c.threads(),
          .shared_bytes = GemmHalvesWarpgroupsMemory(sizeof(Output), c).bytes},
         GemmBoxes<DeviceElement<T>, DeviceElement<Output>>{*a, *b, *of_c, args});
  return true;
}
/// By kernels of gemm_halves_blocks; of a ragged batch several, as gemm_by_ring has.
template <typename T, typename Output>
void gemm_by_blocks(Queue& queue, ArgumentsOf<T, Output> const& given) {
  ArgumentsOf<T, Output> const args = with_lines_of_c<T, Output>(given, Lines::rows);
  GemmHalvesBlocksOperands const operands{.a = lines_of(args.a),
                                          .b = lines_of(args.b),
                                          .c = lines_of(args.c),
                                          .aligned = std::min(aligned_of(args.a), aligned_of(args.b)),
                                          .shared_memory = queue.device().shared_memory_per_block};
  Dtype const dtype = dtype_of<T>, output = dtype_of<Output>;
  auto const sized = [&](std::int64_t m, std::int64_t n) {
    GemmHalvesBlocks const c = tuning::planned(
        queue, GemmHalvesBlocksSpace{{dtype_of<T>, !std::is_same_v<T, Output>, m, n, std::max<std::int64_t>(args.a.cols, 1)}, operands});
    return sized_kernel(c, [&queue, dtype, output](GemmHalvesBlocks const& config) {
      Kernel const& kernel = kernel_for(queue, kernel_key(kernel_id("gemm/gemm_halves_blocks"), dtype, output, config),
                                        [&] { return source(dtype, config, output); });
      return std::pair(&kernel, Grid{.threads = config.threads(),
                                     .shared_bytes = GemmHalvesBlocksMemory(sizeof(T), sizeof(Output), is_complex<T>, config).bytes});
    });
  };
  launch_by_sizes<T, Output>(queue, args, false, sized);
}

}  // namespace

template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task) {
  auto const args = arguments_of(task);
  std::int64_t const m = task.c.rows, n = task.c.cols, k = task.a.cols;
  if constexpr (!is_complex<T>)
    if (gemm_halves_warpgroups_pays(m, n, k, args.c.count, queue.device().multiprocessors) && gemm_by_boxes<T, Output>(queue, args)) return;
  if (gemm_by_stream<T, Output>(queue, args)) return;
  if (!gemm_halves_whole(m, n, k) && have_lines(args)) {
    gemm_by_blocks<T, Output>(queue, args);
    return;
  }
  auto const layouts = layouts_of(args);
  GemmHalves c = any_interleaved(layouts) || !gemm_halves_whole(m, n, k)
                     ? gemm_halves_plan(sizeof(T), sizeof(Output), is_complex<T>, m, n, k, any_interleaved(layouts))
                     : tuning::planned(queue, GemmHalvesSpace{{dtype_of<T>, !std::is_same_v<T, Output>, m, n, k}});
  c.a = c.whole() ? layouts[0] : by_elements(layouts[0]);
  c.b = c.whole() ? layouts[1] : by_elements(layouts[1]);
  c.c = c.whole() ? layouts[2] : by_elements(layouts[2]);
  Dtype const dtype = dtype_of<T>, output = dtype_of<Output>;
  launch_by_tiles(queue, args, c, tiling_of(c, m, n), [&](GemmHalves const& config) {
    Kernel const& kernel =
        kernel_for(queue, kernel_key(kernel_id("gemm/gemm_halves"), dtype, output, config), [&] { return source(dtype, config, output); });
    return std::pair(&kernel, Grid{.threads = config.threads(), .shared_bytes = GemmHalvesMemory(sizeof(T), sizeof(Output), config).bytes});
  });
}

template <HalfElement T, typename Output>
bool gemm_by_warpgroups(Queue& queue, GemmTask<T, Output> const& task) {
  return gemm_by_boxes<T, Output>(queue, arguments_of(task));
}

template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task, Structure structure, Written written, GemmShape planned_for) {
  std::int64_t const m = task.c.rows, n = task.c.cols, k = task.a.cols;
  // Blocks of one array beside each other begin at the same address, and elsewhere.
  bool const in_place = k > 0 && task.b.data == task.c.data && task.b.pointers == task.c.pointers &&
                        task.b.row_offset == task.c.row_offset && task.b.col_offset == task.c.col_offset;
  if (in_place && m > gemm_rows_in_place) throw std::logic_error("gemm: a product in place has too many rows");
  auto const args = arguments_of(task);
  auto const layouts = layouts_of(args);
  bool const interleaved = any_interleaved(layouts);
  bool const whole = std::max({m, n, k}) <= tiny_largest;
  if (!whole && n == 1 && structure == Structure::general && written == Written::whole && side_by_side(args.a)) {
    gemm_by_rows<T>(queue, args);
    return;
  }
  // Products of two vectors are bound by memory in any case.
  if (!whole && !interleaved && std::min({m, n, k}) > 1 && have_lines(args)) {
    bool const general = structure == Structure::general && written == Written::whole;
    if (general && !in_place && planned_for.m == 0 && gemm_by_spans<T>(queue, args)) return;
    auto const plan = [&](std::int64_t rows, std::int64_t columns) {
      GemmShape const shape = planned_for.m > 0 ? planned_for : GemmShape{rows, columns, k};
      GemmRing ring = tuning::planned(queue, GemmRingSpace{dtype_of<T>, shape.m, shape.n, shape.k, shape.blocks});
      ring.structure = structure;
      ring.written = written;
      return ring;
    };
    gemm_by_ring<T>(queue, args, plan, planned_for.m > 0);
    return;
  }
  GemmShape const shape = planned_for.m > 0 ? planned_for : GemmShape{m, n, k};
  std::int64_t const columns = std::min(n, shape.n);
  GemmTiles c = interleaved ? gemm_tiles_plan(sizeof(T), shape.m, columns, shape.k, true)
                            : tuning::planned(queue, GemmTilesSpace{dtype_of<T>, shape.m, columns, shape.k});
  c.a = c.whole() ? layouts[0] : by_elements(layouts[0]);
  c.b = c.whole() ? layouts[1] : by_elements(layouts[1]);
  c.c = c.whole() ? layouts[2] : by_elements(layouts[2]);
  c.structure = structure;
  c.written = written;
  launch_by_tiles(queue, args, c, tiling_of(c, m, n), [&](GemmTiles const& config) {
    Kernel const& kernel =
        kernel_for(queue, kernel_key(kernel_id("gemm/gemm_tiles"), dtype_of<T>, config), [&] { return source(dtype_of<T>, config); });
    return std::pair(&kernel, Grid{.threads = config.threads(), .shared_bytes = GemmTilesMemory(sizeof(T), config).bytes});
  });
}

void gemm_on_tensor_cores(Queue& queue, GemmTask<float> const& task, Arithmetic arithmetic) {
  auto const args = arguments_of(task);
  // By layouts and the GPU alone, so that a matrix has the same bits in every batch of its layout.
  if (queue.device().major < 8 || !have_lines(args)) {
    gemm(queue, task);
    return;
  }
  Factors const factors = arithmetic == Arithmetic::tf32 ? Factors::rounded : Factors::split;
  gemm_by_ring<float>(queue, args, [&](std::int64_t rows, std::int64_t columns) {
    return gemm_ring_plan_of_rounded(factors, rows, columns, std::max<std::int64_t>(task.a.cols, 1));
  });
}

namespace {

/// Of a block of compute capability 9.0 and 10.0
constexpr int largest_shared_memory = 227 * 1024;

}  // namespace

std::vector<KernelSource> gemm_kernels_of(Dtype dtype, GemmShape planned_for, Lines a, Lines b, Lines c, Written written) {
  std::vector<KernelSource> kernels;
  for (GemmRing ring : tuning::shipped(GemmRingSpace{dtype, planned_for.m, planned_for.n, planned_for.k, planned_for.blocks})) {
    ring.a = a, ring.b = b, ring.c = c;
    ring.written = written;
    kernels.push_back(source(dtype, ring));
  }
  return kernels;
}

std::vector<KernelSource> gemm_kernels_by_spans(Dtype dtype, int n, std::size_t candidates) {
  std::vector<KernelSource> kernels;
  // Batches that begin in the middle of 16 bytes, or are behind pointers, have units of fewer elements.
  bool const by_lanes = dtype == Dtype::f32 || dtype == Dtype::c32;
  for (int unit = by_lanes ? std::gcd(n, 16 / element_bytes(dtype)) : 1; unit > 0; unit /= 2)
    for (GemmSpans const& c : tuning::shipped(GemmSpansSpace{dtype, n, n, n, Lines::columns, unit}, candidates)) {
      KernelSource kernel = source(dtype, c);
      auto const same = [&](KernelSource const& other) { return other.name == kernel.name; };
      if (std::none_of(kernels.begin(), kernels.end(), same)) kernels.push_back(std::move(kernel));
    }
  return kernels;
}

std::vector<KernelSource> gemm_kernels_by_warpgroups(Dtype dtype, Dtype output, GemmShape shape) {
  std::vector<KernelSource> kernels;
  int const output_bytes = output == Dtype::f32 ? 4 : 2;
  for (Lines const a : {Lines::columns, Lines::rows})
    for (Lines const b : {Lines::columns, Lines::rows})
      kernels.push_back(source(dtype,
                               gemm_halves_warpgroups_plan(output_bytes, shape.m, shape.n,
                                                           {.a = a, .b = b, .whole_sectors = true, .shared_memory = largest_shared_memory}),
                               output));
  return kernels;
}

namespace {

/// Of square matrices by columns.
std::vector<KernelSource> sources_of_gemv(Dtype dtype, int n, std::size_t candidates) {
  GemvProblem const problem{dtype, n, n};
  bool const aligned = n * element_bytes(problem.dtype) % 16 == 0;
  auto const of = [&](auto const& space) {
    std::vector<KernelSource> out;
    for (auto const& c : tuning::shipped(space, candidates)) out.push_back(source(dtype, c));
    return out;
  };
  switch (gemv_kernel(element_bytes(problem.dtype), n, n, Lines::columns, aligned, true)) {
    case GemvKernel::columns:
      return of(GemvColumnsSpace{problem});
    case GemvKernel::whole:
      return of(GemvWholeSpace{problem, !aligned, Lines::columns});
    default:
      return of(GemvSpace{problem, Lines::columns});
  }
}

}  // namespace

std::vector<KernelSource> gemm_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  constexpr auto columns = simt::Layout::packed_columns, rows = simt::Layout::packed_rows;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype)) continue;
    bool const complex = dtype == Dtype::c32 || dtype == Dtype::c64;
    for (int n = 1; n <= 128; ++n) {
      if (!filter.wants_size(n)) continue;
      bool const tiny = n <= tiny_largest;
      // A square product of these layouts. A matrix of one element is by columns in any case.
      auto const add = [&](simt::Layout a, simt::Layout b, simt::Layout c, Structure structure, Written written) {
        auto const lines = [](simt::Layout layout) { return simt::is_by_rows(layout) ? Lines::rows : Lines::columns; };
        auto const layout = [n](simt::Layout given) { return n == 1 ? columns : given; };
        if (tiny) {
          for (GemmTiles tiles : tuning::shipped(GemmTilesSpace{dtype, n, n, n}, filter.candidates)) {
            tiles.a = layout(a), tiles.b = layout(b), tiles.c = layout(c);
            tiles.structure = structure, tiles.written = written;
            kernels.push_back(source(dtype, tiles));
          }
        } else {
          for (GemmRing ring : tuning::shipped(GemmRingSpace{dtype, n, n, n}, filter.candidates)) {
            ring.a = lines(a), ring.b = lines(b), ring.c = lines(c);
            ring.structure = structure, ring.written = written;
            kernels.push_back(source(dtype, ring));
          }
        }
      };
      if (filter.wants_routine("gemm")) add(columns, columns, columns, Structure::general, Written::whole);
      int const real_bytes = element_bytes(dtype) / (complex ? 2 : 1);
      if (filter.wants_routine("gemm") && gemm_spans_pays(real_bytes, complex, n, n, n))
        for (KernelSource& kernel : gemm_kernels_by_spans(dtype, n, filter.candidates)) kernels.push_back(std::move(kernel));
      if (filter.wants_routine("gemm") && !tiny) {  // ragged ones, whose largest matrix has n rows: see launch_by_sizes
        for (int const scheduled : {0, 1})
          for (std::int64_t const side : sizes_up_to(n, scheduled == 1))
            for (GemmRing ring : tuning::shipped(GemmRingSpace{dtype, side, side, n})) {
              ring.scheduled = scheduled;
              kernels.push_back(source(dtype, ring));
            }
      }
      for (simt::Layout const triangle : {columns, rows}) {  // the lower and the upper one
        bool const lower = triangle == columns;
        if (filter.wants_routine("symm") || (!complex && filter.wants_routine("hemm")))
          add(triangle, columns, columns, Structure::symmetric, Written::whole);
        if (complex && filter.wants_routine("hemm")) add(triangle, columns, columns, Structure::hermitian, Written::whole);
        bool const updates = filter.wants_routine("syrk") || filter.wants_routine("syr2k");
        bool const hermitian_updates = filter.wants_routine("herk") || filter.wants_routine("her2k");
        if (updates || (!complex && hermitian_updates)) add(columns, rows, triangle, Structure::general, Written::lower);
        if (complex && hermitian_updates) add(columns, rows, triangle, Structure::general, Written::lower_hermitian);
        if (tiny && filter.wants_routine("trmm"))
          add(columns, columns, columns, lower ? Structure::lower : Structure::upper, Written::whole);
      }
      if (filter.wants_routine("gemv")) {
        if (tiny)
          for (GemmTiles const& c : tuning::shipped(GemmTilesSpace{dtype, n, 1, n}, filter.candidates)) kernels.push_back(source(dtype, c));
        else
          for (KernelSource& kernel : sources_of_gemv(dtype, n, filter.candidates)) kernels.push_back(std::move(kernel));
      }
      if (filter.wants_routine("ger") && tiny) {
        for (GemmTiles outer : tuning::shipped(GemmTilesSpace{dtype, n, n, 1}, filter.candidates)) {
          if (n > 1) outer.b = rows;  // a column, transposed
          kernels.push_back(source(dtype, outer));
        }
      }
    }
  }
  if (filter.wants_routine("gemm") || filter.wants_routine("gemv") || filter.wants_routine("ger")) kernels.push_back(Schedule::source());
  if (filter.wants_routine("gemm"))
    for (KernelSource& kernel : gemm_groups_kernels()) kernels.push_back(std::move(kernel));
  for (Dtype const dtype : {Dtype::f16, Dtype::bf16, Dtype::c16}) {
    if (!filter.wants_dtype(dtype) || !filter.wants_routine("gemm")) continue;
    bool const complex = dtype == Dtype::c16;
    int const bytes = complex ? 4 : 2;
    for (int n = 1; n <= 128; ++n) {
      if (!filter.wants_size(n)) continue;
      int const unit = std::gcd(n, 16 / bytes), unit_or_piece = unit * bytes < 16 ? 0 : unit;
      if (gemm_halves_streams(complex, n, n, n, unit * bytes)) {
        GemmHalvesStreamOperands const operands{.a = Lines::columns,
                                                .b = Lines::columns,
                                                .a_unit = unit_or_piece,
                                                .b_unit = unit_or_piece,
                                                .c_unit = unit_or_piece,
                                                .words = unit * bytes >= 4 ? 1 : 0};
        for (GemmHalvesStream const& c : tuning::shipped(GemmHalvesStreamSpace{{dtype, false, n, n, n}, operands}, filter.candidates))
          kernels.push_back(source(dtype, c, dtype));
      } else {
        for (GemmHalves const& c : tuning::shipped(GemmHalvesSpace{{dtype, false, n, n, n}}, filter.candidates))
          kernels.push_back(source(dtype, c, dtype));
      }
      if (gemm_halves_whole(n, n, n)) continue;
      // Ragged ones, with lines that begin anywhere. Real products have C by rows.
      Lines const lines = complex ? Lines::columns : Lines::rows;
      for (int const scheduled : {0, 1})
        for (std::int64_t const side : sizes_up_to(n, scheduled == 1))
          for (GemmHalvesBlocks c : tuning::shipped(
                   GemmHalvesBlocksSpace{{dtype, false, side, side, n},
                                         {.a = lines, .b = lines, .c = lines, .aligned = 0, .shared_memory = largest_shared_memory}})) {
            c.scheduled = scheduled;
            kernels.push_back(source(dtype, c, dtype));
          }
    }
    // Those of compute capability 9.0 for large products, where plans take them. C by columns is the transposed product.
    if (complex) continue;
    for (std::int64_t n = 64; n <= 4096; n = n < 512 ? n + 64 : 2 * n) {
      if (!gemm_halves_warpgroups_pays(n, n, n, 1, 1) || !filter.wants_size_above(128)) continue;
      for (bool const whole_sectors : {true, false}) {
        GemmHalvesWarpgroupsOperands const boxes{
            .a = Lines::rows, .b = Lines::rows, .whole_sectors = whole_sectors, .shared_memory = largest_shared_memory};
        for (GemmHalvesWarpgroups const& c : tuning::shipped(GemmHalvesWarpgroupsSpace{{dtype, false, n, n, n}, boxes}, filter.candidates))
          kernels.push_back(source(dtype, c, dtype));
      }
    }
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T) template void gemm<T>(Queue&, GemmTask<T> const&, Structure, Written, GemmShape);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE
#define MYRIAD_INSTANTIATE(T)                        \
  template void gemm(Queue&, GemmTask<T, T> const&); \
  template void gemm(Queue&, GemmTask<T, Compute<T>> const&);
MYRIAD_FOR_EACH_HALF_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE
template bool gemm_by_warpgroups(Queue&, GemmTask<half, half> const&);
template bool gemm_by_warpgroups(Queue&, GemmTask<half, float> const&);
template bool gemm_by_warpgroups(Queue&, GemmTask<bfloat16, bfloat16> const&);
template bool gemm_by_warpgroups(Queue&, GemmTask<bfloat16, float> const&);

}  // namespace myriad::gpu
