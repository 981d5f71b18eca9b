#pragma once
/// The host twin's machine, for tests of blocked algorithms: see blocked/machine.hpp.
///
///     HostMachine machine;
///     machine.add(gpu::source_of(panel_kernel, dtype_of<T>, config), panel<D, config>);
///     reflectors_by_panels(machine, task, ...);

#include <algorithm>
#include <any>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "blocked/machine.hpp"
#include "myriad/myriad.hpp"
#include "simt_host/host.hpp"

namespace myriad {

/// Runs the kernels that were added, with at most `most_blocks` blocks, so that blocks must stride over the rest. Products follow their
/// definition; solves use the CPU library. Workspace is filled with NaN.
class HostMachine {
 public:
  explicit HostMachine(std::int64_t most_blocks = 3) : most_blocks_(most_blocks) {
    // Kernels are chosen by this: up to 2 matrices are lone blocks of Cholesky, and clusters of LU have more blocks where matrices are few.
    device_.multiprocessors = 4;
    device_.shared_memory_per_block = 227 << 10;
    device_.shared_memory_per_multiprocessor = 228 << 10;
    device_.reserved_shared_memory_per_block = 1 << 10;
  }

  /// Adds `kernel`, which `source` names.
  template <typename Arguments>
  void add(gpu::KernelSource const& source, void (*kernel)(Arguments)) {
    kernels_[source.name] = kernel;
  }

  [[nodiscard]] Device const& device() const { return device_; }
  [[nodiscard]] Device& device() { return device_; }
  /// Number of launches of each kernel.
  [[nodiscard]] std::map<std::string, int> const& launches() const { return launches_; }

  /// Number of calls of gemm.
  [[nodiscard]] int products() const { return products_; }

