#pragma once
/// Measured configs: the config of a table if it has one for the problem, else the plan of the cost model.
///
/// A kernel whose config is tuned declares a space beside its plan:
///
///     struct GemmPipelinedSpace {
///       using Config = GemmPipelined;
///       using Tuned = tuning::Members<&GemmPipelined::m, &GemmPipelined::n, ...>;           // what is tuned: integers, enumerations
///       tuning::Problem problem() const;                                          // what finds an entry of a table
///       GemmPipelined plan() const;                                                    // by the cost model
///       bool admits(GemmPipelined const& c, Device const& device) const;               // is right, and fits the GPU
///       std::vector<GemmPipelined> candidates(Device const& device) const;             // those admitted, the most promising first
///     };
///     GemmPipelined const ring = tuning::planned(queue, GemmPipelinedSpace{...});

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "myriad/device.hpp"
#include "myriad/queue.hpp"
#include "myriad/tune.hpp"
#include "myriad/types.hpp"

namespace myriad::tuning {

/// Key of a config: a kernel, a type and up to three sizes.
struct Problem {
  std::string_view kernel;  ///< "gemm_pipelined"; outlives the problem
  Dtype dtype;
  std::array<std::int64_t, 3> sizes;
  auto operator<=>(Problem const&) const = default;
};

/// "m" of &GemmPipelined::m
template <auto member>
constexpr std::string_view member_name() {
  std::string_view function = __PRETTY_FUNCTION__;  // "... [with auto member = &myriad::GemmPipelined::m; ...]"
  function = function.substr(function.find("member = "));
  function = function.substr(0, function.find_first_of(";]"));
  function = function.substr(function.rfind(':') + 1);
  return function.substr(0, function.find(')'));
}
/// Members of a config, with their names in tables.
template <auto... members>
struct Members {
  static constexpr std::array names{member_name<members>()...};
  static constexpr auto values(auto& config) { return std::tie(config.*members...); }
};

/// Tuned values of a config, in the order of its space's names.
using Values = std::vector<int>;

/// Entries for one GPU. Thread-safe.
class Table {
 public:
  /// Loads the shipped entries for a GPU of this name, and the user's, which have precedence. A damaged table is ignored with a message.
  explicit Table(std::string const& gpu);

  struct Entry {
    explicit Entry(TunedConfig c) : config(std::move(c)) {}
    TunedConfig config;
    /// Its values in the order of the space's names, if admitted; computed at the first use.
    mutable std::optional<Values> values{};
    mutable std::once_flag checked{};
  };
  /// The entries for one problem; null if there are none.
  struct Found {
    std::shared_ptr<Entry const> of_user, shipped;
  };
  [[nodiscard]] Found find(Problem const& problem) const;
  /// Sets an entry of the user.
  void set(TunedConfig entry);

