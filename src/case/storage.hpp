#pragma once
/// A batch with its memory, in any layout: padding is filled with a canary, and the state before the run is saved.

#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <memory_resource>
#include <string>
#include <vector>

#include "case/problem.hpp"
#include "case/wide.hpp"
#include "myriad/batch.hpp"
#include "myriad/memory.hpp"

namespace myriad::cases {

/// Allocator of the cases' arrays. Host memory by default; tests on a GPU set memory that both can access.
std::pmr::memory_resource*& array_memory();

/// Memory aligned to cache lines, so that timings do not depend on the allocator's placement.
template <typename T>
struct CacheAligned {
  using value_type = T;
  CacheAligned() = default;
  template <typename U>
  CacheAligned(CacheAligned<U> const&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(array_memory()->allocate(n * sizeof(T), 64)); }
  void deallocate(T* p, std::size_t n) { array_memory()->deallocate(p, n * sizeof(T), 64); }
  bool operator==(CacheAligned const&) const = default;
};

/// A value that no computation produces by chance: a NaN with a payload, or an odd integer.
template <typename T>
T marker(std::uint32_t payload) {
  if constexpr (std::is_same_v<T, int>) {
    return static_cast<int>(0x80000000U | payload);
  } else if constexpr (is_complex<T>) {
    return {marker<Real<T>>(payload), marker<Real<T>>(payload + 1)};
  } else if constexpr (HalfElement<T>) {
    return T::from_bits(static_cast<std::uint16_t>(std::numeric_limits<T>::quiet_NaN().bits() | (payload & 0x3fU)));
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(0x7fc00000U | (payload & 0xffffU));
  } else {
    return std::bit_cast<T>(0x7ff8000000000000ULL | payload);
  }
}

/// An array of any type, used by a run.
class ArrayBase {
 public:
  virtual ~ArrayBase() = default;
  virtual void restore() = 0;                                             ///< restores the state saved by keep()
  virtual void keep() = 0;                                                ///< saves the current state as that before a run
  [[nodiscard]] virtual bool unchanged() const = 0;                       ///< whether every byte is as before the run
  [[nodiscard]] virtual bool padding_unchanged() const = 0;               ///< whether all padding is as before the run
  virtual void append_bytes(std::int64_t b, std::string& out) const = 0;  ///< appends the elements of matrix b, whatever the layout
  virtual bool spoil(std::int64_t b, bool with_nan) = 0;                  ///< changes element (0, 0); false if there is none
  virtual bool spoil_padding() = 0;                                       ///< changes an element of the padding
  [[nodiscard]] virtual std::string part_at(void const* p) const = 0;     ///< name of the part whose memory begins at p; empty: none
  [[nodiscard]] virtual double bytes() const = 0;                         ///< of all elements; 0 for integers
  [[nodiscard]] virtual bool matrix_unchanged(std::int64_t b) const = 0;  ///< whether the elements of matrix b are as before the run

  // After `place` a routine gets `count` matrices in the queue's memory, filled by repeating those here; the ones here then receive the
  // results of `fetch`. For layouts without gaps.
  /// With `restored` the initial state is saved for `refresh`.
  virtual void place(Queue& queue, std::int64_t count, bool behind_pointers, bool restored) = 0;
  virtual void refresh(Queue& queue) = 0;  ///< restores the initial state
  virtual void poison(Queue& queue) = 0;   ///< sets arrays that are not saved to NaN
  /// Copies `some` matrices from `first` on, at most as many as are here, to the places of the matrices that they were filled from.
  virtual void fetch(Queue& queue, std::int64_t first, std::int64_t some) = 0;
};

template <typename T>
class Array final : public ArrayBase {
 public:
  using Size = std::function<std::int64_t(Shape)>;

  /// A batch of rows-by-cols matrices with the problem's count, layout and raggedness, stored transposed or conjugated as viewed by `op`.
  /// Its elements are NaN. An input may be limited to `most` elements in memory here, which repeat.
  Array(Problem const& problem, Size const& rows, Size const& cols, Op op = Op::none, std::int64_t most = every)
      : Array(problem, problem.layout, rows, cols, op, most) {
    behind_pointers_ = true;
  }
  /// The same in another layout, which is not placed with pointers.
  Array(Problem const& problem, Layout layout, Size const& rows, Size const& cols, Op op = Op::none, std::int64_t most = every);
  Array(Array const&) = delete;
  Array& operator=(Array const&) = delete;

