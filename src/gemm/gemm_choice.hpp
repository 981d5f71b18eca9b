#pragma once
/// Kernel selection for products: `choose` and `choose_of_halves`, pure functions of facts, return the config of a kernel.
///
/// Launches, packs, searches and tests call the same functions. They pass different `plan(space)`: the entry of a table, the shipped
/// config, or the plan of the cost model.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "core/dtype.hpp"
#include "gemm/bulk/gemm_bulk_space.hpp"
#include "gemm/gemm.hpp"
#include "gemm/gemm_arguments.cuh"
#include "gemm/gemm_shape.hpp"
#include "gemm/gemm_space.hpp"
#include "gemm/halves/gemm_halves_space.hpp"
#include "gemm/vectors/gemv_space.hpp"
#include "myriad/device.hpp"
#include "runtime/kernel_name.hpp"
#include "runtime/tiny.hpp"
#include "runtime/views.hpp"

namespace myriad::gpu {

template <>
inline constexpr KernelName kernel_name<GemmTiles>{"gemm/tiles/gemm_tiles"};
template <>
inline constexpr KernelName kernel_name<GemmPipelined>{"gemm/pipelined/gemm_pipelined"};
/// GPUs of other compute capabilities run gemm_pipelined instead, so their packs need not hold this kernel.
template <>
inline constexpr KernelName kernel_name<GemmBulk> = KernelName("gemm/bulk/gemm_bulk").for_one_architecture();
template <>
inline constexpr KernelName kernel_name<Gemv>{"gemm/vectors/gemv"};
template <>
inline constexpr KernelName kernel_name<GemvColumns>{"gemm/vectors/gemv_columns"};
template <>
inline constexpr KernelName kernel_name<GemvWhole>{"gemm/vectors/gemv_whole"};
template <>
inline constexpr KernelName kernel_name<GemmHalves>{"gemm/halves/gemm_halves"};
template <>
inline constexpr KernelName kernel_name<GemmHalvesStream>{"gemm/halves/gemm_halves_stream"};
template <>
inline constexpr KernelName kernel_name<GemmHalvesBlocks>{"gemm/halves/gemm_halves_blocks"};
template <>
inline constexpr KernelName kernel_name<GemmHalvesWarpgroups> = KernelName("gemm/halves/gemm_halves_warpgroups").for_one_architecture();

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

/// The memory layout of an operand, as far as the choice depends on it.
struct GemmOperand {
  simt::Matrices<char const> x;  ///< strides count elements of `bytes` bytes; `data` is the first one's address
  int bytes;
  simt::Layout layout;  ///< of the operand as given; transposed() does not change it

  [[nodiscard]] bool by_columns() const { return x.row_stride == 1 && !x.row_strides; }
  /// The direction in which elements are contiguous: columns, if both are.
  [[nodiscard]] Lines lines() const { return by_columns() ? Lines::columns : Lines::rows; }
  /// Whether columns or rows of each matrix are contiguous.
  [[nodiscard]] bool side_by_side() const { return by_columns() || (x.col_stride == 1 && !x.col_strides); }
  [[nodiscard]] bool ragged() const { return x.row_sizes || x.col_sizes || x.row_strides || x.col_strides; }
  /// The distance of two lines (leading dimension), and the number of elements of a line
  [[nodiscard]] simt::Index line() const { return by_columns() ? x.col_stride : x.row_stride; }
  [[nodiscard]] simt::Index length() const { return by_columns() ? x.rows : x.cols; }
  [[nodiscard]] bool gaps() const { return line() != length(); }
  [[nodiscard]] bool pointers() const { return x.pointers != nullptr; }
  /// Whether the view has row or column offsets.
  [[nodiscard]] bool offset() const { return (x.row_offset | x.col_offset) != 0; }
  /// Number of elements of a line that may be moved at once, judged by sizes, strides and the address. The kernel checks what differs from
  /// matrix to matrix.
  [[nodiscard]] int unit() const {
    if (x.row_strides || x.col_strides) return 1;
    std::int64_t const whole = length() | line() | (pointers() ? 0 : x.batch_stride);
    std::uintptr_t const first = pointers() ? 0 : address();
    int out = 16 / bytes;
    while (out > 1 && (whole % out != 0 || first % static_cast<unsigned>(out * bytes) != 0)) out /= 2;
    return out;
  }
  /// unit(), but 0 where a matrix has no gaps and fewer than 16 bytes could be moved at once.
  [[nodiscard]] int unit_or_piece() const {
    int const elements = unit();
    return elements * bytes < 16 && !gaps() ? 0 : elements;
  }
  /// Whether lines begin at multiples of 16 bytes, see GemmHalvesBlocks.
  [[nodiscard]] int aligned() const {
    int const of_chunk = 16 / bytes;
    if (x.row_strides || x.col_strides || line() % of_chunk != 0) return 0;
    // The offset of a view of a ragged batch is not in its address.
    if (pointers() || (by_columns() ? x.row_offset : x.col_offset) % of_chunk != 0) return 1;
    return x.batch_stride % of_chunk == 0 && address() % 16 == 0 ? 2 : 0;
  }
  /// Whether lines begin at multiples of 32 bytes, a sector of memory.
  [[nodiscard]] bool sectors() const { return address() % 32 == 0 && line() * bytes % 32 == 0 && x.batch_stride * bytes % 32 == 0; }
  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(x.data); }
};