  template <typename Arguments, typename... TemplateArguments>
  void run(gpu::KernelName const& kernel, gpu::Grid const& grid, Arguments const& arguments, TemplateArguments const&... of_template) {
    std::string const name = gpu::source_of(kernel, of_template...).name;
    auto const found = kernels_.find(name);
    if (found == kernels_.end()) throw std::logic_error("HostMachine has no kernel " + name);
    auto* const* const function = std::any_cast<void (*)(Arguments)>(&found->second);
    if (!function) throw std::logic_error("other arguments than those of " + name);
    if (grid.blocks <= 0) return;
    ++launches_[name];
    std::int64_t const most = std::max<std::int64_t>(most_blocks_ / grid.cluster, 1) * grid.cluster;
    simt::run(grid.together ? grid.blocks : std::min(grid.blocks, most), grid.threads, static_cast<int>(grid.shared_bytes), *function,
              arguments, grid.together, grid.cluster);
  }
  template <Element T>
  void gemm(GemmTask<T> const& task, Structure structure = Structure::general, Written written = Written::whole) {
    if (structure == Structure::symmetric || structure == Structure::hermitian)
      throw std::logic_error("HostMachine has general and triangular products only");
    bool const unit = structure == Structure::unit_lower || structure == Structure::unit_upper;
    auto const of_a = [&](std::int64_t q, std::int64_t i, std::int64_t k) {
      if (unit && i == k) return T(1);
      return is_stored(structure, static_cast<int>(i), static_cast<int>(k)) ? element(task.a, q, i, k) : T(0);
    };
    ++products_;
    std::vector<T> sums;
    for (std::int64_t q = 0; q < task.c.count; ++q) {
      std::int64_t const m = task.c.rows_of(q), n = task.c.cols_of(q), terms = task.a.cols_of(q);
      if (task.a.rows_of(q) != m || task.b.cols_of(q) != n || task.b.rows_of(q) != terms)
        throw std::logic_error("sizes of a product disagree in matrix " + std::to_string(q));
      for (std::int64_t j = 0; j < n; ++j) {
        sums.assign(static_cast<std::size_t>(m), T(0));
        for (std::int64_t k = 0; k < terms; ++k) {
          T const factor = element(task.b, q, k, j);
          for (std::int64_t i = 0; i < m; ++i) sums[static_cast<std::size_t>(i)] += of_a(q, i, k) * factor;
        }
        for (std::int64_t i = written == Written::whole ? 0 : j; i < m; ++i) {
          T& c = *task.c.at(q, i, j);
          T former = task.beta == T(0) ? T(0) : c;
          if (i == j && written == Written::lower_hermitian) former = std::real(former);  // the imaginary part may be anything
          c = task.alpha * sums[static_cast<std::size_t>(i)] + task.beta * former;
          if (i == j && written == Written::lower_hermitian) c = std::real(c);
        }
      }
    }
  }
  template <Element T>
  void gemm_shared(GemmTask<T> const& task, Written written = Written::whole) {
    gemm(task, Structure::general, written);
  }
  template <Element T>
  void trsm(TrsmTask<T> const& task, std::int64_t /*planned_columns*/ = 0) {
    for (std::int64_t q = 0; q < task.b.count; ++q) {
      // A is copied, since B may be another part of the same matrix, transposed, which the CPU library refuses as overlap.
      std::int64_t const n = task.a.rows_of(q);
      std::vector<T> triangle(static_cast<std::size_t>(n * n + 1));
      Batch<T> a = batch(triangle.data(), n, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) *a.at(0, i, j) = *task.a.at(q, i, j);
      a.conjugated = task.a.conjugated;
      myriad::trsm<T>(cpu_, Side::left, task.uplo, task.diag, task.alpha, a, alone(task.b, q));
    }
  }
  template <Element T>
  void trtri(TrtriTask<T> const& task) {
    for (std::int64_t q = 0; q < task.a.count; ++q)
      myriad::trtri<T>(cpu_, task.uplo, task.diag, alone(task.a, q), task.info ? task.info + q : nullptr);
  }
  template <Element T>
  void getrs(GetrsTask<T> const& task) {
    for (std::int64_t q = 0; q < task.b.count; ++q) {
      std::int64_t const n = task.a.rows_of(q);
      if (n == 0 || task.b.cols_of(q) == 0) continue;
      bool const interchanges = task.pivots.data || task.pivots.pointers;
      myriad::getrs<T>(cpu_, task.op, alone(task.a, q), interchanges ? rows(alone(task.pivots, q), 0, n) : Batch<int const>{},
                       alone(task.b, q));
    }
  }
  template <Element T>
  void trsm_shared(TrsmTask<T> const& task) {
    trsm(task);
  }
  void clear(int* numbers, std::int64_t count) {
    if (numbers) std::fill_n(numbers, count, 0);
  }

  class Memory {
   public:
    explicit Memory(std::int64_t bytes) : lines_(static_cast<std::size_t>(bytes) / sizeof(Line) + 1) {
      std::memset(static_cast<void*>(lines_.data()), -1, lines_.size() * sizeof(Line));
    }
    [[nodiscard]] void* data() { return lines_.data(); }

   private:
    struct alignas(256) Line {
      std::byte bytes[256];
    };
    std::vector<Line> lines_;
  };
  [[nodiscard]] Memory memory(std::int64_t bytes) { return Memory(bytes); }

 private:
  template <typename T>
  static T element(Batch<T const> const& x, std::int64_t q, std::int64_t i, std::int64_t j) {
    if constexpr (is_complex<T>)
      if (x.conjugated) return std::conj(*x.at(q, i, j));
    return *x.at(q, i, j);
  }

  /// Matrix q as a batch of one.
  template <typename T>
  static Batch<T> alone(Batch<T> const& x, std::int64_t q) {
    Batch<T> out;
    out.data = x.matrix(q);
    out.rows = x.rows_of(q), out.cols = x.cols_of(q);
    out.row_stride = x.row_stride_of(q), out.col_stride = x.col_stride_of(q);
    out.count = 1;
    out.conjugated = x.conjugated;
    return out;
  }

  std::int64_t most_blocks_;
  int products_ = 0;
  Device device_{};
  std::map<std::string, std::any> kernels_;
  std::map<std::string, int> launches_;
  Queue cpu_{{.backend = Backend::cpu, .threads = 1}};
};

}  // namespace myriad
