#include "ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>

#include "command.hpp"
#include "io/text.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

/// The number that the first of these environment variables holds which is set.
std::optional<int> number_of(std::initializer_list<char const*> names) {
  for (char const* name : names)
    if (char const* const text = std::getenv(name); text && *text) return std::atoi(text);
  return std::nullopt;
}

// Messages before the work
constexpr std::string_view go_on = "+", stop = "-", tell = "?";
constexpr char problem_mark = '!';

/// The difference between the job as rank 0 and as another rank describe it; empty if there is none.
std::string difference(nlohmann::json const& job, std::string const& other) {
  auto const theirs = nlohmann::json::parse(other, nullptr, false);
  for (auto const& [key, value] : job.items()) {
    auto const seen = theirs.is_object() ? theirs.value(key, nlohmann::json()) : nlohmann::json();
    if (seen == value) continue;
    return fmt::format("{}: {} {}, on rank 0 {}", key == "version" ? "is another program than rank 0" : "sees other files than rank 0", key,
                       seen.dump(), value.dump());
  }
  return {};
}

}  // namespace

Ranks& Ranks::all() {
  static Ranks ranks;
  return ranks;
}

void Ranks::open() {
  if (char const* const wish = std::getenv("MYRIAD_MPI"); wish && std::string_view(wish) == "off") return;
  // Open MPI; MPICH and what is made of it; launchers with PMIx, which gives no size: srun gives it itself
  auto const size = number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"});
  auto const rank = number_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"});
  if (!rank || size.value_or(2) < 2) return;
  silent = *rank > 0;

  constexpr char const* name = "libmyriad_mpi.so";
  // Components of Open MPI look for its symbols among the global ones.
  void* const library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!library && !size) {  // possibly the only process
    silent = false;
    return;
  }
  if (!library)
    throw UsageError(
        fmt::format("MPI has started this program{}, which needs {}, built where CMake finds MPI: {}. MYRIAD_MPI=off runs "
                    "each process by itself",
                    size ? fmt::format(" {} times", *size) : "", name, ::dlerror()));
  auto* const open_plugin = reinterpret_cast<OpenMpiPlugin*>(::dlsym(library, open_mpi_plugin_name));
  MpiPlugin const* const plugin = open_plugin ? open_plugin() : nullptr;
  if (!plugin || plugin->version != MpiPlugin::current_version)
    throw UsageError(fmt::format("{} is that of another version of Myriad", name));
  plugin_ = plugin;
  if (size && *size != plugin_->size)
    throw UsageError(fmt::format("mpirun has started {} processes, of which MPI finds {}: {} was built for another MPI than that of mpirun",
                                 *size, plugin_->size, name));
  silent = plugin_->rank > 0;
}

void Ranks::close() {
  if (plugin_ != &alone_) plugin_->close();
  plugin_ = &alone_;
}

int Ranks::threads() const {
  if (!several() || number_of({"MYRIAD_NUM_THREADS", "OMP_NUM_THREADS"})) return 0;
  return std::max(1, static_cast<int>(plugin_->cores + 0.01));
}

void Ranks::send_to_others(std::string_view text) const {
  for (int r = 1; r < size(); ++r) send(r, text);
}

std::optional<Ranks::Message> Ranks::receive() const {
  if (!several()) return std::nullopt;
  std::string text;
  int const from = plugin_->receive(
      [](void* context, std::size_t size) -> void* {
        auto& target = *static_cast<std::string*>(context);
        target.resize(size);
        return target.data();
      },
      &text);
  return from < 0 ? std::nullopt : std::optional(Message{from, std::move(text)});
}

Ranks::Message Ranks::wait() const {
  for (;;) {
    if (auto message = receive()) return std::move(*message);
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // MPI's own waiting would occupy a core
  }
}

bool Ranks::show_progress() const {
  if (silent) return false;
  if (::isatty(STDERR_FILENO) != 0) return true;
  if (!several()) return false;
  std::array<char, 64> target{};
  static_cast<void>(::readlink(fmt::format("/proc/{}/fd/2", ::getppid()).c_str(), target.data(), target.size() - 1) < 0);
  std::string_view const name = target.data();
  return name.starts_with("/dev/pts/") || name.starts_with("/dev/tty");
}

std::string problem_of(int rank, std::string const& problem) { return rank > 0 ? fmt::format("rank {}: {}", rank, problem) : problem; }

void Ranks::compare(std::vector<std::string> const& given) const {
  if (!several()) return;
  std::vector<std::string> arguments;
  for (std::string const& argument : given) arguments.push_back(io::printable(argument));
  std::string const mine = nlohmann::json(arguments).dump();
  std::string const hash = std::to_string(std::hash<std::string>()(mine));  // a list of files may be long
  if (!first()) {
    send(0, hash);
    std::string answer = wait().text;
    if (answer == go_on) return;
    if (answer == tell) send(0, mine);
    throw Stopped();
  }
  int other = size();
  for (int r = 1; r < size(); ++r)
    if (Message const message = wait(); message.text != hash) other = std::min(other, message.from);
  if (other == size()) return send_to_others(go_on);
  for (int r = 1; r < size(); ++r) send(r, r == other ? tell : stop);
  auto const theirs = nlohmann::json::parse(wait().text).get<std::vector<std::string>>();
  std::size_t k = 0;
  while (k < arguments.size() && k < theirs.size() && arguments[k] == theirs[k]) ++k;
  auto const text = [k](std::vector<std::string> const& of) { return k < of.size() ? "'" + of[k] + "'" : std::string("missing"); };
  throw UsageError(
      fmt::format("rank {} was started with other arguments: number {} is {}, on rank 0 {}; MYRIAD_MPI=off runs each process by itself",
                  other, k + 1, text(theirs), text(arguments)));
}

std::string Ranks::meet(std::string const& problem, nlohmann::json const& job, std::function<std::string()> const& plan) {
  met_ = true;
  if (!first()) {
    send(0, problem.empty() ? job.dump() : problem_mark + problem);
    Message const answer = wait();
    if (answer.text == stop) throw Stopped();
    return answer.text.substr(go_on.size());
  }
  try {
    std::string found = problem;
    int finder = 0;
    for (int r = 1; r < size(); ++r) {
      Message const message = wait();
      if (!found.empty() && finder <= message.from) continue;
      std::string other = message.text.starts_with(problem_mark) ? message.text.substr(1)
                          : problem.empty()                      ? difference(job, message.text)
                                                                 : "";
      if (other.empty()) continue;
      found = std::move(other);
      finder = message.from;
    }
    if (!found.empty()) throw UsageError(problem_of(finder, found));
    std::string const result = plan();
    send_to_others(std::string(go_on) + result);
    return result;
  } catch (...) {
    send_to_others(stop);
    throw;
  }
}

}  // namespace myriad::cli
