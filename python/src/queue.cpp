#include "queue.hpp"

#include <nanobind/nanobind.h>

#include <new>

namespace myriad::python {

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

Queue::Queue(myriad_backend backend, int threads) { check(myriad_queue_create(&handle_, backend, threads), nullptr); }

Queue::Queue(int device, std::uintptr_t stream, int threads) : device_(device), stream_(stream) {
  check(myriad_queue_create_on(&handle_, device, reinterpret_cast<void*>(stream), threads), nullptr);
}

}  // namespace myriad::python
