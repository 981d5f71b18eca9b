/// Kernels that the fake driver runs, on the host twin: those of solve, potrf and gemm for row-major matrices of 3 rows in double, solve
/// also with a column-major X, gemm also with alpha and beta in memory, and potrf for ragged batches of up to 3 rows. Tests of the Python
/// package compare their results (python/tests/on_fake_gpu).

#include "cholesky/cholesky_tiny.cuh"
#include "cholesky/cholesky_tiny_plan.hpp"
#include "fake_cuda.hpp"
#include "gemm/tiles/gemm_tiles.cuh"
#include "gemm/tiles/gemm_tiles_plan.hpp"
#include "lu/lu_tiny.cuh"
#include "lu/lu_tiny_plan.hpp"
#include "runtime/kernel_name.hpp"
#include "scale_add/scale_add_lines.cuh"

extern "C" void fake_cuda_add_kernel(char const* name, myriad::test::FakeKernel kernel);

namespace {

using namespace myriad;
using simt::Layout;

constexpr LuTiny solve(Layout x) {
  LuTiny c = lu_tiny_plan(LuJob::solve, Dtype::f64, 3, 3, 2);
  c.a = c.b = Layout::packed_rows;
  c.x = x;
  return c;
}
constexpr CholeskyTiny potrf(Layout layout) {
  CholeskyTiny c = cholesky_tiny_plan(CholeskyJob::factor, Dtype::f64, 3, 0);
  c.a = layout;
  c.b = c.x = Layout::columns;
  return c;
}
constexpr GemmTiles gemm = [] {
  GemmTiles c = gemm_tiles_plan(8, 3, 2, 3, false);
  c.a = c.b = c.c = Layout::packed_rows;
  return c;
}();

template <typename Arguments>
constexpr std::size_t argument_bytes(void (*)(Arguments)) {
  return sizeof(Arguments);
}
template <typename Arguments>
void run(void (*kernel)(Arguments), int blocks, int threads, int shared_bytes, void const* argument) {
  simt::run(blocks, threads, shared_bytes, kernel, *static_cast<Arguments const*>(argument));
}
template <auto kernel, typename Argument>
void add(gpu::KernelName const& name, Argument const& argument_of_template) {
  fake_cuda_add_kernel(
      gpu::source_of(name, Dtype::f64, argument_of_template).name.c_str(),
      {.run = [](int blocks, int threads, int shared_bytes, void const* argument) { run(kernel, blocks, threads, shared_bytes, argument); },
       .argument_bytes = argument_bytes(kernel)});
}

[[maybe_unused]] bool const added = [] {
  gpu::KernelName const cholesky_tiny_name("cholesky/cholesky_tiny");
  gpu::KernelName const lu_tiny_name("lu/lu_tiny");
  add<lu_tiny<double, solve(Layout::packed_rows)>>(lu_tiny_name, solve(Layout::packed_rows));
  add<lu_tiny<double, solve(Layout::packed_columns)>>(lu_tiny_name, solve(Layout::packed_columns));
  add<cholesky_tiny<double, potrf(Layout::packed_rows)>>(cholesky_tiny_name, potrf(Layout::packed_rows));
  add<cholesky_tiny<double, potrf(Layout::ragged_columns)>>(cholesky_tiny_name, potrf(Layout::ragged_columns));
  add<gemm_tiles<double, gemm>>(gpu::KernelName("gemm/tiles/gemm_tiles"), gemm);
  add<scale_add_lines<double, double>>(gpu::KernelName("scale_add/scale_add_lines"), Dtype::f64);
  return true;
}();

}  // namespace
