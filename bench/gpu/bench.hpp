#pragma once
/// One row of the benchmark: a routine on the GPU, timed beside its peers and checked in the same run.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "case/case.hpp"
#include "gpu/peers.hpp"
#include "gpu/run.hpp"
#include "myriad/myriad.hpp"

namespace myriad::bench {

using Json = nlohmann::ordered_json;

struct Timing {
  double seconds = 0;  ///< median
  double joules = 0;   ///< of one call; 0 where it was not measured
};

/// Times `work`, after `refresh` each time, which is not timed.
inline Timing time(Queue& queue, Options const& options, std::function<void()> const& refresh, std::function<void()> const& work,
                   EnergyMeter const& meter) {
  Event start(queue), stop(queue);
  std::vector<double> seconds;
  for (int repeat = -2; repeat < options.repeats; ++repeat) {
    refresh();
    start.record();
    work();
    stop.record();
    double const elapsed = stop.seconds_since(start);
    if (repeat >= 0) seconds.push_back(elapsed);
  }
  std::sort(seconds.begin(), seconds.end());
  Timing timing{.seconds = seconds[seconds.size() / 2], .joules = 0};
  if (options.energy_seconds > 0) {
    auto const calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(options.energy_seconds / timing.seconds));
    auto const joules_of = [&](auto const& call) {
      queue.wait();
      double const before = meter.joules();
      for (std::int64_t k = 0; k < calls; ++k) call();
      queue.wait();
      return (meter.joules() - before) / static_cast<double>(calls);
    };
    // Inputs are fresh each time; what that takes is measured alone and taken off.
    timing.joules = joules_of([&] { refresh(), work(); }) - joules_of(refresh);
  }
  return timing;
}

/// Matrices of a batch of the host, as the oracles want them.
template <typename T>
cases::Dense<cases::Wide<T>> wide(T const* a, std::int64_t rows, std::int64_t cols, bool by_rows) {
  cases::Dense<cases::Wide<T>> out(rows, cols);
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i) out(i, j) = cases::widened<cases::Wide<T>>(a[by_rows ? i * cols + j : i + j * rows]);
  return out;
}

/// The largest of `error(k)` for k below `some`, by all cores.
inline double largest_of(std::int64_t some, std::function<double(std::int64_t)> const& error) {
  std::vector<double> errors(static_cast<std::size_t>(some));
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t k = 0; k < some; ++k) errors[static_cast<std::size_t>(k)] = error(k);
  double largest = 0;
  for (double const e : errors) largest = cases::larger(largest, e);
  return largest;
}

/// Random numbers, for each row of the benchmark the same, which are made once: making them anew took longer than what is timed. They are
/// more than three arrays take, so that none repeats another, but those of large interleaved matrices.
template <typename T>
class NormalNumbers {
 public:
  T operator()() { return numbers()[next_++ % numbers().size()]; }

 private:
  static std::vector<T> const& numbers() {
    using Number = Compute<T>;
    static std::vector<T> const numbers = [] {
      std::mt19937_64 random(1);
      std::normal_distribution<Real<Number>> normal;
      std::vector<T> out(4 << 20);
      for (T& x : out) {
        if constexpr (is_complex<T>)
          x = T(Number(normal(random), normal(random)));
        else
          x = T(normal(random));
      }
      return out;
    }();
    return numbers;
  }

  std::size_t next_ = 0;
};

/// A pattern from the host over and over.
template <typename T>
void fill(Queue& queue, T* data, std::int64_t size, std::vector<T> const& pattern) {
  std::int64_t const fresh = std::min(size, static_cast<std::int64_t>(pattern.size()));
  copy<T>(queue, pattern.data(), fresh, data);
  for (std::int64_t done = fresh; done < size; done *= 2) copy<T>(queue, data, std::min(done, size - done), data + done);
}

/// max |R - (A B + C)| / ((gamma(k + 2) + of_factors) |A| |B| + gamma(2) |C|), element by element.
template <typename T, typename Matrix = cases::Dense<cases::Wide<T>>>
double product_error(Matrix const& a, Matrix const& b, Matrix const& c, Matrix const& result, double of_factors = 0) {
  Matrix const product = a * b;
  auto const bound = cases::moduli(a) * cases::moduli(b);
  double largest = 0;
  for (std::int64_t j = 0; j < result.cols(); ++j)
    for (std::int64_t i = 0; i < result.rows(); ++i) {
      auto const allowed = (cases::gamma_bound<T>(a.cols() + 2) + of_factors) * static_cast<double>(bound(i, j)) +
                           cases::gamma_bound<T>(2) * static_cast<double>(std::abs(c(i, j)));
      largest = cases::larger(largest, static_cast<double>(std::abs(result(i, j) - (product(i, j) + c(i, j)))) / allowed);
    }
  return largest;
}

template <typename T>
class Bench {
 public:
  Bench(Queue& queue, Options const& options, Peers& peers, EnergyMeter const& meter, double rate, std::string routine, int n,
        std::string layout, Uplo uplo)
      : queue_(queue),
        options_(options),
        peers_(peers),
        meter_(meter),
        rate_(rate),
        routine_(std::move(routine)),
        layout_(std::move(layout)),
        uplo_(uplo),
        n_(n),
        columns_(routine_ == "gemv" && options.k > 0 ? options.k : n),
        count_(options.count > 0 ? options.count
                                 : std::clamp<std::int64_t>(static_cast<std::int64_t>(options.gigabytes * 1e9) /
                                                                (static_cast<std::int64_t>(sizeof(T)) * n * columns_),
                                                            1, n <= 4 ? 16'000'000 : 1'000'000)),
        original_(queue, count_ * n * columns_),
        right_(queue, count_ * columns_),
        a_(queue, count_ * n * columns_),
        b_(queue, count_ * columns_),
        x_(queue, routine_ == "inverse" || has_product() || applies() ? count_ * n * n : 0),
        y_(queue, has_product() ? count_ * n * n : 0),
        v_(queue, has_vectors() ? count_ * n : 0),
        tau_(queue, count_ * n),
        w_(queue, has_values() || reduces() || has_reflectors() ? count_ * n : 0),
        e_(queue, reduces() || has_reflectors() ? count_ * n : 0),
        pivots_(queue, count_ * n),
        info_(queue, count_),
        one_info_(queue, 1),
        other_(queue, only_reads() || has_triangle() ? 8 * queue.device().l2_bytes / static_cast<std::int64_t>(sizeof(T)) : 0) {
    make_matrices(original_);
    if (has_product()) make_matrices(y_);
    std::vector<T> pattern(std::min<std::size_t>(static_cast<std::size_t>(count_ * columns_), (1 << 20) + 7));
    for (T& x : pattern) x = normal_();
    fill(queue_, right_.data(), count_ * columns_, pattern);
    if (has_vectors()) {
      queue_.wait();
      std::reverse(pattern.begin(), pattern.end());
      fill(queue_, v_.data(), count_ * n, pattern);
    }
    if (layout_ == "pointers") {
      pa_ = pointers(a_.data(), n * columns_);
      pb_ = pointers(b_.data(), columns_);
      px_ = pointers(x_.data(), n * n);
      py_ = pointers(y_.data(), n * n);
      pv_ = pointers(v_.data(), n);
    }
    queue_.wait();
  }

