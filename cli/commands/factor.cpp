/// The factorizations: lu, cholesky, qr.

#include <fmt/format.h>

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

struct FactorOptions : Options {
  std::string a;
};

io::Layout layout_of(io::Source const& source) { return {.count = source.count(), .single = source.single(), .ragged = source.ragged()}; }

template <typename T>
struct Lu {
  static constexpr bool square = false;

  static int run(FactorOptions const& options, Job& job, io::Source const& source) {
    auto const rows = [&](std::int64_t m) { return source.rows_of(m); };
    auto const cols = [&](std::int64_t m) { return source.cols_of(m); };
    auto const steps = [&](std::int64_t m) { return std::min(source.rows_of(m), source.cols_of(m)); };
    job.open_results({matrix_field("lu", source.dtype(), false, rows, cols),
                      {"pivots", io::descr_of<std::int32_t>(), sizeof(int), [&](std::int64_t m) { return io::Shape{steps(m)}; }}},
                     layout_of(source));
    Matrices<int> pivots;
    std::vector<int> info;
    std::array<Input, 1> const inputs{Input{.source = &source, .view = options.verify, .work = true}};
    auto const bytes = [&](std::int64_t m) { return steps(m) * 4; };
    stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
      auto& [a] = operands;
      Matrices<T>& lu = a.work;
      info.assign(static_cast<std::size_t>(count), 0);
      pivots.resize(FactorSizes(lu.sizes()).vector);
      job.compute(in_out(lu.batch()), out(pivots.batch()), out(info.data()),
                  [](Queue& q, auto matrices, auto ipiv, int* i) { getrf<T>(q, matrices, ipiv, i); });
      Matrices<T> const* const result = &lu;
      judge<T>(job, first, count, info.data(), {&result, 1}, inputs,
               [](int i) { return fmt::format("singular: U({0}, {0}), counted from 1, is exactly zero; the factors are complete", i); });
      if (options.verify) verify_lu(job, first, count, a.view, lu, pivots, info.data());
      std::array<void const*, 2> const data{lu.data(), pivots.data()};
      job.save(first, count, data, info.data());
    });
    return job.finish();
  }

  static void verify_lu(Job& job, std::int64_t first, std::int64_t count, Batch<T const> a, Matrices<T> const& lu,
                        Matrices<int> const& pivots, int const* info) {
    verify_each(job, first, count, info, [&](std::int64_t b) {
      std::int64_t const m = a.rows_of(b), n = a.cols_of(b), steps = std::min(m, n);
      std::vector<std::int64_t> row(static_cast<std::size_t>(m));
      for (std::int64_t i = 0; i < m; ++i) row[static_cast<std::size_t>(i)] = i;
      for (std::int64_t i = 0; i < steps; ++i)
        std::swap(row[static_cast<std::size_t>(i)], row[static_cast<std::size_t>(pivots.matrix(b)[i] - 1)]);
      T const* const f = lu.matrix(b);
      double const error = product_error<T>(
          m, n, steps, [&](std::int64_t i, std::int64_t j) { return element(a, b, row[static_cast<std::size_t>(i)], j); },
          [&](std::int64_t i, std::int64_t k) { return i > k ? f[i * n + k] : T(i == k ? 1 : 0); },
          [&](std::int64_t k, std::int64_t j) { return k <= j ? f[k * n + j] : T(0); });
      return Verified{.error = error, .bound = rounding_bound<T>(steps)};
    });
  }
};

template <typename T>
struct Cholesky {
  static constexpr bool square = true;

