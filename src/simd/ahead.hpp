#pragma once
/// Prefetching of the next matrices during the work on the current ones.

#include <cstdint>

#include "myriad/batch.hpp"
#include "simd/group.hpp"

namespace myriad {

/// A range of memory that is prefetched into the L2 cache piece by piece.
class Ahead {
 public:
  Ahead() = default;
  /// `bytes` from `first` on, in `pieces` calls of `fetch`.
  Ahead(void const* first, std::int64_t bytes, std::int64_t pieces)
      : next_(static_cast<char const*>(first)),
        left_((bytes + line - 1) / line),
        piece_((left_ + pieces - 1) / std::max<std::int64_t>(pieces, 1)) {}

  void fetch() {
    std::int64_t const lines = std::min(piece_, left_);
    for (std::int64_t i = 0; i < lines; ++i) __builtin_prefetch(next_ + i * line, 0, 2);
    next_ += lines * line;
    left_ -= lines;
  }

 private:
  static constexpr std::int64_t line = 64;
  char const* next_ = nullptr;
  std::int64_t left_ = 0;
  std::int64_t piece_ = 0;
};

/// `count` matrices from `first` on, but before `end`, of a uniform contiguous batch; empty for any other batch.
template <typename T>
Ahead ahead_of(Batch<T> const& batch, std::int64_t first, std::int64_t count, std::int64_t end, std::int64_t pieces) {
  std::int64_t const last = std::min(first + count, end);
  if (batch.pointers || batch.ragged() || batch.batch_stride > 2 * batch.rows * batch.cols || last <= first) return {};
  return {batch.matrix(first), (last - first) * batch.batch_stride * static_cast<std::int64_t>(sizeof(T)), pieces};
}

/// The matrices that follow a group.
template <typename T>
Ahead ahead_of(Batch<T> const& batch, Group const& group, int lanes, std::int64_t end, std::int64_t pieces) {
  return ahead_of(batch, group.index[0] + lanes, lanes, end, pieces);
}

}  // namespace myriad
