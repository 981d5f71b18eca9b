/// Arguments of every launch, on a fake driver and compiler (fake_cuda.hpp, fake_nvrtc.hpp): each pointer and each matrix lies in an array
/// of the caller or in workspace, and numbers are in their range. Whatever a compiler left on the stack in place of an argument is neither,
/// so this guards the library as it is compiled; builds for sanitizers have other options, and host twins call no launch.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "blocked/by_sizes_config.cuh"
#include "blocked/copy_matrices_config.cuh"
#include "blocked/diagonal_sizes_config.cuh"
#include "case/case.hpp"
#include "cholesky/cholesky_block_config.cuh"
#include "cholesky/cholesky_tiny_config.cuh"
#include "draw.hpp"
#include "eigen/divide_and_conquer/stedc_config.cuh"
#include "eigen/eigen_large_config.cuh"
#include "eigen/eigen_tiny_config.cuh"
#include "eigen/tridiagonal/tridiagonal_config.cuh"
#include "fake_cuda.hpp"
#include "gemm/gemm_arguments.cuh"
#include "gemm/ragged/gemm_schedule_config.cuh"
#include "lu/block/lu_block_config.cuh"
#include "lu/block/lu_rows_config.cuh"
#include "lu/block/lu_warps_config.cuh"
#include "lu/blocked/lu_cluster_config.cuh"
#include "lu/blocked/lu_determinant_config.cuh"
#include "lu/blocked/lu_swap_rows_config.cuh"
#include "lu/blocked/lu_tall_config.cuh"
#include "lu/lu_tiny_config.cuh"
#include "mixed/mixed_config.cuh"
#include "myriad/queue.hpp"
#include "qr/block/qr_block_config.cuh"
#include "qr/block/qr_registers_config.cuh"
#include "qr/block/qr_warps_config.cuh"
#include "qr/blocked/block_reflector_config.cuh"
#include "qr/blocked/qr_blocked_config.cuh"
#include "qr/blocked/qr_cluster_config.cuh"
#include "qr/pivoted/gelsy_config.cuh"
#include "qr/pivoted/geqp3_config.cuh"
#include "qr/qr_tiny_config.cuh"
#include "refine/refine_large_config.cuh"
#include "refine/refine_tiny_config.cuh"
#include "reflectors/reflectors_config.cuh"
#include "runtime/arguments.hpp"
#include "svd/bdsdc/bdsdc_config.cuh"
#include "svd/bidiagonal/gebrd_block_config.cuh"
#include "svd/bidiagonal/gebrd_panels_config.cuh"
#include "svd/by_svd_config.cuh"
#include "svd/gesvd_config.cuh"
#include "svd/svd_block_config.cuh"
#include "svd/svd_tall_config.cuh"
#include "svd/svd_tiny_config.cuh"
#include "symv/symv_matrix.cuh"
#include "symv/symv_tiny_config.cuh"
#include "trsm/trmv_config.cuh"
#include "trsm/trsm_columns_config.cuh"
#include "trsm/trsm_tiny_config.cuh"
#include "trsm/trsv_config.cuh"

