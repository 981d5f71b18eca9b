#include "job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "io/error.hpp"
#include "io/output_file.hpp"
#include "io/stored_zip.hpp"
#include "myriad/device.hpp"
#include "myriad/error.hpp"
#include "myriad/version.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds between_records{1};  ///< waiting for the disk more often would take time

double seconds_of(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

std::string rate(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.3g} million", per_second / 1e6);
  return fmt::format("{:.3g}", per_second);
}

}  // namespace

std::optional<Dtype> Options::convert_to() const {
  if (dtype.empty()) return std::nullopt;
  if (auto const result = io::parse_dtype(dtype)) return result;
  throw UsageError(fmt::format("--dtype '{}' is not known; there are f4, f8, c8 and c16", dtype));
}

Backend parse_backend(std::string const& text) {
  if (text == "auto") return Backend::automatic;
  if (text == "cpu") return Backend::cpu;
  if (text == "gpu") return Backend::gpu;
  throw UsageError(fmt::format("--backend '{}' is not known; there are auto, cpu and gpu", text));
}

char const* name_of(Backend backend) { return backend == Backend::gpu ? "gpu" : backend == Backend::cpu ? "cpu" : "auto"; }

std::string wrapped(std::string_view text) {
  constexpr std::size_t width = 72;
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    std::size_t const length = std::min(text.find(' '), text.size());
    if (column > 0) {
      bool const full = column + 1 + length > width;
      result += full ? '\n' : ' ';
      column = full ? 0 : column + 1;
    }
    result += text.substr(0, length);
    column += length;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return result;
}

std::uint64_t parse_size(std::string const& text) {
  double value = 0;
  char const* const end = text.data() + text.size();
  auto const [rest, problem] = std::from_chars(text.data(), end, value);
  std::string unit(rest, end);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (char const* suffix : {"IB", "B"})
    if (unit.size() > 1 && unit.ends_with(suffix)) {
      unit.resize(unit.size() - std::string_view(suffix).size());
      break;
    }
  for (auto const& [name, factor] : {std::pair{"", 1.0}, {"B", 1.0}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}})
    if (problem == std::errc() && unit == name && value * factor >= 1 && value * factor <= 0x1p60)
      return static_cast<std::uint64_t>(value * factor);
  throw UsageError(fmt::format("--chunk '{}' is not a size; write 64M or 2G", text));
}

namespace {
CLI::Validator number(bool (*is_right)(double), char const* what, char const* description) {
  return {[is_right, what](std::string const& text) {
            double value = 0;
            auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
            return problem == std::errc() && end == text.data() + text.size() && is_right(value)
                       ? std::string()
                       : fmt::format("'{}' is not {}", text, what);
          },
          description};
}
}  // namespace
CLI::Validator positive_number() {
  return number([](double value) { return value > 0; }, "a positive number", "POSITIVE");
}
CLI::Validator non_negative_number() {
  return number([](double value) { return value >= 0; }, "a number of 0 or more", "NONNEGATIVE");
}

namespace {
OnGpuFailure parse_on_gpu_failure(std::string const& text) {
  if (text == "stop") return OnGpuFailure::stop;
  if (text == "move") return OnGpuFailure::move_to_others;
  throw UsageError(fmt::format("--on-gpu-failure '{}' is not known; there are stop and move", text));
}
}  // namespace

