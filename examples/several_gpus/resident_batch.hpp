#pragma once
/// Linear systems that stay on a GPU, and several GPUs that work on their own systems at the same time.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <span>
#include <utility>
#include <vector>

#include "myriad/myriad.hpp"

/// Many systems x' = -K x of n equations, each with its own K, on one GPU with a queue of its own. A step of the implicit Euler method
/// solves (I + h K) x_new = x.
class ResidentBatch {
 public:
  static constexpr int n = 16;

  ResidentBatch(myriad::QueueOptions const& options, std::int64_t count)
      : queue_(options),
        count_(count),
        matrices_(myriad::to_device(queue_, matrices_of(count))),
        x_(myriad::to_device(queue_, std::vector<double>(static_cast<std::size_t>(n * count), 1.0))),
        before_(queue_, n * count),
        info_(queue_, count) {}

  /// Sets every x to ones.
  void start() { x_ = myriad::to_device(queue_, std::vector<double>(static_cast<std::size_t>(n * count_), 1.0)); }
  /// Takes so many steps, and waits for the last one. The host only enqueues calls, and nothing is copied.
  void advance(int steps) {
    for (int k = 0; k < steps; ++k) {
      std::swap(x_, before_);
      myriad::solve(queue_, a(), vectors(before_), vectors(x_), info_.data());
    }
    queue_.wait();
  }

  /// The largest backward error of the last step; infinity if a matrix was singular or a result is NaN.
  double error() {
    myriad::DeviceArray<double> each(queue_, count_);
    myriad::backward_error(queue_, a(), vectors(x_), vectors(before_), myriad::vectors(each.data(), 1, count_));
    double worst = 0;
    for (double const e : myriad::to_host(queue_, each)) worst = std::isnan(e) ? INFINITY : std::max(worst, e);
    for (int const info : myriad::to_host(queue_, info_)) worst = info == 0 ? worst : INFINITY;
    return worst;
  }

  myriad::Queue& queue() { return queue_; }
  std::int64_t count() const { return count_; }

 private:
  /// I + h K, column-major: coupled to the neighbours with rates that differ from system to system.
  static std::vector<double> matrices_of(std::int64_t count) {
    std::vector<double> a(static_cast<std::size_t>(n * n * count));
    for (std::int64_t b = 0; b < count; ++b)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          double const rate = 0.1 + 0.001 * static_cast<double>((7 * b + 3 * i + 5 * j) % 100);
          a[static_cast<std::size_t>((b * n + j) * n + i)] = i == j ? 1 + 2 * rate : std::abs(i - j) == 1 ? -rate : 0.01 * rate;
        }
    return a;
  }

  [[nodiscard]] myriad::Batch<double const> a() const { return myriad::batch(matrices_.data(), n, n, {.count = count_}); }
  [[nodiscard]] myriad::Batch<double> vectors(myriad::DeviceArray<double>& x) const { return myriad::vectors(x.data(), n, count_); }

  myriad::Queue queue_;
  std::int64_t count_;
  myriad::DeviceArray<double> matrices_, x_, before_;
  myriad::DeviceArray<int> info_;
};

/// Seconds in which all batches take so many steps from the start at the same time. Each has a host thread, which shares nothing with the
/// others.
inline double seconds_together(std::span<ResidentBatch> batches, int steps) {
  for (ResidentBatch& batch : batches) {
    batch.start();
    batch.queue().wait();
  }
  std::barrier begin(static_cast<std::ptrdiff_t>(batches.size()) + 1);
  std::vector<std::future<void>> threads;
  for (ResidentBatch& batch : batches)
    threads.push_back(std::async(std::launch::async, [&] {
      begin.arrive_and_wait();
      batch.advance(steps);
    }));
  auto const start = std::chrono::steady_clock::now();
  begin.arrive_and_wait();
  for (std::future<void>& thread : threads) thread.get();  // throws what the thread has thrown
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Number of steps that take about half a second, at most so many that no x leaves the range of double. Also loads the kernels of every
/// batch.
inline int steps_of_half_a_second(std::span<ResidentBatch> batches) {
  for (ResidentBatch& batch : batches) batch.advance(1);
  double const seconds = seconds_together(batches.first(1), 4) / 4;
  return static_cast<int>(std::clamp(0.5 / seconds, 1.0, 1e4));
}
