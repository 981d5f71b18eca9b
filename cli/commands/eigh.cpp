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

struct EighOptions : Options {
  std::string a;
  std::string uplo = "lower";
  bool values = false;  ///< eigenvalues only

  [[nodiscard]] Uplo triangle() const {
    if (uplo == "lower") return Uplo::lower;
    if (uplo == "upper") return Uplo::upper;
    throw UsageError(fmt::format("--uplo: '{}' is neither lower nor upper", uplo));
  }
};

/// The larger of norm1(A - V diag(w) V^H) / norm1(A), with A completed from its triangle, and norm1(I - V^H V).
template <typename T>
Verified eigen_error(Batch<T const> const& a, Uplo uplo, Matrices<T> const& vectors, Matrices<Real<T>> const& values, std::int64_t b) {
  std::int64_t const n = a.rows_of(b);
  T const* const v = vectors.matrix(b);
  Real<T> const* const w = values.matrix(b);
  auto const adjoint = [&](std::int64_t i, std::int64_t j) { return conjugate(v[j * n + i]); };
  double worst = product_error<T>(
      n, n, n,
      [&](std::int64_t i, std::int64_t j) {
        if (i == j) return hermitian_element(a, b, i, i);
        return (i > j) == (uplo == Uplo::lower) ? element(a, b, i, j) : conjugate(element(a, b, j, i));
      },
      [&](std::int64_t i, std::int64_t k) { return Wide<T>(v[i * n + k]) * Wide<T>(w[k]); }, adjoint);
  keep_larger(worst, product_error<T>(
                         n, n, n, [](std::int64_t i, std::int64_t j) { return T(i == j ? 1 : 0); }, adjoint,
                         [&](std::int64_t k, std::int64_t j) { return v[k * n + j]; }));
  return {.error = worst, .bound = rounding_bound<T>(n)};
}

template <typename T>
int run(EighOptions const& options, Job& job, io::Source const& source) {
  using R = Real<T>;
  Uplo const uplo = options.triangle();
  myriad::Job const what = options.values ? myriad::Job::values : myriad::Job::vectors;
  auto const n = [&](std::int64_t m) { return source.rows_of(m); };
  auto const one = [](std::int64_t) { return std::int64_t{1}; };
  std::vector<io::Field> fields{matrix_field("w", dtype_of<R>, true, n, one)};
  if (!options.values) fields.push_back(matrix_field("v", dtype_of<T>, false, n, n));
  job.open_results(fields, {.count = source.count(), .single = source.single(), .ragged = source.ragged()});
  Matrices<R> w;
  std::vector<int> info;
  std::array<Input, 1> const inputs{Input{.source = &source, .view = options.verify, .work = true}};
  auto const bytes = [&](std::int64_t m) { return n(m) * static_cast<std::int64_t>(sizeof(R)) + 4; };
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a] = operands;
    Matrices<T>& v = a.work;
    info.assign(static_cast<std::size_t>(count), 0);
    w.resize(sizes_like(
        v.sizes(), [&](std::int64_t m) { return n(first + m); }, one));
    // Without vectors A is not copied back from a GPU.
    StreamOperand<Batch<T>> const matrices_and_vectors{v.batch(), options.values ? StreamUse::in : StreamUse::in_out};
    warn_of_imaginary_diagonal<T>(job, inputs[0], first, v.batch());
    job.compute(matrices_and_vectors, out(w.batch()), out(info.data()),
                [=](Queue& q, auto matrices, auto values, int* i) { syevd<T>(q, what, uplo, matrices, values, i); });
    for (std::int64_t b = 0; b < count; ++b)
      if (info[static_cast<std::size_t>(b)] == 0 && !all_finite(w.matrix(b), w.elements_of(b))) info[static_cast<std::size_t>(b)] = -1;
    spoil_failed(w, count, info.data());
    if (!options.values) spoil_failed(v, count, info.data());
    Matrices<T> const* const vectors = &v;
    judge<T>(
        job, first, count, info.data(), {&vectors, options.values ? 0U : 1U}, inputs,
        [](int) { return std::string("the iteration did not converge"); }, "the result is not finite: overflow");
    if (options.verify) verify_each(job, first, count, info.data(), [&](std::int64_t b) { return eigen_error(a.view, uplo, v, w, b); });
    std::array<void const*, 2> const data{w.data(), v.data()};
    job.save(first, count, {data.data(), fields.size()}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_eigh(CLI::App& app, Action& action) {
  auto options = std::make_shared<EighOptions>();
  CLI::App& command = *app.add_subcommand("eigh", "Eigenvalues and eigenvectors of symmetric (Hermitian) matrices: A V = V diag(w)");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command.add_option("--uplo", options->uplo, "The triangle of A that is read: lower (default) or upper")->type_name("TEXT");
  command.add_flag("--values", options->values, "Compute eigenvalues alone");
  add_options(command, *options,
              {.verify_help = "Report the largest normwise error and its matrix: the larger of |A - V diag(w) V^H| / |A| and |I - V^H V| "
                              "(1-norms)",
               .output_help = "File for the results: .npz with w (ascending) and v (in columns), or with w_0, v_0, w_1, ... where the "
                              "matrices differ in size; with --values also .npy. Failed ones are NaN"});
  command.callback([options, &action] {
    (void)options->triangle();
    if (options->values && options->verify) throw UsageError("--verify needs the vectors, which --values leaves out");
    action = batch("eigh", "solved", *options, [options](Job& job) {
      auto const source = open_matrices(options->a, true, *options);
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "eigenproblem", "eigenproblems", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return run<T>(*options, job, *source); });
    });
  });
}

}  // namespace myriad::cli
