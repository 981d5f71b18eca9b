#include "myriad/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/check.hpp"
#include "myriad/event.hpp"
#include "myriad/memory.hpp"
#include "runtime/packing.hpp"
#include "runtime/queue_state.hpp"

namespace myriad {
namespace {

namespace driver = gpu::driver;
using detail::UntypedOperand;
using gpu::Packing;

/// Chunks on the GPU at a time: one is copied in, one computed, one copied out.
constexpr int lane_count = 3;
/// Chunks in pinned memory at a time. Twice as many, because a chunk is there from before its copy in until after its copy out: besides the
/// three on the GPU one is packed, one is unpacked, and one waits.
constexpr int stage_count = 2 * lane_count;
static_assert(stage_count % lane_count == 0);

// Limits of the default chunk size. At 50 GB/s 4 MiB take 80 us, several times the launch overhead of copies and kernels; 32 MiB take 0.7
// ms, which makes it negligible. Larger chunks would lengthen the first and last copies, which overlap with nothing.
constexpr std::int64_t smallest_chunk = std::int64_t{4} << 20;
constexpr std::int64_t largest_chunk = std::int64_t{32} << 20;
constexpr std::int64_t chunks_wanted = 16;

/// Placement of an operand on the GPU and in pinned memory.
struct Placed {
  Packing packing;
  bool pinned = false;             ///< pinned by the caller: copied directly
  std::int64_t device_offset = 0;  ///< in a lane's memory; for a shared operand in the memory of shared operands
  std::int64_t stage_offset = 0;   ///< in a stage
  Batch<char> shared{};            ///< on the GPU, if one matrix is shared by all

  [[nodiscard]] bool is_packed() const { return !pinned && (packing.reads() || packing.ragged()); }
  [[nodiscard]] bool is_unpacked() const { return !pinned && packing.writes(); }
  [[nodiscard]] bool staged() const { return is_packed() || is_unpacked(); }
};

/// A thread that calls finish(k) for chunk after chunk, as soon as chunk k is enqueued.
class Finisher {
 public:
  template <typename F>
  explicit Finisher(F finish) : thread_([this, finish](std::stop_token const& stop) { work(stop, finish); }) {}

  /// Reports that chunks 0 to count - 1 are enqueued.
  void under_way(std::int64_t count) {
    {
      std::scoped_lock const lock(mutex_);
      under_way_ = count;
    }
    changed_.notify_all();
  }

