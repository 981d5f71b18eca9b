/// The extension module _myriad: one function for each routine of the C interface. Arguments are those of include/myriad/myriad.h in their
/// order; arrays of any library stand for batches, None for NULL, one-letter strings for enumerations.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "call.hpp"
#include "queue.hpp"
#include "ragged.hpp"
#include "xla.hpp"

namespace myriad::python {
namespace {

/// The parameters of a routine. `text` has one word for each: the letter of its kind, a colon, the name, and ? if it may be None.
std::vector<Parameter> parameters_of(char const* text) {
  static std::deque<std::string> names;  // never freed: functions keep pointers to them
  std::vector<Parameter> parameters;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::size_t const end = std::min(rest.find(' '), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    bool const optional = word.back() == '?';
    if (optional) word.remove_suffix(1);
    names.emplace_back(word.substr(2));
    parameters.push_back({static_cast<Kind>(word[0]), optional, names.back().c_str()});
  }
  return parameters;
}

/// The C++ type by which Python passes a parameter of type P of the C interface.
template <typename P>
using Given = std::conditional_t<
    std::is_pointer_v<P>, nb::handle,
    std::conditional_t<std::is_same_v<P, double>, double,
                       std::conditional_t<std::is_same_v<P, std::int64_t> || std::is_same_v<P, myriad_arithmetic>, std::int64_t, char>>>;

template <typename P>
auto argument(char const* name) {
  if constexpr (std::is_pointer_v<P>)
    return nb::arg(name).none();
  else
    return nb::arg(name);
}

/// Says where alpha and beta of a call are, during its lifetime.
class InMemory {
 public:
  InMemory(myriad_queue* queue, Call const& call) : queue_(queue) {
    auto const mode = [&](char const* name) { return call.in_memory(name) ? MYRIAD_POINTER_MODE_DEVICE : MYRIAD_POINTER_MODE_HOST; };
    myriad_queue_set_pointer_mode(queue_, mode("alpha"), mode("beta"));
  }
  ~InMemory() { myriad_queue_set_pointer_mode(queue_, MYRIAD_POINTER_MODE_HOST, MYRIAD_POINTER_MODE_HOST); }
  InMemory(InMemory const&) = delete;
  InMemory& operator=(InMemory const&) = delete;

 private:
  myriad_queue* queue_;
};

/// A routine of the C interface and its parameters.
template <typename... P>
struct Routine {
  char const* name;
  myriad_status (*function)(myriad_queue*, P...);
  std::vector<Parameter> parameters;

  void operator()(Queue& queue, Given<P>... given) const { call(queue, std::index_sequence_for<P...>(), given...); }

