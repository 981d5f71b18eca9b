#include "call.hpp"

#include <algorithm>
#include <cstring>

namespace myriad::python {
namespace {

bool is_written(Kind kind) {
  return kind == Kind::matrix_out || kind == Kind::vector_out || kind == Kind::reals_out || kind == Kind::elements_out ||
         kind == Kind::ints_out;
}

bool is_complex(myriad_dtype dtype) { return dtype == MYRIAD_C32 || dtype == MYRIAD_C64 || dtype == MYRIAD_C16; }
bool is_single(myriad_dtype dtype) { return dtype != MYRIAD_F64 && dtype != MYRIAD_C64; }
myriad_dtype real_of(myriad_dtype dtype) { return is_single(dtype) ? MYRIAD_F32 : MYRIAD_F64; }

/// The type in which products are summed.
myriad_dtype computed_of(myriad_dtype dtype) {
  return dtype == MYRIAD_F16 || dtype == MYRIAD_BF16 ? MYRIAD_F32 : dtype == MYRIAD_C16 ? MYRIAD_C32 : dtype;
}

/// Whether x is an array in memory of a GPU.
bool is_in_gpu_memory(nb::handle x) {
  constexpr int cuda = 2, managed = 13;  // DLPack's numbers
  if (PyFloat_Check(x.ptr()) || PyLong_Check(x.ptr()) || !nb::hasattr(x, "__dlpack_device__")) return false;
  int const device = nb::cast<int>(x.attr("__dlpack_device__")()[0]);
  return device == cuda || device == managed;
}

/// Element `T` has the size of the elements; only bytes are moved.
template <typename T>
void copy_triangles(myriad_batch const& from, myriad_batch const& to, bool upper) {
  for (std::int64_t b = 0; b < from.count; ++b) {
    auto const* const a = static_cast<T const*>(from.pointers ? from.pointers[b] : static_cast<T*>(from.data) + b * from.batch_stride);
    auto* const c = static_cast<T*>(to.pointers ? to.pointers[b] : static_cast<T*>(to.data) + b * to.batch_stride);
    for (std::int64_t i = 0; i < from.rows; ++i)
      for (std::int64_t j = 0; j < from.cols; ++j)
        c[i * to.row_stride + j * to.col_stride] = (upper ? i <= j : i >= j) ? a[i * from.row_stride + j * from.col_stride] : T{};
  }
}

char const* name_of(myriad_dtype dtype) {
  switch (dtype) {
    case MYRIAD_F32:
      return "float32";
    case MYRIAD_F64:
      return "float64";
    case MYRIAD_C32:
      return "complex64";
    case MYRIAD_C64:
      return "complex128";
    case MYRIAD_INT:
      return "int32";
    case MYRIAD_F16:
      return "float16";
    case MYRIAD_BF16:
      return "bfloat16";
    case MYRIAD_C16:
      return "complex32";
  }
  return "unknown";
}

std::string text_of(std::int64_t const* shape, int dims) {
  std::string text = "(";
  for (int i = 0; i < dims; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (dims == 1 ? ",)" : ")");
}

}  // namespace

void Call::copy_triangle(char uplo) const {
  Argument const& from = arguments_[0];
  Argument const& to = arguments_[1];
  if (from.ragged || to.ragged || queue_.on_gpu()) refuse(from, "must be an array in host memory");
  if (from.batch.rows != to.batch.rows || from.batch.cols != to.batch.cols || from.batch.dtype != to.batch.dtype)
    refuse(to, "must have the shape and type of the input");
  if (from.array.conjugated != to.array.conjugated) refuse(from, "is a conjugated view");
  auto const copy = from.array.element_size == 4   ? copy_triangles<float>
                    : from.array.element_size == 8 ? copy_triangles<double>
                                                   : copy_triangles<std::complex<double>>;
  if (from.array.element_size < 4) refuse(from, "has 16-bit elements");
  copy(from.batch, to.batch, uplo == 'U');
}

std::array<double, 2> scalar_of(nb::handle value, myriad_dtype dtype, std::string const& what) {
  double real = 0;
  double imaginary = 0;
  if (PyFloat_Check(value.ptr())) {
    real = PyFloat_AsDouble(value.ptr());
  } else {
    nb::object const z = nb::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyComplex_Type), value.ptr(), nullptr));
    if (!z.is_valid()) throw nb::python_error();
    real = PyComplex_RealAsDouble(z.ptr());
    imaginary = PyComplex_ImagAsDouble(z.ptr());
  }
  if (!is_complex(dtype) && imaginary != 0) throw nb::type_error((what + " is complex; the matrices are real").c_str());
  std::array<double, 2> bytes{};
  if (is_single(dtype)) {
    float const parts[2] = {static_cast<float>(real), static_cast<float>(imaginary)};
    std::memcpy(bytes.data(), parts, sizeof parts);
  } else {
    bytes = {real, imaginary};
  }
  return bytes;
}

