#include "packs/shipped.hpp"

#include <set>
#include <utility>

#include "cholesky/cholesky_gpu.hpp"
#include "eigen/eigen_gpu.hpp"
#include "eigen/tridiagonal/tridiagonal_gpu.hpp"
#include "gemm/gemm_gpu.hpp"
#include "lu/lu_gpu.hpp"
#include "mixed/mixed_gpu.hpp"
#include "qr/qr_gpu.hpp"
#include "refine/refine_gpu.hpp"
#include "reflectors/reflectors_gpu.hpp"
#include "scale_add/scale_add_gpu.hpp"
#include "svd/bidiagonal/bidiagonal_gpu.hpp"
#include "svd/svd_gpu.hpp"
#include "symv/symv_gpu.hpp"
#include "trsm/trsm_gpu.hpp"

namespace myriad::gpu {
namespace {

using Kernels = std::vector<KernelSource> (*)(KernelFilter const&);

/// The functions that list the kernels of each routine, size and type.
constexpr Kernels lists[]{gemm_kernels,     symv_kernels,       trsm_kernels,  trmv_kernels,        trsv_kernels,       lu_kernels,
                          cholesky_kernels, qr_kernels,         eigen_kernels, tridiagonal_kernels, reflectors_kernels, refine_kernels,
                          mixed_kernels,    bidiagonal_kernels, svd_kernels,   scale_add_kernels};

}  // namespace

std::vector<KernelSource> shipped_kernels(KernelFilter const& filter) {
  std::vector<KernelSource> out;
  std::set<std::pair<std::string, std::vector<std::string>>> seen;  // routines share kernels
  for (Kernels const kernels : lists)
    for (KernelSource& source : kernels(filter))
      if (seen.emplace(source.header + " " + source.name, source.options).second) out.push_back(std::move(source));
  return out;
}

std::optional<std::string> compiled_for(KernelSource const& source, std::string const& arch) {
  if (!source.arch_specific) return arch;
  if (arch == "sm_90") return "sm_90a";
  return std::nullopt;
}

}  // namespace myriad::gpu
