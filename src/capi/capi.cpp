/// The C interface on top of the C++ one: descriptors are converted, enumerations and element types checked, exceptions turned into a
/// status.

#include <fmt/format.h>

#include <exception>
#include <initializer_list>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "myriad/myriad.h"
#include "myriad/myriad.hpp"

namespace {

/// The last failure of a queue, or of a thread without a queue.
struct Failure {
  std::string text;
  int position = 0;
  std::exception_ptr exception;  ///< for C++ callers of a C callback that failed

  void keep(char const* what, int at) noexcept {
    position = at;
    exception = std::current_exception();
    try {
      text = what;
    } catch (std::bad_alloc const&) {
      text.clear();
    }
  }
};

thread_local Failure failure_without_queue;

}  // namespace

struct myriad_queue {
  myriad::Queue queue;
  Failure failure;
  bool alpha_in_memory = false, beta_in_memory = false;
};

struct myriad_memory {
  myriad::detail::Memory memory;
};

namespace {

/// Wraps a queue of the library as a myriad_queue during its lifetime, with the pointer modes of the caller's queue.
class Lent {
 public:
  Lent(myriad::Queue& from, myriad_queue const& caller)
      : queue{std::move(from), {}, caller.alpha_in_memory, caller.beta_in_memory}, from_(from) {}
  ~Lent() { from_ = std::move(queue.queue); }
  Lent(Lent const&) = delete;
  Lent& operator=(Lent const&) = delete;

  myriad_queue queue;

 private:
  myriad::Queue& from_;
};

using myriad::Argument;
using myriad::BadArgument;
using myriad::Batch;
using myriad::Queue;

/// Runs `f` and turns exceptions into a status and the error text of `queue`, or of this thread without a queue. Never throws.
template <typename F>
myriad_status guard(myriad_queue* queue, F&& f) noexcept {
  Failure& failure = queue ? queue->failure : failure_without_queue;
  try {
    f();
    return MYRIAD_OK;
  } catch (BadArgument const& error) {
    failure.keep(error.what(), error.position());
    return MYRIAD_BAD_ARGUMENT;
  } catch (myriad::Unavailable const& error) {
    failure.keep(error.what(), 0);
    return MYRIAD_UNAVAILABLE;
  } catch (std::bad_alloc const&) {
    failure.keep("out of memory", 0);
    return MYRIAD_OUT_OF_MEMORY;
  } catch (myriad::OutOfMemory const& error) {
    failure.keep(error.what(), 0);
    return MYRIAD_OUT_OF_MEMORY;
  } catch (std::exception const& error) {
    failure.keep(error.what(), 0);
    return MYRIAD_FAILED;
  } catch (...) {
    failure.keep("an exception of unknown type", 0);
    return MYRIAD_FAILED;
  }
}

// The values of the enumerations are equal, so a cast converts them.
static_assert(MYRIAD_F32 == static_cast<int>(myriad::Dtype::f32) && MYRIAD_F64 == static_cast<int>(myriad::Dtype::f64) &&
              MYRIAD_C32 == static_cast<int>(myriad::Dtype::c32) && MYRIAD_C64 == static_cast<int>(myriad::Dtype::c64));
static_assert(MYRIAD_F16 == static_cast<int>(myriad::Dtype::f16) && MYRIAD_BF16 == static_cast<int>(myriad::Dtype::bf16) &&
              MYRIAD_C16 == static_cast<int>(myriad::Dtype::c16));
static_assert(MYRIAD_AUTOMATIC == static_cast<int>(myriad::Backend::automatic) && MYRIAD_CPU == static_cast<int>(myriad::Backend::cpu) &&
              MYRIAD_GPU == static_cast<int>(myriad::Backend::gpu));

static_assert(MYRIAD_STOP == static_cast<int>(myriad::OnGpuFailure::stop) &&
              MYRIAD_MOVE_TO_OTHERS == static_cast<int>(myriad::OnGpuFailure::move_to_others));
static_assert(MYRIAD_IN == static_cast<int>(myriad::StreamUse::in) && MYRIAD_OUT == static_cast<int>(myriad::StreamUse::out) &&
              MYRIAD_IN_OUT == static_cast<int>(myriad::StreamUse::in_out));

std::string name_of(myriad_dtype dtype) {
  switch (dtype) {
    case MYRIAD_F32:
      return "f32";
    case MYRIAD_F64:
      return "f64";
    case MYRIAD_C32:
      return "c32";
    case MYRIAD_C64:
      return "c64";
    case MYRIAD_INT:
      return "int";
    case MYRIAD_F16:
      return "f16";
    case MYRIAD_BF16:
      return "bf16";
    case MYRIAD_C16:
      return "c16";
  }
  return fmt::format("{}", static_cast<int>(dtype));
}

bool is_element(myriad_dtype dtype) { return dtype == MYRIAD_F32 || dtype == MYRIAD_F64 || dtype == MYRIAD_C32 || dtype == MYRIAD_C64; }

bool is_half(myriad_dtype dtype) { return dtype == MYRIAD_F16 || dtype == MYRIAD_BF16 || dtype == MYRIAD_C16; }

myriad_dtype real_of(myriad_dtype dtype) { return dtype == MYRIAD_F32 || dtype == MYRIAD_C32 ? MYRIAD_F32 : MYRIAD_F64; }

/// The type in which elements of `dtype` are computed.
myriad_dtype computed_of(myriad_dtype dtype) { return !is_half(dtype) ? dtype : dtype == MYRIAD_C16 ? MYRIAD_C32 : MYRIAD_F32; }

/// The element type of an operand, relative to the type T of the first operand.
enum class Elements { same, real, pivots, same_or_computed };
/// Whether a routine takes 16-bit types.
enum class Halves { no, yes };

/// An argument that is a batch.
struct Operand {
  myriad_batch const* batch;
  Argument argument;
  Elements elements = Elements::same;
  bool may_be_missing = false;

