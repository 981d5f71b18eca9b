#pragma once
/// Streams batches in host memory through one or several GPUs in chunks. Copies to a GPU, computation and copies back overlap, and a batch
/// may be larger than the GPUs' memory.
///
///     StreamReport const report = stream(queue, {}, in(a), in(b), out(x), out(info),
///                                        [](Queue& q, auto a, auto b, auto x, int* info) { solve<double>(q, a, b, x, info); });
///
/// a, b, x and info are in host memory. For every chunk the callable gets a queue and the chunk's part of each operand, in GPU memory, and
/// calls routines as on any queue. On a CPU queue it is called once, with the operands themselves, so that the same program runs on both.
/// The bits of a result do not depend on the chunks.
///
/// A chunk goes to the GPU that has the fewest in flight, if there are several queues, one on each GPU:
///
///     std::vector<Queue> queues;
///     for (Device const& gpu : devices()) queues.emplace_back(QueueOptions{.backend = Backend::gpu, .device = gpu.ordinal});
///     stream(queues, {}, in(a), in(b), out(x), out(info), solve_chunk);
///
/// The bits of a result do not depend on the number of GPUs, if these are of one model.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "myriad/batch.hpp"
#include "myriad/export.h"
#include "myriad/queue.hpp"

namespace myriad {

/// The direction in which an operand is copied: to the GPU, back from it, or both.
enum class StreamUse { in, out, in_out };

/// An operand of `stream`, made by in(), out() and in_out(). `Argument` is the type that the callable gets for it: Batch<T const> or
/// Batch<T>, T const* or T*. For an input that the routine overwrites and whose final content is not needed, use
/// StreamOperand<Batch<T>>{batch, StreamUse::in}: a GPU does not copy it back. Its batch_stride must not be zero.
template <typename Argument>
struct StreamOperand {
  Argument host{};                ///< batch or array in host memory
  StreamUse use = StreamUse::in;  ///< direction of the copies
};

/// A batch that is read. With a batch_stride of zero (one matrix for the whole batch) it is copied once.
template <typename T>
[[nodiscard]] StreamOperand<Batch<T const>> in(Batch<T> batch) noexcept {
  return {batch, StreamUse::in};
}
/// A batch that is written. Its content is undefined when the callable gets it, so a routine that may leave matrices unchanged (gesv of a
/// singular one) needs in_out(). In host memory, elements outside the matrices keep their values.
template <typename T>
requires(!std::is_const_v<T>) [[nodiscard]] StreamOperand<Batch<T>> out(Batch<T> batch) noexcept { return {batch, StreamUse::out}; }
/// A batch that is read and written, in place.
template <typename T>
requires(!std::is_const_v<T>) [[nodiscard]] StreamOperand<Batch<T>> in_out(Batch<T> batch) noexcept { return {batch, StreamUse::in_out}; }

/// An array with one number per matrix, such as `info`.
template <typename T>
[[nodiscard]] StreamOperand<T const*> in(T const* values) noexcept {
  return {values, StreamUse::in};
}
/// An array that is written.
template <typename T>
requires(!std::is_const_v<T>) [[nodiscard]] StreamOperand<T*> out(T* values) noexcept { return {values, StreamUse::out}; }
/// An array that is read and written.
template <typename T>
requires(!std::is_const_v<T>) [[nodiscard]] StreamOperand<T*> in_out(T* values) noexcept { return {values, StreamUse::in_out}; }

/// How a run on several GPUs goes on after GpuError or OutOfMemory of one of them. All other exceptions end it.
enum class OnGpuFailure {
  stop,           ///< the run throws the error; its text names the GPU
  move_to_others  ///< the GPU's unfinished chunks are computed by the others; the run throws if no GPU is left
};

struct StreamOptions {
  /// Maximum bytes of a chunk on the GPU, over all operands; a larger matrix is a chunk by itself. 0: a sixteenth of a GPU's share of the
  /// batch, between 4 and 32 MiB, and at most a sixteenth of the GPU's free memory. At most six chunks are on a GPU at a time, fewer where
  /// they would take more than half of its free memory.
  std::int64_t chunk_bytes = 0;
  /// move_to_others stages operands that are overwritten by results, also in pinned memory, so that a chunk can be computed again.
  OnGpuFailure on_gpu_failure = OnGpuFailure::stop;
  /// One entry per matrix, or nullptr. A run sets it to 1 where all results of the matrix are in host memory, else to 0, and also does so
  /// if it throws after it has checked the operands: outputs of the others are then undefined.
  std::uint8_t* complete = nullptr;
};

/// Measured rates of the link between host and GPU in bytes per second, with copies from and to pinned memory.
struct HostLink {
  double to_device = 0;  ///< from host memory to the GPU
  double to_host = 0;    ///< from the GPU to host memory
  double both = 0;       ///< sum of both directions at the same time

