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

struct SolveOptions : Options {
  std::string a, b;
  bool equilibrate = false;
  bool refine = false;
  bool positive_definite = false;
  bool mixed = false;
};

std::string not_definite(int info) { return fmt::format("not positive definite: the leading minor of order {} is not positive", info); }

/// The factored system of a chunk, or of one A for all; scaled to A' = diag(r) A diag(c) with --equilibrate.
template <typename T>
struct System {
  Batch<T const> a;  ///< A', where it is needed in addition to its factors
  Batch<T const> factors;
  Matrices<T> factor_storage;
  Matrices<int> pivots;
  Matrices<Real<T>> row_scales, col_scales;
  std::vector<int> info;

  /// `a`: the matrices, `work`: a copy of them to be overwritten.
  void factor(Job& job, SolveOptions const& options, Batch<T const> matrices, Matrices<T> const& work) {
    auto const n = [&](std::int64_t b) { return work.sizes().rows_of(b); };
    auto const one = [](std::int64_t) { return std::int64_t{1}; };
    info.assign(static_cast<std::size_t>(work.sizes().count), 0);
    if (options.positive_definite) {
      job.compute(in_out(work.batch()), out(info.data()), [](Queue& q, auto m, int* i) { potrf<T>(q, Uplo::lower, m, i); });
      factors = work.batch();
      return;
    }
    pivots.resize(sizes_like(work.sizes(), n, one));
    if (options.equilibrate) {
      row_scales.resize(pivots.sizes());
      col_scales.resize(pivots.sizes());
      // A zero row or column leaves the scales at one; the factorization then reports the zero pivot.
      job.compute(in_out(work.batch()), out(row_scales.batch()), out(col_scales.batch()), [](Queue& q, auto m, auto r, auto c) {
        geequ<T>(q, m, r, c, nullptr, nullptr, nullptr, nullptr);
        laqge<T>(q, m, r, c);
      });
      if (options.refine) {
        factor_storage.resize(work.sizes());
        std::copy_n(work.data(), work.elements(), factor_storage.data());
      }
    }
    Matrices<T> const& target = options.equilibrate && options.refine ? factor_storage : work;
    a = options.equilibrate ? Batch<T const>(work.batch()) : matrices;
    job.compute(in_out(target.batch()), out(pivots.batch()), out(info.data()),
                [](Queue& q, auto m, auto ipiv, int* i) { getrf<T>(q, m, ipiv, i); });
    factors = target.batch();
  }
};

/// A batch of `count` times the first matrix if `broadcast`, else the batch itself.
template <typename B>
[[nodiscard]] B for_all(B batch, bool broadcast, std::int64_t count) {
  if (broadcast) {
    batch.batch_stride = 0;
    batch.count = count;
  }
  return batch;
}

