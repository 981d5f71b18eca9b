#pragma once
/// Many small stiff systems of ordinary differential equations, integrated side by side with RODAS4.
///
/// RODAS4 is a Rosenbrock method of six stages, order 4 with an embedded solution of order 3, L-stable and stiffly accurate; every stage of
/// a step solves a system with the same matrix W = I / (h gamma) - J. Source: E. Hairer and G. Wanner, Solving Ordinary Differential
/// Equations II, section IV.7 and code RODAS.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace atmosphere {

namespace rodas4 {
inline constexpr int stages = 6;
inline constexpr double gamma = 0.25;
/// Stage i evaluates f at y + sum_j a[i][j] u_j; the new y is the argument of a seventh stage.
inline constexpr double a[stages + 1][stages] = {
    {},
    {1.544},
    {0.9466785280815826, 0.2557011698983284},
    {3.314825187068521, 2.896124015972201, 0.9986419139977817},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1, 1},
};
/// W u_i = f + sum_j c[i][j] / h u_j.
inline constexpr double c[stages][stages] = {
    {},
    {-5.6688},
    {-2.430093356833875, -0.2063599157091915},
    {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
    {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
    {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054},
};
/// Coefficients of the interpolant of order 3 inside a step.
inline constexpr double d[2][stages - 1] = {
    {10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662},
    {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872},
};
}  // namespace rodas4

struct Controls {
  double end_time = 1;
  double relative_tolerance = 1e-6;
  double absolute_tolerance = 1e-12;
  double first_step = 1e-4;
  double fixed_step = 0;  ///< positive: every step is this long and accepted
};

struct Statistics {
  std::int64_t steps = 0;     ///< steps tried, over all cells: as many factorizations, and six times as many solves
  std::int64_t rejected = 0;  ///< of these the steps that were not accurate enough and were repeated with a smaller h
  Statistics& operator+=(Statistics const& other) {
    steps += other.steps;
    rejected += other.rejected;
    return *this;
  }
};

/// Zeros aligned to a cache line, since the library reads aligned interleaved matrices in place.
class Memory {
 public:
  explicit Memory(std::int64_t size) : data_(new (std::align_val_t{64}) double[static_cast<std::size_t>(size)]()) {}
  double& operator[](std::int64_t i) { return data_[i]; }
  double const& operator[](std::int64_t i) const { return data_[i]; }
  double* data() { return data_.get(); }
  [[nodiscard]] double const* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(double* data) const { ::operator delete[](data, std::align_val_t{64}); }
  };
  std::unique_ptr<double[], Free> data_;
};

/// Advances up to Solver::lanes cells in lockstep: all take a step at the same moment, but each has its own time, step size and acceptance.
/// The next cell replaces a finished one, so that lanes stay full until no cell is left.
///
/// System: `size`, `parameters`, `derivative`, `subtract_jacobian` as in Mechanism. Solver: `lanes`, `factor(w, n)` and `solve(x, n)` for
/// the first n lanes. In every array lane l is l elements after lane 0; element (i, j) of w is (i + j * size) * lanes further on.
template <typename System, typename Solver>
class LockstepRodas4 {
 public:
  static constexpr std::int64_t lanes = Solver::lanes;
  static constexpr int size = System::size;

  LockstepRodas4(Solver& solver, Controls const& controls) : solver_(solver), controls_(controls) {}

  /// An accepted step, for the observer.
  class Step {
   public:
    std::int64_t cell;
    double start, length;
    /// Component i at time t inside the step.
    [[nodiscard]] double value(int i, double t) const {
      double const s = (t - start) / length;
      double inner[2] = {};
      for (int p = 0; p < 2; ++p)
        for (int j = 0; j < rodas4::stages - 1; ++j) inner[p] += rodas4::d[p][j] * owner_.u_[j][owner_.at(i, lane_)];
      double const y_start = owner_.y_[owner_.at(i, lane_)], y_end = owner_.y_new_[owner_.at(i, lane_)];
      return (1 - s) * y_start + s * (y_end + (1 - s) * (inner[0] + s * inner[1]));
    }

   private:
    friend LockstepRodas4;
    Step(LockstepRodas4 const& owner, std::int64_t lane)
        : cell(owner.cell_[lane]), start(owner.time_[lane]), length(owner.h_[lane]), owner_(owner), lane_(lane) {}
    LockstepRodas4 const& owner_;
    std::int64_t lane_;
  };

