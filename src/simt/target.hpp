#pragma once
/// For whom this is compiled: NVRTC (or nvcc), or a plain C++ compiler with the host twin of a GPU.

#if defined(__CUDACC__)
#include "simt/device.hpp"
#else
#include "simt_host/host.hpp"
#endif