template <typename T>
int run(SolveOptions const& options, Job& job, Operands& o) {
  bool const vectors = o.b->vectors();
  job.open_results({matrix_field(
                       "x", o.dtype, vectors, [&](std::int64_t m) { return o.a_cols(m); }, [&](std::int64_t m) { return o.b_cols(m); })},
                   {.count = o.count, .single = o.single, .ragged = o.ragged()});

  // One A for all right-hand sides is factored once. `direct`: factors are not stored, since nothing is scaled or refined.
  bool const once = o.a_input.broadcast;
  bool const direct = !once && !options.equilibrate && !options.refine;
  bool const mixed = direct && options.mixed && sizeof(Real<T>) == 8;  // single precision is solved plainly
  bool imaginary_diagonal = false;                                     ///< in an A that is used as Hermitian
  System<T> system;
  Operand<T> only;
  if (once) {
    load<T>({.source = o.a.get(), .work = true}, 0, 1, only);
    if (options.positive_definite) imaginary_diagonal = warn_of_imaginary_diagonal<T>(job, o.a_input, 0, only.view);
    system.factor(job, options, only.view, only.work);
  } else {
    o.a_input.view = direct || options.verify || (options.refine && !options.equilibrate);
    o.a_input.work = !direct || mixed;
  }
  o.b_input.view = direct || options.verify || (options.refine && !options.equilibrate);
  o.b_input.work = !direct;

  Matrices<T> x_storage, used;
  std::vector<int> info;
  auto const bytes = [&](std::int64_t m) {
    std::int64_t const n = o.a_cols(m), k = o.b_cols(m);
    std::int64_t elements = direct || (options.refine && options.equilibrate) ? n * k : 0;
    if (options.equilibrate && options.refine && !once) elements += n * n;
    return elements * static_cast<std::int64_t>(sizeof(T)) + 4 * n;
  };
  std::array<Input, 2> const inputs{o.a_input, o.b_input};
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a, b] = operands;
    info.assign(static_cast<std::size_t>(count), 0);
    Matrices<T>* x = &x_storage;
    if (options.positive_definite && !once) imaginary_diagonal = warn_of_imaginary_diagonal<T>(job, inputs[0], first, a.view);
    if (direct) {
      x_storage.resize(sizes_like(
          sizes_of(b.view.ragged() ? b.view : a.view), [&](std::int64_t m) { return a.view.cols_of(m); },
          [&](std::int64_t m) { return b.view.cols_of(m); }));
      if (mixed)
        job.compute(in_out(a.work.batch()), in(b.view), out(x_storage.batch()), out(info.data()),
                    [definite = options.positive_definite](Queue& q, auto matrices, auto sides, auto solutions, int* i) {
                      definite ? posv_mixed<T>(q, Uplo::lower, matrices, sides, solutions, nullptr, i)
                               : gesv_mixed<T>(q, matrices, {}, sides, solutions, nullptr, i);
                    });
      else
        job.compute(in(a.view), in(b.view), out(x_storage.batch()), out(info.data()),
                    [definite = options.positive_definite](Queue& q, auto matrices, auto sides, auto solutions, int* i) {
                      definite ? solve_positive_definite<T>(q, Uplo::lower, matrices, sides, solutions, i)
                               : solve<T>(q, matrices, sides, solutions, i);
                    });
    } else {
      if (!once) system.factor(job, options, a.view, a.work);
      auto const matrices = for_all(system.a, once, count), factors = for_all(system.factors, once, count);
      auto const pivots = for_all(Batch<int const>(system.pivots.batch()), once, count);
      auto const scales = [&](Matrices<Real<T>> const& of) { return for_all(Batch<Real<T> const>(of.batch()), once, count); };
      auto const scale = [](Queue& q, auto m, auto r) { laqge<T>(q, m, r, {}); };
      if (options.equilibrate) job.compute(in_out(b.work.batch()), in(scales(system.row_scales)), scale);
      Batch<T const> right_hand_sides = b.view;
      x = &b.work;
      if (options.equilibrate && options.refine) {
        x_storage.resize(b.work.sizes());
        std::copy_n(b.work.data(), b.work.elements(), x_storage.data());
        right_hand_sides = b.work.batch();
        x = &x_storage;
      }
      if (options.positive_definite)
        job.compute(in(factors), in_out(x->batch()), [](Queue& q, auto f, auto solutions) { potrs<T>(q, Uplo::lower, f, solutions); });
      else
        job.compute(in(factors), in(pivots), in_out(x->batch()),
                    [](Queue& q, auto f, auto ipiv, auto solutions) { getrs<T>(q, Op::none, f, ipiv, solutions); });
      if (options.refine)
        job.compute(in(matrices), in(factors), in(pivots), in(right_hand_sides), in_out(x->batch()),
                    [](Queue& q, auto m, auto f, auto ipiv, auto sides, auto solutions) {
                      gerfs<T>(q, Op::none, m, f, ipiv, sides, solutions, {}, {});
                    });
      if (options.equilibrate) job.compute(in_out(x->batch()), in(scales(system.col_scales)), scale);
      for (std::int64_t m = 0; m < count; ++m) info[static_cast<std::size_t>(m)] = system.info[static_cast<std::size_t>(once ? 0 : m)];
      spoil_failed(*x, count, info.data());
    }
    Matrices<T> const* const result = x;
    judge<T>(job, first, count, info.data(), {&result, 1}, inputs, options.positive_definite ? not_definite : singular);
    if (options.verify) {
      Batch<T const> matrices = once ? only.view : a.view;
      if (imaginary_diagonal) {  // verify against the Hermitian matrices that were used
        Batch<T const> const given = matrices;
        copy_elements(job, given, used, [&](std::int64_t m, std::int64_t i, std::int64_t j) { return hermitian_element(given, m, i, j); });
        matrices = used.batch();
      }
      Promise const promise = options.refine                       ? Promise::rows
                              : options.positive_definite || mixed ? Promise::norms
                              : options.equilibrate                ? Promise::scaled
                                                                   : Promise::columns;
      verify_solution<T>(job, first, for_all(matrices, once, count), x->batch(), b.view, info.data(), promise);
    }
    void const* const data = x->data();
    job.save(first, count, {&data, 1}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_solve(CLI::App& app, Action& action) {
  auto options = std::make_shared<SolveOptions>();
  CLI::App& command = *app.add_subcommand("solve", "Solve A X = B by LU with partial pivoting, or by Cholesky");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command.add_option("B", options->b, wrapped(right_hand_sides_help))->required()->type_name("FILE");
  add_options(
      command, *options,
      {.verify_help =
           "Report the largest componentwise backward error max |B - A X| / (|A| |X| + |B|) and its matrix. Above rounding it is a "
           "warning, since entries of X that are much smaller than others may be lost; it is a failure if the normwise error is "
           "above rounding too, or with --refine",
       .output_help =
           "File for X: .npy in the shape of B, or .npz with x_0, x_1, ... where the matrices differ in size. Failed ones are NaN"});
  command.add_flag("--equilibrate", options->equilibrate,
                   wrapped("Scale rows and columns to size one first (LAPACK geequb), for badly scaled systems"));
  command.add_flag("--refine", options->refine, wrapped("Improve X by iterative refinement (LAPACK gerfs)"));
  command
      .add_flag(
          "--positive-definite", options->positive_definite,
          wrapped("A is symmetric (Hermitian) positive definite: solve by Cholesky, with half the work. Only the lower triangle of A is "
                  "used; --verify reads all of A, so a matrix that is not symmetric fails"))
      ->excludes("--equilibrate")
      ->excludes("--refine");
  command
      .add_flag(
          "--mixed", options->mixed,
          wrapped("Factor in single precision and refine X in double (LAPACK dsgesv, dsposv); systems that do not converge are solved in "
                  "double. Changes nothing for single precision, nor where one A serves all B"))
      ->excludes("--equilibrate")
      ->excludes("--refine");
  command.callback([options, &action] {
    action = batch("solve", "solved", *options, [options](Job& job) {
      Operands o = open_operands(options->a, options->b, Match::rows, *options);
      for (std::int64_t m = 0; m < (o.a->ragged() ? o.a->count() : 1); ++m)
        if (o.a->rows_of(m) != o.a->cols_of(m))
          throw UsageError(fmt::format("{}: the matrices must be square, {} x {} is not; for least squares there is myriad lstsq",
                                       o.a->file_of(m).empty() ? o.a->name() : o.a->file_of(m), o.a->rows_of(m), o.a->cols_of(m)));
      job.describe({o.a.get(), o.b.get()}, o.count, how_many(o.count, o.single, "system", "systems", *o.a), o.dtype);
      return with_dtype(o.dtype, [&]<typename T>() { return run<T>(*options, job, o); });
    });
  });
}

}  // namespace myriad::cli
