/// Routines of the C interface as handlers of XLA's foreign function interface, on CPUs and NVIDIA GPUs. They know nothing of JAX.
///
/// Operands are row-major arrays; all have the same leading axes, the batch. A handler on a CPU shares the batch with the threads of XLA's
/// pool. A handler on a GPU loads or compiles kernels in the stage `initialize`. In `execute` it enqueues on XLA's stream, with workspace
/// from XLA's allocator, and waits for nothing. Workspace is freed when the call returns, so the handlers do not allow capture in command
/// buffers, which would run later.

#include "xla.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "myriad/myriad.h"
#include "xla_ffi.hpp"

namespace nb = nanobind;

namespace myriad::python {
namespace {

/// An error with its code for XLA.
struct Problem : std::runtime_error {
  xla::ErrorCode code;
  explicit Problem(std::string const& text, xla::ErrorCode c = xla::ErrorCode::invalid_argument) : std::runtime_error(text), code(c) {}
};

void require(myriad_status status, myriad_queue const* queue) {
  if (status == MYRIAD_OK) return;
  throw Problem(myriad_last_error(queue), status == MYRIAD_BAD_ARGUMENT    ? xla::ErrorCode::invalid_argument
                                          : status == MYRIAD_UNAVAILABLE   ? xla::ErrorCode::unavailable
                                          : status == MYRIAD_OUT_OF_MEMORY ? xla::ErrorCode::resource_exhausted
                                                                           : xla::ErrorCode::internal);
}

// ---- Operands -----------------------------------------------------------------------------------

struct Routine;

/// Arguments and results of a call as batches, arguments first, and the attributes: letters by name.
class Operands {
 public:
  static constexpr int max_operands = 6;

  Operands(Routine const& routine, xla::CallFrame const& frame);

  [[nodiscard]] myriad_batch const* batch(int i) const { return &operands_[static_cast<std::size_t>(i)]; }
  template <typename T = void>
  [[nodiscard]] T* data(int i) const {
    return static_cast<T*>(batch(i)->data);
  }
  [[nodiscard]] bool letter_is(char const* name, char value) const { return letter(name) == value; }
  template <typename Enum>
  [[nodiscard]] Enum letter(char const* name) const {
    return static_cast<Enum>(letter(name));
  }
  [[nodiscard]] char letter(char const* name) const;
  [[nodiscard]] myriad_dtype dtype() const { return operands_[0].dtype; }
  [[nodiscard]] std::int64_t count() const { return operands_[0].count; }
  [[nodiscard]] std::int64_t elements_per_matrix() const;
  [[nodiscard]] std::int64_t bytes(int i) const;
  /// Matrices begin, ..., end - 1.
  [[nodiscard]] Operands piece(std::int64_t begin, std::int64_t end) const;
  /// Types, shapes and letters, on which kernels depend.
  [[nodiscard]] std::vector<std::int64_t> signature() const;

 private:
  void add(char kind, xla::Buffer const& buffer);

