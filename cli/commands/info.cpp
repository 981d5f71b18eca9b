// Must come first: defines the targets of the library before Highway's headers.
// clang-format off
#include "simd/dispatch.hpp"
#include <hwy/highway.h>
// clang-format on

#include <fmt/format.h>
#include <hwy/targets.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "command.hpp"
#include "core/lapack.hpp"
#include "myriad/myriad.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

/// The value of the first line of /proc/cpuinfo or /proc/meminfo that starts with `key`, empty where there is none.
std::string proc_value(char const* path, std::string const& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t const colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::size_t const start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return {};
}

std::string size_text(double bytes) {
  for (char const* unit : {"bytes", "KiB", "MiB", "GiB"}) {
    if (bytes < 1024) return fmt::format("{:.4g} {}", bytes, unit);
    bytes /= 1024;
  }
  return fmt::format("{:.4g} TiB", bytes);
}

/// The best SIMD target that this CPU has and the library is compiled for.
std::string simd_target() {
  std::int64_t const usable = static_cast<std::int64_t>(hwy::SupportedTargets()) & static_cast<std::int64_t>(HWY_TARGETS);
  // Lower bits are better targets.
  return usable == 0 ? hwy::TargetName(HWY_STATIC_TARGET) : hwy::TargetName(usable & -usable);
}

struct BackendState {
  std::string name, state;
  bool usable;
};

