#include "myriad/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "myriad/event.hpp"
#include "myriad/memory.hpp"
#include "runtime/gpu_errors.hpp"
#include "runtime/packing.hpp"
#include "runtime/queue_state.hpp"

namespace myriad {
namespace {

namespace driver = gpu::driver;
using detail::UntypedOperand;
using gpu::Packing;

/// Maximum of chunks on the GPU at a time: one is copied in, one is copied out, and four are computed, since a chunk of the decompositions
/// occupies only a part of the GPU. H200, thousands of matrices a second, against three chunks: one GPU syevd n = 128 308 (238), gesvd
/// n = 64 722 (694); two GPUs 504 (443), 1360 (1290). Smaller chunks at the start and the end: no gain beyond 2%.
constexpr std::int64_t most_lanes = 6;
/// Chunks of a lane that are in flight at a time, each in a stage: a chunk is in pinned memory from before its copy in until after its copy
/// out, and the next one is enqueued meanwhile.
constexpr std::int64_t chunks_per_lane = 2;

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

  [[nodiscard]] bool is_packed() const { return !pinned && (packing.reads() || packing.ragged()); }
  [[nodiscard]] bool is_unpacked() const { return !pinned && packing.writes(); }
  [[nodiscard]] bool staged() const { return is_packed() || is_unpacked(); }
};

/// A thread that calls finish(k) for chunk after chunk of one GPU, as soon as chunk k is enqueued. Finishers of several GPUs have a monitor
/// in common, so that one thread can wait for any of them.
class Finisher {
 public:
  struct Monitor {
    std::mutex mutex;
    std::condition_variable_any changed;
  };

  template <typename F>
  Finisher(Monitor& monitor, F finish) : monitor_(&monitor), thread_([this, finish](std::stop_token const& stop) { work(stop, finish); }) {}

  /// Reports that another chunk is enqueued.
  void add() {
    {
      std::scoped_lock const lock(monitor_->mutex);
      ++enqueued_;
    }
    monitor_->changed.notify_all();
  }
  /// Waits for the chunk in hand, and takes no other one.
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

  // Valid with the monitor's mutex, or after stop():
  [[nodiscard]] std::int64_t in_flight() const { return enqueued_ - finished_; }
  [[nodiscard]] std::int64_t enqueued() const { return enqueued_; }
  [[nodiscard]] std::int64_t finished() const { return finished_; }  ///< without error
  [[nodiscard]] std::exception_ptr const& error() const { return error_; }

 private:
  template <typename F>
  void work(std::stop_token const& stop, F const& finish) {
    for (std::int64_t k = 0;; ++k) {
      {
        std::unique_lock lock(monitor_->mutex);
        if (!monitor_->changed.wait(lock, stop, [&] { return enqueued_ > k; }) || stop.stop_requested()) return;
      }
      std::exception_ptr error;
      try {
        finish(k);
      } catch (...) {
        error = std::current_exception();
      }
      {
        std::scoped_lock const lock(monitor_->mutex);
        error_ = error;
        finished_ += !error;
      }
      monitor_->changed.notify_all();
      if (error) return;
    }
  }

  Monitor* monitor_;
  std::int64_t enqueued_ = 0, finished_ = 0;
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

/// Memory for a chunk on the GPU, with its stream, which orders all work on one chunk behind that on the chunk before.
struct Lane {
  Queue queue;
  DeviceArray<char> memory{};
  std::array<Event, chunks_per_lane> done{Event(queue), Event(queue)};  ///< of its last chunks
};
/// Pinned memory for a chunk. It is reused when the Finisher has finished the chunk.
using Stage = PinnedArray<char>;

/// One of the GPUs, with its buffers.
struct Gpu {
  Queue* queue;
  std::vector<Lane> lanes{};
  std::deque<Stage> stages{};  ///< each of `stage_bytes`
  std::int64_t stage_bytes = 0;
  DeviceArray<char> shared_memory{};
  std::vector<Batch<char>> shared{};  ///< operands of which one matrix is used by all, else empty

  [[nodiscard]] std::int64_t lane_count() const { return static_cast<std::int64_t>(lanes.size()); }
  [[nodiscard]] Lane& lane_of(std::int64_t k) { return lanes[static_cast<std::size_t>(k % lane_count())]; }
  [[nodiscard]] Event& done(std::int64_t k) { return lane_of(k).done[static_cast<std::size_t>(k / lane_count() % chunks_per_lane)]; }

