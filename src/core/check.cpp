#include "core/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace myriad {
namespace {

struct Extent {
  std::int64_t stride;
  std::int64_t size;
};

/// Whether distinct index tuples have distinct addresses, by nesting: with extents sorted by stride, each stride must exceed the span of
/// all smaller ones.
template <std::size_t N>
bool nested(std::array<Extent, N> extents, Access access) {
  for (std::size_t i = 1; i < N; ++i)  // insertion sort: few, and often sorted
    for (std::size_t j = i; j > 0 && extents[j].stride < extents[j - 1].stride; --j) std::swap(extents[j], extents[j - 1]);
  std::int64_t span = 1;
  for (Extent const e : extents) {
    if (e.size <= 1 || (e.stride == 0 && access == Access::read)) continue;
    if (e.stride < span) return false;
    span += e.stride * (e.size - 1);
  }
  return true;
}

/// Bytes [begin, end) that matrix b touches; empty when it has no element.
struct Interval {
  std::uintptr_t begin;
  std::uintptr_t end;
  [[nodiscard]] bool empty() const { return begin == end; }
  [[nodiscard]] bool meets(Interval other) const { return !empty() && !other.empty() && begin < other.end && other.begin < end; }
};

Interval interval_of(UntypedBatch const& a, std::int64_t b) {
  auto const& s = a.shape;
  std::int64_t const m = s.rows_of(b);
  std::int64_t const n = s.cols_of(b);
  if (m == 0 || n == 0) return {0, 0};
  std::int64_t const rs = s.row_stride_of(b);
  std::int64_t const cs = s.col_stride_of(b);
  auto const base = reinterpret_cast<std::uintptr_t>(a.pointers ? a.pointers[b] : a.data + b * s.batch_stride * a.element_size);
  std::uintptr_t const first = base + static_cast<std::uintptr_t>((s.row_offset * rs + s.col_offset * cs) * a.element_size);
  return {first, first + static_cast<std::uintptr_t>(((m - 1) * rs + (n - 1) * cs + 1) * a.element_size)};
}

bool uniform(UntypedBatch const& a) {
  auto const& s = a.shape;
  return !a.pointers && !s.ragged() && !s.row_strides && !s.col_strides;
}

/// Bytes that the whole batch touches.
Interval interval_of(UntypedBatch const& a) {
  if (uniform(a)) {
    Interval whole = interval_of(a, 0);
    if (!whole.empty()) whole.end += static_cast<std::uintptr_t>((a.shape.count - 1) * a.shape.batch_stride * a.element_size);
    return whole;
  }
  Interval whole{std::numeric_limits<std::uintptr_t>::max(), 0};
  for (std::int64_t b = 0; b < a.shape.count; ++b) {
    Interval const one = interval_of(a, b);
    if (one.empty()) continue;
    whole.begin = std::min(whole.begin, one.begin);
    whole.end = std::max(whole.end, one.end);
  }
  return whole.end == 0 ? Interval{0, 0} : whole;
}

/// Exact test for two uniform batches with equal strides: two boxes of one lattice.
std::optional<bool> boxes_meet(UntypedBatch const& a, UntypedBatch const& b) {
  auto const& s = a.shape;
  auto const& t = b.shape;
  if (!uniform(a) || !uniform(b) || a.element_size != b.element_size || s.row_stride != t.row_stride || s.col_stride != t.col_stride ||
      s.batch_stride != t.batch_stride)
    return std::nullopt;
  auto const bytes = static_cast<std::int64_t>(interval_of(b, 0).begin) - static_cast<std::int64_t>(interval_of(a, 0).begin);
  if (bytes % a.element_size != 0) return std::nullopt;
  // They overlap if the distance is a sum of q_k stride_k with every index difference q_k strictly between -size_b and size_a. From the
  // largest stride down, the remainder is less than one stride, so only the two quotients next to distance / stride can give zero.
  std::array<Extent, 3> up{Extent{s.row_stride, s.rows}, {s.col_stride, s.cols}, {s.batch_stride, s.count}};
  std::array<Extent, 3> down{Extent{t.row_stride, t.rows}, {t.col_stride, t.cols}, {t.batch_stride, t.count}};
  std::array<int, 3> order{0, 1, 2};
  std::sort(order.begin(), order.end(),
            [&](int x, int y) { return up[static_cast<std::size_t>(x)].stride > up[static_cast<std::size_t>(y)].stride; });
  auto const search = [&](auto const& self, std::int64_t distance, std::size_t level) -> bool {
    if (level == 3) return distance == 0;
    auto const k = static_cast<std::size_t>(order[level]);
    std::int64_t const stride = up[k].stride;
    if (stride == 0) return self(self, distance, level + 1);
    std::int64_t const q = distance >= 0 ? distance / stride : -((-distance + stride - 1) / stride);
    for (std::int64_t const candidate : {q, q + 1})
      if (candidate > -down[k].size && candidate < up[k].size && self(self, distance - candidate * stride, level + 1)) return true;
    return false;
  };
  return search(search, bytes / a.element_size, 0);
}

bool overlap(UntypedBatch const& a, UntypedBatch const& b) {
  if (a.shape.count <= 0 || b.shape.count <= 0) return false;
  if (!interval_of(a).meets(interval_of(b))) return false;
  if (auto const exact = boxes_meet(a, b)) return *exact;
  // Records with one matrix of each batch: if records do not overlap, it suffices that the matrices within a record do not.
  std::int64_t const stride_a = a.shape.batch_stride * a.element_size;
  std::int64_t const stride_b = b.shape.batch_stride * b.element_size;
  if (uniform(a) && uniform(b) && stride_a == stride_b && stride_a > 0) {
    Interval const x = interval_of(a, 0);
    Interval const y = interval_of(b, 0);
    auto const record = static_cast<std::uintptr_t>(stride_a);
    // y's offset in the record that starts at x
    std::uintptr_t const shift = y.begin >= x.begin ? (y.begin - x.begin) % record : (record - (x.begin - y.begin) % record) % record;
    return shift < x.end - x.begin || shift + (y.end - y.begin) > record;
  }
  // Pointers or ragged: compares matrices with the same index.
  std::int64_t const count = std::min(a.shape.count, b.shape.count);
  if (uniform(a) && uniform(b)) return true;
  for (std::int64_t k = 0; k < count; ++k)
    if (interval_of(a, k).meets(interval_of(b, k))) return true;
  return false;
}

/// Whether an element of a uniform batch has one of the bytes.
bool has(UntypedBatch const& a, Interval bytes) {
  if (!interval_of(a).meets(bytes)) return false;
  std::uintptr_t const first = interval_of(a, 0).begin, size = static_cast<std::uintptr_t>(a.element_size);
  UntypedBatch element = a;
  element.shape.rows = element.shape.cols = element.shape.count = 1;
  element.shape.row_offset = element.shape.col_offset = 0;
  std::uintptr_t const before = bytes.begin > first ? (bytes.begin - first) / size * size : 0;
  for (std::uintptr_t at = first + before; at < bytes.end; at += size) {
    element.data = reinterpret_cast<char const*>(at);
    if (*boxes_meet(a, element)) return true;
  }
  return false;
}

/// For batches with arrays that the host cannot read: whether matrices with the same index overlap whatever the arrays contain. That is
/// decidable for equal pointers, or equal data and batch stride, with equal or transposed strides. If matrices may be smaller than their
/// bounds, only the first element is certain, if there is one.
bool overlap_in_any_case(UntypedBatch const& a, UntypedBatch const& b) {
  auto const& s = a.shape;
  auto t = b.shape;
  if (s.empty() || t.empty() || a.element_size != b.element_size || a.pointers != b.pointers) return false;
  if (!a.pointers && (a.data != b.data || s.batch_stride != t.batch_stride)) return false;
  auto const same_strides = [&] {
    return s.row_stride == t.row_stride && s.col_stride == t.col_stride && s.row_strides == t.row_strides && s.col_strides == t.col_strides;
  };
  if (!same_strides()) {
    t = transposed(t);
    if (!same_strides()) return false;
  }
  if (s.ragged() || t.ragged()) return s.row_offset == t.row_offset && s.col_offset == t.col_offset;
  auto const meet = [](std::int64_t from, std::int64_t size, std::int64_t other_from, std::int64_t other_size) {
    return from < other_from + other_size && other_from < from + size;
  };
  return meet(s.row_offset, s.rows, t.row_offset, t.rows) && meet(s.col_offset, s.cols, t.col_offset, t.cols);
}

/// Kernels index rows and columns with 32 bits, and somewhat beyond the last one.
constexpr std::int64_t largest_on_gpu = std::int64_t{1} << 30;

bool same_matrices(UntypedBatch const& a, UntypedBatch const& b) {
  auto const& s = a.shape;
  auto const& t = b.shape;
  return a.data == b.data && a.pointers == b.pointers && a.element_size == b.element_size && s.rows == t.rows && s.cols == t.cols &&
         s.row_stride == t.row_stride && s.col_stride == t.col_stride && s.batch_stride == t.batch_stride && s.count == t.count &&
         s.row_sizes == t.row_sizes && s.col_sizes == t.col_sizes && s.row_strides == t.row_strides && s.col_strides == t.col_strides &&
         s.row_offset == t.row_offset && s.col_offset == t.col_offset;
}

}  // namespace

