// Products of 16-bit matrices: A, B and C are widened, as many products at a time as stay in the L1 cache but at least one, and multiplied
// by the kernels of the compute type.

#include "core/dtype.hpp"
#include "gemm/gemm_cpu.hpp"
#include "simd/convert.hpp"

namespace myriad::cpu {
namespace {

/// Whether all matrices have one shape and the same strides.
template <typename T>
bool alike(Batch<T> const& x) {
  return !x.ragged() && !x.row_strides && !x.col_strides;
}
/// Whether one matrix serves the whole batch.
template <typename T>
bool shared(Batch<T> const& x) {
  return !x.pointers && x.batch_stride == 0;
}

/// Matrix b as a batch of its own. An empty matrix may have no address.
template <typename T>
Batch<T> only(Batch<T> const& x, std::int64_t b) {
  std::int64_t const rows = x.rows_of(b), cols = x.cols_of(b);
  return {.data = rows > 0 && cols > 0 ? x.matrix(b) : nullptr,
          .rows = rows,
          .cols = cols,
          .row_stride = x.row_stride_of(b),
          .col_stride = x.col_stride_of(b),
          .count = 1,
          .conjugated = x.conjugated};
}

/// Widened copies of matrices that are alike: without gaps, by rows where the originals are.
template <HalfElement T>
class Widened {
 public:
  using Wide = Compute<T>;

  Widened(Batch<T const> const& x, Wide* memory) : by_rows_(x.col_stride == 1 && x.row_stride != 1) {
    auto const elements = x.rows * x.cols;
    wide_ = {.data = memory,
             .rows = x.rows,
             .cols = x.cols,
             .row_stride = by_rows_ ? x.cols : 1,
             .col_stride = by_rows_ ? 1 : x.rows,
             .batch_stride = shared(x) ? 0 : elements,
             .count = x.count,
             .conjugated = x.conjugated};
  }
  [[nodiscard]] Batch<Wide> const& batch() const { return wide_; }

  void read(Batch<T const> const& x) const {
    for_each_run(x, [](T const* narrow, std::int64_t step, Wide* wide, std::int64_t count) {
      if (step == 1)
        widen(reinterpret_cast<Real<T> const*>(narrow), reinterpret_cast<float*>(wide), parts * count);
      else
        for (std::int64_t i = 0; i < count; ++i) wide[i] = Wide(narrow[i * step]);
    });
  }
  void write(Batch<T> const& x) const {
    for_each_run(x, [](T* to, std::int64_t step, Wide const* wide, std::int64_t count) {
      if (step == 1)
        narrow(reinterpret_cast<float const*>(wide), reinterpret_cast<Real<T>*>(to), parts * count);
      else
        for (std::int64_t i = 0; i < count; ++i) to[i * step] = T(wide[i]);
    });
  }

 private:
  static constexpr std::int64_t parts = is_complex<T> ? 2 : 1;

  /// Calls `f(first, step, wide, count)` for elements that are contiguous in `wide` and `step` apart in x. Lines and matrices that follow
  /// each other without gaps are one run.
  template <typename X, typename F>
  void for_each_run(Batch<X> const& x, F&& f) const {
    std::int64_t const length = by_rows_ ? x.cols : x.rows, lines = by_rows_ ? x.rows : x.cols;
    std::int64_t const step = by_rows_ ? x.col_stride : x.row_stride, line_step = by_rows_ ? x.row_stride : x.col_stride;
    std::int64_t const count = wide_.batch_stride == 0 ? 1 : x.count;
    bool const whole_matrices = step == 1 && (line_step == length || lines == 1);
    if (whole_matrices && !x.pointers && (x.batch_stride == length * lines || count == 1)) {
      f(x.matrix(0), step, wide_.data, count * length * lines);
      return;
    }
    for (std::int64_t b = 0; b < count; ++b) {
      Wide* const wide = wide_.data + b * length * lines;
      if (whole_matrices)
        f(x.matrix(b), step, wide, length * lines);
      else
        for (std::int64_t line = 0; line < lines; ++line) f(x.matrix(b) + line * line_step, step, wide + line * length, length);
    }
  }

  bool by_rows_;
  Batch<Wide> wide_;
};

/// Multiplies matrices that are alike; `memory` holds their widened copies.
template <HalfElement T, typename Output>
void multiply(GemmTask<T, Output> const& task, Compute<T>* memory) {
  if (task.c.empty()) return;
  bool const product = task.alpha != Compute<T>(0) && task.a.cols > 0;
  Widened<T> const a(task.a, memory), b(task.b, memory + task.a.count * task.a.rows * task.a.cols);
  if (product) {
    a.read(task.a);
    b.read(task.b);
  }
  GemmTask<Compute<T>> wide{.alpha = task.alpha, .a = a.batch(), .b = b.batch(), .beta = task.beta, .c = {}};
  if constexpr (std::is_same_v<Output, T>) {
    Widened<T> const c(task.c, b.batch().data + task.b.count * task.b.rows * task.b.cols);
    if (task.beta != Compute<T>(0)) c.read(task.c);
    wide.c = c.batch();
    gemm_range(wide, 0, wide.c.count);
    c.write(task.c);
  } else {
    wide.c = task.c;
    gemm_range(wide, 0, wide.c.count);
  }
}

}  // namespace

template <HalfElement T, typename Output>
void gemm(Queue& queue, GemmTask<T, Output> const& task) {
  std::int64_t const m = task.c.rows, n = task.c.cols, k = task.a.cols;
  bool const all_alike = alike(task.a) && alike(task.b) && alike(task.c);
  std::int64_t const size = k * (m + n) + (std::is_same_v<Output, T> ? m * n : 0);
  in_chunks<Compute<T>>(queue, task.c.count, std::max<std::int64_t>(size, 1),
                        [&](std::int64_t first, std::int64_t count, Compute<T>* memory) {
                          GemmTask<T, Output> part = task;
                          if (all_alike) {
                            part.a = matrices(task.a, first, count);
                            part.b = matrices(task.b, first, count);
                            part.c = matrices(task.c, first, count);
                            multiply(part, memory);
                            return;
                          }
                          for (std::int64_t q = first; q < first + count; ++q) {
                            part.a = only(task.a, q);
                            part.b = only(task.b, q);
                            part.c = only(task.c, q);
                            multiply(part, memory);
                          }
                        });
}

#define MYRIAD_INSTANTIATE(T)                        \
  template void gemm(Queue&, GemmTask<T, T> const&); \
  template void gemm(Queue&, GemmTask<T, Compute<T>> const&);
MYRIAD_FOR_EACH_HALF_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::cpu