  /// The batch to pass to a routine.
  [[nodiscard]] Batch<T> const& view() const { return view_; }
  /// The first element of an array with one value per matrix.
  [[nodiscard]] T* data() const { return view_.data; }
  [[nodiscard]] std::int64_t count() const { return here_.count; }
  [[nodiscard]] std::int64_t rows(std::int64_t b) const { return here_.rows_of(b); }
  [[nodiscard]] std::int64_t cols(std::int64_t b) const { return here_.cols_of(b); }

  [[nodiscard]] bool repeats() const { return repeats_; }

  [[nodiscard]] T get(std::int64_t b, std::int64_t i, std::int64_t j) const { return seen(memory_[place(b, i, j)]); }
  void set(std::int64_t b, std::int64_t i, std::int64_t j, T value) { memory_[place(b, i, j)] = seen(value); }
  /// Element (i, j) of matrix b before the run.
  [[nodiscard]] T before(std::int64_t b, std::int64_t i, std::int64_t j) const { return seen(before_[place(b, i, j)]); }

  /// Matrix b now, and before the run, in the oracles' type.
  [[nodiscard]] Dense<Wide<T>> now_wide(std::int64_t b) const {
    return gathered(b, [&](auto i, auto j) { return get(b, i, j); });
  }
  [[nodiscard]] Dense<Wide<T>> before_wide(std::int64_t b) const {
    return gathered(b, [&](auto i, auto j) { return before(b, i, j); });
  }
  /// Sets matrix b, rounded to T; a real T takes the real part of complex numbers.
  template <typename W>
  void assign(std::int64_t b, Dense<W> const& a) {
    for (std::int64_t j = 0; j < cols(b); ++j)
      for (std::int64_t i = 0; i < rows(b); ++i)
        if constexpr (complex_type<W> && !is_complex<T>)
          set(b, i, j, static_cast<T>(a(i, j).real()));
        else if constexpr (is_complex<T>)
          set(b, i, j, T(static_cast<Real<T>>(std::real(a(i, j))), static_cast<Real<T>>(std::imag(a(i, j)))));
        else
          set(b, i, j, static_cast<T>(a(i, j)));
  }
  /// Sets all elements in memory, including padding.
  template <typename F>
  void assign_each(F&& number) {
    for (T& x : memory_) x = number();
  }
  [[nodiscard]] bool matrix_unchanged(std::int64_t b) const override {
    if (repeats_) return true;  // such an input is too large to fetch
    for (std::int64_t j = 0; j < cols(b); ++j)
      for (std::int64_t i = 0; i < rows(b); ++i)
        if (!element_unchanged(b, i, j)) return false;
    return true;
  }
  [[nodiscard]] bool element_unchanged(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return std::memcmp(&memory_[place(b, i, j)], &before_[place(b, i, j)], sizeof(T)) == 0;
  }

