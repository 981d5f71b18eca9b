#pragma once
/// Helpers of the tests at the ends of the range: numbers drawn by a seed, batches of plain matrices.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "case/case.hpp"
#include "core/dtype.hpp"
#include "draw.hpp"
#include "myriad/myriad.hpp"

namespace myriad::cases::range {

inline constexpr std::array all_dtypes{Dtype::f32, Dtype::f64, Dtype::c32, Dtype::c64};

inline Queue& queue() {
  static Queue queue{{.backend = Backend::cpu, .threads = 1}};
  return queue;
}
using tests::seed;

/// Scaling of columns. Dense matrices of few bits: all columns by one power of two (`uniform`), or half of them up and the others down
/// (`mixed`), far from one. Permutation matrices, where no step rounds: by the largest and smallest powers of two of the type (`ends`).
enum class Mode { uniform, mixed, ends };

struct Setting {
  Mode mode = Mode::uniform;
  std::int64_t n = 1;
  std::int64_t count = 1;
  bool row_major = false;
  unsigned draw = 1;
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    out << (mode == Mode::uniform ? "uniform"
            : mode == Mode::mixed ? "mixed"
                                  : "ends")
        << ", n = " << n << ", count = " << count << (row_major ? ", row-major" : ", column-major") << ", seed " << seed() << ", draw "
        << draw;
    return out.str();
  }
};

template <typename T>
struct Matrices {
  std::int64_t rows, cols, count;
  bool by_rows;
  std::vector<T> data;
  Matrices(std::int64_t m, std::int64_t n, Setting const& s)
      : rows(m), cols(n), count(s.count), by_rows(s.row_major), data(static_cast<std::size_t>(m * n * s.count), unwritten()) {}
  static T unwritten() {
    if constexpr (std::is_same_v<T, int>)
      return -1;
    else
      return T(Compute<T>(std::numeric_limits<Real<Compute<T>>>::quiet_NaN()));
  }
  T& operator()(std::int64_t b, std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(b * rows * cols + (by_rows ? i * cols + j : i + j * rows))];
  }
  Batch<T> view() {
    return by_rows ? row_major(data.data(), rows, cols, {.count = count}) : batch(data.data(), rows, cols, {.count = count});
  }
  operator Batch<T>() { return view(); }
  operator Batch<T const>() { return view(); }
};

/// A number of the type from its real and imaginary parts.
template <typename T>
T number(double re, double im = 0) {
  if constexpr (is_complex<T>)
    return T(static_cast<Real<T>>(re), static_cast<Real<T>>(im));
  else
    return static_cast<T>(re);
}
template <typename T>
inline constexpr bool single = sizeof(Real<T>) == 4;
template <typename F>
void for_each_dtype(F&& f) {
  for (Dtype const dtype : all_dtypes) {
    SCOPED_TRACE(name(dtype));
    with_dtype(dtype, f);
  }
}

}  // namespace myriad::cases::range
