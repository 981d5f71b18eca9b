#pragma once
/// Arrays of Python libraries as the C interface sees them: an address, sizes, strides, an element type and a device.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "myriad/myriad.h"

namespace myriad::python {

namespace nb = nanobind;

/// Device types, with DLPack's numbers.
enum class Device : int { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

/// An array that was passed from Python, read without a copy. It keeps the memory alive during its lifetime; destroy it with the GIL held.
///
/// Sources, in this order: the buffer protocol of arrays in host memory (NumPy), DLPack's exchange API or else data_ptr() and stride()
/// (torch), __dlpack__ (everything else).
class Array {
 public:
  static constexpr int max_dims = 64;

  Array() = default;
  ~Array();
  Array(Array const&) = delete;
  Array& operator=(Array const&) = delete;

  /// Reads `x`. `what` begins the text of errors. `stream`: the stream on which a CUDA array will be used, in DLPack's numbering, which is
  /// passed to __dlpack__; -1: it makes no stream wait for the array. `written`: the array will be written to, so that a copy of it is
  /// refused.
  void read(nb::handle x, std::string const& what, std::intptr_t stream, bool written);

  /// Reads a tensor of torch that is neither negated nor conjugated. False: x is something else, or has elements of another type.
  bool read_plain_torch(nb::handle x);

  char* data = nullptr;
  int dims = 0;
  std::int64_t shape[max_dims];
  std::int64_t strides[max_dims];  ///< in elements
  myriad_dtype dtype = MYRIAD_F64;
  std::int64_t element_size = 0;
  bool read_only = false;
  bool conjugated = false;  ///< the array is the conjugate of what is stored
  Device device = Device::cpu;
  int device_id = 0;

 private:
  void read_buffer(nb::handle x, std::string const& what);
  bool read_exchange(nb::handle x, std::string const& what);
  void read_torch(nb::handle x, std::string const& what);
  template <typename Tensor>
  void take(Tensor const& tensor, std::string const& what);
  void read_dlpack(nb::handle x, std::string const& what, std::intptr_t stream, bool written);

  Py_buffer buffer_{};
  bool has_buffer_ = false;
  nb::object owner_;
};

}  // namespace myriad::python
