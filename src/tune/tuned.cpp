#include "tune/tuned.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/dtype.hpp"
#include "myriad/error.hpp"
#include "runtime/kernel_file.hpp"
#include "runtime/launch.hpp"
#include "runtime/messages.hpp"
#include "runtime/queue_state.hpp"
#include "runtime/sources.hpp"
#include "tune/table_file.hpp"

namespace myriad {
namespace {

using Json = nlohmann::ordered_json;

Dtype dtype_of_name(std::string const& name) {
  if (auto const dtype = dtype_named(name)) return *dtype;
  throw Error(fmt::format("'{}' is no type", name));
}

}  // namespace

namespace tuning {

std::vector<TunedConfig> entries_of(std::string_view text, std::string const& where) {
  try {
    Json const table = Json::parse(text);
    if (table.at("format") != table_format) throw Error(fmt::format("is of format {}, not {}", table.at("format").dump(), table_format));
    std::vector<TunedConfig> out;
    for (Json const& row : table.at("entries")) {
      TunedConfig entry{.kernel = row.at("kernel"),
                        .dtype = dtype_of_name(row.at("dtype")),
                        .sizes = row.at("sizes"),
                        .seconds = row.at("seconds"),
                        .planned_seconds = row.at("planned_seconds"),
                        .tried = row.at("tried"),
                        .gpu = table.at("gpu"),
                        .date = row.at("date"),
                        .driver = row.at("driver")};
      auto const values_of = [](Json const& object) {
        std::vector<std::pair<std::string, int>> values;
        for (auto const& [name, value] : object.items()) {
          auto const number = value.get<std::int64_t>();
          if (number < 0 || number > (1 << 20)) throw Error(fmt::format("{} is {}", name, number));
          values.emplace_back(name, static_cast<int>(number));
        }
        return values;
      };
      entry.config = values_of(row.at("config"));
      if (row.contains("plan")) entry.plan = values_of(row.at("plan"));
      out.push_back(std::move(entry));
    }
    return out;
  } catch (std::exception const& problem) {
    throw Error(fmt::format("table {}: {}", where, problem.what()));
  }
}

std::string text_of(std::string const& gpu, std::vector<TunedConfig> const& entries) {
  std::string rows;
  for (TunedConfig const& entry : entries) {
    auto const object_of = [](auto const& values) {
      Json object = Json::object();
      for (auto const& [name, value] : values) object[name] = value;
      return object;
    };
    Json const row{{"kernel", entry.kernel},
                   {"dtype", dtype_name(entry.dtype)},
                   {"sizes", entry.sizes},
                   {"config", object_of(entry.config)},
                   {"plan", object_of(entry.plan)},
                   {"seconds", entry.seconds},
                   {"planned_seconds", entry.planned_seconds},
                   {"tried", entry.tried},
                   {"date", entry.date},
                   {"driver", entry.driver}};
    rows += fmt::format("{}\n  {}", rows.empty() ? "" : ",", row.dump());  // one line per entry, for diff and merge
  }
  return fmt::format("{{\"format\": {}, \"gpu\": {}, \"entries\": [{}\n]}}\n", table_format, Json(gpu).dump(), rows);
}

std::vector<TunedConfig> const& shipped_entries() {
  static auto const* const entries = [] {
    auto* const out = new std::vector<TunedConfig>;
    for (gpu::SourceFile const& file : gpu::embedded_sources())
      if (file.name.starts_with("tune/tables/"))
        for (TunedConfig& entry : entries_of(file.text, std::string(file.name))) out->push_back(std::move(entry));
    return out;
  }();
  return *entries;
}

Table::Table(std::string const& gpu) {
  for (TunedConfig const& entry : shipped_entries())
    if (entry.gpu == gpu) at(entry).shipped = std::make_shared<Entry const>(entry);
  std::string const path = tuned_path(gpu);
  if (path.empty() || !gpu::read_file(path)) return;
  try {
    for (TunedConfig& entry : read_tuned(path)) set(std::move(entry));
  } catch (Error const& problem) {
    gpu::message(fmt::format("{}; it is not used", problem.what()));
  }
}

Table::Found Table::find(Problem const& problem) const {
  std::shared_lock const lock(mutex_);
  auto const at = entries_.find(std::tie(problem.kernel, problem.dtype, problem.sizes));
  return at == entries_.end() ? Found{} : at->second;
}

void Table::set(TunedConfig entry) {
  std::unique_lock const lock(mutex_);
  std::shared_ptr<Entry const>& of_user = at(entry).of_user;
  of_user = std::make_shared<Entry const>(std::move(entry));
}

Search* search_of(Queue& queue) { return QueueAccess::state(queue).search; }
void set_search(Queue& queue, Search* search) { QueueAccess::state(queue).search = search; }
Table& table_of(Queue& queue) {
  gpu::Context& context = gpu::context_of(queue);
  return context.kept<Table>([&] { return std::make_shared<Table>(context.device().name); });
}

}  // namespace tuning

std::string tuned_folder() {
  if (char const* const folder = gpu::environment("MYRIAD_TUNED_DIR")) return std::string_view(folder) == "off" ? "" : folder;
  if (char const* const folder = gpu::environment("XDG_CONFIG_HOME")) return std::string(folder) + "/myriad";
  if (char const* const home = gpu::environment("HOME")) return std::string(home) + "/.config/myriad";
  return {};
}

std::string tuned_path(std::string_view gpu) {
  std::string const folder = tuned_folder();
  if (folder.empty()) return {};
  std::string name;
  for (char const c : gpu) {
    bool const plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
  }
  return folder + "/" + name + ".json";
}

std::vector<TunedConfig> read_tuned(std::string const& path) {
  auto const text = gpu::read_file(path);
  if (!text) throw Error(fmt::format("table {} cannot be read", path));
  return tuning::entries_of(*text, path);
}

}  // namespace myriad
