#pragma once
/// One row of the benchmark: a routine on the GPU, timed against its peers and checked in the same run.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "case/case.hpp"
#include "gpu/peers.hpp"
#include "gpu/run.hpp"
#include "myriad/myriad.hpp"

namespace myriad::bench {

using Json = nlohmann::ordered_json;

/// Shared by all rows.
struct Session {
  Queue& queue;
  Options const& options;
  Peers& peers;
  EnergyMeter const& meter;
  std::int64_t l2_bytes;
  double copy_rate;
};

struct Timing {
  double seconds = 0;  ///< median
  double joules = 0;   ///< of one call; 0: not measured
};

/// Times `work`. An untimed `refresh` precedes each call.
Timing time(Session const& session, std::function<void()> const& refresh, std::function<void()> const& work);

/// A routine of `--routine`, and its number of right-hand sides.
struct Measured {
  cases::Case const* routine;
  bool one_column = false;  ///< one right-hand side, else n
};
/// Throws Error that lists the known names.
Measured measured_of(std::string const& name);

/// A row of the results.
Json row_of(Session const& session, std::string const& name, Dtype dtype, int n, std::string const& layout, Uplo uplo);

}  // namespace myriad::bench
