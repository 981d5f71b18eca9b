#pragma once
/// How the matrices of an operand that streams through a GPU lie in host memory, how a chunk of them lies packed, and the way between.
///
/// Packed matrices have no gaps. Of a ragged batch, arrays of pointers, sizes and strides stand in front of the elements, so that one copy
/// brings all:
///
///     pointers[count] | rows[count] | columns[count] | strides[count] | elements
///
/// Nothing here knows of a GPU: where the packed chunk will be used is an address that is not read.

#include <array>
#include <cstdint>

#include "myriad/stream.hpp"

namespace myriad::gpu {

class Packing {
 public:
  /// `operand` has passed the checks; its batch has the number of matrices, also where it is an array with one element per matrix.
  explicit Packing(detail::UntypedOperand const& operand);

  [[nodiscard]] bool reads() const noexcept { return operand_.use != StreamUse::out; }
  [[nodiscard]] bool writes() const noexcept { return operand_.use != StreamUse::in; }
  [[nodiscard]] bool ragged() const noexcept { return kind_ == Kind::ragged; }
  /// One matrix stands for all: it is packed as chunk (0, 1) and serves every chunk.
  [[nodiscard]] bool shared() const noexcept { return shared_; }

  /// Bytes of matrix b with its part of the arrays. The same for all unless the batch is ragged.
  [[nodiscard]] std::int64_t bytes_of(std::int64_t b) const noexcept;
  /// Bytes of the `count` matrices from `first` on.
  [[nodiscard]] std::int64_t bytes(std::int64_t first, std::int64_t count) const noexcept;
  /// Of these the arrays, at their beginning. A GPU needs them also where the matrices are only written.
  [[nodiscard]] std::int64_t array_bytes(std::int64_t count) const noexcept;

  /// Describes the `count` packed matrices whose bytes start at `at`.
  [[nodiscard]] Batch<char> packed(std::int64_t count, char* at) const noexcept;

  /// Whether every chunk lies in host memory just as it lies packed, so that there is nothing to pack.
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  /// Address of the first element of matrix b in host memory.
  [[nodiscard]] char* host(std::int64_t b) const noexcept;

  /// Writes a chunk to `to`: the arrays, for use where the chunk is at `at`, and the elements where the operand is read.
  void pack(int threads, std::int64_t first, std::int64_t count, char* to, char* at) const;
  /// Writes the elements of a chunk from `from` into host memory. What lies between them there is not touched.
  void unpack(int threads, std::int64_t first, std::int64_t count, char const* from) const;

  /// One dimension of a box of elements, with its strides in elements.
  struct Axis {
    std::int64_t size = 1;
    std::int64_t host = 0;
    std::int64_t packed = 0;
    /// Others take no room when packed: there is one index, or the same element for all.
    [[nodiscard]] bool moves() const noexcept { return size > 1 && packed > 0; }
  };
  using Box = std::array<Axis, 3>;  ///< rows, columns, matrices

 private:
  /// even: at equal distances. each: alike, but behind pointers or with strides of their own. ragged: of different sizes.
  enum class Kind { even, each, ragged };

  [[nodiscard]] std::int64_t elements_of(std::int64_t b) const noexcept;
  [[nodiscard]] Box box_of_chunk(std::int64_t count) const noexcept;
  [[nodiscard]] Box box_of_matrix(std::int64_t b) const noexcept;
  void write_arrays(std::int64_t first, std::int64_t count, char* to, char* at) const;
  template <bool Packs>
  void move_elements(int threads, std::int64_t first, std::int64_t count, char* packed) const;

  detail::UntypedOperand operand_;
  Kind kind_ = Kind::even;
  bool shared_ = false;
  bool contiguous_ = false;
  bool by_rows_ = false;  ///< matrices that are not even are packed row-major, else column-major
};

}  // namespace myriad::gpu
