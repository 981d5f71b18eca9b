#include "array.hpp"

#include <nanobind/stl/string.h>

#include <cstring>
#include <string_view>

namespace myriad::python {
namespace {

// DLPack 1.x, https://dmlc.github.io/dlpack/latest/c_api.html
struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};
struct DlType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor*);
};
struct DlVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(DlVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};
constexpr std::uint64_t dl_read_only = 1;
constexpr std::uint64_t dl_is_copied = 2;

bool has(nb::handle x, char const* name) {
  // PyObject_HasAttrString hides other exceptions, which none of these attributes raises on its type.
  return PyObject_HasAttrString(x.type().ptr(), name) == 1;
}

/// The truth of x.method()
bool says_true(nb::handle x, PyObject* method) {
  nb::object const result = nb::steal(PyObject_CallMethodObjArgs(x.ptr(), method, nullptr));
  if (!result.is_valid()) throw nb::python_error();
  return result.is(Py_True);
}

// DLPack 1.3: functions of a type of tensors, in the capsule type(x).__dlpack_c_exchange_api__.
struct DlExchange {
  std::uint32_t major;
  std::uint32_t minor;
  DlExchange* previous;
  void* managed_tensor_allocator;
  void* managed_tensor_from_object;
  void* managed_tensor_to_object;
  int (*tensor_from_object)(void* object, DlTensor* tensor);  // borrows; may be null
  void* current_work_stream;
};

/// The exchange API of the type of x, if that is one of torch, or null. Kept for the last type that had one.
DlExchange const* exchange_of(nb::handle x) {
  static PyObject* last_type = nullptr;  // a reference that is never given back
  static DlExchange const* last = nullptr;
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(x.ptr()));
  if (type == last_type) return last;
  nb::object const capsule = nb::steal(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  if (!capsule.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") || !has(x, "is_conj")) return nullptr;
  auto const* api = static_cast<DlExchange const*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api && api->major > 1) api = api->previous;
  if (!api || api->major != 1 || !api->tensor_from_object) return nullptr;
  Py_INCREF(type);
  Py_XDECREF(last_type);
  last_type = type;
  last = api;
  return api;
}

struct Element {
  myriad_dtype dtype;
  std::int64_t size;
};

[[noreturn]] void refuse_type(std::string const& what, std::string_view type) {
  std::string text = what + " has elements of type ";
  text += type;
  text += "; supported are float32, float64, complex64, complex128, int32 for pivots and info, and float16 for products";
  throw nb::type_error(text.c_str());
}

bool is_native(char order) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return order == '<' || order == '=' || order == '@';
#else
  return order == '>' || order == '=' || order == '@' || order == '!';
#endif
}

/// The element type for a format of the buffer protocol.
Element element_of_format(char const* format, std::int64_t size, std::string const& what) {
  std::string_view const whole = format ? format : "B";
  std::string_view f = whole;
  if (!f.empty() && std::strchr("<>=@!", f[0])) {
    if (!is_native(f[0]))
      throw nb::type_error((what + " has elements in the other byte order (" + std::string(whole) +
                            "); convert it, for example by x.astype(x.dtype.newbyteorder('='))")
                               .c_str());
    f.remove_prefix(1);
  }
  if (f == "d") return {MYRIAD_F64, 8};
  if (f == "f") return {MYRIAD_F32, 4};
  if (f == "Zd") return {MYRIAD_C64, 16};
  if (f == "Zf") return {MYRIAD_C32, 8};
  if (f == "e") return {MYRIAD_F16, 2};
  if ((f == "i" || f == "l" || f == "q") && size == 4) return {MYRIAD_INT, 4};
  refuse_type(what, whole);
}

Element element_of_dlpack(DlType type, std::string const& what) {
  if (type.lanes == 1) {
    if (type.code == 2 && type.bits == 64) return {MYRIAD_F64, 8};
    if (type.code == 2 && type.bits == 32) return {MYRIAD_F32, 4};
    if (type.code == 2 && type.bits == 16) return {MYRIAD_F16, 2};
    if (type.code == 4 && type.bits == 16) return {MYRIAD_BF16, 2};
    if (type.code == 5 && type.bits == 128) return {MYRIAD_C64, 16};
    if (type.code == 5 && type.bits == 64) return {MYRIAD_C32, 8};
    if (type.code == 5 && type.bits == 32) return {MYRIAD_C16, 4};
    if (type.code == 0 && type.bits == 32) return {MYRIAD_INT, 4};
  }
  refuse_type(what, "DLPack code " + std::to_string(type.code) + " with " + std::to_string(type.bits) + " bits");
}

