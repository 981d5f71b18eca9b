/// gemm_grouped on a GPU: small groups whose products differ only in sizes and addresses become one ragged batch, or one for each of three
/// ranges of sizes. The GPU makes the batch, which uses the kernels and the schedule of ragged batches.

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "gemm/gemm_gpu.hpp"
#include "gemm/ragged/gemm_groups_config.cuh"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/nvrtc.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

/// Limits of a small group. A group with more matrices, or with both more bytes and more tiles per multiprocessor, keeps the GPU busy by
/// itself, with the kernel for its size.
constexpr std::int64_t most_matrices = 16384, most_bytes = 16 << 20, most_tiles = 4;
/// Number of groups from which on merging is worth its launches.
constexpr std::size_t least_groups = 4;
/// Most matrices of a merged batch, and the numbers and addresses stored for each: 151 MB in all
constexpr std::int64_t most_of_batch = 1 << 21, arrays = 9;

constexpr KernelName gemm_groups_kernel{"gemm/ragged/gemm_groups"};
constexpr int threads_of_groups = 128;

template <typename T>
bool by_columns(Batch<T> const& x) {
  return x.row_stride == 1;
}
template <typename T>
bool is_one_size_of_lines(Batch<T> const& x) {
  return !x.ragged() && !x.row_strides && !x.col_strides && (x.row_stride == 1 || x.col_stride == 1);
}

template <typename T, typename Output>
bool is_small(Queue& queue, GemmTask<T, Output> const& task) {
  if (!is_one_size_of_lines(task.a) || !is_one_size_of_lines(task.b) || !is_one_size_of_lines(task.c)) return false;
  std::int64_t const m = task.c.rows, n = task.c.cols, k = task.a.cols, count = task.c.count;
  if (count > most_matrices) return false;
  double const bytes =
      static_cast<double>(count) * (static_cast<double>(m + n) * k * sizeof(T) + 2.0 * static_cast<double>(m) * n * sizeof(Output));
  double const tiles = static_cast<double>(count) * static_cast<double>((m + 63) / 64) * static_cast<double>((n + 63) / 64);
  return bytes <= most_bytes || tiles <= static_cast<double>(most_tiles * queue.device().multiprocessors);
}
/// Whether several such matrices share a block. In a batch with larger ones each would take a whole block.
template <typename T, typename Output>
bool is_tiny(GemmTask<T, Output> const& x) {
  return std::max({x.c.rows, x.c.cols, x.a.cols}) <= tiny_largest;
}
/// Whether one launch can compute both, and does so well.
template <typename T, typename Output>
bool are_alike(GemmTask<T, Output> const& x, GemmTask<T, Output> const& y) {
  // Compares bits, since zeros have signs.
  auto const same_bits = [](Compute<T> const& a, Compute<T> const& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; };
  return same_bits(x.alpha, y.alpha) && same_bits(x.beta, y.beta) && x.a.conjugated == y.a.conjugated && x.b.conjugated == y.b.conjugated &&
         by_columns(x.a) == by_columns(y.a) && by_columns(x.b) == by_columns(y.b) && by_columns(x.c) == by_columns(y.c) &&
         is_tiny(x) == is_tiny(y);
}

template <typename T>
GemmGroupOperand operand_of(Batch<T> const& x) {
  std::int64_t const offset = x.row_offset * x.row_stride + x.col_offset * x.col_stride, line = by_columns(x) ? x.col_stride : x.row_stride;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  if (x.pointers) return {.data = reinterpret_cast<char const*>(x.pointers), .batch_bytes = offset * bytes, .line_elements = line};
  return {.data = reinterpret_cast<char const*>(x.data + offset), .batch_bytes = x.batch_stride * bytes, .line_elements = line};
}

/// A ragged batch with the layout of `x` and these upper bounds.
template <typename T>
Batch<T> ragged_like(Batch<T> const& x, std::int64_t const* pointers, std::int64_t rows, std::int64_t cols, std::int64_t const* row_sizes,
                     std::int64_t const* col_sizes, std::int64_t const* lines, std::int64_t count) {
  Batch<T> out{.pointers = reinterpret_cast<T* const*>(pointers), .rows = rows, .cols = cols, .count = count};
  out.row_sizes = row_sizes;
  out.col_sizes = col_sizes;
  // Where strides differ per matrix, the uniform ones only say which is larger.
  if (by_columns(x)) {
    out.row_stride = 1, out.col_stride = std::max<std::int64_t>(rows, 2);
    out.col_strides = lines;
  } else {
    out.row_stride = std::max<std::int64_t>(cols, 2), out.col_stride = 1;
    out.row_strides = lines;
  }
  out.conjugated = x.conjugated;
  return out;
}

