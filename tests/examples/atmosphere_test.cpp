/// The air chemistry example: the mechanism, the integrator, and both against the published solution.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "atmosphere/cells.hpp"
#include "atmosphere/mechanism.hpp"
#include "atmosphere/picture.hpp"
#include "atmosphere/recorder.hpp"
#include "atmosphere/rosenbrock.hpp"
#include "atmosphere/run.hpp"
#include "atmosphere/solvers.hpp"

namespace {

using namespace atmosphere;

/// y0' = -y0^2, y1' = -2 y0 y1 from (1, 1): y0 = 1 / (1 + t), y1 = 1 / (1 + t)^2.
struct Rational {
  static constexpr int size = 2;
  static constexpr int parameters = 1;
  static void derivative(double const* y, double const*, double* f, std::int64_t stride) {
    f[0] = -y[0] * y[0];
    f[stride] = -2 * y[0] * y[stride];
  }
  static void subtract_jacobian(double const* y, double const*, std::int64_t stride, double* w, std::int64_t element_stride) {
    w[0] += 2 * y[0];
    w[1 * element_stride] += 2 * y[stride];
    w[3 * element_stride] += 2 * y[0];
  }
};

/// y' = -rate y.
struct Decay {
  static constexpr int size = 1;
  static constexpr int parameters = 1;
  static void derivative(double const* y, double const* rate, double* f, std::int64_t) { f[0] = -rate[0] * y[0]; }
  static void subtract_jacobian(double const*, double const* rate, std::int64_t, double* w, std::int64_t) { w[0] += rate[0]; }
};

template <typename System>
struct OneCell {
  std::array<double, System::size> start;
  std::array<double, System::parameters> parameters{};
  bool given = false;
  bool next(std::int64_t& cell, std::array<double, System::size>& y, std::array<double, System::parameters>& p) {
    cell = 0;
    y = start;
    p = parameters;
    return !std::exchange(given, true);
  }
};

/// Records the final state and the largest error of the interpolant in the middle of a step.
template <typename System>
struct Watch {
  std::array<double, System::size> end{};
  double interpolation_error = 0;
  void system(std::int64_t, std::int64_t, double const*, double const*, std::int64_t) {}
  template <typename Step>
  void step(Step const& step) {
    if constexpr (System::size == 2) {
      double const t = step.start + 0.4 * step.length;
      interpolation_error = std::max(interpolation_error, std::fabs(step.value(1, t) - 1 / ((1 + t) * (1 + t))));
    }
  }
  void done(std::int64_t, std::array<double, System::size> const& y) { end = y; }
};

template <typename System>
Watch<System> integrate(OneCell<System> cell, Controls const& controls) {
  MyriadSolver<System::size, 4> solver(1);
  LockstepRodas4<System, decltype(solver)> integrator(solver, controls);
  Watch<System> watch;
  integrator.integrate(cell, watch);
  return watch;
}

TEST(Rodas4, ConvergesWithOrderFour) {
  double previous = 0, previous_inside = 0;
  for (int const steps : {16, 32, 64, 128}) {
    auto const watch = integrate<Rational>({.start = {1, 1}}, {.end_time = 2, .fixed_step = 2.0 / steps});
    double const error = std::fabs(watch.end[1] - 1.0 / 9);
    if (previous > 0) {
      EXPECT_NEAR(std::log2(previous / error), 4, 0.35) << steps << " steps";
      EXPECT_GT(std::log2(previous_inside / watch.interpolation_error), 3.4) << steps << " steps, inside a step";
    }
    previous = error;
    previous_inside = watch.interpolation_error;
  }
  EXPECT_LT(previous, 1e-8);
}

TEST(Rodas4, KeepsTheTolerance) {
  for (double const tolerance : {1e-4, 1e-6, 1e-8}) {
    auto const watch =
        integrate<Rational>({.start = {1, 1}}, {.end_time = 2, .relative_tolerance = tolerance, .absolute_tolerance = tolerance});
    EXPECT_LT(std::fabs(watch.end[1] - 1.0 / 9), 3 * tolerance);
  }
}

TEST(Rodas4, DampsWhatIsFarTooFastForTheStep) {
  auto const watch = integrate<Decay>({.start = {1}, .parameters = {1e12}}, {.end_time = 1, .fixed_step = 1});
  EXPECT_LT(std::fabs(watch.end[0]), 1e-9);
}

TEST(Rodas4, GivesUpWithAMessage) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  try {
    integrate<Decay>({.start = {1}, .parameters = {nan}}, {.end_time = 1});
    FAIL() << "no exception";
  } catch (std::runtime_error const& error) {
    EXPECT_NE(std::string(error.what()).find("cell 0"), std::string::npos) << error.what();
  }
}