  [[nodiscard]] bool missing() const { return !batch || (!batch->data && !batch->pointers); }
};

Operand pivots_of(myriad_batch const* pivots, int position) { return {pivots, {position, "ipiv"}, Elements::pivots, true}; }
Operand unless_missing(myriad_batch const* x, Argument argument) { return {x, argument, Elements::same, true}; }
Operand real(myriad_batch const* x, Argument argument) { return {x, argument, Elements::real}; }
Operand optional_real(myriad_batch const* x, Argument argument) { return {x, argument, Elements::real, true}; }

[[noreturn]] void refuse(char const* routine, Argument argument, std::string const& problem) {
  throw BadArgument(routine, argument.position, argument.name, problem);
}

/// Throws unless every operand is given and its element type matches the first one's.
void check_operands(char const* routine, std::initializer_list<Operand> operands, Halves halves) {
  Operand const& first = *operands.begin();
  for (Operand const& x : operands) {
    if (x.may_be_missing && x.missing()) continue;
    if (!x.batch) refuse(routine, x.argument, "is a null pointer");
    if (&x == &first && !is_element(x.batch->dtype) && !(halves == Halves::yes && is_half(x.batch->dtype)))
      refuse(routine, x.argument,
             fmt::format("has elements of type {}; they are {}", name_of(x.batch->dtype),
                         halves == Halves::yes ? "f32, f64, c32, c64, f16, bf16 or c16" : "f32, f64, c32 or c64"));
    myriad_dtype const wanted = x.elements == Elements::pivots ? MYRIAD_INT
                                : x.elements == Elements::real ? real_of(first.batch->dtype)
                                                               : first.batch->dtype;
    bool const may_be_computed = x.elements == Elements::same_or_computed && computed_of(wanted) != wanted;
    if (may_be_computed && x.batch->dtype == computed_of(wanted)) continue;
    if (x.batch->dtype != wanted)
      refuse(routine, x.argument,
             fmt::format("has elements of type {}; with {} of type {} they are {}{}", name_of(x.batch->dtype), first.argument.name,
                         name_of(first.batch->dtype), name_of(wanted), may_be_computed ? " or " + name_of(computed_of(wanted)) : ""));
  }
}

/// The C++ batch; empty for NULL. Not const even for inputs: the routine's signature adds const.
template <typename T>
Batch<T> as(myriad_batch const* x) {
  if (!x) return {};
  return {.data = static_cast<T*>(x->data),
          .pointers = reinterpret_cast<T* const*>(x->pointers),
          .rows = x->rows,
          .cols = x->cols,
          .row_stride = x->row_stride,
          .col_stride = x->col_stride,
          .batch_stride = x->batch_stride,
          .count = x->count,
          .row_sizes = x->row_sizes,
          .col_sizes = x->col_sizes,
          .row_strides = x->row_strides,
          .col_strides = x->col_strides,
          .row_offset = x->row_offset,
          .col_offset = x->col_offset,
          .conjugated = x->conjugated != 0};
}

template <typename T>
myriad_batch from(Batch<T> const& x, myriad_dtype dtype) {
  return {.data = x.data,
          .pointers = reinterpret_cast<void* const*>(x.pointers),
          .rows = x.rows,
          .cols = x.cols,
          .row_stride = x.row_stride,
          .col_stride = x.col_stride,
          .batch_stride = x.batch_stride,
          .count = x.count,
          .row_sizes = x.row_sizes,
          .col_sizes = x.col_sizes,
          .row_strides = x.row_strides,
          .col_strides = x.col_strides,
          .row_offset = x.row_offset,
          .col_offset = x.col_offset,
          .conjugated = x.conjugated ? 1 : 0,
          .dtype = dtype};
}

/// One call of a routine: checks the queue and the operands, then calls `f.template operator()<T>(queue)` with the element type T of the
/// first operand.
template <Halves halves = Halves::no, typename F>
myriad_status call(myriad_queue* queue, char const* routine, std::initializer_list<Operand> operands, F&& f) noexcept {
  return guard(queue, [&] {
    if (!queue) refuse(routine, {0, "queue"}, "is a null pointer");
    check_operands(routine, operands, halves);
    auto const dtype = static_cast<myriad::Dtype>(operands.begin()->batch->dtype);
    auto const of_type = [&]<typename T>() { f.template operator()<T>(queue->queue); };
    if constexpr (halves == Halves::yes)
      myriad::with_any_dtype(dtype, of_type);
    else
      myriad::with_dtype(dtype, of_type);
  });
}

/// The element that alpha or beta points at, or its address where it is in memory.
template <typename T>
myriad::ScalarArgument<T> scalar(char const* routine, bool in_memory, void const* x, Argument argument) {
  if (!x) refuse(routine, argument, "is a null pointer");
  auto const* const address = static_cast<T const*>(x);
  return in_memory ? myriad::ScalarArgument<T>(address) : myriad::ScalarArgument<T>(*address);
}

/// The C++ enumeration with the same letters; throws unless the letter is one of `letters`.
template <typename To>
To letter(char const* routine, int value, Argument argument, std::string_view letters) {
  for (char const allowed : letters)
    if (value == allowed) return static_cast<To>(allowed);
  std::string const given = value > ' ' && value <= '~' ? fmt::format("'{}'", static_cast<char>(value)) : fmt::format("{}", value);
  refuse(routine, argument, fmt::format("is {}; it must be one of the letters of {}", given, letters));
}
myriad::Uplo uplo_of(char const* routine, myriad_uplo uplo, int position) {
  return letter<myriad::Uplo>(routine, uplo, {position, "uplo"}, "UL");
}
myriad::Diag diag_of(char const* routine, myriad_diag diag, int position) {
  return letter<myriad::Diag>(routine, diag, {position, "diag"}, "NU");
}
myriad::Side side_of(char const* routine, myriad_side side) { return letter<myriad::Side>(routine, side, {1, "side"}, "LR"); }
myriad::Vect vect_of(char const* routine, myriad_vect vect) { return letter<myriad::Vect>(routine, vect, {1, "vect"}, "QP"); }
myriad::Op op_of(char const* routine, myriad_op op, int position) { return letter<myriad::Op>(routine, op, {position, "trans"}, "NTC"); }

/// Applies a view, a template over the element type. An invalid dtype is kept, and refused by the routine that gets it.
template <typename F>
myriad_batch view(myriad_batch const& a, F&& f) {
  if (a.dtype == MYRIAD_INT) return from(f(as<int>(&a)), a.dtype);
  if (!is_element(a.dtype) && !is_half(a.dtype)) return a;
  return myriad::with_any_dtype(static_cast<myriad::Dtype>(a.dtype), [&]<typename T>() { return from(f(as<T>(&a)), a.dtype); });
}

myriad_status multiply_symmetric_vector(char const* routine, bool hermitian, myriad_queue* queue, myriad_uplo uplo, void const* alpha,
                                        myriad_batch const* a, myriad_batch const* x, void const* beta, myriad_batch const* y) {
  return call(queue, routine, {{a, {4, "a"}}, {x, {6, "x"}}, {y, {9, "y"}}}, [&]<typename T>(Queue& q) {
    auto const multiply = hermitian ? myriad::hemv<T> : myriad::symv<T>;
    auto const alpha_value = scalar<T>(routine, queue->alpha_in_memory, alpha, {3, "alpha"});
    auto const beta_value = scalar<T>(routine, queue->beta_in_memory, beta, {8, "beta"});
    multiply(q, uplo_of(routine, uplo, 1), alpha_value, as<T>(a), as<T>(x), beta_value, as<T>(y));
  });
}

myriad_status multiply_symmetric(char const* routine, bool hermitian, myriad_queue* queue, myriad_side side, myriad_uplo uplo,
                                 void const* alpha, myriad_batch const* a, myriad_batch const* b, void const* beta, myriad_batch const* c) {
  return call(queue, routine, {{a, {6, "a"}}, {b, {8, "b"}}, {c, {11, "c"}}}, [&]<typename T>(Queue& q) {
    auto const multiply = hermitian ? myriad::hemm<T> : myriad::symm<T>;
    auto const alpha_value = scalar<T>(routine, queue->alpha_in_memory, alpha, {5, "alpha"});
    auto const beta_value = scalar<T>(routine, queue->beta_in_memory, beta, {10, "beta"});
    multiply(q, side_of(routine, side), uplo_of(routine, uplo, 2), alpha_value, as<T>(a), as<T>(b), beta_value, as<T>(c));
  });
}

/// trsm and trmm, and below trsv and trmv.
myriad_status with_triangle(char const* routine, bool solves, myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_diag diag,
                            void const* alpha, myriad_batch const* a, myriad_batch const* b) {
  return call(queue, routine, {{a, {8, "a"}}, {b, {10, "b"}}}, [&]<typename T>(Queue& q) {
    auto const apply = solves ? myriad::trsm<T> : myriad::trmm<T>;
    apply(q, side_of(routine, side), uplo_of(routine, uplo, 2), diag_of(routine, diag, 4),
          scalar<T>(routine, queue->alpha_in_memory, alpha, {7, "alpha"}), as<T>(a), as<T>(b));
  });
}
myriad_status with_triangle(char const* routine, bool solves, myriad_queue* queue, myriad_uplo uplo, myriad_diag diag,
                            myriad_batch const* a, myriad_batch const* x) {
  return call(queue, routine, {{a, {5, "a"}}, {x, {7, "x"}}}, [&]<typename T>(Queue& q) {
    auto const apply = solves ? myriad::trsv<T> : myriad::trmv<T>;
    apply(q, uplo_of(routine, uplo, 1), diag_of(routine, diag, 3), as<T>(a), as<T>(x));
  });
}

myriad_status apply_q(char const* routine, myriad_queue* queue, myriad_side side, myriad_op trans, myriad_batch const* a,
                      myriad_batch const* tau, myriad_batch const* c) {
  return call(queue, routine, {{a, {6, "a"}}, {tau, {8, "tau"}}, {c, {9, "c"}}}, [&]<typename T>(Queue& q) {
    myriad::ormqr<T>(q, side_of(routine, side), op_of(routine, trans, 2), as<T>(a), as<T>(tau), as<T>(c));
  });
}

myriad_status form_q(char const* routine, myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau) {
  return call(queue, routine, {{a, {4, "a"}}, {tau, {6, "tau"}}}, [&]<typename T>(Queue& q) { myriad::orgqr<T>(q, as<T>(a), as<T>(tau)); });
}

myriad_status eigen(char const* routine, myriad_queue* queue, myriad_job job, myriad_uplo uplo, myriad_batch const* a,
                    myriad_batch const* w, int* info) {
  return call(queue, routine, {{a, {4, "a"}}, real(w, {6, "w"})}, [&]<typename T>(Queue& q) {
    myriad::syevd<T>(q, letter<myriad::Job>(routine, job, {1, "jobz"}, "NV"), uplo_of(routine, uplo, 2), as<T>(a), as<myriad::Real<T>>(w),
                     info);
  });
}

myriad_status tridiagonalize(char const* routine, myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* d,
                             myriad_batch const* e, myriad_batch const* tau) {
  return call(queue, routine, {{a, {3, "a"}}, real(d, {5, "d"}), real(e, {6, "e"}), {tau, {7, "tau"}}}, [&]<typename T>(Queue& q) {
    using R = myriad::Real<T>;
    myriad::sytrd<T>(q, uplo_of(routine, uplo, 1), as<T>(a), as<R>(d), as<R>(e), as<T>(tau));
  });
}

myriad_status form_q_of_sytrd(char const* routine, myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* tau) {
  return call(queue, routine, {{a, {3, "a"}}, {tau, {5, "tau"}}},
              [&]<typename T>(Queue& q) { myriad::orgtr<T>(q, uplo_of(routine, uplo, 1), as<T>(a), as<T>(tau)); });
}

myriad_status form_factor_of_gebrd(char const* routine, myriad_queue* queue, myriad_vect vect, int64_t k, int64_t const* k_sizes,
                                   myriad_batch const* a, myriad_batch const* tau) {
  return call(queue, routine, {{a, {5, "a"}}, {tau, {7, "tau"}}}, [&]<typename T>(Queue& q) {
    myriad::orgbr<T>(q, vect_of(routine, vect), {k, k_sizes}, as<T>(a), as<T>(tau));
  });
}

myriad_status apply_factor_of_gebrd(char const* routine, myriad_queue* queue, myriad_vect vect, myriad_side side, myriad_op trans,
                                    int64_t k, int64_t const* k_sizes, myriad_batch const* a, myriad_batch const* tau,
                                    myriad_batch const* c) {
  return call(queue, routine, {{a, {7, "a"}}, {tau, {9, "tau"}}, {c, {10, "c"}}}, [&]<typename T>(Queue& q) {
    myriad::ormbr<T>(q, vect_of(routine, vect), letter<myriad::Side>(routine, side, {2, "side"}, "LR"), op_of(routine, trans, 3),
                     {k, k_sizes}, as<T>(a), as<T>(tau), as<T>(c));
  });
}

myriad_status apply_q_of_sytrd(char const* routine, myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_op trans,
                               myriad_batch const* a, myriad_batch const* tau, myriad_batch const* c) {
  return call(queue, routine, {{a, {6, "a"}}, {tau, {8, "tau"}}, {c, {9, "c"}}}, [&]<typename T>(Queue& q) {
    myriad::ormtr<T>(q, side_of(routine, side), uplo_of(routine, uplo, 2), op_of(routine, trans, 3), as<T>(a), as<T>(tau), as<T>(c));
  });
}

myriad_status allocate(char const* routine, myriad_queue* queue, myriad::detail::Memory::Kind kind, int64_t bytes, myriad_memory** memory) {
  if (memory) *memory = nullptr;
  return guard(queue, [&] {
    if (!queue) refuse(routine, {1, "queue"}, "is a null pointer");
    if (bytes < 0) refuse(routine, {2, "bytes"}, fmt::format("is negative: {}", bytes));
    if (!memory) refuse(routine, {3, "memory"}, "is a null pointer");
    *memory = new myriad_memory{myriad::detail::Memory(queue->queue, kind, bytes, 1)};
  });
}

/// The operands of a stream; throws BadArgument for wrong ones.
std::vector<myriad::detail::UntypedOperand> stream_operands(myriad_operand const* operands, int operand_count) {
  if (!operands) refuse("stream", {3, "operands"}, "is a null pointer");
  if (operand_count < 1) refuse("stream", {4, "operand_count"}, fmt::format("is {}", operand_count));
  std::vector<myriad::detail::UntypedOperand> untyped;
  for (int k = 0; k < operand_count; ++k) {
    auto const& [batch, use] = operands[k];
    std::string const name = fmt::format("operand {}", k + 1);
    Argument const argument{k + 3, name.c_str()};
    if (use != MYRIAD_IN && use != MYRIAD_OUT && use != MYRIAD_IN_OUT)
      refuse("stream", argument, fmt::format("has use {}; it is 0 (in), 1 (out) or 2 (in_out)", static_cast<int>(use)));
    if (batch.dtype != MYRIAD_INT && !is_element(batch.dtype) && !is_half(batch.dtype))
      refuse("stream", argument, fmt::format("has elements of type {}", name_of(batch.dtype)));
    std::int64_t const bytes = batch.dtype == MYRIAD_INT
                                   ? static_cast<std::int64_t>(sizeof(int))
                                   : myriad::with_any_dtype(static_cast<myriad::Dtype>(batch.dtype),
                                                            []<typename T>() { return static_cast<std::int64_t>(sizeof(T)); });
    untyped.push_back({static_cast<myriad::StreamUse>(use), false, bytes, as<char>(&batch)});
  }
  return untyped;
}
/// Calls work(arguments of the chunk).
template <typename Work>
myriad::StreamReport run_stream(myriad::Streamer&& streamer, myriad_operand const* operands, int operand_count, Work&& work) {
  auto const untyped = stream_operands(operands, operand_count);
  std::vector<myriad_batch> arguments(untyped.size());
  return streamer.run_untyped(untyped, [&](Queue& q, std::span<Batch<char> const> chunk) {
    for (std::size_t k = 0; k < arguments.size(); ++k) arguments[k] = from(chunk[k], operands[k].batch.dtype);
    work(q, arguments.data());
  });
}
myriad_stream_report as_c(myriad::StreamReport const& done) {
  return {done.chunks, done.bytes_in, done.bytes_out, done.bytes_staged, done.seconds};
}

}  // namespace