/// Whether the compiler, if there is one, accepts kernels with more than 4 KiB of parameters.
bool compiles_large_launches() {
  Nvrtc const& compiler = Nvrtc::instance();
  return !compiler.available() || compiler.version() >= 12010;
}

/// The kernel for large launches; null where driver or compiler is too old for it, or where the packs were built by such a compiler.
Kernel const* kernel_of_large_launches(Queue& queue) {
  if (!takes_large_parameters() || !compiles_large_launches()) return nullptr;
  return kernel_if_there(queue, kernel_key(gemm_groups_kernel.id, threads_of_groups, gemm_groups_of_large_launch),
                         [] { return source_of(gemm_groups_kernel, threads_of_groups, gemm_groups_of_large_launch); });
}

/// Groups that share a launch, or a few: a ragged batch, bounded by the largest of their sizes.
template <typename Task>
struct Together {
  std::vector<Task const*> tasks{};
  std::int64_t count = 0, m = 0, n = 0, k = 0;

  void add(Task const& task) {
    tasks.push_back(&task);
    count += task.c.count;
    m = std::max(m, task.c.rows);
    n = std::max(n, task.c.cols);
    k = std::max(k, task.a.cols);
  }
};

/// Divides larger matrices, if there are more of them than multiprocessors, into batches of up to 64, up to 128 and more rows and columns.
/// (launch_by_sizes does so for batches of unknown sizes, with blocks that skip the matrices of other launches.)
template <typename Task>
void divide(Queue& queue, Together<Task> const& set, std::vector<Together<Task>>& out) {
  std::int64_t constexpr largest = std::numeric_limits<std::int64_t>::max();
  bool const apart = !is_tiny(*set.tasks.front()) && set.count > queue.device().multiprocessors;
  std::int64_t above = 0;
  for (std::int64_t const upto : {std::int64_t{64}, std::int64_t{128}, largest}) {
    if (!apart && upto != largest) continue;
    Together<Task> part;
    for (Task const* const task : set.tasks)
      if (std::int64_t const side = std::max(task->c.rows, task->c.cols); side > above && side <= upto) part.add(*task);
    if (part.count > 0) out.push_back(std::move(part));
    above = upto;
  }
}

/// Arrays of sizes, strides and addresses in workspace: `arrays` numbers per matrix.
class Arrays {
 public:
  Arrays(std::int64_t* memory, std::int64_t count) : memory_(memory), count_(count) {}
  [[nodiscard]] bool exist() const { return memory_ != nullptr; }
  /// While kernels are only prepared there is no memory; a non-null address still selects the kernels of ragged batches.
  [[nodiscard]] std::int64_t* at(std::int64_t number, std::int64_t matrix = 0) const {
    static std::int64_t nothing[arrays];
    return memory_ ? memory_ + number * count_ + matrix : nothing + number;
  }

 private:
  std::int64_t* memory_;
  std::int64_t count_;
};

/// Writes the arrays, up to `at_most` groups per launch.
template <int at_most, typename Task>
void write_arrays(Queue& queue, Kernel const& kernel, Arrays const& of, std::span<Together<Task> const> sets) {
  static_assert(sizeof(char*) == sizeof(simt::Index));
  if (!of.exist()) return;
  auto const pointers = [&](std::int64_t number) { return reinterpret_cast<char const**>(of.at(number)); };
  auto const indices = [&](std::int64_t number) { return reinterpret_cast<simt::Index*>(of.at(number)); };
  GemmGroupsArguments<at_most> args;
  args.a = pointers(0), args.b = pointers(1);
  args.c = reinterpret_cast<char**>(of.at(2));
  args.m = indices(3), args.n = indices(4), args.k = indices(5);
  args.lines_of_a = indices(6), args.lines_of_b = indices(7), args.lines_of_c = indices(8);
  args.groups = 0;
  args.end = 0;
  std::int64_t begin = 0;
  auto const launch_them = [&] {
    launch(queue, kernel, {.blocks = (args.end - begin + threads_of_groups - 1) / threads_of_groups, .threads = threads_of_groups}, args);
    begin = args.end;
    args.groups = 0;
  };
  for (Together<Task> const& set : sets)
    for (Task const* const task : set.tasks) {
      args.group[args.groups++] = {.a = operand_of(task->a),
                                   .b = operand_of(task->b),
                                   .c = operand_of(task->c),
                                   .first = args.end,
                                   .m = static_cast<int>(task->c.rows),
                                   .n = static_cast<int>(task->c.cols),
                                   .k = static_cast<int>(task->a.cols),
                                   .behind_pointers = (task->a.pointers ? 1 : 0) | (task->b.pointers ? 2 : 0) | (task->c.pointers ? 4 : 0)};
      args.end += task->c.count;
      if (args.groups == at_most) launch_them();
    }
  if (args.groups > 0) launch_them();
}

