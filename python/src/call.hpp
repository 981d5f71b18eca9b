#pragma once
/// One call of a routine of the C interface with arguments from Python.

#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "array.hpp"
#include "queue.hpp"
#include "ragged.hpp"

namespace myriad::python {

/// Kinds of arguments. Each has a letter, which the table of routines in module.cpp uses.
enum class Kind : char {
  matrix = 'm',        ///< read: an array (..., rows, cols)
  matrix_out = 'M',    ///< written
  vector = 'v',        ///< read: an array (..., length)
  vector_out = 'V',    ///< written
  reals = 'r',         ///< one real number per matrix, read: an array of the batch's shape
  reals_out = 'R',     ///< written
  elements_out = 'E',  ///< one element per matrix, written
  ints_out = 'I',      ///< one int per matrix, written
  sizes = 'z',         ///< sizes of ragged matrices; always NULL from Python
  scalar = 's',        ///< alpha: a Python number, of the type of the elements, or an array without axes in memory of the queue's GPU
  real_scalar = 'S',   ///< the same of the corresponding real type
  letter = 'l',        ///< an enumeration of letters
  number = 'd',        ///< a double
  integer = 'i'        ///< an int64_t
};

/// An argument of a routine.
struct Parameter {
  Kind kind;
  bool optional;
  char const* name;
};

/// Arguments of a call. First `take` for each, then `arrange`, then `get` for each.
///
/// The leading axes of all arrays are broadcast; arrays that are written must have the whole shape. Row-major order of the leading axes
/// numbers the matrices. They become one stride where the axes collapse, else an array of pointers.
class Call {
 public:
  static constexpr int max_arguments = 12;

  Call(char const* routine, Queue& queue) : routine_(routine), queue_(queue) {}

  void take(int i, Parameter const& parameter, nb::handle x);
  void take(int i, Parameter const& parameter, double value);
  void take(int i, Parameter const& parameter, std::int64_t value);
  void take(int i, Parameter const& parameter, char value);

  void arrange();

  /// Whether the number of this name is in GPU memory.
  [[nodiscard]] bool in_memory(std::string_view parameter) const;

  /// Whether the batches are ragged and have no matrices. Such a batch has no element type, and there is nothing to do.
  [[nodiscard]] bool empty_ragged() const { return ragged_ && matrices_ == 0; }

  /// Copies the triangle `uplo` of matrices (argument 0) to others (argument 1) on the CPU, with zeros outside it.
  void copy_triangle(char uplo) const;

  /// Argument i as the type of the C interface.
  template <typename T>
  [[nodiscard]] T get(int i) const;

 private:
  struct Argument {
    Parameter parameter{};
    Array array;
    Ragged* ragged = nullptr;
    nb::object ragged_memory;  ///< pointers, sizes and strides of a ragged batch on a GPU
    bool given = false;
    bool is_array = false;
    nb::object value;                ///< a scalar
    bool in_memory = false;          ///< the scalar is `array`
    std::array<double, 2> scalar{};  ///< the scalar in the type of the elements
    std::vector<void*> pointers;     ///< of a batch whose axes do not collapse
    myriad_batch batch{};
    double number = 0;
    std::int64_t integer = 0;

    [[nodiscard]] int core_dims() const;
    [[nodiscard]] int batch_dims() const { return array.dims - core_dims(); }
  };

  [[nodiscard]] std::string name(Argument const& x) const { return std::string(routine_) + ": " + x.parameter.name; }
  [[noreturn]] void refuse(Argument const& x, std::string const& problem) const;
  void check_place(Argument const& x, Device device, int device_id) const;
  void broadcast();
  void describe(Argument& x);
  void describe_numbers(Argument& x);
  void set_scalar(Argument& x) const;

  char const* routine_;
  Queue& queue_;
  std::array<Argument, max_arguments> arguments_;
  int count_ = 0;
  int batch_dims_ = 0;
  std::int64_t batch_shape_[Array::max_dims];
  std::int64_t matrices_ = 1;
  bool ragged_ = false;
  myriad_dtype dtype_ = MYRIAD_F64;
};

template <typename T>
T Call::get(int i) const {
  Argument const& x = arguments_[static_cast<std::size_t>(i)];
  if constexpr (std::is_same_v<T, myriad_batch const*>)
    return x.given ? &x.batch : nullptr;
  else if constexpr (std::is_same_v<T, int*>)
    return x.given ? reinterpret_cast<int*>(x.array.data) : nullptr;
  else if constexpr (std::is_same_v<T, void*>)
    return x.given ? static_cast<void*>(x.array.data) : nullptr;
  else if constexpr (std::is_same_v<T, void const*>)
    return !x.given ? nullptr : x.is_array || x.in_memory ? static_cast<void const*>(x.array.data) : x.scalar.data();
  else if constexpr (std::is_same_v<T, std::int64_t const*>)
    return nullptr;
  else if constexpr (std::is_same_v<T, double>)
    return x.number;
  else
    return static_cast<T>(x.integer);
}

/// The scalar `value` as one element of type `dtype`; 16-bit types have scalars in single precision.
std::array<double, 2> scalar_of(nb::handle value, myriad_dtype dtype, std::string const& what);

}  // namespace myriad::python
