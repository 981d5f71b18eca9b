/// Implements myriad/kernels.hpp: reports on kernels, the cache, packs.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "myriad/error.hpp"
#include "myriad/kernels.hpp"
#include "packs/shipped.hpp"
#include "runtime/driver.hpp"
#include "runtime/kernel_list.hpp"

namespace myriad {

using gpu::KernelRecord;
using gpu::KernelSource;
using gpu::KernelStore;

namespace {

/// The kernels of the lists, each once, or those of the routines, sizes and types.
std::vector<KernelSource> selected(PackOptions const& options) {
  if (options.lists.empty()) return gpu::shipped_kernels({.routines = options.routines, .sizes = options.sizes, .dtypes = options.dtypes});
  std::vector<KernelSource> out;
  std::set<std::pair<std::string, std::vector<std::string>>> seen;
  for (std::string const& list : options.lists)
    for (KernelSource& source : gpu::read_kernel_list(list))
      if (seen.emplace(source.header + " " + source.name, source.options).second) out.push_back(std::move(source));
  return out;
}

}  // namespace

GpuReport gpu_report() {
  GpuReport out;
  gpu::driver::Loaded const& driver = gpu::driver::load();
  out.driver_version = driver.version;
  out.driver_problem = driver.problem;
  out.devices = devices();
  KernelStore const& store = KernelStore::instance();
  out.compiler_version = store.nvrtc().version();
  out.compiler_path = store.nvrtc().path();
  out.tried = store.nvrtc().tried();
  out.compiler_archs = store.nvrtc().archs();
  out.cache_folder = store.cache().folder();
  out.cache_problem = store.cache().problem();
  for (gpu::Packs::Place const& place : store.packs().places)
    out.packs.push_back(
        {.path = place.path, .kernels = place.pack ? static_cast<std::int64_t>(place.pack->size()) : 0, .problem = place.problem});
  return out;
}

std::vector<CachedKernel> cached_kernels() {
  std::vector<CachedKernel> out;
  for (std::string const& path : KernelStore::instance().cache().files()) {
    CachedKernel kernel;
    kernel.file = path;
    if (auto const bytes = gpu::read_file(path)) {
      kernel.bytes = static_cast<std::int64_t>(bytes->size());
      std::string problem;
      if (auto const record = gpu::from_bytes(*bytes, problem)) {
        kernel.name = fmt::format("{} for {}", record->name, record->arch);
        kernel.compiler = record->compiler;
      }
    }
    out.push_back(std::move(kernel));
  }
  return out;
}

std::int64_t clear_kernel_cache() {
  std::int64_t removed = 0;
  for (std::string const& path : KernelStore::instance().cache().files()) removed += ::unlink(path.c_str()) == 0;
  return removed;
}

std::int64_t build_pack(PackOptions const& options, std::string const& path) {
  if (options.archs.empty()) throw BadArgument("build_pack", 1, "archs", "names no architecture");
  // sm_90a is refused: kernels that need it are compiled for it anyway (compiled_for), and others are never looked up under it.
  for (std::string const& arch : options.archs)
    if (arch != gpu::virtual_arch &&
        (!arch.starts_with("sm_") || arch.size() == 3 || arch.find_first_not_of("0123456789", 3) != std::string::npos))
      throw BadArgument("build_pack", 1, "archs",
                        fmt::format("has '{}', which is not the name of an architecture, like sm_90, nor {}", arch, gpu::virtual_arch));
  if (!options.lists.empty() && !(options.routines.empty() && options.sizes.empty() && options.dtypes.empty()))
    throw BadArgument("build_pack", 1, "lists", "are given beside routines, sizes or types; needs only one of these");
  std::vector<KernelSource> const sources = selected(options);
  if (sources.empty()) return 0;
  std::vector<std::pair<KernelSource const*, std::string>> wanted;
  for (KernelSource const& source : sources)
    for (std::string const& arch : options.archs)
      if (auto const compiled = gpu::compiled_for(source, arch)) wanted.emplace_back(&source, *compiled);
  if (wanted.empty()) return 0;
  KernelStore& store = KernelStore::instance();
  std::vector<KernelRecord> records(wanted.size());
  int const threads = options.threads > 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  parallel_for(threads, static_cast<std::int64_t>(records.size()), 1, [&](std::int64_t begin, std::int64_t) {
    auto const i = static_cast<std::size_t>(begin);
    records[i] = store.compile(*wanted[i].first, wanted[i].second);
  });
  auto const count = static_cast<std::int64_t>(records.size());
  gpu::Pack::write(path, std::move(records));
  return count;
}

}  // namespace myriad