namespace myriad::test {
namespace {

using cases::Case;
using cases::Problem;

/// The members of the arguments of every kernel but those of 16-bit types and of gemm_grouped.
class Kernels {
 public:
  Kernels() {
    add<GemmOfOneType>("gemm_tiles", "gemm_pipelined", "gemm_bulk", "gemv", "gemv_columns", "gemv_whole");
    add_untyped<GemmScheduleArguments>("gemm_schedule");
    add<SymvArguments>("symv_whole", "symv_strips", "symv_rows", "symv_runs", "symv_matrices");
    add<SymvTinyArguments>("symv_tiny");
    add<TrsmTinyArguments>("trsm_tiny");
    add<TrsmColumnsArguments>("trsm_columns", "trsm_panels", "trsm_vector");
    add<TrsvArguments>("trsv");
    add<TrmvArguments>("trmv");
    add<TrmvKeepArguments>("trmv_keep");
    add<CopyMatricesArguments>("copy_matrices");
    add<DiagonalSizesArguments>("diagonal_sizes");
    add_untyped<SelectSizesArguments>("select_sizes");
    add_untyped<SelectInfoArguments>("select_info");
    add<LuTinyArguments>("lu_tiny");
    add<LuBlockArguments>("lu_block");
    add<LuRowsArguments>("lu_rows");
    add<LuWarpsArguments>("lu_warps");
    add<LuClusterArguments>("lu_cluster");
    add<LuTallArguments>("lu_tall");
    add<LuSwapRowsArguments>("lu_swap_rows");
    add<LuDeterminantArguments>("lu_determinant");
    add<CholeskyTinyArguments>("cholesky_tiny");
    add<CholeskyBlockArguments>("cholesky_block");
    add<MixedNarrowArguments>("mixed_narrow");
    add<MixedStepArguments>("mixed_step");
    add<MixedResidualsArguments>("mixed_residuals");
    add<MixedJudgeArguments>("mixed_judge");
    add<QrTinyArguments>("qr_tiny");
    add<QrBlockArguments>("qr_block");
    add<QrRegistersArguments>("qr_registers");
    add<QrWarpsArguments>("qr_warps");
    add<QrClusterArguments>("qr_cluster");
    add<QrPassesArguments>("qr_passes");
    add<QrStepArguments>("qr_step");
    add<BlockReflectorArguments>("block_reflector");
    add<Geqp3Arguments>("geqp3");
    add<GelsyArguments>("gelsy");
    add<GeequTinyArguments>("geequ_tiny");
    add<LaqgeTinyArguments>("laqge_tiny");
    add<BackwardErrorTinyArguments>("backward_error_tiny");
    add<LineSizesArguments>("geequ_sizes");
    add<GeequWriteArguments>("geequ_write");
    add<ResidualsArguments>("residuals");
    add<BackwardErrorWriteArguments>("backward_error_write");
    add_untyped<GerfsSizesArguments>("gerfs_sizes");
    add<EstimateArguments>("gerfs_estimate");
    add<GerfsStepArguments>("gerfs_judge", "gerfs_correct");
    add<ReflectorsArguments>("reflectors_small");
    add<ReflectorsPanels>("reflectors_load", "reflectors_factor");
    add<ReflectorsIdentity>("reflectors_identity");
    add<EigenArguments>("eigen_tiny", "eigen_block");
    add<EigenSizes>("eigen_sizes");
    add<EigenLarge>("eigen_largest", "eigen_scale", "eigen_widen", "eigen_write");
    add<TridiagonalArguments>("tridiagonal_block");
    add<TridiagonalWork>("tridiagonal_largest", "tridiagonal_load", "tridiagonal_store", "tridiagonal_panel", "tridiagonal_resident",
                         "tridiagonal_update");
    add_real<StedcWork>("stedc_load", "stedc_leaves", "stedc_sort", "stedc_deflate", "stedc_roots", "stedc_fit", "stedc_order",
                        "stedc_gather", "stedc_rotate", "stedc_vectors", "stedc_points", "stedc_bisect");
    add<SvdTinyArguments>("svd_tiny");
    add<SvdBlockArguments>("svd_block");
    add<SvdTallParts>("svd_tall_parts");
    add<SvdTallStack>("svd_tall_stack");
    add_real<SvdTallValues>("svd_tall_values");
    add<SvdTallVectors>("svd_tall_vectors");
    add<GebrdArguments>("gebrd_block");
    add<GebrdPanels>("gebrd_measure", "gebrd_load", "gebrd_store", "gebrd_step", "gebrd_stream");
    add_real<BdsdcWork>("bdsdc_load", "bdsdc_leaves", "bdsdc_sort", "bdsdc_deflate", "bdsdc_roots", "bdsdc_fit", "bdsdc_order",
                        "bdsdc_gather", "bdsdc_rotate", "bdsdc_vectors");
    add_real<BdsdcValues>("bdsdc_square", "bdsdc_points", "bdsdc_bisect", "bdsdc_order_values", "bdsdc_values_block");
    add<Gesvd>("gesvd_sizes", "gesvd_largest", "gesvd_load", "gesvd_scale_values", "gesvd_place", "gesvd_write", "gesvd_sort_rows",
               "gesvd_jacobi");
    add<BySvd>("by_svd_largest", "by_svd_scales", "by_svd_load", "by_svd_numbers", "by_svd_divide", "by_svd_write");
  }