void add_options(CLI::App& app, Options& options, Offers const& offers) {
  app.add_option("-o,--output", options.output, wrapped(offers.output_help))->required()->type_name("FILE");
  if (offers.info)
    app.add_option("--info", options.info,
                   wrapped("Save a status per matrix as .npy of int32: 0 for success, i > 0 as LAPACK's info, -1 where the result is not "
                           "finite (NaN or infinity in the input, or overflow)"))
        ->type_name("FILE");
  app.add_option("--backend", options.backend, wrapped("cpu; gpu: the GPUs of --device; auto: the GPU, or the CPU where none can be used"))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option(
         "--device", options.device,
         wrapped("GPUs: all, or numbers such as 0 or 0,2, which share the matrices; bits of results are the same if they are of one "
                 "model. Default: the first, under mpirun that with the number of the rank on the host"))
      ->type_name("LIST");
  app.add_option_function<std::string>(
         "--on-gpu-failure", [&options](std::string const& text) { options.on_gpu_failure = parse_on_gpu_failure(text); },
         wrapped("With several GPUs, when one fails: stop; move: the others compute its matrices. Default stop"))
      ->type_name("NAME");
  app.add_option("--threads", options.threads, wrapped("CPU threads; default: MYRIAD_NUM_THREADS, OMP_NUM_THREADS or all cores"))
      ->type_name("N")
      ->check(CLI::Range(1, 4096).description(""));
  app.add_option("--dtype", options.dtype,
                 wrapped("Convert the inputs to f4, f8, c8 or c16 first. Default: their own types, promoted as NumPy does"))
      ->type_name("TYPE");
  app.add_option_function<std::string>(
         "--chunk", [&options](std::string const& text) { options.chunk = parse_size(text); },
         wrapped("Memory for the matrices in work and their results. Another chunk is read meanwhile, and a larger matrix takes what it "
                 "needs. Suffixes K, M, G; default 256M"))
      ->type_name("SIZE");
  if (offers.verify) {
    app.add_flag("--verify", options.verify, wrapped(offers.verify_help));
    app.add_option("--tolerance", options.tolerance,
                   wrapped("With --verify: matrices with a larger backward error fail. Default: those fail whose error rounding does not "
                           "explain, that is NaN or above 30 n times the unit roundoff, normwise where the routine promises no more"))
        ->type_name("E")
        ->check(positive_number().description(""));
  }
  app.add_flag("--resume", options.resume,
               wrapped("Keep what is finished if the run ends early, and go on from what an earlier one has left (OUTPUT.part, "
                       "OUTPUT.journal). Under mpirun it is always kept"));
  options.command = &app;
  app.add_flag("--json", options.json, wrapped("Print the summary as JSON"));
}

namespace {

/// CPU threads of this process; 0: the library's default.
int threads_of(Options const& options) { return options.threads > 0 ? options.threads : Ranks::all().threads(); }

/// The GPUs of --device, which names all or some of those `there`: "all" or "0,2".
std::vector<int> parse_devices(std::string const& text, std::span<Device const> there) {
  std::vector<int> out;
  if (text == "all") {
    for (Device const& device : there) out.push_back(device.ordinal);
    return out;
  }
  char const* at = text.data();
  char const* const end = at + text.size();
  for (;;) {
    int number = -1;
    auto const [rest, problem] = std::from_chars(at, end, number);
    if (problem != std::errc() || number < 0 || (rest != end && *rest != ','))
      throw UsageError(fmt::format("--device '{}' is neither all nor a list of numbers such as 0,2", text));
    if (std::none_of(there.begin(), there.end(), [&](Device const& device) { return device.ordinal == number; }))
      throw UsageError(fmt::format("--device {}: there is no GPU {}; the driver has {}, counted from 0", text, number,
                                   there.size() == 1 ? "1 GPU" : fmt::format("{} GPUs", there.size())));
    if (std::find(out.begin(), out.end(), number) != out.end())
      throw UsageError(fmt::format("--device {}: GPU {} is named twice", text, number));
    out.push_back(number);
    if (rest == end) return out;
    at = rest + 1;
  }
}

/// The GPU that is used where --device names none.
int default_device() {
  Ranks const& ranks = Ranks::all();
  return ranks.several() ? ranks.local_rank() % std::max(1, static_cast<int>(devices().size())) : 0;
}

/// The GPUs of --backend and --device, if any. Errors are in terms of the command line. `problem`: why `auto` found no GPU. `failed`: GPUs
/// that could not be opened, where --on-gpu-failure move goes on without them.
std::vector<Queue> open_gpus(Options const& options, int threads, std::string& problem, std::vector<StreamShare>& failed) {
  Backend backend = parse_backend(options.backend);
  bool const named = options.command->count("--device") > 0;
  if (options.on_gpu_failure != OnGpuFailure::stop && options.device != "all" && options.device.find(',') == std::string::npos)
    throw UsageError("--on-gpu-failure move needs several GPUs: --device all, or a list such as 0,2");
  if (named && backend == Backend::cpu) throw UsageError(fmt::format("--device {} names GPUs, and the backend is cpu", options.device));
  if (named && Ranks::all().several())
    throw UsageError(
        "--device is for a program without mpirun, under which each rank uses the GPU with its number on the host; CUDA_VISIBLE_DEVICES "
        "limits them to some GPUs");
  std::vector<Queue> queues;
  if (backend == Backend::cpu) return queues;
  if (named) backend = Backend::gpu;  // so that `auto` does not go to the CPU
  try {
    std::vector<int> chosen{default_device()};
    if (named)
      if (std::vector<Device> const there = devices(); !there.empty()) chosen = parse_devices(options.device, there);
    std::exception_ptr last;
    auto const pass_over = [&](int device, std::string const& reason) {
      last = std::current_exception();
      if (options.on_gpu_failure == OnGpuFailure::stop) throw;
      failed.push_back({.device = device, .failure = reason});
    };
    for (int const device : chosen) try {
        Queue queue({.backend = backend, .threads = threads, .device = device});
        problem = queue.gpu_problem();
        if (queue.backend() == Backend::gpu) queues.push_back(std::move(queue));
      } catch (GpuError const& reason) {
        pass_over(device, reason.what());
      } catch (OutOfMemory const& reason) {
        pass_over(device, reason.what());
      }
    if (queues.empty() && last) std::rethrow_exception(last);
    return queues;
  } catch (Unavailable const& reason) {
    std::string const option = named ? "--device " + options.device : "--backend " + options.backend;
    throw UsageError(fmt::format("{}: {} (see myriad info)", option, reason.what()));
  }
}

}  // namespace

