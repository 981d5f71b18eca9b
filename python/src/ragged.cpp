#include "ragged.hpp"

#include <algorithm>
#include <string>

namespace myriad::python {

static_assert(sizeof(void*) == sizeof(std::int64_t), "a table of a ragged batch holds pointers and sizes");

Ragged::Ragged(nb::list const& arrays, std::int64_t rows, std::int64_t cols, nb::object upload)
    : arrays_(arrays),
      count_(static_cast<std::int64_t>(nb::len(arrays_))),
      table_(static_cast<std::size_t>(lists * count_)),
      upload_(std::move(upload)),
      rows_bound_(rows),
      cols_bound_(cols) {
  for (std::int64_t b = 0; b < count_; ++b) {
    std::string const what = "ragged: array " + std::to_string(b);
    auto array = std::make_unique<Array>();
    // A routine reads it later, on the stream that is then current; what orders the streams is the caller's.
    array->read(arrays_[static_cast<std::size_t>(b)], what, -1, false);
    Array const& x = *array;
    bool const on_gpu = x.device == Device::cuda || x.device == Device::cuda_managed;
    if (on_gpu && upload_.is_none()) throw nb::value_error((what + " is in GPU memory; upload is missing").c_str());
    if (x.dims != 1 && x.dims != 2) throw nb::value_error((what + " has " + std::to_string(x.dims) + " axes; needs 1 or 2").c_str());
    if (b == 0) {
      dims_ = x.dims;
      dtype_ = x.dtype;
      conjugated_ = x.conjugated;
      device_ = on_gpu ? x.device : Device::cpu;
      device_id_ = x.device_id;
    } else if (x.dims != dims_ || x.dtype != dtype_ || x.conjugated != conjugated_) {
      throw nb::value_error((what + " differs from array 0 in its number of axes or type").c_str());
    } else if (on_gpu != this->on_gpu() || (on_gpu && x.device_id != device_id_)) {
      throw nb::value_error((what + " is on another device than array 0").c_str());
    }
    read_only_ = read_only_ || x.read_only;
    std::int64_t const m = x.shape[0];
    std::int64_t const n = dims_ == 2 ? x.shape[1] : 1;
    // A stride along an axis with one element has no meaning; a column's and a row's are made plausible ones.
    std::int64_t rs = x.strides[0];
    std::int64_t cs = dims_ == 2 ? x.strides[1] : 0;
    if (n <= 1) cs = std::max<std::int64_t>(1, m * std::max<std::int64_t>(rs, 1));
    if (m <= 1) rs = std::max<std::int64_t>(1, n <= 1 ? 1 : n * cs);
    // The library checks strides in host memory only.
    if (on_gpu && (rs < 0 || cs < 0)) throw nb::value_error((what + " has negative strides; copy it").c_str());
    rows_bound_ = std::max(rows_bound_, m);
    cols_bound_ = std::max(cols_bound_, n);
    std::int64_t const numbers[lists] = {static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x.data)), m, n, rs, cs};
    for (int k = 0; k < lists; ++k) table_[static_cast<std::size_t>(k * count_ + b)] = numbers[k];
    read_.push_back(std::move(array));
  }
}

myriad_batch Ragged::batch(std::intptr_t stream, nb::object& memory) {
  std::int64_t const* table = table_.data();
  if (on_gpu()) {
    std::intptr_t const per_thread = 2;  // another stream in each thread
    if (!uploaded_.is_valid() || uploaded_for_ != stream || stream == per_thread) {
      uploaded_ = upload_(nb::bytes(table_.data(), table_.size() * sizeof(std::int64_t)));
      uploaded_for_ = stream;
    }
    memory = uploaded_;
    Array array;
    array.read(uploaded_, "ragged: sizes", stream, false);
    table = reinterpret_cast<std::int64_t const*>(array.data);
  }
  myriad_batch batch{};
  batch.pointers = reinterpret_cast<void* const*>(table + pointers * count_);
  batch.rows = rows_bound_;
  batch.cols = cols_bound_;
  batch.row_stride = 1;
  batch.col_stride = std::max<std::int64_t>(batch.rows, 1);
  batch.count = count_;
  batch.row_sizes = table + row_sizes * count_;
  batch.col_sizes = table + col_sizes * count_;
  batch.row_strides = table + row_strides * count_;
  batch.col_strides = table + col_strides * count_;
  batch.conjugated = conjugated_ ? 1 : 0;
  batch.dtype = dtype_;
  return batch;
}

}  // namespace myriad::python
