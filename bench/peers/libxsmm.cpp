#include <libxsmm.h>

#include "gemm/case.hpp"
#include "peers/loop.hpp"
#include "peers/peer.hpp"

namespace myriad::bench {
namespace {

using namespace cases;

template <typename T, typename Kernel>
std::function<void()> loop(GemmCase<T>& c, int threads, Kernel kernel) {
  if (!kernel) return {};
  return [&c, threads, kernel] {
    for_each_matrix(threads, c.problem().count,
                    [&](std::int64_t i) { kernel(c.a.view().matrix(i), c.b.view().matrix(i), c.c.view().matrix(i)); });
  };
}

class LibxsmmPeer final : public Peer {
 public:
  [[nodiscard]] std::string_view name() const override { return "libxsmm"; }
  [[nodiscard]] std::string label() const override { return "libxsmm " LIBXSMM_VERSION; }
  [[nodiscard]] std::function<void()> prepare(std::string_view routine, CaseRun& run, int threads) const override {
    auto const& p = run.problem();
    bool const offered =
        routine == "gemm" && !p.ragged && p.op == Op::none && p.op_b == Op::none && p.alpha == 1.0 && (p.beta == 0.0 || p.beta == 1.0);
    if (!offered) return {};
    auto const m = static_cast<libxsmm_blasint>(p.m);
    auto const n = static_cast<libxsmm_blasint>(p.n);
    auto const k = static_cast<libxsmm_blasint>(p.k);
    int const flags = LIBXSMM_GEMM_FLAG_NONE;
    int const prefetch = LIBXSMM_PREFETCH_NONE;
    if (p.dtype == Dtype::f64) {
      double const alpha = 1;
      double const beta = p.beta.real();
      return loop(dynamic_cast<GemmCase<double>&>(run), threads,
                  libxsmm_dmmdispatch(m, n, k, &m, &k, &m, &alpha, &beta, &flags, &prefetch));
    }
    if (p.dtype == Dtype::f32) {
      float const alpha = 1;
      float const beta = static_cast<float>(p.beta.real());
      return loop(dynamic_cast<GemmCase<float>&>(run), threads, libxsmm_smmdispatch(m, n, k, &m, &k, &m, &alpha, &beta, &flags, &prefetch));
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Peer> make_libxsmm_peer() { return std::make_unique<LibxsmmPeer>(); }

}  // namespace myriad::bench
