/// The myriad program under mpirun: the results of any number of ranks, ranks that die or fail, and runs that are resumed.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/matrix_market.hpp"
#include "io/npy.hpp"
#include "program.hpp"

namespace myriad {
namespace {

using test::Environment;
using test::Outcome;
using Names = std::vector<std::string>;

struct Ranks : ::testing::Test {
  test::TemporaryFolder folder;
  // Open MPI needs these in a container, as root and with more ranks than cores.
  Environment const root{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, confirmed{"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"};
  Environment const oversubscribed{"OMPI_MCA_rmaps_base_oversubscribe", "1"}, unbound{"OMPI_MCA_hwloc_base_binding_policy", "none"};
  Environment const single_copy{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}, alone{"OMPI_MCA_plm", "isolated"};
  Environment const crowded{"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"};
  Environment const threads{"MYRIAD_NUM_THREADS", "1"};

  /// Runs the program on this many ranks; 0: without mpirun. Arguments that start with / are names in the test's folder.
  Outcome run(int ranks, Names arguments) {
    for (std::string& argument : arguments)
      if (argument.starts_with("/")) argument = folder.path(argument.substr(1));
    Names const launcher{MYRIAD_MPIRUN, "-q", "-n", std::to_string(ranks)};
    return test::Program(folder, std::move(arguments), ranks > 0 ? launcher : Names{}).wait();
  }
  /// Runs the program on two ranks, the second in the folder `other`; names are relative.
  Outcome run_in_two_folders(Names const& arguments) {
    Names launcher{MYRIAD_MPIRUN, "-q", "-wdir", folder.path(""), "-n", "1"};
    Names all = arguments;
    for (std::string const& argument : {std::string(":"), std::string("-wdir"), folder.path("other"), std::string("-n"), std::string("1"),
                                        std::string(test::program_path())})
      all.push_back(argument);
    all.insert(all.end(), arguments.begin(), arguments.end());
    return test::Program(folder, std::move(all), launcher).wait();
  }
  /// A run of which a process dies; see planted_death.c.
  Outcome run_with_death(int ranks, Names const& arguments) {
    Environment const preloaded("LD_PRELOAD", MYRIAD_PLANTED_DEATH);
    return run(ranks, arguments);
  }

  std::vector<double> save(std::string const& name, io::Shape const& shape, unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> values(static_cast<std::size_t>(io::element_count(shape)));
    for (double& value : values) value = uniform(engine);
    io::save_npy(folder.path(name), values.data(), shape);
    return values;
  }
  /// Square Matrix Market files of sizes 1 to `count`.
  void save_ragged(std::int64_t count) {
    std::mt19937 engine(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::int64_t n = 1; n <= count; ++n) {
      std::vector<double> values(static_cast<std::size_t>(n * n));
      for (double& value : values) value = uniform(engine);
      io::save_market(folder.path("r" + std::to_string(n) + ".mtx"), values.data(), n, n);
    }
  }

  void expect_same_file(std::string const& a, std::string const& b) {
    EXPECT_FALSE(folder.read(a).empty()) << a;
    EXPECT_TRUE(folder.read(a) == folder.read(b)) << a << " differs from " << b;
  }
  void expect_contains(std::string const& text, std::string const& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\ndoes not contain: " << part;
  }
  void expect_once(std::string const& text, std::string const& part) {
    expect_contains(text, part);
    EXPECT_EQ(text.find(part), text.rfind(part)) << text << "\ncontains more than once: " << part;
  }
};

TEST_F(Ranks, DivideABatchUnevenly) {
  save("b.npy", {101, 6}, 2);
  std::vector<double> a = save("a.npy", {101, 6, 6}, 1);
  for (std::size_t m : {std::size_t{7}, std::size_t{60}})
    std::fill_n(a.begin() + static_cast<std::ptrdiff_t>(36 * m), 36, 1.0);  // singular
  io::save_npy(folder.path("a.npy"), a.data(), {101, 6, 6});
  Names const arguments{"solve", "/a.npy", "/b.npy", "--verify", "--json"};
  auto const with = [&](Names const& more) {
    Names all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  Outcome const alone_run = run(0, with({"-o", "/x1.npy", "--info", "/i1.npy"}));
  Outcome const together = run(4, with({"-o", "/x4.npy", "--info", "/i4.npy"}));
  EXPECT_EQ(alone_run.status, 1);
  EXPECT_EQ(together.status, 1);
  EXPECT_EQ(together.err, alone_run.err);
  expect_contains(together.err, "2 of 101 matrices failed\n  matrix 7: singular");
  expect_same_file("x1.npy", "x4.npy");
  expect_same_file("i1.npy", "i4.npy");
  auto const before = nlohmann::json::parse(alone_run.out), now = nlohmann::json::parse(together.out);
  EXPECT_EQ(now["ranks"], 4);
  EXPECT_EQ(now["hosts"], 1);
  for (char const* key : {"count", "failed", "failures", "worst_backward_error", "worst_matrix", "rows"})
    EXPECT_EQ(now[key], before[key]) << key;
  EXPECT_EQ(folder.files(), (Names{"a.npy", "b.npy", "i1.npy", "i4.npy", "x1.npy", "x4.npy"}));
}

TEST_F(Ranks, WriteOneArchive) {
  save("a.npy", {3, 5, 4}, 1);
  ASSERT_EQ(run(0, {"lu", "/a.npy", "-o", "/lu1.npz"}).status, 0);
  Outcome const outcome = run(4, {"lu", "/a.npy", "-o", "/lu4.npz"});  // one rank has nothing to do
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_contains(outcome.out, "factored 3 matrices of 5 x 4, f8");
  expect_contains(outcome.out, " on 4 ranks, each on ");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  expect_same_file("lu1.npz", "lu4.npz");
}

TEST_F(Ranks, DivideARaggedBatch) {
  save_ragged(9);
  ASSERT_EQ(run(0, {"svd", "/r*.mtx", "-o", "/s1.npz"}).status, 0);
  Outcome const outcome = run(2, {"svd", "/r*.mtx", "-o", "/s2.npz"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_same_file("s1.npz", "s2.npz");
}

TEST_F(Ranks, StackFields) {
  save("a.npy", {10, 3, 3}, 1);
  ASSERT_EQ(run(0, {"det", "--log", "/a.npy", "-o", "/d1.npy"}).status, 0);
  ASSERT_EQ(run(2, {"det", "--log", "/a.npy", "-o", "/d2.npy"}).status, 0);
  expect_same_file("d1.npy", "d2.npy");
}

TEST_F(Ranks, RefuseWithOneMessage) {
  save("a.npy", {4, 3, 2}, 1);
  Outcome const outcome = run(2, {"inverse", "/a.npy", "-o", "/x.npy"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, "myriad inverse: " + folder.path("a.npy") + ": the matrices must be square, each is 3 x 2\n");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(folder.files(), Names{"a.npy"});
}

TEST_F(Ranks, UseTheGpusOfTheirNumbers) {
  save("a.npy", {4, 3, 3}, 1);
  Outcome const outcome = run(2, {"inverse", "/a.npy", "-o", "/x.npy", "--device", "all"});
  EXPECT_EQ(outcome.status, 2);
  expect_once(outcome.err, "myriad inverse: --device is for a program without mpirun, under which each rank uses the GPU with its number");
  EXPECT_EQ(folder.files(), Names{"a.npy"});
}

TEST_F(Ranks, KeepWhatIsFinishedWhenOneFails) {
  save_ragged(9);
  std::string damaged = folder.read("r9.mtx");
  damaged.replace(damaged.rfind('.'), 1, "x");
  folder.write("r9.mtx", damaged);
  Outcome const outcome = run(2, {"inverse", "/r*.mtx", "-o", "/x.npz"});
  EXPECT_EQ(outcome.status, 2);
  expect_contains(outcome.err, "myriad inverse: rank 1: " + folder.path("r9.mtx"));
  expect_contains(outcome.err, "x.npz is not complete: ");
  expect_contains(outcome.err, " of 9 matrices are done; missing: ");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("x.npz")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("x.npz.journal")));

  expect_contains(run(0, {"inverse", "/r*.mtx", "-o", "/x.npz"}).err, "--resume goes on from there; to start anew, delete");
  expect_contains(run(0, {"inverse", "/r*.mtx", "-o", "/x.npz", "--equilibrate", "--resume"}).err, "is of another job: options {");
  auto const time = std::filesystem::last_write_time(folder.path("r1.mtx"));
  std::filesystem::last_write_time(folder.path("r1.mtx"), time - std::chrono::hours(1));  // neither the newest nor of another size
  expect_contains(run(0, {"inverse", "/r*.mtx", "-o", "/x.npz", "--resume"}).err, "is of another job: inputs [");
  std::filesystem::last_write_time(folder.path("r1.mtx"), time);
  folder.write("r9.mtx", damaged + "\n");
  expect_contains(run(0, {"inverse", "/r*.mtx", "-o", "/x.npz", "--resume"}).err, "is of another job: inputs [");
}

TEST_F(Ranks, ResumeAfterTheDeathOfOne) {
  save("a.npy", {50, 4, 4}, 1);
  ASSERT_EQ(run(0, {"svd", "/a.npy", "-o", "/s1.npz", "--info", "/i1.npy", "--verify"}).status, 0);
  Names arguments{"svd", "/a.npy", "-o", "/s.npz", "--info", "/i.npy", "--verify"};
  {
    Environment const rank("PLANTED_DEATH_RANK", "1"), after("PLANTED_DEATH_AFTER", folder.path("s.npz.journal").c_str());
    Outcome const outcome = run_with_death(2, arguments);
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.out, "");
    expect_once(outcome.err, "s.npz is not complete: 25 of 50 matrices are done; missing: 25 to 49; --resume goes on from there\n");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("s.npz")));
  EXPECT_FALSE(folder.read("s.npz.part").starts_with("PK"));  // no archive yet

  arguments.emplace_back("--resume");
  Outcome const resumed = run(3, arguments);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  expect_once(resumed.out, "decomposed 50 matrices of 4 x 4, f8, in ");
  expect_once(resumed.out, ", 25 of them in an earlier run; ");
  expect_same_file("s.npz", "s1.npz");
  expect_same_file("i.npy", "i1.npy");
  EXPECT_EQ(folder.files(), (Names{"a.npy", "i.npy", "i1.npy", "s.npz", "s1.npz"}));
}

TEST_F(Ranks, TellWhatIsMissingWithoutTheFirst) {
  save("a.npy", {50, 4, 4}, 1);
  Environment const rank("PLANTED_DEATH_RANK", "0");
  Outcome const outcome = run_with_death(2, {"inverse", "/a.npy", "-o", "/x.npy"});
  EXPECT_NE(outcome.status, 0);
  expect_once(outcome.err, "x.npy is not complete: 0 of 50 matrices are done; missing: 0 to 49; --resume goes on from there\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path("x.npy")));
}

TEST_F(Ranks, ResumeWithoutMpi) {
  save("a.npy", {40, 4, 4}, 1);
  Names const arguments{"inverse", "/a.npy", "-o", "/x.npy", "--chunk", "3000", "--resume"};
  ASSERT_EQ(run(0, {"inverse", "/a.npy", "-o", "/x1.npy"}).status, 0);
  {
    Environment const second("PLANTED_DEATH_WRITE", "2");
    EXPECT_EQ(run_with_death(0, arguments).status, -9);
  }
  EXPECT_EQ(folder.files(), (Names{"a.npy", "x.npy.journal", "x.npy.part", "x1.npy"}));
  EXPECT_FALSE(io::looks_like_npy(folder.read("x.npy.part")));
  Outcome const resumed = run(0, arguments);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  expect_contains(resumed.out, " of them in an earlier run");
  expect_same_file("x.npy", "x1.npy");
  EXPECT_EQ(folder.files(), (Names{"a.npy", "x.npy", "x1.npy"}));
}

TEST_F(Ranks, ResumeAfterADeathAmongTheRenames) {
  save("a.npy", {50, 4, 4}, 1);
  ASSERT_EQ(run(0, {"svd", "/a.npy", "-o", "/s1.npz", "--info", "/i1.npy", "--verify"}).status, 0);
  Names const arguments{"svd", "/a.npy", "-o", "/s.npz", "--info", "/i.npy", "--verify", "--resume"};
  for (int const ranks : {0, 2})
    for (char const* number : {"1", "2"}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, rename " << number);
      std::filesystem::copy_file(folder.path("a.npy"), folder.path("s.npz"));  // what an earlier run may have left under the name
      {
        Environment const death("PLANTED_DEATH_RENAME", number);
        EXPECT_NE(run_with_death(ranks, arguments).status, 0);
      }
      EXPECT_EQ(std::filesystem::exists(folder.path("s.npz.part")), *number == '1');
      EXPECT_TRUE(std::filesystem::exists(folder.path("i.npy.part")));
      Outcome const resumed = run(ranks, arguments);
      EXPECT_EQ(resumed.status, 0) << resumed.err;
      expect_once(resumed.out, ", 50 of them in an earlier run");
      expect_same_file("s.npz", "s1.npz");
      expect_same_file("i.npy", "i1.npy");
      EXPECT_EQ(folder.files(), (Names{"a.npy", "i.npy", "i1.npy", "s.npz", "s1.npz"}));
      for (char const* name : {"s.npz", "i.npy"}) std::filesystem::remove(folder.path(name));
    }
  {
    Environment const death("PLANTED_DEATH_RENAME", "2");
    EXPECT_NE(run_with_death(0, arguments).status, 0);
  }
  folder.write("s.npz", "another file");  // so that the results are lost
  Outcome const lost = run(0, arguments);
  EXPECT_EQ(lost.status, 2);
  expect_contains(lost.err, "s.npz.part: is missing, with the matrices that an earlier run has finished");
  EXPECT_EQ(folder.read("s.npz"), "another file");
}

TEST_F(Ranks, RefuseToResumeWithAFileOfAnotherRun) {
  save("a.npy", {20, 4, 4}, 1);
  save("b.npy", {20, 4, 4}, 2);
  Names const first{"inverse", "/a.npy", "-o", "/x.npy", "--info", "/i.npy", "--resume"};
  {
    Environment const death("PLANTED_DEATH_RENAME", "1");
    EXPECT_EQ(run_with_death(0, first).status, -9);
  }
  EXPECT_EQ(run_with_death(0, {"inverse", "/b.npy", "-o", "/y.npy", "--info", "/i.npy"}).status, -9);
  EXPECT_EQ(folder.files(), (Names{"a.npy", "b.npy", "i.npy.part", "x.npy.journal", "x.npy.part", "y.npy.part"}));
  Outcome const outcome = run(0, first);
  EXPECT_EQ(outcome.status, 2);
  expect_contains(outcome.err,
                  "myriad inverse: --resume: " + folder.path("i.npy.part") + ": is not the file that the earlier run has left, ");
  expect_contains(outcome.err, "; to start anew, delete " + folder.path("x.npy.journal") + "\n");
}

TEST_F(Ranks, ResumeBehindALink) {
  save("a.npy", {20, 4, 4}, 1);
  save("b.npy", {20, 4, 4}, 2);
  ASSERT_EQ(run(0, {"inverse", "/a.npy", "-o", "/x1.npy"}).status, 0);
  folder.write("data/x.npy", "old");
  std::filesystem::create_symlink("data/x.npy", folder.path("link.npy"));
  Names const behind{"inverse", "/a.npy", "-o", "/link.npy", "--resume"};
  {
    Environment const death("PLANTED_DEATH_RENAME", "1");
    EXPECT_EQ(run_with_death(0, behind).status, -9);
  }
  Outcome const other = run_with_death(0, {"inverse", "/b.npy", "-o", "/data/x.npy"});
  EXPECT_EQ(other.status, 2);
  expect_contains(other.err, "an earlier run has left 20 finished matrices of ");
  EXPECT_EQ(folder.read("data/x.npy"), "old");
  Outcome const resumed = run(0, behind);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  expect_same_file("data/x.npy", "x1.npy");
  EXPECT_EQ(folder.files(), (Names{"a.npy", "b.npy", "data", "link.npy", "x1.npy"}));
}

TEST_F(Ranks, RefuseOtherArguments) {
  save("a.npy", {4, 3, 3}, 1);
  save("b.npy", {4, 3, 3}, 2);
  auto const run_both = [&](Names const& more, Names const& others) {
    Names arguments{"inverse", folder.path("a.npy"), "-o", folder.path("x.npy")};
    for (std::string const& argument : more) arguments.push_back(argument);
    for (std::string const& argument : {std::string(":"), std::string("-n"), std::string("2"), std::string(test::program_path())})
      arguments.push_back(argument);
    for (std::string const& argument : others) arguments.push_back(argument);
    return test::Program(folder, arguments, {MYRIAD_MPIRUN, "-q", "-n", "1"}).wait();
  };
  Names const same{"inverse", folder.path("a.npy"), "-o", folder.path("x.npy")};
  auto const expect_refusal = [&](Names const& more, Names const& others, std::string const& part) {
    Outcome const outcome = run_both(more, others);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    expect_once(outcome.err, "myriad: rank 1 was started with other arguments: " + part + "; MYRIAD_MPI=off runs each process by itself\n");
    EXPECT_EQ(folder.files(), (Names{"a.npy", "b.npy"}));
  };
  Names other = same;
  other[1] = folder.path("b.npy");
  expect_refusal({}, other, "number 2 is '" + folder.path("b.npy") + "', on rank 0 '" + folder.path("a.npy") + "'");
  expect_refusal({"--verify"}, same, "number 5 is missing, on rank 0 '--verify'");
  expect_refusal({}, {"info"}, "number 1 is 'info', on rank 0 'inverse'");
  expect_refusal({}, {"inverse", "--no-such-option"}, "number 2 is '--no-such-option', on rank 0 '" + folder.path("a.npy") + "'");
}

TEST_F(Ranks, RefuseOtherFolders) {
  save("a.npy", {4, 3, 3}, 1);
  std::filesystem::create_directory(folder.path("other"));
  save("other/a.npy", {4, 3, 3}, 1);
  Names const job{"inverse", "a.npy", "-o", "x.npy"};
  Outcome const outcome = run_in_two_folders(job);
  EXPECT_EQ(outcome.status, 2);
  expect_contains(outcome.err, "myriad inverse: rank 1: sees other files than rank 0: ");
  EXPECT_EQ(folder.files(), (Names{"a.npy", "other"}));

  std::filesystem::remove(folder.path("other/a.npy"));
  std::filesystem::create_hard_link(folder.path("a.npy"), folder.path("other/a.npy"));
  folder.write("other/x.npy.part", "of another run");
  Outcome const apart = run_in_two_folders(job);
  EXPECT_EQ(apart.status, 2);
  expect_contains(apart.err, "myriad inverse: rank 1: x.npy.part: is another file than that of rank 0\n");
  EXPECT_EQ(folder.read("other/x.npy.part"), "of another run");
}

TEST_F(Ranks, WriteOneFileThatHasTwoPaths) {
  save("a.npy", {40, 4, 4}, 1);
  ASSERT_EQ(run(0, {"inverse", "/a.npy", "-o", "/x1.npy"}).status, 0);
  std::filesystem::create_directory(folder.path("other"));
  std::filesystem::create_hard_link(folder.path("a.npy"), folder.path("other/a.npy"));
  folder.write("x.npy", "old");
  std::filesystem::create_symlink("../x.npy", folder.path("other/x.npy"));
  Outcome const outcome = run_in_two_folders({"inverse", "a.npy", "-o", "x.npy"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_same_file("x.npy", "x1.npy");
}

TEST_F(Ranks, EndWhereOneDescribesTheJobWrongly) {
  save("a.npy", {4, 3, 3}, 1);
  Names const arguments{"inverse", folder.path("a.npy"), "-o", folder.path("x.npy")};
  std::string const hash = std::to_string(std::hash<std::string>()(nlohmann::json(arguments).dump()));
  Environment const path("LD_LIBRARY_PATH", MYRIAD_SCRIPTED_MPI_FOLDER), sent("SCRIPTED_SENT", folder.path("sent").c_str());
  Environment const size("OMPI_COMM_WORLD_SIZE", "2"), rank("OMPI_COMM_WORLD_RANK", "0");
  for (char const* answer : {"{", "[]", "{}"}) {
    Environment const messages("SCRIPTED_MESSAGES", (hash + "\n" + answer).c_str());
    Outcome const outcome = run(0, {"inverse", "/a.npy", "-o", "/x.npy"});
    EXPECT_EQ(outcome.status, 2);
    expect_contains(outcome.err, "myriad inverse: rank 1: sees other files than rank 0: command null, on rank 0 \"inverse\"\n");
    EXPECT_EQ(folder.read("sent"), "+\n-\n");  // arguments are the same; stop
    EXPECT_EQ(folder.files(), (Names{"a.npy", "sent"}));
    std::filesystem::remove(folder.path("sent"));
  }
}

TEST_F(Ranks, RefuseAnOutputThatIsBeingWritten) {
  save("a.npy", {20, 4, 4}, 1);
  Names const first{"inverse", folder.path("a.npy"), "-o", folder.path("x.npy"), "--info", folder.path("i.npy")};
  for (int const ranks : {0, 2}) {
    SCOPED_TRACE(ranks);
    test::TemporaryFolder elsewhere;
    Names launcher;
    if (ranks > 0) launcher = {MYRIAD_MPIRUN, "-q", "-n", std::to_string(ranks)};
    auto const start = [&] {
      Environment const preloaded("LD_PRELOAD", MYRIAD_PLANTED_DEATH), gate("PLANTED_GATE", elsewhere.path("gate").c_str());
      return test::Program(elsewhere, first, launcher);
    };
    test::Program writing = start();
    for (int i = 0; i < 1000 && !std::filesystem::exists(folder.path("i.npy.part")); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    auto const files = folder.files();
    for (auto const& [second, more] : {std::pair{0, Names{}}, {0, Names{"--resume"}}, {2, Names{}}}) {
      Names arguments{"inverse", "/a.npy", "-o", "/x.npy"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      Outcome const outcome = run(second, arguments);
      EXPECT_EQ(outcome.status, 2);
      expect_once(outcome.err, ": another process is writing this output\n");
      EXPECT_EQ(outcome.out, "");
    }
    expect_once(run(0, {"inverse", "/a.npy", "-o", "/y.npy", "--info", "/i.npy"}).err,
                "i.npy.part: another process is writing this output\n");
    EXPECT_EQ(folder.files(), files);
    elsewhere.write("gate", "");
    EXPECT_EQ(writing.wait().status, 0);
    EXPECT_EQ(folder.files(), (Names{"a.npy", "i.npy", "x.npy"}));
    for (char const* name : {"x.npy", "i.npy"}) std::filesystem::remove(folder.path(name));
  }
}

TEST_F(Ranks, NeedTheirMpirun) {
  save("a.npy", {2, 2, 2}, 1);
  Environment const size("OMPI_COMM_WORLD_SIZE", "3"), rank("OMPI_COMM_WORLD_RANK", "0");
  {
    Environment const off("MYRIAD_MPI", "off");
    EXPECT_EQ(run(0, {"inverse", "/a.npy", "-o", "/x.npy"}).status, 0);
  }
  Outcome const outcome = run(0, {"inverse", "/a.npy", "-o", "/y.npy"});
  EXPECT_EQ(outcome.status, 2);
  expect_contains(outcome.err, "mpirun has started 3 processes, of which MPI finds 1");
}

}  // namespace
}  // namespace myriad
