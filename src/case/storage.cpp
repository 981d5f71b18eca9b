#include "case/storage.hpp"

#include <algorithm>
#include <limits>

namespace myriad::cases {

std::pmr::memory_resource*& array_memory() {
  static std::pmr::memory_resource* resource = std::pmr::new_delete_resource();
  return resource;
}

template <typename T>
Array<T>::Array(Problem const& problem, Layout layout, Size const& rows, Size const& cols, Op op, std::int64_t most)
    : interleaved_(layout == Layout::interleaved) {
  Shape const bounds = problem.bounds();
  std::int64_t const count = problem.count;
  bool const turned = op != Op::none;
  // stored sizes
  std::int64_t const m = turned ? cols(bounds) : rows(bounds);
  std::int64_t const n = turned ? rows(bounds) : cols(bounds);
  auto const stored_rows = [&](std::int64_t b) { return problem.ragged ? (turned ? cols : rows)(problem.shape_of(b)) : m; };
  auto const stored_cols = [&](std::int64_t b) { return problem.ragged ? (turned ? rows : cols)(problem.shape_of(b)) : n; };

  Batch<T> v;
  v.rows = m;
  v.cols = n;
  v.count = count;
  // Plain layouts start at a cache line, the others are misaligned. A canary follows the last element, unless the problem is `flush`.
  bool const plain = layout == Layout::column_major || layout == Layout::row_major || layout == Layout::interleaved;
  std::int64_t const head = plain || problem.flush ? 0 : 9;
  std::int64_t const tail = problem.flush ? 0 : 8;
  std::int64_t extent = 0;      // elements between head and tail
  std::int64_t row_border = 0;  // border of a block within larger matrices
  std::int64_t col_border = 0;
  switch (layout) {
    case Layout::column_major:
      v.col_stride = std::max<std::int64_t>(m, 1);
      v.batch_stride = v.col_stride * n;
      break;
    case Layout::padded:
    case Layout::conjugated:
      v.col_stride = m + 3;
      v.batch_stride = v.col_stride * n + 5;
      v.conjugated = layout == Layout::conjugated && is_complex<T>;
      break;
    case Layout::row_major:
      v.row_stride = std::max<std::int64_t>(n, 1);
      v.col_stride = 1;
      v.batch_stride = v.row_stride * m;
      break;
    case Layout::row_major_padded:
      v.row_stride = n + 2;
      v.col_stride = 1;
      v.batch_stride = v.row_stride * m + 7;
      break;
    case Layout::interleaved:
      v.row_stride = std::max<std::int64_t>(count, 1);
      v.col_stride = v.row_stride * std::max<std::int64_t>(m, 1);
      v.batch_stride = 1;
      break;
    case Layout::interleaved_padded:
      v.row_stride = count + 3;
      v.col_stride = v.row_stride * std::max<std::int64_t>(m, 1) + 5;
      v.batch_stride = 1;
      break;
    case Layout::woven:
      v.batch_stride = std::max<std::int64_t>(m, 1) + 1;
      v.col_stride = v.batch_stride * std::max<std::int64_t>(count, 1);
      break;
    case Layout::spread:
      v.row_stride = 2;
      v.col_stride = 2 * m + 3;
      v.batch_stride = v.col_stride * std::max<std::int64_t>(n, 1) + 1;
      break;
    case Layout::block:
      if (!problem.flush) {
        row_border = 2;
        col_border = 1;
      }
      v.col_stride = m + 4;
      v.batch_stride = v.col_stride * (n + 2);
      break;
    case Layout::pointers:
      v.col_stride = m + 2;
      v.batch_stride = v.col_stride * n + 3;
      break;
    case Layout::row_major_pointers:
      v.row_stride = n + 2;
      v.col_stride = 1;
      v.batch_stride = v.row_stride * m + 3;
      break;
  }
  bool const behind_pointers = layout == Layout::pointers || layout == Layout::row_major_pointers;
  // With arrays of pointers, neighbours are far apart in memory and not in order: b -> b * step modulo count with step odd and prime to
  // count, or reversed.
  auto const slot = [&](std::int64_t b) { return !behind_pointers ? b : count % 7 != 0 ? b * 7 % count : count - 1 - b; };
  if (behind_pointers && problem.ragged) {  // each matrix has its own leading dimension
    row_strides_.resize(static_cast<std::size_t>(count)), col_strides_.resize(static_cast<std::size_t>(count));
    for (std::int64_t b = 0; b < count; ++b) {
      row_strides_[static_cast<std::size_t>(b)] = layout == Layout::pointers ? 1 : stored_cols(b) + 1;
      col_strides_[static_cast<std::size_t>(b)] = layout == Layout::pointers ? stored_rows(b) + 1 : 1;
    }
    v.row_strides = row_strides_.data();
    v.col_strides = col_strides_.data();
  }
  if (problem.flush) {
    for (std::int64_t b = 0; b < count; ++b)
      if (std::int64_t const rows_b = stored_rows(b), cols_b = stored_cols(b); rows_b > 0 && cols_b > 0)
        extent = std::max(extent, slot(b) * v.batch_stride + (rows_b - 1) * v.row_stride_of(b) + (cols_b - 1) * v.col_stride_of(b) + 1);
    extent = std::max<std::int64_t>(extent, 1);  // a valid address even without elements
  } else if (count > 0) {
    extent = (count - 1) * v.batch_stride + std::max<std::int64_t>(m + row_border - 1, 0) * v.row_stride +
             std::max<std::int64_t>(n + col_border - 1, 0) * v.col_stride + 1;
  }
  repeats_ = extent > most;
  memory_.assign(static_cast<std::size_t>(repeats_ ? most : head + extent + tail), marker<T>(0x2bad));
  v.data = memory_.data() + head;

  if (behind_pointers) {
    pointers_.resize(static_cast<std::size_t>(count));
    for (std::int64_t b = 0; b < count; ++b) pointers_[static_cast<std::size_t>(b)] = v.data + slot(b) * v.batch_stride;
    v.pointers = pointers_.data();
    v.data = nullptr;
    v.batch_stride = 0;
  }
  if (problem.ragged) {
    row_sizes_.resize(static_cast<std::size_t>(count)), col_sizes_.resize(static_cast<std::size_t>(count));
    for (std::int64_t b = 0; b < count; ++b) {
      row_sizes_[static_cast<std::size_t>(b)] = stored_rows(b) + row_border;
      col_sizes_[static_cast<std::size_t>(b)] = stored_cols(b) + col_border;
    }
    v.row_sizes = row_sizes_.data();
    v.col_sizes = col_sizes_.data();
  }
  if (layout == Layout::block) {
    v.rows += row_border + 1;
    v.cols += col_border;
    v = myriad::block(v, row_border, col_border, m, n);
  }
  here_ = view_ = op == Op::none ? v : op == Op::transpose ? transposed(v) : conjugate_transposed(v);
  if (!repeats_) for_all([&](auto b, auto i, auto j) { *here_.at(b, i, j) = marker<T>(0x0071); });
  keep();
}

template <typename T>
void Array<T>::place(Queue& queue, std::int64_t count, bool behind_pointers, bool restored) {
  std::int64_t const matrix = here_.rows * here_.cols;
  placed_ = DeviceArray<T>(queue, count * matrix);
  view_.data = placed_.data();
  view_.count = count;
  if (interleaved_) {
    view_.row_stride = here_.row_stride / here_.count * count;
    view_.col_stride = here_.col_stride / here_.count * count;
  } else if (here_.cols == 1) {
    view_.col_stride = std::max<std::int64_t>(here_.rows, 1);  // a vector is always contiguous
  }
  poison(queue);
  if (restored) {
    kept_ = DeviceArray<T>(queue, placed_.size());
    copy<T>(queue, placed_.data(), placed_.size(), kept_.data());
  }
  if (behind_pointers && behind_pointers_) {
    std::vector<T*> pointers;
    for (std::int64_t b = 0; b < count; ++b) pointers.push_back(placed_.data() + b * matrix);
    placed_pointers_ = to_device(queue, pointers);
    view_.pointers = placed_pointers_.data();
    view_.data = nullptr;
    view_.batch_stride = 0;
    queue.wait();
  }
}

template <typename T>
void Array<T>::poison(Queue& queue) {
  std::int64_t const matrix = here_.rows * here_.cols;
  if (interleaved_)
    for (std::int64_t e = 0; e < matrix; ++e)
      fill(queue, placed_.data() + e * view_.count, view_.count, before_.data() + e * here_.count, here_.count);
  else
    fill(queue, placed_.data(), placed_.size(), before_.data(),
         repeats_ ? static_cast<std::int64_t>(before_.size()) : here_.count * matrix);
}

template <typename T>
void Array<T>::fetch(Queue& queue, std::int64_t first, std::int64_t some) {
  if (repeats_) return;
  std::int64_t const matrix = here_.rows * here_.cols;
  for (std::int64_t done = 0, slot = first % here_.count, length = 0; done < some; done += length, slot = 0) {
    length = std::min(some - done, here_.count - slot);
    if (interleaved_)
      for (std::int64_t e = 0; e < matrix; ++e)
        copy<T>(queue, placed_.data() + e * view_.count + first + done, length, memory_.data() + e * here_.count + slot);
    else
      copy<T>(queue, placed_.data() + (first + done) * matrix, length * matrix, memory_.data() + slot * matrix);
  }
}

template class Array<int>;
template class Array<float>;
template class Array<double>;
template class Array<std::complex<float>>;
template class Array<std::complex<double>>;
template class Array<half>;
template class Array<bfloat16>;
template class Array<complex_half>;

}  // namespace myriad::cases