  /// Routines that are told which triangle to read.
  [[nodiscard]] static bool has_uplo(std::string const& routine) { return routine == "symv" || routine == "hemv"; }

  Json row() {
    std::function<void()> const work = routine();
    prepare();
    Timing const mine = time(
        queue_, options_, [this] { refresh(); }, work, meter_);
    refresh();
    work();
    double const error = worst();
    double const bytes = least_elements() * sizeof(T) * static_cast<double>(count_);
    Json out;
    out["routine"] = arithmetic() == Arithmetic::standard ? routine_ : routine_ + ", " + options_.arithmetic;
    out["dtype"] = std::string(1, "sdcz"[static_cast<std::size_t>(dtype_of<T>)]);
    out["n"] = n_;
    if (columns_ != n_) out["columns"] = columns_;
    out["layout"] = layout_;
    if (has_uplo(routine_)) out["uplo"] = uplo_ == Uplo::lower ? "lower" : "upper";
    out["count"] = count_;
    out["ns_per_matrix"] = mine.seconds / static_cast<double>(count_) * 1e9;
    out["share_of_copy_rate"] = bytes / mine.seconds / rate_;
    if (mine.joules > 0) out["nanojoules_per_matrix"] = mine.joules / static_cast<double>(count_) * 1e9;
    out["error"] = error;
    out["pass"] = error <= 30;
    if (solves_square() && n_ > 1) out["gemm_of_as_many_flops_ns_per_matrix"] = time_gemm() / static_cast<double>(count_) * 1e9;
    out["peers"] = has_peers() && !options_.no_peers ? time_peers() : Json::object();
    double best = 0;
    for (auto const& [name, peer] : out["peers"].items())
      if (double const ns = peer["ns_per_matrix"]; best == 0 || ns < best) best = ns;
    if (best > 0) out["times_faster_than_best_peer"] = best / out["ns_per_matrix"].get<double>();
    return out;
  }

 private:
  using Matrix = cases::Dense<cases::Wide<T>>;

  [[nodiscard]] bool interleaves() const { return layout_ == "interleaved"; }
  [[nodiscard]] bool by_rows() const { return layout_ == "row_major"; }
  /// A product with a matrix that is by rows is one with a transposed matrix to cuBLAS.
  [[nodiscard]] bool has_peers() const { return layout_ == "column_major" || (by_rows() && routine_ == "gemv"); }
  /// gemm, symm: C += A B, with A in a_, B in y_ and C, which begins as A, in x_; syrk: C += A A^T; trmm: C = A C.
  [[nodiscard]] bool multiplies() const { return routine_ == "gemm" || routine_ == "symm" || routine_ == "syrk" || routine_ == "trmm"; }
  /// trsm-square: A X = C, where C begins as A.
  [[nodiscard]] bool solves_square() const { return routine_ == "trsm-square"; }
  [[nodiscard]] bool has_product() const { return multiplies() || solves_square(); }
  /// gemv: y = A x; ger: A += x y^T. x is in b_, y in v_.
  [[nodiscard]] bool has_vectors() const { return routine_ == "gemv" || routine_ == "ger" || only_reads(); }
  /// symv, hemv: y = A x; matrices may be large, and are in none of the GPU's caches when a call begins.
  [[nodiscard]] bool only_reads() const { return has_uplo(routine_); }
  /// trmv: x = A x; trsv: A x = b. x is in b_; in none of the GPU's caches either.
  [[nodiscard]] bool has_triangle() const { return routine_ == "trmv" || routine_ == "trsv"; }
  /// Eigenvalues, which are real and lie one behind the other, in w_; vectors take the place of A.
  [[nodiscard]] bool has_values() const { return routine_ == "syevd"; }
  /// To tridiagonal form: d in w_, e in e_, tau in tau_.
  [[nodiscard]] bool reduces() const { return routine_ == "sytrd"; }
  /// From what sytrd leaves: Q in the place of its reflectors, and C = Q C with C in x_, which begins as random.
  [[nodiscard]] bool has_reflectors() const { return routine_ == "orgtr" || applies(); }
  [[nodiscard]] bool applies() const { return routine_ == "ormtr"; }
  [[nodiscard]] bool starts_from_factors() const {
    return has_reflectors() || routine_ == "getrs" || routine_ == "getri" || routine_ == "potrs" || routine_ == "potri";
  }

  /// C += A B with half as many columns as rows, which has the flops of trsm-square and moves as much.
  double time_gemm() {
    Batch<T> const b = block(y(), 0, 0, n_, n_ / 2), c = block(x(), 0, 0, n_, n_ / 2);
    return time(
               queue_, options_, [this] { refresh(); }, [&] { gemm<T>(queue_, T(1), a(), b, T(1), c); }, meter_)
        .seconds;
  }

  /// Random matrices; for Cholesky and triangles with a diagonal that dominates.
  void make_matrices(DeviceArray<T>& to) {
    bool const dominant = routine_.starts_with("po") || routine_ == "solve_positive_definite" || routine_.starts_with("tr");
    auto const element = [&](int i, int j) { return normal_() + T(dominant && i == j ? static_cast<Real<T>>(2 * n_ + 8) : Real<T>(0)); };
    std::int64_t const some = std::min<std::int64_t>(count_, interleaves() ? 1021 : std::max<std::int64_t>(1, (1 << 20) / (n_ * columns_)));
    std::vector<T> pattern;
    if (n_ > 1000) {
      for (int k = 0; k < (1 << 20) + 7; ++k) pattern.push_back(normal_());
      fill(queue_, to.data(), to.size(), pattern);
      queue_.wait();
      if (has_triangle() && !interleaves()) {  // one by one, which is for few matrices
        T const diagonal(static_cast<Real<T>>(2 * n_ + 8));
        for (std::int64_t k = 0; k < count_; ++k)
          for (std::int64_t i = 0; i < n_; ++i) copy<T>(queue_, &diagonal, 1, to.data() + (k * n_ * n_ + i * (n_ + 1)));
        queue_.wait();
      }
    } else if (interleaves()) {
      for (int j = 0; j < columns_; ++j)
        for (int i = 0; i < n_; ++i) {
          pattern.clear();
          for (std::int64_t k = 0; k < some; ++k) pattern.push_back(element(i, j));
          fill(queue_, to.data() + (j * n_ + i) * count_, count_, pattern);
          queue_.wait();
        }
    } else {
      for (std::int64_t k = 0; k < some; ++k)
        for (int j = 0; j < columns_; ++j)
          for (int i = 0; i < n_; ++i) pattern.push_back(element(i, j));
      fill(queue_, to.data(), to.size(), pattern);
      queue_.wait();
    }
  }

