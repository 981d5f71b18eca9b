#include <fmt/format.h>

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

struct InverseOptions : Options {
  std::string a;
  bool equilibrate = false;
};

template <typename T>
int run(InverseOptions const& options, Job& job, io::Source const& source) {
  std::int64_t const total = source.count();
  auto const n = [&](std::int64_t m) { return source.rows_of(m); };
  auto const one = [](std::int64_t) { return std::int64_t{1}; };
  job.open_results({matrix_field("x", source.dtype(), false, n, n)},
                   {.count = total, .single = source.single(), .ragged = source.ragged()});

  Matrices<T> storage, identity;
  Matrices<Real<T>> row_scales, col_scales;
  std::vector<int> info;
  std::array<Input, 1> const inputs{Input{.source = &source, .view = !options.equilibrate || options.verify, .work = options.equilibrate}};
  auto const bytes = [&](std::int64_t m) {
    return n(m) * n(m) * static_cast<std::int64_t>(sizeof(T)) * ((options.equilibrate ? 0 : 1) + (options.verify ? 1 : 0));
  };
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a] = operands;
    Queue& queue = job.queue();
    info.assign(static_cast<std::size_t>(count), 0);
    Matrices<T>* x = &storage;
    if (options.equilibrate) {
      x = &a.work;
      row_scales.resize(sizes_like(
          x->sizes(), [&](std::int64_t m) { return x->sizes().rows_of(m); }, one));
      col_scales.resize(row_scales.sizes());
      job.compute(in_out(x->batch()), out(row_scales.batch()), out(col_scales.batch()), out(info.data()),
                  [](Queue& q, auto matrices, auto r, auto c, int* i) {
                    // (R A C)^-1 = C^-1 A^-1 R^-1, so A^-1 = C (R A C)^-1 R.
                    geequ<T>(q, matrices, r, c, nullptr, nullptr, nullptr, nullptr);
                    laqge<T>(q, matrices, r, c);
                    inverse<T>(q, matrices, matrices, i);
                    laqge<T>(q, matrices, c, r);
                  });
    } else {
      storage.resize(sizes_of(a.view));
      job.compute(in(a.view), out(storage.batch()), out(info.data()),
                  [](Queue& q, auto matrices, auto inverses, int* i) { inverse<T>(q, matrices, inverses, i); });
    }
    Matrices<T> const* const result = x;
    judge<T>(job, first, count, info.data(), {&result, 1}, inputs, singular);
    if (options.verify) {
      identity.resize(x->sizes());
      for_each_matrix(queue, count, [&](std::int64_t m) {
        T* const e = identity.matrix(m);
        std::int64_t const size = identity.sizes().rows_of(m);
        std::fill_n(e, size * size, T(0));
        for (std::int64_t i = 0; i < size; ++i) e[i * size + i] = T(1);
      });
      verify_solution<T>(job, first, a.view, x->batch(), identity.batch(), info.data(), Promise::whole);
    }
    void const* const data = x->data();
    job.save(first, count, {&data, 1}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_inverse(CLI::App& app, Action& action) {
  auto options = std::make_shared<InverseOptions>();
  CLI::App& command = *app.add_subcommand("inverse", "X = A^-1 by LU with partial pivoting");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  add_options(
      command, *options,
      {.verify_help =
           "Report the largest componentwise backward error of A X = I, max |I - A X| / (|A| |X| + I), and its matrix. Above rounding it "
           "is a warning, since entries of X that are much smaller than others may be lost; it is a failure if the normwise error is "
           "above rounding too",
       .output_help =
           "File for X: .npy in the shape of A, or .npz with x_0, x_1, ... where the matrices differ in size. Failed ones are NaN"});
  command.add_flag("--equilibrate", options->equilibrate,
                   wrapped("Scale rows and columns to size one first (LAPACK geequb), for badly scaled matrices"));
  command.callback([options, &action] {
    action = batch("inverse", "inverted", *options, [options](Job& job) {
      auto const source = open_matrices(options->a, true, *options);
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "matrix", "matrices", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return run<T>(*options, job, *source); });
    });
  });
}

}  // namespace myriad::cli