Element element_of_name(std::string_view name, std::string const& what) {
  if (name == "torch.float64") return {MYRIAD_F64, 8};
  if (name == "torch.float32") return {MYRIAD_F32, 4};
  if (name == "torch.complex128") return {MYRIAD_C64, 16};
  if (name == "torch.complex64") return {MYRIAD_C32, 8};
  if (name == "torch.int32") return {MYRIAD_INT, 4};
  if (name == "torch.float16") return {MYRIAD_F16, 2};
  if (name == "torch.bfloat16") return {MYRIAD_BF16, 2};
  if (name == "torch.complex32") return {MYRIAD_C16, 4};
  refuse_type(what, name);
}

void check_dims(std::int64_t dims, std::string const& what) {
  if (dims > Array::max_dims) throw nb::value_error((what + " has " + std::to_string(dims) + " axes; at most 64 are supported").c_str());
}

}  // namespace

namespace {

/// Whether the elements can be read by the buffer protocol. CuPy's arrays have that protocol, too, but refuse it for GPU memory.
bool has_host_buffer(nb::handle x) {
  if (!PyObject_CheckBuffer(x.ptr())) return false;
  static PyObject* ndarray = nullptr;  // set twice where the import lets another thread in
  if (!ndarray) ndarray = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  PyObject* const type = x.type().ptr();
  return type == ndarray || PyObject_HasAttrString(type, "__cuda_array_interface__") == 0;
}

}  // namespace

Array::~Array() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

void Array::read(nb::handle x, std::string const& what, std::intptr_t stream, bool written) {
  if (has_host_buffer(x))
    read_buffer(x, what);
  else if (read_exchange(x, what))
    return;
  else if (has(x, "data_ptr") && has(x, "stride"))
    read_torch(x, what);
  else if (has(x, "__dlpack__"))
    read_dlpack(x, what, stream, written);
  else
    throw nb::type_error((what + " is not an array: its type, " + nb::type_name(x.type()).c_str() +
                          ", has neither the buffer protocol nor data_ptr() nor __dlpack__")
                             .c_str());
}

void Array::read_buffer(nb::handle x, std::string const& what) {
  if (PyObject_GetBuffer(x.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) throw nb::python_error();
  has_buffer_ = true;
  auto const [type, size] = element_of_format(buffer_.format, buffer_.itemsize, what);
  dtype = type;
  element_size = size;
  check_dims(buffer_.ndim, what);
  data = static_cast<char*>(buffer_.buf);
  dims = buffer_.ndim;
  read_only = buffer_.readonly != 0;
  for (int i = 0; i < dims; ++i) {
    shape[i] = buffer_.shape[i];
    std::int64_t const bytes = buffer_.strides[i];
    if (bytes % size != 0 && shape[i] > 1)
      throw nb::value_error((what + " has a stride of " + std::to_string(bytes) + " bytes along axis " + std::to_string(i) +
                             ", which is no multiple of the element size " + std::to_string(size) + "; copy it")
                                .c_str());
    strides[i] = bytes / size;
  }
  // Complex numbers need the alignment of their parts only.
  std::int64_t const alignment = dtype == MYRIAD_C64 || dtype == MYRIAD_C32 ? size / 2 : size;
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) != 0)
    throw nb::value_error((what + " is not aligned to its elements; copy it").c_str());
}

template <typename Tensor>
void Array::take(Tensor const& tensor, std::string const& what) {
  auto const [type, size] = element_of_dlpack(tensor.dtype, what);
  dtype = type;
  element_size = size;
  check_dims(tensor.ndim, what);
  dims = tensor.ndim;
  data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  std::int64_t step = 1;
  for (int i = dims - 1; i >= 0; --i) {
    shape[i] = tensor.shape[i];
    strides[i] = tensor.strides ? tensor.strides[i] : step;
    step *= shape[i];
  }
}

