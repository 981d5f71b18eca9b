#include <fmt/format.h>

#include "myriad/error.hpp"
#include "peers/peer.hpp"

namespace myriad::bench {

std::unique_ptr<Peer> make_peer(std::string_view name) {
  if (name == "lapack") return make_lapack_peer();
  if (name == "eigen" || name == "libxsmm") {
#if defined(MYRIAD_HAVE_PEERS)
    return name == "eigen" ? make_eigen_peer() : make_libxsmm_peer();
#else
    throw Unavailable(
        fmt::format("peer '{}' is not in this build: install libeigen3-dev and libxsmm-dev and build with -DMYRIAD_BENCH_PEERS=ON", name));
#endif
  }
  throw Error(fmt::format("there is no peer '{}'; peers are lapack, eigen, libxsmm", name));
}

}  // namespace myriad::bench