  Routine const& routine_;
  std::array<myriad_batch, max_operands> operands_{};
  int size_ = 0;
  xla::Attributes const* attributes_;
};

/// A routine and its operands, a letter for each: m matrix (the last two axes), v vector (the last axis), p vector of int, i one int per
/// matrix, e one element per matrix, of the type of operand 0, r one number per matrix, of the corresponding real type.
struct Routine {
  char const* name;
  char const* arguments;
  char const* results;
  char const* in_place;  ///< for each result the argument that it overwrites, as a digit, or -
  bool on_gpu;
  myriad_status (*run)(myriad_queue* queue, Operands const& x);
};

std::int64_t size_of(myriad_dtype dtype) {
  switch (dtype) {
    case MYRIAD_C64:
      return 16;
    case MYRIAD_F64:
    case MYRIAD_C32:
      return 8;
    default:
      return 4;
  }
}

Operands::Operands(Routine const& routine, xla::CallFrame const& frame) : routine_(routine), attributes_(&frame.attributes) {
  for (auto const& [operands, kinds] : {std::pair(&frame.arguments, routine.arguments), std::pair(&frame.results, routine.results)}) {
    if (operands->size != static_cast<std::int64_t>(std::strlen(kinds)))
      throw Problem(std::string(routine.name) + ": needs " + std::to_string(std::strlen(kinds)) + " arguments or results, has " +
                    std::to_string(operands->size));
    for (std::int64_t i = 0; i < operands->size; ++i) add(kinds[i], *operands->buffers[i]);
  }
}

void Operands::add(char kind, xla::Buffer const& buffer) {
  std::string const name = std::string(routine_.name) + ": operand " + std::to_string(size_);
  myriad_batch& batch = operands_[static_cast<std::size_t>(size_++)];
  switch (buffer.type) {
    case xla::Type::f32:
      batch.dtype = MYRIAD_F32;
      break;
    case xla::Type::f64:
      batch.dtype = MYRIAD_F64;
      break;
    case xla::Type::c64:
      batch.dtype = MYRIAD_C32;
      break;
    case xla::Type::c128:
      batch.dtype = MYRIAD_C64;
      break;
    case xla::Type::s32:
      batch.dtype = MYRIAD_INT;
      break;
    default:
      throw Problem(name + " has elements of XLA's type " + std::to_string(static_cast<int>(buffer.type)) +
                    "; needs float32, float64, complex64, complex128 or int32");
  }
  myriad_dtype const first = operands_[0].dtype;
  myriad_dtype const real = first == MYRIAD_C32 ? MYRIAD_F32 : first == MYRIAD_C64 ? MYRIAD_F64 : first;
  myriad_dtype const needed = kind == 'p' || kind == 'i' ? MYRIAD_INT : kind == 'e' ? first : kind == 'r' ? real : batch.dtype;
  if (batch.dtype != needed) throw Problem(name + " has elements of another type than the routine needs");
  int const axes = kind == 'm' ? 2 : kind == 'v' || kind == 'p' ? 1 : 0;
  if (buffer.rank < axes) throw Problem(name + " has " + std::to_string(buffer.rank) + " axes; needs at least " + std::to_string(axes));
  std::int64_t const* const size = buffer.dims + (buffer.rank - axes);
  batch.data = buffer.data;
  batch.count = std::accumulate(buffer.dims, buffer.dims + (buffer.rank - axes), std::int64_t{1}, std::multiplies<>());
  batch.rows = axes > 0 ? size[0] : 1;
  batch.cols = axes > 1 ? size[1] : 1;
  batch.row_stride = std::max<std::int64_t>(batch.cols, 1);
  batch.col_stride = batch.cols > 1 ? 1 : std::max<std::int64_t>(batch.rows, 1);
  batch.batch_stride = batch.rows * batch.cols;
  if (batch.count != operands_[0].count)
    throw Problem(name + " has " + std::to_string(batch.count) + " matrices; needs " + std::to_string(operands_[0].count));
}

char Operands::letter(char const* name) const {
  constexpr int scalar = 3;
  for (std::int64_t i = 0; i < attributes_->size; ++i) {
    xla::Text const& key = *attributes_->names[i];
    if (key.size != std::strlen(name) || std::memcmp(key.data, name, key.size) != 0) continue;
    auto const& value = *static_cast<xla::Scalar const*>(attributes_->values[i]);
    if (attributes_->kinds[i] != scalar || value.type != xla::Type::u8) break;
    return *static_cast<char const*>(value.value);
  }
  throw Problem(std::string(routine_.name) + ": needs the attribute " + name + ", one letter as uint8");
}

std::int64_t Operands::elements_per_matrix() const {
  std::int64_t elements = 0;
  for (int i = 0; i < size_; ++i) elements = std::max(elements, batch(i)->rows * batch(i)->cols);
  return elements;
}

std::int64_t Operands::bytes(int i) const { return batch(i)->rows * batch(i)->cols * batch(i)->count * size_of(batch(i)->dtype); }

Operands Operands::piece(std::int64_t begin, std::int64_t end) const {
  Operands part = *this;
  for (int i = 0; i < size_; ++i) {
    myriad_batch& x = part.operands_[static_cast<std::size_t>(i)];
    if (x.data != nullptr) x.data = static_cast<char*>(x.data) + begin * x.batch_stride * size_of(x.dtype);
    x.count = end - begin;
  }
  return part;
}

std::vector<std::int64_t> Operands::signature() const {
  std::vector<std::int64_t> values{count()};
  for (int i = 0; i < size_; ++i) values.insert(values.end(), {batch(i)->dtype, batch(i)->rows, batch(i)->cols});
  for (std::int64_t i = 0; i < attributes_->size; ++i)
    values.push_back(letter(std::string(attributes_->names[i]->data, attributes_->names[i]->size).c_str()));
  return values;
}

// ---- Routines -----------------------------------------------------------------------------------

myriad_batch transposed(myriad_batch x) {
  std::swap(x.rows, x.cols);
  std::swap(x.row_stride, x.col_stride);
  return x;
}

myriad_status trsm(myriad_queue* queue, Operands const& x) {
  static constexpr float single_one[2] = {1, 0};
  static constexpr double double_one[2] = {1, 0};
  void const* const one = x.dtype() == MYRIAD_F32 || x.dtype() == MYRIAD_C32 ? static_cast<void const*>(single_one) : double_one;
  bool const upper = x.letter_is("uplo", 'U');
  bool const plain = x.letter_is("trans", 'N');
  myriad_batch a = plain ? *x.batch(0) : transposed(*x.batch(0));
  a.conjugated = x.letter_is("conj", 'Y') ? 1 : 0;
  return myriad_trsm(queue, x.letter<myriad_side>("side"), upper == plain ? MYRIAD_UPPER : MYRIAD_LOWER, x.letter<myriad_diag>("diag"), one,
                     &a, x.batch(2));
}

/// Pivots, from zero, as a permutation of the rows, in host memory.
myriad_status permutation(myriad_queue*, Operands const& x) {
  std::int64_t const k = x.batch(0)->rows;
  std::int64_t const m = x.batch(1)->rows;
  auto const* pivots = x.data<std::int32_t const>(0);
  auto* rows = x.data<std::int32_t>(1);
  for (std::int64_t b = 0; b < x.count(); ++b, pivots += k, rows += m) {
    std::iota(rows, rows + m, 0);
    for (std::int64_t i = 0; i < std::min(k, m); ++i)
      if (pivots[i] >= 0 && pivots[i] < m) std::swap(rows[i], rows[pivots[i]]);
  }
  return MYRIAD_OK;
}

constexpr Routine routines[] = {
    {"potrf", "m", "mi", "0-", true,
     [](myriad_queue* q, Operands const& x) { return myriad_potrf(q, x.letter<myriad_uplo>("uplo"), x.batch(1), x.data<int>(2)); }},
    {"getrf", "m", "mpi", "0--", true,
     [](myriad_queue* q, Operands const& x) { return myriad_getrf(q, x.batch(1), x.batch(2), x.data<int>(3)); }},
    {"permutation", "p", "p", "-", false, permutation},
    {"solve", "mm", "m", "-", true,
     [](myriad_queue* q, Operands const& x) { return myriad_solve(q, x.batch(0), x.batch(1), x.batch(2), nullptr); }},
    {"inverse", "m", "m", "-", true, [](myriad_queue* q, Operands const& x) { return myriad_inverse(q, x.batch(0), x.batch(1), nullptr); }},
    {"det", "m", "e", "-", true, [](myriad_queue* q, Operands const& x) { return myriad_det(q, x.batch(0), x.data(1)); }},
    {"logdet", "m", "er", "--", true,
     [](myriad_queue* q, Operands const& x) { return myriad_logdet(q, x.batch(0), x.data(1), x.data(2)); }},
    {"trsm", "mm", "m", "1", true, trsm},
    {"geqrf", "m", "mv", "0-", true, [](myriad_queue* q, Operands const& x) { return myriad_geqrf(q, x.batch(1), x.batch(2)); }},
    {"orgqr", "mv", "m", "0", true, [](myriad_queue* q, Operands const& x) { return myriad_orgqr(q, x.batch(2), x.batch(1)); }},
    {"ormqr", "mvm", "m", "2", true,
     [](myriad_queue* q, Operands const& x) {
       return myriad_ormqr(q, x.letter<myriad_side>("side"), x.letter<myriad_op>("trans"), x.batch(0), x.batch(1), x.batch(3));
     }},
    {"syevd", "m", "mvi", "0--", true,
     [](myriad_queue* q, Operands const& x) {
       return myriad_syevd(q, MYRIAD_VECTORS, x.letter<myriad_uplo>("uplo"), x.batch(1), x.batch(2), x.data<int>(3));
     }},
    {"sytrd", "m", "mvvv", "0---", true,
     [](myriad_queue* q, Operands const& x) {
       return myriad_sytrd(q, x.letter<myriad_uplo>("uplo"), x.batch(1), x.batch(2), x.batch(3), x.batch(4));
     }},
    {"gesvd", "m", "mvmmi", "0----", true,
     [](myriad_queue* q, Operands const& x) {
       return myriad_gesvd(q, x.letter<myriad_svd_job>("job"), x.batch(1), x.batch(2), x.batch(3), x.batch(4), x.data<int>(5));
     }},
    {"gesvd_values", "m", "mvi", "0--", true,
     [](myriad_queue* q, Operands const& x) {
       return myriad_gesvd(q, MYRIAD_SVD_VALUES, x.batch(1), x.batch(2), nullptr, nullptr, x.data<int>(3));
     }},
};
constexpr std::size_t routine_count = std::size(routines);

std::array<std::atomic<std::int64_t>, routine_count> calls;  // in the order of the routines

/// Calls f(argument, result) for each result that overwrites an argument in other memory.
template <typename F>
void for_copies(Routine const& routine, Operands const& x, F f) {
  int const first = static_cast<int>(std::strlen(routine.arguments));
  for (int i = 0; routine.in_place[i] != '\0'; ++i) {
    if (routine.in_place[i] == '-') continue;
    int const from = routine.in_place[i] - '0';
    if (x.batch(from)->data != x.batch(first + i)->data && x.bytes(from) > 0) f(from, first + i);
  }
}

struct DestroyQueue {
  void operator()(myriad_queue* queue) const { myriad_queue_destroy(queue); }
};
using QueueHandle = std::unique_ptr<myriad_queue, DestroyQueue>;

// ---- CPUs ---------------------------------------------------------------------------------------

/// The queue of a thread. XLA's pool has the threads, so each call uses one.
myriad_queue* cpu_queue() {
  thread_local QueueHandle queue;
  if (!queue) {
    myriad_queue* created = nullptr;
    require(myriad_queue_create(&created, MYRIAD_CPU, 1), nullptr);
    queue.reset(created);
  }
  return queue.get();
}

/// A call on the CPU that several threads work on. Tasks may start when all is done, so they share it.
class Work {
 public:
  Work(Routine const& routine, Operands const& call) : routine_(routine), call_(call) {
    constexpr std::int64_t most_lanes = 16;  // single precision in the widest vectors; fewer matrices leave lanes empty
    std::int64_t const elements = std::max<std::int64_t>(call.elements_per_matrix(), 1);
    std::int64_t const grain = (32768 / elements + most_lanes - 1) / most_lanes * most_lanes;
    grain_ = std::clamp<std::int64_t>(grain, elements < 4096 ? most_lanes : 1, 4096);
    pieces_ = (call.count() + grain_ - 1) / grain_;
    unfinished_ = pieces_;
  }

