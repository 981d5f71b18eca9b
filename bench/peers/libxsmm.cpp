#include <libxsmm.h>

#include "gemm/case.hpp"
#include "peers/loop.hpp"
#include "peers/peer.hpp"

namespace myriad::bench {
namespace {

using namespace cases;

template <typename T, typename Dispatch>
std::function<void()> work(GemmCase<T>& c, int threads, Dispatch dispatch) {
  auto const& p = c.problem();
  if (p.ragged || p.op != Op::none || p.op_b != Op::none || c.alpha != T(1) || (c.beta != T(0) && c.beta != T(1))) return {};
  auto const m = static_cast<libxsmm_blasint>(p.m), n = static_cast<libxsmm_blasint>(p.n), k = static_cast<libxsmm_blasint>(p.k);
  int const flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_PREFETCH_NONE;
  auto const kernel = dispatch(m, n, k, &m, &k, &m, &c.alpha, &c.beta, &flags, &prefetch);
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
  [[nodiscard]] std::function<void()> prepare(CaseRun& run, int threads) const override {
    std::function<void()> found;
    for_case_of<double, GemmCase>(run, [&](auto& c) { found = work(c, threads, libxsmm_dmmdispatch); });
    for_case_of<float, GemmCase>(run, [&](auto& c) { found = work(c, threads, libxsmm_smmdispatch); });
    return found;
  }
};

}  // namespace

std::unique_ptr<Peer> make_libxsmm_peer() { return std::make_unique<LibxsmmPeer>(); }

}  // namespace myriad::bench