extern "C" {

char const* myriad_last_error(myriad_queue const* queue) {
  return queue ? queue->failure.text.c_str() : failure_without_queue.text.c_str();
}
int myriad_last_error_position(myriad_queue const* queue) { return queue ? queue->failure.position : failure_without_queue.position; }
char const* myriad_version(void) { return MYRIAD_VERSION; }

myriad_status myriad_queue_create(myriad_queue** queue, myriad_backend backend, int threads) {
  if (queue) *queue = nullptr;
  return guard(nullptr, [&] {
    if (!queue) refuse("queue_create", {1, "queue"}, "is a null pointer");
    if (backend != MYRIAD_AUTOMATIC && backend != MYRIAD_CPU && backend != MYRIAD_GPU)
      refuse("queue_create", {2, "backend"}, fmt::format("is {}; it is 0 (automatic), 1 (cpu) or 2 (gpu)", static_cast<int>(backend)));
    if (threads < 0) refuse("queue_create", {3, "threads"}, fmt::format("is negative: {}", threads));
    *queue = new myriad_queue{Queue({.backend = static_cast<myriad::Backend>(backend), .threads = threads}), {}};
  });
}
myriad_status myriad_queue_create_on(myriad_queue** queue, int device, void* stream, int threads) {
  if (queue) *queue = nullptr;
  return guard(nullptr, [&] {
    if (!queue) refuse("queue_create_on", {1, "queue"}, "is a null pointer");
    if (threads < 0) refuse("queue_create_on", {4, "threads"}, fmt::format("is negative: {}", threads));
    *queue = new myriad_queue{Queue({.backend = myriad::Backend::gpu, .threads = threads, .device = device, .stream = stream}), {}};
  });
}
void myriad_queue_destroy(myriad_queue* queue) { delete queue; }
myriad_status myriad_queue_set_stream(myriad_queue* queue, void* stream) {
  return guard(queue, [&] {
    if (!queue) refuse("set_stream", {0, "queue"}, "is a null pointer");
    queue->queue.set_stream(stream);
  });
}
void* myriad_queue_stream(myriad_queue const* queue) { return queue ? queue->queue.stream() : nullptr; }
int myriad_queue_device(myriad_queue const* queue) {
  return queue && queue->queue.backend() == myriad::Backend::gpu ? queue->queue.device().ordinal : -1;
}
myriad_status myriad_queue_set_allocator(myriad_queue* queue, void* (*allocate)(int64_t, void*, void*),
                                         void (*release)(void*, int64_t, void*, void*), void* user) {
  return guard(queue, [&] {
    if (!queue) refuse("set_allocator", {0, "queue"}, "is a null pointer");
    myriad::WorkspaceAllocator of_caller;
    if (allocate) of_caller.allocate = [=](std::int64_t bytes, void* stream) { return allocate(bytes, stream, user); };
    if (release) of_caller.release = [=](void* memory, std::int64_t bytes, void* stream) { release(memory, bytes, stream, user); };
    queue->queue.set_allocator(std::move(of_caller));
  });
}
myriad_status myriad_queue_set_pointer_mode(myriad_queue* queue, myriad_pointer_mode alpha, myriad_pointer_mode beta) {
  return guard(queue, [&] {
    if (!queue) refuse("set_pointer_mode", {0, "queue"}, "is a null pointer");
    for (auto const& [mode, argument] : {std::pair(alpha, Argument{1, "alpha"}), {beta, {2, "beta"}}})
      if (mode != MYRIAD_POINTER_MODE_HOST && mode != MYRIAD_POINTER_MODE_DEVICE)
        refuse("set_pointer_mode", argument,
               fmt::format("must be MYRIAD_POINTER_MODE_HOST (0) or _DEVICE (1), is {}", static_cast<int>(mode)));
    queue->alpha_in_memory = alpha == MYRIAD_POINTER_MODE_DEVICE;
    queue->beta_in_memory = beta == MYRIAD_POINTER_MODE_DEVICE;
  });
}
myriad_status myriad_queue_wait(myriad_queue* queue) {
  return guard(queue, [&] {
    if (!queue) refuse("queue_wait", {1, "queue"}, "is a null pointer");
    queue->queue.wait();
  });
}
myriad_status myriad_prepare(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user) {
  myriad_status status = MYRIAD_OK;
  myriad_status const own = guard(queue, [&] {
    if (!queue) refuse("prepare", {1, "queue"}, "is a null pointer");
    if (!calls) refuse("prepare", {2, "calls"}, "is a null pointer");
    queue->queue.prepare([&] { status = calls(queue, user); });
  });
  return own == MYRIAD_OK ? status : own;
}
myriad_status myriad_workspace(myriad_queue* queue, myriad_status (*calls)(myriad_queue* queue, void* user), void* user, int64_t* bytes) {
  if (bytes) *bytes = 0;
  myriad_status status = MYRIAD_OK;
  myriad_status const own = guard(queue, [&] {
    if (!queue) refuse("workspace", {1, "queue"}, "is a null pointer");
    if (!calls) refuse("workspace", {2, "calls"}, "is a null pointer");
    if (!bytes) refuse("workspace", {4, "bytes"}, "is a null pointer");
    std::int64_t const wanted = queue->queue.workspace([&] { status = calls(queue, user); });
    if (status == MYRIAD_OK) *bytes = wanted;
  });
  return own == MYRIAD_OK ? status : own;
}
myriad_status myriad_stream(myriad_queue* queue, int64_t chunk_bytes, myriad_operand const* operands, int operand_count,
                            myriad_status (*work)(myriad_queue*, myriad_batch const*, void*), void* user, myriad_stream_report* report) {
  if (report) *report = {};
  struct WorkFailed {};
  myriad_status status = MYRIAD_OK;
  Failure failure;
  myriad_status const own = guard(queue, [&] {
    if (!queue) refuse("stream", {1, "queue"}, "is a null pointer");
    if (!work) refuse("stream", {5, "work"}, "is a null pointer");
    auto const call_work = [&](myriad_queue* where, myriad_batch const* arguments) {
      status = work(where, arguments, user);
      if (status == MYRIAD_OK) return;
      failure = where->failure;
      throw WorkFailed();
    };
    try {
      myriad::StreamReport const done = run_stream(myriad::Streamer(queue->queue, {.chunk_bytes = chunk_bytes}), operands, operand_count,
                                                   [&](Queue& q, myriad_batch const* arguments) {
                                                     if (&q == &queue->queue) return call_work(queue, arguments);
                                                     Lent lent(q, *queue);
                                                     call_work(&lent.queue, arguments);
                                                   });
      if (report) *report = as_c(done);
    } catch (WorkFailed const&) {
      queue->failure = failure;
    }
  });
  return own == MYRIAD_OK ? status : own;
}
myriad_status myriad_stream_on_gpus(myriad_queue* const* queues, int queue_count, int64_t chunk_bytes, myriad_on_gpu_failure on_gpu_failure,
                                    myriad_operand const* operands, int operand_count,
                                    myriad_status (*work)(myriad_queue*, myriad_batch const*, void*), void* user,
                                    myriad_stream_report* report, myriad_stream_share* shares, unsigned char* complete) {
  if (report) *report = {};
  for (int k = 0; shares && k < queue_count; ++k) shares[k] = {-1, 0, 0};
  struct WorkFailed {};  // no routine of the library failed
  myriad_status status = MYRIAD_OK;
  Failure failure;
  myriad_queue* const first = queues && queue_count > 0 ? queues[0] : nullptr;
  myriad_status const own = guard(first, [&] {
    if (!queues) refuse("stream", {1, "queues"}, "is a null pointer");
    if (on_gpu_failure != MYRIAD_STOP && on_gpu_failure != MYRIAD_MOVE_TO_OTHERS)
      refuse("stream", {2, "on_gpu_failure"}, fmt::format("is {}; it is 0 (stop) or 1 (move to others)", static_cast<int>(on_gpu_failure)));
    if (!work) refuse("stream", {5, "work"}, "is a null pointer");
    std::vector<Queue*> wrapped;
    for (int k = 0; k < queue_count; ++k) wrapped.push_back(queues[k] ? &queues[k]->queue : nullptr);
    auto const on_gpu_of = [&](Queue const& q) -> myriad_queue const& {
      for (int k = 0; k < queue_count; ++k)
        if (wrapped[static_cast<std::size_t>(k)]->backend() == q.backend() && queues[k]->queue.device().ordinal == q.device().ordinal)
          return *queues[k];
      return *first;
    };
    auto const call_work = [&](myriad_queue* where, myriad_batch const* arguments) {
      where->failure.exception = nullptr;
      status = work(where, arguments, user);
      if (status == MYRIAD_OK) return;
      if (where->failure.exception && (status == MYRIAD_FAILED || status == MYRIAD_OUT_OF_MEMORY)) try {
          std::rethrow_exception(where->failure.exception);
        } catch (myriad::GpuError const&) {
          throw;
        } catch (myriad::OutOfMemory const&) {
          throw;
        } catch (...) {
          // not an error of the GPU
        }
      failure = where->failure;
      throw WorkFailed();
    };
    myriad::StreamOptions const options{
        .chunk_bytes = chunk_bytes, .on_gpu_failure = static_cast<myriad::OnGpuFailure>(on_gpu_failure), .complete = complete};
    try {
      myriad::StreamReport const done =
          run_stream(myriad::Streamer(wrapped, options), operands, operand_count, [&](Queue& q, myriad_batch const* arguments) {
            for (int k = 0; k < queue_count; ++k)
              if (&q == wrapped[static_cast<std::size_t>(k)]) return call_work(queues[k], arguments);
            Lent lent(q, on_gpu_of(q));
            call_work(&lent.queue, arguments);
          });
      status = MYRIAD_OK;  // also if work failed on a GPU and was done again on another
      if (report) *report = as_c(done);
      for (std::size_t k = 0; shares && k < wrapped.size(); ++k) {
        if (wrapped[k]->backend() == myriad::Backend::cpu) {
          shares[k] = {-1, done.matrices, 0};
        } else if (done.shares.empty()) {  // nothing was computed
          shares[k] = {wrapped[k]->device().ordinal, 0, 0};
        } else {
          auto const& [device, matrices, problem] = done.shares[k];
          shares[k] = {device, matrices, !problem.empty()};
          if (!problem.empty()) queues[k]->failure.keep(problem.c_str(), 0);
        }
      }
    } catch (WorkFailed const&) {
      first->failure = failure;
    }
  });
  return own == MYRIAD_OK ? status : own;
}
myriad_status myriad_tune(myriad_queue* queue, myriad_status (*calls)(myriad_queue*, void*), void* user,
                          myriad_tune_options const* options) {
  struct CallsFailed {  // no routine of the library failed
    myriad_status status;
  };
  myriad_status status = MYRIAD_OK;
  myriad_status const own = guard(queue, [&] {
    if (!queue) refuse("tune", {1, "queue"}, "is a null pointer");
    if (!calls) refuse("tune", {2, "calls"}, "is a null pointer");
    myriad_tune_options const given = options ? *options : myriad_tune_options{};
    if (given.candidates < 0) refuse("tune", {3, "options"}, fmt::format("has {} candidates", given.candidates));
    if (given.threads < 0) refuse("tune", {3, "options"}, fmt::format("has {} threads", given.threads));
    // Exceptions of a routine are rethrown: tune distinguishes failures of a candidate.
    auto const call = [&](Queue& q, auto const& function) {
      auto const call_with = [&](myriad_queue* of_c) {
        of_c->failure.exception = nullptr;
        myriad_status const result = function(of_c, user);
        if (result == MYRIAD_OK) return;
        if (of_c->failure.exception) std::rethrow_exception(of_c->failure.exception);
        throw CallsFailed{result};
      };
      if (&q == &queue->queue) return call_with(queue);
      Lent lent(q, *queue);
      call_with(&lent.queue);
    };
    myriad::TuneOptions cpp{.threads = given.threads, .again = given.again != 0};
    if (given.budget != 0) cpp.budget = given.budget;
    if (given.candidates > 0) cpp.candidates = static_cast<std::size_t>(given.candidates);
    if (given.refresh) cpp.refresh = [&](Queue& q) { call(q, given.refresh); };
    if (given.progress)
      cpp.progress = [&](std::size_t problem, std::size_t problems, double done) {
        return given.progress(static_cast<std::int64_t>(problem), static_cast<std::int64_t>(problems), done, user) != 0;
      };
    try {
      for (myriad::TunedConfig const& entry : myriad::tune(
               queue->queue, [&](Queue& q) { call(q, calls); }, cpp)) {
        if (!given.found) continue;
        std::vector<char const*> names;
        std::vector<int> values;
        for (auto const& [name, value] : entry.config) {
          names.push_back(name.c_str());
          values.push_back(value);
        }
        myriad_tuned_config const tuned{.kernel = entry.kernel.c_str(),
                                        .dtype = static_cast<myriad_dtype>(entry.dtype),
                                        .sizes = {entry.sizes[0], entry.sizes[1], entry.sizes[2]},
                                        .value_count = static_cast<int>(values.size()),
                                        .names = names.data(),
                                        .values = values.data(),
                                        .seconds = entry.seconds,
                                        .planned_seconds = entry.planned_seconds,
                                        .tried = entry.tried};
        given.found(&tuned, user);
      }
    } catch (CallsFailed const& failed) {
      status = failed.status;
    }
  });
  return own == MYRIAD_OK ? status : own;
}
myriad_status myriad_search_nvrtc(char const* folder) {
  return guard(nullptr, [&] {
    if (!folder) refuse("search_nvrtc", {1, "folder"}, "is a null pointer");
    myriad::search_nvrtc(folder);
  });
}
myriad_status myriad_search_packs(char const* folder) {
  return guard(nullptr, [&] {
    if (!folder) refuse("search_packs", {1, "folder"}, "is a null pointer");
    myriad::search_packs(folder);
  });
}
myriad_status myriad_build_pack(char const* archs, char const* list, int threads, char const* path, int64_t* kernels) {
  if (kernels) *kernels = 0;
  return guard(nullptr, [&] {
    if (!archs) refuse("build_pack", {1, "archs"}, "is a null pointer");
    if (!list) refuse("build_pack", {2, "list"}, "is a null pointer");
    if (threads < 0) refuse("build_pack", {3, "threads"}, fmt::format("is negative: {}", threads));
    if (!path) refuse("build_pack", {4, "path"}, "is a null pointer");
    myriad::PackOptions options{.archs = {}, .routines = {}, .sizes = {}, .dtypes = {}, .lists = {list}, .threads = threads};
    std::istringstream names(archs);
    for (std::string arch; std::getline(names, arch, ',');) options.archs.push_back(arch);
    std::int64_t const number = myriad::build_pack(options, path);
    if (kernels) *kernels = number;
  });
}
int myriad_queue_threads(myriad_queue const* queue) { return queue ? queue->queue.threads() : 0; }
char const* myriad_queue_gpu_problem(myriad_queue const* queue) { return queue ? queue->queue.gpu_problem().c_str() : ""; }
myriad_backend myriad_queue_backend(myriad_queue const* queue) {
  return queue ? static_cast<myriad_backend>(queue->queue.backend()) : MYRIAD_AUTOMATIC;
}

myriad_status myriad_allocate(myriad_queue* queue, int64_t bytes, myriad_memory** memory) {
  return allocate("allocate", queue, myriad::detail::Memory::Kind::device, bytes, memory);
}
myriad_status myriad_allocate_pinned(myriad_queue* queue, int64_t bytes, myriad_memory** memory) {
  return allocate("allocate_pinned", queue, myriad::detail::Memory::Kind::pinned, bytes, memory);
}
void* myriad_address(myriad_memory const* memory) { return memory ? memory->memory.data() : nullptr; }
void myriad_free(myriad_memory* memory) { delete memory; }
myriad_status myriad_copy(myriad_queue* queue, void const* from, int64_t bytes, void* to) {
  return guard(queue, [&] {
    if (!queue) refuse("copy", {1, "queue"}, "is a null pointer");
    if (bytes < 0) refuse("copy", {3, "bytes"}, fmt::format("is negative: {}", bytes));
    if (!from && bytes > 0) refuse("copy", {2, "from"}, "is a null pointer");
    if (!to && bytes > 0) refuse("copy", {4, "to"}, "is a null pointer");
    myriad::detail::Memory::copy(queue->queue, from, bytes, 1, to);
  });
}

// Views are made as batches of char: sizes and strides count elements, so the element type does not matter.
myriad_batch myriad_strided(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t ld, int64_t stride, int64_t count) {
  return from(myriad::batch(static_cast<char*>(const_cast<void*>(data)), rows, cols, {.ld = ld, .stride = stride, .count = count}), dtype);
}
myriad_batch myriad_row_major(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t ld, int64_t stride, int64_t count) {
  return from(myriad::row_major(static_cast<char*>(const_cast<void*>(data)), rows, cols, {.ld = ld, .stride = stride, .count = count}),
              dtype);
}
myriad_batch myriad_interleaved(myriad_dtype dtype, int64_t rows, int64_t cols, void const* data, int64_t count) {
  return from(myriad::interleaved(static_cast<char*>(const_cast<void*>(data)), rows, cols, count), dtype);
}
myriad_batch myriad_pointers(myriad_dtype dtype, int64_t rows, int64_t cols, void* const* pointers, int64_t ld, int64_t count) {
  return from(myriad::batch(reinterpret_cast<char* const*>(pointers), rows, cols, {.ld = ld, .count = count}), dtype);
}
myriad_batch myriad_row_major_pointers(myriad_dtype dtype, int64_t rows, int64_t cols, void* const* pointers, int64_t ld, int64_t count) {
  return from(myriad::row_major(reinterpret_cast<char* const*>(pointers), rows, cols, {.ld = ld, .count = count}), dtype);
}
myriad_batch myriad_vectors(myriad_dtype dtype, int64_t length, void const* data, int64_t stride, int64_t count) {
  return from(myriad::vectors(static_cast<char*>(const_cast<void*>(data)), length, count, stride), dtype);
}

myriad_batch myriad_transposed(myriad_batch a) {
  return view(a, [](auto x) { return myriad::transposed(x); });
}
myriad_batch myriad_conjugated(myriad_batch a) {
  return view(a, [](auto x) { return myriad::conjugated(x); });
}
myriad_batch myriad_conjugate_transposed(myriad_batch a) {
  return view(a, [](auto x) { return myriad::conjugate_transposed(x); });
}
myriad_batch myriad_block(myriad_batch a, int64_t i, int64_t j, int64_t m, int64_t n) {
  return view(a, [=](auto x) { return myriad::block(x, i, j, m, n); });
}
myriad_batch myriad_rows(myriad_batch a, int64_t i, int64_t m) {
  return view(a, [=](auto x) { return myriad::rows(x, i, m); });
}
myriad_batch myriad_columns(myriad_batch a, int64_t j, int64_t n) {
  return view(a, [=](auto x) { return myriad::columns(x, j, n); });
}
myriad_batch myriad_matrices(myriad_batch a, int64_t b, int64_t count) {
  return view(a, [=](auto x) { return myriad::matrices(x, b, count); });
}
void* myriad_at(myriad_batch a, int64_t b, int64_t i, int64_t j) {
  if (a.dtype == MYRIAD_INT) return as<int>(&a).at(b, i, j);
  if (!is_element(a.dtype) && !is_half(a.dtype)) return nullptr;
  return myriad::with_any_dtype(static_cast<myriad::Dtype>(a.dtype), [&]<typename T>() -> void* { return as<T>(&a).at(b, i, j); });
}

myriad_status myriad_gemm(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* b, void const* beta,
                          myriad_batch const* c) {
  Operand const product{c, {12, "c"}, Elements::same_or_computed};
  return call<Halves::yes>(queue, "gemm", {{a, {7, "a"}}, {b, {9, "b"}}, product}, [&]<typename T>(Queue& q) {
    using Scalar = myriad::Compute<T>;
    auto const alpha_value = scalar<Scalar>("gemm", queue->alpha_in_memory, alpha, {6, "alpha"});
    auto const beta_value = scalar<Scalar>("gemm", queue->beta_in_memory, beta, {11, "beta"});
    if (c->dtype == a->dtype)
      myriad::gemm<T>(q, alpha_value, as<T>(a), as<T>(b), beta_value, as<T>(c));
    else
      myriad::gemm<T>(q, alpha_value, as<T>(a), as<T>(b), beta_value, as<Scalar>(c));
  });
}

myriad_status myriad_gemm_by(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* b, void const* beta,
                             myriad_batch const* c, myriad_arithmetic arithmetic) {
  return call(queue, "gemm", {{a, {7, "a"}}, {b, {9, "b"}}, {c, {12, "c"}}}, [&]<typename T>(Queue& q) {
    auto const alpha_value = scalar<T>("gemm", queue->alpha_in_memory, alpha, {6, "alpha"});
    auto const beta_value = scalar<T>("gemm", queue->beta_in_memory, beta, {11, "beta"});
    myriad::gemm<T>(q, alpha_value, as<T>(a), as<T>(b), beta_value, as<T>(c), static_cast<myriad::Arithmetic>(arithmetic));
  });
}

myriad_status myriad_gemm_grouped(myriad_queue* queue, myriad_gemm_group const* groups, int64_t count) {
  constexpr char const* routine = "gemm_grouped";
  return guard(queue, [&] {
    if (!queue) refuse(routine, {0, "queue"}, "is a null pointer");
    if (count < 0) refuse(routine, {2, "count"}, fmt::format("is {}", count));
    if (count == 0) return;
    if (!groups) refuse(routine, {1, "groups"}, "is a null pointer");
    std::span const all(groups, static_cast<std::size_t>(count));
    for (std::size_t g = 0; g < all.size(); ++g) try {
        auto const& [alpha, a, b, beta, c] = all[g];
        check_operands(routine, {{a, {7, "a"}}, {b, {9, "b"}}, {c, {12, "c"}, Elements::same_or_computed}}, Halves::yes);
        for (auto const& [x, first, argument] : {std::tuple(a, all[0].a, Argument{7, "a"}), {c, all[0].c, {12, "c"}}})
          if (x->dtype != first->dtype)
            refuse(routine, argument,
                   fmt::format("has elements of type {}; in group 0 they are {}", name_of(x->dtype), name_of(first->dtype)));
        if (!alpha) refuse(routine, {6, "alpha"}, "is a null pointer");
        if (!beta) refuse(routine, {11, "beta"}, "is a null pointer");
      } catch (BadArgument const& error) {
        throw BadArgument(routine, error.position(), error.argument(), fmt::format("of group {}: {}", g, error.what()));
      }
    myriad::with_any_dtype(static_cast<myriad::Dtype>(all[0].a->dtype), [&]<typename T>() {
      using Scalar = myriad::Compute<T>;
      auto const multiply = [&]<typename Output>(Output) {
        std::vector<myriad::GemmGroup<T, Output>> list;
        for (auto const& [alpha, a, b, beta, c] : all)
          list.push_back({.alpha = scalar<Scalar>(routine, queue->alpha_in_memory, alpha, {6, "alpha"}),
                          .a = as<T>(a),
                          .b = as<T>(b),
                          .beta = scalar<Scalar>(routine, queue->beta_in_memory, beta, {11, "beta"}),
                          .c = as<Output>(c)});
        myriad::gemm_grouped<T>(queue->queue, list);
      };
      all[0].c->dtype == all[0].a->dtype ? multiply(T()) : multiply(Scalar());
    });
  });
}

myriad_status myriad_gemv(myriad_queue* queue, void const* alpha, myriad_batch const* a, myriad_batch const* x, void const* beta,
                          myriad_batch const* y) {
  return call(queue, "gemv", {{a, {5, "a"}}, {x, {7, "x"}}, {y, {10, "y"}}}, [&]<typename T>(Queue& q) {
    auto const alpha_value = scalar<T>("gemv", queue->alpha_in_memory, alpha, {4, "alpha"});
    auto const beta_value = scalar<T>("gemv", queue->beta_in_memory, beta, {9, "beta"});
    myriad::gemv<T>(q, alpha_value, as<T>(a), as<T>(x), beta_value, as<T>(y));
  });
}

myriad_status myriad_ger(myriad_queue* queue, void const* alpha, myriad_batch const* x, myriad_batch const* y, myriad_batch const* a) {
  return call(queue, "ger", {{x, {4, "x"}}, {y, {6, "y"}}, {a, {8, "a"}}}, [&]<typename T>(Queue& q) {
    myriad::ger<T>(q, scalar<T>("ger", queue->alpha_in_memory, alpha, {3, "alpha"}), as<T>(x), as<T>(y), as<T>(a));
  });
}

myriad_status myriad_symv(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* x,
                          void const* beta, myriad_batch const* y) {
  return multiply_symmetric_vector("symv", false, queue, uplo, alpha, a, x, beta, y);
}
myriad_status myriad_hemv(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* x,
                          void const* beta, myriad_batch const* y) {
  return multiply_symmetric_vector("hemv", true, queue, uplo, alpha, a, x, beta, y);
}

myriad_status myriad_symm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                          myriad_batch const* b, void const* beta, myriad_batch const* c) {
  return multiply_symmetric("symm", false, queue, side, uplo, alpha, a, b, beta, c);
}
myriad_status myriad_hemm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, void const* alpha, myriad_batch const* a,
                          myriad_batch const* b, void const* beta, myriad_batch const* c) {
  return multiply_symmetric("hemm", true, queue, side, uplo, alpha, a, b, beta, c);
}