 private:
  template <std::size_t... I>
  void call(Queue& queue, std::index_sequence<I...>, Given<P>... given) const {
    Call arguments(name, queue);
    (arguments.take(static_cast<int>(I), parameters[I], given), ...);
    arguments.arrange();
    if (arguments.empty_ragged()) return;
    nb::gil_scoped_release const release;
    queue.run([&](myriad_queue* handle) {
      InMemory const in_memory(handle, arguments);
      return function(handle, arguments.template get<P>(static_cast<int>(I))...);
    });
  }
};

template <typename... P>
void define(nb::module_& module, char const* name, myriad_status (*function)(myriad_queue*, P...), char const* text) {
  // Lives as long as the process, as the module does.
  auto const* const routine = new Routine<P...>{name, function, parameters_of(text)};
  if (routine->parameters.size() != sizeof...(P))
    throw std::logic_error(std::string(name) + ": the table has another number of parameters");
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    module.def(
        name, [routine](Queue& queue, Given<P>... given) { (*routine)(queue, given...); }, nb::arg("queue"),
        argument<P>(routine->parameters[I].name)...);
  }
  (std::index_sequence_for<P...>());
}

/// gemm_grouped: a list of tuples (alpha, a, b, beta, c).
void gemm_grouped(Queue& queue, nb::list list) {
  static std::vector<Parameter> const parameters = parameters_of("s:alpha m:a m:b s:beta M:c");
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<myriad_gemm_group> groups;
  for (nb::handle const item : list) {
    auto const group = nb::cast<nb::tuple>(item);
    if (nb::len(group) != parameters.size()) throw nb::value_error("gemm_grouped: a group is a tuple (alpha, a, b, beta, c)");
    Call& call = *calls.emplace_back(std::make_unique<Call>("gemm_grouped", queue));
    for (std::size_t i = 0; i < parameters.size(); ++i) call.take(static_cast<int>(i), parameters[i], nb::object(group[i]));
    call.arrange();
    if (call.in_memory("alpha") || call.in_memory("beta")) throw nb::value_error("gemm_grouped: alpha and beta must be numbers");
    groups.push_back({call.get<void const*>(0), call.get<myriad_batch const*>(1), call.get<myriad_batch const*>(2),
                      call.get<void const*>(3), call.get<myriad_batch const*>(4)});
  }
  nb::gil_scoped_release const release;
  queue.run([&](myriad_queue* handle) { return myriad_gemm_grouped(handle, groups.data(), static_cast<std::int64_t>(groups.size())); });
}

/// The number of entries of `info` that are not zero, and the index of the first.
std::pair<std::int64_t, std::int64_t> failures(nb::handle info) {
  Array array;
  array.read(info, "failures: info", -1, false);
  if (array.dtype != MYRIAD_INT || array.device == Device::cuda) throw nb::type_error("failures: info must be int32 in host memory");
  std::int64_t size = 1;
  for (int k = array.dims - 1; k >= 0; --k) {
    if (array.shape[k] > 1 && array.strides[k] != size) throw nb::value_error("failures: info must be contiguous");
    size *= array.shape[k];
  }
  auto const* const entries = reinterpret_cast<int const*>(array.data);
  std::int64_t count = 0;
  std::int64_t first = 0;
  for (std::int64_t b = 0; b < size; ++b)
    if (entries[b] != 0 && count++ == 0) first = b;
  return {count, first};
}

/// Whether all numbers of a contiguous array in host memory are finite
bool all_finite(nb::handle x) {
  Array array;
  array.read(x, "all_finite: x", -1, false);
  std::int64_t size = 1;
  for (int k = array.dims - 1; k >= 0; --k) {
    if (array.shape[k] > 1 && array.strides[k] != size) throw nb::value_error("all_finite: x must be contiguous");
    size *= array.shape[k];
  }
  auto const finite = [&]<typename T>(T const* numbers, std::int64_t count) {
    T sum = 0;  // of zeros, or NaN
    for (std::int64_t k = 0; k < count; ++k) sum += numbers[k] * T{0};
    return sum == 0;
  };
  bool const is_complex = array.dtype == MYRIAD_C32 || array.dtype == MYRIAD_C64;
  std::int64_t const count = is_complex ? 2 * size : size;
  if (array.device == Device::cuda) throw nb::type_error("all_finite: x must be in host memory");
  if (array.dtype == MYRIAD_F32 || array.dtype == MYRIAD_C32) return finite(reinterpret_cast<float const*>(array.data), count);
  if (array.dtype == MYRIAD_F64 || array.dtype == MYRIAD_C64) return finite(reinterpret_cast<double const*>(array.data), count);
  throw nb::type_error("all_finite: x must have float32, float64, complex64 or complex128 elements");
}

/// Whether the elements lie one behind the other with `inner` as the fastest axis, `outer` as the next, and the leading axes in their
/// order.
bool is_contiguous(Array const& a, int inner, int outer) {
  std::int64_t step = 1;
  auto const follows = [&](int axis) {
    if (axis < 0 || a.shape[axis] == 1) return true;
    bool const ok = a.strides[axis] == step;
    step *= a.shape[axis];
    return ok;
  };
  bool ok = follows(inner) && follows(outer);
  for (int axis = a.dims - 3; axis >= 0; --axis) ok = ok && follows(axis);
  return ok;
}

bool requires_grad(nb::handle tensor) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  nb::object const answer = nb::steal(PyObject_GetAttr(tensor.ptr(), name));
  if (!answer.is_valid()) throw nb::python_error();
  return answer.is(Py_True);
}

