#pragma once
/// A row of the benchmark for square matrices of many sizes in one call: C += A B of a ragged batch or of groups, or y += A x.

#include <map>
#include <numeric>
#include <random>

#include "gemm/case.hpp"
#include "gpu/bench.hpp"

namespace myriad::bench {

/// Sizes between two bounds, equally often, in random order; packed matrices, each with its own leading dimension. Groups are sorted by
/// size; several may have the same size.
template <typename T>
class RaggedBench {
 public:
  explicit RaggedBench(Session const& session)
      : session_(session), queue_(session.queue), options_(session.options), peers_(session.peers) {
    auto const [low, high] = options_.ragged;
    if (options_.groups > 0) {
      for (std::int64_t g = options_.groups; g > 0; --g) kinds_.push_back(low + (high - low) * g / options_.groups);
    } else {
      // Up to 32 sizes from bound to bound, including odd ones
      std::int64_t const last = std::min<std::int64_t>(31, high - low);
      for (std::int64_t i = last; i >= 0; --i) kinds_.push_back(last == 0 ? high : low + (high - low) * i / last);
    }
    std::int64_t elements_of_all = 0;
    for (std::int64_t const n : kinds_) elements_of_all += n * n;
    of_each_ = options_.count > 0 ? std::max<std::int64_t>(1, options_.count / static_cast<std::int64_t>(kinds_.size()))
                                  : std::max<std::int64_t>(1, static_cast<std::int64_t>(options_.gigabytes * 1e9) /
                                                                  (static_cast<std::int64_t>(sizeof(T)) * elements_of_all));
    for (std::int64_t const n : kinds_) sizes_.insert(sizes_.end(), static_cast<std::size_t>(of_each_), n);
    if (options_.groups == 0) std::shuffle(sizes_.begin(), sizes_.end(), random_);
    places_.resize(sizes_.size());
    std::int64_t all = 0;
    for (std::size_t b = 0; b < sizes_.size(); ++b) {
      places_[b] = all;
      all += sizes_[b] * sizes_[b];
    }
    a_ = random_numbers(all);
    b_ = random_numbers(all);
    start_ = random_numbers(all);
    c_ = DeviceArray<T>(queue_, all);
    device_sizes_ = to_device(queue_, sizes_);
    pa_ = pointers(a_), pb_ = pointers(b_), pc_ = pointers(c_);
    queue_.wait();
  }

