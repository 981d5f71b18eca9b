#include "job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "command.hpp"
#include "myriad/error.hpp"
#include "terminal.hpp"

namespace myriad::cli {
namespace {

constexpr std::size_t listed_failures = 5;  ///< also the limit of listed warnings

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

void add_options(CLI::App& app, Options& options, Offers const& offers) {
  app.add_option("-o,--output", options.output, wrapped(offers.output_help))->required()->type_name("FILE");
  if (offers.info)
    app.add_option("--info", options.info,
                   wrapped("Save a status per matrix as .npy of int32: 0 for success, i > 0 as LAPACK's info, -1 where the result is not "
                           "finite (NaN or infinity in the input, or overflow)"))
        ->type_name("FILE");
  app.add_option("--backend", options.backend, wrapped("cpu; gpu: the first GPU; auto: the GPU, or the CPU where none can be used"))
      ->type_name("NAME")
      ->capture_default_str();
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
  app.add_flag("--json", options.json, wrapped("Print the summary as JSON"));
}

namespace {

/// The GPU of --backend, if any. Errors are in terms of the command line. `problem`: why `auto` found no GPU.
std::optional<Queue> open_gpu(Options const& options, std::string& problem) {
  Backend const backend = parse_backend(options.backend);
  if (backend == Backend::cpu) return std::nullopt;
  try {
    Queue queue({.backend = backend, .threads = options.threads});
    problem = queue.gpu_problem();
    return queue.backend() == Backend::gpu ? std::optional(std::move(queue)) : std::nullopt;
  } catch (Unavailable const& reason) {
    throw UsageError(fmt::format("--backend {}: {} (see myriad info)", options.backend, reason.what()));
  }
}

}  // namespace

Job::Job(std::string command, std::string verb, Options const& options)
    : command_(std::move(command)),
      verb_(std::move(verb)),
      options_(options),
      host_({.backend = Backend::cpu, .threads = options.threads}),
      gpu_(open_gpu(options, gpu_problem_)),
      streamer_(gpu_ ? *gpu_ : host_) {
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
  ++failed_;
  if (failures_.size() < listed_failures) failures_.push_back({b, info, reason()});
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
  // This comparison makes NaN the worst, for good.
  if (!worst_ || (!std::isnan(*worst_) && !(error <= *worst_))) {
    worst_ = error;
    worst_matrix_ = b;
  }
}

void Job::warn(std::function<std::string()> const& text) {
  ++warned_;
  if (warnings_.size() < listed_failures) warnings_.push_back(text());
}

void Job::progress(std::int64_t done) {
  double const seconds = seconds_of(Clock::now() - start_);
  if (count_ <= 0 || !bar_.due(seconds)) return;
  bar_.draw({.done = static_cast<double>(done),
             .total = static_cast<double>(count_),
             .seconds = seconds,
             .what = fmt::format("{} of {}", done, count_)});
}

void Job::count(StreamReport const& report) {
  computed_.bytes_in += report.bytes_in;
  computed_.bytes_out += report.bytes_out;
  computed_.seconds += report.seconds;
}

int Job::finish() {
  double const seconds = seconds_of(Clock::now() - start_);
  bar_.clear();
  if (gpu_ && computed_.bytes_in + computed_.bytes_out > 0) link_ = host_link(*gpu_);
  if (options_.json)
    print_json(seconds);
  else
    print_summary(seconds);
  std::fflush(stdout);
  auto const say_rest = [](std::int64_t all, std::size_t listed) {
    if (auto const more = all - static_cast<std::int64_t>(listed); more > 0) say(stderr, "  and {} more\n", more);
  };
  for (std::string const& warning : warnings_) say(stderr, "myriad {}: warning: {}\n", command_, warning);
  say_rest(warned_, warnings_.size());
  if (failed_ == 0) return exit_good;

  say(stderr, "myriad {}: {} of {} {} failed\n", command_, failed_, count_, count_ == 1 ? "matrix" : "matrices");
  for (Failure const& f : failures_) say(stderr, "  {}: {}\n", label(f.matrix), f.reason);
  say_rest(failed_, failures_.size());
  return exit_failed_matrices;
}

void Job::print_summary(double seconds) const {
  say("{} {}, {}, in {}", verb_, what_, io::name_of(dtype_), duration(seconds));
  if (double const compute = computed_.seconds; compute > 0 && count_ > 0) {
    say("; computing took {} ({} a second) on ", duration(compute), rate(static_cast<double>(count_) / compute));
    if (gpu_)
      say("gpu, {}", gpu_->device().name);
    else
      say("cpu with {} thread{}{}", host_.threads(), host_.threads() == 1 ? "" : "s",
          gpu_problem_.empty() ? "" : fmt::format("; no GPU: {}", gpu_problem_));
  }
  say("\n");
  if (link_)
    say("{:.3g} GB to the GPU and {:.3g} GB back at {:.3g} GB/s, {:.0f}% of what the link was measured to do\n",
        static_cast<double>(computed_.bytes_in) * 1e-9, static_cast<double>(computed_.bytes_out) * 1e-9, computed_.rate() * 1e-9,
        100 * computed_.share_of(*link_));
  if (worst_) say("worst backward error {:.2e}, {}\n", *worst_, label(worst_matrix_));
}

void Job::print_json(double seconds) const {
  using json = nlohmann::ordered_json;  // keeps the order of insertion
  // JSON has neither NaN nor infinity.
  auto const number = [](double x) { return std::isfinite(x) ? json(x) : json(fmt::format("{}", io::unsigned_nan(x))); };
  double const compute = computed_.seconds;
  json inputs = json::array();
  for (io::Source const* source : inputs_) inputs.push_back(source->name());
  json failures = json::array();
  for (Failure const& f : failures_) {
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
               {"backend", name_of(gpu_ ? Backend::gpu : Backend::cpu)},
               {"threads", host_.threads()},
               {"seconds", seconds},
               {"compute_seconds", compute},
               {"matrices_per_second", compute > 0 ? number(static_cast<double>(count_) / compute) : json(nullptr)},
               {"failed", failed_},
               {"failures", failures},
               {"warnings", warnings_}};
  if (gpu_) summary["device"] = gpu_->device().name;
  if (!gpu_problem_.empty()) summary["gpu_problem"] = gpu_problem_;
  if (link_) {
    summary["bytes_to_device"] = computed_.bytes_in;
    summary["bytes_to_host"] = computed_.bytes_out;
    summary["bytes_per_second"] = number(computed_.rate());
    summary["link"] = {{"to_device", number(link_->to_device)}, {"to_host", number(link_->to_host)}, {"both", number(link_->both)}};
    summary["share_of_link"] = number(computed_.share_of(*link_));
  }
  if (worst_) {
    summary["worst_backward_error"] = number(*worst_);
    summary["worst_matrix"] = worst_matrix_;
    if (std::string const file = file_of(worst_matrix_); !file.empty()) summary["worst_file"] = file;
  }
  std::fputs(json_text(summary).c_str(), stdout);
}

}  // namespace myriad::cli
