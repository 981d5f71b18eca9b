/// gemm_grouped on a GPU: small groups whose products differ in nothing but sizes and places become one ragged batch, which is made on the
/// GPU and has the kernels, and the schedule, of one.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/dtype.hpp"
#include "gemm/gemm_gpu.hpp"
#include "gemm/gemm_groups_config.cuh"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

/// A group that has more matrices than that, or that moves more bytes and has more tiles for each multiprocessor, keeps the GPU busy by
/// itself, with the kernel for its size.
constexpr std::int64_t most_matrices = 16384, most_bytes = 16 << 20, most_tiles = 4;
/// So many are worth the launches that make a batch of them.
constexpr std::size_t least_groups = 4;
/// Of one batch, which has so many numbers and addresses of each matrix: 151 MB of all
constexpr std::int64_t most_of_batch = 1 << 21, arrays = 9;

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
/// Whether a matrix has a part of a block. Among larger ones it would have a whole one.
template <typename T, typename Output>
bool is_tiny(GemmTask<T, Output> const& x) {
  return std::max({x.c.rows, x.c.cols, x.a.cols}) <= tiny_largest;
}
/// Whether one launch can compute both, and would do so well.
template <typename T, typename Output>
bool are_alike(GemmTask<T, Output> const& x, GemmTask<T, Output> const& y) {
  // Zeros have signs.
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

/// A ragged batch like `x`, with the bounds of all.
template <typename T>
Batch<T> ragged_like(Batch<T> const& x, std::int64_t const* pointers, std::int64_t rows, std::int64_t cols, std::int64_t const* row_sizes,
                     std::int64_t const* col_sizes, std::int64_t const* lines, std::int64_t count) {
  Batch<T> out{.pointers = reinterpret_cast<T* const*>(pointers), .rows = rows, .cols = cols, .count = count};
  out.row_sizes = row_sizes;
  out.col_sizes = col_sizes;
  // Of strides that differ the bound says which is the larger one.
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

/// `memory`: `arrays` indices for each matrix
template <typename T, typename Output>
void multiply_together(Queue& queue, Workspace const& memory, std::vector<GemmTask<T, Output>> const& tasks) {
  GemmTask<T, Output> const& first = tasks.front();
  std::int64_t m = 0, n = 0, k = 0, count = 0;
  for (GemmTask<T, Output> const& task : tasks) {
    m = std::max(m, task.c.rows);
    n = std::max(n, task.c.cols);
    k = std::max(k, task.a.cols);
    count += task.c.count;
  }
  static_assert(sizeof(char*) == sizeof(simt::Index));
  // Without memory, while kernels are only prepared, they have to be those of such batches.
  static std::int64_t nothing[arrays];
  auto const array = [&](std::int64_t number) {
    return memory.as<std::int64_t>() ? memory.as<std::int64_t>() + number * count : nothing + number;
  };
  auto const pointers = [&](std::int64_t number) { return reinterpret_cast<char const**>(array(number)); };
  auto const indices = [&](std::int64_t number) { return reinterpret_cast<simt::Index*>(array(number)); };

  constexpr int threads = 128;
  Kernel const& kernel = kernel_for(queue, kernel_key(kernel_id("gemm/gemm_groups")), [] { return gemm_groups_kernel(); });
  std::int64_t begin = 0;
  for (std::size_t g = 0; g < tasks.size(); g += gemm_groups_of_launch) {
    GemmGroupsArguments args{};
    args.a = pointers(0), args.b = pointers(1);
    args.c = reinterpret_cast<char**>(array(2));
    args.m = indices(3), args.n = indices(4), args.k = indices(5);
    args.lines_of_a = indices(6), args.lines_of_b = indices(7), args.lines_of_c = indices(8);
    args.groups = static_cast<int>(std::min<std::size_t>(gemm_groups_of_launch, tasks.size() - g));
    args.end = begin;
    for (int i = 0; i < args.groups; ++i) {
      GemmTask<T, Output> const& task = tasks[g + static_cast<std::size_t>(i)];
      args.group[i] = {.a = operand_of(task.a),
                       .b = operand_of(task.b),
                       .c = operand_of(task.c),
                       .first = args.end,
                       .m = static_cast<int>(task.c.rows),
                       .n = static_cast<int>(task.c.cols),
                       .k = static_cast<int>(task.a.cols),
                       .behind_pointers = (task.a.pointers ? 1 : 0) | (task.b.pointers ? 2 : 0) | (task.c.pointers ? 4 : 0)};
      args.end += task.c.count;
    }
    launch(queue, kernel, {.blocks = (args.end - begin + threads - 1) / threads, .threads = threads}, args);
    begin = args.end;
  }
  gemm<T>(queue, GemmTask<T, Output>{.alpha = first.alpha,
                                     .a = ragged_like(first.a, array(0), m, k, array(3), array(5), array(6), count),
                                     .b = ragged_like(first.b, array(1), k, n, array(5), array(4), array(7), count),
                                     .beta = first.beta,
                                     .c = ragged_like(first.c, array(2), m, n, array(3), array(4), array(8), count)});
}

}  // namespace

KernelSource gemm_groups_kernel() {
  return {.header = "gemm/gemm_groups.cuh", .name = "myriad::gemm_groups<128>", .options = {"-default-device", "--fmad=false"}};
}

template <typename T, typename Output>
void gemm_grouped(Queue& queue, std::vector<GemmTask<T, Output>> const& tasks) {
  struct Together {
    std::vector<GemmTask<T, Output>> tasks;
    std::int64_t count = 0;
  };
  std::vector<Together> sets;
  std::vector<GemmTask<T, Output>> alone;
  for (GemmTask<T, Output> const& task : tasks) {
    if (!is_small(queue, task)) {
      alone.push_back(task);
      continue;
    }
    auto set = std::find_if(sets.begin(), sets.end(),
                            [&](Together const& x) { return are_alike(x.tasks.front(), task) && x.count + task.c.count <= most_of_batch; });
    if (set == sets.end()) set = sets.insert(set, Together{});
    set->tasks.push_back(task);
    set->count += task.c.count;
  }
  auto const few = std::stable_partition(sets.begin(), sets.end(), [](Together const& x) { return x.tasks.size() >= least_groups; });
  for (auto set = few; set != sets.end(); ++set) alone.insert(alone.end(), set->tasks.begin(), set->tasks.end());
  sets.erase(few, sets.end());
  if (!sets.empty()) {
    // One for all, which follow each other, and before anything is launched: who has no memory left has lost nothing.
    std::int64_t const most =
        std::max_element(sets.begin(), sets.end(), [](auto const& x, auto const& y) { return x.count < y.count; })->count;
    Workspace const memory(queue, arrays * most * static_cast<std::int64_t>(sizeof(simt::Index)));
    for (Together const& set : sets) multiply_together(queue, memory, set.tasks);
  }
  for (GemmTask<T, Output> const& task : alone) gemm<T>(queue, task);
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