myriad_status myriad_syrk(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, void const* beta,
                          myriad_batch const* c) {
  return call(queue, "syrk", {{a, {6, "a"}}, {c, {9, "c"}}}, [&]<typename T>(Queue& q) {
    auto const alpha_value = scalar<T>("syrk", queue->alpha_in_memory, alpha, {5, "alpha"});
    auto const beta_value = scalar<T>("syrk", queue->beta_in_memory, beta, {8, "beta"});
    myriad::syrk<T>(q, uplo_of("syrk", uplo, 1), alpha_value, as<T>(a), beta_value, as<T>(c));
  });
}
myriad_status myriad_herk(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, void const* beta,
                          myriad_batch const* c) {
  return call(queue, "herk", {{a, {6, "a"}}, {c, {9, "c"}}}, [&]<typename T>(Queue& q) {
    auto const alpha_value = scalar<myriad::Real<T>>("herk", queue->alpha_in_memory, alpha, {5, "alpha"});
    auto const beta_value = scalar<myriad::Real<T>>("herk", queue->beta_in_memory, beta, {8, "beta"});
    myriad::herk<T>(q, uplo_of("herk", uplo, 1), alpha_value, as<T>(a), beta_value, as<T>(c));
  });
}
myriad_status myriad_syr2k(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* b,
                           void const* beta, myriad_batch const* c) {
  return call(queue, "syr2k", {{a, {6, "a"}}, {b, {8, "b"}}, {c, {11, "c"}}}, [&]<typename T>(Queue& q) {
    auto const alpha_value = scalar<T>("syr2k", queue->alpha_in_memory, alpha, {5, "alpha"});
    auto const beta_value = scalar<T>("syr2k", queue->beta_in_memory, beta, {10, "beta"});
    myriad::syr2k<T>(q, uplo_of("syr2k", uplo, 1), alpha_value, as<T>(a), as<T>(b), beta_value, as<T>(c));
  });
}
myriad_status myriad_her2k(myriad_queue* queue, myriad_uplo uplo, void const* alpha, myriad_batch const* a, myriad_batch const* b,
                           void const* beta, myriad_batch const* c) {
  return call(queue, "her2k", {{a, {6, "a"}}, {b, {8, "b"}}, {c, {11, "c"}}}, [&]<typename T>(Queue& q) {
    auto const alpha_value = scalar<T>("her2k", queue->alpha_in_memory, alpha, {5, "alpha"});
    auto const beta_value = scalar<myriad::Real<T>>("her2k", queue->beta_in_memory, beta, {10, "beta"});
    myriad::her2k<T>(q, uplo_of("her2k", uplo, 1), alpha_value, as<T>(a), as<T>(b), beta_value, as<T>(c));
  });
}