  /// The members of the arguments of a kernel with this name expression, "myriad::lu_rows<double, ...>", or null.
  [[nodiscard]] std::vector<Member> const* find(std::string_view expression) const {
    auto const found = members_.upper_bound(expression);
    if (found == members_.begin()) return nullptr;
    auto const& [begin, members] = *std::prev(found);
    return expression.starts_with(begin) ? &members : nullptr;
  }

 private:
  template <typename T>
  using GemmOfOneType = GemmArguments<T>;

  template <template <typename> typename Arguments, typename... Names>
  void add(Names... names) {
    add_real<Arguments>(names...);
    add_type<Arguments<simt::Complex<float>>, Arguments<double>>("myriad::simt::Complex<float>", {names...});
    add_type<Arguments<simt::Complex<double>>, Arguments<double>>("myriad::simt::Complex<double>", {names...});
  }
  template <template <typename> typename Arguments, typename... Names>
  void add_real(Names... names) {
    add_type<Arguments<float>, Arguments<double>>("float", {names...});
    add_type<Arguments<double>>("double", {names...});
  }
  template <typename Arguments>
  void add_untyped(char const* name) {
    add_type<Arguments>("", {name});
  }
  template <typename Arguments, typename Alike = Arguments>
  void add_type(char const* type, std::initializer_list<char const*> names) {
    std::vector<Member> const members = members_of<Arguments, Alike>();
    for (char const* const name : names) {
      EXPECT_FALSE(members.empty()) << name << ": some members were not found";
      members_.emplace(fmt::format("myriad::{}<{}", name, type), members);
    }
  }

  std::map<std::string, std::vector<Member>, std::less<>> members_;
};

/// Memory of the cases' arrays, whose pieces are known.
class KnownMemory final : public std::pmr::memory_resource {
 public:
  /// The piece that contains an address; none: no bytes.
  [[nodiscard]] FakeMemory at(std::uintptr_t address) const {
    auto const above = pieces_.upper_bound(address);
    if (above == pieces_.begin()) return {};
    auto const& [begin, bytes] = *std::prev(above);
    return address < begin + bytes ? FakeMemory{begin, bytes} : FakeMemory{};
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const data = ::operator new (bytes, std::align_val_t{alignment});
    pieces_.emplace(reinterpret_cast<std::uintptr_t>(data), bytes);
    return data;
  }
  void do_deallocate(void* p, std::size_t, std::size_t alignment) override {
    pieces_.erase(reinterpret_cast<std::uintptr_t>(p));
    ::operator delete (p, std::align_val_t{alignment});
  }
  [[nodiscard]] bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }

