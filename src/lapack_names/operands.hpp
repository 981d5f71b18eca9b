#pragma once
/// Arrays of a caller of LAPACK, where a queue reaches them.

#include <cstddef>
#include <type_traits>
#include <vector>

#include "myriad/myriad.hpp"

namespace myriad::lapack_names {

using Int = int;  ///< LAPACK's INTEGER

/// On the CPU the batches are the caller's arrays themselves. On a GPU they are packed copies, of which those that are not const go back to
/// the caller by `finish`; padding between columns is left alone.
class Operands {
 public:
  explicit Operands(Queue& queue) : queue_(queue) {}

  /// One matrix, column-major.
  template <typename T>
  Batch<T> matrix(T* a, Int rows, Int cols, Int ld) {
    if (queue_.backend() == Backend::cpu || rows <= 0 || cols <= 0) return batch(a, rows, cols, {.ld = ld});
    using Free = std::remove_const_t<T>;
    return batch(static_cast<T*>(copy_of(const_cast<Free*>(a), {rows, cols, ld, sizeof(T), !std::is_const_v<T>})), rows, cols);
  }
  template <typename T>
  Batch<T> vector(T* x, Int length) {
    return matrix(x, length, 1, length > 0 ? length : 1);
  }
  /// A vector whose elements are `step` apart.
  template <typename T>
  Batch<T> vector(T* x, Int length, Int step) {
    return transposed(matrix(x, 1, length, step));
  }
  template <typename T>
  T* number(T* x) {
    return matrix(x, 1, 1, 1).data;
  }

  /// Copies results to the caller.
  void finish();

 private:
  struct Shape {
    Int rows, cols, ld;
    std::size_t element_bytes;
    bool goes_back;
  };
  struct Copy {
    Shape shape;
    void* caller;
    std::vector<std::byte> packed;
    DeviceArray<std::byte> on_gpu;
  };
  void* copy_of(void* caller, Shape shape);

  Queue& queue_;
  std::vector<Copy> copies_;
};

}  // namespace myriad::lapack_names