Action batch(std::string command, std::string verb, Options const& options, std::function<int(Job&)> work) {
  return [=, &options]() -> int {
    std::unique_ptr<Job> job;
    try {
      std::string problem;
      try {
        job = std::make_unique<Job>(command, verb, options);
        return work(*job);
      } catch (std::bad_alloc const&) {
        problem = "not enough memory; a smaller --chunk may help";
      } catch (std::exception const& reason) {
        problem = reason.what();
      }
      if (job) return job->stop(problem);
      Ranks::all().meet(problem, {}, {});
      throw UsageError(problem);
    } catch (Stopped const&) {
      return job && job->started() ? job->stop("stopped") : exit_bad_input;
    }
  };
}

Job::Job(std::string command, std::string verb, Options const& options)
    : command_(std::move(command)),
      verb_(std::move(verb)),
      options_(options),
      host_({.backend = Backend::cpu, .threads = threads_of(options)}),
      gpus_(open_gpus(options, threads_of(options), gpu_problem_, unopened_gpus_)),
      streamer_(gpus_.empty() ? std::span(&host_, 1) : std::span(gpus_), {.on_gpu_failure = options.on_gpu_failure}) {
  if (options_.tolerance > 0 && !options_.verify) throw UsageError("--tolerance needs --verify");
}

void Job::describe(std::vector<io::Source const*> inputs, std::int64_t count, std::string what, Dtype dtype) {
  inputs_ = std::move(inputs);
  count_ = count;
  what_ = std::move(what);
  dtype_ = dtype;
}

std::string Job::file_of(std::int64_t b) const {
  for (io::Source const* source : inputs_)
    if (b < source->count())
      if (std::string file = source->file_of(b); !file.empty()) return file;
  return {};
}

std::string Job::label(std::int64_t b) const {
  std::string const file = file_of(b);
  return file.empty() ? fmt::format("matrix {}", b) : fmt::format("matrix {} ({})", b, file);
}

void Job::fail(std::int64_t b, int info, std::function<std::string()> const& reason) {
  ++chunk_.failed;
  if (listed_failures_ >= Chunk::listed) return;
  ++listed_failures_;
  chunk_.failures.push_back({b, info, reason()});
}

void Job::verified(std::int64_t b, Verified const& found) {
  double const error = io::unsigned_nan(found.error), judged = io::unsigned_nan(found.normwise.value_or(error));
  auto const description = [&] {
    return fmt::format("{}backward error {:.2e}{}", found.normwise ? "componentwise " : "", error,
                       found.place.empty() ? "" : " at " + found.place);
  };
  if (options_.tolerance > 0) {
    if (!(error <= options_.tolerance))
      fail(b, 0, [&] { return fmt::format("backward error {:.2e} is above the tolerance {:.2e}", error, options_.tolerance); });
  } else if (!(judged <= found.bound)) {
    fail(b, 0, [&] {
      return fmt::format("{}{} is above {:.2e}, the most that rounding explains", description(),
                         found.normwise ? fmt::format(", normwise {:.2e},", judged) : "", found.bound);
    });
  } else if (!(error <= found.bound)) {
    warn([&] {
      return fmt::format("{}: {} is above {:.2e}, so small entries of the result may be lost; normwise it is {:.2e}, as rounding makes it",
                         label(b), description(), found.bound, judged);
    });
  }
  chunk_.keep_worse(error, b);
}

void Job::warn(std::function<std::string()> const& text) {
  ++chunk_.warned;
  if (listed_warnings_ >= Chunk::listed) return;
  ++listed_warnings_;
  chunk_.warnings.push_back(text());
}

// Result files, and the other ranks