TEST(Mechanism, KeepsNitrogenAndSulphur) {
  RandomStream random(3);
  Rates const k = make_cell(5).rates;
  State y, f;
  for (double& c : y) c = random.uniform();
  Mechanism::derivative(y.data(), k.data(), f.data(), 1);
  double const nitrogen = f[NO2] + f[NO] + f[PAN] + f[HNO3] + f[NO3] + 2 * f[N2O5];
  double scale = 0;
  for (double const d : f) scale = std::max(scale, std::fabs(d));
  EXPECT_NEAR(nitrogen / scale, 0, 1e-14);
  EXPECT_NEAR((f[SO2] + f[SO4]) / scale, 0, 1e-14);
  EXPECT_GT(std::fabs(f[SO4]), 0);
}

TEST(Mechanism, JacobianIsTheDerivativeOfTheDerivative) {
  RandomStream random(4);
  Rates const k = make_cell(0).rates;
  State y;
  for (double& c : y) c = random.uniform(0.5, 1);
  std::vector<double> minus_jacobian(species_count * species_count);
  Mechanism::subtract_jacobian(y.data(), k.data(), 1, minus_jacobian.data(), 1);
  for (int j = 0; j < species_count; ++j) {
    State above = y, below = y, f_above, f_below;
    above[j] += 0.25;  // f is quadratic: central differences are exact except for rounding
    below[j] -= 0.25;
    Mechanism::derivative(above.data(), k.data(), f_above.data(), 1);
    Mechanism::derivative(below.data(), k.data(), f_below.data(), 1);
    for (int i = 0; i < species_count; ++i) {
      double const scale = std::fabs(f_above[i]) + std::fabs(f_below[i]) + 1e-300;
      EXPECT_NEAR((-minus_jacobian[i + j * species_count] - (f_above[i] - f_below[i]) / 0.5) / scale, 0, 1e-13)
          << species_names[i] << " along " << species_names[j];
    }
  }
}

Controls controls(double tolerance) {
  return {.end_time = end_time, .relative_tolerance = tolerance, .absolute_tolerance = 1e-5 * tolerance, .first_step = 1e-6};
}

double published_error(State const& y) {
  double worst = 0;
  for (int i = 0; i < species_count; ++i) {
    double const error = std::fabs(y[i] / reference_solution[i] - 1);
    if (error > worst || std::isnan(error)) worst = error;
  }
  return worst;
}

TEST(Atmosphere, ReproducesThePublishedSolution) {
  for (auto const& [tolerance, limit] : {std::pair{1e-4, 1e-5}, std::pair{1e-6, 1e-7}, std::pair{1e-9, 2e-9}}) {
    Recorder recorder({.cells = 1});
    run_cells(1, 1, controls(tolerance), recorder, [] { return MyriadSolver<species_count, 8>(1); });
    EXPECT_LT(published_error(recorder.final_states()[0]), limit) << "tolerance " << tolerance;
  }
}

TEST(Atmosphere, CellsVary) {
  Cell const published = make_cell(0), other = make_cell(1), same = make_cell(1);
  EXPECT_EQ(published.initial, initial_state);
  for (std::size_t r = 0; r < reactions.size(); ++r) EXPECT_EQ(published.rates[r], reactions[r].rate);
  EXPECT_NE(other.rates, published.rates);
  EXPECT_NE(other.initial, published.initial);
  EXPECT_EQ(other.rates, same.rates);
}

template <typename Solver, typename... Arguments>
std::vector<State> final_states(std::int64_t cells, int threads, Arguments... arguments) {
  Recorder recorder({.cells = cells});
  Run const run = run_cells(cells, threads, controls(1e-5), recorder, [=] { return Solver(arguments...); });
  EXPECT_GT(run.statistics.steps, 30 * cells);
  return recorder.final_states();
}

