#pragma once
/// Other libraries that do the work of a case on the same arrays, checked by the same oracle.

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
  /// What does the work of `run` (whose layout is column-major) on that many threads; empty where this library has no such routine, type or
  /// size.
  [[nodiscard]] virtual std::function<void()> prepare(cases::CaseRun& run, int threads) const = 0;
};

/// An OpenMP loop over LAPACK and BLAS, one thread per matrix. Always there.
[[nodiscard]] std::unique_ptr<Peer> make_lapack_peer();
/// An OpenMP loop over Eigen with matrix sizes known at compile time; like the next, in builds with MYRIAD_BENCH_PEERS only.
[[nodiscard]] std::unique_ptr<Peer> make_eigen_peer();
/// An OpenMP loop over libxsmm's small products, whose code is generated for the size.
[[nodiscard]] std::unique_ptr<Peer> make_libxsmm_peer();

/// The peer of that name; throws myriad::Error that says how to get it where this build has not got it, or that there is no such peer.
[[nodiscard]] std::unique_ptr<Peer> make_peer(std::string_view name);

}  // namespace myriad::bench