BackendState probe(char const* name, Backend backend) {
  try {
    Queue const queue({.backend = backend});
    if (queue.backend() == Backend::gpu) return {name, fmt::format("{}, the first of {}", queue.device().name, devices().size()), true};
    return {name, fmt::format("{} thread{}", queue.threads(), queue.threads() == 1 ? "" : "s"), true};
  } catch (Unavailable const& problem) {
    return {name, problem.what(), false};
  }
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

nlohmann::json gpu_json(GpuReport const& report) {
  nlohmann::json out{{"driver", report.driver_version > 0 ? version_text(report.driver_version) : ""},
                     {"driver_problem", report.driver_problem},
                     {"devices", nlohmann::json::array()},
                     {"nvrtc",
                      {{"version", report.compiler_version > 0 ? version_text(report.compiler_version) : ""},
                       {"path", report.compiler_path},
                       {"archs", report.compiler_archs},
                       {"tried", report.tried}}},
                     {"cache", {{"folder", report.cache_folder}, {"problem", report.cache_problem}}},
                     {"packs", nlohmann::json::array()}};
  for (Device const& d : report.devices)
    out["devices"].push_back({{"ordinal", d.ordinal},
                              {"name", d.name},
                              {"compute_capability", fmt::format("{}.{}", d.major, d.minor)},
                              {"multiprocessors", d.multiprocessors},
                              {"memory_bytes", d.memory_bytes},
                              {"l2_bytes", d.l2_bytes},
                              {"shared_memory_per_multiprocessor", d.shared_memory_per_multiprocessor},
                              {"shared_memory_per_block", d.shared_memory_per_block}});
  for (GpuReport::Pack const& pack : report.packs)
    out["packs"].push_back({{"path", pack.path}, {"kernels", pack.kernels}, {"problem", pack.problem}});
  return out;
}

void print_gpu(GpuReport const& report) {
  if (report.driver_problem.empty())
    say("driver     CUDA {}\n", version_text(report.driver_version));
  else
    say("driver     {}\n", report.driver_problem);
  for (Device const& d : report.devices)
    say("gpu {}      {}, sm_{}{}, {} multiprocessors, {}, L2 {}, shared memory {} a multiprocessor, {} a block\n", d.ordinal, d.name,
        d.major, d.minor, d.multiprocessors, size_text(static_cast<double>(d.memory_bytes)), size_text(static_cast<double>(d.l2_bytes)),
        size_text(d.shared_memory_per_multiprocessor), size_text(d.shared_memory_per_block));
  if (report.compiler_version > 0) {
    say("nvrtc      {}, {}\n", version_text(report.compiler_version), report.compiler_path);
  } else {
    say("nvrtc      not found; tried\n");
    for (std::string const& place : report.tried) say("             {}\n", place);
  }
  say("kernels    {}{}\n", report.cache_folder.empty() ? "not kept" : "kept in " + report.cache_folder,
      report.cache_problem.empty() ? "" : "; not used: " + report.cache_problem);
  for (GpuReport::Pack const& pack : report.packs)
    say("pack       {}\n", pack.problem.empty() ? fmt::format("{}, {} kernels", pack.path, pack.kernels) : pack.problem);
}

/// Links between the host and the GPUs, and between GPUs, as measured now.
struct Links {
  struct Peer {
    int from, to;
    PeerLink link{};
    std::string problem{};  ///< why it could not be measured
  };
  std::vector<std::pair<int, HostLink>> gpus;  ///< number of the GPU; each alone
  std::optional<HostLink> all;                 ///< all GPUs at the same time, where there are several
  std::vector<Peer> peers;
};

Links measure_links() try {
  std::vector<Queue> queues;
  for (Device const& gpu : devices()) queues.emplace_back(QueueOptions{.backend = Backend::gpu, .device = gpu.ordinal});
  if (queues.empty()) queues.emplace_back(QueueOptions{.backend = Backend::gpu});  // throws, and says why there is none
  Links links;
  for (Queue& queue : queues) links.gpus.emplace_back(queue.device().ordinal, host_link(queue));
  if (queues.size() > 1) links.all = host_link(queues);
  for (Queue& from : queues)
    for (Queue& to : queues)
      if (&from != &to) {
        Links::Peer& peer = links.peers.emplace_back(Links::Peer{from.device().ordinal, to.device().ordinal});
        try {
          peer.link = peer_link(from, to);
        } catch (Error const& problem) {
          peer.problem = problem.what();
        }
      }
  return links;
} catch (Error const& problem) {
  throw UsageError(fmt::format("--links: {}", problem.what()));
}

nlohmann::json links_json(Links const& links) {
  auto const rates = [](HostLink const& link) {
    return nlohmann::json{{"to_device", link.to_device}, {"to_host", link.to_host}, {"both", link.both}};
  };
  nlohmann::json out{{"gpus", nlohmann::json::array()}, {"peers", nlohmann::json::array()}};
  for (auto const& [number, link] : links.gpus) {
    out["gpus"].push_back(rates(link));
    out["gpus"].back()["ordinal"] = number;
  }
  if (links.all) out["all"] = rates(*links.all);
  for (Links::Peer const& p : links.peers)
    out["peers"].push_back({{"from", p.from}, {"to", p.to}, {"copy", p.link.copy}, {"direct", p.link.direct}, {"problem", p.problem}});
  return out;
}

void print_links(Links const& links) {
  auto const say_link = [](std::string const& name, HostLink const& link) {
    say("{:<10} {:.1f} GB/s from the host, {:.1f} GB/s to the host, {:.1f} GB/s both at once\n", name, link.to_device * 1e-9,
        link.to_host * 1e-9, link.both * 1e-9);
  };
  for (auto const& [number, link] : links.gpus) say_link(fmt::format("link {}", number), link);
  if (links.all) say_link("all links", *links.all);
  for (Links::Peer const& p : links.peers) {
    std::string const direct = p.link.direct > 0 ? fmt::format("{:.1f} GB/s direct", p.link.direct * 1e-9) : "no direct access";
    say("link {}-{}   {}\n", p.from, p.to,
        p.problem.empty() ? fmt::format("{:.1f} GB/s by copy, {}", p.link.copy * 1e-9, direct) : "not measured: " + p.problem);
  }
}

int run(bool as_json, bool with_links) {
  utsname system{};
  ::uname(&system);
  std::string cpu = proc_value("/proc/cpuinfo", "model name");
  if (cpu.empty()) cpu = system.machine;
  auto const memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::vector<std::pair<char const*, long>> const caches{
      {"L1d", ::sysconf(_SC_LEVEL1_DCACHE_SIZE)}, {"L2", ::sysconf(_SC_LEVEL2_CACHE_SIZE)}, {"L3", ::sysconf(_SC_LEVEL3_CACHE_SIZE)}};
  std::vector<BackendState> const backends{probe("cpu", Backend::cpu), probe("gpu", Backend::gpu)};
  GpuReport const report = gpu_report();
  std::optional<Links> const links = with_links ? std::optional(measure_links()) : std::nullopt;
  std::vector<std::pair<char const*, std::string>> const versions{
      {"myriad", MYRIAD_VERSION},
      {"compiler", __VERSION__},
      {"openblas", MYRIAD_LAPACK_NAME(openblas_get_config)()},
      {"highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"cli11", CLI11_VERSION}};

  if (as_json) {
    nlohmann::json out{{"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
                       {"cpu", cpu},
                       {"cores", std::thread::hardware_concurrency()},
                       {"memory_bytes", memory},
                       {"simd", simd_target()}};
    for (auto const& [name, size] : caches)
      if (size > 0) out["cache_bytes"][name] = size;
    for (BackendState const& b : backends) out["backends"][b.name] = {{"usable", b.usable}, {"state", b.state}};
    for (auto const& [name, version] : versions) out["versions"][name] = version;
    out["gpu"] = gpu_json(report);
    if (links) out["links"] = links_json(*links);
    std::fputs(json_text(out).c_str(), stdout);
    return exit_good;
  }
  say("myriad     {}\n", MYRIAD_VERSION);
  say("system     {} {} {}\n", system.sysname, system.release, system.machine);
  say("cpu        {}, {} cores, SIMD target {}\n", cpu, std::thread::hardware_concurrency(), simd_target());
  std::string cache_text;
  for (auto const& [name, size] : caches)
    if (size > 0) cache_text += fmt::format("{}{} {}", cache_text.empty() ? "" : ", ", name, size_text(static_cast<double>(size)));
  if (!cache_text.empty()) say("caches     {}\n", cache_text);
  say("memory     {}\n", size_text(memory));
  for (BackendState const& b : backends) say("{} backend {}\n", b.name, b.usable ? b.state : "not usable: " + b.state);
  print_gpu(report);
  if (links) print_links(*links);
  for (auto const& [name, version] : versions)
    if (name != std::string("myriad")) say("{:<13} {}\n", name, version);
  return exit_good;
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  auto as_json = std::make_shared<bool>(false), links = std::make_shared<bool>(false);
  CLI::App& command = *app.add_subcommand("info", "Hardware, backends and versions");
  command.add_flag("--json", *as_json, "Print as JSON");
  command.add_flag("--links", *links,
                   "Also measure the links between host and GPUs and between GPUs, which should be idle; takes about a second");
  command.callback([as_json, links, &action] { action = [as_json, links] { return run(*as_json, *links); }; });
}

}  // namespace myriad::cli