namespace {

void add(StreamReport& sum, StreamReport const& report) {
  sum.bytes_in += report.bytes_in;
  sum.bytes_out += report.bytes_out;
  sum.seconds += report.seconds;
  if (sum.shares.empty()) sum.shares.resize(report.shares.size());
  for (std::size_t k = 0; k < report.shares.size(); ++k) {
    sum.shares[k].device = report.shares[k].device;
    sum.shares[k].matrices += report.shares[k].matrices;
    if (sum.shares[k].failure.empty()) sum.shares[k].failure = report.shares[k].failure;
  }
}

/// First letters of the messages between rank 0 and another one.
namespace letter {
constexpr char chunks = 'c';   ///< they are finished
constexpr char done = 'd';     ///< the sender has finished its share
constexpr char problem = 'p';  ///< the sender cannot go on
constexpr char stop = 's';     ///< the receiver is not to go on
constexpr char status = 'x';   ///< exit status of all
}  // namespace letter

json ranges_json(Ranges const& ranges) {
  json out = json::array();
  for (auto const& [first, count] : ranges) out.push_back({first, count});
  return out;
}

}  // namespace

json Job::description() const {
  json inputs = json::array();
  for (io::Source const* source : inputs_) {
    std::uintmax_t bytes = 0;
    std::int64_t newest = std::numeric_limits<std::int64_t>::min();  // the epoch of file times may lie ahead
    std::string each;
    for (std::string const& file : source->files()) {
      std::uintmax_t const size = std::filesystem::file_size(file);
      std::int64_t const time = std::filesystem::last_write_time(file).time_since_epoch().count();
      bytes += size;
      newest = std::max(newest, time);
      each += fmt::format("{}\n{} {}\n", std::filesystem::absolute(file).string(), size, time);
    }
    inputs.push_back({{"name", io::printable(source->name())},
                      {"bytes", bytes},
                      {"modified", newest},
                      {"files", io::checksum_of(each.data(), each.size())}});
  }
  json given = json::object();
  for (CLI::Option const* option : options_.command->get_options()) {
    std::string const name = option->get_name();
    constexpr std::array without_effect{"--resume", "--json", "--threads", "--chunk", "--device", "--on-gpu-failure"};
    if (option->count() == 0 || std::count(without_effect.begin(), without_effect.end(), name) > 0) continue;
    json values = json::array();
    for (std::string const& value : option->results()) values.push_back(io::printable(value));
    given[name] = values;
  }
  return json{{"version", MYRIAD_VERSION}, {"command", command_}, {"options", given}, {"inputs", inputs}, {"count", count_}};
}

/// The part of `description` that all ranks must share: names of files are left out, since they may differ from host to host.
json Job::view(json description) {
  for (json& input : description["inputs"]) input.erase("files");
  return description;
}

void Job::open_files(std::vector<io::Field> const& fields, io::Layout const& layout, io::Access access) {
  // A run that died after it had completed the files may have given names to some.
  auto const access_to = [&](std::string const& name) {
    bool const renamed =
        access == io::Access::resume && !std::filesystem::exists(io::unfinished_path(name)) && journal_->has_completed(files_.size(), name);
    return renamed ? io::Access::complete : access;
  };
  files_.emplace_back(options_.output, fields, layout, access_to(options_.output));
  if (options_.info.empty()) return;
  if (std::filesystem::path(options_.info).extension() != ".npy")
    throw io::Error(fmt::format("{}: the name after --info ends in .npy", options_.info));
  auto const whole = [](std::string const& name) { return std::filesystem::weakly_canonical(name); };
  if (whole(options_.info) == whole(options_.output)) throw UsageError(fmt::format("--info and -o are the same file, {}", options_.info));
  files_.emplace_back(
      options_.info,
      std::vector{io::Field{"info", io::descr_of<std::int32_t>(), sizeof(std::int32_t), [](std::int64_t) { return io::Shape{}; }}},
      io::Layout{.count = layout.count, .single = layout.single}, access_to(options_.info));
}

/// Opens the result files of rank 0, and the journal unless `job` is null.
void Job::open_first(std::vector<io::Field> const& fields, io::Layout const& layout, json const& job) {
  if (!job.is_null()) journal_.emplace(command_, options_.output, count_, job, options_.resume);
  if (journal_ && !options_.resume && !ranks_.several()) {  // an earlier run has left nothing that is finished
    journal_->remove();
    journal_.reset();
  }
  std::vector<Chunk> const earlier = journal_ ? journal_->chunks() : std::vector<Chunk>{};
  for (Chunk const& chunk : earlier) resumed_ += chunk.count;
  done_ = resumed_;
  open_files(fields, layout, !journal_ ? io::Access::alone : resumed_ > 0 ? io::Access::resume : io::Access::create);
  for (std::size_t f = 0; resumed_ > 0 && f < files_.size(); ++f)
    if (io::ResultFile const& file = files_[f]; !file.temporary_path().empty())
      journal_->expect_unfinished(f, file.identity(), file.temporary_path());
  if (journal_ && resumed_ == 0) journal_->begin(identities());
  for (Chunk const& chunk : earlier)
    for (std::size_t f = 0; f < files_.size(); ++f) files_[f].add(chunk.pieces.at(f));
  pending_ = missing_from(earlier, layout.count);
}