myriad_status myriad_trsm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_diag diag, void const* alpha,
                          myriad_batch const* a, myriad_batch const* b) {
  return with_triangle("trsm", true, queue, side, uplo, diag, alpha, a, b);
}
myriad_status myriad_trmm(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_diag diag, void const* alpha,
                          myriad_batch const* a, myriad_batch const* b) {
  return with_triangle("trmm", false, queue, side, uplo, diag, alpha, a, b);
}

myriad_status myriad_trsv(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, myriad_batch const* x) {
  return with_triangle("trsv", true, queue, uplo, diag, a, x);
}
myriad_status myriad_trmv(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, myriad_batch const* x) {
  return with_triangle("trmv", false, queue, uplo, diag, a, x);
}

myriad_status myriad_trtri(myriad_queue* queue, myriad_uplo uplo, myriad_diag diag, myriad_batch const* a, int* info) {
  return call(queue, "trtri", {{a, {4, "a"}}},
              [&]<typename T>(Queue& q) { myriad::trtri<T>(q, uplo_of("trtri", uplo, 1), diag_of("trtri", diag, 2), as<T>(a), info); });
}

myriad_status myriad_getrf(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, int* info) {
  return call(queue, "getrf", {{a, {3, "a"}}, {pivots, {5, "ipiv"}, Elements::pivots}},
              [&]<typename T>(Queue& q) { myriad::getrf<T>(q, as<T>(a), as<int>(pivots), info); });
}