  /// Waits for all work, ignoring errors: no copy may outlive a call.
  void drain() noexcept {
    for (Lane& lane : lanes) try {
        lane.queue.wait();
      } catch (std::exception const&) {
        // the first error is already being reported
      }
  }

  [[nodiscard]] std::int64_t free_memory() const {
    driver::CurrentContext const current(QueueAccess::state(*queue).context->handle());
    std::size_t free = 0, all = 0;
    driver::check(driver::api().cuMemGetInfo_v2(&free, &all), "cuMemGetInfo");
    return static_cast<std::int64_t>(free);
  }
  /// A sixteenth of the free memory: `most_lanes` chunks take less than half of it. Memory that the lanes have already counts as free.
  [[nodiscard]] std::int64_t room_for_chunk() const {
    std::int64_t own = 0;
    for (Lane const& lane : lanes) own += lane.memory.size();
    return (free_memory() + own) / 16;
  }

  /// Takes at most `number` lanes for chunks of `bytes`. New memory for lanes leaves half of the free memory to the routines' workspace;
  /// large matrices have two lanes if three fit, so that copies overlap with computing, else one.
  void take_lanes(std::int64_t number, std::int64_t bytes) {
    std::int64_t ready = 0, reusable = 0;
    for (Lane const& lane : lanes)
      if (lane.memory.size() >= bytes)
        ++ready;
      else
        reusable += lane.memory.size();
    std::int64_t wanted = std::min(number, most_lanes);
    if (ready == lane_count() && ready >= wanted) return;
    std::int64_t const fitting = ready + (free_memory() + reusable) / std::max<std::int64_t>(bytes, 1);
    wanted = std::max(ready, std::min(wanted, std::max<std::int64_t>(fitting / 2, fitting < 3 ? 1 : 2)));
    while (lane_count() > wanted) lanes.pop_back();
    while (lane_count() < wanted)
      lanes.push_back({Queue({.backend = Backend::gpu, .threads = queue->threads(), .device = queue->device().ordinal})});
    for (Lane& lane : lanes)
      if (lane.memory.size() < bytes) {
        lane.memory = {};  // frees the old memory first
        lane.memory = DeviceArray<char>(lane.queue, bytes);
      }
  }
  /// The stages that the next run takes first.
  [[nodiscard]] std::vector<Stage*> take_stages(std::int64_t bytes) {
    if (bytes > stage_bytes) {
      stages.clear();
      stage_bytes = bytes;
    }
    std::vector<Stage*> idle;
    for (Stage& stage : stages) idle.push_back(&stage);
    return idle;
  }
  [[nodiscard]] Stage* new_stage() { return &stages.emplace_back(lanes.front().queue, stage_bytes); }

  /// Orders the lanes behind the work that the queue was given before.
  void begin(bool packs) {
    Event before(*queue);
    before.record();
    for (Lane& lane : lanes) before.hold(lane.queue);
    // The CPU packs operands itself, so it must wait.
    if (packs) queue->wait();
  }
  void copy_shared(std::vector<Placed> const& operands, std::int64_t count, StreamReport& report);
};

/// Copies shared operands to the GPU, and waits for the copies.
void Gpu::copy_shared(std::vector<Placed> const& operands, std::int64_t count, StreamReport& report) {
  shared.assign(operands.size(), {});
  std::int64_t bytes = 0;
  for (Placed const& o : operands)
    if (o.packing.shared()) bytes = o.device_offset + aligned(o.packing.bytes(0, 1));
  if (bytes == 0) return;
  Queue& first = lanes[0].queue;
  if (shared_memory.size() < bytes) {
    shared_memory = {};
    shared_memory = DeviceArray<char>(first, bytes);
  }
  PinnedArray<char> const staging(first, bytes);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    Placed const& o = operands[k];
    if (!o.packing.shared()) continue;
    char* const at = shared_memory.data() + o.device_offset;
    char* const from = staging.data() + o.device_offset;
    std::int64_t const size = o.packing.bytes(0, 1);
    o.packing.pack(queue->threads(), 0, 1, from, at);
    copy<char>(first, from, size, at);
    shared[k] = o.packing.packed(count, at);
    report.bytes_in += size;
    report.bytes_staged += size;
  }
  first.wait();  // so that lanes need no ordering among each other
}

/// Places of operands in pinned memory and on GPUs. `restartable`: a chunk that was begun can be computed again, so its input in host
/// memory is not overwritten before it is complete.
struct Plan {
  std::vector<Placed> operands;
  std::vector<Chunk> chunks;
  std::int64_t count = 0, device_bytes = 0, stage_bytes = 0;

