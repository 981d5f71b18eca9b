#pragma once
/// A kernel for tests of the runtime: it multiplies elements, or breaks off as told.

#include "simt/arithmetic.hpp"

namespace myriad::test {

struct ScaleParams {
  void* data;
  long long count;
  double factor;
};

/// Launch: any number of blocks and threads; each thread strides over the elements.
template <typename T, int Times>
__global__ void scale(ScaleParams params) {
  T* const data = static_cast<T*>(params.data);
  long long const stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < params.count; i += stride)
    data[i] = repeated<Times>(data[i], static_cast<T>(params.factor));
}

/// Sums through dynamic shared memory: one block, as many threads as elements.
__global__ void sum_in_shared(ScaleParams params) {
  extern __shared__ double elements[];
  double* const data = static_cast<double*>(params.data);
  elements[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (long long i = 0; i < params.count; ++i) sum += elements[i];
  data[0] = sum;
}

}  // namespace myriad::test
