#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
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

struct LstsqOptions : Options {
  std::string a, b;
  bool rank_deficient = false;  ///< by singular values
  double rcond = -1;            ///< negative: max(m, n) eps
};

std::string deficient(int info) {
  return fmt::format("rank deficient: element ({0}, {0}), counted from 1, of its triangular factor is exactly zero", info);
}

/// Error of column j of X, with r = b - A x. With at least as many rows as columns it is norm2(A^H r) / (normF(A) (normF(A) norm2(x) +
/// norm2(b))), which stays near u for large r too; else norm2(r) / (normF(A) norm2(x) + norm2(b)). `of_gradient`: the first for any shape.
template <typename T>
double least_squares_error(Batch<T const> const& a, Matrices<T> const& x, Batch<T const> const& b, std::int64_t m, std::int64_t j,
                           bool of_gradient) {
  using W = Wide<T>;
  using R = Real<W>;
  std::int64_t const rows = a.rows_of(m), cols = a.cols_of(m), k = x.sizes().cols_of(m);
  T const* const solution = x.matrix(m) + j;
  std::vector<W> r(static_cast<std::size_t>(rows));
  R a_norm = 0, x_norm = 0, b_norm = 0, r_norm = 0, gradient = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    W sum = W(element(b, m, i, j));
    b_norm += std::norm(sum);
    for (std::int64_t l = 0; l < cols; ++l) {
      W const value = W(element(a, m, i, l));
      a_norm += std::norm(value);
      sum -= value * W(solution[l * k]);
    }
    r[static_cast<std::size_t>(i)] = sum;
    r_norm += std::norm(sum);
  }
  for (std::int64_t l = 0; l < cols; ++l) {
    W sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      W const value = W(element(a, m, i, l));
      if constexpr (is_complex<T>)
        sum += std::conj(value) * r[static_cast<std::size_t>(i)];
      else
        sum += value * r[static_cast<std::size_t>(i)];
    }
    gradient += std::norm(sum);
    x_norm += std::norm(W(solution[l * k]));
  }
  R const scale = std::sqrt(a_norm) * std::sqrt(x_norm) + std::sqrt(b_norm);
  R const wrong = of_gradient ? std::sqrt(gradient) : std::sqrt(r_norm), whole = of_gradient ? std::sqrt(a_norm) * scale : scale;
  return wrong == 0 ? 0.0 : static_cast<double>(wrong / whole);
}

/// The part of column j of X that A^+ A does not keep, in which the solution of least norm has nothing: norm2(x - A^+ A x) / (norm2(x) (1 +
/// normF(A) normF(A^+))).
template <typename T>
double excess(Batch<T const> const& a, Matrices<T> const& inverses, Matrices<T> const& x, std::int64_t m, std::int64_t j) {
  using W = Wide<T>;
  std::int64_t const rows = a.rows_of(m), cols = a.cols_of(m), k = x.sizes().cols_of(m);
  auto const of_x = [&](std::int64_t i, std::int64_t) { return W(x.matrix(m)[i * k + j]); };
  auto const of_inverse = [&](std::int64_t i, std::int64_t l) { return W(inverses.matrix(m)[i * rows + l]); };
  std::vector<W> ax(static_cast<std::size_t>(rows), W(0));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t l = 0; l < cols; ++l) ax[static_cast<std::size_t>(i)] += W(element(a, m, i, l)) * of_x(l, 0);
  auto const error = frobenius_norm<T>(cols, 1, [&](std::int64_t i, std::int64_t) {
    W sum = of_x(i, 0);
    for (std::int64_t l = 0; l < rows; ++l) sum -= of_inverse(i, l) * ax[static_cast<std::size_t>(l)];
    return sum;
  });
  auto const of_a = frobenius_norm<T>(rows, cols, [&](std::int64_t i, std::int64_t l) { return element(a, m, i, l); });
  auto const whole = frobenius_norm<T>(cols, 1, of_x) * (1 + of_a * frobenius_norm<T>(cols, rows, of_inverse));
  return error == 0 ? 0.0 : static_cast<double>(error / whole);
}