  /// Waits until chunks 0 to count - 1 are finished; rethrows their errors.
  void wait_for(std::int64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_ >= count || error_; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  template <typename F>
  void work(std::stop_token const& stop, F const& finish) {
    for (std::int64_t k = 0;; ++k) {
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return under_way_ > k; }) || stop.stop_requested()) return;
      }
      std::exception_ptr error;
      try {
        finish(k);
      } catch (...) {
        error = std::current_exception();
      }
      {
        std::scoped_lock const lock(mutex_);
        finished_ = k + 1;
        error_ = error;
      }
      changed_.notify_all();
      if (error) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t under_way_ = 0;
  std::int64_t finished_ = 0;
  std::exception_ptr error_;
  std::jthread thread_;  // last member: it uses the others
};

struct Chunk {
  std::int64_t first;
  std::int64_t count;
};

/// Divides into chunks of at most `bytes`, or of one matrix. Matrices of equal size are divided evenly.
std::vector<Chunk> divide(std::vector<Placed> const& operands, std::int64_t count, std::int64_t bytes) {
  std::vector<Chunk> chunks;
  auto const bytes_of = [&](std::int64_t b) {
    std::int64_t sum = 0;
    for (Placed const& o : operands)
      if (!o.packing.shared()) sum += o.packing.bytes_of(b);
    return sum;
  };
  if (std::none_of(operands.begin(), operands.end(), [](Placed const& o) { return o.packing.ragged(); })) {
    std::int64_t const fitting = std::max<std::int64_t>(bytes / std::max<std::int64_t>(bytes_of(0), 1), 1);
    if (fitting >= count) return {{0, count}};
    // Large chunks are a multiple of 32 matrices, so that rows of interleaved matrices are aligned to cache lines.
    std::int64_t const unit = fitting >= 32 ? 32 : 1;
    std::int64_t const most = fitting / unit * unit;
    std::int64_t const number = (count + most - 1) / most;
    std::int64_t const step = ((count + number - 1) / number + unit - 1) / unit * unit;
    for (std::int64_t first = 0; first < count; first += step) chunks.push_back({first, std::min(step, count - first)});
    return chunks;
  }
  std::int64_t held = 0;
  for (std::int64_t b = 0; b < count; ++b) {
    std::int64_t const more = bytes_of(b);
    if (chunks.empty() || held + more > bytes) {
      chunks.push_back({b, 0});
      held = 0;
    }
    ++chunks.back().count;
    held += more;
  }
  return chunks;
}

std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

std::string name_of(std::size_t k) { return fmt::format("operand {}", k + 1); }

/// Throws BadArgument if an operand is invalid or operands do not match. Returns the number of matrices.
std::int64_t check(std::span<UntypedOperand> operands) {
  Check const check("stream");
  std::optional<std::int64_t> count;
  auto const argument = [&](std::size_t k, std::string const& name) { return Argument{static_cast<int>(k) + 3, name.c_str()}; };
  for (std::size_t k = 0; k < operands.size(); ++k) {
    UntypedOperand const& o = operands[k];
    std::string const name = name_of(k);
    if (o.per_matrix) continue;
    check.require(o.batch.count >= 0, argument(k, name), fmt::format("has a negative number of matrices: {}", o.batch.count));
    if (!count) count = o.batch.count;
    check.require(*count == o.batch.count, argument(k, name),
                  fmt::format("has {} matrices where those before have {}", o.batch.count, *count));
  }
  if (!count) throw BadArgument("stream", 3, "operand 1", "and the others are arrays; one operand has to be a batch");
  for (std::size_t k = 0; k < operands.size(); ++k) {
    UntypedOperand& o = operands[k];
    std::string const name = name_of(k), rows = name + ", rows", columns = name + ", columns", strides = name + ", strides";
    Argument const me = argument(k, name);
    if (o.per_matrix) o.batch = vectors(o.batch.data, 1, *count);
    UntypedBatch untyped(o.batch);
    untyped.element_size = o.element_bytes;
    check.matrix(untyped, argument(k, rows), argument(k, columns), me, argument(k, strides),
                 o.use == StreamUse::in ? Access::read : Access::write);
    for (std::size_t other = 0; other < k; ++other) {
      UntypedOperand const& p = operands[other];
      if (o.use == StreamUse::in && p.use == StreamUse::in) continue;
      UntypedBatch earlier(p.batch);
      earlier.element_size = p.element_bytes;
      // An output may coincide with an input, matrix by matrix; two outputs must not overlap.
      if (o.use != StreamUse::in && p.use != StreamUse::in)
        check.disjoint(untyped, earlier, me, name_of(other).c_str());
      else
        check.disjoint_or_same(untyped, earlier, me, name_of(other).c_str());
    }
  }
  return *count;
}

/// Whether the driver can copy from and to all of [begin, begin + bytes) asynchronously.
bool is_pinned(char const* begin, std::int64_t bytes) {
  auto type = driver::MemoryType::unified;
  driver::Address start = 0;
  std::size_t size = 0;
  auto const address = reinterpret_cast<std::uintptr_t>(begin);
  return driver::ask(driver::PointerAttribute::memory_type, begin, type) && type == driver::MemoryType::host &&
         driver::ask(driver::PointerAttribute::range_start, begin, start) &&
         driver::ask(driver::PointerAttribute::range_size, begin, size) && start <= address &&
         address - start + static_cast<std::size_t>(bytes) <= size;
}

void refuse_memory_of_a_gpu(std::size_t k, void const* address) {
  if (address && driver::gpu_of(address) >= 0)
    throw BadArgument("stream", static_cast<int>(k) + 3, name_of(k), "is in memory of a GPU; what streams is in host memory");
}

}  // namespace

