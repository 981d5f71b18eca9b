#pragma once
/// Packs and unpacks chunks of an operand that streams through a GPU.
///
/// Packed matrices have no gaps. A ragged batch has arrays of pointers, sizes and strides before its elements, so that one copy moves all:
///
///     pointers[count] | rows[count] | columns[count] | strides[count] | elements
///
/// Nothing here depends on a GPU: the address at which a chunk will be used is not dereferenced.

#include <array>
#include <cstdint>

#include "myriad/stream.hpp"

namespace myriad::gpu {

class Packing {
 public:
  /// `operand` must have passed the checks. Its batch.count is set, also for an array with one element per matrix.
  explicit Packing(detail::UntypedOperand const& operand);

  [[nodiscard]] bool reads() const noexcept { return operand_.use != StreamUse::out; }
  [[nodiscard]] bool writes() const noexcept { return operand_.use != StreamUse::in; }
  [[nodiscard]] bool ragged() const noexcept { return kind_ == Kind::ragged; }
  /// Whether one matrix is shared by all: it is packed as chunk (0, 1) and used by every chunk.
  [[nodiscard]] bool shared() const noexcept { return shared_; }

  /// Bytes of matrix b with its entries of the arrays. Equal for all unless the batch is ragged.
  [[nodiscard]] std::int64_t bytes_of(std::int64_t b) const noexcept;
  /// Bytes of the `count` matrices from `first` on.
  [[nodiscard]] std::int64_t bytes(std::int64_t first, std::int64_t count) const noexcept;
  /// Bytes of the arrays, at the beginning of these. A GPU needs them also if the matrices are only written.
  [[nodiscard]] std::int64_t array_bytes(std::int64_t count) const noexcept;

  /// Describes the `count` packed matrices whose bytes start at `at`.
  [[nodiscard]] Batch<char> packed(std::int64_t count, char* at) const noexcept;

  /// Whether every chunk in host memory already has the packed layout, so that no packing is needed.
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  /// Address of the first element of matrix b in host memory.
  [[nodiscard]] char* host(std::int64_t b) const noexcept;

  /// Packs a chunk to `to`: the arrays, for a chunk that will be at `at`, and the elements if the operand is read.
  void pack(int threads, std::int64_t first, std::int64_t count, char* to, char* at) const;
  /// Unpacks the elements of a chunk from `from` into host memory. Gaps between them are not written.
  void unpack(int threads, std::int64_t first, std::int64_t count, char const* from) const;

  /// One dimension of a box of elements, with its strides in elements.
  struct Axis {
    std::int64_t size = 1;
    std::int64_t host = 0;
    std::int64_t packed = 0;
    /// Whether the axis takes room when packed: it has more than one index, and not stride zero.
    [[nodiscard]] bool moves() const noexcept { return size > 1 && packed > 0; }
  };
  using Box = std::array<Axis, 3>;  ///< rows, columns, matrices

 private:
  /// even: equal strides. each: equal sizes, but an array of pointers or own strides. ragged: different sizes.
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
  bool by_rows_ = false;  ///< matrices that are not `even` are packed row-major, else column-major
};

}  // namespace myriad::gpu