  Plan(std::span<UntypedOperand const> given, std::int64_t matrices, bool restartable) : count(matrices) {
    for (std::size_t k = 0; k < given.size(); ++k) {
      UntypedOperand const& o = given[k];
      Placed& placed = operands.emplace_back(Placed{.packing = Packing(o)});
      if (o.batch.empty()) continue;
      refuse_memory_of_a_gpu(k, placed.packing.host(0));
      placed.pinned = placed.packing.contiguous() &&
                      is_pinned(placed.packing.host(0), (placed.packing.shared() ? 1 : o.batch.count) * placed.packing.bytes_of(0));
      if (!restartable) continue;
      // An output that coincides with an input is the same matrices, so the first has the same address.
      for (Placed& other : operands) {
        bool const reads = placed.packing.reads() || other.packing.reads();
        if (!reads || other.packing.host(0) != placed.packing.host(0)) continue;
        for (Placed* const o : {&placed, &other}) o->pinned = o->pinned && !o->packing.writes();
      }
    }
  }
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (Placed const& o : operands) sum += o.packing.shared() ? 0 : o.packing.bytes(0, count);
    return sum;
  }
  void divide_into(std::int64_t chunk_bytes) {
    chunks = divide(operands, count, chunk_bytes);
    std::int64_t shared_bytes = 0;
    for (Placed& o : operands) {
      if (o.packing.shared()) {
        o.device_offset = shared_bytes;
        shared_bytes += aligned(o.packing.bytes(0, 1));
        continue;
      }
      std::int64_t most = 0;
      for (Chunk const& chunk : chunks) most = std::max(most, o.packing.bytes(chunk.first, chunk.count));
      o.device_offset = device_bytes;
      device_bytes += aligned(most);
      if (!o.staged()) continue;
      o.stage_offset = stage_bytes;
      stage_bytes += aligned(most);
    }
  }
  [[nodiscard]] bool packs() const {
    return std::any_of(operands.begin(), operands.end(), [](Placed const& o) { return o.is_packed() && !o.packing.shared(); });
  }
  [[nodiscard]] bool unpacks() const {
    return std::any_of(operands.begin(), operands.end(), [](Placed const& o) { return o.is_unpacked(); });
  }
  [[nodiscard]] bool shares() const {
    return std::any_of(operands.begin(), operands.end(), [](Placed const& o) { return o.packing.shared(); });
  }
};

std::vector<Queue*> pointers_to(std::span<Queue> queues) {
  std::vector<Queue*> out;
  for (Queue& queue : queues) out.push_back(&queue);
  return out;
}

/// The text of an error of this GPU, without its name; nothing for other errors.
std::optional<std::string> text_of_gpu_error(int device, std::exception_ptr const& error) {
  auto const without_name = [&](std::string_view text) {
    std::string const prefix = gpu::prefix_of_errors(device);
    return std::string(text.substr(text.starts_with(prefix) ? prefix.size() : 0));
  };
  try {
    std::rethrow_exception(error);
  } catch (OutOfMemory const& e) {
    return without_name(e.what());
  } catch (GpuError const& e) {
    return without_name(e.what());
  } catch (...) {
    return {};
  }
}