void Check::fail(Argument argument, std::string_view problem) const {
  throw BadArgument(routine_, argument.position, argument.name, std::string(problem));
}

Check const& Check::require(bool good, Argument argument, std::string_view problem) const {
  if (!good) fail(argument, problem);
  return *this;
}

void Check::usable(void const* data, std::int64_t element_size, Argument argument) const {
  if (arrays_readable_) return;  // on the CPU
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_size) != 0)
    fail(argument, fmt::format("is at {}, which is no multiple of {}, the size of an element; a GPU needs that", data, element_size));
  if (!queue_->reaches(data))
    fail(argument,
         "must be in memory that the GPU reaches, and is in plain host memory; to_device copies to the GPU, and stream takes "
         "batches of the host");
}

Check const& Check::matrix(UntypedBatch const& a, Argument rows, Argument cols, Argument data, Argument ld, Access access) const {
  auto const& s = a.shape;
  if (s.rows < 0) fail(rows, fmt::format("is negative: {}", s.rows));
  if (s.cols < 0) fail(cols, fmt::format("is negative: {}", s.cols));
  if (s.count < 0) fail(data, fmt::format("has a negative number of matrices: {}", s.count));
  if (s.row_offset < 0 || s.col_offset < 0) fail(data, fmt::format("is a block that starts at ({}, {})", s.row_offset, s.col_offset));
  for (std::int64_t b = 0; arrays_readable_ && s.ragged() && b < s.count; ++b) {
    if (s.row_sizes && (s.row_sizes[b] < 0 || s.row_sizes[b] - s.row_offset > s.rows))
      fail(rows, fmt::format("of matrix {} is {}, outside 0 to {}", b, s.row_sizes[b], s.rows + s.row_offset));
    if (s.col_sizes && (s.col_sizes[b] < 0 || s.col_sizes[b] - s.col_offset > s.cols))
      fail(cols, fmt::format("of matrix {} is {}, outside 0 to {}", b, s.col_sizes[b], s.cols + s.col_offset));
  }
  if (s.count == 0 || s.rows == 0 || s.cols == 0) return *this;
  bool const on_gpu = !arrays_readable_;
  for (auto const& [size, argument] : {std::pair(s.rows, rows), std::pair(s.cols, cols)})
    if (on_gpu && size > largest_on_gpu) fail(argument, fmt::format("is {}; on a GPU sizes are {} at most", size, largest_on_gpu));
  if (!a.data && !a.pointers) fail(data, "is a null pointer");
  if (!a.pointers) usable(a.data, a.element_size, data);
  optional(a.pointers, data)
      .optional(s.row_sizes, rows)
      .optional(s.col_sizes, cols)
      .optional(s.row_strides, ld)
      .optional(s.col_strides, ld);
  if (a.pointers && arrays_readable_) {
    for (std::int64_t b = 0; b < s.count; ++b)
      if (!a.pointers[b] && s.rows_of(b) > 0 && s.cols_of(b) > 0) fail(data, fmt::format("has a null pointer for matrix {}", b));
  }

  // Fast path for most batches; errors are diagnosed below.
  if (!a.pointers && !s.row_strides && !s.col_strides && std::min({s.row_stride, s.col_stride, s.batch_stride}) >= 0 &&
      nested(std::array{Extent{s.row_stride, s.rows}, Extent{s.col_stride, s.cols}, Extent{s.batch_stride, s.count}}, access))
    return *this;
  auto const check_strides = [&](std::int64_t rs, std::int64_t cs, std::int64_t m, std::int64_t n, std::string const& which) {
    if (rs < 0 || cs < 0) fail(ld, fmt::format("{}is negative: row stride {}, column stride {}", which, rs, cs));
    if (!nested(std::array{Extent{rs, m}, Extent{cs, n}}, access))
      fail(ld, fmt::format("{}lets elements of a {}-by-{} matrix overlap: row stride {}, column stride {}", which, m, n, rs, cs));
  };
  if (s.row_strides || s.col_strides) {
    for (std::int64_t b = 0; arrays_readable_ && b < s.count; ++b)
      check_strides(s.row_stride_of(b), s.col_stride_of(b), s.rows_of(b), s.cols_of(b), fmt::format("of matrix {} ", b));
  } else {
    check_strides(s.row_stride, s.col_stride, s.rows, s.cols, "");
  }
  if (a.pointers) {
    // Ascending pointers are compared with their neighbour. Others are not checked: sorting a million pointers would take longer than the
    // work.
    for (std::int64_t b = 0; arrays_readable_ && access == Access::write && b + 1 < s.count; ++b)
      if (a.pointers[b] <= a.pointers[b + 1] && interval_of(a, b).meets(interval_of(a, b + 1)))
        fail(data, fmt::format("has matrices {} and {} that overlap", b, b + 1));
  } else {
    if (s.batch_stride < 0) fail(data, fmt::format("has a negative stride between matrices: {}", s.batch_stride));
    if (!s.row_strides && !s.col_strides) {
      if (!nested(std::array{Extent{s.row_stride, s.rows}, Extent{s.col_stride, s.cols}, Extent{s.batch_stride, s.count}}, access))
        fail(data, fmt::format("has matrices that overlap: stride {} between {}-by-{} matrices with row stride {} and column stride {}",
                               s.batch_stride, s.rows, s.cols, s.row_stride, s.col_stride));
    } else {
      for (std::int64_t b = 0; arrays_readable_ && access == Access::write && b + 1 < s.count; ++b)
        if (interval_of(a, b).meets(interval_of(a, b + 1))) fail(data, fmt::format("has matrices {} and {} that overlap", b, b + 1));
    }
  }
  return *this;
}