  Json row() {
    auto const gemv_all = [this] { gemv<T>(queue_, T(1), all<T const>(pa_), vectors<T const>(pb_), T(1), vectors<T>(pc_)); };
    auto const gemm_all = [this] { gemm<T>(queue_, T(1), all<T const>(pa_), all<T const>(pb_), T(1), all<T>(pc_)); };
    std::vector<GemmGroup<T>> const groups = options_.groups > 0 ? groups_of_all() : std::vector<GemmGroup<T>>{};
    auto const grouped = [&] { gemm_grouped<T>(queue_, groups); };
    Timing const mine = options_.groups > 0 ? time(grouped) : of_vectors_ ? time(gemv_all) : time(gemm_all);
    double const error = worst();
    auto const count = static_cast<double>(sizes_.size());
    double elements = 0;
    for (std::int64_t const n : sizes_) elements += of_vectors_ ? static_cast<double>(n * n + 3 * n) : 4.0 * static_cast<double>(n * n);
    Json out;
    out["routine"] = fmt::format(
        "{}, {} to {} rows",
        options_.groups > 0 ? fmt::format("gemm_grouped, {} groups", options_.groups) : std::string(of_vectors_ ? "gemv" : "gemm"),
        kinds_.back(), kinds_.front());
    out["dtype"] = std::string(1, "sdcz"[static_cast<std::size_t>(dtype_of<T>)]);
    out["n"] = kinds_.front();
    out["layout"] = "column_major";
    out["count"] = sizes_.size();
    out["ns_per_matrix"] = mine.seconds / count * 1e9;
    out["share_of_copy_rate"] = elements * sizeof(T) / mine.seconds / session_.copy_rate;
    if (mine.joules > 0) out["nanojoules_per_matrix"] = mine.joules / count * 1e9;
    out["error"] = error;
    out["pass"] = error <= 1;
    out["peers"] = Json::object();
    if (options_.groups > 0) {
      Timing const one_by_one = time([&] {
        for (auto const& group : groups) gemm<T>(queue_, group.alpha, group.a, group.b, group.beta, group.c);
      });
      out["peers"]["Myriad, a call for each group"]["ns_per_matrix"] = one_by_one.seconds / count * 1e9;
    } else {
      // Time of the same matrices as one batch per size, each large enough to fill the GPU.
      double uniform = 0;
      for (std::int64_t const n : kinds_) uniform += seconds_of_uniform(n);
      out["peers"]["Myriad, a call for each size"]["ns_per_matrix"] = uniform * static_cast<double>(of_each_) / count * 1e9;
    }
    if (!options_.no_peers && !of_vectors_ && !is_complex<T> && peers_.has_cublas()) {
      std::vector<std::int64_t> order(sizes_.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
        return sizes_[static_cast<std::size_t>(x)] > sizes_[static_cast<std::size_t>(y)];
      });
      auto const ga = pointers(a_, order), gb = pointers(b_, order), gc = pointers(c_, order);
      std::vector<int> const n(kinds_.begin(), kinds_.end()), of_each(kinds_.size(), static_cast<int>(of_each_));
      auto const as_void = [](DeviceArray<T*> const& p) { return reinterpret_cast<void* const*>(p.data()); };
      try {
        Timing const peer = time([&] { peers_.gemm_grouped(dtype_of<T>, n, of_each, as_void(ga), as_void(gb), as_void(gc)); });
        out["peers"]["cuBLAS gemmGroupedBatched"]["ns_per_matrix"] = peer.seconds / count * 1e9;
        out["times_faster_than_best_peer"] = peer.seconds / mine.seconds;
      } catch (PeerError const& reason) {
        fmt::print(stderr, "{}: gemmGroupedBatched is not measured: {}\n", options_.program, reason.what());
      }
    }
    return out;
  }

 private:
  Timing time(std::function<void()> const& work) {
    auto const refresh = [this] { copy<T>(queue_, start_.data(), start_.size(), c_.data()); };
    Timing const timing = bench::time(session_, refresh, work);
    refresh();
    work();
    return timing;
  }
  /// Seconds per matrix of a uniform batch in the same memory.
  double seconds_of_uniform(std::int64_t n) {
    std::int64_t const count = std::min<std::int64_t>(a_.size() / (n * n), 1'000'000);
    auto const a = batch<T const>(a_.data(), n, n, {.count = count});
    Timing const timing = time([&] {
      if (of_vectors_)
        gemv<T>(queue_, T(1), a, myriad::vectors<T const>(b_.data(), n, count, n * n), T(1), myriad::vectors(c_.data(), n, count, n * n));
      else
        gemm<T>(queue_, T(1), a, batch<T const>(b_.data(), n, n, {.count = count}), T(1), batch(c_.data(), n, n, {.count = count}));
    });
    return timing.seconds / static_cast<double>(count);
  }

