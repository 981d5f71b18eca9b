// A kernel with or without a barrier: `missing_barrier with|without`.

#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "simt/types.hpp"

namespace {

using namespace myriad::simt;

struct Arguments {
  int const* from;
  int* to;
  bool barrier;
};

/// Every thread passes a number to the next one.
SIMT_KERNEL void pass_on(Arguments const args) {
  int* const shared = reinterpret_cast<int*>(shared_memory());
  int const t = thread_index();
  shared[t] = args.from[t];
  if (args.barrier) sync_block();
  args.to[t] = shared[(t + 1) % 64];
}

}  // namespace

int main(int count, char** arguments) {
  bool const barrier = count == 2 && std::strcmp(arguments[1], "with") == 0;
  std::vector<int> from(64), to(64);
  std::iota(from.begin(), from.end(), 0);
  run(1, 64, 64 * sizeof(int), pass_on, Arguments{from.data(), to.data(), barrier});
  std::printf("%d\n", to[0]);
  return barrier && to[0] != 1;
}
