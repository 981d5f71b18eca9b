/// Air chemistry in many cells at once: the POLLU smog mechanism in every cell, integrated by a Rosenbrock method. Myriad factors and
/// solves its linear systems in batches; the same integrator on a loop over LAPACK is the comparison.

#include <cblas.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <myriad/myriad.hpp>
#include <string>

#include "io/npy.hpp"
#include "picture.hpp"
#include "plot/chart.hpp"
#include "run.hpp"
#include "solvers.hpp"

extern "C" void openblas_set_num_threads(int);

namespace {

using namespace atmosphere;

/// Cells that advance together on one thread: a multiple of every SIMD width, few enough that their matrices (200 KB) stay in the
/// second-level cache. Time per step hardly changes from 16 to 256.
constexpr int lanes = 64;
/// The same on a GPU.
constexpr int gpu_lanes = 1024;

struct Options {
  std::int64_t cells = 20'000;
  double relative_tolerance = 1e-6;
  std::string output = "atmosphere-output";
  int threads = 0;
  std::int64_t systems = 5'000;
  bool compare = true;
  myriad::Backend backend = myriad::Backend::automatic;
};

/// The larger number; NaN if either is NaN.
double larger(double x, double y) { return y > x || std::isnan(y) ? y : x; }

double relative_difference(double value, double reference) { return std::fabs(value - reference) / std::fabs(reference); }

/// Prints the published cell next to the reference and returns the largest relative error.
double check_published_cell(State const& y) {
  fmt::print("\nThe published cell at t = 60 min (ppm)\n{:>8}{:>24}{:>24}{:>12}\n", "species", "computed", "reference", "rel. error");
  double worst = 0;
  for (int i = 0; i < species_count; ++i) {
    double const error = relative_difference(y[i], reference_solution[i]);
    fmt::print("{:>8}{:>24.15e}{:>24.15e}{:>12.1e}\n", species_names[i], y[i], reference_solution[i], error);
    worst = larger(worst, error);
  }
  fmt::print("largest relative error: {:.1e} ({:.1f} digits)\n", worst, -std::log10(worst));
  return worst;
}

double largest_difference(std::vector<State> const& a, std::vector<State> const& b) {
  double worst = 0;
  for (std::size_t cell = 0; cell < a.size(); ++cell)
    for (int i = 0; i < species_count; ++i) worst = larger(worst, relative_difference(a[cell][i], b[cell][i]));
  return worst;
}

void print_run(std::string const& name, Options const& options, Run const& run) {
  fmt::print("{:<30}{:>8.2f} s{:>12.0f} cells/s{:>10.1f} steps per cell ({:.1f} % rejected)\n", name, run.seconds,
             static_cast<double>(options.cells) / run.seconds,
             static_cast<double>(run.statistics.steps) / static_cast<double>(options.cells),
             100.0 * static_cast<double>(run.statistics.rejected) / static_cast<double>(run.statistics.steps));
}

int run(Options options) {
  myriad::Queue const queue({.backend = options.backend, .threads = options.threads});
  options.threads = queue.threads();
  bool const on_gpu = queue.backend() == myriad::Backend::gpu;
  std::filesystem::create_directories(options.output);
  auto const path = [&](char const* name) { return (std::filesystem::path(options.output) / name).string(); };
  // Radicals are around 1e-7 ppm, O1D around 1e-17, below this absolute tolerance. A smaller one gains nothing, since they follow the other
  // species through fast equilibria.
  Controls const controls{.end_time = end_time,
                          .relative_tolerance = options.relative_tolerance,
                          .absolute_tolerance = 1e-5 * options.relative_tolerance,
                          .first_step = 1e-6};
  fmt::print("{} cells of 20 species and 25 reactions, 60 minutes, relative tolerance {:.0e}, {} thread{}\n", options.cells,
             options.relative_tolerance, options.threads, options.threads == 1 ? "" : "s");
  fmt::print("linear systems are solved on the {}\n", on_gpu                        ? queue.device().name
                                                      : queue.gpu_problem().empty() ? "CPU"
                                                                                    : fmt::format("CPU; no GPU: {}", queue.gpu_problem()));

  Recorder::Settings const settings{.cells = options.cells, .species = picture_species(), .systems = options.systems};
  Recorder recorder(settings);
  Run const batched =
      on_gpu ? run_cells(options.cells, options.threads, controls, recorder,
                         [] { return DeviceSolver<species_count, gpu_lanes>({.backend = myriad::Backend::gpu, .threads = 1}); })
             : run_cells(options.cells, options.threads, controls, recorder, [] { return MyriadSolver<species_count, lanes>(1); });
  print_run(on_gpu ? fmt::format("Myriad, GPU, {} in lockstep", gpu_lanes) : fmt::format("Myriad, {} cells in lockstep", lanes), options,
            batched);

  double difference = 0;
  if (options.compare) {
    openblas_set_num_threads(1);
    Recorder loop_recorder(settings);
    Run const loop = run_cells(options.cells, options.threads, controls, loop_recorder, [] { return LapackSolver<species_count>(); });
    print_run("LAPACK, one cell after another", options, loop);
    difference = largest_difference(recorder.final_states(), loop_recorder.final_states());
    fmt::print("Myriad is {:.1f} times as fast; largest relative difference of any concentration at the end: {:.1e}\n",
               loop.seconds / batched.seconds, difference);
  }

  double const error = check_published_cell(recorder.final_states()[0]);

  myriad::plot::write_file(path("atmosphere.svg"), picture(recorder));
  Recorder::Systems const systems = recorder.systems();
  myriad::io::save_npy(path("systems_a.npy"), systems.matrices.data(), {systems.count, species_count, species_count});
  myriad::io::save_npy(path("systems_b.npy"), systems.right_sides.data(), {systems.count, species_count});
  fmt::print("\nwrote {}: concentrations over time\nwrote {} and systems_b.npy: {} linear systems of the integration\n",
             path("atmosphere.svg"), path("systems_a.npy"), systems.count);

  // The method's error is far below one hundred times its tolerance; a larger one is a bug.
  double const limit = 100 * options.relative_tolerance;
  if (!(error <= limit)) fmt::print(stderr, "atmosphere: the published cell is off by {:.1e}, more than {:.1e}\n", error, limit);
  if (!(difference <= limit)) fmt::print(stderr, "atmosphere: Myriad and LAPACK differ by {:.1e}, more than {:.1e}\n", difference, limit);
  return error <= limit && difference <= limit ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Photochemical smog in many cells: a stiff integrator on batched linear algebra"};
  app.add_option("--cells", options.cells, "number of cells; cell 0 is the published problem")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--rtol", options.relative_tolerance, "relative tolerance of a step")
      ->check(CLI::Range(1e-12, 1e-2))
      ->capture_default_str();
  app.add_option("--output", options.output, "folder for the picture and the saved systems")->capture_default_str();
  app.add_option("--threads", options.threads, "threads; 0: all cores")->check(CLI::Range(0, 4096))->capture_default_str();
  app.add_option("--systems", options.systems, "number of linear systems to save")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option_function<std::string>(
         "--backend",
         [&](std::string const& name) {
           options.backend = name == "gpu" ? myriad::Backend::gpu : name == "cpu" ? myriad::Backend::cpu : myriad::Backend::automatic;
         },
         "where the linear systems are solved, with the integrator on the CPU: cpu; gpu, the first one; auto, the GPU where one can be "
         "used")
      ->check(CLI::IsMember({"cpu", "gpu", "auto"}))
      ->default_str("auto");
  app.add_flag("!--no-compare", options.compare, "leave out the run on LAPACK");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (std::exception const& error) {
    fmt::print(stderr, "atmosphere: {}\n", error.what());
    return 2;
  }
}