/// The tensors of torch in a tuple, each plain. False if one is not.
template <std::size_t N>
bool read_plain(nb::tuple tensors, std::array<Array, N>& arrays) {
  if (nb::len(tensors) > N) return false;
  std::size_t k = 0;
  for (nb::handle const x : tensors)
    if (!arrays[k++].read_plain_torch(x)) return false;
  return true;
}

/// Whether these are plain matrices of torch, all of one type and on one device, that a routine takes. False: perhaps not. `halves`: the
/// routine is a product, which takes 16-bit types, too.
bool plain_matrices(nb::tuple tensors, bool halves) {
  std::array<Array, 2> arrays;
  if (!read_plain(tensors, arrays)) return false;
  std::size_t const count = nb::len(tensors);
  for (std::size_t k = 0; k < count; ++k) {
    Array const& a = arrays[k];
    bool const is_half = a.dtype == MYRIAD_F16 || a.dtype == MYRIAD_BF16;
    if (a.dtype == MYRIAD_INT || a.dtype == MYRIAD_C16 || (is_half && !halves)) return false;
    if (a.dtype != arrays[0].dtype || a.device != arrays[0].device || a.device_id != arrays[0].device_id) return false;
    if (a.dims < 2 || (a.dims > 3 && a.device != Device::cpu)) return false;
    for (int i = 0; i < a.dims; ++i)
      if (a.shape[i] == 0) return false;
  }
  return true;
}

/// Whether a list has only plain tensors of torch that require no grad, all of one floating type and on one device, each contiguous or with
/// contiguous transposes. False: perhaps not. `type`: torch.Tensor; its subclasses may compute otherwise.
bool ready_tensors(nb::list tensors, nb::handle type) {
  std::array<Array, 4> arrays;
  std::size_t const count = nb::len(tensors);
  if (count == 0 || count > arrays.size()) return false;
  for (std::size_t k = 0; k < count; ++k) {
    Array& a = arrays[k];
    nb::handle const x = PyList_GetItem(tensors.ptr(), static_cast<Py_ssize_t>(k));  // borrowed
    if (!x.type().is(type) || !a.read_plain_torch(x) || requires_grad(x)) return false;
    if (a.dtype != MYRIAD_F32 && a.dtype != MYRIAD_F64 && a.dtype != MYRIAD_C32 && a.dtype != MYRIAD_C64) return false;
    if (a.dtype != arrays[0].dtype || a.device != arrays[0].device || a.device_id != arrays[0].device_id) return false;
    if (!is_contiguous(a, a.dims - 1, a.dims - 2) && !is_contiguous(a, a.dims - 2, a.dims - 1)) return false;
  }
  return true;
}

/// Whether tensors of torch are plain, `outputs` without elements that share memory, and no output shares memory with another tensor.
/// False: perhaps not.
bool apart(nb::tuple outputs, nb::tuple inputs) {
  std::array<Array, 8> arrays;
  std::array<std::pair<char const*, char const*>, 8> ranges;
  std::size_t const outs = nb::len(outputs);
  std::size_t count = 0;
  if (outs + nb::len(inputs) > arrays.size()) return false;
  for (nb::tuple const& tensors : {outputs, inputs})
    for (nb::handle const x : tensors) {
      Array& a = arrays[count];
      if (!a.read_plain_torch(x)) return false;
      std::int64_t last = 0;
      for (int i = 0; i < a.dims; ++i) {
        if (count < outs && a.strides[i] == 0 && a.shape[i] > 1) return false;
        last += (a.shape[i] - 1) * a.strides[i];  // strides of torch are not negative
        if (a.shape[i] == 0) return false;
      }
      ranges[count] = {a.data, a.data + (last + 1) * a.element_size};
      for (std::size_t k = 0; k < std::min(count, outs); ++k)
        if (ranges[count].first < ranges[k].second && ranges[k].first < ranges[count].second) return false;
      ++count;
    }
  return true;
}