int Call::Argument::core_dims() const {
  switch (parameter.kind) {
    case Kind::matrix:
    case Kind::matrix_out:
      return 2;
    case Kind::vector:
    case Kind::vector_out:
      return 1;
    default:
      return 0;
  }
}

void Call::refuse(Argument const& x, std::string const& problem) const { throw nb::value_error((name(x) + " " + problem).c_str()); }

void Call::take(int i, Parameter const& parameter, nb::handle value) {
  Argument& x = arguments_[static_cast<std::size_t>(i)];
  count_ = std::max(count_, i + 1);
  x.parameter = parameter;
  if (value.is_none()) {
    if (!parameter.optional && parameter.kind != Kind::sizes) refuse(x, "is missing");
    return;
  }
  x.given = true;
  if (parameter.kind == Kind::scalar || parameter.kind == Kind::real_scalar) {
    x.in_memory = queue_.on_gpu() && is_in_gpu_memory(value);
    if (!x.in_memory) {
      x.value = nb::borrow(value);
      return;
    }
    x.array.read(value, name(x), queue_.stream(), false);
    check_place(x, x.array.device, x.array.device_id);
    if (x.array.dims != 0) refuse(x, "has " + std::to_string(x.array.dims) + " axes; needs none");
    if (x.array.conjugated) refuse(x, "is a conjugated view");
    return;
  }
  x.is_array = true;
  if (nb::try_cast<Ragged*>(value, x.ragged) && x.ragged) {
    ragged_ = true;
    if (x.core_dims() == 0) refuse(x, "is a ragged batch; needs one number per matrix");
    if (x.core_dims() == 1 && x.ragged->dims() != 1 && x.ragged->count() > 0) refuse(x, "is a ragged batch of matrices; needs vectors");
    check_place(x, x.ragged->on_gpu() ? Device::cuda : Device::cpu, x.ragged->device_id());
    if (is_written(parameter.kind) && x.ragged->read_only()) refuse(x, "is read-only and would be written to");
    return;
  }
  x.ragged = nullptr;
  x.array.read(value, name(x), queue_.stream(), is_written(parameter.kind));
  if (is_written(parameter.kind) && x.array.read_only) refuse(x, "is read-only and would be written to");
  check_place(x, x.array.device, x.array.device_id);
  if (x.array.dims < x.core_dims())
    refuse(x, "has " + std::to_string(x.array.dims) + " axes; needs at least " + std::to_string(x.core_dims()));
}

void Call::take(int i, Parameter const& parameter, double value) {
  Argument& x = arguments_[static_cast<std::size_t>(i)];
  count_ = std::max(count_, i + 1);
  x.parameter = parameter;
  x.number = value;
}
void Call::take(int i, Parameter const& parameter, std::int64_t value) {
  Argument& x = arguments_[static_cast<std::size_t>(i)];
  count_ = std::max(count_, i + 1);
  x.parameter = parameter;
  x.integer = value;
}
void Call::take(int i, Parameter const& parameter, char value) { take(i, parameter, static_cast<std::int64_t>(value)); }