/// Identities of the unfinished result files; none where an earlier run has given one its name.
std::vector<io::FileIdentity> Job::identities() const {
  std::vector<io::FileIdentity> out;
  for (io::ResultFile const& file : files_)
    if (!file.temporary_path().empty()) out.push_back(file.identity());
  return out;
}

void Job::open_results(std::vector<io::Field> fields, io::Layout layout) {
  std::error_code ignored;
  bool const journal = options_.resume || ranks_.several() || std::filesystem::exists(Journal::path_for(options_.output), ignored);
  json const job = journal ? description() : json();
  std::string const plan = ranks_.meet({}, ranks_.several() ? view(job) : json(), [&] {
    open_first(fields, layout, job);
    return json{{"pending", ranges_json(pending_)}, {"unfinished", identities()}}.dump();
  });
  opened_ = true;
  if (!ranks_.first()) {
    json const first = json::parse(plan);
    for (json const& range : first.at("pending")) pending_.emplace_back(range.at(0), range.at(1));
    open_files(fields, layout, pending_.empty() ? io::Access::complete : io::Access::join);
    for (std::size_t f = 0; !pending_.empty() && f < files_.size(); ++f)
      if (!io::is_same(files_[f].identity(), first.at("unfinished").at(f).get<io::FileIdentity>()))
        throw UsageError(fmt::format("{}: is another file than that of rank 0", files_[f].temporary_path()));
  }
  if (kept()) report_missing_on_signal(options_.output);
}

Ranges Job::share(bool ragged, std::function<std::int64_t(std::int64_t)> const& cost) {
  all_ = std::exchange(chunk_, {});
  // Rank r takes the matrices that begin in the r-th of size() equal parts of the whole cost.
  Ranges mine;
  auto const take = [&](std::int64_t first, std::int64_t end) {
    if (first >= end) return;
    if (!mine.empty() && mine.back().first + mine.back().second == first)
      mine.back().second += end - first;
    else
      mine.emplace_back(first, end - first);
  };
  double whole = 0;
  for (auto const& [first, count] : pending_) {
    if (!ragged) whole += static_cast<double>(count);
    for (std::int64_t b = first; ragged && b < first + count; ++b) whole += static_cast<double>(cost(b));
  }
  double const begin = std::ceil(whole * ranks_.rank() / ranks_.size());
  double const end = ranks_.rank() + 1 == ranks_.size() ? whole + 1 : std::ceil(whole * (ranks_.rank() + 1) / ranks_.size());
  double before = 0;
  for (auto const& [first, count] : pending_) {
    if (!ragged) {
      auto const place = [&, offset = first, many = count](double at) {
        return offset + std::clamp<std::int64_t>(static_cast<std::int64_t>(at - before), 0, many);
      };
      take(place(begin), place(end));
      before += static_cast<double>(count);
    } else {
      for (std::int64_t b = first; b < first + count; ++b) {
        if (before >= begin && before < end) take(b, b + 1);
        before += static_cast<double>(cost(b));
      }
    }
  }
  return mine;
}

void Job::save(std::int64_t first, std::int64_t count, std::span<void const* const> data, int const* info) {
  static_assert(sizeof(int) == sizeof(std::int32_t));
  chunk_.pieces.push_back(files_[0].write(first, count, data));
  void const* const statuses = info;
  if (files_.size() > 1) chunk_.pieces.push_back(files_[1].write(first, count, {&statuses, 1}));
}

void Job::finish_chunk(std::int64_t first, std::int64_t count) {
  chunk_.first = first;
  chunk_.count = count;
  finished_.push_back(std::exchange(chunk_, {}));
  done_ += count;
  if (!kept() || Clock::now() - recorded_ >= between_records) record();
  while (auto const message = ranks_.receive()) receive(*message);
  if (other_problem_) throw UsageError(*other_problem_);
  show_progress();
}

