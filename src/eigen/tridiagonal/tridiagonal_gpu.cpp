#include "eigen/tridiagonal/tridiagonal_gpu.hpp"

#include <algorithm>

#include "blocked/queue_machine.hpp"
#include "core/dtype.hpp"
#include "eigen/tridiagonal/tridiagonal_plan.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/launch.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {
namespace {

constexpr KernelName tridiagonal_block_kernel{"eigen/tridiagonal/tridiagonal_block"};
constexpr KernelName tridiagonal_panel_kernel{"eigen/tridiagonal/tridiagonal_panel"};
constexpr KernelName tridiagonal_resident_kernel{"eigen/tridiagonal/tridiagonal_resident"};
constexpr KernelName tridiagonal_update_kernel{"eigen/tridiagonal/tridiagonal_update"};

constexpr KernelName tridiagonal_largest_kernel{"eigen/tridiagonal/tridiagonal_copy", "tridiagonal_largest"},
    tridiagonal_load_kernel{"eigen/tridiagonal/tridiagonal_copy", "tridiagonal_load"},
    tridiagonal_store_kernel{"eigen/tridiagonal/tridiagonal_copy", "tridiagonal_store"};

/// Reduces as many matrices at a time as the workspace holds. Matrices that fit in the blocks' shared memory are reduced several at a time;
/// others by panels first, each by the whole GPU.
template <typename T>
void by_many_blocks(QueueMachine& machine, TridiagonalArguments<DeviceElement<T>> const& args) {
  using D = DeviceElement<T>;
  constexpr Dtype dtype = dtype_of<T>;
  Device const& device = machine.device();
  int const n = static_cast<int>(args.a.rows), multiprocessors = device.multiprocessors;
  int const shared_bytes = device.shared_memory_per_block;
  TridiagonalPanel const c = tridiagonal_panel_plan(sizeof(T), shared_bytes);
  TridiagonalUpdate const u = tridiagonal_update_plan(sizeof(T), shared_bytes);
  TridiagonalResident const r = tridiagonal_resident_plan();
  int const held_rows = tridiagonal_resident_rows(r, sizeof(T), multiprocessors, shared_bytes), rows = std::min(n, held_rows);
  bool const panels = n > held_rows;
  int const copy_blocks = 4 * multiprocessors, blocks = panels ? tridiagonal_panel_blocks(c, sizeof(T), device) * multiprocessors : 0;
  std::int64_t const bytes = bytes_of<TridiagonalWorkspace<D>>(0, c, n, blocks, copy_blocks);
  auto const groups_of = [&](std::int64_t count) { return tridiagonal_groups(r, sizeof(T), rows, count, multiprocessors, shared_bytes); };
  std::int64_t some = panels ? 1 : most_at_once(args.a.count, tridiagonal_workspace, bytes);
  if (some < args.a.count) some -= some % groups_of(some).count;  // a multiple of the number of groups
  auto const memory = machine.memory(some * bytes);
  for (std::int64_t b = 0; b < args.a.count; b += some) {
    int const count = static_cast<int>(std::min<std::int64_t>(some, args.a.count - b));
    auto const workspace = placed<TridiagonalWorkspace<D>>(memory.data(), b, c, n, blocks, copy_blocks);
    TridiagonalWork<D> const all{.batch = args,
                                 .matrix = workspace.matrix,
                                 .count = count,
                                 .stride = bytes,
                                 .blocks = (copy_blocks + count - 1) / count,
                                 .width = c.width,
                                 .margin = workspace.margin,
                                 .resident = held_rows,
                                 .first = 0,
                                 .rounds = 0,
                                 .held = 0,
                                 .kept = 0};
    auto const copy = [&](KernelName const& kernel) {
      machine.run(kernel, {.blocks = std::int64_t{all.blocks} * count, .threads = tridiagonal_copy_threads, .shared_bytes = 128}, all,
                  dtype);
    };
    copy(tridiagonal_largest_kernel);
    copy(tridiagonal_load_kernel);
    TridiagonalWork<D> work = all;
    if (panels) work.held = tridiagonal_held_tiles(c, sizeof(T), device);
    for (; n - work.first > held_rows; work.first += c.width, work.rounds += c.rounds()) {
      TridiagonalTiles const tiles(n - work.first, c.tile_rows(sizeof(T)), c.tile_columns(), blocks, work.held);
      work.kept = tridiagonal_kept(tiles, sizeof(T), device.l2_bytes);
      machine.run(tridiagonal_panel_kernel,
                  {.blocks = blocks, .threads = c.threads(), .shared_bytes = c.shared_bytes(sizeof(T), work.held), .together = true}, work,
                  dtype, c);
      machine.run(tridiagonal_update_kernel,
                  {.blocks = u.tiles(n - work.first - c.width), .threads = u.threads(), .shared_bytes = u.shared_bytes(sizeof(T))}, work,
                  dtype, u);
    }
    TridiagonalGroups const groups = groups_of(count);
    work = all;
    work.blocks = groups.blocks;
    machine.run(tridiagonal_resident_kernel,
                {.blocks = groups.count * groups.blocks,
                 .threads = r.threads(),
                 .shared_bytes = std::int64_t{r.elements(rows, groups.blocks)} * static_cast<int>(sizeof(T)),
                 .together = true},
                work, dtype, r);
    copy(tridiagonal_store_kernel);
  }
}

}  // namespace