/// Some matrices of a ragged batch.
template <typename T>
class ChosenMatrices {
 public:
  ChosenMatrices(Matrices<T> const& all, std::vector<std::int64_t> const& chosen) : sizes_(all.sizes()) {
    sizes_.count = static_cast<std::int64_t>(chosen.size());
    sizes_.row_sizes.clear();
    sizes_.col_sizes.clear();
    for (std::int64_t const b : chosen) {
      pointers_.push_back(all.matrix(b));
      sizes_.row_sizes.push_back(all.sizes().rows_of(b));
      sizes_.col_sizes.push_back(all.sizes().cols_of(b));
      row_strides_.push_back(std::max<std::int64_t>(sizes_.col_sizes.back(), 1));
    }
  }
  [[nodiscard]] Batch<T> batch() const {
    Batch<T> b = row_major<T>(pointers_.data(), sizes_.rows, sizes_.cols, {.count = sizes_.count});
    b.row_sizes = sizes_.row_sizes.data();
    b.col_sizes = sizes_.col_sizes.data();
    b.row_strides = row_strides_.data();
    return b;
  }

 private:
  Sizes sizes_;
  std::vector<T*> pointers_;
  std::vector<std::int64_t> row_strides_;
};

/// gelsd where singular values up to cutoff(b) times the largest one count as zero: a call for all matrices with the same cutoff.
template <typename T, typename Cutoff>
void solve_by_singular_values(Job& job, Matrices<T> const& a, Matrices<T> const& b, Cutoff&& cutoff, std::vector<int>& info) {
  auto const call = [&](Batch<T> matrices, Batch<T> sides, double rcond, int* numbers) {
    job.compute(in_out(matrices), in_out(sides), out(numbers), [rcond](Queue& q, auto left, auto right, int* i) {
      gelsd<T>(q, left, right, {}, static_cast<Real<T>>(rcond), nullptr, i);
    });
  };
  if (!a.sizes().ragged()) return call(a.batch(), b.batch(), cutoff(0), info.data());
  std::map<double, std::vector<std::int64_t>> groups;
  for (std::int64_t k = 0; k < a.sizes().count; ++k) groups[cutoff(k)].push_back(k);
  for (auto const& [rcond, chosen] : groups) {
    ChosenMatrices<T> const left(a, chosen), right(b, chosen);
    std::vector<int> found(chosen.size());
    call(left.batch(), right.batch(), rcond, found.data());
    for (std::size_t k = 0; k < chosen.size(); ++k) info[static_cast<std::size_t>(chosen[k])] = found[k];
  }
}