/// Waits for the disk, and records the chunks that this process has finished.
void Job::record() {
  // Chunks that do not reach the disk are forgotten: a second sync() would not tell of the error again.
  std::vector<Chunk> chunks = std::exchange(finished_, {});
  if (!chunks.empty() && kept())
    for (io::ResultFile& file : files_) file.sync();
  if (journal_) {
    journal_->add(std::move(chunks));
  } else if (kept()) {
    json message = json::array();
    for (Chunk const& chunk : chunks) message.push_back(to_json(chunk));
    if (!message.empty()) ranks_.send(0, letter::chunks + message.dump());
  } else {
    for (Chunk& chunk : chunks) chunks_.push_back(std::move(chunk));
  }
  recorded_ = Clock::now();
}

void Job::receive(Ranks::Message const& message) {
  std::string const text = message.text.substr(1);
  switch (message.text.at(0)) {
    case letter::chunks: {
      std::vector<Chunk> chunks;
      for (json const& entry : json::parse(text)) {
        Chunk chunk = chunk_of(entry);
        for (std::size_t f = 0; f < files_.size(); ++f) files_[f].add(chunk.pieces.at(f));
        done_ += chunk.count;
        chunks.push_back(std::move(chunk));
      }
      journal_->add(std::move(chunks));
      break;
    }
    case letter::done: {
      json const sums = json::parse(text);
      double const seconds = sums.at(2);
      add(others_computed_, {.bytes_in = sums.at(0), .bytes_out = sums.at(1), .seconds = seconds});
      slowest_ = std::max(slowest_, seconds);
      ++others_done_;
      break;
    }
    case letter::problem:
      if (!other_problem_) other_problem_ = problem_of(message.from, text);
      ++others_done_;
      break;
    case letter::stop:
      throw Stopped();
    case letter::status:
      status_ = std::stoi(text);
      break;
  }
}

/// Rank 0: until all others have done their share, or stopped.
void Job::wait_for_others() {
  while (others_done_ < ranks_.size() - 1) {
    receive(ranks_.wait());
    show_progress();
    if (other_problem_ && !ending_) throw UsageError(*other_problem_);
  }
}

/// The other ranks: until rank 0 has ended the job.
int Job::wait_for_status() {
  while (!status_) {
    Ranks::Message const message = ranks_.wait();
    if (message.text.at(0) == letter::status) receive(message);
  }
  report_nothing_on_signal();
  return *status_;
}

/// Leaves no files of a journal without finished chunks.
void Job::discard_unless_finished() {
  if (!journal_ || !journal_->chunks().empty()) return;
  for (io::ResultFile& file : files_) file.remove();
  journal_->remove();
}

int Job::stop(std::string const& reason) {
  if (!opened_) discard_unless_finished();
  if (!ranks_.met()) ranks_.meet(reason, {}, {});  // throws
  if (!opened_ || !kept()) throw UsageError(reason);
  chunk_ = {};
  if (!ranks_.first()) {
    try {
      record();
    } catch (std::exception const&) {
      // The reason is told already.
    }
    ranks_.send(0, letter::problem + reason);
    return wait_for_status();
  }
  bar_.clear();
  std::string const told = other_problem_ ? *other_problem_ : reason;
  ending_ = true;
  if (others_done_ < ranks_.size() - 1) ranks_.send_to_others(std::string(1, letter::stop));
  try {
    wait_for_others();
    record();
  } catch (std::exception const&) {
    // The first reason is told.
  }
  report_nothing_on_signal();
  discard_unless_finished();
  if (!committed_ && !journal_->chunks().empty()) say(stderr, "myriad {}: {}\n", command_, journal_->missing());
  ranks_.send_to_others(letter::status + std::to_string(exit_bad_input));
  throw UsageError(told);
}

void Job::show_progress() {
  double const seconds = seconds_of(Clock::now() - start_);
  if (!ranks_.first() || count_ <= 0 || !bar_.due(seconds)) return;
  bar_.draw({.done = static_cast<double>(done_),
             .total = static_cast<double>(count_),
             .seconds = seconds,
             .what = fmt::format("{} of {}", done_, count_),
             .skipped = static_cast<double>(resumed_)});
}

void Job::count(StreamReport const& report) { add(computed_, report); }

/// The problem, and how much was finished before it, unless the journal tells that.
std::string Job::with_progress(std::string const& problem) const {
  if (kept()) return problem;
  return fmt::format("{}; {} of {} matrices were finished, and are not kept without --resume", problem, done_, count_);
}