myriad_status myriad_getrf_nopiv(myriad_queue* queue, myriad_batch const* a, int* info) {
  return call(queue, "getrf_nopiv", {{a, {3, "a"}}}, [&]<typename T>(Queue& q) { myriad::getrf_nopiv<T>(q, as<T>(a), info); });
}

myriad_status myriad_getrs(myriad_queue* queue, myriad_op trans, myriad_batch const* a, myriad_batch const* pivots, myriad_batch const* b) {
  return call(queue, "getrs", {{a, {4, "a"}}, pivots_of(pivots, 6), {b, {7, "b"}}},
              [&]<typename T>(Queue& q) { myriad::getrs<T>(q, op_of("getrs", trans, 1), as<T>(a), as<int>(pivots), as<T>(b)); });
}

myriad_status myriad_gesv(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, myriad_batch const* b, int* info) {
  return call(queue, "gesv", {{a, {3, "a"}}, pivots_of(pivots, 5), {b, {6, "b"}}},
              [&]<typename T>(Queue& q) { myriad::gesv<T>(q, as<T>(a), as<int>(pivots), as<T>(b), info); });
}

myriad_status myriad_solve(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, myriad_batch const* x, int* info) {
  return call(queue, "solve", {{a, {3, "a"}}, {b, {5, "b"}}, {x, {7, "x"}}},
              [&]<typename T>(Queue& q) { myriad::solve<T>(q, as<T>(a), as<T>(b), as<T>(x), info); });
}