  /// Lower bound on the time to copy so many bytes in and out.
  [[nodiscard]] double seconds(std::int64_t bytes_in, std::int64_t bytes_out) const noexcept {
    auto const in = static_cast<double>(bytes_in), out = static_cast<double>(bytes_out);
    double const one_way = in / to_device > out / to_host ? in / to_device : out / to_host;
    double const two_way = (in + out) / both;
    return one_way > two_way ? one_way : two_way;
  }
};

/// Measures the link to the queue's GPU, once per process and GPU, by a few copies of 32 MiB. The link should be idle meanwhile. Throws
/// Unavailable on the CPU.
MYRIAD_API HostLink host_link(Queue& queue);
/// The same for the GPUs of all queues at the same time: sums of their rates, which the host's memory and shared switches may bound. Throws
/// BadArgument if there is no queue.
MYRIAD_API HostLink host_link(std::span<Queue> queues);

/// Measured rates of the link from one GPU to another in bytes per second.
struct PeerLink {
  double copy = 0;    ///< by copy(): the memory of queues is not mapped on other GPUs, so that the driver may pass through host memory
  double direct = 0;  ///< from and to memory that is mapped on both GPUs; 0: they cannot access each other's memory
};

/// Measures the link from the GPU of one queue to that of another, at each call, by a few copies of 32 MiB. Throws Unavailable on the CPU.
MYRIAD_API PeerLink peer_link(Queue& from, Queue& to);

/// The part of one GPU in a run.
struct StreamShare {
  int device = 0;             ///< number of the GPU
  std::int64_t matrices = 0;  ///< computed on it
  std::string failure;        ///< text of the error that took the GPU out of the run; empty: none
};

struct StreamReport {
  std::int64_t matrices = 0;
  std::int64_t chunks = 0;
  std::int64_t bytes_in = 0;          ///< copied to the GPU
  std::int64_t bytes_out = 0;         ///< copied from it
  std::int64_t bytes_staged = 0;      ///< of these, bytes that went through the streamer's pinned staging buffers
  double seconds = 0;                 ///< from call to return
  std::vector<StreamShare> shares{};  ///< one per queue; empty on the CPU, and if there was nothing to compute

  /// Bytes per second, both directions together.
  [[nodiscard]] double rate() const noexcept { return seconds > 0 ? static_cast<double>(bytes_in + bytes_out) / seconds : 0; }
  /// Fraction of the link's rate: 1 if the copies alone would take as long.
  [[nodiscard]] double share_of(HostLink const& link) const noexcept {
    return seconds > 0 ? link.seconds(bytes_in, bytes_out) / seconds : 0;
  }
};

namespace detail {

/// An operand without its element type.
struct UntypedOperand {
  StreamUse use = StreamUse::in;
  bool per_matrix = false;  ///< an array with one element per matrix; batch.count is not set
  std::int64_t element_bytes = 1;
  Batch<char> batch;  ///< strides count elements of element_bytes; do not index it
};

/// The same descriptor with another element type.
template <typename To, typename From>
Batch<To> with_element_type(Batch<From> const& b) noexcept {
  return {reinterpret_cast<To*>(const_cast<std::remove_const_t<From>*>(b.data)),
          reinterpret_cast<To* const*>(const_cast<std::remove_const_t<From>* const*>(b.pointers)),
          b.rows,
          b.cols,
          b.row_stride,
          b.col_stride,
          b.batch_stride,
          b.count,
          b.row_sizes,
          b.col_sizes,
          b.row_strides,
          b.col_strides,
          b.row_offset,
          b.col_offset,
          b.conjugated};
}

template <typename Argument>
inline constexpr bool is_stream_operand = false;
template <typename Argument>
inline constexpr bool is_stream_operand<StreamOperand<Argument>> = true;

template <typename Argument>
struct StreamArgument;
template <typename T>
struct StreamArgument<Batch<T>> {
  static_assert(std::is_trivially_copyable_v<T>);
  static UntypedOperand untyped(StreamOperand<Batch<T>> const& o) noexcept {
    return {o.use, false, static_cast<std::int64_t>(sizeof(T)), with_element_type<char>(o.host)};
  }
  static Batch<T> typed(Batch<char> const& b) noexcept { return with_element_type<T>(b); }
};
template <typename T>
struct StreamArgument<T*> {
  static_assert(std::is_trivially_copyable_v<T>);
  static UntypedOperand untyped(StreamOperand<T*> const& o) noexcept {
    return {o.use, true, static_cast<std::int64_t>(sizeof(T)), with_element_type<char>(vectors(o.host, 1, 0))};
  }
  static T* typed(Batch<char> const& b) noexcept { return reinterpret_cast<T*>(b.data); }
};

template <typename Operand>
struct StreamArgumentOf;
template <typename Argument>
struct StreamArgumentOf<StreamOperand<Argument>> {
  using type = Argument;
};

}  // namespace detail

/// Streams batches through GPUs and reuses their buffers between runs: up to six chunks on each GPU, and up to twelve pinned staging
/// buffers for operands that are not pinned. Use it from one thread at a time. The queues must outlive it and must not be moved.
class MYRIAD_API Streamer {
 public:
  /// Allocates nothing yet. Throws BadArgument for a negative chunk size.
  explicit Streamer(Queue& queue, StreamOptions options = {});
  /// Streams through several GPUs, one queue each. Throws BadArgument also if there is no queue, a null pointer, or a queue on the CPU
  /// beside others.
  explicit Streamer(std::span<Queue> queues, StreamOptions options = {});
  explicit Streamer(std::span<Queue* const> queues, StreamOptions options = {});
  ~Streamer();
  Streamer(Streamer&&) noexcept;             ///< a moved-from streamer may only be assigned to or destroyed
  Streamer& operator=(Streamer&&) noexcept;  ///< as the move constructor

