#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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

struct PinvOptions : Options {
  std::string a;
  double rcond = -1;  ///< negative: max(m, n) eps
};

/// The largest error of the four equations of Penrose, relative to condition = 1 + normF(A) normF(X): normF(A X A - A) / normF(A), beyond
/// the singular values up to the cutoff; normF(X A X - X) / normF(X); normF(A X - (A X)^H); normF(X A - (X A)^H).
template <typename T>
Verified pinv_error(Batch<T const> const& a, Matrices<T> const& inverses, std::int64_t b, double rcond) {
  using W = Wide<T>;
  using R = Real<W>;
  std::int64_t const m = a.rows_of(b), n = a.cols_of(b);
  auto const of_a = [&](std::int64_t i, std::int64_t j) { return W(element(a, b, i, j)); };
  auto const of_x = [&](std::int64_t i, std::int64_t j) { return W(inverses.matrix(b)[i * m + j]); };
  auto const product = [](std::int64_t rows, std::int64_t inner, std::int64_t cols, auto const& left, auto const& right) {
    std::vector<W> out(static_cast<std::size_t>(rows * cols), W(0));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = 0; k < inner; ++k) {
        W const factor = left(i, k);
        for (std::int64_t j = 0; j < cols; ++j) out[static_cast<std::size_t>(i * cols + j)] += factor * right(k, j);
      }
    return [out, cols](std::int64_t i, std::int64_t j) { return out[static_cast<std::size_t>(i * cols + j)]; };
  };
  auto const ax = product(m, n, m, of_a, of_x), xa = product(n, m, n, of_x, of_a);
  auto const axa = product(m, m, n, ax, of_a), xax = product(n, n, m, xa, of_x);
  R const norm_a = frobenius_norm<T>(m, n, of_a), norm_x = frobenius_norm<T>(n, m, of_x), condition = 1 + norm_a * norm_x;
  auto const relative = [&](R error, R norm) { return error == 0 ? 0.0 : static_cast<double>(error / norm / condition); };
  auto const size = static_cast<double>(std::max(m, n)), k = static_cast<double>(std::min(m, n));
  double const cutoff = rcond < 0 ? size * static_cast<double>(std::numeric_limits<Real<T>>::epsilon()) : rcond;
  R dropped =
      frobenius_norm<T>(m, n, [&](auto i, auto j) { return axa(i, j) - of_a(i, j); }) - static_cast<R>(cutoff * std::sqrt(k)) * norm_a;
  if (dropped < 0) dropped = 0;  // NaN stays
  double worst = relative(dropped, norm_a);
  keep_larger(worst, relative(frobenius_norm<T>(n, m, [&](auto i, auto j) { return xax(i, j) - of_x(i, j); }), norm_x));
  keep_larger(worst, relative(frobenius_norm<T>(m, m, [&](auto i, auto j) { return ax(i, j) - conjugate(ax(j, i)); }), 1));
  keep_larger(worst, relative(frobenius_norm<T>(n, n, [&](auto i, auto j) { return xa(i, j) - conjugate(xa(j, i)); }), 1));
  return {.error = worst, .bound = rounding_bound<T>(std::max(m, n))};
}

template <typename T>
int run(PinvOptions const& options, Job& job, io::Source const& source) {
  std::int64_t const total = source.count();
  auto const m = [&](std::int64_t b) { return source.rows_of(b); };
  auto const n = [&](std::int64_t b) { return source.cols_of(b); };
  job.open_results({matrix_field("x", source.dtype(), false, n, m)},
                   {.count = total, .single = source.single(), .ragged = source.ragged()});
  Matrices<T> x;
  std::vector<int> info;
  std::array<Input, 1> const inputs{Input{.source = &source}};
  auto const bytes = [&](std::int64_t b) { return m(b) * n(b) * static_cast<std::int64_t>(sizeof(T)); };
  auto const rcond = static_cast<Real<T>>(options.rcond);
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a] = operands;
    info.assign(static_cast<std::size_t>(count), 0);
    x.resize(sizes_like(
        sizes_of(a.view), [&](std::int64_t b) { return n(first + b); }, [&](std::int64_t b) { return m(first + b); }));
    job.compute(in(a.view), out(x.batch()), out(info.data()),
                [rcond](Queue& q, auto matrices, auto inverses, int* i) { pinv<T>(q, matrices, rcond, inverses, nullptr, i); });
    spoil_failed(x, count, info.data());
    Matrices<T> const* const result = &x;
    judge<T>(
        job, first, count, info.data(), {&result, 1}, inputs, [](int) { return std::string("the iteration did not converge"); },
        "the result is not finite: overflow");
    if (options.verify)
      verify_each(job, first, count, info.data(), [&](std::int64_t b) { return pinv_error(a.view, x, b, options.rcond); });
    void const* const data = x.data();
    job.save(first, count, {&data, 1}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_pinv(CLI::App& app, Action& action) {
  auto options = std::make_shared<PinvOptions>();
  CLI::App& command = *app.add_subcommand("pinv", "Pseudoinverse (Moore-Penrose) by singular values, for matrices of any shape and rank");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command
      .add_option("--rcond", options->rcond,
                  wrapped("Singular values up to R times the largest one count as zero. Default: max(rows, columns) times the machine "
                          "epsilon, as torch.linalg.pinv"))
      ->type_name("R")
      ->check(non_negative_number().description(""));
  add_options(command, *options,
              {.verify_help = "Report the largest error of Penrose's equations and its matrix, relative to 1 + |A| |X|: |A X A - A| / |A| "
                              "beyond the cutoff, |X A X - X| / |X|, |A X - (A X)^H| and |X A - (X A)^H| (Frobenius norms)",
               .output_help = "File for X: .npy, or .npz with x_0, x_1, ... where the matrices differ in size. Failed ones are NaN"});
  command.callback([options, &action] {
    action = batch("pinv", "inverted", *options, [options](Job& job) {
      auto const source = open_matrices(options->a, false, *options);
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "matrix", "matrices", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return run<T>(*options, job, *source); });
    });
  });
}

}  // namespace myriad::cli