/// The processor of the queue must reach the array.
void Call::check_place(Argument const& x, Device device, int device_id) const {
  if (!queue_.on_gpu() && device == Device::cuda) refuse(x, "is in GPU memory; the queue is on the CPU");
  if (queue_.on_gpu() && device == Device::cpu) refuse(x, "is in host memory; the queue is on a GPU");
  if (queue_.on_gpu() && device == Device::cuda && queue_.device() != device_id)
    refuse(x, "is on GPU " + std::to_string(device_id) + "; the queue is on GPU " + std::to_string(queue_.device()));
}

void Call::arrange() {
  bool first = true;
  for (int i = 0; i < count_; ++i) {
    Argument& x = arguments_[static_cast<std::size_t>(i)];
    if (!x.is_array || x.core_dims() == 0) continue;
    if (first) dtype_ = x.ragged ? x.ragged->dtype() : x.array.dtype;
    first = false;
  }
  broadcast();
  for (int i = 0; i < count_; ++i) {
    Argument& x = arguments_[static_cast<std::size_t>(i)];
    if (!x.given) continue;
    if (!x.is_array)
      set_scalar(x);
    else if (x.core_dims() == 0)
      describe_numbers(x);
    else
      describe(x);
  }
}

/// Finds the common shape of the leading axes.
void Call::broadcast() {
  for (int i = 0; i < count_; ++i) {
    Argument const& x = arguments_[static_cast<std::size_t>(i)];
    if (x.is_array) batch_dims_ = std::max(batch_dims_, x.ragged ? 1 : x.batch_dims());
  }
  std::fill_n(batch_shape_, batch_dims_, std::int64_t{1});
  char const* before = "";
  for (int i = 0; i < count_; ++i) {
    Argument const& x = arguments_[static_cast<std::size_t>(i)];
    if (!x.is_array) continue;
    std::int64_t const count = x.ragged ? x.ragged->count() : 0;
    std::int64_t const* const shape = x.ragged ? &count : x.array.shape;
    int const dims = x.ragged ? 1 : x.batch_dims();
    std::int64_t* const common = batch_shape_ + (batch_dims_ - dims);
    for (int k = 0; k < dims; ++k) {
      if (shape[k] != 1 && common[k] != 1 && shape[k] != common[k])
        refuse(x,
               "has leading axes " + text_of(shape, dims) + ", which do not fit " + text_of(batch_shape_, batch_dims_) + " of " + before);
      if (common[k] == 1) common[k] = shape[k];
    }
    before = x.parameter.name;
  }
  for (int k = 0; k < batch_dims_; ++k) matrices_ *= batch_shape_[k];
  for (int i = 0; i < count_; ++i) {
    Argument const& x = arguments_[static_cast<std::size_t>(i)];
    if (!x.is_array || x.ragged || !is_written(x.parameter.kind)) continue;
    std::int64_t own = 1;
    for (int k = 0; k < x.batch_dims(); ++k) own *= x.array.shape[k];
    if (own != matrices_)
      refuse(x, "has leading axes " + text_of(x.array.shape, x.batch_dims()) + "; as an output it needs " +
                    text_of(batch_shape_, batch_dims_));
  }
}