template <typename T>
int run(LstsqOptions const& options, Job& job, Operands& o) {
  auto const n = [&](std::int64_t m) { return o.a_cols(m); };
  auto const k = [&](std::int64_t m) { return o.b_cols(m); };
  auto const longer = [&](std::int64_t m) { return std::max(o.a_rows(m), o.a_cols(m)); };
  job.open_results({matrix_field("x", o.dtype, o.b->vectors(), n, k)}, {.count = o.count, .single = o.single, .ragged = o.ragged()});

  // gels overwrites A with its factors and B with X, so B has as many rows as the longer of both.
  o.a_input.view = options.verify;
  o.a_input.work = true;
  Matrices<T> b_and_x, x, inverses;
  std::vector<int> info;
  auto const bytes = [&](std::int64_t m) { return (longer(m) + n(m)) * k(m) * static_cast<std::int64_t>(sizeof(T)); };
  std::array<Input, 2> const inputs{o.a_input, o.b_input};
  stream<T>(job, inputs, bytes, [&](std::int64_t first, std::int64_t count, auto& operands) {
    auto& [a, b] = operands;
    info.assign(static_cast<std::size_t>(count), 0);
    Sizes const like = b.view.ragged() ? sizes_of(b.view) : a.work.sizes();
    b_and_x.resize(sizes_like(
        like, [&](std::int64_t m) { return longer(first + m); }, [&](std::int64_t m) { return k(first + m); }));
    x.resize(sizes_like(
        like, [&](std::int64_t m) { return n(first + m); }, [&](std::int64_t m) { return k(first + m); }));
    auto const& right = b.view;
    for_each_matrix(job.queue(), count, [&](std::int64_t m) {
      std::int64_t const rows = right.rows_of(m), cols = right.cols_of(m);
      T* const target = b_and_x.matrix(m);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < cols; ++j) target[i * cols + j] = *right.at(m, i, j);
      std::fill_n(target + rows * cols, b_and_x.elements_of(m) - rows * cols, T(0));
    });
    auto const cutoff = [&](std::int64_t m) {
      std::int64_t const size = std::max(a.work.sizes().rows_of(m), a.work.sizes().cols_of(m));
      return options.rcond >= 0 ? options.rcond : static_cast<double>(size) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
    };
    if (options.rank_deficient)
      solve_by_singular_values(job, a.work, b_and_x, cutoff, info);
    else
      job.compute(in_out(a.work.batch()), in_out(b_and_x.batch()), out(info.data()),
                  [](Queue& q, auto matrices, auto sides, int* i) { gels<T>(q, matrices, sides, i); });
    for_each_matrix(job.queue(), count, [&](std::int64_t m) { std::copy_n(b_and_x.matrix(m), x.elements_of(m), x.matrix(m)); });
    spoil_failed(x, count, info.data());
    Matrices<T> const* const result = &x;
    if (options.rank_deficient)
      judge<T>(
          job, first, count, info.data(), {&result, 1}, inputs, [](int) { return std::string("the iteration did not converge"); },
          "the result is not finite: overflow");
    else
      judge<T>(job, first, count, info.data(), {&result, 1}, inputs, deficient,
               "the result is not finite: overflow, or nearly rank deficient; --rank-deficient solves such problems");
    if (options.verify) {
      auto const& left = a.view;
      if (options.rank_deficient) {
        inverses.resize(sizes_like(
            like, [&](std::int64_t m) { return n(first + m); }, [&](std::int64_t m) { return o.a_rows(first + m); }));
        pinv<T>(job.queue(), left, static_cast<Real<T>>(options.rcond), inverses.batch(), nullptr, nullptr);
      }
      verify_each(job, first, count, info.data(), [&](std::int64_t m) {
        std::int64_t const rows = left.rows_of(m), cols = left.cols_of(m);
        Verified found{.bound = rounding_bound<T>(std::max(rows, cols)) + (options.rank_deficient ? cutoff(m) : 0)};
        for (std::int64_t j = 0; j < x.sizes().cols_of(m); ++j) {
          keep_larger(found.error, least_squares_error<T>(left, x, right, m, j, options.rank_deficient || rows >= cols));
          if (options.rank_deficient) keep_larger(found.error, excess<T>(left, inverses, x, m, j));
        }
        return found;
      });
    }
    void const* const data = x.data();
    job.save(first, count, {&data, 1}, info.data());
  });
  return job.finish();
}

}  // namespace

void add_lstsq(CLI::App& app, Action& action) {
  auto options = std::make_shared<LstsqOptions>();
  CLI::App& command = *app.add_subcommand(
      "lstsq",
      "Least squares: min |B - A X|, or min |X| with A X = B where A has fewer rows than columns. By QR for A of full rank; with "
      "--rank-deficient by singular values for any rank");
  command.add_option("A", options->a, wrapped(matrices_help))->required()->type_name("FILE");
  command.add_option("B", options->b, wrapped(right_hand_sides_help))->required()->type_name("FILE");
  command.add_flag("--rank-deficient", options->rank_deficient,
                   wrapped("Find the X of least norm among those that minimize |B - A X|, by singular values, for A of any rank"));
  command
      .add_option("--rcond", options->rcond,
                  wrapped("With --rank-deficient: singular values up to R times the largest one count as zero. Default: max(rows, columns) "
                          "of the matrix times the machine epsilon; numpy.linalg.lstsq takes that of double for every type"))
      ->type_name("R")
      ->check(non_negative_number().description(""));
  add_options(command, *options,
              {.verify_help = "Report the largest normwise backward error and its matrix. With r = B - A X it is |A^H r| / (|A| (|A| |X| + "
                              "|B|)), or |r| / (|A| |X| + |B|) where A has fewer rows than columns. With --rank-deficient: the first, or "
                              "|X - A^+ A X| / (|X| (1 + |A| |A^+|)); up to rcond is no failure",
               .output_help = "File for X: .npy, or .npz with x_0, x_1, ... where the matrices differ in size. Failed ones are NaN"});
  command.callback([options, &action] {
    if (options->rcond >= 0 && !options->rank_deficient) throw UsageError("--rcond needs --rank-deficient");
    action = batch("lstsq", "solved", *options, [options](Job& job) {
      Operands o = open_operands(options->a, options->b, Match::rows, *options);
      job.describe({o.a.get(), o.b.get()}, o.count, how_many(o.count, o.single, "least-squares problem", "least-squares problems", *o.a),
                   o.dtype);
      return with_dtype(o.dtype, [&]<typename T>() { return run<T>(*options, job, o); });
    });
  });
}

}  // namespace myriad::cli
