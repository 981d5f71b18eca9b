#pragma once
/// Myriad: dense linear algebra for a myriad of small matrices. This header brings in the whole C++ interface.

#include "myriad/batch.hpp"
#include "myriad/cholesky.hpp"
#include "myriad/device.hpp"
#include "myriad/error.hpp"
#include "myriad/event.hpp"
#include "myriad/gemm.hpp"
#include "myriad/kernels.hpp"
#include "myriad/lu.hpp"
#include "myriad/memory.hpp"
#include "myriad/qr.hpp"
#include "myriad/queue.hpp"
#include "myriad/refine.hpp"
#include "myriad/stream.hpp"
#include "myriad/trsm.hpp"
#include "myriad/types.hpp"
#include "myriad/version.hpp"
