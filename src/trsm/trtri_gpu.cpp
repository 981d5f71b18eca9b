#include "core/dtype.hpp"
#include "trsm/trsm_gpu.hpp"
#include "trsm/trtri.hpp"

namespace myriad::gpu {

template <Element T>
void trtri(Queue& queue, TrtriTask<T> const& task) {
  Triangle const triangle = task.diag == Diag::unit ? Triangle::unit : Triangle::non_unit;
  bool const lower = task.uplo == Uplo::lower;
  substitute<T>(queue, {.routine = "trtri",
                        .lower = lower ? triangle : Triangle::unused,
                        .upper = lower ? Triangle::unused : triangle,
                        .interchange = Interchange::never,
                        .right = RightSide::identity_in_place,
                        .alpha = T(1),
                        .a = task.a,
                        .pivots = {},
                        .b = task.a,
                        .info = task.info});
}

#define MYRIAD_INSTANTIATE(T) template void trtri<T>(Queue&, TrtriTask<T> const&);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad::gpu
