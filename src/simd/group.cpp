#include "simd/group.hpp"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <new>

namespace myriad {

void* lane_workspace() {
  thread_local hwy::AlignedFreeUniquePtr<unsigned char[]> const memory = hwy::AllocateAligned<unsigned char>(lane_workspace_bytes);
  if (!memory) throw std::bad_alloc();
  return memory.get();
}

void sort_by_shape(Shapes const& shapes, std::int64_t* first, std::int64_t* last) {
  std::sort(first, last, [&](std::int64_t x, std::int64_t y) {
    auto const of_x = shapes.of(x), of_y = shapes.of(y);
    return of_x != of_y ? of_x < of_y : x < y;
  });
}

}  // namespace myriad
