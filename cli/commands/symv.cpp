#include <algorithm>
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

struct SymvOptions : Options {
  std::string a, x;
  std::string uplo = "lower";
  bool hermitian = false;

  [[nodiscard]] Uplo triangle() const { return uplo == "lower" ? Uplo::lower : Uplo::upper; }
};

/// A with both triangles.
template <typename T>
void complete(Job& job, SymvOptions const& options, Batch<T const> a, Matrices<T>& whole) {
  bool const lower = options.triangle() == Uplo::lower;
  copy_elements(job, a, whole, [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    bool const stored = lower ? i >= j : i <= j;
    if (!options.hermitian) return stored ? element(a, b, i, j) : element(a, b, j, i);
    T const value = stored ? hermitian_element(a, b, i, j) : hermitian_element(a, b, j, i);
    if constexpr (is_complex<T>)
      if (!stored) return std::conj(value);
    return value;
  });
}

template <typename T>
int run(SymvOptions const& options, Job& job, Operands& o) {
  auto const rows = [&](std::int64_t m) { return o.a_rows(m); };
  auto const one = [](std::int64_t) { return std::int64_t{1}; };
  job.open_results({matrix_field("y", o.dtype, o.b->vectors(), rows, one)}, {.count = o.count, .single = o.single, .ragged = o.ragged()});

  Matrices<T> y, whole;
  std::vector<int> info;
  bool const one_matrix = o.a_input.broadcast;
  auto const bytes = [&](std::int64_t m) {
    std::int64_t const completed = options.verify && !one_matrix ? rows(m) : 0;
    return rows(m) * (1 + completed) * static_cast<std::int64_t>(sizeof(T));
  };
  std::array<Input, 2> inputs{o.a_input, o.b_input};
  inputs[0].uses = options.triangle() == Uplo::lower ? [](std::int64_t i, std::int64_t j) { return i >= j; }
                                                     : [](std::int64_t i, std::int64_t j) { return i <= j; };
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a, x] = operands;
    info.assign(static_cast<std::size_t>(count), 0);
    y.resize(sizes_like(
        sizes_of(x.view.ragged() ? x.view : a.view), [&](std::int64_t m) { return a.view.rows_of(m); }, one));
    if (options.hermitian) warn_of_imaginary_diagonal<T>(job, inputs[0], first, a.view);
    job.compute(in(a.view), in(x.view), out(y.batch()), [&](Queue& q, auto matrices, auto vectors, auto products) {
      if (options.hermitian)
        hemv<T>(q, options.triangle(), T(1), matrices, vectors, T(0), products);
      else
        symv<T>(q, options.triangle(), T(1), matrices, vectors, T(0), products);
    });
    Matrices<T> const* const result = &y;
    judge<T>(job, first, count, info.data(), {&result, 1}, inputs, {}, "the product is not finite: overflow");
    if (options.verify) {
      Batch<T const> triangles = a.view;
      if (one_matrix) triangles.count = std::min<std::int64_t>(count, 1);
      complete<T>(job, options, triangles, whole);
      Batch<T const> matrices = whole.batch();
      if (one_matrix) {
        matrices.count = count;
        matrices.batch_stride = 0;
      }
      verify_solution<T>(job, first, matrices, x.view, Batch<T const>(y.batch()), info.data(), Promise::rows);
    }
    void const* const data = y.data();
    job.save(first, count, {&data, 1}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_symv(CLI::App& app, Action& action) {
  auto options = std::make_shared<SymvOptions>();
  CLI::App& command = *app.add_subcommand("symv", "y = A x with a symmetric or Hermitian A, of which one triangle is read");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command
      .add_option(
          "x", options->x,
          wrapped("A vector per matrix: (n), (n, 1), (batch, n) or (batch, n, 1). One matrix or vector serves a whole batch of the other"))
      ->required()
      ->type_name("FILE");
  command.add_option("--uplo", options->uplo, wrapped("The triangle of A that is read; the other may hold anything"))
      ->check(CLI::IsMember({"lower", "upper"}))
      ->type_name("TRIANGLE")
      ->capture_default_str();
  command.add_flag("--hermitian", options->hermitian, wrapped("Elements across the diagonal are conjugates (BLAS hemv)"));
  add_options(command, *options,
              {.verify_help = "Report the largest componentwise error max |y - A x| / (|A| |x| + |y|) and its matrix",
               .output_help = "File for y: .npy, or .npz with y_0, y_1, ... where the matrices differ in size"});
  command.callback([options, &action] {
    action = batch("symv", "multiplied", *options, [options](Job& job) {
      Operands o = open_operands(options->a, options->x, Match::vectors, *options);
      job.describe({o.a.get(), o.b.get()}, o.count, how_many(o.count, o.single, "pair", "pairs", *o.a) + " by " + o.b->describe(), o.dtype);
      return with_dtype(o.dtype, [&]<typename T>() { return run<T>(*options, job, o); });
    });
  });
}

}  // namespace myriad::cli