/// One run: chunks go to the GPU that has the fewest of them in flight.
class Run {
 public:
  Run(std::vector<Gpu>& gpus, StreamOptions const& options, Plan const& plan, Streamer::Work const& work, StreamReport& report)
      : options_(options), plan_(plan), work_(work), report_(report), arguments_(plan.operands.size()) {
    report_.shares.resize(gpus.size());
    for (std::size_t k = 0; k < gpus.size(); ++k) {
      report_.shares[k].device = gpus[k].queue->device().ordinal;
      workers_.push_back({&gpus[k], &report_.shares[k]});
    }
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(plan.chunks.size()); ++k) waiting_.push_back(k);
    // One thread packs while others unpack; they divide the queue's threads.
    int const threads = gpus.front().queue->threads(), finishers = static_cast<int>(gpus.size());
    packing_threads_ = plan.packs() && plan.unpacks() ? std::max(threads / 2, 1) : threads;
    unpacking_threads_ = std::max((plan.packs() ? packing_threads_ : threads) / finishers, 1);
  }
  Run(Run const&) = delete;
  Run& operator=(Run const&) = delete;
  /// No work is in flight afterwards, also after an exception.
  ~Run() {
    for (Worker& worker : workers_) end(worker);
  }

  void operator()() {
    for (Worker& worker : workers_) guard(worker, [&] { start(worker); });
    for (;;) {
      Worker *failed = nullptr, *free = nullptr;
      {
        std::unique_lock lock(monitor_.mutex);
        monitor_.changed.wait(lock, [&] {
          failed = failed_worker();
          free = waiting_.empty() ? nullptr : free_worker();
          return failed || free || (waiting_.empty() && !in_flight());
        });
      }
      if (failed)
        fail(*failed, std::exception_ptr(failed->finisher->error()));
      else if (free)
        guard(*free, [&] { enqueue(*free); });
      else
        break;
    }
    for (Worker& worker : workers_)
      if (worker.finisher)
        guard(worker, [&] {
          for (Lane& lane : worker.gpu->lanes) lane.queue.wait();  // throws errors not reported yet
        });
  }

 private:
  struct Given {
    std::int64_t chunk;
    Stage* stage;
  };
  struct Worker {
    Gpu* gpu;
    StreamShare* share;
    std::vector<Given> given{};            ///< chunks, in the order in which it got them
    std::vector<Stage*> idle{};            ///< stages of no chunk in flight
    std::int64_t returned = 0;             ///< the stages of so many chunks were idle again
    std::unique_ptr<Finisher> finisher{};  ///< none before the start and after a failure
    bool failed = false;
  };

  /// Errors of the GPU end the run or take the GPU out of it.
  template <typename F>
  void guard(Worker& worker, F&& f) {
    try {
      f();
    } catch (...) {
      fail(worker, std::current_exception());
    }
  }

  void start(Worker& worker) {
    Gpu& gpu = *worker.gpu;
    auto const number = static_cast<std::int64_t>(plan_.chunks.size());
    worker.given.reserve(plan_.chunks.size());  // the finisher reads its elements while it grows
    gpu.take_lanes(number, plan_.device_bytes);
    worker.idle = gpu.take_stages(plan_.stage_bytes);
    gpu.begin(plan_.packs() || plan_.shares());
    gpu.copy_shared(plan_.operands, plan_.count, report_);
    worker.finisher = std::make_unique<Finisher>(monitor_, [this, &worker, given = std::as_const(worker.given).data()](std::int64_t k) {
      auto const [first, count] = plan_.chunks[static_cast<std::size_t>(given[k].chunk)];
      worker.gpu->done(k).wait();
      for (Placed const& o : plan_.operands)
        if (o.is_unpacked()) o.packing.unpack(unpacking_threads_, first, count, given[k].stage->data() + o.stage_offset);
      if (options_.complete) std::fill_n(options_.complete + first, count, std::uint8_t{1});
      worker.share->matrices += count;
    });
  }

  /// Gives the next chunk to a GPU: packs it, and enqueues its copy in, its work and its copy out.
  void enqueue(Worker& worker) {
    auto const local = static_cast<std::int64_t>(worker.given.size());
    worker.given.push_back({waiting_.front(), nullptr});
    waiting_.pop_front();
    char* const stage = take_stage(worker)->data();
    auto const [first, count] = chunk_of(worker, local);
    Lane& lane = worker.gpu->lane_of(local);
    for (Placed const& o : plan_.operands)
      if (!o.packing.shared() && o.is_packed())
        o.packing.pack(packing_threads_, first, count, stage + o.stage_offset, lane.memory.data() + o.device_offset);

    // The lane's stream orders this behind all work on its chunk before.
    for (std::size_t i = 0; i < plan_.operands.size(); ++i) {
      Placed const& o = plan_.operands[i];
      if (o.packing.shared()) {
        arguments_[i] = matrices(worker.gpu->shared[i], 0, count);
        continue;
      }
      char* const device = lane.memory.data() + o.device_offset;
      arguments_[i] = o.packing.packed(count, device);
      std::int64_t const bytes = o.packing.reads() ? o.packing.bytes(first, count) : o.packing.array_bytes(count);
      copy<char>(lane.queue, o.pinned ? o.packing.host(first) : stage + o.stage_offset, bytes, device);
      report_.bytes_in += bytes;
      report_.bytes_staged += o.pinned ? 0 : bytes;
    }
    work_(lane.queue, arguments_);
    for (Placed const& o : plan_.operands) {
      if (!o.packing.writes()) continue;
      std::int64_t const arrays = o.packing.array_bytes(count), bytes = o.packing.bytes(first, count) - arrays;
      copy<char>(lane.queue, lane.memory.data() + o.device_offset + arrays, bytes,
                 o.pinned ? o.packing.host(first) : stage + o.stage_offset + arrays);
      report_.bytes_out += bytes;
      report_.bytes_staged += o.pinned ? 0 : bytes;
    }
    worker.gpu->done(local).record();  // its last record was of a finished chunk
    worker.finisher->add();
  }

  /// A stage for the last chunk given: the one that was used last, since it may be in the CPU's cache. Memory is pinned only for as many
  /// chunks as are in flight, which are few if packing is what limits the rate.
  Stage* take_stage(Worker& worker) {
    std::int64_t finished = 0;
    {
      std::scoped_lock const lock(monitor_.mutex);
      finished = worker.finisher->finished();
    }
    for (; worker.returned < finished; ++worker.returned)
      worker.idle.push_back(worker.given[static_cast<std::size_t>(worker.returned)].stage);
    if (worker.idle.empty()) worker.idle.push_back(worker.gpu->new_stage());
    Stage* const stage = worker.idle.back();
    worker.idle.pop_back();
    return worker.given.back().stage = stage;
  }

  /// Takes the GPU out of the run and its unfinished chunks back, or throws.
  void fail(Worker& worker, std::exception_ptr const& error) {
    int const device = worker.share->device;
    std::optional<std::string> const text = text_of_gpu_error(device, error);
    bool const alone = workers_.size() == 1;
    worker.failed = true;
    bool const others = std::any_of(workers_.begin(), workers_.end(), [](Worker const& w) { return !w.failed; });
    if (!text || alone) std::rethrow_exception(error);
    if (!others || options_.on_gpu_failure == OnGpuFailure::stop) gpu::naming_gpu(device, [&] { std::rethrow_exception(error); });
    end(worker);
    auto const finished = worker.finisher ? worker.finisher->finished() : 0;
    for (auto k = static_cast<std::int64_t>(worker.given.size()); k-- > finished;)
      waiting_.push_front(worker.given[static_cast<std::size_t>(k)].chunk);
    worker.share->failure = *text;
    worker.finisher.reset();
  }
  static void end(Worker& worker) {
    if (worker.finisher) worker.finisher->stop();
    worker.gpu->drain();
  }

  [[nodiscard]] Chunk const& chunk_of(Worker const& worker, std::int64_t local) const {
    return plan_.chunks[static_cast<std::size_t>(worker.given[static_cast<std::size_t>(local)].chunk)];
  }
  /// The working GPU with the fewest chunks in flight, if a lane can take another; of equal ones that which was given fewer. The caller
  /// holds the monitor's mutex.
  [[nodiscard]] Worker* free_worker() {
    Worker* best = nullptr;
    auto const order = [](Worker const& w) { return std::pair(w.finisher->in_flight(), w.given.size()); };
    for (Worker& w : workers_)
      if (w.finisher && !w.finisher->error() && w.finisher->in_flight() < chunks_per_lane * w.gpu->lane_count() &&
          (!best || order(w) < order(*best)))
        best = &w;
    return best;
  }
  [[nodiscard]] Worker* failed_worker() {
    auto const at = std::find_if(workers_.begin(), workers_.end(), [](Worker const& w) { return w.finisher && w.finisher->error(); });
    return at == workers_.end() ? nullptr : &*at;
  }
  [[nodiscard]] bool in_flight() const {
    return std::any_of(workers_.begin(), workers_.end(), [](Worker const& w) { return w.finisher && w.finisher->in_flight() > 0; });
  }

  StreamOptions const& options_;
  Plan const& plan_;
  Streamer::Work const& work_;
  StreamReport& report_;
  std::vector<Batch<char>> arguments_;
  int packing_threads_ = 1, unpacking_threads_ = 1;
  std::deque<std::int64_t> waiting_;  ///< chunks that no GPU has
  Finisher::Monitor monitor_;
  std::vector<Worker> workers_;
};

}  // namespace

