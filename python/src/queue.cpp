#include "queue.hpp"

#include <nanobind/nanobind.h>

#include <new>
#include <utility>

namespace myriad::python {

namespace nb = nanobind;

void check(myriad_status status, myriad_queue const* queue) {
  if (status == MYRIAD_OK) return;
  char const* const text = myriad_last_error(queue);
  switch (status) {
    case MYRIAD_BAD_ARGUMENT:
      throw nanobind::value_error(text);
    case MYRIAD_UNAVAILABLE:
      throw Unavailable(text);
    case MYRIAD_OUT_OF_MEMORY:
      throw std::bad_alloc();
    default:
      throw Failed(text);
  }
}

Queue::Queue(myriad_backend backend, int threads) {
  check(myriad_queue_create(&handle_, backend, threads), nullptr);
  device_ = myriad_queue_device(handle_);
  if (on_gpu()) stream_ = reinterpret_cast<std::intptr_t>(myriad_queue_stream(handle_));
}

Queue::Queue(int device, std::uintptr_t stream, int threads) : device_(device), stream_(static_cast<std::intptr_t>(stream)) {
  check(myriad_queue_create_on(&handle_, device, reinterpret_cast<void*>(stream), threads), nullptr);
}

Queue::~Queue() {
  // It may wait for the GPU, and its last calls need no allocator.
  nb::gil_scoped_release const release;
  myriad_queue_destroy(handle_);
}

void Queue::set_stream(std::uintptr_t stream) {
  {
    nb::gil_scoped_release const release;
    run([&](myriad_queue* handle) { return myriad_queue_set_stream(handle, reinterpret_cast<void*>(stream)); });
  }
  stream_ = static_cast<std::intptr_t>(stream);
}

void Queue::set_allocator(nb::object allocate, nb::object release) {
  bool const allocates = !allocate.is_none();
  bool const releases = !release.is_none();
  if (releases && !allocates) throw nb::value_error("set_allocator: release is given without allocate");
  nb::gil_scoped_release const without_gil;
  run([&](myriad_queue* handle) {
    myriad_status const status =
        myriad_queue_set_allocator(handle, allocates ? allocate_memory : nullptr, releases ? release_memory : nullptr, this);
    nb::gil_scoped_acquire const gil;
    if (status == MYRIAD_OK) {
      std::swap(allocate_, allocate);
      std::swap(release_, release);
    }
    return status;
  });
}

void* Queue::allocate_memory(std::int64_t bytes, void* stream, void* queue) {
  auto& self = *static_cast<Queue*>(queue);
  nb::gil_scoped_acquire const gil;
  try {
    nb::object const address = self.allocate_(bytes, reinterpret_cast<std::uintptr_t>(stream));
    if (address.is_none()) return nullptr;
    nb::object const number = nb::steal(PyNumber_Index(address.ptr()));
    void* const memory = number.is_valid() ? PyLong_AsVoidPtr(number.ptr()) : nullptr;
    if (!memory && PyErr_Occurred()) throw nb::python_error();
    return memory;
  } catch (nb::python_error const& error) {
    self.raised_ = nb::borrow(error.value());
    return nullptr;
  }
}

void Queue::release_memory(void* memory, std::int64_t bytes, void* stream, void* queue) {
  auto& self = *static_cast<Queue*>(queue);
  nb::gil_scoped_acquire const gil;
  try {
    self.release_(reinterpret_cast<std::uintptr_t>(memory), bytes, reinterpret_cast<std::uintptr_t>(stream));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("release of the allocator of a myriad.Queue");
  }
}

void Queue::rethrow() {
  nb::gil_scoped_acquire const gil;
  nb::object const raised = std::move(raised_);
  raised_.reset();
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  throw nb::python_error();
}

}  // namespace myriad::python
