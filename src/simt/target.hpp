#pragma once
/// Selects the primitives: those of the device for NVRTC (or nvcc), those of the host twin for a plain C++ compiler.

#if defined(__CUDACC__)
#include "simt/device.hpp"
#else
#include "simt_host/host.hpp"
#endif