  DeviceArray<T> random_numbers(std::int64_t size) {
    DeviceArray<T> out(queue_, size);
    std::vector<T> pattern(static_cast<std::size_t>(std::min<std::int64_t>(size, (1 << 20) + 7)));
    for (T& x : pattern) {
      if constexpr (is_complex<T>)
        x = T(normal_(random_), normal_(random_));
      else
        x = normal_(random_);
    }
    cases::fill(queue_, out.data(), size, pattern.data(), static_cast<std::int64_t>(pattern.size()));
    queue_.wait();
    return out;
  }
  DeviceArray<T*> pointers(DeviceArray<T>& data, std::vector<std::int64_t> const& order = {}) {
    std::vector<T*> host;
    for (std::size_t b = 0; b < sizes_.size(); ++b)
      host.push_back(data.data() + places_[order.empty() ? b : static_cast<std::size_t>(order[b])]);
    auto array = to_device(queue_, host);
    queue_.wait();
    return array;
  }
  template <typename U>
  Batch<U> all(DeviceArray<T*> const& addresses) {
    Batch<U> out = batch(reinterpret_cast<U* const*>(addresses.data()), kinds_.front(), kinds_.front(),
                         {.count = static_cast<std::int64_t>(sizes_.size())});
    out.row_sizes = out.col_sizes = out.col_strides = device_sizes_.data();
    return out;
  }
  /// The first column of each matrix.
  template <typename U>
  Batch<U> vectors(DeviceArray<T*> const& addresses) {
    Batch<U> out = all<U>(addresses);
    out.cols = 1;
    out.col_sizes = nullptr;
    return out;
  }
  std::vector<GemmGroup<T>> groups_of_all() {
    std::vector<GemmGroup<T>> out;
    for (std::size_t b = 0; b < sizes_.size(); b += static_cast<std::size_t>(of_each_)) {
      auto const of = [&](DeviceArray<T>& x) { return batch(x.data() + places_[b], sizes_[b], sizes_[b], {.count = of_each_}); };
      out.push_back({.alpha = T(1), .a = of(a_), .b = of(b_), .beta = T(1), .c = of(c_)});
    }
    return out;
  }

  /// The largest cases::product_error over one matrix of each of some sizes.
  double worst() {
    std::map<std::int64_t, std::size_t> some;
    for (std::size_t b = 0; b < sizes_.size() && some.size() < kinds_.size(); ++b)
      if (sizes_[b] <= 300 || sizes_[b] == kinds_.front()) some.emplace(sizes_[b], b);
    std::vector<std::size_t> chosen;
    for (auto const& [n, b] : some) chosen.push_back(b);
    std::vector<std::array<std::vector<T>, 4>> host;
    for (std::size_t const b : chosen) {
      auto const elements = static_cast<std::size_t>(sizes_[b] * sizes_[b]);
      auto& of_b = host.emplace_back();
      DeviceArray<T> const* const arrays[] = {&a_, &b_, &start_, &c_};
      for (std::size_t which = 0; which < 4; ++which) {
        of_b[which].resize(elements);
        copy(queue_, arrays[which]->data() + places_[b], sizes_[b] * sizes_[b], of_b[which].data());
      }
    }
    queue_.wait();
    std::vector<double> errors(chosen.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      std::int64_t const n = sizes_[chosen[k]];
      auto const matrix = [&](std::size_t which) {
        cases::Dense<cases::Wide<T>> out(n, of_vectors_ && which > 0 ? 1 : n);
        for (std::int64_t j = 0; j < out.cols(); ++j)
          for (std::int64_t i = 0; i < n; ++i)
            out(i, j) = cases::widened<cases::Wide<T>>(host[k][which][static_cast<std::size_t>(i + j * n)]);
        return out;
      };
      errors[k] = cases::product_error<T>({1, 1, matrix(0), matrix(1), matrix(2)}, matrix(3));
    }
    double largest = 0;
    for (double const e : errors) largest = cases::larger(largest, e);
    return largest;
  }

  Session const& session_;
  Queue& queue_;
  Options const& options_;
  Peers& peers_;
  bool of_vectors_ = options_.routines == std::vector<std::string>{"gemv"};
  std::mt19937_64 random_{1};
  std::normal_distribution<Real<T>> normal_;
  std::vector<std::int64_t> kinds_;  ///< descending
  std::int64_t of_each_ = 0;
  std::vector<std::int64_t> sizes_, places_;
  DeviceArray<T> a_, b_, start_, c_;
  DeviceArray<std::int64_t> device_sizes_;
  DeviceArray<T*> pa_, pb_, pc_;
};

}  // namespace myriad::bench
