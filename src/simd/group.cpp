#include "simd/group.hpp"

#include <hwy/aligned_allocator.h>

#include <new>

namespace myriad {

void* lane_workspace() {
  thread_local hwy::AlignedFreeUniquePtr<unsigned char[]> const memory = hwy::AllocateAligned<unsigned char>(lane_workspace_bytes);
  if (!memory) throw std::bad_alloc();
  return memory.get();
}

}  // namespace myriad