 private:
  using Key = std::tuple<std::string, Dtype, std::array<std::int64_t, 3>>;
  Found& at(TunedConfig const& entry) { return entries_[Key(entry.kernel, entry.dtype, entry.sizes)]; }
  mutable std::shared_mutex mutex_;
  std::map<Key, Found, std::less<>> entries_;
};

/// Shipped entries for all GPUs.
std::vector<TunedConfig> const& shipped_entries();

/// Connects a search to the calls of a queue: it records the problems and chooses the values.
struct Search {
  struct Point {
    std::string kernel;
    Dtype dtype;
    std::array<std::int64_t, 3> sizes;
    std::vector<std::string> names;
    Values plan;                      ///< of the cost model
    Values current;                   ///< from a table, else the plan
    bool known;                       ///< the user's table has an entry in use
    std::vector<Values> candidates;   ///< the most promising first
    std::map<Values, bool> admits{};  ///< cached results of space.admits
    [[nodiscard]] Problem problem() const { return {kernel, dtype, sizes}; }
  };
  std::vector<Point> points;            ///< in order of appearance, each once
  std::map<std::size_t, Values> taken;  ///< values by point; other points get their current values
};

/// The search of the queue, or null.
Search* search_of(Queue& queue);
void set_search(Queue& queue, Search* search);
/// The table of the queue's GPU.
Table& table_of(Queue& queue);

template <typename Space>
Values values_of(typename Space::Config const& config) {
  return std::apply([](auto const&... x) { return Values{static_cast<int>(x)...}; }, Space::Tuned::values(config));
}
/// The config with these values in place of its own.
template <typename Space>
typename Space::Config with_values(typename Space::Config config, Values const& values) {
  std::size_t i = 0;
  std::apply([&](auto&... x) { ((x = static_cast<std::remove_reference_t<decltype(x)>>(values[i++])), ...); },
             Space::Tuned::values(config));
  return config;
}
/// The config of an entry; none if it does not match this space or is not admitted, as entries may be edited by hand.
template <typename Space>
std::optional<typename Space::Config> config_of(Space const& space, TunedConfig const& entry, Device const& device) {
  Values values;
  for (std::string_view const name : Space::Tuned::names) {
    auto const at = std::find_if(entry.config.begin(), entry.config.end(), [&](auto const& pair) { return pair.first == name; });
    if (at == entry.config.end()) return {};
    values.push_back(at->second);
  }
  typename Space::Config const config = with_values<Space>(space.plan(), values);
  if (!space.admits(config, device)) return {};
  return config;
}

/// The plan of the space. Comparable spaces are those whose planning is slow (microseconds); plans of the thread's last problems are
/// cached.
template <typename Space>
typename Space::Config plan_of(Space const& space) {
  if constexpr (std::equality_comparable<Space>) {
    thread_local std::array<std::pair<std::optional<Space>, typename Space::Config>, 16> kept;
    thread_local std::size_t next = 0;
    for (auto const& [of, plan] : kept)
      if (of == space) return plan;
    auto const& added = kept[std::exchange(next, (next + 1) % kept.size())] = {space, space.plan()};
    return added.second;
  } else {
    return space.plan();
  }
}

/// The config for a call on this GPU queue.
template <typename Space>
typename Space::Config planned(Queue& queue, Space const& space) {
  Problem const problem = space.problem();
  typename Space::Config const plan = plan_of(space);
  typename Space::Config config = plan;
  Table::Found const found = table_of(queue).find(problem);
  bool known = false;
  for (auto const& entry : {found.of_user, found.shipped}) {
    if (!entry) continue;
    std::call_once(entry->checked, [&] {
      if (auto const admitted = config_of(space, entry->config, queue.device())) entry->values = values_of<Space>(*admitted);
    });
    if (!entry->values) continue;
    config = with_values<Space>(plan, *entry->values);
    known = entry == found.of_user;
    break;
  }
  Search* const search = search_of(queue);
  if (!search) return config;
  auto const at = std::find_if(search->points.begin(), search->points.end(), [&](auto const& p) { return p.problem() == problem; });
  auto const number = static_cast<std::size_t>(at - search->points.begin());
  if (at == search->points.end()) {
    Search::Point point{.kernel = std::string(problem.kernel),
                        .dtype = problem.dtype,
                        .sizes = problem.sizes,
                        .names = {Space::Tuned::names.begin(), Space::Tuned::names.end()},
                        .plan = values_of<Space>(plan),
                        .current = values_of<Space>(config),
                        .known = known,
                        .candidates = {}};
    for (auto const& candidate : space.candidates(queue.device())) point.candidates.push_back(values_of<Space>(candidate));
    search->points.push_back(std::move(point));
  }
  auto const taken = search->taken.find(number);
  if (taken == search->taken.end()) return config;
  typename Space::Config const wanted = with_values<Space>(plan, taken->second);
  // Cached, as for a table's entry: for some spaces admits() takes longer than the products that are timed.
  auto const [admits, unknown] = search->points[number].admits.try_emplace(taken->second, false);
  if (unknown) admits->second = space.admits(wanted, queue.device());
  return admits->second ? wanted : plan;
}

/// Candidates in order of estimated cost, least first; stable.
template <typename Cost, typename Config>
std::vector<Config> in_order_of_cost(std::vector<std::pair<Cost, Config>> found) {
  std::stable_sort(found.begin(), found.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
  std::vector<Config> out;
  for (auto const& [cost, config] : found) out.push_back(config);
  return out;
}

/// Configs of a pack for this problem: the plan, the shipped ones for any GPU, and `candidates` candidates for an H200, evenly chosen.
template <typename Space>
std::vector<typename Space::Config> shipped(Space const& space, std::size_t candidates = 0) {
  std::vector<typename Space::Config> out{space.plan()};
  Problem const problem = space.problem();
  Device any;  // with limits that no config measured on some GPU exceeds
  any.major = 9;
  any.shared_memory_per_block = any.shared_memory_per_multiprocessor = 1 << 20;
  any.max_threads_per_block = 1024;
  any.registers_per_multiprocessor = 65536;
  for (TunedConfig const& entry : shipped_entries())
    if (Problem{entry.kernel, entry.dtype, entry.sizes} == problem)
      if (auto const config = config_of(space, entry, any); config && std::find(out.begin(), out.end(), *config) == out.end())
        out.push_back(*config);
  if (candidates == 0) return out;
  any.shared_memory_per_block = 232448;
  any.shared_memory_per_multiprocessor = 233472;
  auto const all = space.candidates(any);
  std::size_t const some = std::min(candidates, all.size());
  for (std::size_t i = 0; i < some; ++i) {
    auto const& config = all[i * all.size() / some];
    if (std::find(out.begin(), out.end(), config) == out.end()) out.push_back(config);
  }
  return out;
}

}  // namespace myriad::tuning
