/// An ensemble of stiff systems, distributed: every MPI rank integrates its share of the cells of the atmosphere example, with its own
/// queue.
///
///     mpirun -n 8 mpi_stiff_ensemble [CELLS]
///
/// Ranks never wait for each other until the final states are gathered. A cell gets the same bits on any number of ranks.

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <myriad/myriad.hpp>
#include <vector>

#include "atmosphere/cells.hpp"
#include "atmosphere/rosenbrock.hpp"
#include "atmosphere/solvers.hpp"

namespace {

using namespace atmosphere;

/// Cells first to first + states.size() - 1, and their final states.
class Share {
 public:
  Share(std::int64_t first, std::int64_t count) : states_(static_cast<std::size_t>(count)), first_(first), next_(first) {}

  // Members that the integrator calls
  bool next(std::int64_t& cell, State& y, Rates& k) {
    if (next_ == first_ + static_cast<std::int64_t>(states_.size())) return false;
    cell = next_++;
    Cell const made = make_cell(cell);
    y = made.initial;
    k = made.rates;
    return true;
  }
  void system(std::int64_t, std::int64_t, double const*, double const*, std::int64_t) {}
  template <typename Step>
  void step(Step const&) {}
  void done(std::int64_t cell, State const& y) { states_[static_cast<std::size_t>(cell - first_)] = y; }

  [[nodiscard]] std::vector<State> const& states() const { return states_; }

 private:
  std::vector<State> states_;
  std::int64_t first_, next_;
};

/// The number of this rank on its host, which is that of its GPU.
int local_rank() {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank = 0;
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

template <typename Solver>
Statistics integrate(Solver solver, Share& share) {
  Controls const controls{.end_time = end_time, .relative_tolerance = 1e-6, .absolute_tolerance = 1e-11, .first_step = 1e-6};
  return LockstepRodas4<Mechanism, Solver>(solver, controls).integrate(share, share);
}

/// Returns the exit status.
int run(int rank, int ranks, std::int64_t cells) {
  double const start = MPI_Wtime();
  std::int64_t const first = cells * rank / ranks, end = cells * (rank + 1) / ranks;
  Share share(first, end - first);
  auto const gpus = static_cast<int>(myriad::devices().size());
  Statistics const statistics =
      gpus > 0
          ? integrate(DeviceSolver<species_count, 1024>({.backend = myriad::Backend::gpu, .threads = 1, .device = local_rank() % gpus}),
                      share)
          : integrate(MyriadSolver<species_count, 64>(1), share);  // a rank per core: one thread

  std::int64_t steps = 0;
  MPI_Reduce(&statistics.steps, &steps, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  std::vector<State> all(rank == 0 ? static_cast<std::size_t>(cells) : 0);
  std::vector<int> counts(static_cast<std::size_t>(ranks)), offsets(counts);
  MPI_Datatype state;  // counts are of cells, since those of numbers would soon not fit an int
  MPI_Type_contiguous(species_count, MPI_DOUBLE, &state);
  MPI_Type_commit(&state);
  for (int r = 0; r < ranks; ++r) {
    offsets[static_cast<std::size_t>(r)] = static_cast<int>(cells * r / ranks);
    counts[static_cast<std::size_t>(r)] = static_cast<int>(cells * (r + 1) / ranks - cells * r / ranks);
  }
  MPI_Gatherv(share.states().data(), static_cast<int>(end - first), state, all.data(), counts.data(), offsets.data(), state, 0,
              MPI_COMM_WORLD);
  MPI_Type_free(&state);
  if (rank > 0) return 0;

  double const seconds = MPI_Wtime() - start;
  double error = 0;
  for (int i = 0; i < species_count; ++i) {
    double const relative = std::fabs(all[0][i] - reference_solution[i]) / std::fabs(reference_solution[i]);
    if (!(relative <= error)) error = relative;  // NaN stays
  }
  std::uint64_t bits = 0;
  std::vector<double> ozone;
  for (State const& y : all) {
    for (double const value : y) bits = bits * 0x9e3779b97f4a7c15u + std::bit_cast<std::uint64_t>(value);
    ozone.push_back(y[O3]);
  }
  std::sort(ozone.begin(), ozone.end());
  auto const quantile = [&](double q) { return ozone[static_cast<std::size_t>(q * static_cast<double>(ozone.size() - 1))]; };
  std::printf("%lld cells on %d rank%s in %.2f s: %.0f cells/s, %.1f steps per cell\n", static_cast<long long>(cells), ranks,
              ranks == 1 ? "" : "s", seconds, static_cast<double>(cells) / seconds,
              static_cast<double>(steps) / static_cast<double>(cells));
  std::printf("ozone after 60 minutes: median %.4e ppm, 5%% %.4e, 95%% %.4e\n", quantile(0.5), quantile(0.05), quantile(0.95));
  std::printf("error of the published cell %.1e, hash of all states %016llx\n", error, static_cast<unsigned long long>(bits));
  return error <= 1e-4 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, status = 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::int64_t const cells = argc > 1 ? std::atoll(argv[1]) : 10'000;
  if (cells < 1 || cells > 2'000'000'000) {
    if (rank == 0) std::fprintf(stderr, "mpi_stiff_ensemble: the number of cells must be 1 to 2000000000, is %s\n", argv[1]);
  } else {
    try {
      status = run(rank, ranks, cells);
    } catch (std::exception const& problem) {
      std::fprintf(stderr, "mpi_stiff_ensemble: rank %d: %s\n", rank, problem.what());
      MPI_Abort(MPI_COMM_WORLD, 2);  // the others would wait for this one
    }
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}