struct Streamer::State {
  /// Memory for a chunk on the GPU, with its stream, which orders all work on one chunk behind that on the chunk before.
  struct Lane {
    Queue queue;
    DeviceArray<char> memory;
  };
  /// Pinned memory for a chunk. It is reused when the Finisher has finished the chunk, and so not before the event.
  struct Stage {
    PinnedArray<char> memory;
    Event done;
  };

  Queue* queue;
  std::int64_t chunk_bytes;
  std::vector<Lane> lanes;
  std::vector<Stage> stages;
  DeviceArray<char> shared;

  State(Queue& of, std::int64_t bytes) : queue(&of), chunk_bytes(bytes) {}

  /// Waits for all work, ignoring errors: no copy may outlive a call.
  void drain() noexcept {
    for (Lane& lane : lanes) try {
        lane.queue.wait();
      } catch (std::exception const&) {
        // the first error is already being thrown to the caller
      }
  }

  [[nodiscard]] std::int64_t chosen_chunk(std::int64_t total) const {
    if (chunk_bytes > 0) return chunk_bytes;
    driver::CurrentContext const current(QueueAccess::state(*queue).context->handle());
    std::size_t free = 0, all = 0;
    driver::check(driver::api().cuMemGetInfo_v2(&free, &all), "cuMemGetInfo");
    // Memory that the lanes have already counts as free.
    std::int64_t own = 0;
    for (Lane const& lane : lanes) own += lane.memory.size();
    std::int64_t const room = (static_cast<std::int64_t>(free) + own) / 8;
    return std::max<std::int64_t>(std::min({std::max(total / chunks_wanted, smallest_chunk), largest_chunk, room}), 1);
  }

  void take_lanes(std::int64_t number, std::int64_t bytes) {
    while (static_cast<std::int64_t>(lanes.size()) < number) {
      Queue lane({.backend = Backend::gpu, .threads = queue->threads(), .device = queue->device().ordinal});
      lanes.push_back({std::move(lane), {}});
    }
    for (Lane& lane : lanes)
      if (lane.memory.size() < bytes) {
        lane.memory = {};  // frees the old memory first
        lane.memory = DeviceArray<char>(lane.queue, bytes);
      }
  }
  void take_stages(std::int64_t number, std::int64_t bytes) {
    for (std::size_t k = 0; k < stages.size() || static_cast<std::int64_t>(k) < number; ++k) {
      Queue& queue_of_lane = lanes[k % lane_count].queue;  // chunks with the same stage have the same lane
      if (k == stages.size()) stages.push_back({{}, Event(queue_of_lane)});
      if (stages[k].memory.size() >= bytes) continue;
      stages[k].memory = {};
      stages[k].memory = PinnedArray<char>(queue_of_lane, bytes);
    }
  }

  [[nodiscard]] std::vector<Placed> place(std::span<UntypedOperand const> operands) const;
  void copy_shared(std::vector<Placed>& operands, std::int64_t count, StreamReport& report);
  void pipeline(std::vector<Placed>& operands, std::vector<Chunk> const& chunks, Work const& work, StreamReport& report);
};

std::vector<Placed> Streamer::State::place(std::span<UntypedOperand const> operands) const {
  driver::CurrentContext const current(QueueAccess::state(*queue).context->handle());
  std::vector<Placed> out;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    UntypedOperand const& o = operands[k];
    Placed& placed = out.emplace_back(Placed{.packing = Packing(o)});
    if (o.batch.empty()) continue;
    refuse_memory_of_a_gpu(k, placed.packing.host(0));
    placed.pinned = placed.packing.contiguous() &&
                    is_pinned(placed.packing.host(0), (placed.packing.shared() ? 1 : o.batch.count) * placed.packing.bytes_of(0));
  }
  return out;
}