struct Streamer::State {
  std::vector<Gpu> gpus;
  StreamOptions options;

  [[nodiscard]] std::int64_t chunk_bytes(std::int64_t total) const {
    if (options.chunk_bytes > 0) return options.chunk_bytes;
    auto const number = chunks_wanted * static_cast<std::int64_t>(gpus.size());
    std::int64_t chosen = std::min(std::max(total / number, smallest_chunk), largest_chunk);
    for (Gpu const& gpu : gpus) try {
        chosen = std::min(chosen, gpu.room_for_chunk());
      } catch (GpuError const&) {
        if (gpus.size() == 1) throw;  // else the GPU's start meets the error again, and the run handles it
      }
    return std::max<std::int64_t>(chosen, 1);
  }
};

Streamer::Streamer(std::span<Queue* const> queues, StreamOptions options) : state_(std::make_unique<State>()) {
  auto const refuse = [](std::string const& problem) { throw BadArgument("stream", 1, "queues", problem); };
  if (queues.empty()) refuse("is empty; needs at least one queue");
  for (Queue* const queue : queues) {
    if (!queue) refuse("has a null pointer");
    if (queues.size() > 1 && queue->backend() == Backend::cpu)
      refuse("has a queue on the CPU among several; several queues must be on GPUs");
    state_->gpus.push_back({queue});
  }
  if (options.chunk_bytes < 0) throw BadArgument("stream", 2, "chunk_bytes", fmt::format("is negative: {}", options.chunk_bytes));
  state_->options = options;
}
Streamer::Streamer(std::span<Queue> queues, StreamOptions options) : Streamer(pointers_to(queues), options) {}
Streamer::Streamer(Queue& queue, StreamOptions options) : Streamer(std::span<Queue>(&queue, 1), options) {}
Streamer::~Streamer() = default;
Streamer::Streamer(Streamer&&) noexcept = default;
Streamer& Streamer::operator=(Streamer&&) noexcept = default;