  /// Integrates all cells of `cells`. `cells.next(cell, y, p)` gives number, initial state and parameters of a cell, or returns
  /// false; `observer.system(cell, attempt, w, x, stride)` sees matrix and right-hand side of the first stage of every step,
  /// `observer.step(Step)` every accepted step and `observer.done(cell, y)` the final state.
  template <typename Cells, typename Observer>
  Statistics integrate(Cells& cells, Observer& observer) {
    Statistics statistics;
    active_ = 0;
    for (bool more = true; more && active_ < lanes;) {
      more = load(cells, active_);
      if (more) ++active_;
    }
    while (active_ > 0) {
      step(observer);
      statistics.steps += active_;
      for (std::int64_t lane = active_ - 1; lane >= 0; --lane) statistics.rejected += !finish_step(cells, observer, lane);
    }
    return statistics;
  }

 private:
  using Lanes = std::array<double, lanes>;
  [[nodiscard]] static constexpr std::int64_t at(int i, std::int64_t lane) { return i * lanes + lane; }
  /// Number of active lanes, if any; a constant 1 with one lane, which removes loops over lanes.
  [[nodiscard]] std::int64_t active() const { return lanes == 1 ? 1 : active_; }

  template <typename Cells>
  bool load(Cells& cells, std::int64_t lane) {
    std::array<double, size> y;
    std::array<double, System::parameters> p;
    if (!cells.next(cell_[lane], y, p)) return false;
    for (int i = 0; i < size; ++i) y_[at(i, lane)] = y[i];
    for (int i = 0; i < System::parameters; ++i) p_[at(i, lane)] = p[i];
    time_[lane] = 0;
    h_[lane] = controls_.fixed_step > 0 ? controls_.fixed_step : std::min(controls_.first_step, controls_.end_time);
    growth_limit_[lane] = max_growth;
    attempt_[lane] = 0;
    return true;
  }

  /// Moves the last active cell to `lane` and forgets the cell that was there.
  void compact(std::int64_t lane) {
    std::int64_t const last = --active_;
    for (int i = 0; i < size; ++i) y_[at(i, lane)] = y_[at(i, last)];
    for (int i = 0; i < System::parameters; ++i) p_[at(i, lane)] = p_[at(i, last)];
    cell_[lane] = cell_[last];
    time_[lane] = time_[last];
    h_[lane] = h_[last];
    growth_limit_[lane] = growth_limit_[last];
    attempt_[lane] = attempt_[last];
  }

  /// One step of all active lanes: u_ holds the stages, y_new_ the new state, error_ its estimated error over the tolerance.
  template <typename Observer>
  void step(Observer& observer) {
    std::int64_t const n = active();
    for (std::int64_t lane = 0; lane < n; ++lane) inverse_h_[lane] = 1 / h_[lane];
    assemble();
    for (int stage = 0; stage < rodas4::stages; ++stage) {
      stage_argument(stage, y_new_);
      double* const u = u_[stage].data();
#pragma omp simd
      for (std::int64_t lane = 0; lane < n; ++lane) System::derivative(&y_new_[lane], &p_[lane], &u[lane], lanes);
      for (int j = 0; j < stage; ++j) {
        double const* const earlier = u_[j].data();
        for (int i = 0; i < size; ++i)
#pragma omp simd
          for (std::int64_t lane = 0; lane < n; ++lane) u[at(i, lane)] += rodas4::c[stage][j] * inverse_h_[lane] * earlier[at(i, lane)];
      }
      if (stage == 0) {
        for (std::int64_t lane = 0; lane < n; ++lane) observer.system(cell_[lane], attempt_[lane]++, &w_[lane], &u[lane], lanes);
        solver_.factor(w_.data(), n);
      }
      solver_.solve(u, n);
    }
    stage_argument(rodas4::stages, y_new_);
    estimate_error();
  }

  /// W = I / (h gamma) - J.
  void assemble() {
    std::int64_t const n = active();
    for (int j = 0; j < size; ++j)
      for (int i = 0; i < size; ++i) {
        double* const element = &w_[(i + j * size) * lanes];
        if (i == j)
          for (std::int64_t lane = 0; lane < n; ++lane) element[lane] = inverse_h_[lane] / rodas4::gamma;
        else
          std::fill_n(element, n, 0.0);
      }
#pragma omp simd
    for (std::int64_t lane = 0; lane < n; ++lane) System::subtract_jacobian(&y_[lane], &p_[lane], lanes, &w_[lane], lanes);
  }