  void restore() override { std::memcpy(memory_.data(), before_.data(), memory_.size() * sizeof(T)); }
  void keep() override { before_ = memory_; }
  [[nodiscard]] bool unchanged() const override { return std::memcmp(memory_.data(), before_.data(), memory_.size() * sizeof(T)) == 0; }
  [[nodiscard]] bool padding_unchanged() const override {
    auto padding = memory_;
    for_all([&](auto b, auto i, auto j) { padding[place(b, i, j)] = before_[place(b, i, j)]; });
    return std::memcmp(padding.data(), before_.data(), padding.size() * sizeof(T)) == 0;
  }
  void append_bytes(std::int64_t b, std::string& out) const override {
    for (std::int64_t j = 0; j < cols(b); ++j)
      for (std::int64_t i = 0; i < rows(b); ++i) {
        T const value = get(b, i, j);
        out.append(reinterpret_cast<char const*>(&value), sizeof value);
      }
  }
  bool spoil(std::int64_t b, bool with_nan) override {
    if (rows(b) == 0 || cols(b) == 0) return false;
    T& x = memory_[place(b, 0, 0)];
    if constexpr (std::is_same_v<T, int>) {
      x += with_nan ? 1000 : 1;
    } else {
      // small, but well above any error bound: the fourth root of the unit roundoff
      using R = Real<Compute<T>>;
      R const change = with_nan ? std::numeric_limits<R>::quiet_NaN()
                                : std::max(R(1), modulus1(Compute<T>(x))) * static_cast<R>(std::sqrt(std::sqrt(unit_roundoff<T>)));
      x = T(Compute<T>(x) + change);
    }
    return true;
  }
  bool spoil_padding() override {
    if (memory_.empty()) return false;
    memory_.back() = T(Compute<T>(1));
    return true;
  }
  [[nodiscard]] std::string part_at(void const* p) const override {
    auto const begins_at = [&](auto const& memory) { return !memory.empty() && static_cast<void const*>(memory.data()) == p; };
    if (begins_at(memory_)) return "elements, " + std::to_string(here_.rows) + " by " + std::to_string(here_.cols) + " per matrix";
    if (begins_at(pointers_)) return "pointers";
    if (begins_at(row_sizes_) || begins_at(col_sizes_)) return "sizes";
    if (begins_at(row_strides_) || begins_at(col_strides_)) return "strides";
    return "";
  }
  [[nodiscard]] double bytes() const override {
    if (std::is_same_v<T, int>) return 0;
    double elements = 0;
    for (std::int64_t b = 0; b < here_.count; ++b) elements += static_cast<double>(rows(b)) * static_cast<double>(cols(b));
    return elements * sizeof(T);
  }

  void place(Queue& queue, std::int64_t count, bool behind_pointers, bool restored) override;
  void refresh(Queue& queue) override { copy<T>(queue, kept_.data(), kept_.size(), placed_.data()); }
  void poison(Queue& queue) override;
  void fetch(Queue& queue, std::int64_t first, std::int64_t some) override;

 private:
  T seen(T x) const {
    if constexpr (is_complex<T>) {
      using std::conj;
      return here_.conjugated ? conj(x) : x;
    } else {
      return x;
    }
  }
  [[nodiscard]] std::size_t place(std::int64_t b, std::int64_t i, std::int64_t j) const {
    auto const at = static_cast<std::size_t>(here_.at(b, i, j) - memory_.data());
    return repeats_ ? at % memory_.size() : at;
  }
  template <typename F>
  void for_all(F&& f) const {
    for (std::int64_t b = 0; b < here_.count; ++b)
      for (std::int64_t j = 0; j < cols(b); ++j)
        for (std::int64_t i = 0; i < rows(b); ++i) f(b, i, j);
  }
  template <typename F>
  [[nodiscard]] Dense<Wide<T>> gathered(std::int64_t b, F&& element) const {
    Dense<Wide<T>> a(rows(b), cols(b));
    for (std::int64_t j = 0; j < a.cols(); ++j)
      for (std::int64_t i = 0; i < a.rows(); ++i) a(i, j) = widened<Wide<T>>(element(i, j));
    return a;
  }

  std::vector<T, CacheAligned<T>> memory_;
  std::vector<T, CacheAligned<T>> before_;
  std::vector<T*, CacheAligned<T*>> pointers_;
  std::vector<std::int64_t, CacheAligned<std::int64_t>> row_sizes_, col_sizes_, row_strides_, col_strides_;
  static constexpr std::int64_t every = std::numeric_limits<std::int64_t>::max();
  Batch<T> here_, view_;
  bool interleaved_, repeats_ = false, behind_pointers_ = false;
  DeviceArray<T> placed_, kept_;
  DeviceArray<T*> placed_pointers_;
};

/// Fills memory of the queue with the repeated pattern.
template <typename T>
void fill(Queue& queue, T* to, std::int64_t size, T const* pattern, std::int64_t length) {
  copy<T>(queue, pattern, std::min(size, length), to);
  for (std::int64_t done = length; done < size; done *= 2) copy<T>(queue, to, std::min(done, size - done), to + done);
}

extern template class Array<int>;
extern template class Array<float>;
extern template class Array<double>;
extern template class Array<std::complex<float>>;
extern template class Array<std::complex<double>>;
extern template class Array<half>;
extern template class Array<bfloat16>;
extern template class Array<complex_half>;

}  // namespace myriad::cases