StreamReport Streamer::run_untyped(std::span<UntypedOperand const> given, Work const& work) {
  auto const start = std::chrono::steady_clock::now();
  std::vector<UntypedOperand> untyped(given.begin(), given.end());
  State& state = *state_;
  Queue& queue = *state.gpus.front().queue;
  bool const on_gpu = queue.backend() == Backend::gpu;
  std::optional<driver::CurrentContext> current;
  if (on_gpu) {
    current.emplace(QueueAccess::state(queue).context->handle());
    for (std::size_t k = 0; k < untyped.size(); ++k) {
      Batch<char> const& a = untyped[k].batch;
      for (void const* const array :
           std::initializer_list<void const*>{a.data, a.pointers, a.row_sizes, a.col_sizes, a.row_strides, a.col_strides})
        refuse_memory_of_a_gpu(k, array);
    }
  }
  std::int64_t const count = check(untyped);
  StreamReport report{.matrices = count};
  auto const done = [&] {
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  };
  if (state.options.complete) std::fill_n(state.options.complete, count, std::uint8_t{0});
  std::vector<Batch<char>> arguments;
  if (!on_gpu || count == 0) {
    for (UntypedOperand const& o : untyped) arguments.push_back(o.batch);
    work(queue, arguments);
    report.chunks = count > 0 ? 1 : 0;
    if (state.options.complete) std::fill_n(state.options.complete, count, std::uint8_t{1});
    return done();
  }
  bool prepares = false;
  for (Gpu const& gpu : state.gpus) {
    if (QueueAccess::state(*gpu.queue).preparing == 0) continue;
    prepares = true;
    // The addresses are invalid but never dereferenced.
    std::uintptr_t at = 4096;
    arguments.clear();
    for (UntypedOperand const& o : untyped) {
      Packing const packing(o);
      arguments.push_back(packing.packed(count, reinterpret_cast<char*>(at)));
      at += static_cast<std::uintptr_t>(aligned(packing.shared() ? packing.bytes(0, 1) : packing.bytes(0, count)));
    }
    work(*gpu.queue, arguments);
  }
  if (prepares) {
    report.matrices = 0;
    return report;
  }
  for (Gpu const& gpu : state.gpus)
    if (QueueAccess::state(*gpu.queue).capturing())
      throw Error("stream: the queue's stream is being captured, and streaming waits for the GPU");

  Plan plan(untyped, count, state.gpus.size() > 1 && state.options.on_gpu_failure == OnGpuFailure::move_to_others);
  plan.divide_into(state.chunk_bytes(plan.bytes()));
  Run(state.gpus, state.options, plan, work, report)();
  report.chunks = static_cast<std::int64_t>(plan.chunks.size());
  return done();
}

}  // namespace myriad