  void stage_argument(int stage, Memory& result) const {
    std::int64_t const n = active();
    for (int i = 0; i < size; ++i) {
      double* const out = &result[at(i, 0)];
      std::copy_n(&y_[at(i, 0)], n, out);
      for (int j = 0; j < stage; ++j) {
        double const* const u = &u_[j][at(i, 0)];
#pragma omp simd
        for (std::int64_t lane = 0; lane < n; ++lane) out[lane] += rodas4::a[stage][j] * u[lane];
      }
    }
  }

  /// Root mean square over the components of error / (absolute + relative tolerance |y|); the last stage is the error.
  void estimate_error() {
    std::int64_t const n = active();
    std::fill_n(error_.begin(), n, 0.0);
    double const* const e = u_[rodas4::stages - 1].data();
    for (int i = 0; i < size; ++i)
#pragma omp simd
      for (std::int64_t lane = 0; lane < n; ++lane) {
        double const before = std::fabs(y_[at(i, lane)]), after = std::fabs(y_new_[at(i, lane)]);
        double const scale = controls_.absolute_tolerance + controls_.relative_tolerance * (before > after ? before : after);
        double const ratio = e[at(i, lane)] / scale;
        error_[lane] += ratio * ratio;
      }
    for (std::int64_t lane = 0; lane < n; ++lane) error_[lane] = std::sqrt(error_[lane] / size);
  }

  /// Accepts or rejects the step of one lane, chooses the next h, and replaces the cell when it is done. Returns whether it was accepted.
  template <typename Cells, typename Observer>
  bool finish_step(Cells& cells, Observer& observer, std::int64_t lane) {
    bool const adaptive = !(controls_.fixed_step > 0);
    bool const accepted = error_[lane] <= 1 || (!adaptive && std::isfinite(error_[lane]));  // NaN: not accepted
    double const wanted = 0.9 / std::sqrt(std::sqrt(error_[lane]));
    double const factor = std::isfinite(error_[lane]) ? std::clamp(wanted, max_shrink, growth_limit_[lane]) : max_shrink;
    if (!accepted) {
      h_[lane] *= factor;
      growth_limit_[lane] = 1;  // no growth right after a rejection
      if (!adaptive || h_[lane] < 1e-16 * controls_.end_time)
        throw std::runtime_error("cell " + std::to_string(cell_[lane]) + ": no step at t = " + std::to_string(time_[lane]) +
                                 " is short enough for the tolerance");
      return false;
    }
    observer.step(Step(*this, lane));
    for (int i = 0; i < size; ++i) y_[at(i, lane)] = y_new_[at(i, lane)];
    time_[lane] += h_[lane];
    double const left = controls_.end_time - time_[lane];
    if (left <= 1e-14 * controls_.end_time) {
      std::array<double, size> y;
      for (int i = 0; i < size; ++i) y[i] = y_[at(i, lane)];
      observer.done(cell_[lane], y);
      if (!load(cells, lane)) compact(lane);
      return true;
    }
    if (adaptive) h_[lane] *= factor;
    growth_limit_[lane] = max_growth;
    if (h_[lane] >= left)
      h_[lane] = left;
    else if (2 * h_[lane] > left)
      h_[lane] = left / 2;  // two steps of equal length rather than a tiny last one
    return true;
  }

  static constexpr double max_growth = 6, max_shrink = 0.2;

  Solver& solver_;
  Controls controls_;
  std::int64_t active_ = 0;
  std::array<std::int64_t, lanes> cell_, attempt_;
  Lanes time_, h_, inverse_h_, growth_limit_, error_;
  Memory y_{size * lanes}, y_new_{size * lanes};
  Memory p_{System::parameters * lanes};
  std::array<Memory, rodas4::stages> u_{Memory(size * lanes), Memory(size* lanes), Memory(size* lanes),
                                        Memory(size* lanes),  Memory(size* lanes), Memory(size* lanes)};
  Memory w_{std::int64_t{size} * size * lanes};
};

}  // namespace atmosphere