  [[nodiscard]] std::int64_t pieces() const { return pieces_; }

  /// Computes pieces until none is left to begin.
  void work() noexcept {
    for (std::int64_t k; (k = next_.fetch_add(1, std::memory_order_relaxed)) < pieces_;) {
      try {
        compute(call_.piece(k * grain_, std::min((k + 1) * grain_, call_.count())));
      } catch (...) {
        std::scoped_lock const lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_all();
    }
  }

  /// Waits for the pieces that other threads have begun.
  void finish() {
    for (std::int64_t left; (left = unfinished_.load(std::memory_order_acquire)) != 0;) unfinished_.wait(left, std::memory_order_acquire);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void compute(Operands const& x) const {
    for_copies(routine_, x, [&](int from, int to) { std::memcpy(x.data(to), x.data(from), static_cast<std::size_t>(x.bytes(from))); });
    myriad_queue* const queue = cpu_queue();
    require(routine_.run(queue, x), queue);
  }

  Routine const& routine_;
  Operands call_;
  std::int64_t grain_;
  std::int64_t pieces_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::int64_t> unfinished_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

void drop(xla::Api const& api, xla::Error* error) {
  auto arguments = xla::arguments(&xla::DestroyError::error);
  arguments.error = error;
  api.destroy_error(&arguments);
}

/// Threads of XLA's pool; 1 if it has none.
std::int64_t thread_count(xla::CallFrame const& frame) {
  auto arguments = xla::arguments(&xla::CountThreads::threads);
  std::int64_t threads = 1;
  arguments.context = frame.context;
  arguments.threads = &threads;
  if (xla::Error* const error = frame.api->count_threads(&arguments)) {
    drop(*frame.api, error);
    return 1;
  }
  return threads;
}

void execute_on_cpu(Routine const& routine, xla::CallFrame const& frame) {
  Operands const call(routine, frame);
  if (call.count() == 0) return;
  auto const work = std::make_shared<Work>(routine, call);
  // This thread takes part, so nothing is lost when the pool's threads are all busy, maybe in handlers themselves.
  std::int64_t const helpers = work->pieces() > 1 ? std::min(work->pieces(), thread_count(frame)) - 1 : 0;
  for (std::int64_t i = 0; i < helpers; ++i) {
    auto task = std::make_unique<std::shared_ptr<Work>>(work);
    auto arguments = xla::arguments(&xla::Schedule::data);
    arguments.context = frame.context;
    arguments.task = [](void* data) { (*std::unique_ptr<std::shared_ptr<Work>>(static_cast<std::shared_ptr<Work>*>(data)))->work(); };
    arguments.data = task.get();
    if (xla::Error* const error = frame.api->schedule(&arguments)) {
      drop(*frame.api, error);
      break;
    }
    task.release();  // the task frees it
  }
  work->work();
  work->finish();
}

// ---- GPUs ---------------------------------------------------------------------------------------

/// A queue on a stream of XLA, with workspace from XLA's allocator during a call.
class GpuQueue {
 public:
  GpuQueue(int device, void* stream) : device_(device), stream_(stream) {
    myriad_queue* created = nullptr;
    require(myriad_queue_create_on(&created, device, stream != nullptr ? stream : MYRIAD_LEGACY_STREAM, 1), nullptr);
    handle_.reset(created);
    require(myriad_queue_set_allocator(
                created, [](std::int64_t bytes, void*, void* self) { return static_cast<GpuQueue*>(self)->allocate(bytes); },
                [](void* memory, std::int64_t, void*, void* self) { static_cast<GpuQueue*>(self)->release(memory); }, this),
            created);
  }
  GpuQueue(GpuQueue const&) = delete;
  GpuQueue& operator=(GpuQueue const&) = delete;

  [[nodiscard]] bool is(int device, void* stream) const { return device_ == device && stream_ == stream; }

  /// Runs f(myriad_queue*). The allocator of `frame` is valid in this call only.
  template <typename F>
  void run(xla::CallFrame const& frame, F f) {
    struct Scope {
      GpuQueue& queue;
      ~Scope() {
        while (!queue.memory_.empty()) queue.release(queue.memory_.back().address);
        queue.frame_ = nullptr;
      }
    };
    frame_ = &frame;
    Scope const scope{*this};
    require(f(handle_.get()), handle_.get());
  }

 private:
  struct Memory {
    void* address;    ///< a multiple of 256
    void* allocated;  ///< XLA's address
    std::size_t bytes;
  };

  void* allocate(std::int64_t bytes) noexcept {
    // XLA takes alignments of 16 bytes at most, although its allocator gives 256.
    constexpr std::uintptr_t least = 16;
    constexpr std::uintptr_t needed = 256;
    auto arguments = xla::arguments(&xla::Allocate::memory);
    arguments.context = frame_->context;
    arguments.bytes = static_cast<std::size_t>(bytes) + needed - least;
    arguments.alignment = least;
    if (xla::Error* const error = frame_->api->allocate(&arguments)) {
      drop(*frame_->api, error);
      return nullptr;
    }
    if (arguments.memory == nullptr) return nullptr;
    auto const at = (reinterpret_cast<std::uintptr_t>(arguments.memory) + needed - 1) / needed * needed;
    memory_.push_back({reinterpret_cast<void*>(at), arguments.memory, arguments.bytes});
    return memory_.back().address;
  }

  /// Gives memory back to XLA, which reuses it in the order of its stream.
  void release(void* address) noexcept {
    auto const found = std::find_if(memory_.begin(), memory_.end(), [&](Memory const& x) { return x.address == address; });
    if (found == memory_.end()) return;
    auto arguments = xla::arguments(&xla::Free::memory);
    arguments.context = frame_->context;
    arguments.bytes = found->bytes;
    arguments.memory = found->allocated;
    memory_.erase(found);
    if (xla::Error* const error = frame_->api->free(&arguments)) drop(*frame_->api, error);
  }

  int device_;
  void* stream_;
  QueueHandle handle_;
  xla::CallFrame const* frame_ = nullptr;
  std::vector<Memory> memory_;
};

/// Throws the error of XLA, if there is one.
void require(xla::Api const& api, xla::Error* error) {
  if (error == nullptr) return;
  auto arguments = xla::arguments(&xla::ErrorMessage::message);
  arguments.error = error;
  api.error_message(&arguments);
  std::string const text = arguments.message != nullptr ? arguments.message : "XLA failed";
  drop(api, error);
  throw Problem(text, xla::ErrorCode::internal);
}

int device_of(xla::CallFrame const& frame) {
  auto arguments = xla::arguments(&xla::GetDevice::device);
  arguments.context = frame.context;
  require(*frame.api, frame.api->get_device(&arguments));
  return arguments.device;
}

void* stream_of(xla::CallFrame const& frame) {
  auto arguments = xla::arguments(&xla::GetStream::stream);
  arguments.context = frame.context;
  require(*frame.api, frame.api->get_stream(&arguments));
  return arguments.stream;
}

/// The queue of this thread on a stream. XLA has few streams; the queues that were used last are kept.
GpuQueue& gpu_queue(int device, void* stream) {
  constexpr std::size_t kept = 16;
  thread_local std::list<GpuQueue> queues;
  auto const found = std::find_if(queues.begin(), queues.end(), [&](GpuQueue const& q) { return q.is(device, stream); });
  if (found != queues.end()) {
    queues.splice(queues.begin(), queues, found);
  } else {
    queues.emplace_front(device, stream);
    if (queues.size() > kept) queues.pop_back();
  }
  return queues.front();
}

/// Loads, and compiles where necessary, the kernels of a call; once for each GPU, routine, types, shapes and letters.
void initialize_on_gpu(Routine const& routine, xla::CallFrame const& frame) {
  Operands const call(routine, frame);
  if (call.count() == 0) return;
  static std::mutex mutex;
  static std::set<std::pair<std::string, std::vector<std::int64_t>>> prepared;
  int const device = device_of(frame);
  auto key = std::pair(routine.name + std::to_string(device), call.signature());
  {
    std::scoped_lock const lock(mutex);
    if (prepared.contains(key)) return;
  }
  auto const run = [&](myriad_queue* handle) { return routine.run(handle, call); };
  // XLA's stream need not be known yet, and nothing is enqueued.
  gpu_queue(device, MYRIAD_LEGACY_STREAM).run(frame, [&](myriad_queue* handle) {
    return myriad_prepare(
        handle, [](myriad_queue* q, void* user) { return (*static_cast<decltype(run)*>(user))(q); },
        const_cast<void*>(static_cast<void const*>(&run)));
  });
  std::scoped_lock const lock(mutex);
  prepared.insert(std::move(key));
}

void execute_on_gpu(Routine const& routine, xla::CallFrame const& frame) {
  Operands const call(routine, frame);
  if (call.count() == 0) return;
  gpu_queue(device_of(frame), stream_of(frame)).run(frame, [&](myriad_queue* handle) {
    myriad_status status = MYRIAD_OK;
    for_copies(routine, call, [&](int from, int to) {
      if (status == MYRIAD_OK) status = myriad_copy(handle, call.data(from), call.bytes(from), call.data(to));
    });
    return status == MYRIAD_OK ? routine.run(handle, call) : status;
  });
}

// ---- Handlers -----------------------------------------------------------------------------------

xla::Error* error_of(xla::Api const& api, char const* text, xla::ErrorCode code) {
  auto arguments = xla::arguments(&xla::CreateError::code);
  arguments.message = text;
  arguments.code = code;
  return api.create_error(&arguments);
}

/// Answers XLA's question for the version of the interface; false if it is a call.
bool is_question(xla::CallFrame const& frame) {
  xla::Extension const* const extension = frame.header.extensions;
  if (extension == nullptr || extension->type != xla::Extension::Type::metadata) return false;
  xla::Metadata& metadata = *reinterpret_cast<xla::MetadataExtension const*>(extension)->metadata;
  metadata.version = {xla::arguments(&xla::Version::minor).header, xla::major_version, xla::minor_version};
  metadata.traits = 0;
  metadata.state_type = 0;
  return true;
}

/// The handler of routine I for a stage.
template <std::size_t I, void (*work)(Routine const&, xla::CallFrame const&), bool counts>
xla::Error* handle(xla::CallFrame* frame) noexcept {
  if (is_question(*frame)) return nullptr;
  try {
    work(routines[I], *frame);
    if (counts) calls[I].fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  } catch (Problem const& problem) {
    return error_of(*frame->api, problem.what(), problem.code);
  } catch (std::bad_alloc const&) {
    return error_of(*frame->api, "no memory", xla::ErrorCode::resource_exhausted);
  } catch (std::exception const& problem) {
    return error_of(*frame->api, problem.what(), xla::ErrorCode::internal);
  }
}

using Handler = xla::Error* (*)(xla::CallFrame*) noexcept;

nb::object capsule(Handler handler) { return nb::capsule(reinterpret_cast<void const*>(handler)); }

/// {name: (letters of the arguments, letters of the results, what results overwrite, {platform: {stage: capsule}})}
template <std::size_t... I>
nb::dict describe_routines(std::index_sequence<I...>) {
  nb::dict all;
  auto const add = [&](Routine const& routine, Handler on_cpu, Handler initialize, Handler execute) {
    nb::dict cpu;
    cpu["execute"] = capsule(on_cpu);
    nb::dict platforms;
    platforms["cpu"] = cpu;
    if (routine.on_gpu) {
      nb::dict cuda;
      cuda["initialize"] = capsule(initialize);
      cuda["execute"] = capsule(execute);
      platforms["CUDA"] = cuda;
    }
    all[routine.name] = nb::make_tuple(routine.arguments, routine.results, routine.in_place, platforms);
  };
  (add(routines[I], handle<I, execute_on_cpu, true>, handle<I, initialize_on_gpu, false>, handle<I, execute_on_gpu, true>), ...);
  return all;
}

nb::dict count_calls(bool reset) {
  nb::dict out;
  for (std::size_t i = 0; i < routine_count; ++i) {
    std::int64_t const number = reset ? calls[i].exchange(0) : calls[i].load();
    if (number > 0) out[routines[i].name] = number;
  }
  return out;
}

}  // namespace

void define_xla(nb::module_& m) {
  m.def(
      "xla_routines", [] { return describe_routines(std::make_index_sequence<routine_count>()); },
      "Routines as handlers of XLA's foreign function interface, with their operands.");
  m.def("xla_calls", &count_calls, nb::arg("reset") = false, "Calls of these handlers since the start or the last reset, by routine.");
}

}  // namespace myriad::python