/// Copies a triangle of every matrix, with zeros outside it.
void copy_triangle(Queue& queue, char uplo, nb::handle a, nb::handle out) {
  static std::vector<Parameter> const parameters = parameters_of("m:a M:out");
  Call call("copy_triangle", queue);
  call.take(0, parameters[0], a);
  call.take(1, parameters[1], out);
  call.arrange();
  nb::gil_scoped_release const release;
  call.copy_triangle(uplo);
}

/// The CUDA stream that `stream` stands for, an int or an object with __cuda_stream__; 1 for the legacy default stream, also if given as 0.
std::uintptr_t stream_of(nb::handle stream, char const* name) {
  nb::object handle = nb::borrow(stream);
  if (!PyLong_Check(stream.ptr())) {
    nb::object const protocol = nb::getattr(stream, "__cuda_stream__", nb::none());
    if (protocol.is_none())
      throw nb::type_error(
          (std::string(name) + " must be an int or have __cuda_stream__, is a " + nb::type_name(stream.type()).c_str()).c_str());
    std::pair<int, nb::object> given;
    if (!nb::try_cast(protocol(), given)) throw nb::type_error((std::string(name) + ": __cuda_stream__ must return (0, handle)").c_str());
    if (given.first != 0)
      throw nb::value_error(
          (std::string(name) + " has __cuda_stream__ of version " + std::to_string(given.first) + "; supported is 0").c_str());
    handle = given.second;
  }
  std::uintptr_t number = 0;
  if (!nb::try_cast(handle, number))
    throw nb::value_error((std::string(name) + " is " + nb::repr(handle).c_str() + "; needs a CUDA stream").c_str());
  return number == 0 ? 1 : number;
}

int traverse_queue(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  auto* const queue = nb::inst_ptr<Queue>(self);
  Py_VISIT(queue->allocate().ptr());
  Py_VISIT(queue->release().ptr());
  return 0;
}
int clear_queue(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  try {
    nb::inst_ptr<Queue>(self)->set_allocator(nb::none(), nb::none());
  } catch (std::exception const&) {
    // The collector takes no exception; the cycle stays.
  }
  return 0;
}
/// Functions of an allocator may refer to their queue.
PyType_Slot queue_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_queue)}, {Py_tp_clear, reinterpret_cast<void*>(clear_queue)}, {0, nullptr}};