Check const& Check::vector(UntypedBatch const& x, Argument length, Argument data, Access access) const {
  matrix(x, length, data, data, data, access);
  return require(x.shape.cols == 1 || x.shape.empty(), data, "must have one column per matrix");
}

Check const& Check::vector(UntypedBatch const& x, Argument length, Argument data, Argument increment, Access access) const {
  auto const& s = x.shape;
  matrix(x, length, data, data, increment, access);
  require(s.cols == 1 || s.count == 0 || s.rows == 0, data, "must have one column per matrix");
  for (std::int64_t b = 0; arrays_readable_ && s.col_sizes && b < s.count; ++b)
    if (s.rows_of(b) > 0 && s.cols_of(b) != 1) fail(data, fmt::format("must have one column in matrix {}, has {}", b, s.cols_of(b)));
  return *this;
}

Check const& Check::same_count(UntypedBatch const& a, UntypedBatch const& b, Argument b_data) const {
  if (a.shape.count != b.shape.count) fail(b_data, fmt::format("needs {} matrices as the others, has {}", a.shape.count, b.shape.count));
  return *this;
}

Check const& Check::same(Dimension x, Dimension y, Argument size) const {
  if (x.bound() != y.bound()) fail(size, fmt::format("must be the same in all operands, is {} and {}", x.bound(), y.bound()));
  if (!arrays_readable_ || (!x.batch.shape.ragged() && !y.batch.shape.ragged())) return *this;
  for (std::int64_t b = 0; b < std::min(x.batch.shape.count, y.batch.shape.count); ++b)
    if (x.of(b) != y.of(b)) fail(size, fmt::format("must be the same in all operands, is {} and {} in matrix {}", x.of(b), y.of(b), b));
  return *this;
}