  DeviceArray<T*> pointers(T* data, std::int64_t stride) {
    std::vector<T*> host;
    for (std::int64_t k = 0; k < count_; ++k) host.push_back(data + k * stride);
    auto array = to_device(queue_, host);
    queue_.wait();
    return array;
  }

  Batch<T> matrices(T* data, DeviceArray<T*> const& addresses, std::int64_t columns) {
    if (layout_ == "pointers") return batch(addresses.data(), n_, columns, {.count = count_});
    return by_rows()       ? row_major(data, n_, columns, {.count = count_})
           : interleaves() ? interleaved(data, n_, columns, count_)
                           : batch(data, n_, columns, {.count = count_});
  }
  Batch<T> a() { return matrices(a_.data(), pa_, columns_); }
  Batch<T> x() { return matrices(x_.data(), px_, n_); }
  Batch<T> y() { return matrices(y_.data(), py_, n_); }
  Batch<T> columns(T* data, DeviceArray<T*> const& addresses, std::int64_t elements) {
    if (layout_ == "pointers") return batch(addresses.data(), elements, 1, {.count = count_});
    return interleaves() ? interleaved(data, elements, 1, count_) : batch(data, elements, 1, {.count = count_});
  }
  Batch<T> b() { return columns(b_.data(), pb_, columns_); }
  Batch<T> v() { return columns(v_.data(), pv_, n_); }
  Batch<int> pivots() { return vectors(pivots_.data(), n_, count_); }
  Batch<T> tau() { return vectors(tau_.data(), n_, count_); }

  [[nodiscard]] Arithmetic arithmetic() const {
    return options_.arithmetic == "tf32" ? Arithmetic::tf32 : options_.arithmetic == "tf32x3" ? Arithmetic::tf32x3 : Arithmetic::standard;
  }
  /// The call that is timed.
  std::function<void()> routine() {
    int* const info = info_.data();
    if (routine_ == "gemm") return [this] { gemm<T>(queue_, T(1), a(), y(), T(1), x(), arithmetic()); };
    if (routine_ == "symm") return [this] { symm<T>(queue_, Side::left, Uplo::lower, T(1), a(), y(), T(1), x()); };
    if (routine_ == "syrk") return [this] { syrk<T>(queue_, Uplo::lower, T(1), a(), T(1), x()); };
    if (routine_ == "trmm") return [this] { trmm<T>(queue_, Side::left, Uplo::lower, Diag::non_unit, T(1), a(), x()); };
    if (routine_ == "gemv") return [this] { gemv<T>(queue_, T(1), a(), b(), T(0), v()); };
    if (routine_ == "ger") return [this] { ger<T>(queue_, T(1), b(), v(), a()); };
    if (routine_ == "symv") return [this] { symv<T>(queue_, uplo_, T(1), a(), b(), T(0), v()); };
    if (routine_ == "hemv") return [this] { hemv<T>(queue_, uplo_, T(1), a(), b(), T(0), v()); };
    if (routine_ == "getrf") return [=, this] { getrf<T>(queue_, a(), pivots(), info); };
    if (routine_ == "getrs") return [this] { getrs<T>(queue_, Op::none, a(), pivots(), b()); };
    if (routine_ == "gesv") return [=, this] { gesv<T>(queue_, a(), pivots(), b(), info); };
    if (routine_ == "solve") return [=, this] { solve<T>(queue_, a(), b(), b(), info); };
    if (routine_ == "getri") return [=, this] { getri<T>(queue_, a(), pivots(), info); };
    if (routine_ == "inverse") return [=, this] { inverse<T>(queue_, a(), x(), info); };
    if (routine_ == "det") return [this] { det<T>(queue_, a(), b_.data()); };
    if (routine_ == "potrf") return [=, this] { potrf<T>(queue_, Uplo::lower, a(), info); };
    if (routine_ == "potrs") return [this] { potrs<T>(queue_, Uplo::lower, a(), b()); };
    if (routine_ == "posv") return [=, this] { posv<T>(queue_, Uplo::lower, a(), b(), info); };
    if (routine_ == "solve_positive_definite") return [=, this] { solve_positive_definite<T>(queue_, Uplo::lower, a(), b(), b(), info); };
    if (routine_ == "potri") return [=, this] { potri<T>(queue_, Uplo::lower, a(), info); };
    if (routine_ == "geqrf") return [this] { geqrf<T>(queue_, a(), tau()); };
    if (routine_ == "gels") return [=, this] { gels<T>(queue_, a(), b(), info); };
    if (routine_ == "trsm") return [this] { trsm<T>(queue_, Side::left, Uplo::lower, Diag::non_unit, T(1), a(), b()); };
    if (routine_ == "trmv") return [this] { trmv<T>(queue_, Uplo::lower, Diag::non_unit, a(), b()); };
    if (routine_ == "trsv") return [this] { trsv<T>(queue_, Uplo::lower, Diag::non_unit, a(), b()); };
    if (solves_square()) return [this] { trsm<T>(queue_, Side::left, Uplo::lower, Diag::non_unit, T(1), a(), x()); };
    if (routine_ == "trtri") return [=, this] { trtri<T>(queue_, Uplo::lower, Diag::non_unit, a(), info); };
    if (has_values()) return [=, this] { syevd<T>(queue_, Job::vectors, Uplo::lower, a(), vectors(w_.data(), n_, count_), info); };
    if (reduces()) return [this] { reduce(); };
    if (routine_ == "orgtr") return [this] { orgtr<T>(queue_, Uplo::lower, a(), rows(tau(), 0, n_ - 1)); };
    if (applies()) return [this] { ormtr<T>(queue_, Side::left, Uplo::lower, Op::none, a(), rows(tau(), 0, n_ - 1), x()); };
    throw Error(fmt::format("'{}' is not measured on a GPU; routines are {}", routine_, fmt::join(routines, ", ")));
  }

  void reduce() {
    sytrd<T>(queue_, Uplo::lower, a(), vectors(w_.data(), n_, count_), rows(vectors(e_.data(), n_, count_), 0, n_ - 1),
             rows(tau(), 0, n_ - 1));
  }