myriad_status myriad_getri(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, int* info) {
  return call(queue, "getri", {{a, {2, "a"}}, pivots_of(pivots, 4)},
              [&]<typename T>(Queue& q) { myriad::getri<T>(q, as<T>(a), as<int>(pivots), info); });
}

myriad_status myriad_inverse(myriad_queue* queue, myriad_batch const* a, myriad_batch const* x, int* info) {
  return call(queue, "inverse", {{a, {2, "a"}}, {x, {4, "x"}}},
              [&]<typename T>(Queue& q) { myriad::inverse<T>(q, as<T>(a), as<T>(x), info); });
}

myriad_status myriad_det(myriad_queue* queue, myriad_batch const* a, void* determinant) {
  return call(queue, "det", {{a, {2, "a"}}}, [&]<typename T>(Queue& q) { myriad::det<T>(q, as<T>(a), static_cast<T*>(determinant)); });
}

myriad_status myriad_logdet(myriad_queue* queue, myriad_batch const* a, void* sign, void* logabs) {
  return call(queue, "logdet", {{a, {2, "a"}}},
              [&]<typename T>(Queue& q) { myriad::logdet<T>(q, as<T>(a), static_cast<T*>(sign), static_cast<myriad::Real<T>*>(logabs)); });
}

myriad_status myriad_potrf(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, int* info) {
  return call(queue, "potrf", {{a, {3, "a"}}},
              [&]<typename T>(Queue& q) { myriad::potrf<T>(q, uplo_of("potrf", uplo, 1), as<T>(a), info); });
}

myriad_status myriad_potrs(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b) {
  return call(queue, "potrs", {{a, {4, "a"}}, {b, {6, "b"}}},
              [&]<typename T>(Queue& q) { myriad::potrs<T>(q, uplo_of("potrs", uplo, 1), as<T>(a), as<T>(b)); });
}

myriad_status myriad_posv(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b, int* info) {
  return call(queue, "posv", {{a, {4, "a"}}, {b, {6, "b"}}},
              [&]<typename T>(Queue& q) { myriad::posv<T>(q, uplo_of("posv", uplo, 1), as<T>(a), as<T>(b), info); });
}

myriad_status myriad_solve_positive_definite(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b,
                                             myriad_batch const* x, int* info) {
  return call(queue, "solve_positive_definite", {{a, {4, "a"}}, {b, {6, "b"}}, {x, {8, "x"}}}, [&]<typename T>(Queue& q) {
    myriad::solve_positive_definite<T>(q, uplo_of("solve_positive_definite", uplo, 1), as<T>(a), as<T>(b), as<T>(x), info);
  });
}

myriad_status myriad_potri(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, int* info) {
  return call(queue, "potri", {{a, {3, "a"}}},
              [&]<typename T>(Queue& q) { myriad::potri<T>(q, uplo_of("potri", uplo, 1), as<T>(a), info); });
}

myriad_status myriad_potrf_regularized(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, void const* jitter, void const* floor,
                                       int* replaced, int* info) {
  return call(queue, "potrf_regularized", {{a, {3, "a"}}}, [&]<typename T>(Queue& q) {
    using R = myriad::Real<T>;
    myriad::potrf_regularized<T>(q, uplo_of("potrf_regularized", uplo, 1), as<T>(a), static_cast<R const*>(jitter),
                                 static_cast<R const*>(floor), replaced, info);
  });
}

myriad_status myriad_posv_regularized(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b,
                                      void const* jitter, void const* floor, int* replaced, int* info) {
  return call(queue, "posv_regularized", {{a, {4, "a"}}, {b, {6, "b"}}}, [&]<typename T>(Queue& q) {
    using R = myriad::Real<T>;
    myriad::posv_regularized<T>(q, uplo_of("posv_regularized", uplo, 1), as<T>(a), as<T>(b), static_cast<R const*>(jitter),
                                static_cast<R const*>(floor), replaced, info);
  });
}

myriad_status myriad_gesv_mixed(myriad_queue* queue, myriad_batch const* a, myriad_batch const* pivots, myriad_batch const* b,
                                myriad_batch const* x, int* iter, int* info) {
  return call(queue, "gesv_mixed", {{a, {3, "a"}}, pivots_of(pivots, 5), {b, {6, "b"}}, {x, {8, "x"}}},
              [&]<typename T>(Queue& q) { myriad::gesv_mixed<T>(q, as<T>(a), as<int>(pivots), as<T>(b), as<T>(x), iter, info); });
}

myriad_status myriad_posv_mixed(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* b, myriad_batch const* x,
                                int* iter, int* info) {
  return call(queue, "posv_mixed", {{a, {4, "a"}}, {b, {6, "b"}}, {x, {8, "x"}}}, [&]<typename T>(Queue& q) {
    myriad::posv_mixed<T>(q, uplo_of("posv_mixed", uplo, 1), as<T>(a), as<T>(b), as<T>(x), iter, info);
  });
}

myriad_status myriad_geqrf(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau) {
  return call(queue, "geqrf", {{a, {3, "a"}}, {tau, {5, "tau"}}}, [&]<typename T>(Queue& q) { myriad::geqrf<T>(q, as<T>(a), as<T>(tau)); });
}

myriad_status myriad_geqp3(myriad_queue* queue, myriad_batch const* a, myriad_batch const* jpvt, myriad_batch const* tau) {
  return call(queue, "geqp3", {{a, {3, "a"}}, {jpvt, {5, "jpvt"}, Elements::pivots}, {tau, {6, "tau"}}},
              [&]<typename T>(Queue& q) { myriad::geqp3<T>(q, as<T>(a), as<int>(jpvt), as<T>(tau)); });
}

myriad_status myriad_ormqr(myriad_queue* queue, myriad_side side, myriad_op trans, myriad_batch const* a, myriad_batch const* tau,
                           myriad_batch const* c) {
  return apply_q("ormqr", queue, side, trans, a, tau, c);
}
myriad_status myriad_unmqr(myriad_queue* queue, myriad_side side, myriad_op trans, myriad_batch const* a, myriad_batch const* tau,
                           myriad_batch const* c) {
  return apply_q("unmqr", queue, side, trans, a, tau, c);
}

myriad_status myriad_orgqr(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau) { return form_q("orgqr", queue, a, tau); }
myriad_status myriad_ungqr(myriad_queue* queue, myriad_batch const* a, myriad_batch const* tau) { return form_q("ungqr", queue, a, tau); }

myriad_status myriad_gels(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, int* info) {
  return call(queue, "gels", {{a, {5, "a"}}, {b, {7, "b"}}}, [&]<typename T>(Queue& q) { myriad::gels<T>(q, as<T>(a), as<T>(b), info); });
}

myriad_status myriad_gelsy(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, myriad_batch const* jpvt, double rcond,
                           int* rank) {
  return call(queue, "gelsy", {{a, {4, "a"}}, {b, {6, "b"}}, {jpvt, {8, "jpvt"}, Elements::pivots}}, [&]<typename T>(Queue& q) {
    myriad::gelsy<T>(q, as<T>(a), as<T>(b), as<int>(jpvt), static_cast<myriad::Real<T>>(rcond), rank);
  });
}

myriad_status myriad_syevd(myriad_queue* queue, myriad_job job, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* w, int* info) {
  return eigen("syevd", queue, job, uplo, a, w, info);
}
myriad_status myriad_heevd(myriad_queue* queue, myriad_job job, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* w, int* info) {
  return eigen("heevd", queue, job, uplo, a, w, info);
}

myriad_status myriad_sytrd(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* d, myriad_batch const* e,
                           myriad_batch const* tau) {
  return tridiagonalize("sytrd", queue, uplo, a, d, e, tau);
}
myriad_status myriad_hetrd(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* d, myriad_batch const* e,
                           myriad_batch const* tau) {
  return tridiagonalize("hetrd", queue, uplo, a, d, e, tau);
}

