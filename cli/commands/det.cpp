#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <vector>

#include "check_results.hpp"
#include "command.hpp"
#include "commands/operands.hpp"
#include "core/dtype.hpp"
#include "myriad/myriad.hpp"
#include "stream.hpp"

namespace myriad::cli {
namespace {

struct DetOptions : Options {
  std::string a;
  bool log = false;
};

io::Field scalar_field(std::string name, Dtype dtype) {
  return {std::move(name), io::descr_of(dtype), io::size_of(dtype), [](std::int64_t) { return io::Shape{}; }};
}

template <typename T>
bool is_nan(T x) {
  if constexpr (is_complex<T>)
    return std::isnan(x.real()) || std::isnan(x.imag());
  else
    return std::isnan(x);
}

template <typename T>
int run(DetOptions const& options, Job& job, io::Source const& source) {
  std::int64_t const total = source.count();
  Dtype const dtype = source.dtype();
  // An .npy file holds signs, then logarithms of the same type; in an .npz archive logarithms are real.
  bool const stacked = options.log && std::filesystem::path(options.output).extension() != ".npz";
  std::vector<io::Field> fields;
  if (options.log)
    fields = {scalar_field("sign", dtype), scalar_field("logabsdet", stacked ? dtype : dtype_of<Real<T>>)};
  else
    fields = {scalar_field("det", dtype)};
  job.open_results(std::move(fields), {.count = total, .single = source.single(), .fields_first = stacked});

  std::vector<T> values, logarithms_as_t;
  std::vector<Real<T>> logarithms;
  std::vector<int> info;
  std::array<Input, 1> const inputs{Input{.source = &source}};
  auto const bytes = [](std::int64_t) { return static_cast<std::int64_t>(3 * sizeof(T)); };
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a] = operands;
    auto const size = static_cast<std::size_t>(count);
    info.assign(size, 0);
    values.resize(size);
    logarithms.resize(options.log ? size : 0);
    if (options.log)
      job.compute(in(a.view), out(values.data()), out(logarithms.data()),
                  [](Queue& q, auto matrices, T* sign, Real<T>* logabs) { logdet<T>(q, matrices, sign, logabs); });
    else
      job.compute(in(a.view), out(values.data()), [](Queue& q, auto matrices, T* determinants) { det<T>(q, matrices, determinants); });
    for (std::size_t m = 0; m < size; ++m) {
      // log |det| of a singular matrix is -infinity, as in NumPy.
      bool const bad = options.log
                           ? is_nan(values[m]) || std::isnan(logarithms[m]) || logarithms[m] == std::numeric_limits<Real<T>>::infinity()
                           : !all_finite(&values[m], 1);
      if (!bad) continue;
      info[m] = -1;
      auto const b = first + static_cast<std::int64_t>(m);
      job.fail(b, -1, [&] {
        std::string const place = first_not_finite<T>(inputs[0], b);
        return !place.empty() ? place
               : options.log  ? "the logarithm of the determinant is not finite"
                              : "the determinant overflows; --log gives its logarithm";
      });
    }
    std::array<void const*, 2> data{values.data(), logarithms.data()};
    if (stacked) {
      logarithms_as_t.assign(logarithms.begin(), logarithms.end());
      data[1] = logarithms_as_t.data();
    }
    job.save(first, count, {data.data(), options.log ? std::size_t{2} : std::size_t{1}}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_det(CLI::App& app, Action& action) {
  auto options = std::make_shared<DetOptions>();
  CLI::App& command = *app.add_subcommand("det", "Determinants by LU with partial pivoting");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  add_options(
      command, *options,
      {.verify = false,
       .output_help =
           "File for the determinants: .npy of shape (batch), or () for a single matrix. With --log (2, batch): signs, then logarithms "
           "(sign, logabsdet = numpy.load(FILE)); or an .npz with sign and logabsdet"});
  command.add_flag("--log", options->log,
                   wrapped("Sign and log |det|, which do not overflow, as numpy.linalg.slogdet; 0 and -inf where A is singular"));
  command.callback([options, &action] {
    action = batch("det", "computed determinants of", *options, [options](Job& job) {
      auto const source = open_matrices(options->a, true, *options);
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "matrix", "matrices", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return run<T>(*options, job, *source); });
    });
  });
}

}  // namespace myriad::cli
