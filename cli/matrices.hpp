#pragma once
/// Storage of the matrices of a chunk.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "io/error.hpp"
#include "myriad/batch.hpp"

namespace myriad::cli {

/// Sizes of the matrices of a batch; the vectors are empty if all are equal.
struct Sizes {
  std::int64_t count = 0;
  std::int64_t rows = 0;  ///< of every matrix; the maximum for a ragged batch
  std::int64_t cols = 0;
  std::vector<std::int64_t> row_sizes, col_sizes;

  [[nodiscard]] bool ragged() const { return !row_sizes.empty(); }
  [[nodiscard]] std::int64_t rows_of(std::int64_t b) const { return ragged() ? row_sizes[static_cast<std::size_t>(b)] : rows; }
  [[nodiscard]] std::int64_t cols_of(std::int64_t b) const { return ragged() ? col_sizes[static_cast<std::size_t>(b)] : cols; }

  /// Sizes rows(b) by cols(b) of `count` matrices.
  template <typename Rows, typename Cols>
  static Sizes from(std::int64_t count, bool ragged, Rows&& rows, Cols&& cols, std::int64_t most_rows, std::int64_t most_cols) {
    Sizes sizes{.count = count, .rows = most_rows, .cols = most_cols, .row_sizes = {}, .col_sizes = {}};
    if (!ragged) return sizes;
    for (std::int64_t b = 0; b < count; ++b) {
      sizes.row_sizes.push_back(rows(b));
      sizes.col_sizes.push_back(cols(b));
    }
    return sizes;
  }
};

/// Sizes of a batch that has the count and raggedness of `like` and rows(b) by cols(b) matrices.
template <typename Rows, typename Cols>
[[nodiscard]] Sizes sizes_like(Sizes const& like, Rows&& rows, Cols&& cols) {
  if (!like.ragged()) return Sizes::from(like.count, false, rows, cols, rows(0), cols(0));
  std::int64_t most_rows = 0, most_cols = 0;
  for (std::int64_t b = 0; b < like.count; ++b) {
    most_rows = std::max<std::int64_t>(most_rows, rows(b));
    most_cols = std::max<std::int64_t>(most_cols, cols(b));
  }
  return Sizes::from(like.count, true, rows, cols, most_rows, most_cols);
}

/// Sizes of the factors of m-by-n matrices, with k = min(m, n): a vector of k elements, m-by-k and k-by-n, or if `full` m-by-m and n-by-n.
/// The bounds of a ragged batch follow from those of `a`, as the routines want them: with tall and wide matrices k may be less everywhere.
struct FactorSizes {
  Sizes vector, left, right;

  explicit FactorSizes(Sizes const& a, bool full = false) {
    auto const rows = [&](std::int64_t b) { return a.rows_of(b); };
    auto const cols = [&](std::int64_t b) { return a.cols_of(b); };
    auto const k = [&](std::int64_t b) { return std::min(rows(b), cols(b)); };
    auto const one = [](std::int64_t) { return std::int64_t{1}; };
    std::int64_t const most = std::min(a.rows, a.cols);
    vector = Sizes::from(a.count, a.ragged(), k, one, most, 1);
    left = full ? Sizes::from(a.count, a.ragged(), rows, rows, a.rows, a.rows) : Sizes::from(a.count, a.ragged(), rows, k, a.rows, most);
    right = full ? Sizes::from(a.count, a.ragged(), cols, cols, a.cols, a.cols) : Sizes::from(a.count, a.ragged(), k, cols, most, a.cols);
  }
};

template <typename T>
[[nodiscard]] Sizes sizes_of(Batch<T> const& a) {
  return Sizes::from(
      a.count, a.ragged(), [&](std::int64_t b) { return a.rows_of(b); }, [&](std::int64_t b) { return a.cols_of(b); }, a.rows, a.cols);
}

/// Row-major matrices without gaps, as in an .npy file. Resizing keeps the allocation and does not initialise.
template <typename T>
class Matrices {
 public:
  void resize(Sizes sizes) {
    sizes_ = std::move(sizes);
    elements_ = sizes_.count * sizes_.rows * sizes_.cols;
    if (sizes_.ragged()) {
      elements_ = 0;
      for (std::int64_t b = 0; b < sizes_.count; ++b) elements_ += elements_of(b);
    }
    if (elements_ > capacity_) {
      data_.reset();
      capacity_ = 0;
      // Aligned for full vectors; not value-initialised, which would touch every page twice.
      std::size_t const bytes = (static_cast<std::size_t>(elements_) * sizeof(T) + 63) / 64 * 64;
      data_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
      if (!data_)
        throw io::Error(fmt::format("not enough memory for {} of up to {} x {} at a time, {} bytes{}",
                                    sizes_.count == 1 ? "a matrix" : fmt::format("{} matrices", sizes_.count), sizes_.rows, sizes_.cols,
                                    bytes, sizes_.count == 1 ? "" : "; a smaller --chunk may help"));
      capacity_ = elements_;
    }
    pointers_.clear();
    row_strides_.clear();
    if (!sizes_.ragged()) return;
    T* next = data_.get();
    for (std::int64_t b = 0; b < sizes_.count; ++b) {
      pointers_.push_back(next);
      row_strides_.push_back(std::max<std::int64_t>(sizes_.cols_of(b), 1));
      next += elements_of(b);
    }
  }

  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] Sizes const& sizes() const { return sizes_; }

  /// Address of the first element of matrix b.
  [[nodiscard]] T* matrix(std::int64_t b) const {
    return sizes_.ragged() ? pointers_[static_cast<std::size_t>(b)] : data_.get() + b * sizes_.rows * sizes_.cols;
  }
  [[nodiscard]] std::int64_t elements_of(std::int64_t b) const { return sizes_.rows_of(b) * sizes_.cols_of(b); }

  /// Valid until the next resize().
  [[nodiscard]] Batch<T> batch() const {
    if (!sizes_.ragged()) return row_major(data_.get(), sizes_.rows, sizes_.cols, {.count = sizes_.count});
    Batch<T> b = row_major<T>(pointers_.data(), sizes_.rows, sizes_.cols, {.count = sizes_.count});
    b.row_sizes = sizes_.row_sizes.data();
    b.col_sizes = sizes_.col_sizes.data();
    b.row_strides = row_strides_.data();
    return b;
  }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };

  Sizes sizes_;
  std::unique_ptr<T, Free> data_;
  std::int64_t capacity_ = 0;
  std::int64_t elements_ = 0;
  std::vector<std::int64_t> row_strides_;
  std::vector<T*> pointers_;
};

}  // namespace myriad::cli