  /// Elements that have to be moved for one matrix.
  [[nodiscard]] double least_elements() const {
    double const n = n_;
    if (routine_ == "gemv") return n * static_cast<double>(columns_) + n + static_cast<double>(columns_);
    if (routine_ == "getrs" || routine_ == "solve") return n * n + 2 * n;
    if (routine_ == "ger" || routine_ == "gesv") return 2 * n * n + 2 * n;
    if (only_reads()) return n * (n + 1) / 2 + 2 * n;
    if (routine_ == "gemm") return 4 * n * n;
    if (routine_ == "symm") return n * (n + 1) / 2 + 3 * n * n;
    if (routine_ == "syrk") return n * n + n * (n + 1);
    if (routine_ == "trmm" || solves_square()) return n * (n + 1) / 2 + 2 * n * n;
    if (routine_ == "det") return n * n;
    if (routine_ == "potrf" || routine_ == "potri" || routine_ == "trtri") return n * (n + 1);
    if (routine_ == "potrs" || routine_ == "posv" || routine_ == "solve_positive_definite" || routine_ == "trsm" || has_triangle())
      return n * (n + 1) / 2 + 2 * n;
    if (routine_ == "gels") return 2 * n * n + 2 * n;
    if (has_values()) return n * (n + 1) / 2 + n * n + n / (is_complex<T> ? 2 : 1);
    if (reduces()) return n * (n + 1);
    if (routine_ == "orgtr") return n * (n + 1) / 2 + n * n;
    if (applies()) return n * (n + 1) / 2 + 2 * n * n;
    return 2 * n * n;
  }

  /// Leaves in a_ what the routine starts from, and keeps that.
  void prepare() {
    start_ = original_.data();
    if (only_reads()) {
      copy<T>(queue_, start_, count_ * n_ * n_, a_.data());
      copy<T>(queue_, right_.data(), count_ * n_, b_.data());
    }
    if (!starts_from_factors()) return;
    refresh();
    if (has_reflectors())
      reduce();
    else if (routine_.starts_with("po"))
      potrf<T>(queue_, Uplo::lower, a(), nullptr);
    else
      getrf<T>(queue_, a(), pivots(), nullptr);
    factors_ = DeviceArray<T>(queue_, count_ * n_ * n_);
    copy<T>(queue_, a_.data(), count_ * n_ * n_, factors_.data());
    start_ = factors_.data();
  }
  void refresh() {
    if (!only_reads()) {
      copy<T>(queue_, start_, a_.size(), a_.data());
      copy<T>(queue_, right_.data(), b_.size(), b_.data());
    }
    if (other_.size() > 0) {  // what is copied takes the place of all else in the caches
      std::int64_t const half = other_.size() / 2;
      copy<T>(queue_, other_.data(), half, other_.data() + half);
    }
    if (has_product()) copy<T>(queue_, start_, count_ * n_ * n_, x_.data());
    if (applies()) copy<T>(queue_, original_.data(), x_.size(), x_.data());
  }