template <typename T>
TridiagonalInBlocks<T>::TridiagonalInBlocks(Queue& queue, TridiagonalArguments<DeviceElement<T>> const& args) : args_(args) {
  int above = args.above;
  for (TridiagonalBlock const& c : tridiagonal_blocks(sizeof(T), is_complex<T>)) {
    if (c.rows() <= args.above) continue;
    bool const last = c.rows() >= args.a.rows;
    if (last || args.a.row_sizes)
      steps_.push_back({.kernel = &kernel_of(queue, tridiagonal_block_kernel, dtype_of<T>, c), .config = c, .above = above});
    if (last) break;
    above = c.rows();
  }
}

template <typename T>
void TridiagonalInBlocks<T>::launch(Queue& queue) {
  for (Step const& step : steps_) {
    args_.above = step.above;
    gpu::launch(queue, *step.kernel,
                {.blocks = args_.a.count, .threads = step.config.threads(), .shared_bytes = step.config.shared_bytes(sizeof(T))}, args_);
  }
}

template <typename T>
void sytrd(Queue& queue, SytrdTask<T> const& task) {
  if (task.a.count == 0 || task.a.rows == 0) return;
  // conj(A) has the same T and conjugated reflectors, so the stored matrix is used.
  TridiagonalArguments<DeviceElement<T>> const args{.a = matrices_of(task.a),
                                                    .d = matrices_of(task.d),
                                                    .e = matrices_of(task.e),
                                                    .tau = matrices_of(task.tau),
                                                    .lower = task.uplo == Uplo::lower};
  if (task.a.rows <= tridiagonal_block_largest(sizeof(T), is_complex<T>))
    TridiagonalInBlocks<T>(queue, args).launch(queue);
  else
    run_blocked(queue, [&](QueueMachine& machine) { by_many_blocks<T>(machine, args); });
}

std::vector<KernelSource> tridiagonal_block_kernels(KernelFilter const& filter, Dtype dtype, int element_bytes, bool complex, int above) {
  std::vector<KernelSource> kernels;
  int below = 0;  // rows of the kernel before
  for (TridiagonalBlock const& c : tridiagonal_blocks(element_bytes, complex)) {
    if (c.rows() > above && (below == 0 || filter.wants_size_above(below)))
      kernels.push_back(source_of(tridiagonal_block_kernel, dtype, c));
    below = c.rows();
  }
  return kernels;
}

std::vector<KernelSource> tridiagonal_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> kernels;
  struct Type {
    Dtype dtype;
    int bytes, real_bytes;
  };
  for (auto const [dtype, bytes, real_bytes] : {Type{Dtype::f32, 4, 4}, {Dtype::f64, 8, 8}, {Dtype::c32, 8, 4}, {Dtype::c64, 16, 8}}) {
    bool const complex = bytes != real_bytes;
    if (!filter.wants_dtype(dtype) || !(filter.wants_routine("sytrd") || (complex && filter.wants_routine("hetrd")))) continue;
    for (KernelSource const& kernel : tridiagonal_block_kernels(filter, dtype, bytes, complex, 0)) kernels.push_back(kernel);
    if (!filter.wants_size_above(tridiagonal_block_largest(bytes, complex))) continue;
    kernels.push_back(source_of(tridiagonal_panel_kernel, dtype, tridiagonal_panel_plan(bytes)));
    kernels.push_back(source_of(tridiagonal_update_kernel, dtype, tridiagonal_update_plan(bytes, most_shared_bytes)));
    kernels.push_back(source_of(tridiagonal_resident_kernel, dtype, tridiagonal_resident_plan()));
    for (KernelName const& name : {tridiagonal_largest_kernel, tridiagonal_load_kernel, tridiagonal_store_kernel})
      kernels.push_back(source_of(name, dtype));
  }
  return kernels;
}

#define MYRIAD_INSTANTIATE(T)                          \
  template void sytrd<T>(Queue&, SytrdTask<T> const&); \
  template class TridiagonalInBlocks<T>;
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
