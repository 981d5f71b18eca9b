/// The myriad program: the library's routines on files.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "command.hpp"
#include "io/output_file.hpp"
#include "myriad/version.hpp"
#include "ranks.hpp"
#include "terminal.hpp"

namespace {

using namespace myriad::cli;

/// One line on stderr, whatever the text.
int refuse(std::string const& command, std::string_view problem) {
  std::string line(problem.substr(0, problem.find_last_not_of("\n ") + 1));
  for (char& c : line)
    if (c == '\n') c = ' ';
  say(stderr, "myriad{}{}: {}\n", command.empty() ? "" : " ", command, line);
  return exit_bad_input;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Dense linear algebra for a myriad of small matrices.\n"
      "Exit status: 0 success; 1 some matrices failed; 2 bad usage or input. Matrices, rows and columns are counted from 0 unless a text "
      "says otherwise. mpirun -n N myriad ... divides a batch among N processes.",
      "myriad");
  app.set_version_flag("--version", MYRIAD_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(26);

  Action action, alone;  // alone: of a command without a batch
  add_solve(app, action);
  add_multiply(app, action);
  add_symv(app, action);
  add_inverse(app, action);
  add_lstsq(app, action);
  add_det(app, action);
  add_lu(app, action);
  add_cholesky(app, action);
  add_qr(app, action);
  add_eigh(app, action);
  add_svd(app, action);
  add_pinv(app, action);
  add_rank(app, action);
  add_convert(app, action);
  add_info(app, alone);
  add_cache(app, alone);
  add_pack(app, alone);
#ifdef MYRIAD_HAVE_BENCH
  add_bench(app, alone);
  add_tune(app, alone);
#endif

  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands([&](CLI::App* sub) { return sub->check_name(argv[1]); }).empty())
    return refuse("", fmt::format("'{}' is not a command (see myriad --help)", argv[1]));

  std::string command;
  auto const name_command = [&] {
    if (auto const given = app.get_subcommands(); !given.empty()) command = given.front()->get_name();
  };
  try {
    app.parse(argc, argv);
    name_command();
    if (action) return action();
    return Ranks::all().first() ? alone() : exit_good;
  } catch (CLI::ParseError const& problem) {
    if (problem.get_exit_code() == 0) return silent ? exit_good : app.exit(problem);  // --help, --version
    name_command();
    return refuse(command, fmt::format("{} (see myriad {}{}--help)", problem.what(), command, command.empty() ? "" : " "));
  } catch (std::bad_alloc const&) {
    return refuse(command, "not enough memory");
  } catch (std::exception const& problem) {
    name_command();
    return refuse(command, problem.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  myriad::io::install_signal_cleanup();
  int status = exit_bad_input;
  try {
    Ranks::all().open();
    Ranks::all().compare({argv + 1, argv + argc});
    status = run(argc, argv);
  } catch (UsageError const& problem) {
    status = refuse("", problem.what());
  } catch (Stopped const&) {
    // Rank 0 says why.
  }
  Ranks::all().close();
  return status;
}