/// "gpu, NAME"; with --device "gpu 0 (51%), gpu 2 (49%), NAME".
std::string Job::gpus_text() const {
  if (options_.device.empty()) return "gpu, " + gpus_[0].device().name;
  std::int64_t all = 0;
  for (StreamShare const& share : computed_.shares) all += share.matrices;
  std::vector<std::string> each, names;
  for (std::size_t k = 0; k < gpus_.size(); ++k) {
    Device const& device = gpus_[k].device();
    if (std::find(names.begin(), names.end(), device.name) == names.end()) names.push_back(device.name);
    bool const known = gpus_.size() > 1 && all > 0;
    each.push_back(fmt::format("gpu {}{}", device.ordinal,
                               known ? fmt::format(" ({}%)", (200 * computed_.shares[k].matrices + all) / (2 * all)) : std::string()));
  }
  return fmt::format("{}, {}", fmt::join(each, ", "), fmt::join(names, " and "));
}

void Job::warn_of_failed_gpus() {
  for (StreamShare const& share : unopened_gpus_) {
    ++all_.warned;
    all_.warnings.push_back(share.failure + "; the other GPUs computed all matrices");
  }
  for (StreamShare const& share : computed_.shares) {
    if (share.failure.empty()) continue;
    ++all_.warned;
    all_.warnings.push_back(
        fmt::format("GPU {} failed ({}); the other GPUs computed its unfinished matrices, so that all results are complete", share.device,
                    share.failure));
  }
}

/// Completes the result files before the first gets its name, so that a run that dies in between can be resumed.
void Job::complete_files() {
  std::vector<std::string> written;
  for (io::ResultFile& file : files_) {
    file.complete();
    if (journal_) file.sync();
    written.push_back(file.temporary_path().empty() ? file.path() : file.temporary_path());
  }
  if (journal_) journal_->complete(written);
  for (io::ResultFile& file : files_) file.commit();
  committed_ = true;
}

int Job::finish() {
  if (!ranks_.met()) ranks_.meet({}, {}, [] { return std::string(); });
  record();
  if (!ranks_.first()) {
    ranks_.send(0, letter::done + json{computed_.bytes_in, computed_.bytes_out, computed_.seconds}.dump());
    return wait_for_status();
  }
  wait_for_others();
  slowest_ = std::max(slowest_, computed_.seconds);
  add(computed_, others_computed_);
  std::vector<Chunk> chunks = journal_ ? journal_->chunks() : std::move(chunks_);
  std::sort(chunks.begin(), chunks.end(), [](Chunk const& a, Chunk const& b) { return a.first < b.first; });
  if (files_.empty()) all_ = std::exchange(chunk_, {});  // without chunks
  for (Chunk const& chunk : chunks) all_.add(chunk);
  complete_files();
  report_nothing_on_signal();
  if (journal_) journal_->remove();

  double const seconds = seconds_of(Clock::now() - start_);
  bar_.clear();
  warn_of_failed_gpus();
  bool const failed =
      std::any_of(computed_.shares.begin(), computed_.shares.end(), [](StreamShare const& s) { return !s.failure.empty(); });
  if (!gpus_.empty() && !failed && computed_.bytes_in + computed_.bytes_out > 0) link_ = host_link(gpus_);
  if (options_.json)
    print_json(seconds);
  else
    print_summary(seconds);
  std::fflush(stdout);
  auto const say_rest = [](std::int64_t all, std::size_t listed) {
    if (auto const more = all - static_cast<std::int64_t>(listed); more > 0) say(stderr, "  and {} more\n", more);
  };
  for (std::string const& warning : all_.warnings) say(stderr, "myriad {}: warning: {}\n", command_, warning);
  say_rest(all_.warned, all_.warnings.size());
  if (all_.failed > 0) {
    say(stderr, "myriad {}: {} of {} {} failed\n", command_, all_.failed, count_, count_ == 1 ? "matrix" : "matrices");
    for (Chunk::Failure const& f : all_.failures) say(stderr, "  {}: {}\n", label(f.matrix), f.reason);
    say_rest(all_.failed, all_.failures.size());
  }
  int const code = all_.failed == 0 ? exit_good : exit_failed_matrices;
  ranks_.send_to_others(letter::status + std::to_string(code));
  return code;
}