  /// run(operands..., work) calls work(q, arguments...) for every chunk, in this thread, with the arguments on the GPU, and returns when
  /// all results are in host memory. `work` only enqueues; it need not wait. `q` is one of the streamer's own queues on the chunk's GPU,
  /// not always the same one. The first chunk of a GPU starts after all work that the streamer's queue there was given before.
  ///
  /// Operands may be strided, interleaved, arrays of pointers, or ragged. On the GPU they are packed without gaps: column-major, row-major
  /// or interleaved as in host memory. Contiguous matrices in pinned memory (PinnedArray, cudaHostRegister) are copied directly. All others
  /// are packed into pinned staging buffers by the queue's CPU threads, while the GPU works.
  ///
  /// Throws BadArgument (operand k, counted from 1, has position k + 2), OutOfMemory, GpuError, and anything that `work` throws. After an
  /// exception no copy is in flight, the queues are usable unless their GPU is not, and the outputs are undefined (but see
  /// StreamOptions::complete). Within Queue::prepare() of one of the queues it calls `work` once to load kernels there, and computes
  /// nothing.
  template <typename... Arguments>
  StreamReport run(Arguments&&... operands_and_work) {
    static_assert(sizeof...(Arguments) >= 2, "run(operands..., work): operands by in(), out(), in_out(), then a callable");
    auto const all = std::forward_as_tuple(operands_and_work...);
    constexpr std::size_t last = sizeof...(Arguments) - 1;
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      using Tuple = std::tuple<std::remove_cvref_t<Arguments>...>;
      static_assert((detail::is_stream_operand<std::tuple_element_t<k, Tuple>> && ...), "operands are made by in(), out(), in_out()");
      return run_as<typename detail::StreamArgumentOf<std::tuple_element_t<k, Tuple>>::type...>(std::get<last>(all), std::get<k>(all)...);
    }
    (std::make_index_sequence<last>{});
  }

  /// Callable of run_untyped(), which is run() for bindings: operand types are known only at run time.
  using Work = std::function<void(Queue&, std::span<Batch<char> const>)>;
  StreamReport run_untyped(std::span<detail::UntypedOperand const> operands, Work const& work);  ///< see Work

 private:
  template <typename... Argument, typename F>
  StreamReport run_as(F& work, StreamOperand<Argument> const&... operands) {
    static_assert(std::invocable<F&, Queue&, Argument...>, "work takes a Queue& and what each operand stands for");
    detail::UntypedOperand const untyped[] = {detail::StreamArgument<Argument>::untyped(operands)...};
    return run_untyped(untyped, [&](Queue& q, std::span<Batch<char> const> device) {
      [&]<std::size_t... k>(std::index_sequence<k...>) { work(q, detail::StreamArgument<Argument>::typed(device[k])...); }
      (std::index_sequence_for<Argument...>{});
    });
  }

  struct State;
  std::unique_ptr<State> state_;
};

/// Streams once: Streamer(queue, options).run(operands..., work).
template <typename... Arguments>
StreamReport stream(Queue& queue, StreamOptions options, Arguments&&... operands_and_work) {
  return Streamer(queue, options).run(std::forward<Arguments>(operands_and_work)...);
}
/// The same on several GPUs, one queue each.
template <typename... Arguments>
StreamReport stream(std::span<Queue> queues, StreamOptions options, Arguments&&... operands_and_work) {
  return Streamer(queues, options).run(std::forward<Arguments>(operands_and_work)...);
}

}  // namespace myriad