  std::map<std::uintptr_t, std::size_t> pieces_;
};

class LaunchesOnFake : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("MYRIAD_NVRTC", MYRIAD_FAKE_NVRTC, 1);
    ::setenv("MYRIAD_CACHE_DIR", "off", 1);
  }
  void SetUp() override {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto const state = library ? reinterpret_cast<FakeCuda* (*)()>(::dlsym(library, "fake_cuda")) : nullptr;
    ASSERT_TRUE(state) << "libcuda.so.1 is another one";
    fake_ = state();
    fake_->at_launch = [this](FakeLaunch const& launch) { check(launch); };
    cases::array_memory() = &arrays_;
  }
  void TearDown() override {
    fake_->at_launch = nullptr;
    cases::array_memory() = std::pmr::new_delete_resource();
  }

  /// Calls a routine once. False after enough failures.
  bool run(Case const& routine, Problem const& problem) {
    try {
      auto const call = routine(problem);
      text_ = fmt::format("{}: {}", routine.routine, call->problem().text());
      call->run(queue_);
    } catch (std::exception const& error) {
      ADD_FAILURE() << text_ << " threw: " << error.what();
      ++wrong_;
    }
    return wrong_ < 5;
  }

  int launches_ = 0;

 private:
  void check(FakeLaunch const& launch) {
    ++launches_;
    std::vector<Member> const* const members = kernels_.find(launch.kernel);
    if (!members) {
      ADD_FAILURE() << "the arguments of " << launch.kernel << " are unknown; add them to Kernels";
      ++wrong_;
      return;
    }
    auto const* const arguments = static_cast<std::byte const*>(launch.arguments);
    for (Member const& member : *members)
      if (std::string const problem = problem_of(member, arguments + member.offset); !problem.empty()) {
        ADD_FAILURE() << launch.kernel << ", argument at byte " << member.offset << ": " << problem << "\n  in " << text_;
        ++wrong_;
      }
  }
  [[nodiscard]] std::string problem_of(Member const& member, std::byte const* at) const {
    switch (member.kind) {
      case Member::Kind::matrices:
        return problem_of_matrices(member.element_bytes, at);
      case Member::Kind::pointer: {
        auto const address = read<std::uintptr_t>(at);
        return is_memory(address, 0) ? "" : fmt::format("{:#x} is no address of an array or of workspace", address);
      }
      case Member::Kind::index:
        return problem_of_number("a number", read<std::int64_t>(at));
      case Member::Kind::flag:
        return problem_of_flag(at);
      case Member::Kind::other:
        return "";
    }
    return "a member of unknown kind";
  }
  [[nodiscard]] std::string problem_of_matrices(std::size_t element_bytes, std::byte const* at) const {
    auto const m = read<simt::Matrices<char>>(at);
    for (auto const& [name, number] :
         {std::pair{"rows", m.rows}, {"cols", m.cols}, {"count", m.count}, {"row_offset", m.row_offset}, {"col_offset", m.col_offset}})
      if (number < 0 || !problem_of_number(name, number).empty()) return fmt::format("{} is {}", name, number);
    for (auto const& [name, number] :
         {std::pair{"row_stride", m.row_stride}, {"col_stride", m.col_stride}, {"batch_stride", m.batch_stride}})
      if (std::string problem = problem_of_number(name, number); !problem.empty()) return problem;
    if (std::string problem = problem_of_flag(at + offsetof(simt::Matrices<char>, conjugated)); !problem.empty()) return problem;
    auto const entries = static_cast<std::size_t>(m.count) * sizeof(std::int64_t);
    for (auto const& [name, array] : {std::pair{"pointers", static_cast<void const*>(m.pointers)},
                                      {"row_sizes", m.row_sizes},
                                      {"col_sizes", m.col_sizes},
                                      {"row_strides", m.row_strides},
                                      {"col_strides", m.col_strides}})
      if (!is_memory(address_of(array), entries)) return fmt::format("{} are not {} entries of an array: {}", name, m.count, array);
    if (!m.data || m.pointers || m.row_strides || m.col_strides || m.rows == 0 || m.cols == 0 || m.count == 0) return "";
    simt::Index first = 0, last = 0;
    for (auto const& [begin, size, stride] : {std::tuple{m.row_offset, m.rows, m.row_stride},
                                              {m.col_offset, m.cols, m.col_stride},
                                              {simt::Index{0}, m.count, m.batch_stride}}) {
      first += std::min(begin * stride, (begin + size - 1) * stride);
      last += std::max(begin * stride, (begin + size - 1) * stride);
    }
    auto const element = static_cast<simt::Index>(element_bytes);
    if (is_memory(address_of(m.data) + static_cast<std::uintptr_t>(first * element),
                  static_cast<std::size_t>((last - first + 1) * element)))
      return "";
    return fmt::format("{} matrices of {} x {} elements at strides of {}, {} and {} from {} on are not in an array", m.count, m.rows,
                       m.cols, m.row_stride, m.col_stride, m.batch_stride, static_cast<void const*>(m.data));
  }
  static std::string problem_of_number(char const* name, std::int64_t number) {
    return std::abs(number) < std::int64_t{1} << 40 ? "" : fmt::format("{} is {}", name, number);
  }
  static std::string problem_of_flag(std::byte const* at) {
    return *at <= std::byte{1} ? "" : fmt::format("a bool has the byte {}", static_cast<int>(*at));
  }

  template <typename T>
  static T read(std::byte const* at) {
    T out;
    std::memcpy(static_cast<void*>(&out), at, sizeof(T));
    return out;
  }
  static std::uintptr_t address_of(void const* p) { return reinterpret_cast<std::uintptr_t>(p); }
  /// Whether these bytes are in one array, or the address is null. The end of an array is the address of no bytes.
  [[nodiscard]] bool is_memory(std::uintptr_t address, std::size_t bytes) const {
    if (address == 0) return true;
    for (std::uintptr_t const in : {address, address - 1}) {
      FakeMemory memory = arrays_.at(in);
      if (memory.bytes == 0) memory = fake_->memory_at(in);
      if (memory.bytes > 0) return address + bytes <= memory.begin + memory.bytes;
    }
    return false;
  }

  Kernels const kernels_;
  KnownMemory arrays_;
  FakeCuda* fake_ = nullptr;
  Queue queue_{QueueOptions{.backend = Backend::gpu}};
  std::string text_;
  int wrong_ = 0;
};