Check const& Check::diagonal_length(UntypedBatch const& x, UntypedBatch const& a, Argument data) const {
  auto const& s = a.shape;
  std::int64_t const length = std::min(s.rows, s.cols);
  if (x.shape.rows < length) fail(data, fmt::format("needs min(m, n) = {} entries per matrix, has {}", length, x.shape.rows));
  for (std::int64_t b = 0; arrays_readable_ && x.shape.row_sizes && b < std::min(s.count, x.shape.count); ++b) {
    std::int64_t const needed = std::min(s.rows_of(b), s.cols_of(b));
    if (x.shape.rows_of(b) < needed) fail(data, fmt::format("needs {} entries for matrix {}, has {}", needed, b, x.shape.rows_of(b)));
  }
  return *this;
}

Check const& Check::right_sides(UntypedBatch const& of_b, UntypedBatch const& of_a, Argument data) const {
  auto const &a = of_a.shape, &b = of_b.shape;
  if (b.rows != std::max(a.rows, a.cols)) fail(data, fmt::format("has {} rows; it needs max(m, n) = {}", b.rows, std::max(a.rows, a.cols)));
  for (std::int64_t k = 0; arrays_readable_ && (a.ragged() || b.row_sizes) && k < a.count; ++k) {
    std::int64_t const needed = std::max(a.rows_of(k), a.cols_of(k));
    if (b.rows_of(k) != needed) fail(data, fmt::format("has {} rows in matrix {}; it needs max(m, n) = {}", b.rows_of(k), k, needed));
  }
  return *this;
}

