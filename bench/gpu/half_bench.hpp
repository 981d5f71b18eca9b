#pragma once
/// A row of the benchmark for numbers of 16 bits, of which there are products: C += A B.

#include <set>

#include "core/dtype.hpp"
#include "gemm/case.hpp"
#include "gpu/bench.hpp"

namespace myriad::bench {

template <HalfElement T>
class HalfBench {
 public:
  HalfBench(Queue& queue, Options const& options, Peers& peers, EnergyMeter const& meter, double rate, std::string const& routine, int n,
            std::string layout)
      : queue_(queue),
        options_(options),
        peers_(peers),
        meter_(meter),
        rate_(rate),
        layout_(std::move(layout)),
        n_(n),
        k_(options.k > 0 ? options.k : n),
        count_(options.count > 0 ? options.count
                                 : std::clamp<std::int64_t>(static_cast<std::int64_t>(options.gigabytes * 0.25e9) /
                                                                (static_cast<std::int64_t>(sizeof(T)) * n * std::max(n_, k_)),
                                                            1, layout_ == "pointers" ? most_pointers : 64'000'000)),
        a_(random_numbers(count_ * n_ * k_)),
        b_(random_numbers(count_ * k_ * n_)),
        start_(random_numbers(count_ * n_ * n_)),
        c_(queue, count_ * n_ * n_) {
    if (routine != "gemm") throw Error(fmt::format("of numbers of 16 bits there is gemm, and no {}", routine));
    if (layout_ == "pointers") {
      pa_ = pointers(a_.data(), n_ * k_);
      pb_ = pointers(b_.data(), k_ * n_);
      pc_ = pointers(c_.data(), n_ * n_);
    }
    queue_.wait();
  }

  Json row() {
    Timing const mine = time([this] {
      gemm<T>(queue_, 1, matrices<T const>(a_, pa_, n_, k_), matrices<T const>(b_, pb_, k_, n_), 1, matrices<T>(c_, pc_, n_, n_));
    });
    double const error = worst();
    double const bytes = static_cast<double>(2 * n_ * k_ + 2 * n_ * n_) * sizeof(T) * static_cast<double>(count_);
    Json out;
    out["routine"] = k_ == n_ ? "gemm" : fmt::format("gemm, {} terms", k_);
    out["dtype"] = dtype_name(dtype_of<T>);
    out["n"] = n_;
    out["layout"] = layout_;
    out["count"] = count_;
    out["ns_per_matrix"] = mine.seconds / static_cast<double>(count_) * 1e9;
    out["share_of_copy_rate"] = bytes / mine.seconds / rate_;
    if (mine.joules > 0) out["nanojoules_per_matrix"] = mine.joules / static_cast<double>(count_) * 1e9;
    out["error"] = error;
    out["pass"] = error <= 1;
    out["peers"] = Json::object();
    if (layout_ == "column_major" && !options_.no_peers && peers_.has_cublas()) run_peers(out);
    return out;
  }

 private:
  static constexpr std::int64_t most_pointers = 4'000'000;
  [[nodiscard]] bool interleaves() const { return layout_ == "interleaved"; }
  [[nodiscard]] bool by_rows() const { return layout_ == "row_major"; }

  /// C is fresh each time, since sums of many products would overflow.
  Timing time(std::function<void()> const& work) {
    auto const refresh = [this] { copy<T>(queue_, start_.data(), start_.size(), c_.data()); };
    Timing const timing = bench::time(queue_, options_, refresh, work, meter_);
    refresh();
    work();
    return timing;
  }

  /// cuBLAS, in every form that it has.
  void run_peers(Json& out) {
    auto const run = [&](char const* name, std::function<void()> const& work) {
      try {
        Timing const peer = time(work);
        double const ns = peer.seconds / static_cast<double>(count_) * 1e9;
        out["peers"][name]["ns_per_matrix"] = ns;
        if (peer.joules > 0) out["peers"][name]["nanojoules_per_matrix"] = peer.joules / static_cast<double>(count_) * 1e9;
        double const times_faster = ns / out["ns_per_matrix"].get<double>();
        out["times_faster_than_best_peer"] = std::min(out.value("times_faster_than_best_peer", times_faster), times_faster);
      } catch (PeerError const& reason) {
        fmt::print(stderr, "{}: {} of {} matrices of {} rows is not measured: {}\n", options_.program, name, count_, n_, reason.what());
      }
    };
    run(is_complex<T> ? "4 planar cuBLAS gemmStridedBatchedEx" : "cuBLAS gemmStridedBatchedEx", [this] { multiply_by_peer(); });
    if constexpr (!is_complex<T>) {
      if (count_ > most_pointers) return;
      auto const a = pointers(a_.data(), n_ * k_), b = pointers(b_.data(), k_ * n_), c = pointers(c_.data(), n_ * n_);
      auto const of = [](DeviceArray<T*> const& x) { return reinterpret_cast<void* const*>(x.data()); };
      int const n = static_cast<int>(n_), k = static_cast<int>(k_), count = static_cast<int>(count_);
      run("cuBLAS gemmBatchedEx", [&] { peers_.gemm_ex(dtype_of<T>, n, k, of(a), of(b), of(c), count); });
      if (peers_.has_grouped_ex(dtype_of<T>))
        run("cuBLAS gemmGroupedBatchedEx", [&] { peers_.gemm_grouped_ex(dtype_of<T>, n, k, of(a), of(b), of(c), count); });
    }
  }

