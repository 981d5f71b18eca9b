#pragma once
/// Other libraries that compute a case on the same arrays, checked by the same oracle.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "case/case.hpp"

namespace myriad::bench {

class Peer {
 public:
  virtual ~Peer() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Library and version, for tables and plots.
  [[nodiscard]] virtual std::string label() const = 0;
  /// A function that computes `run` (column-major) on that many threads; empty if this library lacks the routine, type or size.
  [[nodiscard]] virtual std::function<void()> prepare(cases::CaseRun& run, int threads) const = 0;
};

/// An OpenMP loop over LAPACK and BLAS, one thread per matrix. Always available.
[[nodiscard]] std::unique_ptr<Peer> make_lapack_peer();
/// An OpenMP loop over Eigen with matrix sizes known at compile time; only in builds with MYRIAD_BENCH_PEERS, like libxsmm.
[[nodiscard]] std::unique_ptr<Peer> make_eigen_peer();
/// An OpenMP loop over libxsmm's small products, whose code is generated for the size.
[[nodiscard]] std::unique_ptr<Peer> make_libxsmm_peer();

/// The peer of that name. Throws myriad::Error if there is none, or, with the way to get it, if this build lacks it.
[[nodiscard]] std::unique_ptr<Peer> make_peer(std::string_view name);

}  // namespace myriad::bench