  static int run(FactorOptions const& options, Job& job, io::Source const& source) {
    auto const n = [&](std::int64_t m) { return source.rows_of(m); };
    job.open_results({matrix_field("l", source.dtype(), false, n, n)}, layout_of(source));
    std::vector<int> info;
    std::array<Input, 1> const inputs{Input{.source = &source, .view = options.verify, .work = true}};
    stream<T>(
        job, inputs, [](std::int64_t) { return std::int64_t{4}; },
        [&](std::int64_t first, std::int64_t count, auto& operands) {
          auto& [a] = operands;
          Matrices<T>& l = a.work;
          info.assign(static_cast<std::size_t>(count), 0);
          warn_of_imaginary_diagonal<T>(job, inputs[0], first, l.batch());
          job.compute(in_out(l.batch()), out(info.data()), [](Queue& q, auto matrices, int* i) { potrf<T>(q, Uplo::lower, matrices, i); });
          for_each_matrix(job.queue(), count, [&](std::int64_t m) {
            std::int64_t const size = l.sizes().rows_of(m);
            for (std::int64_t i = 0; i < size; ++i) std::fill_n(l.matrix(m) + i * size + i + 1, size - i - 1, T(0));
          });
          spoil_failed(l, count, info.data());
          Matrices<T> const* const result = &l;
          judge<T>(job, first, count, info.data(), {&result, 1}, inputs,
                   [](int i) { return fmt::format("not positive definite: the leading minor of order {} is not positive", i); });
          if (options.verify) {
            auto const& matrices = a.view;
            verify_each(job, first, count, info.data(), [&](std::int64_t b) {
              std::int64_t const size = l.sizes().rows_of(b);
              T const* const f = l.matrix(b);
              double const error = product_error<T>(
                  size, size, size, [&](std::int64_t i, std::int64_t j) { return hermitian_element(matrices, b, i, j); },
                  [&](std::int64_t i, std::int64_t k) { return f[i * size + k]; },
                  [&](std::int64_t k, std::int64_t j) {
                    if constexpr (is_complex<T>)
                      return std::conj(f[j * size + k]);
                    else
                      return f[j * size + k];
                  });
              return Verified{.error = error, .bound = rounding_bound<T>(size)};
            });
          }
          void const* const data = l.data();
          job.save(first, count, {&data, 1}, info.data());
        });
    return job.finish();
  }
};

template <typename T>
struct Qr {
  static constexpr bool square = false;

  static int run(FactorOptions const& options, Job& job, io::Source const& source) {
    auto const rows = [&](std::int64_t m) { return source.rows_of(m); };
    auto const cols = [&](std::int64_t m) { return source.cols_of(m); };
    auto const steps = [&](std::int64_t m) { return std::min(source.rows_of(m), source.cols_of(m)); };
    job.open_results({matrix_field("q", source.dtype(), false, rows, steps), matrix_field("r", source.dtype(), false, steps, cols)},
                     layout_of(source));
    Matrices<T> q, r, tau;
    std::vector<int> info;
    std::array<Input, 1> const inputs{Input{.source = &source, .view = options.verify, .work = true}};
    auto const bytes = [&](std::int64_t m) { return steps(m) * (rows(m) + cols(m) + 1) * static_cast<std::int64_t>(sizeof(T)); };
    stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
      auto& [a] = operands;
      Matrices<T>& factors = a.work;
      Queue& queue = job.queue();
      info.assign(static_cast<std::size_t>(count), 0);
      auto const k = [&](std::int64_t m) { return steps(first + m); };
      FactorSizes const sizes(factors.sizes());
      tau.resize(sizes.vector);
      q.resize(sizes.left);
      r.resize(sizes.right);
      job.compute(in_out(factors.batch()), out(tau.batch()), [](Queue& q, auto matrices, auto t) { geqrf<T>(q, matrices, t); });
      for_each_matrix(queue, count, [&](std::int64_t b) {
        std::int64_t const m = rows(first + b), n = cols(first + b), s = k(b);
        T const* const f = factors.matrix(b);
        for (std::int64_t i = 0; i < m; ++i) std::copy_n(f + i * n, s, q.matrix(b) + i * s);
        for (std::int64_t i = 0; i < s; ++i) {
          std::fill_n(r.matrix(b) + i * n, i, T(0));
          std::copy_n(f + i * n + i, n - i, r.matrix(b) + i * n + i);
        }
      });
      job.compute(in_out(q.batch()), in(tau.batch()), [](Queue& where, auto matrices, auto t) { orgqr<T>(where, matrices, t); });
      std::array<Matrices<T> const*, 2> const results{&q, &r};
      judge<T>(job, first, count, info.data(), results, inputs, {}, "the result is not finite: overflow");
      if (options.verify) verify_qr(job, first, count, a.view, q, r, info.data());
      std::array<void const*, 2> const data{q.data(), r.data()};
      job.save(first, count, data, info.data());
    });
    return job.finish();
  }

  static void verify_qr(Job& job, std::int64_t first, std::int64_t count, Batch<T const> a, Matrices<T> const& q, Matrices<T> const& r,
                        int const* info) {
    verify_each(job, first, count, info, [&](std::int64_t b) {
      std::int64_t const m = q.sizes().rows_of(b), k = q.sizes().cols_of(b), n = r.sizes().cols_of(b);
      T const *const f = q.matrix(b), *const g = r.matrix(b);
      double worst = product_error<T>(
          m, n, k, [&](std::int64_t i, std::int64_t j) { return element(a, b, i, j); },
          [&](std::int64_t i, std::int64_t l) { return f[i * k + l]; }, [&](std::int64_t l, std::int64_t j) { return g[l * n + j]; });
      keep_larger(worst, product_error<T>(
                             k, k, m, [](std::int64_t i, std::int64_t j) { return T(i == j ? 1 : 0); },
                             [&](std::int64_t i, std::int64_t l) {
                               if constexpr (is_complex<T>)
                                 return std::conj(f[l * k + i]);
                               else
                                 return f[l * k + i];
                             },
                             [&](std::int64_t l, std::int64_t j) { return f[l * k + j]; }));
      return Verified{.error = worst, .bound = rounding_bound<T>(m)};
    });
  }
};