template <typename T>
GemmOperand operand_of(simt::Matrices<T> const& x) {
  return {.x = {reinterpret_cast<char const*>(x.data), reinterpret_cast<char const* const*>(x.pointers), x.rows, x.cols, x.row_stride,
                x.col_stride, x.batch_stride, x.count, x.row_sizes, x.col_sizes, x.row_strides, x.col_strides, x.row_offset, x.col_offset,
                x.conjugated},
          .bytes = sizeof(T),
          .layout = layout_of(x)};
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
/// C^T = B^T A^T
template <typename T, typename Output>
GemmArguments<T, Output> transposed(GemmArguments<T, Output> args) {
  args.c = transposed(args.c);
  args.a = std::exchange(args.b, transposed(args.a));
  args.a = transposed(args.a);
  return args;
}

/// The facts that a choice depends on.
struct GemmFacts {
  Dtype dtype, output;
  std::int64_t m, n, k, depth, count;  ///< depth: terms that are read, 0 where alpha is 0
  GemmOperand a, b, c;
  Structure structure = Structure::general;
  Written written = Written::whole;
  Factors factors = Factors::whole;
  GemmShape planned_for{};  ///< used where m > 0
  bool in_place = false;
  bool takes_bulk = true;        ///< whether gemm_bulk may be chosen, on compute capability 9.0
  bool takes_warpgroups = true;  ///< false: the driver refused a tensor map, so that gemm_halves_warpgroups cannot run
  Device const* device;

  [[nodiscard]] bool general() const { return structure == Structure::general && written == Written::whole; }
  [[nodiscard]] bool complex() const { return is_complex_dtype(dtype); }
  [[nodiscard]] bool widened() const { return output != dtype; }
  [[nodiscard]] bool have_lines() const { return a.side_by_side() && b.side_by_side() && c.side_by_side(); }
  [[nodiscard]] bool ragged() const { return a.ragged() || b.ragged() || c.ragged(); }
  [[nodiscard]] bool offset() const { return a.offset() || b.offset() || c.offset(); }
  [[nodiscard]] bool pointers() const { return a.pointers() || b.pointers() || c.pointers(); }
  [[nodiscard]] bool interleaved() const {
    return a.layout == simt::Layout::interleaved || b.layout == simt::Layout::interleaved || c.layout == simt::Layout::interleaved;
  }
  [[nodiscard]] bool is_compute_capability_9() const { return device->major == 9 && device->minor == 0; }
  /// Whether the product is transposed so that C has contiguous `lines`. Complex products are not: lanes would sum imaginary parts in
  /// another order.
  [[nodiscard]] bool transposes_for(Lines lines) const { return !complex() && c.lines() != lines; }
  [[nodiscard]] GemmFacts transposed() const {
    GemmFacts out = *this;
    std::swap(out.m, out.n);
    std::swap(out.a, out.b);
    for (GemmOperand* const operand : {&out.a, &out.b, &out.c}) operand->x = gpu::transposed(operand->x);
    return out;
  }
};

template <typename T, typename Output>
GemmFacts facts_of(ArgumentsOf<T, Output> const& args, Device const& device) {
  return {.dtype = dtype_of<T>,
          .output = dtype_of<Output>,
          .m = args.c.rows,
          .n = args.c.cols,
          .k = args.a.cols,
          .depth = args.depth,
          .count = args.c.count,
          .a = operand_of(args.a),
          .b = operand_of(args.b),
          .c = operand_of(args.c),
          .device = &device};
}

/// A kernel's config; it is for the transposed product where `transposes`.
template <typename... Configs>
struct GemmChoiceOf {
  std::variant<Configs...> config;
  bool transposes = false;
};
using GemmChoice = GemmChoiceOf<GemmTiles, GemmPipelined, GemmBulk, Gemv, GemvColumns, GemvWhole>;
using GemmHalvesChoice = GemmChoiceOf<GemmHalves, GemmHalvesStream, GemmHalvesBlocks, GemmHalvesWarpgroups>;

/// The plan of the cost model, without tables.
struct PlanOfSpace {
  template <typename Space>
  typename Space::Config operator()(Space const& space) const {
    return tuning::plan_of(space);
  }
};

/// The config of gemm_pipelined for C of m by n, which in a ragged batch may be smaller than the facts' C.
template <typename Plan>
GemmPipelined ring_of(GemmFacts const& f, std::int64_t m, std::int64_t n, Plan const& plan) {
  GemmPipelined ring;
  if (f.factors != Factors::whole) {
    ring = gemm_pipelined_plan_of_rounded(f.factors, m, n, std::max<std::int64_t>(f.k, 1));
  } else {
    GemmShape const shape = f.planned_for.m > 0 ? f.planned_for : GemmShape{m, n, f.k};
    ring = plan(GemmPipelinedSpace{f.dtype, shape.m, shape.n, shape.k, shape.blocks});
    ring.structure = f.structure;
    ring.written = f.written;
  }
  ring.a = f.a.lines(), ring.b = f.b.lines(), ring.c = f.c.lines();
  return ring;
}

/// The config of gemm_halves_blocks. Facts are those of the product or of its transpose, whichever has C by rows.
template <typename Plan>
GemmHalvesBlocks blocks_of(GemmFacts const& f, std::int64_t m, std::int64_t n, Plan const& plan) {
  return plan(GemmHalvesBlocksSpace{{f.dtype, f.widened(), m, n, std::max<std::int64_t>(f.k, 1)},
                                    {.a = f.a.lines(),
                                     .b = f.b.lines(),
                                     .c = f.c.lines(),
                                     .aligned = std::min(f.a.aligned(), f.b.aligned()),
                                     .shared_memory = f.device->shared_memory_per_block}});
}

namespace choices {

/// Kernels of whole matrices distinguish all packed layouts, others only the order of elements.
template <typename Config>
Config with_layouts(Config c, GemmFacts const& f) {
  auto const of = [&](GemmOperand const& x) { return c.whole() ? x.layout : by_elements(x.layout); };
  c.a = of(f.a), c.b = of(f.b), c.c = of(f.c);
  return c;
}

/// The result of choose_by(facts), which may be none. Facts are transposed first if that gives C contiguous `lines`.
template <typename Choice, typename ChooseBy>
std::optional<Choice> with_lines_of_c(GemmFacts const& f, Lines lines, ChooseBy const& choose_by) {
  bool const transposes = f.transposes_for(lines);
  auto const config = transposes ? choose_by(f.transposed()) : choose_by(f);
  if (!config) return {};
  return Choice{*config, transposes};
}

template <typename Plan>
GemmChoice vectors(GemmFacts const& f, Plan const& plan) {
  GemvProblem const problem{f.dtype, f.m, f.k};
  Lines const lines = f.a.lines();
  bool const aligned = f.a.unit() * f.a.bytes == 16, in_one_piece = !f.ragged() && !f.a.gaps();
  switch (gemv_kernel(f.a.bytes, f.m, f.k, lines, aligned, in_one_piece)) {
    case GemvKernel::columns:
      return {plan(GemvColumnsSpace{problem})};
    case GemvKernel::whole:
      return {plan(GemvWholeSpace{problem, in_one_piece && !aligned, lines})};
    default:
      return {plan(GemvSpace{problem, lines})};
  }
}

/// gemm_bulk: matrices without gaps, at least one per multiprocessor, on compute capability 9.0.
template <typename Plan>
std::optional<GemmBulk> bulk(GemmFacts const& f, Plan const& plan) {
  if (f.c.lines() == Lines::rows || f.b.lines() == Lines::rows || f.a.gaps() || f.b.gaps() || f.c.gaps()) return {};
  // The alignment of a matrix behind a pointer is not known. Neighbouring rows of C are read together where those of A are.
  int unit = f.a.pointers() || f.b.pointers() ? 1 : std::min(f.a.unit(), f.b.unit());
  if (f.a.lines() == Lines::columns) unit = f.c.pointers() ? 1 : std::min(unit, f.c.unit());
  GemmBulkSpace const space{.dtype = f.dtype,
                            .m = static_cast<int>(f.m),
                            .n = static_cast<int>(f.n),
                            .k = static_cast<int>(f.depth),
                            .a = f.a.lines(),
                            .unit = unit};
  // The plan alone decides, so that no table changes which kernel a product goes through.
  if (space.bytes(tuning::plan_of(space)) > f.device->shared_memory_per_block) return {};
  return plan(space);
}
inline bool may_take_bulk(GemmFacts const& f) {
  if (!f.general() || f.in_place || f.planned_for.m > 0) return false;
  if (!f.takes_bulk || !f.is_compute_capability_9() || f.ragged() || f.offset()) return false;
  // gemm_pipelined divides few products among blocks.
  bool const single = f.dtype == Dtype::f32 || f.dtype == Dtype::c32, transposes = f.transposes_for(Lines::columns);
  return f.count >= f.device->multiprocessors &&
         gemm_bulk_pays(single ? 4 : 8, f.complex(), transposes ? f.n : f.m, transposes ? f.m : f.n, f.depth);
}

template <typename Plan>
std::optional<GemmHalvesWarpgroups> warpgroups(GemmFacts const& f, Plan const& plan) {
  if (f.c.lines() != Lines::rows) return {};
  auto const can = [](GemmOperand const& x) { return !x.pointers() && x.aligned() == 2 && x.line() > 0; };
  if (!can(f.a) || !can(f.b) || !can(f.c)) return {};
  // Where a line of C ends within 16 bytes, TMA would write all 16.
  if (f.n * f.c.bytes % 16 != 0) return {};
  GemmHalvesWarpgroupsSpace const space{{f.dtype, f.widened(), f.m, f.n, f.depth},
                                        {.a = f.a.lines(),
                                         .b = f.b.lines(),
                                         .whole_sectors = f.a.sectors() && f.b.sectors() && f.c.sectors(),
                                         .shared_memory = f.device->shared_memory_per_block}};
  // The plan alone decides, so that no table changes which kernel a product goes through.
  if (space.plan().columns == 0) return {};
  return plan(space);
}
inline bool may_take_warpgroups(GemmFacts const& f) {
  if (f.complex() || !f.takes_warpgroups || !f.is_compute_capability_9()) return false;
  if (!gemm_halves_warpgroups_pays(f.m, f.n, f.k, f.count, f.device->multiprocessors)) return false;
  return f.depth > 0 && f.have_lines() && !f.ragged();
}

template <typename Plan>
std::optional<GemmHalvesStream> stream(GemmFacts const& f, Plan const& plan) {
  if (f.c.lines() == Lines::rows) return {};
  std::int64_t const k = std::max<std::int64_t>(f.k, 1);
  int const at_once = std::min({f.a.unit() * f.a.bytes, f.b.unit() * f.b.bytes, f.c.unit() * f.c.bytes});
  if (!gemm_halves_streams(f.complex(), f.m, f.n, k, at_once)) return {};
  // Matrices with gaps whose lines are not aligned to 16 bytes would be copied element by element.
  for (GemmOperand const* const x : {&f.a, &f.b, &f.c})
    if (int const bytes = x->unit_or_piece() * x->bytes; bytes != 0 && bytes != 16) return {};
  // gemm_halves_blocks divides large products among blocks.
  if (f.count < f.device->multiprocessors && std::max(f.m, f.n) > 128) return {};
  GemmHalvesStreamSpace const space{{f.dtype, f.widened(), f.m, f.n, k},
                                    {.a = f.a.lines(),
                                     .b = f.b.lines(),
                                     .a_unit = f.a.unit_or_piece(),
                                     .b_unit = f.b.unit_or_piece(),
                                     .c_unit = f.c.unit_or_piece(),
                                     .words = at_once >= 4 && !f.pointers() ? 1 : 0}};
  // The plan alone decides, so that no table changes which kernel a product goes through.
  if (space.bytes(space.plan()) > f.device->shared_memory_per_block) return {};
  return plan(space);
}

}  // namespace choices

/// Chooses the kernel for single and double precision, real and complex.
template <typename Plan = PlanOfSpace>
GemmChoice choose(GemmFacts const& f, Plan const& plan = {}) {
  if (f.factors != Factors::whole) return {ring_of(f, f.m, f.n, plan)};
  bool const whole = std::max({f.m, f.n, f.k}) <= tiny_largest;
  // Products planned for another shape share kernels whatever their size.
  bool const shared = f.planned_for.m > 0;
  if (!whole && !shared && f.n == 1 && f.general() && f.a.side_by_side()) return choices::vectors(f, plan);
  // Products of two vectors are bound by memory in any case.
  if ((shared || (!whole && std::min({f.m, f.n, f.k}) > 1)) && !f.interleaved() && f.have_lines()) {
    if (choices::may_take_bulk(f)) {
      auto const by_bulk = [&](GemmFacts const& of) { return choices::bulk(of, plan); };
      if (auto const choice = choices::with_lines_of_c<GemmChoice>(f, Lines::columns, by_bulk)) return *choice;
    }
    return {ring_of(f, f.m, f.n, plan)};
  }
  GemmShape const shape = f.planned_for.m > 0 ? f.planned_for : GemmShape{f.m, f.n, f.k};
  // A triangle of C is written by square tiles.
  std::int64_t const columns = f.written == Written::whole ? std::min(f.n, shape.n) : shape.m;
  GemmTiles c = f.interleaved() ? gemm_tiles_plan(f.c.bytes, shape.m, columns, shape.k, true)
                                : plan(GemmTilesSpace{f.dtype, shape.m, columns, shape.k});
  c.structure = f.structure;
  c.written = f.written;
  return {choices::with_layouts(c, f)};
}

/// Chooses the kernel for 16-bit types.
template <typename Plan = PlanOfSpace>
GemmHalvesChoice choose_of_halves(GemmFacts const& f, Plan const& plan = {}) {
  using choices::with_lines_of_c;
  if (choices::may_take_warpgroups(f)) {
    auto const by_warpgroups = [&](GemmFacts const& of) { return choices::warpgroups(of, plan); };
    if (auto const choice = with_lines_of_c<GemmHalvesChoice>(f, Lines::rows, by_warpgroups)) return *choice;
  }
  if (f.have_lines() && !f.ragged() && !f.offset()) {
    auto const by_stream = [&](GemmFacts const& of) { return choices::stream(of, plan); };
    if (auto const choice = with_lines_of_c<GemmHalvesChoice>(f, Lines::columns, by_stream)) return *choice;
  }
  bool const whole = gemm_halves_whole(f.m, f.n, f.k), interleaved = f.interleaved();
  if (!whole && f.have_lines()) {
    auto const by_blocks = [&](GemmFacts const& of) { return std::optional(blocks_of(of, of.m, of.n, plan)); };
    return *with_lines_of_c<GemmHalvesChoice>(f, Lines::rows, by_blocks);
  }
  GemmHalves const c = interleaved || !whole ? gemm_halves_plan(f.a.bytes, f.c.bytes, f.complex(), f.m, f.n, f.k, interleaved)
                                             : plan(GemmHalvesSpace{{f.dtype, f.widened(), f.m, f.n, f.k}});
  return {choices::with_layouts(c, f)};
}

}  // namespace myriad::gpu
