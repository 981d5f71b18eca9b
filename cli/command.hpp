#pragma once
/// Subcommands. Each declares its arguments on `app`. CLI11 calls back the one on the command line, which sets `action`. The program runs
/// the action once the whole command line has been checked, and exits with the status that it returns. Under mpirun every rank runs the
/// action of a command that works on a batch (batch() in job.hpp), and rank 0 those of the others.

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

namespace myriad::cli {

inline constexpr int exit_good = 0;
inline constexpr int exit_failed_matrices = 1;  ///< finished, but some matrices failed
inline constexpr int exit_bad_input = 2;        ///< bad usage or input, or a machine that cannot do what was asked

using Action = std::function<int()>;

/// Wrong usage or input. The program prints what() in one line after the name of the subcommand, and exits with exit_bad_input.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Checks of numeric options. Messages of CLI11's own checks print the end of the range: the largest double, in 309 digits.
CLI::Validator positive_number();
CLI::Validator non_negative_number();

void add_solve(CLI::App& app, Action& action);
void add_multiply(CLI::App& app, Action& action);
void add_symv(CLI::App& app, Action& action);
void add_inverse(CLI::App& app, Action& action);
void add_lstsq(CLI::App& app, Action& action);
void add_det(CLI::App& app, Action& action);
void add_lu(CLI::App& app, Action& action);
void add_cholesky(CLI::App& app, Action& action);
void add_qr(CLI::App& app, Action& action);
void add_eigh(CLI::App& app, Action& action);
void add_svd(CLI::App& app, Action& action);
void add_pinv(CLI::App& app, Action& action);
void add_rank(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_cache(CLI::App& app, Action& action);
void add_pack(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);

}  // namespace myriad::cli
