#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "check_results.hpp"
#include "check_svd.hpp"
#include "command.hpp"
#include "commands/operands.hpp"
#include "core/dtype.hpp"
#include "myriad/myriad.hpp"
#include "stream.hpp"

namespace myriad::cli {
namespace {

struct SvdOptions : Options {
  std::string a;
  bool values = false;  ///< singular values only
  bool full = false;    ///< all columns of U and rows of V^H
  bool relative = false;

  [[nodiscard]] SvdJob what() const { return values ? SvdJob::values : full ? SvdJob::full : SvdJob::thin; }
};

template <typename T>
int run(SvdOptions const& options, Job& job, io::Source const& source) {
  using R = Real<T>;
  SvdJob const what = options.what();
  auto* const decompose = options.relative ? &gejsv<T> : &gesvd<T>;
  auto const rows = [&](std::int64_t m) { return source.rows_of(m); };
  auto const cols = [&](std::int64_t m) { return source.cols_of(m); };
  auto const values = [&](std::int64_t m) { return std::min(rows(m), cols(m)); };
  auto const of_u = [&](std::int64_t m) { return options.full ? rows(m) : values(m); };
  auto const of_vt = [&](std::int64_t m) { return options.full ? cols(m) : values(m); };
  auto const one = [](std::int64_t) { return std::int64_t{1}; };
  std::vector<io::Field> fields{matrix_field("s", dtype_of<R>, true, values, one)};
  if (!options.values) {
    fields.push_back(matrix_field("u", dtype_of<T>, false, rows, of_u));
    fields.push_back(matrix_field("vt", dtype_of<T>, false, of_vt, cols));
  }
  job.open_results(fields, {.count = source.count(), .single = source.single(), .ragged = source.ragged()});
  Matrices<R> s;
  Matrices<T> u, vt;
  std::vector<int> info;
  std::array<Input, 1> const inputs{Input{.source = &source, .view = options.verify, .work = true}};
  auto const bytes = [&](std::int64_t m) {
    std::int64_t const elements = options.values ? 0 : rows(m) * of_u(m) + of_vt(m) * cols(m);
    return values(m) * static_cast<std::int64_t>(sizeof(R)) + elements * static_cast<std::int64_t>(sizeof(T)) + 4;
  };
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a] = operands;
    FactorSizes const sizes(a.work.sizes(), options.full);
    info.assign(static_cast<std::size_t>(count), 0);
    s.resize(sizes.vector);
    StreamOperand<Batch<T>> const matrices_in{a.work.batch(), StreamUse::in};  // overwritten, but not copied back from a GPU
    if (options.values) {
      job.compute(matrices_in, out(s.batch()), out(info.data()),
                  [=](Queue& q, auto matrices, auto of_s, int* i) { decompose(q, SvdJob::values, matrices, of_s, {}, {}, i); });
    } else {
      u.resize(sizes.left);
      vt.resize(sizes.right);
      job.compute(
          matrices_in, out(s.batch()), out(u.batch()), out(vt.batch()), out(info.data()),
          [=](Queue& q, auto matrices, auto of_s, auto left, auto right, int* i) { decompose(q, what, matrices, of_s, left, right, i); });
    }
    for (std::int64_t b = 0; b < count; ++b)
      if (info[static_cast<std::size_t>(b)] == 0 && !all_finite(s.matrix(b), s.elements_of(b))) info[static_cast<std::size_t>(b)] = -1;
    spoil_failed(s, count, info.data());
    if (!options.values) {
      spoil_failed(u, count, info.data());
      spoil_failed(vt, count, info.data());
    }
    std::array<Matrices<T> const*, 2> const vectors{&u, &vt};
    judge<T>(
        job, first, count, info.data(), {vectors.data(), options.values ? 0U : 2U}, inputs,
        [](int) { return std::string("the iteration did not converge"); }, "the result is not finite: overflow");
    if (options.verify) verify_each(job, first, count, info.data(), [&](std::int64_t b) { return svd_error(a.view, u, s, vt, b); });
    std::array<void const*, 3> const data{s.data(), u.data(), vt.data()};
    job.save(first, count, {data.data(), fields.size()}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_svd(CLI::App& app, Action& action) {
  auto options = std::make_shared<SvdOptions>();
  CLI::App& command = *app.add_subcommand("svd", "Singular value decomposition: A = U diag(s) V^H");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command.add_flag("--values", options->values, "Compute singular values alone");
  command.add_flag("--relative", options->relative,
                   wrapped("Compute values with high relative accuracy where rows or columns differ in size, by one-sided Jacobi (gejsv)"));
  command.add_flag("--full", options->full, "Compute all columns of U and all rows of V^H, not the first min(m, n)");
  add_options(command, *options,
              {.verify_help = "Report the largest normwise error and its matrix: the largest of |A - U diag(s) V^H| / |A|, |I - U^H U| and "
                              "|I - V^H V| (1-norms)",
               .output_help = "File for the results: .npz with s (descending), u (vectors in columns) and vt (in rows), or with s_0, u_0, "
                              "vt_0, s_1, ... where the matrices differ in size; with --values also .npy. Failed ones are NaN"});
  command.callback([options, &action] {
    if (options->values && options->verify) throw UsageError("--verify needs the vectors, which --values leaves out");
    if (options->values && options->full) throw UsageError("--full asks for the vectors, which --values leaves out");
    action = batch("svd", "decomposed", *options, [options](Job& job) {
      auto const source = open_matrices(options->a, false, *options);
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "matrix", "matrices", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return run<T>(*options, job, *source); });
    });
  });
}

}  // namespace myriad::cli