/// Multiplies sets that have at most most_of_batch matrices together.
template <typename T, typename Output>
void multiply_together(Queue& queue, Workspace const& memory, std::span<Together<GemmTask<T, Output>> const> sets) {
  std::int64_t count = 0;
  std::size_t groups = 0;
  for (auto const& set : sets) {
    count += set.count;
    groups += set.tasks.size();
  }
  Arrays const of(memory.as<std::int64_t>(), count);
  if (Kernel const* const large = groups > gemm_groups_of_launch ? kernel_of_large_launches(queue) : nullptr)
    write_arrays<gemm_groups_of_large_launch>(queue, *large, of, sets);
  else
    write_arrays<gemm_groups_of_launch>(queue, kernel_of(queue, gemm_groups_kernel, threads_of_groups, gemm_groups_of_launch), of, sets);
  std::int64_t begin = 0;
  for (auto const& set : sets) {
    GemmTask<T, Output> const& first = *set.tasks.front();
    auto const array = [&](std::int64_t number) { return of.at(number, begin); };
    GemmTask<T, Output> const all{.alpha = first.alpha,
                                  .a = ragged_like(first.a, array(0), set.m, set.k, array(3), array(5), array(6), set.count),
                                  .b = ragged_like(first.b, array(1), set.k, set.n, array(5), array(4), array(7), set.count),
                                  .beta = first.beta,
                                  .c = ragged_like(first.c, array(2), set.m, set.n, array(3), array(4), array(8), set.count)};
    if constexpr (Element<T>)
      gemm<T>(queue, all, Structure::general, Written::whole, {set.m, set.n, set.k});
    else
      gemm<T>(queue, all);
    begin += set.count;
  }
}

}  // namespace

std::vector<KernelSource> gemm_groups_kernels() {
  std::vector<KernelSource> out{source_of(gemm_groups_kernel, threads_of_groups, gemm_groups_of_launch)};
  if (compiles_large_launches()) out.push_back(source_of(gemm_groups_kernel, threads_of_groups, gemm_groups_of_large_launch));
  return out;
}

template <typename T, typename Output>
void gemm_grouped(Queue& queue, std::vector<GemmTask<T, Output>> const& tasks) {
  using Set = Together<GemmTask<T, Output>>;
  std::vector<Set> sets;
  std::vector<GemmTask<T, Output> const*> alone;
  for (GemmTask<T, Output> const& task : tasks) {
    if (!is_small(queue, task)) {
      alone.push_back(&task);
      continue;
    }
    auto set = std::find_if(sets.begin(), sets.end(),
                            [&](Set const& x) { return are_alike(*x.tasks.front(), task) && x.count + task.c.count <= most_of_batch; });
    if (set == sets.end()) set = sets.insert(set, Set{});
    set->add(task);
  }
  std::vector<Set> parts;
  for (Set const& set : sets) {
    if (set.tasks.size() < least_groups)
      alone.insert(alone.end(), set.tasks.begin(), set.tasks.end());
    else if constexpr (Element<T>)
      divide(queue, set, parts);
    else
      parts.push_back(set);
  }
  // Turns of at most most_of_batch matrices each
  std::vector<std::span<Set const>> turns;
  std::int64_t of_turn = 0, most = 0;
  for (std::size_t p = 0, first = 0; p < parts.size(); ++p) {
    if (of_turn + parts[p].count > most_of_batch) first = p, of_turn = 0;
    of_turn += parts[p].count;
    most = std::max(most, of_turn);
    if (first == p) turns.emplace_back();
    turns.back() = std::span(parts).subspan(first, p + 1 - first);
  }
  auto const all = [&] {
    // One workspace for all turns, which follow each other.
    Workspace const memory(queue, arrays * most * static_cast<std::int64_t>(sizeof(simt::Index)));
    for (auto const& turn : turns) multiply_together<T, Output>(queue, memory, turn);
    for (GemmTask<T, Output> const* const task : alone) gemm<T>(queue, *task);
  };
  run_at_once(queue, all);
}

#define MYRIAD_INSTANTIATE(T) template void gemm_grouped(Queue&, std::vector<GemmTask<T, T>> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE
#define MYRIAD_INSTANTIATE(T)                                             \
  template void gemm_grouped(Queue&, std::vector<GemmTask<T, T>> const&); \
  template void gemm_grouped(Queue&, std::vector<GemmTask<T, Compute<T>>> const&);
MYRIAD_FOR_EACH_HALF_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