/// Sizes on both sides of the limits between kernels: a warp, a block, a cluster, many panels.
struct Size {
  std::int64_t m, n, most_count;
};
constexpr Size sizes[]{{700, 300, 2}, {300, 700, 2}, {600, 600, 1}, {1300, 90, 2},  {90, 1300, 2}, {2500, 20, 2}, {20, 2500, 2},
                       {20, 20, 300}, {45, 45, 200}, {70, 70, 50},  {130, 130, 20}, {250, 250, 5}, {400, 400, 3}};
constexpr int large_sizes = 7;

/// Every routine for a drawn type and large size, and then for drawn ones.
TEST_F(LaunchesOnFake, HaveTheirArgumentsInMemory) {
  struct Item {
    Case const* routine;
    Dtype dtype;
    Size size;
  };
  auto random = tests::random_of_test();
  auto const below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); };
  auto const check = [&](Item const& item) {
    Problem p;
    p.dtype = item.dtype;
    p.m = item.size.m - below(7);
    p.n = item.size.n - below(7);
    p.k = 1 + below(2) * below(40);
    p.count = 1 + below(item.size.most_count);
    p.layout = cases::all_layouts.at(static_cast<std::size_t>(below(cases::all_layouts.size())));
    p.ragged = below(2) == 0;
    p.input = cases::Input::zero;  // quick to make; no kernel runs
    p.uplo = below(2) == 0 ? Uplo::lower : Uplo::upper;
    p.side = below(2) == 0 ? Side::left : Side::right;
    p.op = std::array{Op::none, Op::transpose, Op::conjugate_transpose}.at(static_cast<std::size_t>(below(3)));
    p.job = below(3) == 0 ? Job::values : Job::vectors;
    p.svd_job = std::array{SvdJob::thin, SvdJob::values, SvdJob::full, SvdJob::left, SvdJob::right}.at(static_cast<std::size_t>(below(5)));
    p.seed = random();
    if (item.routine->fix == cases::square) p.n = std::min<std::int64_t>(p.n, 700);
    if (std::max(p.m, p.n) > 1000) p.svd_job = SvdJob::thin;
    return run(*item.routine, p);
  };
  std::vector<Item> items;
  constexpr std::array dtypes{Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64};
  for (Case const& routine : cases::all_cases()) {
    if (!routine.has_on_gpu('a')) continue;
    for (Dtype const dtype : dtypes)
      for (Size const& size : sizes) items.push_back({&routine, dtype, size});
    if (!check({&routine, dtypes.at(static_cast<std::size_t>(below(4))), sizes[below(large_sizes)]})) break;
  }
  tests::for_drawn(items, 0.4, 20, check);
  EXPECT_GT(launches_, 1000);
}

}  // namespace
}  // namespace myriad::test
