#pragma once
/// Singular value decomposition: tasks.

#include "myriad/batch.hpp"
#include "myriad/svd.hpp"

namespace myriad {

inline bool wants_u(SvdJob job) { return job == SvdJob::thin || job == SvdJob::full || job == SvdJob::left; }
inline bool wants_vt(SvdJob job) { return job == SvdJob::thin || job == SvdJob::full || job == SvdJob::right; }

/// A = U diag(s) V^H. Views that `job` does not ask for are empty.
template <typename T>
struct GesvdTask {
  SvdJob job;
  Batch<T> a;
  Batch<Real<T>> s;
  Batch<T> u, vt;
  int* info;
};

}  // namespace myriad