/// Reads a tensor of torch by DLPack's exchange API, in a tenth of the time of read_torch. False: the type has none, or it declines.
bool Array::read_exchange(nb::handle x, std::string const& what) {
  DlExchange const* const api = exchange_of(x);
  if (!api) return false;
  DlTensor tensor;
  if (api->tensor_from_object(x.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  // DLPack has no flags for these.
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  static PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  bool const is_complex = tensor.dtype.code == 5;
  if (says_true(x, is_neg) || (is_complex && says_true(x, is_conj))) return false;
  auto const where = static_cast<Device>(tensor.device.type);
  if (where != Device::cpu && where != Device::cuda) return false;
  device = where;
  device_id = tensor.device.id;
  take(tensor, what);
  return true;
}

bool Array::read_plain_torch(nb::handle x) {
  try {
    return !PyObject_CheckBuffer(x.ptr()) && read_exchange(x, "");
  } catch (nb::builtin_exception const&) {  // an element type that the library does not have
    return false;
  }
}

void Array::read_torch(nb::handle x, std::string const& what) {
  if (nb::cast<bool>(x.attr("is_neg")())) throw nb::value_error((what + " is a negated view; call resolve_neg() on it").c_str());
  nb::object const size = x.attr("shape");
  nb::object const stride = x.attr("stride")();
  dims = static_cast<int>(nb::len(size));
  check_dims(dims, what);
  for (int i = 0; i < dims; ++i) {
    shape[i] = nb::cast<std::int64_t>(size[i]);
    strides[i] = nb::cast<std::int64_t>(stride[i]);
  }
  data = reinterpret_cast<char*>(nb::cast<std::uintptr_t>(x.attr("data_ptr")()));
  nb::object const type_object = x.attr("dtype");
  nb::str const type_name{nb::handle(type_object)};
  auto const [type, bytes] = element_of_name(type_name.c_str(), what);
  dtype = type;
  element_size = bytes;
  conjugated = nb::cast<bool>(x.attr("is_conj")());
  nb::object const where = x.attr("device");
  auto const kind = nb::cast<std::string>(where.attr("type"));
  if (kind == "cuda") {
    device = Device::cuda;
    device_id = nb::cast<int>(where.attr("index"));
  } else if (kind != "cpu") {
    throw nb::value_error((what + " is on device " + kind + "; supported are cpu and cuda").c_str());
  }
}

void Array::read_dlpack(nb::handle x, std::string const& what, std::intptr_t stream, bool written) {
  auto const where = nb::cast<nb::tuple>(x.attr("__dlpack_device__")());
  device = static_cast<Device>(nb::cast<int>(nb::object(where[0])));
  device_id = nb::cast<int>(nb::object(where[1]));
  bool const on_gpu = device == Device::cuda || device == Device::cuda_managed;
  if (!on_gpu && device != Device::cpu && device != Device::cuda_host)
    throw nb::value_error(
        (what + " is on a device with DLPack number " + std::to_string(static_cast<int>(device)) + "; supported are CPUs and CUDA")
            .c_str());

  nb::dict keywords;
  if (on_gpu) keywords["stream"] = stream;
  nb::object const export_ = x.attr("__dlpack__");
  nb::object capsule;
  try {
    keywords["max_version"] = nb::make_tuple(1, 1);
    if (written) keywords["copy"] = false;
    capsule = export_(**keywords);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    keywords = nb::dict();  // a producer from before DLPack 1.0
    if (on_gpu) keywords["stream"] = stream;
    capsule = export_(**keywords);
  }

  DlTensor const* tensor = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* const managed = static_cast<DlVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1)
      throw nb::value_error((what + " has DLPack version " + std::to_string(managed->major) + "; supported is 1").c_str());
    read_only = (managed->flags & dl_read_only) != 0;
    if (written && (managed->flags & dl_is_copied) != 0)
      throw nb::value_error((what + " would be written to, and its __dlpack__ returned a copy").c_str());
    tensor = &managed->tensor;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    tensor = &static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))->tensor;
  } else {
    throw nb::type_error((what + ": __dlpack__ returned no DLPack capsule").c_str());
  }
  // A capsule that nobody renames releases its tensor when it is freed.
  owner_ = std::move(capsule);

  take(*tensor, what);
}

}  // namespace myriad::python