void define_routines(nb::module_& m) {
#define ROUTINE(name, text) define(m, #name, &myriad_##name, text)
  ROUTINE(gemm, "s:alpha m:a m:b s:beta M:c");
  ROUTINE(gemm_by, "s:alpha m:a m:b s:beta M:c i:arithmetic");
  ROUTINE(gemv, "s:alpha m:a v:x s:beta V:y");
  ROUTINE(ger, "s:alpha v:x v:y M:a");
  ROUTINE(symv, "l:uplo s:alpha m:a v:x s:beta V:y");
  ROUTINE(hemv, "l:uplo s:alpha m:a v:x s:beta V:y");
  ROUTINE(symm, "l:side l:uplo s:alpha m:a m:b s:beta M:c");
  ROUTINE(hemm, "l:side l:uplo s:alpha m:a m:b s:beta M:c");
  ROUTINE(syrk, "l:uplo s:alpha m:a s:beta M:c");
  ROUTINE(herk, "l:uplo S:alpha m:a S:beta M:c");
  ROUTINE(syr2k, "l:uplo s:alpha m:a m:b s:beta M:c");
  ROUTINE(her2k, "l:uplo s:alpha m:a m:b S:beta M:c");
  ROUTINE(trsm, "l:side l:uplo l:diag s:alpha m:a M:b");
  ROUTINE(trmm, "l:side l:uplo l:diag s:alpha m:a M:b");
  ROUTINE(trmv, "l:uplo l:diag m:a V:x");
  ROUTINE(trsv, "l:uplo l:diag m:a V:x");
  ROUTINE(trtri, "l:uplo l:diag M:a I:info?");
  ROUTINE(getrf, "M:a V:ipiv I:info?");
  ROUTINE(getrf_nopiv, "M:a I:info?");
  ROUTINE(getrs, "l:trans m:a v:ipiv? M:b");
  ROUTINE(gesv, "M:a V:ipiv? M:b I:info?");
  ROUTINE(solve, "m:a m:b M:x I:info?");
  ROUTINE(getri, "M:a v:ipiv? I:info?");
  ROUTINE(inverse, "m:a M:x I:info?");
  ROUTINE(det, "m:a E:det");
  ROUTINE(logdet, "m:a E:sign R:logabs");
  ROUTINE(potrf, "l:uplo M:a I:info?");
  ROUTINE(potrs, "l:uplo m:a M:b");
  ROUTINE(posv, "l:uplo M:a M:b I:info?");
  ROUTINE(solve_positive_definite, "l:uplo m:a m:b M:x I:info?");
  ROUTINE(potri, "l:uplo M:a I:info?");
  ROUTINE(potrf_regularized, "l:uplo M:a r:jitter? r:floor? I:replaced? I:info?");
  ROUTINE(posv_regularized, "l:uplo M:a M:b r:jitter? r:floor? I:replaced? I:info?");
  ROUTINE(gesv_mixed, "M:a V:ipiv? m:b M:x I:iter? I:info?");
  ROUTINE(posv_mixed, "l:uplo M:a m:b M:x I:iter? I:info?");
  ROUTINE(geqrf, "M:a V:tau");
  ROUTINE(ormqr, "l:side l:trans m:a v:tau M:c");
  ROUTINE(unmqr, "l:side l:trans m:a v:tau M:c");
  ROUTINE(orgqr, "M:a v:tau");
  ROUTINE(ungqr, "M:a v:tau");
  ROUTINE(gels, "M:a M:b I:info?");
  ROUTINE(syevd, "l:jobz l:uplo M:a V:w I:info?");
  ROUTINE(heevd, "l:jobz l:uplo M:a V:w I:info?");
  ROUTINE(sytrd, "l:uplo M:a V:d V:e V:tau");
  ROUTINE(hetrd, "l:uplo M:a V:d V:e V:tau");
  ROUTINE(orgtr, "l:uplo M:a v:tau");
  ROUTINE(ungtr, "l:uplo M:a v:tau");
  ROUTINE(ormtr, "l:side l:uplo l:trans m:a v:tau M:c");
  ROUTINE(unmtr, "l:side l:uplo l:trans m:a v:tau M:c");
  ROUTINE(gesvd, "l:jobz M:a V:s M:u? M:vt? I:info?");
  ROUTINE(gejsv, "l:jobz M:a V:s M:u? M:vt? I:info?");
  ROUTINE(pinv, "m:a d:rcond M:x I:rank? I:info?");
  ROUTINE(gebrd, "M:a V:d V:e V:tauq V:taup");
  ROUTINE(orgbr, "l:vect i:k z:k_sizes M:a v:tau");
  ROUTINE(ungbr, "l:vect i:k z:k_sizes M:a v:tau");
  ROUTINE(ormbr, "l:vect l:side l:trans i:k z:k_sizes m:a v:tau M:c");
  ROUTINE(unmbr, "l:vect l:side l:trans i:k z:k_sizes m:a v:tau M:c");
  ROUTINE(geequ, "m:a V:r V:c R:rowcnd? R:colcnd? R:amax? I:info?");
  ROUTINE(laqge, "M:a v:r? v:c?");
  ROUTINE(gerfs, "l:trans m:a m:af v:ipiv? m:b M:x V:ferr? V:berr?");
  ROUTINE(backward_error, "m:a m:x m:b V:berr");
#undef ROUTINE
}

}  // namespace
}  // namespace myriad::python