  Json time_peers() {
    Json out = Json::object();
    // A product has no vectors.
    auto const vectors_of = [&](DeviceArray<T>& of) { return multiplies() ? DeviceArray<T*>() : pointers(of.data(), n_); };
    auto const pa = pointers(a_.data(), n_ * n_), px = pointers(x_.data(), n_ * n_), py = pointers(y_.data(), n_ * n_), pb = vectors_of(b_),
               pt = vectors_of(tau_);
    auto const as_void = [](DeviceArray<T*> const& p) { return reinterpret_cast<void* const*>(p.data()); };
    auto const measure = [&](char const* name, std::function<void()> const& work) {
      Timing const timing = time(
          queue_, options_, [this] { refresh(); }, work, meter_);
      out[name]["ns_per_matrix"] = timing.seconds / static_cast<double>(count_) * 1e9;
      if (timing.joules > 0) out[name]["nanojoules_per_matrix"] = timing.joules / static_cast<double>(count_) * 1e9;
    };
    int const count = static_cast<int>(count_);
    Dtype const dtype = dtype_of<T>;
    auto const lu = [&] { peers_.getrf(dtype, n_, as_void(pa), pivots_.data(), info_.data(), count); };
    auto const cholesky = [&] { peers_.potrf(dtype, n_, as_void(pa), info_.data(), count); };
    T const one(1), zero(0);
    // A form that a version does not have, or not for so large a batch, is left out, and one that wants more memory than there is:
    // XsyevBatched asks for terabytes for 16 million matrices of 4 rows.
    auto const attempt = [&](char const* name, auto const& measure_it) {
      auto const left_out = [&](std::runtime_error const& reason) {
        fmt::print(stderr, "{}: {} of {} matrices of {} rows is not measured: {}\n", options_.program, name, count_, n_, reason.what());
      };
      try {
        measure_it();
      } catch (PeerError const& reason) {
        left_out(reason);
      } catch (OutOfMemory const& reason) {
        left_out(reason);
      }
    };
    if (peers_.has_cublas()) {
      // It has no other products for batches.
      if (multiplies()) {
        measure("cuBLAS gemmStridedBatched", [&] { peers_.gemm_strided(dtype, n_, n_, &one, a_.data(), y_.data(), x_.data(), count); });
        measure("cuBLAS gemmBatched", [&] { peers_.gemm(dtype, n_, &one, as_void(pa), as_void(py), as_void(px), count); });
        measure("cuBLAS gemmStridedBatchedEx", [&] { peers_.gemm_ex(dtype, n_, n_, 1, a_.data(), y_.data(), x_.data(), count); });
        if (peers_.has_grouped_ex(dtype))
          attempt("cuBLAS gemmGroupedBatchedEx", [&] {
            measure("cuBLAS gemmGroupedBatchedEx",
                    [&] { peers_.gemm_grouped_ex(dtype, n_, n_, as_void(pa), as_void(py), as_void(px), count); });
          });
      }
      if (routine_ == "gemv")
        measure("cuBLAS gemvStridedBatched",
                [&] { peers_.gemv_strided(dtype, n_, columns_, by_rows(), &one, &zero, a_.data(), b_.data(), v_.data(), count); });
      if (only_reads()) {
        bool const hermitian = routine_ == "hemv" && is_complex<T>;
        if (count == 1)
          measure(hermitian ? "cuBLAS hemv" : "cuBLAS symv",
                  [&] { peers_.symv(dtype, hermitian, uplo_, n_, &one, &zero, a_.data(), b_.data(), v_.data()); });
        measure("cuBLAS gemvStridedBatched, all of A",
                [&] { peers_.gemv_strided(dtype, n_, columns_, by_rows(), &one, &zero, a_.data(), b_.data(), v_.data(), count); });
      }
      if (routine_ == "ger")
        measure("cuBLAS gemmStridedBatched", [&] { peers_.gemm_strided(dtype, n_, 1, &one, b_.data(), v_.data(), a_.data(), count); });
      if (routine_ == "getrf" || routine_ == "det") measure("cuBLAS getrfBatched", lu);
      auto const substitute = [&] { peers_.getrs(dtype, n_, 1, as_void(pa), pivots_.data(), as_void(pb), count); };
      if (routine_ == "getrs") measure("cuBLAS getrsBatched", substitute);
      if (routine_ == "gesv" || routine_ == "solve")
        measure("cuBLAS getrfBatched, getrsBatched", [&] {
          lu();
          substitute();
        });
      auto const invert = [&](DeviceArray<T*> const& to) {
        peers_.getri(dtype, n_, as_void(pa), pivots_.data(), as_void(to), info_.data(), count);
      };
      if (routine_ == "inverse") {
        measure("cuBLAS getrfBatched, getriBatched", [&] {
          lu();
          invert(px);
        });
        if (n_ <= 32) measure("cuBLAS matinvBatched", [&] { peers_.matinv(dtype, n_, as_void(pa), as_void(px), info_.data(), count); });
      }
      if (routine_ == "geqrf") measure("cuBLAS geqrfBatched", [&] { peers_.geqrf(dtype, n_, as_void(pa), as_void(pt), count); });
      if (routine_ == "gels") measure("cuBLAS gelsBatched", [&] { peers_.gels(dtype, n_, as_void(pa), as_void(pb), info_.data(), count); });
      if (has_triangle() && count == 1)
        measure(routine_ == "trmv" ? "cuBLAS trmv" : "cuBLAS trsv",
                [&] { peers_.triangle(dtype, routine_ == "trsv", n_, a_.data(), b_.data()); });
      if (routine_ == "trmv") {
        measure("cuBLAS gemvStridedBatched, all of A",
                [&] { peers_.gemv_strided(dtype, n_, n_, false, &one, &zero, a_.data(), right_.data(), b_.data(), count); });
      }
      if (routine_ == "trsm" || routine_ == "trsv")
        measure("cuBLAS trsmBatched", [&] { peers_.trsm(dtype, n_, 1, &one, as_void(pa), as_void(pb), count); });
      if (solves_square()) measure("cuBLAS trsmBatched", [&] { peers_.trsm(dtype, n_, n_, &one, as_void(pa), as_void(px), count); });
    }
    if (peers_.has_cusolver()) {
      int* const info = one_info_.data();
      auto const substitute = [&] { peers_.potrs(dtype, n_, as_void(pa), as_void(pb), info, count); };
      if (routine_ == "potrf") measure("cuSOLVER potrfBatched", cholesky);
      if (has_values() && count == 1)
        attempt("cuSOLVER Xsyevd", [&] {
          Peers::SyevBytes const bytes = peers_.syevd_bytes(dtype, n_, a_.data(), w_.data());
          DeviceArray<char> const work(queue_, static_cast<std::int64_t>(bytes.device));
          std::vector<char> host_work(bytes.host);
          measure("cuSOLVER Xsyevd",
                  [&] { peers_.syevd(dtype, n_, a_.data(), w_.data(), work.data(), host_work.data(), bytes, info_.data()); });
        });
      // Jacobi's method by one block is for small matrices, and one large matrix is no batch.
      if (has_values() && n_ <= 256)
        attempt("cuSOLVER syevjBatched", [&] {
          std::int64_t const bytes = peers_.syevj_bytes(dtype, n_, a_.data(), w_.data(), count);
          DeviceArray<char> const work(queue_, bytes);
          measure("cuSOLVER syevjBatched", [&] { peers_.syevj(dtype, n_, a_.data(), w_.data(), work.data(), bytes, info_.data(), count); });
        });
      if (has_values() && peers_.has_syev() && (count > 1 || n_ <= 512))
        attempt("cuSOLVER XsyevBatched", [&] {
          Peers::SyevBytes const bytes = peers_.syev_bytes(dtype, n_, a_.data(), w_.data(), count);
          DeviceArray<char> const work(queue_, static_cast<std::int64_t>(bytes.device));
          std::vector<char> host_work(bytes.host);
          measure("cuSOLVER XsyevBatched",
                  [&] { peers_.syev(dtype, n_, a_.data(), w_.data(), work.data(), host_work.data(), bytes, info_.data(), count); });
        });
      if (reduces() && count == 1) {
        int const elements = peers_.sytrd_elements(dtype, n_, a_.data(), w_.data(), e_.data(), tau_.data());
        DeviceArray<T> const work(queue_, elements);
        measure("cuSOLVER sytrd",
                [&] { peers_.sytrd(dtype, n_, a_.data(), w_.data(), e_.data(), tau_.data(), work.data(), elements, info); });
      }
      bool const complex = is_complex<T>;
      if (routine_ == "orgtr" && count == 1) {
        int const elements = peers_.orgtr_elements(dtype, n_, a_.data(), tau_.data());
        DeviceArray<T> const work(queue_, elements);
        measure(complex ? "cuSOLVER ungtr" : "cuSOLVER orgtr",
                [&] { peers_.orgtr(dtype, n_, a_.data(), tau_.data(), work.data(), elements, info); });
      }
      if (applies() && count == 1) {
        int const elements = peers_.ormtr_elements(dtype, n_, a_.data(), tau_.data(), x_.data());
        DeviceArray<T> const work(queue_, elements);
        measure(complex ? "cuSOLVER unmtr" : "cuSOLVER ormtr",
                [&] { peers_.ormtr(dtype, n_, a_.data(), tau_.data(), x_.data(), work.data(), elements, info); });
      }
      if (routine_ == "potrs") measure("cuSOLVER potrsBatched", substitute);
      if (routine_ == "posv" || routine_ == "solve_positive_definite")
        measure("cuSOLVER potrfBatched, potrsBatched", [&] {
          cholesky();
          substitute();
        });
    }
    return out;
  }
  /// `some` matrices (of a column each, where `elements` is n) of the batch from `first` on, on the host.
  template <typename U>
  std::vector<U> fetch(U const* data, std::int64_t elements, std::int64_t first, std::int64_t some, bool woven) {
    std::vector<U> packed(static_cast<std::size_t>(some * elements)), host(packed.size());
    for (std::int64_t e = 0; woven && e < elements; ++e)
      copy(queue_, data + e * count_ + first, some, &host[static_cast<std::size_t>(e * some)]);
    if (!woven) copy(queue_, data + first * elements, some * elements, packed.data());
    queue_.wait();
    for (std::int64_t e = 0; woven && e < elements; ++e)
      for (std::int64_t k = 0; k < some; ++k)
        packed[static_cast<std::size_t>(k * elements + e)] = host[static_cast<std::size_t>(e * some + k)];
    return packed;
  }

