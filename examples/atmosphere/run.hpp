#pragma once
/// All cells on all threads.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "cells.hpp"
#include "recorder.hpp"
#include "rosenbrock.hpp"

namespace atmosphere {

/// Hands out the cells, to any number of threads.
class CellSource {
 public:
  CellSource(std::int64_t count, Recorder& recorder) : count_(count), recorder_(recorder) {}
  bool next(std::int64_t& cell, State& y, Rates& k) {
    cell = next_.fetch_add(1, std::memory_order_relaxed);
    if (cell >= count_) return false;
    Cell const made = make_cell(cell);
    y = made.initial;
    k = made.rates;
    recorder_.start(cell, y);
    return true;
  }

 private:
  std::atomic<std::int64_t> next_{0};
  std::int64_t count_;
  Recorder& recorder_;
};

struct Run {
  Statistics statistics;
  double seconds = 0;
};

/// Integrates `cells` cells. Each thread advances its own group of cells with its own solver, made by `make_solver`, so that the threads
/// never wait for each other and a group stays in the cache of its core.
template <typename MakeSolver>
Run run_cells(std::int64_t cells, int threads, Controls const& controls, Recorder& recorder, MakeSolver const& make_solver) {
  auto const start = std::chrono::steady_clock::now();
  CellSource source(cells, recorder);
  Run run;
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<std::jthread> workers;
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&] {
        try {
          auto solver = make_solver();
          LockstepRodas4<Mechanism, decltype(solver)> integrator(solver, controls);
          Statistics const statistics = integrator.integrate(source, recorder);
          std::lock_guard const lock(mutex);
          run.statistics += statistics;
        } catch (...) {
          std::lock_guard const lock(mutex);
          failure = std::current_exception();
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

}  // namespace atmosphere
