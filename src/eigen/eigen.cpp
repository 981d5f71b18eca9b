#include "eigen/eigen.hpp"

#include "core/check.hpp"
#include "core/dtype.hpp"
#include "eigen/eigen_cpu.hpp"
#include "eigen/eigen_gpu.hpp"
#include "runtime/backend.hpp"

namespace myriad {

template <Element T>
void syevd(Queue& queue, Job job, Uplo uplo, Batch<T> a, Batch<Real<T>> w, int* info) {
  Check("syevd", queue)
      .info(info, 7)
      .require(job == Job::values || job == Job::vectors, {1, "jobz"}, "must be values or vectors")
      .uplo(uplo, 2)
      .matrix(a, {3, "n"}, {3, "n"}, {4, "a"}, {5, "lda"}, Access::write)
      .vector(w, {3, "n"}, {6, "w"}, Access::write)
      .same(rows(a), cols(a), {3, "n"})
      .same_count(a, w, {6, "w"})
      .same(rows(a), rows(w), {3, "n"})
      .disjoint(w, a, {6, "w"}, "a");
  SyevdTask<T> const task{.job = job, .uplo = uplo, .a = a, .w = w, .info = info};
  gpu::on_gpu(queue) ? gpu::syevd(queue, task) : cpu::syevd(queue, task);
}

#define MYRIAD_INSTANTIATE(T) template void syevd<T>(Queue&, Job, Uplo, Batch<T>, Batch<Real<T>>, int*);
MYRIAD_FOR_EACH_ELEMENT(MYRIAD_INSTANTIATE)
#undef MYRIAD_INSTANTIATE

}  // namespace myriad