  /// The largest residual, in the units of docs/accuracy.md, over matrices at the beginning, in the middle and at the end of the batch.
  double worst() {
    if (only_reads()) return symmetric_product_error();
    if (reduces()) return tridiagonal_error();
    if (has_reflectors()) return reflectors_error();
    if (has_values() && n_ > 128) return columns_error();
    std::int64_t const square = n_ * columns_;
    std::int64_t const some =
        std::min(count_, std::clamp<std::int64_t>(100 * 64 * 64 * 64 / (square * n_), 1, 100));  // takes n^3 steps each
    double largest = 0;
    for (std::int64_t const first : std::set{std::int64_t{0}, (count_ - some) / 2, count_ - some}) {
      auto const original = fetch<T>(original_.data(), square, first, some, interleaves());
      bool const apart = routine_ == "inverse" || has_product();
      auto const result = fetch<T>(apart ? x_.data() : a_.data(), square, first, some, interleaves());
      auto const factor = multiplies() ? fetch<T>(y_.data(), square, first, some, interleaves()) : original;
      auto const right = fetch<T>(right_.data(), columns_, first, some, interleaves());
      // Determinants are one number per matrix whatever the layout, in the place of b.
      bool const numbers = routine_ == "det";
      auto const solution =
          numbers ? fetch<T>(b_.data(), 1, first, some, false) : fetch<T>(b_.data(), columns_, first, some, interleaves());
      auto const pivots = fetch<int>(pivots_.data(), n_, first, some, false);
      auto const vectors = has_vectors() ? fetch<T>(v_.data(), n_, first, some, interleaves()) : right;
      auto const tau = fetch<T>(tau_.data(), n_, first, some, false);
      auto const values = has_values() ? fetch<Real<T>>(w_.data(), n_, first, some, false) : std::vector<Real<T>>{};
      std::int64_t const parts = multiplies() && n_ <= 256 ? (n_ + columns_at_once - 1) / columns_at_once : 1;  // for as many cores
      largest = cases::larger(largest, largest_of(some * parts, [&](std::int64_t task) -> double {
                                std::int64_t const k = task / parts;
                                auto const vector = [&](std::vector<T> const& v) {
                                  auto const elements = static_cast<std::int64_t>(v.size()) / some;
                                  return wide(&v[static_cast<std::size_t>(k * elements)], elements, 1, false);
                                };
                                Matrix const m = wide(&original[static_cast<std::size_t>(k * square)], n_, columns_, by_rows());
                                Matrix const r = wide(&result[static_cast<std::size_t>(k * square)], n_, columns_, by_rows());
                                if (multiplies())
                                  return product_error(m, wide(&factor[static_cast<std::size_t>(k * square)], n_, n_, by_rows()), r,
                                                       task % parts * columns_at_once);
                                if (has_values()) return eigen_error(m, r, &values[static_cast<std::size_t>(k * n_)]);
                                if (has_vectors()) {
                                  Matrix const x = vector(right), y = vector(vectors);
                                  return routine_ == "gemv" ? bench::product_error<T>(m, x, Matrix(n_, 1), y)
                                                            : bench::product_error<T>(x, cases::transpose(y), m, r);
                                }
                                return numbers ? determinant_error(m, solution[static_cast<std::size_t>(k)])
                                               : error_of(m, r, vector(solution), vector(right), vector(tau),
                                                          &pivots[static_cast<std::size_t>(k * n_)]);
                              }));
    }
    return largest;
  }

