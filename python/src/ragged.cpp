#include "ragged.hpp"

#include <algorithm>
#include <string>

namespace myriad::python {

Ragged::Ragged(nb::list const& arrays, std::int64_t rows, std::int64_t cols) : arrays_(arrays), rows_bound_(rows), cols_bound_(cols) {
  std::size_t const count = nb::len(arrays_);
  for (std::size_t b = 0; b < count; ++b) {
    std::string const what = "ragged: array " + std::to_string(b);
    auto array = std::make_unique<Array>();
    array->read(arrays_[b], what, -1, false);
    if (array->device != Device::cpu)
      throw nb::value_error((what + " is not in host memory; ragged batches on a GPU are not supported").c_str());
    if (array->dims != 1 && array->dims != 2)
      throw nb::value_error((what + " has " + std::to_string(array->dims) + " axes; needs 1 or 2").c_str());
    if (b == 0) {
      dims_ = array->dims;
      dtype_ = array->dtype;
      element_size_ = array->element_size;
      conjugated_ = array->conjugated;
    } else if (array->dims != dims_ || array->dtype != dtype_ || array->conjugated != conjugated_) {
      throw nb::value_error((what + " differs from array 0 in its number of axes or type").c_str());
    }
    read_only_ = read_only_ || array->read_only;
    std::int64_t const m = array->shape[0];
    std::int64_t const n = dims_ == 2 ? array->shape[1] : 1;
    // A stride along an axis with one element has no meaning; a column's and a row's are made plausible ones.
    std::int64_t rs = array->strides[0];
    std::int64_t cs = dims_ == 2 ? array->strides[1] : 0;
    if (n <= 1) cs = std::max<std::int64_t>(1, m * std::max<std::int64_t>(rs, 1));
    if (m <= 1) rs = std::max<std::int64_t>(1, n <= 1 ? 1 : n * cs);
    pointers_.push_back(array->data);
    rows_bound_ = std::max(rows_bound_, m);
    cols_bound_ = std::max(cols_bound_, n);
    rows_.push_back(m);
    cols_.push_back(n);
    row_strides_.push_back(rs);
    col_strides_.push_back(cs);
    read_.push_back(std::move(array));
  }
}

myriad_batch Ragged::batch() const {
  myriad_batch batch{};
  batch.pointers = pointers_.data();
  batch.rows = rows_bound_;
  batch.cols = cols_bound_;
  batch.row_stride = 1;
  batch.col_stride = std::max<std::int64_t>(batch.rows, 1);
  batch.count = count();
  batch.row_sizes = rows_.data();
  batch.col_sizes = cols_.data();
  batch.row_strides = row_strides_.data();
  batch.col_strides = col_strides_.data();
  batch.conjugated = conjugated_ ? 1 : 0;
  batch.dtype = dtype_;
  return batch;
}

}  // namespace myriad::python