myriad_status myriad_orgtr(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* tau) {
  return form_q_of_sytrd("orgtr", queue, uplo, a, tau);
}
myriad_status myriad_ungtr(myriad_queue* queue, myriad_uplo uplo, myriad_batch const* a, myriad_batch const* tau) {
  return form_q_of_sytrd("ungtr", queue, uplo, a, tau);
}

myriad_status myriad_ormtr(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_op trans, myriad_batch const* a,
                           myriad_batch const* tau, myriad_batch const* c) {
  return apply_q_of_sytrd("ormtr", queue, side, uplo, trans, a, tau, c);
}
myriad_status myriad_unmtr(myriad_queue* queue, myriad_side side, myriad_uplo uplo, myriad_op trans, myriad_batch const* a,
                           myriad_batch const* tau, myriad_batch const* c) {
  return apply_q_of_sytrd("unmtr", queue, side, uplo, trans, a, tau, c);
}

static myriad_status singular_values(char const* routine, bool relative, myriad_queue* queue, myriad_svd_job job, myriad_batch const* a,
                                     myriad_batch const* s, myriad_batch const* u, myriad_batch const* vt, int* info) {
  return call(queue, routine, {{a, {4, "a"}}, real(s, {6, "s"}), unless_missing(u, {7, "u"}), unless_missing(vt, {9, "vt"})},
              [&]<typename T>(Queue& q) {
                auto const what = letter<myriad::SvdJob>(routine, job, {1, "jobz"}, "NSAUV");
                auto* const decompose = relative ? &myriad::gejsv<T> : &myriad::gesvd<T>;
                decompose(q, what, as<T>(a), as<myriad::Real<T>>(s), as<T>(u), as<T>(vt), info);
              });
}
myriad_status myriad_gesvd(myriad_queue* queue, myriad_svd_job job, myriad_batch const* a, myriad_batch const* s, myriad_batch const* u,
                           myriad_batch const* vt, int* info) {
  return singular_values("gesvd", false, queue, job, a, s, u, vt, info);
}
myriad_status myriad_gejsv(myriad_queue* queue, myriad_svd_job job, myriad_batch const* a, myriad_batch const* s, myriad_batch const* u,
                           myriad_batch const* vt, int* info) {
  return singular_values("gejsv", true, queue, job, a, s, u, vt, info);
}

myriad_status myriad_pinv(myriad_queue* queue, myriad_batch const* a, double rcond, myriad_batch const* x, int* rank, int* info) {
  return call(queue, "pinv", {{a, {3, "a"}}, {x, {6, "x"}}},
              [&]<typename T>(Queue& q) { myriad::pinv<T>(q, as<T>(a), static_cast<myriad::Real<T>>(rcond), as<T>(x), rank, info); });
}

myriad_status myriad_gelsd(myriad_queue* queue, myriad_batch const* a, myriad_batch const* b, myriad_batch const* s, double rcond,
                           int* rank, int* info) {
  return call(queue, "gelsd", {{a, {4, "a"}}, {b, {6, "b"}}, optional_real(s, {8, "s"})}, [&]<typename T>(Queue& q) {
    using R = myriad::Real<T>;
    myriad::gelsd<T>(q, as<T>(a), as<T>(b), as<R>(s), static_cast<R>(rcond), rank, info);
  });
}

myriad_status myriad_matrix_rank(myriad_queue* queue, myriad_batch const* a, double atol, double rtol, int* rank, int* info) {
  return call(queue, "matrix_rank", {{a, {3, "a"}}}, [&]<typename T>(Queue& q) {
    using R = myriad::Real<T>;
    // Decided here, since a tiny atol is 0 as float.
    auto const relative = rtol < 0 && atol > 0 ? R(0) : static_cast<R>(rtol);
    myriad::matrix_rank<T>(q, as<T>(a), static_cast<R>(atol), relative, rank, info);
  });
}

myriad_status myriad_cond(myriad_queue* queue, myriad_batch const* a, void* condition, int* info) {
  return call(queue, "cond", {{a, {3, "a"}}},
              [&]<typename T>(Queue& q) { myriad::cond<T>(q, as<T>(a), static_cast<myriad::Real<T>*>(condition), info); });
}

myriad_status myriad_norm2(myriad_queue* queue, myriad_batch const* a, void* norm, int* info) {
  return call(queue, "norm2", {{a, {3, "a"}}},
              [&]<typename T>(Queue& q) { myriad::norm2<T>(q, as<T>(a), static_cast<myriad::Real<T>*>(norm), info); });
}

myriad_status myriad_gebrd(myriad_queue* queue, myriad_batch const* a, myriad_batch const* d, myriad_batch const* e,
                           myriad_batch const* tauq, myriad_batch const* taup) {
  return call(queue, "gebrd", {{a, {3, "a"}}, real(d, {5, "d"}), real(e, {6, "e"}), {tauq, {7, "tauq"}}, {taup, {8, "taup"}}},
              [&]<typename T>(Queue& q) {
                using R = myriad::Real<T>;
                myriad::gebrd<T>(q, as<T>(a), as<R>(d), as<R>(e), as<T>(tauq), as<T>(taup));
              });
}

myriad_status myriad_orgbr(myriad_queue* queue, myriad_vect vect, int64_t k, int64_t const* k_sizes, myriad_batch const* a,
                           myriad_batch const* tau) {
  return form_factor_of_gebrd("orgbr", queue, vect, k, k_sizes, a, tau);
}
myriad_status myriad_ungbr(myriad_queue* queue, myriad_vect vect, int64_t k, int64_t const* k_sizes, myriad_batch const* a,
                           myriad_batch const* tau) {
  return form_factor_of_gebrd("ungbr", queue, vect, k, k_sizes, a, tau);
}

myriad_status myriad_ormbr(myriad_queue* queue, myriad_vect vect, myriad_side side, myriad_op trans, int64_t k, int64_t const* k_sizes,
                           myriad_batch const* a, myriad_batch const* tau, myriad_batch const* c) {
  return apply_factor_of_gebrd("ormbr", queue, vect, side, trans, k, k_sizes, a, tau, c);
}
myriad_status myriad_unmbr(myriad_queue* queue, myriad_vect vect, myriad_side side, myriad_op trans, int64_t k, int64_t const* k_sizes,
                           myriad_batch const* a, myriad_batch const* tau, myriad_batch const* c) {
  return apply_factor_of_gebrd("unmbr", queue, vect, side, trans, k, k_sizes, a, tau, c);
}

myriad_status myriad_geequ(myriad_queue* queue, myriad_batch const* a, myriad_batch const* r, myriad_batch const* c, void* rowcnd,
                           void* colcnd, void* amax, int* info) {
  return call(queue, "geequ", {{a, {3, "a"}}, real(r, {5, "r"}), real(c, {6, "c"})}, [&]<typename T>(Queue& q) {
    using R = myriad::Real<T>;
    myriad::geequ<T>(q, as<T const>(a), as<R>(r), as<R>(c), static_cast<R*>(rowcnd), static_cast<R*>(colcnd), static_cast<R*>(amax), info);
  });
}

myriad_status myriad_laqge(myriad_queue* queue, myriad_batch const* a, myriad_batch const* r, myriad_batch const* c) {
  return call(queue, "laqge", {{a, {3, "a"}}, optional_real(r, {5, "r"}), optional_real(c, {6, "c"})}, [&]<typename T>(Queue& q) {
    using R = myriad::Real<T>;
    myriad::laqge<T>(q, as<T>(a), as<R const>(r), as<R const>(c));
  });
}

myriad_status myriad_gerfs(myriad_queue* queue, myriad_op trans, myriad_batch const* a, myriad_batch const* af, myriad_batch const* pivots,
                           myriad_batch const* b, myriad_batch const* x, myriad_batch const* ferr, myriad_batch const* berr) {
  return call(queue, "gerfs",
              {{a, {4, "a"}},
               {af, {6, "af"}},
               pivots_of(pivots, 8),
               {b, {9, "b"}},
               {x, {11, "x"}},
               optional_real(ferr, {13, "ferr"}),
               optional_real(berr, {14, "berr"})},
              [&]<typename T>(Queue& q) {
                using R = myriad::Real<T>;
                myriad::gerfs<T>(q, op_of("gerfs", trans, 1), as<T>(a), as<T>(af), as<int>(pivots), as<T>(b), as<T>(x), as<R>(ferr),
                                 as<R>(berr));
              });
}

myriad_status myriad_backward_error(myriad_queue* queue, myriad_batch const* a, myriad_batch const* x, myriad_batch const* b,
                                    myriad_batch const* berr) {
  return call(queue, "backward_error", {{a, {4, "a"}}, {x, {6, "x"}}, {b, {8, "b"}}, real(berr, {10, "berr"})},
              [&]<typename T>(Queue& q) { myriad::backward_error<T>(q, as<T const>(a), as<T>(x), as<T>(b), as<myriad::Real<T>>(berr)); });
}

}  // extern "C"