  /// The same of y = A x of a symmetric or Hermitian matrix, of some rows of some matrices.
  double symmetric_product_error() {
    using W = cases::Wide<T>;
    bool const hermitian = routine_ == "hemv";
    std::int64_t const n = n_;
    Batch<T const> const a = layout_ == "pointers" ? batch(a_.data(), n, n, {.count = count_}) : this->a();
    Batch<T const> const x = layout_ == "pointers" ? batch(b_.data(), n, 1, {.count = count_}) : b();
    Batch<T const> const y = layout_ == "pointers" ? batch(v_.data(), n, 1, {.count = count_}) : v();
    // `some` elements at a distance, on the host.
    auto const line = [&](T const* data, std::int64_t distance, std::int64_t some) {
      std::vector<T> host(static_cast<std::size_t>(some));
      if (distance == 1)
        copy(queue_, data, some, host.data());
      else
        for (std::int64_t k = 0; k < some; ++k) copy(queue_, data + k * distance, 1, &host[static_cast<std::size_t>(k)]);
      queue_.wait();
      return host;
    };
    double largest = 0;
    for (std::int64_t const k : count_ == 1 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, count_ / 2, count_ - 1}) {
      auto const all_of_x = line(x.matrix(k), x.row_stride, n);
      for (std::int64_t const i : {std::int64_t{0}, n / 3, 2 * n / 3, n - 1}) {
        // Row i of the triangle, and column i of it, which is the rest of the row.
        std::int64_t const from = uplo_ == Uplo::lower ? 0 : i, until = uplo_ == Uplo::lower ? i + 1 : n;
        auto const of_row = line(a.at(k, i, from), a.col_stride, until - from);
        std::int64_t const rest_from = uplo_ == Uplo::lower ? i + 1 : 0, rest_until = uplo_ == Uplo::lower ? n : i;
        auto const of_column = line(a.at(k, std::min(rest_from, n - 1), i), a.row_stride, rest_until - rest_from);
        Matrix row(1, n), vector(n, 1), result(1, 1);
        for (std::int64_t j = 0; j < n; ++j) {
          bool const in_row = j >= from && j < until;
          T element = in_row ? of_row[static_cast<std::size_t>(j - from)] : of_column[static_cast<std::size_t>(j - rest_from)];
          if constexpr (is_complex<T>) {
            if (hermitian && i == j) element = element.real();
            if (hermitian && !in_row) element = std::conj(element);
          }
          row(0, j) = cases::widened<W>(element);
          vector(j, 0) = cases::widened<W>(all_of_x[static_cast<std::size_t>(j)]);
        }
        result(0, 0) = cases::widened<W>(line(y.at(k, i, 0), 1, 1).front());
        largest = cases::larger(largest, bench::product_error<T>(row, vector, Matrix(1, 1), result));
      }
    }
    return largest;
  }

  /// norm2(A x - Q T Q^H x) / (n u normF(A) norm2(x)) for a random x: of large matrices all that can be had in a second.
  double tridiagonal_error() {
    using W = std::complex<double>;
    std::int64_t const n = n_, square = n * n;
    double largest = 0;
    for (std::int64_t const k : count_ == 1 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, count_ / 2, count_ - 1}) {
      auto const before = fetch<T>(original_.data(), square, k, 1, interleaves()), after = fetch<T>(a_.data(), square, k, 1, interleaves());
      auto const d = fetch<Real<T>>(w_.data(), n, k, 1, false), e = fetch<Real<T>>(e_.data(), n, k, 1, false);
      auto const tau = fetch<T>(tau_.data(), n, k, 1, false);
      auto const element = [this](std::vector<T> const& of, std::int64_t i, std::int64_t j) { return element_of(of, i, j); };
      auto const at = [](auto& v, std::int64_t i) -> auto& { return v[static_cast<std::size_t>(i)]; };
      std::vector<W> x(static_cast<std::size_t>(n)), product(x.size());
      for (W& value : x) value = W(normal_());
      double size = 0, size_of_x = 0, difference = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        size_of_x += std::norm(at(x, j));
        for (std::int64_t i = j; i < n; ++i) {
          W const value = i == j ? W(element(before, i, j).real()) : element(before, i, j);
          size += (i == j ? 1 : 2) * std::norm(value);
          at(product, i) += value * at(x, j);
          if (i != j) at(product, j) += std::conj(value) * at(x, i);
        }
      }
      auto const reflect = [&](std::int64_t column, W factor) { this->reflect(after, x, column, factor); };
      for (std::int64_t j = 0; j + 1 < n; ++j) reflect(j, std::conj(W(at(tau, j))));
      std::vector<W> const y = x;
      for (std::int64_t i = 0; i < n; ++i)
        at(x, i) = double(at(d, i)) * at(y, i) + (i > 0 ? double(at(e, i - 1)) * at(y, i - 1) : W(0)) +
                   (i + 1 < n ? double(at(e, i)) * at(y, i + 1) : W(0));
      for (std::int64_t j = n - 2; j >= 0; --j) reflect(j, W(at(tau, j)));
      for (std::int64_t i = 0; i < n; ++i) difference += std::norm(at(x, i) - at(product, i));
      largest =
          cases::larger(largest, std::sqrt(difference) / (static_cast<double>(n) * cases::unit_roundoff<T> * std::sqrt(size * size_of_x)));
    }
    return largest;
  }

  /// Of large eigenproblems all that can be had in a second: of some vectors q of value w, norm2(A q - w q) / (n u norm2(A)) and
  /// norm2(Q^H q - e) / (n u), the sum of all values against the trace over n u norm2(A); NaN where values do not ascend.
  double columns_error() {
    using W = std::complex<double>;
    std::int64_t const n = n_, square = n * n;
    double largest = 0;
    for (std::int64_t const k : count_ == 1 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, count_ / 2, count_ - 1}) {
      auto const before = fetch<T>(original_.data(), square, k, 1, interleaves()), after = fetch<T>(a_.data(), square, k, 1, interleaves());
      auto const w = fetch<Real<T>>(w_.data(), n, k, 1, false);
      auto const at = [](auto& v, std::int64_t i) -> auto& { return v[static_cast<std::size_t>(i)]; };
      long double trace = 0;
      for (std::int64_t i = 0; i < n; ++i) trace += element_of(before, i, i).real() - static_cast<long double>(at(w, i));
      double const ascends = std::is_sorted(w.begin(), w.end()) ? 0 : NAN;
      double const size = std::max(std::abs(static_cast<double>(w.front())), std::abs(static_cast<double>(w.back()))),
                   allowed = static_cast<double>(n) * cases::unit_roundoff<T>;
      largest = cases::larger(largest, static_cast<double>(std::abs(trace)) / (allowed * size) + ascends);
      for (std::int64_t const j : {std::int64_t{0}, n / 3, n / 2, n - 1}) {
        std::vector<W> q(static_cast<std::size_t>(n)), residual(q.size());
        for (std::int64_t i = 0; i < n; ++i) at(q, i) = element_of(after, i, j);
        double of_residual = 0, of_product = 0;
        for (std::int64_t c = 0; c < n; ++c) {
          W product = c == j ? -1 : 0;
          for (std::int64_t i = 0; i < n; ++i) product += std::conj(element_of(after, i, c)) * at(q, i);
          of_product += std::norm(product);
          at(residual, c) += (element_of(before, c, c).real() - static_cast<double>(at(w, j))) * at(q, c);
          for (std::int64_t i = c + 1; i < n; ++i) {
            W const value = element_of(before, i, c);
            at(residual, i) += value * at(q, c);
            at(residual, c) += std::conj(value) * at(q, i);
          }
        }
        for (W const& x : residual) of_residual += std::norm(x);
        largest = cases::larger(largest, std::max(std::sqrt(of_residual) / (allowed * size), std::sqrt(of_product) / allowed));
      }
    }
    return largest;
  }

  /// Of orgtr, of Q applied to a random vector; of ormtr, of three columns: against the reflectors one after the other, ||error|| / (n u
  /// ||x||).
  double reflectors_error() {
    using W = std::complex<double>;
    std::int64_t const n = n_, square = n * n;
    double largest = 0;
    for (std::int64_t const k : count_ == 1 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, count_ / 2, count_ - 1}) {
      auto const after = fetch<T>(factors_.data(), square, k, 1, interleaves()), tau = fetch<T>(tau_.data(), n, k, 1, false);
      auto const result = fetch<T>(applies() ? x_.data() : a_.data(), square, k, 1, interleaves());
      auto const before = fetch<T>(original_.data(), square, k, 1, interleaves());
      for (std::int64_t const j : {std::int64_t{0}, n / 2, n - 1}) {
        std::vector<W> x(static_cast<std::size_t>(n)), found(x.size());
        double size = 0, difference = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          W const value = applies() ? element_of(before, i, j) : W(normal_());
          x[static_cast<std::size_t>(i)] = value;
          size += std::norm(value);
          for (std::int64_t r = 0; r < n && !applies(); ++r) found[static_cast<std::size_t>(r)] += element_of(result, r, i) * value;
          if (applies()) found[static_cast<std::size_t>(i)] = element_of(result, i, j);
        }
        for (std::int64_t column = n - 2; column >= 0; --column) reflect(after, x, column, W(tau[static_cast<std::size_t>(column)]));
        for (std::size_t i = 0; i < x.size(); ++i) difference += std::norm(found[i] - x[i]);
        largest = cases::larger(largest, std::sqrt(difference) / (static_cast<double>(n) * cases::unit_roundoff<T> * std::sqrt(size)));
      }
    }
    return largest;
  }
  std::complex<double> element_of(std::vector<T> const& of, std::int64_t i, std::int64_t j) const {
    return std::complex<double>(of[static_cast<std::size_t>(by_rows() ? j + i * n_ : i + j * n_)]);
  }
  /// x - factor v (v^H x), with v below the diagonal of a column of what sytrd leaves.
  void reflect(std::vector<T> const& a, std::vector<std::complex<double>>& x, std::int64_t column, std::complex<double> factor) const {
    auto const at = [&](std::int64_t i) -> auto& { return x[static_cast<std::size_t>(i)]; };
    std::complex<double> sum = at(column + 1);
    for (std::int64_t i = column + 2; i < n_; ++i) sum += std::conj(element_of(a, i, column)) * at(i);
    sum *= factor;
    at(column + 1) -= sum;
    for (std::int64_t i = column + 2; i < n_; ++i) at(i) -= element_of(a, i, column) * sum;
  }

  /// |det(A) - its value by elimination in the wide type| / (|det(A)| n u norm1(A) norm1(A^-1)).
  double determinant_error(Matrix const& a, T determinant) {
    using W = cases::Wide<T>;
    Matrix m = a, inverse = cases::identity<W>(n_);
    W product(1);
    for (int k = 0; k < n_; ++k) {
      int p = k;
      for (int i = k; i < n_; ++i)
        if (std::abs(m(i, k)) > std::abs(m(p, k))) p = i;
      for (int j = 0; j < n_ && p != k; ++j) {
        std::swap(m(k, j), m(p, j));
        std::swap(inverse(k, j), inverse(p, j));
      }
      W const pivot = m(k, k);
      product *= p == k ? pivot : -pivot;
      for (int j = 0; j < n_; ++j) {
        m(k, j) /= pivot;
        inverse(k, j) /= pivot;
      }
      for (int i = 0; i < n_; ++i) {
        W const l = m(i, k);
        for (int j = 0; j < n_ && i != k; ++j) {
          m(i, j) -= l * m(k, j);
          inverse(i, j) -= l * inverse(k, j);
        }
      }
    }
    double const difference = static_cast<double>(std::abs(product - cases::widened<W>(determinant)));
    double const condition = static_cast<double>(cases::norm1(a)) * static_cast<double>(cases::norm1(inverse));
    return difference / (static_cast<double>(std::abs(product)) * n_ * cases::unit_roundoff<T> * condition);
  }

  static constexpr int columns_at_once = 16;
  /// Of the routine's result r, which began as m: of 16 columns from `first` on, or that are spread over a large matrix.
  double product_error(Matrix const& m, Matrix const& factor, Matrix const& r, std::int64_t first) {
    std::int64_t const columns = std::min<std::int64_t>(n_ - first, columns_at_once);
    auto const column = [&](std::int64_t j) { return n_ <= 256 ? first + j : j * (n_ - 1) / (columns - 1); };
    auto const columns_of = [&](Matrix const& x) {
      Matrix out(n_, columns);
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < n_; ++i) out(i, j) = x(i, column(j));
      return out;
    };
    Matrix a = m, c = columns_of(m), result = columns_of(r);
    if (routine_ == "gemm") {
      double const of_factors = arithmetic() == Arithmetic::standard ? 0.0 : arithmetic() == Arithmetic::tf32 ? 0x1p-10 : 0x1p-20;
      return bench::product_error<T>(a, columns_of(factor), c, result, of_factors);
    }
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i < j; ++i) {
        if (routine_ == "symm") a(i, j) = m(j, i);
        if (routine_ == "trmm") a(i, j) = 0;
      }
    if (routine_ == "symm") return bench::product_error<T>(a, columns_of(factor), c, result);
    if (routine_ == "trmm") return bench::product_error<T>(a, c, Matrix(n_, columns), result);
    Matrix const b = columns_of(cases::transpose(m)), product = m * b;  // syrk, whose other triangle stays as it was
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < column(j); ++i) result(i, j) = result(i, j) == c(i, j) ? product(i, j) + c(i, j) : cases::Wide<T>(NAN);
    return bench::product_error<T>(m, b, c, result);
  }

  /// The larger of norm1(A - Q diag(w) Q^H) / (n norm1(A) u) and norm1(I - Q^H Q) / (n u), A being the lower triangle of m.
  double eigen_error(Matrix const& m, Matrix const& q, Real<T> const* w) {
    Matrix const a = cases::hermitian(Uplo::lower, m);
    Matrix scaled = q;
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i < n_; ++i) scaled(i, j) *= static_cast<cases::RealPartOf<cases::Wide<T>>>(w[j]);
    return cases::larger(cases::factor_error<T>(a - scaled * cases::adjoint(q), a, n_), cases::orthogonality_error<T>(q));
  }

  double error_of(Matrix const& m, Matrix const& r, Matrix const& solution, Matrix const& right, Matrix const& tau, int const* pivots) {
    using W = cases::Wide<T>;
    auto const conjugated = [](W value) {
      if constexpr (is_complex<T>)
        return std::conj(value);
      else
        return value;
    };
    Matrix lower(n_, n_), upper(n_, n_), symmetric(n_, n_);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) {
        (i > j ? lower : upper)(i, j) = r(i, j);
        symmetric(i, j) = i > j ? m(i, j) : i < j ? conjugated(m(j, i)) : W(std::real(m(i, i)));
      }
    if (routine_ == "inverse" || routine_ == "getri") return cases::inverse_error<T>(m, r);
    if (routine_ == "gesv" || routine_ == "solve" || routine_ == "getrs" || routine_ == "gels")
      return cases::solution_error<T>(m, solution, right);
    if (routine_ == "posv" || routine_ == "potrs" || routine_ == "solve_positive_definite")
      return cases::solution_error<T>(symmetric, solution, right);
    if (routine_.starts_with("tr") || routine_ == "potrf" || routine_ == "potri") {
      Matrix triangle(n_, n_), both(n_, n_);
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j <= i; ++j) {
          triangle(i, j) = routine_.starts_with("tr") ? m(i, j) : r(i, j);
          both(i, j) = r(i, j);
          both(j, i) = i == j ? r(i, i) : conjugated(r(i, j));
        }
      if (routine_ == "trmv") return bench::product_error<T>(triangle, right, Matrix(n_, 1), solution);
      if (routine_ == "trsm" || routine_ == "trsv") return cases::solution_error<T>(triangle, solution, right);
      if (solves_square()) return cases::solution_error<T>(triangle, r, m);
      if (routine_ == "trtri") return cases::inverse_error<T>(triangle, cases::triangle(Uplo::lower, Diag::non_unit, r));
      if (routine_ == "potri") return cases::inverse_error<T>(symmetric, both);
      return cases::factor_error<T>(symmetric - triangle * cases::adjoint(triangle), symmetric, n_);
    }
    if (routine_ == "geqrf") {
      Matrix product = upper;
      for (int k = n_ - 1; k >= 0; --k)
        for (int j = 0; j < n_; ++j) {
          W dot = product(k, j);
          for (int i = k + 1; i < n_; ++i) dot += conjugated(r(i, k)) * product(i, j);
          dot *= tau(k, 0);
          product(k, j) -= dot;
          for (int i = k + 1; i < n_; ++i) product(i, j) -= r(i, k) * dot;
        }
      return cases::factor_error<T>(m - product, m, n_);
    }
    Matrix permuted = m;
    for (int i = 0; i < n_; ++i) {
      lower(i, i) = W(1);
      if (pivots[i] < 1 || pivots[i] > n_) return std::numeric_limits<double>::quiet_NaN();
      for (int j = 0; j < n_; ++j) std::swap(permuted(i, j), permuted(pivots[i] - 1, j));
    }
    return cases::factor_error<T>(permuted - lower * upper, m, n_);
  }

  Queue& queue_;
  Options const& options_;
  Peers& peers_;
  EnergyMeter const& meter_;
  double rate_;
  std::string routine_, layout_;
  Uplo uplo_;
  int n_;
  std::int64_t columns_;  ///< of A
  std::int64_t count_;
  NormalNumbers<T> normal_;
  DeviceArray<T> original_, right_, a_, b_, x_, y_, v_, tau_;
  DeviceArray<Real<T>> w_, e_;
  DeviceArray<int> pivots_, info_, one_info_;
  DeviceArray<T> other_;  ///< larger than the caches
  DeviceArray<T> factors_;
  DeviceArray<T*> pa_, pb_, px_, py_, pv_;
  T const* start_ = nullptr;  ///< what a_ holds before the call
};

}  // namespace myriad::bench