template <template <typename> typename Factorization>
void add_factorization(CLI::App& app, Action& action, char const* name, char const* verb, char const* help, Offers const& offers) {
  auto options = std::make_shared<FactorOptions>();
  CLI::App& command = *app.add_subcommand(name, help);
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  add_options(command, *options, offers);
  command.callback([options, &action, name, verb] {
    action = batch(name, verb, *options, [options](Job& job) {
      auto const source = open_matrices(options->a, Factorization<double>::square, *options);
      job.describe({source.get()}, source->count(), how_many(source->count(), source->single(), "matrix", "matrices", *source),
                   source->dtype());
      return with_dtype(source->dtype(), [&]<typename T>() { return Factorization<T>::run(*options, job, *source); });
    });
  });
}

}  // namespace

void add_lu(CLI::App& app, Action& action) {
  add_factorization<Lu>(
      app, action, "lu", "factored", "P A = L U with partial pivoting",
      {.verify_help = "Report the largest normwise backward error |P A - L U| / |A| (1-norms) and its matrix",
       .output_help =
           "File for the factors: .npz with lu (L below the diagonal, its ones not stored, U on and above it) and pivots as LAPACK: "
           "row i was interchanged with row pivots[i], counted from 1. Where the matrices differ in size lu_0, pivots_0, lu_1, ..."});
}

void add_cholesky(CLI::App& app, Action& action) {
  add_factorization<Cholesky>(
      app, action, "cholesky", "factored",
      "A = L L^H of symmetric (Hermitian) positive definite matrices; only the lower triangle of A is used",
      {.verify_help = "Report the largest normwise backward error |A - L L^H| / |A| (1-norms) and its matrix. It reads all of A, so a "
                      "matrix that is not "
                      "symmetric fails",
       .output_help =
           "File for the factors: .npz with l, or with l_0, l_1, ... where the matrices differ in size; or .npy. Failed ones are NaN"});
}

void add_qr(CLI::App& app, Action& action) {
  add_factorization<Qr>(
      app, action, "qr", "factored", "A = Q R by Householder reflections, reduced as numpy.linalg.qr",
      {.verify_help = "Report the largest normwise error and its matrix: the larger of |A - Q R| / |A| and |I - Q^H Q| (1-norms)",
       .output_help = "File for the factors: .npz with q and r, or with q_0, r_0, q_1, ... where the matrices differ in size"});
}

}  // namespace myriad::cli