NB_MODULE(_myriad, m) {
  using namespace myriad::python;
  m.doc() = "The C interface of Myriad; use the modules myriad.lapack, myriad.linalg and myriad.batched.";
  m.attr("__version__") = myriad_version();
  // A thread that outlives the interpreter, such as those of torch's autograd, keeps its queues.
  nb::set_leak_warnings(false);

  auto const error = nb::exception<Failed>(m, "Error", PyExc_RuntimeError);
  nb::exception<Unavailable>(m, "Unavailable", error);

  nb::class_<Queue>(m, "Queue", nb::type_slots(queue_slots),
                    "A queue runs calls in order, on the CPU or a GPU. Calls of several threads on one queue take turns.")
      .def(
          "__init__",
          [](Queue* self, std::string const& backend, std::optional<int> device, nb::object stream, int threads) {
            if (device || !stream.is_none()) {
              if (backend != "gpu") throw nb::value_error("Queue: device and stream are for backend 'gpu'");
              if (stream.is_none()) throw nb::value_error("Queue: a device needs a stream; 1 is CUDA's legacy default stream");
              new (self) Queue(device.value_or(0), stream_of(nb::handle(stream), "Queue: stream"), threads);
              return;
            }
            if (backend == "cpu")
              new (self) Queue(MYRIAD_CPU, threads);
            else if (backend == "gpu")
              new (self) Queue(MYRIAD_GPU, threads);
            else if (backend == "automatic")
              new (self) Queue(MYRIAD_AUTOMATIC, threads);
            else
              throw nb::value_error(("Queue: backend is '" + backend + "'; must be 'automatic', 'cpu' or 'gpu'").c_str());
          },
          nb::arg("backend") = "automatic", nb::kw_only(), nb::arg("device") = nb::none(), nb::arg("stream") = nb::none(),
          nb::arg("threads") = 0,
          "backend: 'cpu', 'gpu', or 'automatic' for a GPU where one can be used. device, stream: with 'gpu', the number of the GPU and a\n"
          "CUDA stream of it, an int or an object with __cuda_stream__; without them the first GPU and a stream of the queue's own.\n"
          "threads: CPU threads; 0: the environment variable MYRIAD_NUM_THREADS, else all cores.")
      .def(
          "set_stream", [](Queue& queue, nb::handle stream) { queue.set_stream(stream_of(stream, "set_stream: stream")); },
          nb::arg("stream"),
          "Continues on another CUDA stream of the same GPU, an int or an object with __cuda_stream__; 0 and 1 are the legacy default\n"
          "stream, 2 is the one of the calling thread. Later work waits for the queue's earlier work, on the GPU.")
      .def("set_allocator", &Queue::set_allocator, nb::arg("allocate").none(), nb::arg("release").none() = nb::none(),
           "Takes the workspace of calls from functions of the caller; None: from the queue's own pool.\n\n"
           "allocate(bytes, stream) returns the address of memory of the queue's GPU, a multiple of 256, for work that is given to the\n"
           "stream from now on, or None if there is none. release(address, bytes, stream) takes it back in stream order: earlier work on\n"
           "the stream may still use it; None: the caller frees it. stream is an int, 1 for the legacy default stream. An exception of\n"
           "allocate is raised by the call that needed memory, which then has written nothing. Without effect on the CPU.")
      .def(
          "wait", [](Queue& queue) { queue.wait(); }, nb::call_guard<nb::gil_scoped_release>(),
          "Blocks until the work of the queue is done.")
      .def_prop_ro("backend", [](Queue const& queue) { return queue.on_gpu() ? "gpu" : "cpu"; })
      .def_prop_ro("threads", &Queue::threads, "CPU threads of the queue.")
      .def_prop_ro(
          "device", [](Queue const& queue) { return queue.on_gpu() ? std::optional(queue.device()) : std::nullopt; },
          "Number of the GPU; None on the CPU.")
      .def_prop_ro(
          "stream", [](Queue const& queue) { return queue.on_gpu() ? std::optional(queue.stream()) : std::nullopt; },
          "The current CUDA stream as an int, 1 for the legacy default stream; None on the CPU.")
      .def_prop_ro("gpu_problem", &Queue::gpu_problem, "Why an 'automatic' queue is on the CPU.");

  nb::class_<Ragged>(m, "Ragged", "A batch of matrices or vectors that differ in size; made by myriad.batched.ragged.")
      .def(nb::init<nb::list const&, std::int64_t, std::int64_t, nb::object>(), nb::arg("arrays"), nb::arg("rows") = 0, nb::arg("cols") = 0,
           nb::arg("upload") = nb::none())
      .def_prop_ro("rows", &Ragged::rows, "A bound of the rows.")
      .def_prop_ro("cols", &Ragged::cols, "A bound of the columns.")
      .def("__len__", &Ragged::count)
      .def("__getitem__", [](Ragged const& batch, nb::object b) { return batch.arrays().attr("__getitem__")(b); })
      .def_prop_ro(
          "dtype", [](Ragged const& batch) { return batch.count() ? nb::object(batch.arrays()[0].attr("dtype")) : nb::none(); },
          "The element type; None for no matrices.")
      .def_prop_ro("arrays", &Ragged::arrays, "The arrays, in a tuple.");

  m.def(
      "search_nvrtc", [](std::string const& folder) { check(myriad_search_nvrtc(folder.c_str()), nullptr); }, nb::arg("folder"),
      "Looks for NVRTC, the compiler of GPU kernels, in this folder first. Raises Error once a GPU queue has been made.");
  m.def(
      "search_packs", [](std::string const& folder) { check(myriad_search_packs(folder.c_str()), nullptr); }, nb::arg("folder"),
      "Searches the *.pack files of this folder for compiled GPU kernels. Raises Error once a GPU queue has been made.");
  m.def(
      "build_pack",
      [](std::string const& archs, std::string const& list, std::string const& path, int threads) {
        std::int64_t kernels = 0;
        nb::gil_scoped_release const release;
        check(myriad_build_pack(archs.c_str(), list.c_str(), threads, path.c_str(), &kernels), nullptr);
        return kernels;
      },
      nb::arg("archs"), nb::arg("list"), nb::arg("path"), nb::arg("threads") = 0,
      "Compiles the kernels in a list that was written with MYRIAD_KERNEL_LIST, and returns their number. archs: such as "
      "'sm_80,compute_90'.\n"
      "threads: concurrent compilations; 0: all cores.");
  define_routines(m);
  define_xla(m);
  m.def("copy_triangle", &copy_triangle, nb::arg("queue"), nb::arg("uplo"), nb::arg("a"), nb::arg("out"));
  m.def("failures", &failures, nb::arg("info"));
  m.def("all_finite", &all_finite, nb::arg("x"));
  m.def("plain_matrices", &plain_matrices, nb::arg("tensors"), nb::arg("halves"));
  m.def("ready_tensors", &ready_tensors, nb::arg("tensors"), nb::arg("type"));
  m.def("apart", &apart, nb::arg("outputs"), nb::arg("inputs"));
  m.def("gemm_grouped", &gemm_grouped, nb::arg("queue"), nb::arg("groups"));
}