bool Check::meet(UntypedBatch const& a, UntypedBatch const& b) const {
  return arrays_readable_ || (uniform(a) && uniform(b)) ? overlap(a, b) : overlap_in_any_case(a, b);
}

Check const& Check::outside(char const* data, std::int64_t bytes, Argument argument, UntypedBatch const& output,
                            char const* output_name) const {
  auto const begin = reinterpret_cast<std::uintptr_t>(data);
  Interval const number{begin, begin + static_cast<std::uintptr_t>(bytes)};
  bool meets = uniform(output) && has(output, number);
  if (!uniform(output) && arrays_readable_)
    for (std::int64_t b = 0; !meets && b < output.shape.count; ++b) meets = interval_of(output, b).meets(number);
  return require(!meets, argument, fmt::format("is in the memory of {}", output_name));
}

Check const& Check::disjoint(UntypedBatch const& output, UntypedBatch const& input, Argument output_data, char const* input_name) const {
  if (meet(output, input)) fail(output_data, fmt::format("overlaps {}", input_name));
  return *this;
}

Check const& Check::disjoint_or_same(UntypedBatch const& output, UntypedBatch const& input, Argument output_data,
                                     char const* input_name) const {
  if (!same_matrices(output, input) && meet(output, input))
    fail(output_data, fmt::format("overlaps {} without being the same matrices", input_name));
  return *this;
}

}  // namespace myriad