TEST(Atmosphere, ACellDoesNotDependOnItsNeighbours) {
  auto const one = final_states<MyriadSolver<species_count, 1>>(37, 1, 1);
  EXPECT_EQ((final_states<MyriadSolver<species_count, 8>>(37, 1, 1)), one);
  EXPECT_EQ((final_states<MyriadSolver<species_count, 64>>(37, 1, 1)), one);  // more lanes than cells
  EXPECT_EQ((final_states<MyriadSolver<species_count, 16>>(37, 3, 1)), one);  // several threads
  EXPECT_EQ((final_states<MyriadSolver<species_count, 64>>(37, 1, 2)), one);  // one queue with two threads
}

TEST(Atmosphere, ADeviceSolverOnTheCpuGivesTheSameBits) {
  auto const here = final_states<MyriadSolver<species_count, 16>>(37, 1, 1);
  myriad::QueueOptions const cpu{.backend = myriad::Backend::cpu, .threads = 1};
  EXPECT_EQ((final_states<DeviceSolver<species_count, 16>>(37, 1, cpu)), here);
  EXPECT_EQ((final_states<DeviceSolver<species_count, 64>>(37, 2, cpu)), here);
}

TEST(Atmosphere, AgreesOnAGpu) {
  char const* const backend = std::getenv("MYRIAD_TEST_BACKEND");
  if (!backend || std::string(backend) != "gpu") GTEST_SKIP() << "MYRIAD_TEST_BACKEND is not gpu";
  auto const here = final_states<MyriadSolver<species_count, 16>>(200, 1, 1);
  auto const there = final_states<DeviceSolver<species_count, 128>>(200, 2, myriad::QueueOptions{.backend = myriad::Backend::gpu});
  for (std::size_t cell = 0; cell < here.size(); ++cell)
    for (int i = 0; i < species_count; ++i)
      EXPECT_NEAR(there[cell][i] / here[cell][i], 1, 1e-7) << "cell " << cell << ", " << species_names[i];
}

TEST(Atmosphere, AgreesWithTheLoopOverLapack) {
  auto const batched = final_states<MyriadSolver<species_count, 16>>(20, 1, 1);
  auto const loop = final_states<LapackSolver<species_count>>(20, 1);
  for (std::size_t cell = 0; cell < loop.size(); ++cell)
    for (int i = 0; i < species_count; ++i)
      EXPECT_NEAR(batched[cell][i] / loop[cell][i], 1, 1e-7) << "cell " << cell << ", " << species_names[i];
}

TEST(Atmosphere, RecordsCurvesAndSystems) {
  Recorder recorder({.cells = 12, .species = picture_species(), .intervals = 30, .systems = 5});
  run_cells(12, 2, controls(1e-6), recorder, [] { return MyriadSolver<species_count, 4>(1); });
  for (std::size_t s = 0; s < picture_species().size(); ++s) {
    auto const first = recorder.across_cells(s, 0), last = recorder.across_cells(s, recorder.points() - 1);
    for (std::int64_t cell = 0; cell < 12; ++cell) {
      int const species = picture_species()[s];
      EXPECT_EQ(first[cell], static_cast<float>(make_cell(cell).initial[species]));
      EXPECT_NEAR(last[cell] / recorder.final_states()[cell][species], 1, 1e-6);
    }
  }
  auto const systems = recorder.systems();
  ASSERT_EQ(systems.count, 5);
  ASSERT_EQ(systems.matrices.size(), 5u * 400);
  // The diagonal of W holds 1 / (h gamma) plus loss rates; CO2 is only produced, so its row off the diagonal has no positive element.
  for (int j = 0; j < species_count; ++j) {
    if (j == CO2)
      EXPECT_GT(systems.matrices[CO2 * species_count + j], 0);
    else
      EXPECT_LE(systems.matrices[CO2 * species_count + j], 0);
  }
  std::string const svg = picture(recorder);
  EXPECT_NE(svg.find("<svg"), std::string::npos);
  EXPECT_NE(svg.find("Ozone"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