/// Makes the descriptor of an array.
void Call::describe(Argument& x) {
  if (x.ragged) {
    x.batch = x.ragged->batch(queue_.stream(), x.ragged_memory);
    if (ragged_ && x.batch.count != matrices_)
      refuse(x, "has " + std::to_string(x.batch.count) + " matrices; needs " + std::to_string(matrices_));
    return;
  }
  Array const& a = x.array;
  int const core = x.core_dims();
  int const own = x.batch_dims();
  std::int64_t const* const size = a.shape + own;
  std::int64_t const* const stride = a.strides + own;
  myriad_batch& batch = x.batch;
  batch.dtype = a.dtype;
  batch.conjugated = a.conjugated ? 1 : 0;
  batch.rows = size[0];
  batch.cols = core == 2 ? size[1] : 1;
  batch.row_stride = stride[0];
  batch.col_stride = core == 2 ? stride[1] : 0;
  // Strides along axes with one element have no meaning in NumPy; these do.
  if (batch.rows <= 1) batch.row_stride = batch.cols <= 1 ? 1 : std::max<std::int64_t>(1, batch.cols * batch.col_stride);
  if (batch.cols <= 1) batch.col_stride = std::max<std::int64_t>(1, batch.rows * batch.row_stride);
  batch.count = matrices_;

  // The leading axes, without those of size 1.
  std::int64_t sizes[Array::max_dims];
  std::int64_t steps[Array::max_dims];
  int axes = 0;
  for (int k = 0; k < batch_dims_; ++k) {
    if (batch_shape_[k] == 1) continue;
    int const mine = k - (batch_dims_ - own);
    sizes[axes] = batch_shape_[k];
    steps[axes] = mine < 0 || a.shape[mine] == 1 ? 0 : a.strides[mine];
    ++axes;
  }
  bool one_stride = true;
  for (int k = 0; k + 1 < axes; ++k) one_stride = one_stride && steps[k] == sizes[k + 1] * steps[k + 1];
  if (axes > 0 && steps[axes - 1] < 0) one_stride = false;
  if (matrices_ == 0) one_stride = true;
  if (one_stride) {
    batch.data = a.data;
    batch.batch_stride =
        axes > 0 && matrices_ > 0 ? steps[axes - 1] : std::max(batch.rows * batch.row_stride, batch.cols * batch.col_stride);
    return;
  }
  if (queue_.on_gpu()) refuse(x, "has leading axes that do not collapse to one stride, which is needed on a GPU; make it contiguous");
  x.pointers.resize(static_cast<std::size_t>(matrices_));
  std::int64_t index[Array::max_dims] = {};
  char* at = a.data;
  for (std::int64_t b = 0; b < matrices_; ++b) {
    x.pointers[static_cast<std::size_t>(b)] = at;
    for (int k = axes - 1; k >= 0; --k) {
      at += steps[k] * a.element_size;
      if (++index[k] < sizes[k]) break;
      at -= steps[k] * sizes[k] * a.element_size;
      index[k] = 0;
    }
  }
  batch.pointers = x.pointers.data();
}

/// Checks an array with one number per matrix.
void Call::describe_numbers(Argument& x) {
  Array const& a = x.array;
  myriad_dtype const wanted = x.parameter.kind == Kind::ints_out       ? MYRIAD_INT
                              : x.parameter.kind == Kind::elements_out ? dtype_
                                                                       : real_of(dtype_);
  if (a.dtype != wanted) refuse(x, std::string("has elements of type ") + name_of(a.dtype) + "; needs " + name_of(wanted));
  std::int64_t size = 1;
  bool contiguous = true;
  for (int k = a.dims - 1; k >= 0; --k) {
    contiguous = contiguous && (a.shape[k] == 1 || a.strides[k] == size);
    size *= a.shape[k];
  }
  if (size != matrices_)
    refuse(x, "has " + std::to_string(size) + " numbers; needs one for each of " + std::to_string(matrices_) + " matrices");
  if (!contiguous && size > 0) refuse(x, "must be contiguous");
}

void Call::set_scalar(Argument& x) const {
  myriad_dtype const elements = x.parameter.kind == Kind::real_scalar ? real_of(dtype_) : dtype_;
  if (!x.in_memory) {
    x.scalar = scalar_of(x.value, elements, name(x));
    return;
  }
  myriad_dtype const wanted = computed_of(elements);
  if (x.array.dtype != wanted)
    refuse(x, std::string("has an element of type ") + name_of(x.array.dtype) + "; in GPU memory it needs " + name_of(wanted));
}

bool Call::in_memory(std::string_view parameter) const {
  return std::any_of(arguments_.begin(), arguments_.begin() + count_,
                     [&](Argument const& x) { return x.in_memory && x.parameter.name == parameter; });
}

}  // namespace myriad::python
