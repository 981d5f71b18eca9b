#include "gemm/gemm_gpu.hpp"

#include <algorithm>
#include <any>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/dtype.hpp"
#include "gemm/gemm_choice.hpp"
#include "gemm/ragged/gemm_schedule_config.cuh"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tensor_map.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

/// Returns the config of a tuning table, or else the plan.
struct Planned {
  Queue& queue;
  template <typename Space>
  typename Space::Config operator()(Space const& space) const {
    return tuning::planned(queue, space);
  }
};

/// The kernel of a config for these element types.
template <typename T, typename Output, typename Config>
Kernel const& kernel_of_config(Queue& queue, Config const& c) {
  if constexpr (HalfElement<T>)
    return kernel_of(queue, kernel_name<Config>, dtype_of<T>, dtype_of<Output>, c);
  else
    return kernel_of(queue, kernel_name<Config>, dtype_of<T>, c);
}

/// The sizes alone, which is all that a schedule needs of matrices.
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

/// The schedule of a ragged batch. The constructor enqueues the kernel that makes it; its workspace is held until the launches that use it
/// are enqueued.
class Schedule {
 public:
  /// args.part: the launches by ascending sizes.
  Schedule(Queue& queue, GemmScheduleArguments args)
      : blocks_(std::clamp<std::int64_t>((args.c.count + threads - 1) / threads, 1, most_blocks)),
        counts_(queue),
        memory_(queue, bytes(args.c.count, blocks_)) {
    Kernel const& kernel = kernel_of(queue, name, threads);
    if (memory_.as<char>()) {  // null while kernels are only prepared: nothing is launched then
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

  static KernelSource source() { return source_of(name, threads); }

 private:
  /// Few, since they wait for each other at a grid barrier, and a context may have few of the multiprocessors.
  static constexpr std::int64_t most_blocks = 16;
  static constexpr int threads = 256;
  static constexpr KernelName name{"gemm/ragged/gemm_schedule"};
  static std::int64_t bytes(std::int64_t count, std::int64_t blocks) {
    return gemm_schedule_parts * std::int64_t{sizeof(GemmSchedulePart)} +
           (2 * gemm_schedule_kinds * blocks + count) * std::int64_t{sizeof(simt::Index)} + count * std::int64_t{sizeof(int)};
  }

  std::int64_t blocks_;
  GridCounts counts_;
  Workspace memory_;
  GemmSchedule schedule_{};
};

/// Waves of resident blocks above which a ragged batch gets a schedule, counted as if all matrices were as large as the largest one. With a
/// schedule at most as many waves are launched: several, so that a faster multiprocessor takes more blocks. An estimate:
/// docs/kernels/products.md.
constexpr std::int64_t times_with_schedule = 8;

/// The same for gemm_tiles, gemm_halves and gemv, whose blocks take less time each.
constexpr std::int64_t times_with_schedule_of_vectors = 32;

/// The arguments of a schedule, without its parts.
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

/// The tiling of one launch: m-by-n tiles of each of `together` neighbouring matrices; a block takes `of_block` of them at a time.
struct Tiling {
  int m, n, together, of_block, blocks_per_sm;
};
/// Launches the kernel of `config`, with a schedule where a ragged batch has so many tiles that it pays. kernel_of(config) returns the
/// kernel and its grid without the number of blocks.
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

/// The tiling of gemm_tiles and gemm_halves.
template <typename Config>
Tiling tiling_of(Config const& c, std::int64_t m, std::int64_t n) {
  // Where matrices are loaded whole, each is one tile.
  return {.m = c.whole() ? static_cast<int>(std::max<std::int64_t>(m, 1)) : c.m,
          .n = c.whole() ? static_cast<int>(std::max<std::int64_t>(n, 1)) : c.n,
          .together = c.matrices,
          .of_block = 1,
          .blocks_per_sm = c.blocks_per_sm};
}

/// The kernel for matrices C of up to some number of rows and columns.
struct SizedKernel {
  int m, n;                                                            ///< size of a tile
  int blocks_per_sm;                                                   ///< that are resident
  std::function<std::pair<Kernel const*, Grid>(bool scheduled)> find;  ///< returns the kernel and its grid without the number of blocks
};
/// For a config that has kernels with and without a schedule.
template <typename Config, typename KernelOf>
SizedKernel sized_kernel(Config config, KernelOf kernel_of) {
  return {.m = config.m, .n = config.n, .blocks_per_sm = config.blocks_per_sm, .find = [=](bool scheduled) {
            Config c = config;
            c.scheduled = scheduled ? 1 : 0;
            return kernel_of(c);
          }};
}

/// Largest sizes of the launches of a ragged batch; all larger matrices share one more launch. With a schedule a launch costs little and
/// skips no matrices, so there are more launches, with tiles that fit better.
constexpr std::array<std::int64_t, 3> sizes_of_launches{32, 64, 128};
constexpr std::array<std::int64_t, 7> sizes_of_scheduled_launches{32, 48, 64, 80, 96, 112, 128};
static_assert(gemm_schedule_parts == sizes_of_scheduled_launches.size() + 1);
// The sizes planned to decide about a schedule are launched with one, too, since a search times what is planned.
static_assert(std::includes(sizes_of_scheduled_launches.begin(), sizes_of_scheduled_launches.end(), sizes_of_launches.begin(),
                            sizes_of_launches.end()));
std::span<std::int64_t const> launch_sizes(bool scheduled) {
  return scheduled ? std::span<std::int64_t const>(sizes_of_scheduled_launches) : sizes_of_launches;
}
/// The launch sizes for a batch whose largest matrix has n rows.
std::vector<std::int64_t> sizes_up_to(std::int64_t n, bool scheduled) {
  auto const sizes = launch_sizes(scheduled);
  std::vector<std::int64_t> out(sizes.begin(), std::lower_bound(sizes.begin(), sizes.end(), n));
  out.push_back(n);
  return out;
}

/// Launches the kernels that `sized_of(m, n)` returns for matrices C of at most m rows and n columns. In a ragged batch small matrices
/// would leave most of a large tile empty, so there are several launches; each skips the matrices of the others. With `one_plan` there is
/// one launch.
///
/// A schedule is made where the blocks are so many waves that those without a tile would take longer than making it.
template <typename T, typename Output, typename SizedOf>
void launch_by_sizes(Queue& queue, ArgumentsOf<T, Output> const& args, bool one_plan, SizedOf const& sized_of) {
  struct Part {
    std::int64_t blocks, at_a_time;
    ArgumentsOf<T, Output> args;
    SizedKernel sized;
    std::pair<Kernel const*, Grid> kernel;
  };
  // With few matrices the launches would wait for each other longer than they compute.
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

/// Launches a kernel per group of sizes of a ragged batch: `of_sizes(m, n)` is the config for C of at most m rows and n columns, `config`
/// the one for the largest.
template <typename T, typename Output, typename Config, typename OfSizes, typename Bytes>
void launch_sized(Queue& queue, ArgumentsOf<T, Output> const& args, Config const& config, bool one_plan, OfSizes const& of_sizes,
                  Bytes const& bytes) {
  launch_by_sizes<T, Output>(queue, args, one_plan, [&](std::int64_t m, std::int64_t n) {
    return sized_kernel(m == args.c.rows && n == args.c.cols ? config : of_sizes(m, n), [&queue, bytes](Config const& c) {
      return std::pair(&kernel_of_config<T, Output>(queue, c), Grid{.threads = c.threads(), .shared_bytes = bytes(c)});
    });
  });
}

template <typename T>
void launch_config(Queue& queue, ArgumentsOf<T, T> const& args, GemmFacts const& facts, GemmPipelined const& c) {
  launch_sized<T, T>(
      queue, args, c, facts.planned_for.m > 0, [&](std::int64_t m, std::int64_t n) { return ring_of(facts, m, n, Planned{queue}); },
      [](GemmPipelined const& ring) { return GemmPipelinedMemory(sizeof(Real<T>), is_complex<T>, ring).bytes; });
}
template <typename T, typename Output>
void launch_config(Queue& queue, ArgumentsOf<T, Output> const& args, GemmFacts const& facts, GemmHalvesBlocks const& c) {
  launch_sized<T, Output>(
      queue, args, c, false, [&](std::int64_t m, std::int64_t n) { return blocks_of(facts, m, n, Planned{queue}); },
      [](GemmHalvesBlocks const& blocks) { return GemmHalvesBlocksMemory(sizeof(T), sizeof(Output), is_complex<T>, blocks).bytes; });
}

/// Launches a block per tile, or per several whole matrices.
template <typename T, typename Output, typename Config>
void launch_tiles(Queue& queue, ArgumentsOf<T, Output> const& args, Config const& c, std::int64_t bytes) {
  launch_by_tiles(queue, args, c, tiling_of(c, args.c.rows, args.c.cols), [&](Config const& config) {
    return std::pair(&kernel_of_config<T, Output>(queue, config), Grid{.threads = config.threads(), .shared_bytes = bytes});
  });
}
template <typename T>
void launch_config(Queue& queue, ArgumentsOf<T, T> const& args, GemmFacts const&, GemmTiles const& c) {
  launch_tiles<T, T>(queue, args, c, GemmTilesMemory(sizeof(T), c).bytes);
}
template <typename T, typename Output>
void launch_config(Queue& queue, ArgumentsOf<T, Output> const& args, GemmFacts const&, GemmHalves const& c) {
  launch_tiles<T, Output>(queue, args, c, GemmHalvesMemory(sizeof(T), sizeof(Output), c).bytes);
}

/// Launches a product with a vector: a warp, a group of its lanes or a lane has `rows` rows of a matrix, and a block `of_block` of these.
template <typename T, typename Config>
void launch_rows(Queue& queue, ArgumentsOf<T, T> const& args, Config const& c, int rows, int of_block, int bytes) {
  // Without a schedule these kernels do not stride over their work: a batch that exceeds the largest grid takes several launches.
  std::int64_t const at_a_time = std::numeric_limits<std::int32_t>::max() / ((args.c.rows + rows - 1) / rows) * of_block;
  for (std::int64_t b = 0; b < args.c.count; b += at_a_time) {
    std::int64_t const some = std::min<std::int64_t>(at_a_time, args.c.count - b);
    ArgumentsOf<T, T> part = args;
    part.a = matrices(args.a, b, some);
    part.b = matrices(args.b, b, some);
    part.c = matrices(args.c, b, some);
    launch_by_tiles(queue, part, c, {.m = rows, .n = 1, .together = 1, .of_block = of_block, .blocks_per_sm = c.blocks_per_sm},
                    [&](Config const& config) {
                      return std::pair(&kernel_of_config<T, T>(queue, config), Grid{.threads = config.threads(), .shared_bytes = bytes});
                    });
  }
}
template <typename T>
void launch_config(Queue& queue, ArgumentsOf<T, T> const& args, GemmFacts const&, GemvColumns const& c) {
  launch_rows<T>(queue, args, c, 1, c.threads(), 0);
}
template <typename T>
void launch_config(Queue& queue, ArgumentsOf<T, T> const& args, GemmFacts const&, GemvWhole const& c) {
  launch_rows<T>(queue, args, c, c.rows, c.warps, GemvWholeMemory(sizeof(T), c).bytes);
}
template <typename T>
void launch_config(Queue& queue, ArgumentsOf<T, T> const& args, GemmFacts const&, Gemv const& c) {
  launch_rows<T>(queue, args, c, c.rows, c.groups(), GemvMemory(sizeof(T), c).bytes);
}

template <typename T>
void launch_config(Queue& queue, ArgumentsOf<T, T> const& args, GemmFacts const& facts, GemmBulk const& c) {
  launch(queue, kernel_of_config<T, T>(queue, c),
         {.blocks = gemm_bulk_grid(c, args.c.count, facts.device->multiprocessors),
          .threads = c.threads(),
          .shared_bytes = GemmBulkMemory(sizeof(T), c).bytes},
         args);
}
template <typename T, typename Output>
void launch_config(Queue& queue, ArgumentsOf<T, Output> const& args, GemmFacts const& facts, GemmHalvesStream const& c) {
  std::int64_t const resident = std::int64_t{facts.device->multiprocessors} * c.blocks_per_sm;
  launch(queue, kernel_of_config<T, Output>(queue, c),
         {.blocks = c.stages == 1 ? args.c.count : std::min<std::int64_t>(args.c.count, resident),
          .threads = c.threads(),
          .shared_bytes = GemmHalvesStreamMemory(sizeof(T), sizeof(Output), is_complex<T>, c).bytes},
         args);
}

/// Number of persistent blocks for the tiles of `count` matrices. It has no common divisor with the tiles per matrix: otherwise some blocks
/// would get all the tiles at the edges, which are less work, and others none.
std::int64_t blocks_in_turns(std::int64_t count, std::int64_t tiles, std::int64_t most) {
  if (count * tiles <= most) return count * tiles;
  while (most > 1 && std::gcd(most, tiles) > 1) --most;
  return most;
}

/// Returns false, without a launch, where the driver refuses a tensor map.
template <typename T, typename Output>
bool launch_warpgroups(Queue& queue, ArgumentsOf<T, Output> const& args, GemmHalvesWarpgroups const& c) {
  auto const a = tensor_map(queue, gemm_boxes(args.a, c.a, c.a_lines_of_box())),
             b = tensor_map(queue, gemm_boxes(args.b, c.b, c.b_lines_of_box())),
             of_c = tensor_map(queue, gemm_boxes(args.c, Lines::rows, c.rows()));
  if (!a || !b || !of_c) return false;
  std::int64_t const tiles = ((args.c.rows + c.rows() - 1) / c.rows()) * ((args.c.cols + c.columns - 1) / c.columns);
  launch(queue, kernel_of_config<T, Output>(queue, c),
         {.blocks = blocks_in_turns(args.c.count, tiles, queue.device().multiprocessors),
          .threads = c.threads(),
          .shared_bytes = GemmHalvesWarpgroupsMemory(sizeof(Output), c).bytes},
         GemmBoxes<DeviceElement<T>, DeviceElement<Output>>{*a, *b, *of_c, args});
  return true;
}

template <typename T>
void multiply(Queue& queue, ArgumentsOf<T, T> const& args, GemmFacts const& facts) {
  GemmChoice const choice = choose(facts, Planned{queue});
  std::visit(
      [&](auto const& c) {
        if (choice.transposes)
          launch_config<T>(queue, transposed(args), facts.transposed(), c);
        else
          launch_config<T>(queue, args, facts, c);
      },
      choice.config);
}

}  // namespace

template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task) {
  auto const args = arguments_of(task);
  GemmFacts facts = facts_of<T, Output>(args, queue.device());
  GemmHalvesChoice choice = choose_of_halves(facts, Planned{queue});
  if constexpr (!is_complex<T>) {
    if (auto const* const c = std::get_if<GemmHalvesWarpgroups>(&choice.config)) {
      if (launch_warpgroups<T, Output>(queue, choice.transposes ? transposed(args) : args, *c)) return;
      facts.takes_warpgroups = false;
      choice = choose_of_halves(facts, Planned{queue});
    }
  }
  std::visit(
      [&]<typename Config>(Config const& c) {
        if constexpr (!std::is_same_v<Config, GemmHalvesWarpgroups>) {
          if (choice.transposes)
            launch_config<T, Output>(queue, transposed(args), facts.transposed(), c);
          else
            launch_config<T, Output>(queue, args, facts, c);
        }
      },
      choice.config);
}

template <Element T>
void gemm(Queue& queue, GemmTask<T> const& task, Structure structure, Written written, GemmShape planned_for) {
  auto const args = arguments_of(task);
  GemmFacts facts = facts_of<T, T>(args, queue.device());
  facts.structure = structure;
  facts.written = written;
  facts.planned_for = planned_for;
  // Neighbouring blocks of one array have the same base address, but other offsets.
  facts.in_place = facts.k > 0 && task.b.data == task.c.data && task.b.pointers == task.c.pointers &&
                   task.b.row_offset == task.c.row_offset && task.b.col_offset == task.c.col_offset;
  if (facts.in_place && facts.m > gemm_rows_in_place) throw std::logic_error("gemm: a product in place has too many rows");
  multiply<T>(queue, args, facts);
}

void gemm_on_tensor_cores(Queue& queue, GemmTask<float> const& task, Arithmetic arithmetic) {
  auto const args = arguments_of(task);
  GemmFacts facts = facts_of<float, float>(args, queue.device());
  // Layouts and the GPU alone decide, so that a matrix has the same bits in every batch of its layout.
  if (queue.device().major < 8 || !facts.have_lines()) {
    gemm(queue, task);
    return;
  }
  facts.factors = arithmetic == Arithmetic::tf32 ? Factors::rounded : Factors::split;
  multiply<float>(queue, args, facts);
}

namespace {

/// An H200, as far as choices depend on it.
Device const& device_of_packs() {
  static Device const device = [] {
    Device out;
    out.major = 9;
    out.multiprocessors = 132;
    out.shared_memory_per_block = 227 * 1024;  // the same on compute capability 10.0
    return out;
  }();
  return device;
}
/// Packed matrices, by columns or by rows.
template <typename T>
auto packed(std::int64_t rows, std::int64_t columns, Lines lines, std::uintptr_t address = 0) {
  constexpr std::int64_t count = 1 << 20;
  auto* const at = reinterpret_cast<T*>(address);  // never dereferenced
  return matrices_of(lines == Lines::columns ? batch(at, rows, columns, {.count = count})
                                             : transposed(batch(at, columns, rows, {.count = count})));
}
/// The facts of many products of packed matrices. `begin`: the address of A; `widened`: whether C has the type of sums.
GemmFacts facts_of_packed(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, Lines a, Lines b, Lines c, std::uintptr_t begin = 0,
                          bool widened = false) {
  return with_any_dtype(dtype, [&]<typename T>() {
    auto const facts = [&]<typename Output>(std::type_identity<Output>) {
      ArgumentsOf<T, Output> const args{.alpha = {},
                                        .beta = {},
                                        .a = packed<T>(m, k, a, begin).as_const(),
                                        .b = packed<T>(k, n, b).as_const(),
                                        .c = packed<Output>(m, n, c),
                                        .depth = k};
      return facts_of<T, Output>(args, device_of_packs());
    };
    return widened ? facts(std::type_identity<Compute<T>>()) : facts(std::type_identity<T>());
  });
}

/// A plan that returns all configs that a pack holds for the space a choice asks for, one after the other.
class Shipped {
 public:
  explicit Shipped(std::size_t candidates = 0) : candidates_(candidates) {}
  template <typename Space>
  typename Space::Config operator()(Space const& space) const {
    using List = std::vector<typename Space::Config>;
    if (!all_.has_value()) all_ = tuning::shipped(space, candidates_);
    auto const& list = std::any_cast<List const&>(all_);
    count_ = list.size();
    return list[number_];
  }
  bool next() { return ++number_ < count_; }

