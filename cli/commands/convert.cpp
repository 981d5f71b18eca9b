#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>

#include "command.hpp"
#include "commands/operands.hpp"
#include "core/dtype.hpp"
#include "io/error.hpp"
#include "io/matrix_market.hpp"
#include "io/results.hpp"
#include "job.hpp"
#include "stream.hpp"

namespace myriad::cli {
namespace {

struct ConvertOptions : Options {
  std::string a;
};

template <typename T>
int run(ConvertOptions const& options, Job& job, io::Source const& source) {
  std::filesystem::path const path = options.output;
  if (path.extension() == ".mtx") {
    if (source.count() != 1)
      throw io::Error(fmt::format("{}: a Matrix Market file holds one matrix, {} holds {}", options.output, source.name(), source.count()));
    if (options.resume) throw UsageError("--resume needs an output in .npy or .npz");
    if (Ranks::all().first()) {
      Operand<T> matrix;
      load<T>({.source = &source, .view = false, .work = true}, 0, 1, matrix);
      io::save_market(options.output, matrix.work.data(), source.rows_of(0), source.cols_of(0));
    }
    return job.finish();
  }
  if (path.extension() != ".npy" && path.extension() != ".npz")
    throw io::Error(fmt::format("{}: the name of the output ends in .npy, .npz or .mtx", options.output));

  auto const rows = [&](std::int64_t m) { return source.rows_of(m); };
  auto const cols = [&](std::int64_t m) { return source.cols_of(m); };
  job.open_results({matrix_field("a", source.dtype(), source.vectors(), rows, cols)},
                   {.count = source.count(), .single = source.single(), .ragged = source.ragged()});
  std::array<Input, 1> const inputs{Input{.source = &source, .view = false, .work = true}};
  stream<T>(
      job, inputs, [](std::int64_t) { return std::int64_t{0}; },
      [&](std::int64_t first, std::int64_t count, auto& operands) {
        void const* const data = operands[0].work.data();
        job.save(first, count, {&data, 1}, nullptr);
      });
  return job.finish();
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App& command = *app.add_subcommand("convert", "Convert matrices to another file format or element type");
  command.add_option("IN", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  add_options(command, *options,
              {.info = false,
               .verify = false,
               .output_help = "Where they go: .npy in C order; .npz with a, or with a_0, a_1, ... where the matrices differ in size; .mtx "
                              "(Matrix Market, one matrix)"});
  command.callback([options, &action] {
    if (parse_backend(options->backend) == Backend::gpu) throw UsageError("--backend gpu: converting is done by the CPU");
    if (!options->device.empty()) throw UsageError("--device: converting is done by the CPU");
    if (options->on_gpu_failure != OnGpuFailure::stop) throw UsageError("--on-gpu-failure: converting is done by the CPU");
    options->backend = "cpu";
    action = batch("convert", "converted", *options, [options](Job& job) {
      auto const source = io::open_source(options->a, options->convert_to());
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "matrix", "matrices", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return run<T>(*options, job, *source); });
    });
  });
}

}  // namespace myriad::cli