void Job::print_summary(double seconds) const {
  say("{} {}, {}, in {}", verb_, what_, io::name_of(dtype_), duration(seconds));
  if (resumed_ > 0) say(", {} of them in an earlier run", resumed_);
  if (slowest_ > 0 && count_ > resumed_) {
    say("; computing took {} ({} a second) on ", duration(slowest_), rate(static_cast<double>(count_ - resumed_) / slowest_));
    if (ranks_.several()) say("{} ranks{}, each on ", ranks_.size(), ranks_.hosts() > 1 ? fmt::format(" of {} hosts", ranks_.hosts()) : "");
    if (!gpus_.empty())
      say("{}", gpus_text());
    else
      say("cpu with {} thread{}{}", host_.threads(), host_.threads() == 1 ? "" : "s",
          gpu_problem_.empty() ? "" : fmt::format("; no GPU: {}", gpu_problem_));
  }
  say("\n");
  if (link_)
    say("{:.3g} GB to the GPU{} and {:.3g} GB back at {:.3g} GB/s, {:.0f}% of what the link was measured to do\n",
        static_cast<double>(computed_.bytes_in) * 1e-9, gpus_.size() > 1 ? "s" : "", static_cast<double>(computed_.bytes_out) * 1e-9,
        computed_.rate() * 1e-9, 100 * computed_.share_of(*link_));
  if (all_.worst) say("worst backward error {:.2e}, {}\n", *all_.worst, label(all_.worst_matrix));
}

void Job::print_json(double seconds) const {
  using json = nlohmann::ordered_json;  // keeps the order of insertion
  // JSON has neither NaN nor infinity.
  auto const number = [](double x) { return std::isfinite(x) ? json(x) : json(fmt::format("{}", io::unsigned_nan(x))); };
  double const compute = slowest_;
  json inputs = json::array();
  for (io::Source const* source : inputs_) inputs.push_back(source->name());
  json failures = json::array();
  for (Chunk::Failure const& f : all_.failures) {
    json entry{{"matrix", f.matrix}, {"info", f.info}, {"reason", f.reason}};
    if (std::string const file = file_of(f.matrix); !file.empty()) entry["file"] = file;
    failures.push_back(std::move(entry));
  }
  json summary{{"command", command_},
               {"inputs", inputs},
               {"output", options_.output},
               {"dtype", io::name_of(dtype_)},
               {"count", count_},
               {"rows", inputs_.empty() ? 0 : inputs_[0]->rows()},
               {"cols", inputs_.empty() ? 0 : inputs_[0]->cols()},
               {"ragged", !inputs_.empty() && inputs_[0]->ragged()},
               {"backend", name_of(gpus_.empty() ? Backend::cpu : Backend::gpu)},
               {"threads", host_.threads()},
               {"seconds", seconds},
               {"compute_seconds", compute},
               {"matrices_per_second", compute > 0 ? number(static_cast<double>(count_ - resumed_) / compute) : json(nullptr)},
               {"failed", all_.failed},
               {"failures", failures},
               {"warnings", all_.warnings}};
  if (ranks_.several()) {
    summary["ranks"] = ranks_.size();
    summary["hosts"] = ranks_.hosts();
  }
  if (resumed_ > 0) summary["resumed"] = resumed_;
  if (!gpus_.empty()) summary["device"] = gpus_[0].device().name;
  std::int64_t computed = 0;
  for (StreamShare const& share : computed_.shares) computed += share.matrices;
  for (StreamShare const& share : ranks_.several() ? std::vector<StreamShare>{} : computed_.shares) {
    auto const queue = std::find_if(gpus_.begin(), gpus_.end(), [&](Queue const& q) { return q.device().ordinal == share.device; });
    json entry{{"device", share.device},
               {"name", queue->device().name},
               {"share", computed > 0 ? static_cast<double>(share.matrices) / static_cast<double>(computed) : 0}};
    if (!share.failure.empty()) entry["failure"] = share.failure;
    summary["gpus"].push_back(std::move(entry));
  }
  for (StreamShare const& share : unopened_gpus_)
    summary["gpus"].push_back({{"device", share.device}, {"share", 0}, {"failure", share.failure}});
  if (!gpu_problem_.empty()) summary["gpu_problem"] = gpu_problem_;
  if (link_) {
    summary["bytes_to_device"] = computed_.bytes_in;
    summary["bytes_to_host"] = computed_.bytes_out;
    summary["bytes_per_second"] = number(computed_.rate());
    summary["link"] = {{"to_device", number(link_->to_device)}, {"to_host", number(link_->to_host)}, {"both", number(link_->both)}};
    summary["share_of_link"] = number(computed_.share_of(*link_));
  }
  if (all_.worst) {
    summary["worst_backward_error"] = number(*all_.worst);
    summary["worst_matrix"] = all_.worst_matrix;
    if (std::string const file = file_of(all_.worst_matrix); !file.empty()) summary["worst_file"] = file;
  }
  std::fputs(json_text(summary).c_str(), stdout);
}

}  // namespace myriad::cli
