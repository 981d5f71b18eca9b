#pragma once
/// Calls of cuBLAS and cuSOLVER that are equivalent to a case.

#include <functional>

#include "case/case.hpp"
#include "gpu/peers.hpp"

namespace myriad::bench {

/// Queue, libraries, and the function that times a call.
struct PeerTimer {
  Queue& queue;
  Peers& peers;
  /// Restores the inputs.
  std::function<void()> refresh;
  /// Times the call under that name, on fresh inputs.
  std::function<void(char const* name, std::function<void()> const& call)> measure;
  /// Prepares and measures a call. A form is left out if this version lacks it, if the batch is too large for it, or if it needs more
  /// memory than there is: XsyevBatched asks for terabytes for 16 million matrices of 4 rows.
  std::function<void(char const* name, std::function<void()> const& work)> attempt;
};

/// Measures every peer form of `run`. Its arrays are in the queue's memory, column-major or, for gemv, row-major.
void measure_peers(PeerTimer const& timer, cases::CaseRun& run);

}  // namespace myriad::bench
