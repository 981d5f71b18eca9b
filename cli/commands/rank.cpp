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

struct RankOptions : Options {
  std::string a;
  double atol = 0, rtol = -1;  ///< a negative rtol is that of matrix_rank
};

/// The error of a singular value decomposition of the matrix, or the change, relative to the largest singular value, of the values nearest
/// to the tolerance that would give the matrix this rank, if that is larger. The decomposition is that of the matrix times 2^exponent.
template <typename T>
Verified rank_error(Batch<T const> const& a, Matrices<T> const& u, Matrices<Real<T>> const& s, Matrices<T> const& vt, std::int64_t b,
                    int exponent, int rank, RankOptions const& options) {
  Verified found = svd_error(a, u, s, vt, b, exponent);
  std::int64_t const m = a.rows_of(b), n = a.cols_of(b), k = std::min(m, n);
  Real<T> const* const values = s.matrix(b);
  if (k == 0 || values[0] == 0) {
    if (rank != 0) found.error = std::numeric_limits<double>::infinity();
    return found;
  }
  double const eps = std::numeric_limits<Real<T>>::epsilon(), largest = static_cast<double>(values[0]);
  double const rtol = options.rtol >= 0 ? options.rtol : options.atol > 0 ? 0 : static_cast<double>(std::max(m, n)) * eps;
  double const tolerance = std::max(std::ldexp(options.atol, exponent), rtol * largest);
  if (rank > 0) keep_larger(found.error, (tolerance - static_cast<double>(values[rank - 1])) / largest);
  if (rank < k) keep_larger(found.error, (static_cast<double>(values[rank]) - tolerance) / largest);
  return found;
}

/// Multiplies a matrix by the power of two that makes its largest element about 1, so that its singular values do not overflow. Returns the
/// exponent.
template <typename T>
int scale_to_one(T* data, std::int64_t elements) {
  Real<T> largest = 0;
  for (std::int64_t k = 0; k < elements; ++k) {
    if constexpr (is_complex<T>)
      largest = std::max({largest, std::abs(data[k].real()), std::abs(data[k].imag())});
    else
      largest = std::max(largest, std::abs(data[k]));
  }
  if (!std::isfinite(largest)) return 0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  for (std::int64_t k = 0; k < elements; ++k) data[k] = scaled(data[k], -exponent);
  return -exponent;
}

template <typename T>
int run(RankOptions const& options, Job& job, io::Source const& source) {
  using R = Real<T>;
  std::int64_t const total = source.count();
  auto const rows = [&](std::int64_t m) { return source.rows_of(m); };
  auto const cols = [&](std::int64_t m) { return source.cols_of(m); };
  auto const values = [&](std::int64_t m) { return std::min(rows(m), cols(m)); };
  job.open_results({{"rank", "<i4", sizeof(int), [](std::int64_t) { return io::Shape{}; }}}, {.count = total, .single = source.single()});
  Matrices<T> u, vt;
  Matrices<R> s;
  std::vector<int> rank, info, exponents;
  std::array<Input, 1> const inputs{Input{.source = &source, .view = true, .work = options.verify}};
  auto const bytes = [&](std::int64_t m) {
    return options.verify ? (rows(m) + cols(m)) * values(m) * static_cast<std::int64_t>(sizeof(T)) : std::int64_t{8};
  };
  // The default of rtol is decided here, since a tiny atol is 0 as float.
  auto const atol = static_cast<R>(options.atol), rtol = options.atol > 0 && options.rtol < 0 ? R(0) : static_cast<R>(options.rtol);
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a] = operands;
    info.assign(static_cast<std::size_t>(count), 0);
    rank.assign(static_cast<std::size_t>(count), 0);
    job.compute(in(a.view), out(rank.data()), out(info.data()),
                [atol, rtol](Queue& q, auto matrices, int* r, int* i) { matrix_rank<T>(q, matrices, atol, rtol, r, i); });
    judge<T>(job, first, count, info.data(), {}, inputs, [](int) { return std::string("the iteration did not converge"); });
    for (std::int64_t m = 0; m < count; ++m)
      if (info[static_cast<std::size_t>(m)] != 0) rank[static_cast<std::size_t>(m)] = -1;
    if (options.verify) {
      FactorSizes const sizes(a.work.sizes());
      s.resize(sizes.vector);
      u.resize(sizes.left);
      vt.resize(sizes.right);
      exponents.resize(static_cast<std::size_t>(count));
      for_each_matrix(job.queue(), count, [&](std::int64_t b) {
        exponents[static_cast<std::size_t>(b)] = scale_to_one(a.work.matrix(b), a.work.elements_of(b));
      });
      gesvd<T>(job.queue(), SvdJob::thin, a.work.batch(), s.batch(), u.batch(), vt.batch(), nullptr);
      verify_each(job, first, count, info.data(), [&](std::int64_t b) {
        auto const k = static_cast<std::size_t>(b);
        return rank_error<T>(a.view, u, s, vt, b, exponents[k], rank[k], options);
      });
    }
    void const* const data = rank.data();
    job.save(first, count, {&data, 1}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_rank(CLI::App& app, Action& action) {
  auto options = std::make_shared<RankOptions>();
  CLI::App& command = *app.add_subcommand("rank", "Ranks: the number of singular values above a tolerance");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command
      .add_option("--rtol", options->rtol,
                  wrapped("Tolerance relative to the largest singular value. Default: max(rows, columns) times the machine epsilon, as "
                          "numpy.linalg.matrix_rank, or 0 with --atol"))
      ->type_name("R")
      ->check(non_negative_number().description(""));
  command.add_option("--atol", options->atol, wrapped("Absolute tolerance; the larger of both counts. Default: 0"))
      ->type_name("R")
      ->check(non_negative_number().description(""));
  add_options(
      command, *options,
      {.verify_help = "Report the largest error and its matrix: that of a singular value decomposition, as for svd, or the relative "
                      "change of singular values that would give the matrix this rank",
       .output_help = "File for the ranks: .npy of int32 and shape (batch), or () for a single matrix. Failed ones are -1"});
  command.callback([options, &action] {
    action = batch("rank", "computed ranks of", *options, [options](Job& job) {
      auto const source = open_matrices(options->a, false, *options);
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "matrix", "matrices", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return run<T>(*options, job, *source); });
    });
  });
}

}  // namespace myriad::cli
