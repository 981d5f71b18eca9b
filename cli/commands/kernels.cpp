/// `myriad cache` and `myriad pack`: GPU kernels in the user's cache and in packs.

#include "myriad/kernels.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "io/element.hpp"
#include "myriad/error.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

int list_cache(bool as_json) {
  GpuReport const report = gpu_report();
  std::vector<CachedKernel> const kernels = cached_kernels();
  if (as_json) {
    nlohmann::json out{{"folder", report.cache_folder}, {"problem", report.cache_problem}, {"kernels", nlohmann::json::array()}};
    for (CachedKernel const& kernel : kernels)
      out["kernels"].push_back({{"file", kernel.file},
                                {"name", kernel.name},
                                {"compiler", kernel.compiler},
                                {"bytes", kernel.bytes},
                                {"damaged", kernel.name.empty()}});
    std::fputs(json_text(out).c_str(), stdout);
    return exit_good;
  }
  std::int64_t bytes = 0;
  for (CachedKernel const& kernel : kernels) {
    bytes += kernel.bytes;
    if (kernel.name.empty())
      say("{:>9}  damaged: {}\n", kernel.bytes, kernel.file);
    else
      say("{:>9}  {} ({})\n", kernel.bytes, kernel.name, kernel.compiler);
  }
  say("{} kernel{}, {} bytes in {}{}\n", kernels.size(), kernels.size() == 1 ? "" : "s", bytes,
      report.cache_folder.empty() ? "no folder" : report.cache_folder,
      report.cache_problem.empty() ? "" : "; not used: " + report.cache_problem);
  return exit_good;
}

int clear_cache() {
  std::int64_t const removed = clear_kernel_cache();
  say("{} kernel{} removed\n", removed, removed == 1 ? "" : "s");
  return exit_good;
}

struct BuildOptions {
  PackOptions pack;
  std::vector<std::string> dtypes;
  std::string output;
};

int build(BuildOptions options) {
  for (std::string const& text : options.dtypes) {
    auto const dtype = io::parse_any_dtype(text);
    if (!dtype)
      throw UsageError(fmt::format("--dtype '{}' is not known; there are f4, f8, c8, c16, half, bfloat16 and complex_half", text));
    options.pack.dtypes.push_back(*dtype);
  }
  for (int const n : options.pack.sizes)
    if (n < 1) throw UsageError(fmt::format("--n {}: a size is 1 or more", n));
  std::int64_t const kernels = build_pack(options.pack, options.output);
  if (kernels == 0) throw UsageError("there are no kernels for these routines, sizes and types; nothing was written");
  say("{} kernels in {}\n", kernels, options.output);
  return exit_good;
}

}  // namespace

void add_cache(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("cache", "List or remove the GPU kernels compiled for you on this machine");
  command.require_subcommand(1);
  auto as_json = std::make_shared<bool>(false);
  CLI::App& list = *command.add_subcommand("list", "List the kernels and their folder");
  list.add_flag("--json", *as_json, "Print as JSON");
  list.callback([as_json, &action] { action = [as_json] { return list_cache(*as_json); }; });
  CLI::App& clear = *command.add_subcommand("clear", "Remove all; kernels are compiled again when they are used");
  clear.callback([&action] { action = [] { return clear_cache(); }; });
}

void add_pack(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("pack", "Compile GPU kernels ahead, for machines without NVRTC");
  command.require_subcommand(1);
  auto options = std::make_shared<BuildOptions>();
  CLI::App& build_command = *command.add_subcommand("build", "Compile kernels into a file; no GPU is needed");
  build_command.add_option("--arch", options->pack.archs, "Architectures, like sm_80,sm_90,sm_100; compute_90: PTX for newer GPUs")
      ->required()
      ->delimiter(',');
  build_command.add_option("-o,--output", options->output, "File for the pack; programs find it by MYRIAD_PACK")->required();
  build_command.add_option("--routines", options->pack.routines, "Only these, like getrf,gesv (default: all)")->delimiter(',');
  build_command.add_option("--n", options->pack.sizes, "Only these sizes, like 4,8,16 (default: all that are tuned)")->delimiter(',');
  build_command.add_option("--dtype", options->dtypes, "Only these types: f4,f8,c8,c16,half,bfloat16,complex_half (default: all)")
      ->delimiter(',');
  build_command
      .add_option("--list", options->pack.lists,
                  "Kernels that programs used: files written with the environment variable MYRIAD_KERNEL_LIST")
      ->delimiter(',')
      ->excludes("--routines", "--n", "--dtype");
  build_command.add_option("--threads", options->pack.threads, "Compilations at a time (default: one per core)")
      ->check(non_negative_number());
  build_command.callback([options, &action] { action = [options] { return build(*options); }; });
}

}  // namespace myriad::cli
