#include <array>
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

struct MultiplyOptions : Options {
  std::string a, b;
};

template <typename T>
int run(MultiplyOptions const& options, Job& job, Operands& o) {
  auto const rows = [&](std::int64_t m) { return o.a_rows(m); };
  auto const cols = [&](std::int64_t m) { return o.b_cols(m); };
  job.open_results({matrix_field("c", o.dtype, o.b->vectors(), rows, cols)}, {.count = o.count, .single = o.single, .ragged = o.ragged()});

  Matrices<T> c;
  std::vector<int> info;
  auto const bytes = [&](std::int64_t m) { return rows(m) * cols(m) * static_cast<std::int64_t>(sizeof(T)); };
  std::array<Input, 2> const inputs{o.a_input, o.b_input};
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a, b] = operands;
    info.assign(static_cast<std::size_t>(count), 0);
    c.resize(sizes_like(
        sizes_of(b.view.ragged() ? b.view : a.view), [&](std::int64_t m) { return a.view.rows_of(m); },
        [&](std::int64_t m) { return b.view.cols_of(m); }));
    job.compute(in(a.view), in(b.view), out(c.batch()),
                [](Queue& q, auto left, auto right, auto product) { gemm<T>(q, T(1), left, right, T(0), product); });
    Matrices<T> const* const result = &c;
    judge<T>(job, first, count, info.data(), {&result, 1}, inputs, {}, "the product is not finite: overflow");
    if (options.verify) verify_solution<T>(job, first, a.view, b.view, Batch<T const>(c.batch()), info.data(), Promise::rows);
    void const* const data = c.data();
    job.save(first, count, {&data, 1}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_multiply(CLI::App& app, Action& action) {
  auto options = std::make_shared<MultiplyOptions>();
  CLI::App& command = *app.add_subcommand("multiply", "C = A B");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command.add_option("B", options->b, wrapped(right_hand_sides_help))->required()->type_name("FILE");
  add_options(command, *options,
              {.verify_help = "Report the largest componentwise error max |C - A B| / (|A| |B| + |C|) and its matrix",
               .output_help = "File for C: .npy, or .npz with c_0, c_1, ... where the matrices differ in size"});
  command.callback([options, &action] {
    action = batch("multiply", "multiplied", *options, [options](Job& job) {
      Operands o = open_operands(options->a, options->b, Match::cols, *options);
      job.describe({o.a.get(), o.b.get()}, o.count, how_many(o.count, o.single, "pair", "pairs", *o.a) + " by " + o.b->describe(), o.dtype);
      return with_dtype(o.dtype, [&]<typename T>() { return run<T>(*options, job, o); });
    });
  });
}

}  // namespace myriad::cli