  /// cuBLAS has no products of complex numbers of 16 bits. Who has planes of real and of imaginary parts calls it four times; here, the
  /// first half of an array of random numbers is the plane of the real parts.
  void multiply_by_peer() {
    auto const multiply = [this](float alpha, void const* a, void const* b, void* c) {
      peers_.gemm_ex(is_complex<T> ? Dtype::f16 : dtype_of<T>, static_cast<int>(n_), static_cast<int>(k_), alpha, a, b, c,
                     static_cast<int>(count_));
    };
    if constexpr (is_complex<T>) {
      static_assert(sizeof(T) == 2 * sizeof(half));
      auto const planes = [](DeviceArray<T>& of) {
        auto* const real = reinterpret_cast<half*>(of.data());
        return std::pair(real, real + of.size());
      };
      auto const [a_real, a_imag] = planes(a_);
      auto const [b_real, b_imag] = planes(b_);
      auto const [c_real, c_imag] = planes(c_);
      multiply(1, a_real, b_real, c_real);
      multiply(-1, a_imag, b_imag, c_real);
      multiply(1, a_real, b_imag, c_imag);
      multiply(1, a_imag, b_real, c_imag);
    } else {
      multiply(1, a_.data(), b_.data(), c_.data());
    }
  }

  DeviceArray<T> random_numbers(std::int64_t size) {
    DeviceArray<T> out(queue_, size);
    std::vector<T> pattern(static_cast<std::size_t>(std::min<std::int64_t>(size, (1 << 20) + 7)));
    for (T& x : pattern) x = normal_();
    fill(queue_, out.data(), size, pattern);
    queue_.wait();
    return out;
  }
  DeviceArray<T*> pointers(T* data, std::int64_t stride) {
    std::vector<T*> host;
    for (std::int64_t q = 0; q < count_; ++q) host.push_back(data + q * stride);
    auto array = to_device(queue_, host);
    queue_.wait();
    return array;
  }
  template <typename U>
  Batch<U> matrices(DeviceArray<T>& of, DeviceArray<T*> const& addresses, std::int64_t rows, std::int64_t cols) {
    if (layout_ == "pointers") return batch(reinterpret_cast<U* const*>(addresses.data()), rows, cols, {.count = count_});
    U* const data = of.data();
    return by_rows()       ? row_major(data, rows, cols, {.count = count_})
           : interleaves() ? interleaved(data, rows, cols, count_)
                           : batch(data, rows, cols, {.count = count_});
  }

  /// The largest error of cases::product_error over matrices at the beginning, in the middle and at the end of the batch.
  double worst() {
    std::int64_t const some = std::min(count_, std::clamp<std::int64_t>(100 * 64 * 64 * 64 / (n_ * n_ * k_), 1, 100));
    double largest = 0;
    for (std::int64_t const first : std::set{std::int64_t{0}, (count_ - some) / 2, count_ - some}) {
      auto const fetch = [&](DeviceArray<T> const& from, std::int64_t elements) {
        std::vector<T> host(static_cast<std::size_t>(some * elements));
        if (interleaves())
          for (std::int64_t e = 0; e < elements; ++e)
            copy(queue_, from.data() + e * count_ + first, some, &host[static_cast<std::size_t>(e * some)]);
        else
          copy(queue_, from.data() + first * elements, some * elements, host.data());
        queue_.wait();
        return host;
      };
      auto const a = fetch(a_, n_ * k_), b = fetch(b_, k_ * n_), before = fetch(start_, n_ * n_), after = fetch(c_, n_ * n_);
      std::int64_t const at_once = 16, parts = (n_ + at_once - 1) / at_once;  // columns, for as many cores
      largest = cases::larger(
          largest, largest_of(some * parts, [&](std::int64_t task) {
            std::int64_t const q = task / parts, first_column = task % parts * at_once;
            auto const matrix = [&](std::vector<T> const& from, std::int64_t rows, std::int64_t cols, bool whole) {
              std::int64_t const begin = whole ? 0 : first_column, end = whole ? cols : std::min(begin + at_once, cols);
              cases::Dense<cases::Wide<T>> out(rows, end - begin);
              for (std::int64_t j = begin; j < end; ++j)
                for (std::int64_t i = 0; i < rows; ++i) {
                  std::int64_t const e = by_rows() ? i * cols + j : i + j * rows;
                  out(i, j - begin) =
                      cases::widened<cases::Wide<T>>(from[static_cast<std::size_t>(interleaves() ? e * some + q : q * rows * cols + e)]);
                }
              return out;
            };
            cases::ProductOf<T> const product{1, 1, matrix(a, n_, k_, true), matrix(b, k_, n_, false), matrix(before, n_, n_, false)};
            return cases::product_error<T>(product, matrix(after, n_, n_, false));
          }));
    }
    return largest;
  }

  Queue& queue_;
  Options const& options_;
  Peers& peers_;
  EnergyMeter const& meter_;
  double rate_;
  std::string layout_;
  std::int64_t n_, k_, count_;
  NormalNumbers<T> normal_;
  DeviceArray<T> a_, b_, start_, c_;
  DeviceArray<T*> pa_, pb_, pc_;
};

}  // namespace myriad::bench