/// Copies shared operands to the GPU, and waits for the copies.
void Streamer::State::copy_shared(std::vector<Placed>& operands, std::int64_t count, StreamReport& report) {
  std::int64_t bytes = 0;
  for (Placed& o : operands)
    if (o.packing.shared()) {
      o.device_offset = bytes;
      bytes += aligned(o.packing.bytes(0, 1));
    }
  if (bytes == 0) return;
  Queue& first = lanes[0].queue;
  if (shared.size() < bytes) {
    shared = {};
    shared = DeviceArray<char>(first, bytes);
  }
  PinnedArray<char> const staging(first, bytes);
  for (Placed& o : operands)
    if (o.packing.shared()) {
      char* const at = shared.data() + o.device_offset;
      char* const from = staging.data() + o.device_offset;
      std::int64_t const size = o.packing.bytes(0, 1);
      o.packing.pack(queue->threads(), 0, 1, from, at);
      copy<char>(first, from, size, at);
      o.shared = o.packing.packed(count, at);
      report.bytes_in += size;
      report.bytes_staged += size;
    }
  first.wait();  // so that lanes need no ordering among each other
}

void Streamer::State::pipeline(std::vector<Placed>& operands, std::vector<Chunk> const& chunks, Work const& work, StreamReport& report) {
  // One thread packs while another unpacks; they divide the queue's threads.
  bool const packs = std::any_of(operands.begin(), operands.end(), [](Placed const& o) { return o.is_packed() && !o.packing.shared(); });
  bool const unpacks = std::any_of(operands.begin(), operands.end(), [](Placed const& o) { return o.is_unpacked(); });
  int const threads = packs && unpacks ? std::max(queue->threads() / 2, 1) : queue->threads();

  auto const stage_of = [&](std::int64_t k) -> Stage& { return stages[static_cast<std::size_t>(k % stage_count)]; };
  Finisher finisher([&, threads](std::int64_t k) {
    Stage const& stage = stage_of(k);
    auto const [first, count] = chunks[static_cast<std::size_t>(k)];
    stage.done.wait();
    for (Placed const& o : operands)
      if (o.is_unpacked()) o.packing.unpack(threads, first, count, stage.memory.data() + o.stage_offset);
  });

  std::vector<Batch<char>> arguments(operands.size());
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(chunks.size()); ++k) {
    auto const [first, count] = chunks[static_cast<std::size_t>(k)];
    Lane& lane = lanes[static_cast<std::size_t>(k % lane_count)];
    Stage& stage = stage_of(k);

    // On the host: the stage is free once chunk k - stage_count, which used it, is finished.
    finisher.wait_for(k + 1 - stage_count);
    for (Placed const& o : operands)
      if (!o.packing.shared() && o.is_packed())
        o.packing.pack(threads, first, count, stage.memory.data() + o.stage_offset, lane.memory.data() + o.device_offset);

    // In the lane's stream, behind all work on chunk k - lane_count: copy in, compute, copy out.
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Placed const& o = operands[i];
      if (o.packing.shared()) {
        arguments[i] = matrices(o.shared, 0, count);
        continue;
      }
      char* const device = lane.memory.data() + o.device_offset;
      arguments[i] = o.packing.packed(count, device);
      std::int64_t const bytes = o.packing.reads() ? o.packing.bytes(first, count) : o.packing.array_bytes(count);
      copy<char>(lane.queue, o.pinned ? o.packing.host(first) : stage.memory.data() + o.stage_offset, bytes, device);
      report.bytes_in += bytes;
      report.bytes_staged += o.pinned ? 0 : bytes;
    }
    work(lane.queue, arguments);
    for (Placed const& o : operands) {
      if (!o.packing.writes()) continue;
      std::int64_t const arrays = o.packing.array_bytes(count), bytes = o.packing.bytes(first, count) - arrays;
      copy<char>(lane.queue, lane.memory.data() + o.device_offset + arrays, bytes,
                 o.pinned ? o.packing.host(first) : stage.memory.data() + o.stage_offset + arrays);
      report.bytes_out += bytes;
      report.bytes_staged += o.pinned ? 0 : bytes;
    }
    stage.done.record();
    finisher.under_way(k + 1);
  }
  finisher.wait_for(static_cast<std::int64_t>(chunks.size()));
}

