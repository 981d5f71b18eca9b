#pragma once
/// Calls of cuBLAS and cuSOLVER that do the work of a case.

#include <functional>

#include "case/case.hpp"
#include "gpu/peers.hpp"

namespace myriad::bench {

/// Queue, libraries, and how a call is timed.
struct PeerTimer {
  Queue& queue;
  Peers& peers;
  /// Times the call under that name, on fresh inputs.
  std::function<void(char const* name, std::function<void()> const& call)> measure;
  /// Does what prepares and measures a call. A form that a version does not have, or not for so large a batch, is left out, and one that
  /// wants more memory than there is: XsyevBatched asks for terabytes for 16 million matrices of 4 rows.
  std::function<void(char const* name, std::function<void()> const& work)> attempt;
};

/// Measures every form of the work of `run`, whose arrays are in the queue's memory, by columns or, of gemv, by rows.
void measure_peers(PeerTimer const& timer, cases::CaseRun& run);

}  // namespace myriad::bench