 private:
  std::size_t candidates_, number_ = 0;
  mutable std::size_t count_ = 1;
  mutable std::any all_;
};

/// Adds the kernels that `choose_by(plan)` selects with each plan: it returns a choice, a config, or none.
template <typename ChooseBy>
void add_kernels(std::vector<KernelSource>& kernels, GemmFacts const& facts, std::size_t candidates, ChooseBy const& choose_by) {
  auto const add = [&]<typename Config>(Config const& c) {
    KernelSource kernel = is_half(facts.dtype) ? source_of(kernel_name<Config>, facts.dtype, facts.output, c)
                                               : source_of(kernel_name<Config>, facts.dtype, c);
    kernels.push_back(std::move(kernel));
  };
  Shipped plan(candidates);
  do {
    auto const chosen = choose_by(plan);
    if constexpr (requires { chosen.config; })
      std::visit(add, chosen.config);
    else if constexpr (requires { chosen.has_value(); }) {
      if (chosen) add(*chosen);
    } else
      add(chosen);
  } while (plan.next());
}

/// The config, if the choice is this kernel.
template <typename Config, typename Choice>
std::optional<Config> only(Choice const& choice) {
  Config const* const c = std::get_if<Config>(&choice.config);
  return c ? std::optional(*c) : std::nullopt;
}

}  // namespace

std::vector<KernelSource> gemm_kernels_of(Dtype dtype, GemmShape planned_for, Lines a, Lines b, Lines c, Written written) {
  std::vector<KernelSource> kernels;
  GemmFacts facts = facts_of_packed(dtype, planned_for.m, planned_for.n, planned_for.k, a, b, c);
  facts.planned_for = planned_for;
  facts.written = written;
  for (int const scheduled : {0, 1})  // with a schedule for large ragged batches
    add_kernels(kernels, facts, 0, [&](auto const& plan) {
      GemmPipelined config = ring_of(facts, facts.m, facts.n, plan);
      config.scheduled = scheduled;
      return config;
    });
  return kernels;
}

std::vector<KernelSource> gemm_kernels_by_bulk(Dtype dtype, int n, std::size_t candidates) {
  std::vector<KernelSource> kernels;
  // Batches that do not begin at a multiple of 16 bytes, or are behind pointers, have units of fewer elements.
  bool const by_lanes = dtype == Dtype::f32 || dtype == Dtype::c32;
  for (int unit = by_lanes ? std::gcd(n, 16 / element_bytes(dtype)) : 1; unit > 0; unit /= 2) {
    auto const begin = static_cast<std::uintptr_t>(unit * element_bytes(dtype));
    GemmFacts const facts = facts_of_packed(dtype, n, n, n, Lines::columns, Lines::columns, Lines::columns, begin);
    add_kernels(kernels, facts, candidates, [&](auto const& plan) { return only<GemmBulk>(choose(facts, plan)); });
  }
  return kernels;
}

namespace {

/// Adds the kernels of ragged batches whose largest matrix has n rows and columns; see launch_by_sizes.
void add_ragged(std::vector<KernelSource>& kernels, std::int64_t n, GemmFacts const& facts) {
  for (int const scheduled : {0, 1})
    for (std::int64_t const side : sizes_up_to(n, scheduled == 1)) {
      auto const with = [&](auto config) {
        config.scheduled = scheduled;
        return config;
      };
      if (is_half(facts.dtype))
        add_kernels(kernels, facts, 0, [&](auto const& plan) { return with(blocks_of(facts, side, side, plan)); });
      else
        add_kernels(kernels, facts, 0, [&](auto const& plan) { return with(ring_of(facts, side, side, plan)); });
    }
}

}  // namespace

std::vector<KernelSource> gemm_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  constexpr Lines columns = Lines::columns, rows = Lines::rows;
  for (Dtype const dtype : {Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64}) {
    if (!filter.wants_dtype(dtype)) continue;
    bool const complex = is_complex_dtype(dtype);
    for (int n = 1; n <= 128; ++n) {
      if (!filter.wants_size(n)) continue;
      bool const tiny = n <= tiny_largest;
      // Packs serve GPUs without gemm_bulk, too.
      auto const add = [&](std::int64_t columns_of_c, std::int64_t terms, Lines a, Lines b, Lines c, Structure structure, Written written) {
        GemmFacts facts = facts_of_packed(dtype, n, columns_of_c, terms, a, b, c);
        facts.structure = structure;
        facts.written = written;
        facts.takes_bulk = false;
        add_kernels(kernels, facts, filter.candidates, [&](auto const& plan) { return choose(facts, plan); });
      };
      if (filter.wants_routine("gemm")) {
        add(n, n, columns, columns, columns, Structure::general, Written::whole);
        for (KernelSource& kernel : gemm_kernels_by_bulk(dtype, n, filter.candidates)) kernels.push_back(std::move(kernel));
        if (!tiny) add_ragged(kernels, n, facts_of_packed(dtype, n, n, n, columns, columns, columns));
      }
      for (Lines const triangle : {columns, rows}) {  // the lower and the upper one
        bool const lower = triangle == columns;
        if (filter.wants_routine("symm") || (!complex && filter.wants_routine("hemm")))
          add(n, n, triangle, columns, columns, Structure::symmetric, Written::whole);
        if (complex && filter.wants_routine("hemm")) add(n, n, triangle, columns, columns, Structure::hermitian, Written::whole);
        bool const updates = filter.wants_routine("syrk") || filter.wants_routine("syr2k");
        bool const hermitian_updates = filter.wants_routine("herk") || filter.wants_routine("her2k");
        if (updates || (!complex && hermitian_updates)) add(n, n, columns, rows, triangle, Structure::general, Written::lower);
        if (complex && hermitian_updates) add(n, n, columns, rows, triangle, Structure::general, Written::lower_hermitian);
        if (tiny && filter.wants_routine("trmm"))
          add(n, n, columns, columns, columns, lower ? Structure::lower : Structure::upper, Written::whole);
      }
      // A B' of updates with alpha or beta in memory
      if (filter.wants_routine("syr2k") || filter.wants_routine("her2k"))
        add(n, n, columns, rows, columns, Structure::general, Written::whole);
      if (filter.wants_routine("gemv")) add(1, n, columns, columns, columns, Structure::general, Written::whole);
      if (filter.wants_routine("ger") && tiny) add(n, 1, columns, rows, columns, Structure::general, Written::whole);  // y, transposed
    }
  }
  if (filter.wants_routine("gemm") || filter.wants_routine("gemv") || filter.wants_routine("ger")) kernels.push_back(Schedule::source());
  if (!filter.wants_routine("gemm")) return kernels;
  for (KernelSource& kernel : gemm_groups_kernels()) kernels.push_back(std::move(kernel));
  for (Dtype const dtype : {Dtype::f16, Dtype::bf16, Dtype::c16}) {
    if (!filter.wants_dtype(dtype)) continue;
    for (int n = 1; n <= 128; ++n) {
      if (!filter.wants_size(n)) continue;
      for (bool const widened : {false, true}) {
        GemmFacts const facts = facts_of_packed(dtype, n, n, n, columns, columns, columns, 0, widened);
        add_kernels(kernels, facts, filter.candidates, [&](auto const& plan) { return choose_of_halves(facts, plan); });
      }
      if (gemm_halves_whole(n, n, n)) continue;
      // Ragged batches, with lines that begin anywhere. Real products have C by rows.
      Lines const lines = is_complex_dtype(dtype) ? columns : rows;
      add_ragged(kernels, n, facts_of_packed(dtype, n, n, n, lines, lines, lines, element_bytes(dtype)));
    }
    // The kernels of compute capability 9.0 for large products, where plans choose them. C by columns is the transposed product.
    for (std::int64_t n = 64; n <= 4096; n = n < 512 ? n + 64 : 2 * n) {
      if (!filter.wants_size_above(128)) continue;
      for (std::uintptr_t const begin : {0, 16}) {  // lines begin at multiples of 32 bytes, or of 16
        GemmFacts const facts = facts_of_packed(dtype, n, n, n, rows, rows, rows, begin);
        add_kernels(kernels, facts, filter.candidates,
                    [&](auto const& plan) { return only<GemmHalvesWarpgroups>(choose_of_halves(facts, plan)); });
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

}  // namespace myriad::gpu