Streamer::Streamer(Queue& queue, StreamOptions options) : state_(std::make_unique<State>(queue, options.chunk_bytes)) {
  if (options.chunk_bytes < 0) throw BadArgument("stream", 2, "chunk_bytes", fmt::format("is negative: {}", options.chunk_bytes));
}
Streamer::~Streamer() = default;
Streamer::Streamer(Streamer&&) noexcept = default;
Streamer& Streamer::operator=(Streamer&&) noexcept = default;

StreamReport Streamer::run_untyped(std::span<UntypedOperand const> given, Work const& work) {
  auto const start = std::chrono::steady_clock::now();
  std::vector<UntypedOperand> untyped(given.begin(), given.end());
  State& state = *state_;
  Queue& queue = *state.queue;
  if (queue.backend() == Backend::gpu) {
    driver::CurrentContext const current(QueueAccess::state(queue).context->handle());
    for (std::size_t k = 0; k < untyped.size(); ++k) {
      Batch<char> const& a = untyped[k].batch;
      for (void const* const array :
           std::initializer_list<void const*>{a.data, a.pointers, a.row_sizes, a.col_sizes, a.row_strides, a.col_strides})
        refuse_memory_of_a_gpu(k, array);
    }
  }
  std::int64_t const count = check(untyped);
  StreamReport report{.matrices = count};
  std::vector<Batch<char>> arguments;
  if (queue.backend() == Backend::cpu || count == 0) {
    for (UntypedOperand const& o : untyped) arguments.push_back(o.batch);
    work(queue, arguments);
    report.chunks = count > 0 ? 1 : 0;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  }
  QueueAccess::State const& of_queue = QueueAccess::state(queue);
  if (of_queue.preparing > 0) {
    // The addresses are invalid but never dereferenced.
    std::uintptr_t at = 4096;
    for (UntypedOperand const& o : untyped) {
      Packing const packing(o);
      arguments.push_back(packing.packed(count, reinterpret_cast<char*>(at)));
      at += static_cast<std::uintptr_t>(aligned(packing.shared() ? packing.bytes(0, 1) : packing.bytes(0, count)));
    }
    work(queue, arguments);
    return report;
  }
  if (of_queue.capturing()) throw Error("stream: the queue's stream is being captured, and streaming waits for the GPU");

  std::vector<Placed> operands = state.place(untyped);
  std::int64_t total = 0;
  for (Placed const& o : operands) total += o.packing.shared() ? 0 : o.packing.bytes(0, count);
  std::vector<Chunk> const chunks = divide(operands, count, state.chosen_chunk(total));
  std::int64_t device_bytes = 0, stage_bytes = 0;
  for (Placed& o : operands) {
    if (o.packing.shared()) continue;
    std::int64_t most = 0;
    for (Chunk const& chunk : chunks) most = std::max(most, o.packing.bytes(chunk.first, chunk.count));
    o.device_offset = device_bytes;
    device_bytes += aligned(most);
    if (!o.staged()) continue;
    o.stage_offset = stage_bytes;
    stage_bytes += aligned(most);
  }
  auto const number = static_cast<std::int64_t>(chunks.size());
  state.take_lanes(std::min<std::int64_t>(number, lane_count), device_bytes);
  state.take_stages(std::min<std::int64_t>(number, stage_count), stage_bytes);

  struct Drain {
    State& state;
    ~Drain() { state.drain(); }
  } const drain{state};  // no work is in flight afterwards, also after an exception
  Event before(queue);
  before.record();
  for (State::Lane& lane : state.lanes) before.hold(lane.queue);
  // The CPU packs operands itself, so it must wait for the queue's earlier work.
  if (std::any_of(operands.begin(), operands.end(), [](Placed const& o) { return o.is_packed() || o.packing.shared(); })) queue.wait();
  state.copy_shared(operands, count, report);
  state.pipeline(operands, chunks, work, report);
  for (State::Lane& lane : state.lanes) lane.queue.wait();  // throws errors not reported yet
  report.chunks = number;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace myriad
