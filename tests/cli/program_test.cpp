/// The myriad program from its users' view: results, exit statuses, messages, streaming, interruption.

#include "program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check_results.hpp"
#include "draw.hpp"
#include "io/matrix_market.hpp"
#include "io/npy.hpp"
#include "io/source.hpp"
#include "myriad/tune.hpp"
#include "packs/shipped.hpp"
#include "runtime/kernel_store.hpp"
#include "tune/table_file.hpp"

namespace myriad {
namespace {

using io::Shape;
using test::Outcome;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Array {
  Shape shape;
  std::string descr;
  std::vector<std::complex<double>> values;

  double operator[](std::size_t k) const { return values.at(k).real(); }
};

std::vector<double> random(std::size_t length, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(length);
  for (double& value : values) value = uniform(engine);
  return values;
}

struct Myriad : ::testing::Test {
  test::TemporaryFolder folder;

  /// Runs the program; arguments that start with / are names in the test's folder.
  Outcome run(std::vector<std::string> arguments) {
    for (std::string& argument : arguments)
      if (argument.starts_with("/")) argument = folder.path(argument.substr(1));
    return test::Program(folder, std::move(arguments)).wait();
  }

  template <typename T>
  void save(std::string const& name, Shape const& shape, std::vector<T> const& values) {
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), io::element_count(shape));
    io::save_npy(folder.path(name), values.data(), shape);
  }

  Array load(std::string const& name) {
    std::string const bytes = folder.read(name);
    io::NpyHeader const header = io::parse_npy_header(bytes, name);
    io::Stored const stored = io::stored_type(header, name);
    Array array{header.shape, header.descr, std::vector<std::complex<double>>(static_cast<std::size_t>(io::element_count(header.shape)))};
    io::convert(stored, bytes.data() + header.data_offset, 1, Dtype::c64, array.values.data(), 1,
                static_cast<std::int64_t>(array.values.size()));
    return array;
  }

  /// Expects a refusal with status 2 and one line on stderr that contains `part`, and no output file.
  void expect_refusal(std::vector<std::string> arguments, std::string const& part) {
    auto const before = folder.files();
    Outcome const outcome = run(std::move(arguments));
    EXPECT_EQ(outcome.status, 2) << part;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "does not contain: " << part;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("myriad")) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(folder.files(), before);
  }

  void expect_good(Outcome const& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }
};

// Results

TEST_F(Myriad, SolvesABatch) {
  save<double>("a.npy", {3, 2, 2}, {2, 0, 0, 4, 0, 1, 1, 0, 1, 0, 0, 1});
  save<double>("b.npy", {3, 2}, {2, 4, 5, 6, 7, 8});
  Outcome const outcome = run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--info", "/info.npy", "--verify"});
  expect_good(outcome);
  EXPECT_NE(outcome.out.find("solved 3 systems of 2 x 2, f8"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("worst backward error 0.00e+00, matrix 0"), std::string::npos) << outcome.out;
  Array const x = load("x.npy");
  EXPECT_EQ(x.shape, (Shape{3, 2}));
  EXPECT_EQ(x.values, (std::vector<std::complex<double>>{1, 1, 6, 5, 7, 8}));
  Array const info = load("info.npy");
  EXPECT_EQ(info.descr, "<i4");
  EXPECT_EQ(info.shape, Shape{3});
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"a.npy", "b.npy", "info.npy", "x.npy"}));
}

TEST_F(Myriad, SolvesPositiveDefiniteSystems) {
  // the second matrix has another upper triangle, which is not used; the third is not positive definite
  save<double>("a.npy", {3, 2, 2}, {4, 2, 2, 5, 4, 99, 2, 5, 1, 2, 2, 1});
  save<double>("b.npy", {3, 2}, {6, 7, 6, 7, 3, 3});
  Outcome const outcome = run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--info", "/info.npy", "--positive-definite"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE((outcome.out + outcome.err).find("not positive definite: the leading minor of order 2 is not positive"), std::string::npos)
      << outcome.out << outcome.err;
  Array const x = load("x.npy");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::abs(x.values[i] - 1.0), 0, 1e-15) << i;
  EXPECT_TRUE(std::isnan(x.values[4].real()) && std::isnan(x.values[5].real()));
  EXPECT_EQ(load("info.npy").values, (std::vector<std::complex<double>>{0, 0, 2}));

  save<double>("one.npy", {2, 2}, {4, 2, 2, 5});
  save<double>("sides.npy", {2, 2, 1}, {6, 7, 6, 7});
  expect_good(run({"solve", "/one.npy", "/sides.npy", "-o", "/y.npy", "--positive-definite", "--verify", "--tolerance", "1e-15"}));
  Array const y = load("y.npy");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::abs(y.values[i] - 1.0), 0, 1e-15) << i;
  expect_refusal({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--positive-definite", "--refine"}, "--refine excludes --positive-definite");
  expect_refusal({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--mixed", "--refine"}, "--refine excludes --mixed");
}

TEST_F(Myriad, ShapesOfRightHandSides) {
  save<double>("one.npy", {2, 2}, {2, 0, 0, 4});
  save<double>("three.npy", {3, 2, 2}, {2, 0, 0, 4, 1, 0, 0, 1, 4, 0, 0, 2});
  save<double>("n.npy", {2}, {2, 4});
  save<double>("nk.npy", {2, 3}, {2, 4, 6, 4, 8, 12});
  save<double>("batch_n.npy", {3, 2}, {2, 4, 2, 4, 2, 4});
  save<double>("batch_nk.npy", {3, 2, 1}, {2, 4, 2, 4, 2, 4});
  struct {
    char const *a, *b;
    Shape shape;
    std::vector<std::complex<double>> x;
  } const cases[] = {{"/one.npy", "/n.npy", {2}, {1, 1}},
                     {"/one.npy", "/nk.npy", {2, 3}, {1, 2, 3, 1, 2, 3}},
                     {"/one.npy", "/batch_nk.npy", {3, 2, 1}, {1, 1, 1, 1, 1, 1}},
                     {"/three.npy", "/n.npy", {3, 2}, {1, 1, 2, 4, 0.5, 2}},
                     {"/three.npy", "/batch_n.npy", {3, 2}, {1, 1, 2, 4, 0.5, 2}},
                     {"/three.npy", "/batch_nk.npy", {3, 2, 1}, {1, 1, 2, 4, 0.5, 2}},
                     {"/three.npy", "/nk.npy", {3, 2, 3}, {1, 2, 3, 1, 2, 3, 2, 4, 6, 4, 8, 12, 0.5, 1, 1.5, 2, 4, 6}}};
  for (auto const& c : cases)
    for (auto const& options : std::vector<std::vector<std::string>>{
             {}, {"--equilibrate"}, {"--refine"}, {"--equilibrate", "--refine", "--verify"}, {"--mixed", "--verify"}}) {
      std::vector<std::string> arguments{"solve", c.a, c.b, "-o", "/x.npy"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      expect_good(run(arguments));
      Array const x = load("x.npy");
      EXPECT_EQ(x.shape, c.shape) << c.a << c.b;
      EXPECT_EQ(x.values, c.x) << c.a << c.b;
    }
}

TEST_F(Myriad, TellsHowItReadsAnAmbiguousB) {
  save<double>("a.npy", {2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
  save<double>("b.npy", {2, 2}, {1, 2, 3, 4});
  Outcome const outcome = run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("is taken as one vector per matrix"), std::string::npos) << outcome.err;
  EXPECT_EQ(load("x.npy").shape, (Shape{2, 2}));
}

TEST_F(Myriad, TypesArePromotedOrConverted) {
  save<float>("f4.npy", {1, 1}, {2});
  save<std::complex<float>>("c8.npy", {1, 1}, {{0, 4}});
  save<double>("f8.npy", {1, 1}, {4});
  save<std::int32_t>("i4.npy", {1, 1}, {4});
  expect_good(run({"solve", "/f4.npy", "/c8.npy", "-o", "/x.npy"}));
  EXPECT_EQ(load("x.npy").descr, "<c8");
  EXPECT_EQ(load("x.npy").values[0], std::complex<double>(0, 2));
  expect_good(run({"solve", "/f8.npy", "/c8.npy", "-o", "/x.npy"}));
  EXPECT_EQ(load("x.npy").descr, "<c16");
  expect_good(run({"solve", "/f8.npy", "/i4.npy", "-o", "/x.npy", "--dtype", "f4"}));
  EXPECT_EQ(load("x.npy").descr, "<f4");
  expect_refusal({"solve", "/f8.npy", "/i4.npy", "-o", "/x.npy"}, "i4.npy: holds integers ('<i4'); --dtype f8 converts them");
  expect_refusal({"solve", "/f8.npy", "/c8.npy", "-o", "/x.npy", "--dtype", "f8"}, "--dtype f8 would drop their imaginary parts");
}

TEST_F(Myriad, FortranOrderGivesTheSameBytes) {
  constexpr std::int64_t count = 100, n = 5;
  std::vector<double> const a = random(count * n * n, 1), b = random(count * n, 2);
  std::vector<double> fortran(a.size());
  for (std::int64_t m = 0; m < count; ++m)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        fortran[static_cast<std::size_t>(m + count * (i + n * j))] = a[static_cast<std::size_t>((m * n + i) * n + j)];
  save("a.npy", {count, n, n}, a);
  save("b.npy", {count, n}, b);
  save("f.npy", {count, n, n}, fortran);
  std::string bytes = folder.read("f.npy");
  bytes.replace(bytes.find("False"), 5, "True ");
  folder.write("f.npy", bytes);
  expect_good(run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--refine"}));
  expect_good(run({"solve", "/f.npy", "/b.npy", "-o", "/y.npy", "--refine"}));
  EXPECT_EQ(folder.read("x.npy"), folder.read("y.npy"));
}

TEST_F(Myriad, EveryCommandWritesWhatItPromises) {
  save<double>("a.npy", {1, 2, 2}, {4, 2, 2, 5});
  save<double>("tall.npy", {3, 2}, {1, 0, 0, 2, 0, 0});
  save<double>("b.npy", {3}, {3, 4, 5});

  expect_good(run({"multiply", "/a.npy", "/a.npy", "-o", "/c.npy", "--verify"}));
  EXPECT_EQ(load("c.npy").values, (std::vector<std::complex<double>>{20, 18, 18, 29}));
  save<double>("triangle.npy", {2, 2, 2}, {4, nan, 2, 5, 1, nan, 3, 2});
  save<double>("v.npy", {2, 2}, {1, 1, 1, 2});
  expect_good(run({"symv", "/triangle.npy", "/v.npy", "-o", "/y.npy", "--verify", "--tolerance", "1e-15"}));
  EXPECT_EQ(load("y.npy").values, (std::vector<std::complex<double>>{6, 7, 7, 7}));
  save<double>("three.npy", {3, 2}, {1, 1, 1, 2, 0, 1});  // vectors of one matrix
  save<double>("one.npy", {1, 2, 2}, {4, nan, 2, 5});
  expect_good(run({"symv", "/one.npy", "/three.npy", "-o", "/y.npy", "--verify", "--tolerance", "1e-15"}));
  EXPECT_EQ(load("y.npy").values, (std::vector<std::complex<double>>{6, 7, 8, 12, 2, 5}));
  save<double>("large.npy", {2, 2}, {1e308, nan, 0, 1});
  save<double>("ten.npy", {2}, {10, 1});
  Outcome const overflow = run({"symv", "/large.npy", "/ten.npy", "-o", "/y.npy"});
  EXPECT_EQ(overflow.status, 1);
  EXPECT_NE(overflow.err.find("the product is not finite: overflow"), std::string::npos) << overflow.err;
  save<std::complex<double>>("h.npy", {2, 2}, {{4, 9}, {2, 1}, {nan, 0}, {5, 9}});
  save<std::complex<double>>("z.npy", {2, 1}, {{1, 0}, {0, 1}});
  Outcome const hermitian =
      run({"symv", "/h.npy", "/z.npy", "-o", "/y.npy", "--uplo", "upper", "--hermitian", "--verify", "--tolerance", "1e-15"});
  EXPECT_EQ(hermitian.status, 0) << hermitian.err;
  EXPECT_EQ(load("y.npy").values, (std::vector<std::complex<double>>{{3, 2}, {2, 4}}));
  EXPECT_EQ(load("y.npy").shape, (Shape{2, 1}));
  expect_good(run({"inverse", "/a.npy", "-o", "/x.npy", "--verify", "--tolerance", "1e-14"}));
  EXPECT_NEAR(load("x.npy")[0], 5.0 / 16, 1e-15);
  expect_good(run({"inverse", "/a.npy", "-o", "/x.npy", "--equilibrate", "--verify", "--tolerance", "1e-14"}));
  EXPECT_NEAR(load("x.npy")[1], -2.0 / 16, 1e-15);
  expect_good(run({"lstsq", "/tall.npy", "/b.npy", "-o", "/x.npy", "--verify", "--tolerance", "1e-14"}));
  EXPECT_EQ(load("x.npy").shape, Shape{2});
  EXPECT_NEAR(load("x.npy")[0], 3, 1e-14);
  EXPECT_NEAR(load("x.npy")[1], 2, 1e-14);
  expect_good(run({"det", "/a.npy", "-o", "/d.npy"}));
  EXPECT_EQ(load("d.npy").shape, Shape{1});
  EXPECT_NEAR(load("d.npy")[0], 16, 1e-14);
  expect_good(run({"det", "/a.npy", "--log", "-o", "/d.npy"}));
  EXPECT_EQ(load("d.npy").shape, (Shape{2, 1}));
  EXPECT_EQ(load("d.npy")[0], 1);
  EXPECT_NEAR(load("d.npy")[1], std::log(16), 1e-14);
  for (std::string const command : {"lu", "cholesky", "qr", "eigh", "svd"}) {
    Outcome const outcome = run({command, "/a.npy", "-o", "/f.npz", "--verify", "--tolerance", "1e-14"});
    expect_good(outcome);
    EXPECT_NE(outcome.out.find("worst backward error"), std::string::npos);
    EXPECT_TRUE(folder.read("f.npz").starts_with("PK"));
  }
  expect_good(run({"cholesky", "/a.npy", "-o", "/l.npy"}));
  EXPECT_EQ(load("l.npy").values, (std::vector<std::complex<double>>{2, 0, 1, 2}));
  expect_refusal({"lu", "/a.npy", "-o", "/f.npy"}, "several arrays in an .npz archive");
  expect_good(run({"convert", "/tall.npy", "-o", "/tall.mtx"}));
  expect_good(run({"convert", "/tall.mtx", "-o", "/back.npy"}));
  EXPECT_EQ(folder.read("back.npy"), folder.read("tall.npy"));
}

TEST_F(Myriad, EigenvaluesOfEitherTriangle) {
  save<double>("a.npy", {2, 2, 2}, {2, 9, 1, 2, 4, 0, 0, -1});  // not symmetric: the triangles differ
  expect_good(run({"eigh", "/a.npy", "--values", "-o", "/w.npy"}));
  EXPECT_EQ(load("w.npy").shape, (Shape{2, 2}));
  std::array const expected{1.0, 3.0, -1.0, 4.0};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(load("w.npy")[k], expected[k], 1e-14) << k;
  expect_good(run({"eigh", "/a.npy", "--uplo", "upper", "--values", "-o", "/w.npy"}));
  EXPECT_NEAR(load("w.npy")[0], -7, 1e-14);
  EXPECT_NEAR(load("w.npy")[1], 11, 1e-14);
  // Complex: w is real.
  save<std::complex<double>>("h.npy", {2, 2}, {{2, 0}, {0, -1}, {0, 1}, {2, 0}});
  expect_good(run({"eigh", "/h.npy", "--values", "-o", "/w.npy"}));
  EXPECT_EQ(load("w.npy").shape, Shape{2});
  EXPECT_EQ(load("w.npy").descr, "<f8");
  EXPECT_NEAR(load("w.npy")[1], 3, 1e-14);
  expect_good(run({"eigh", "/h.npy", "-o", "/f.npz", "--verify", "--tolerance", "1e-14"}));
  expect_good(run({"convert", "/f.npz:w", "-o", "/w.npy"}));
  EXPECT_NEAR(load("w.npy")[1], 3, 1e-14);
  expect_refusal({"convert", "/f.npz", "-o", "/w.npy"}, "the archive holds several arrays, 'w', 'v'; name one");
  EXPECT_EQ(run({"eigh", "/h.npy", "-o", "/f.npz"}).out.rfind("solved an eigenproblem of 2 x 2", 0), 0U);
  expect_refusal({"eigh", "/h.npy", "-o", "/f.npy"}, "several arrays in an .npz archive");
  expect_refusal({"eigh", "/h.npy", "-o", "/f.npz", "--uplo", "left"}, "'left' is neither lower nor upper");
  expect_refusal({"eigh", "/h.npy", "-o", "/f.npz", "--values", "--verify"}, "--verify needs the vectors");
}

TEST_F(Myriad, SingularValuesAndVectors) {
  save<double>("a.npy", {2, 3, 2}, {3, 0, 0, -4, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_good(run({"svd", "/a.npy", "--values", "-o", "/s.npy"}));
  EXPECT_EQ(load("s.npy").shape, (Shape{2, 2}));
  std::array const expected{4.0, 3.0, 0.0, 0.0};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(load("s.npy")[k], expected[k], 1e-14) << k;
  for (bool const full : {false, true}) {
    std::vector<std::string> arguments{"svd", "/a.npy", "-o", "/f.npz", "--verify", "--tolerance", "1e-14"};
    if (full) arguments.emplace_back("--full");
    Outcome const outcome = run(arguments);
    expect_good(outcome);
    EXPECT_EQ(outcome.out.rfind("decomposed 2 matrices of 3 x 2", 0), 0U) << outcome.out;
    for (std::string const field : {"s", "u", "vt"}) expect_good(run({"convert", "/f.npz:" + field, "-o", "/" + field + ".npy"}));
    EXPECT_EQ(load("u.npy").shape, (Shape{2, 3, full ? 3 : 2}));
    EXPECT_EQ(load("vt.npy").shape, (Shape{2, 2, 2}));
    EXPECT_NEAR(load("s.npy")[0], 4, 1e-14);
    EXPECT_NEAR(std::abs(load("vt.npy")[1]), 1, 1e-14);
  }
  // Complex and wide: s is real.
  save<std::complex<double>>("h.npy", {1, 3}, {{2, 0}, {0, -2}, {0, 1}});
  expect_good(run({"svd", "/h.npy", "-o", "/f.npz", "--full", "--verify", "--tolerance", "1e-14"}));
  expect_good(run({"convert", "/f.npz:s", "-o", "/s.npy"}));
  EXPECT_EQ(load("s.npy").descr, "<f8");
  EXPECT_NEAR(load("s.npy")[0], 3, 1e-14);
  expect_refusal({"svd", "/h.npy", "-o", "/f.npy"}, "several arrays in an .npz archive");
  expect_refusal({"svd", "/h.npy", "-o", "/f.npz", "--values", "--verify"}, "--verify needs the vectors");
  expect_refusal({"svd", "/h.npy", "-o", "/f.npz", "--values", "--full"}, "--full asks for the vectors");
  // Columns of a Hadamard matrix, times 1, 2^-1, ...: gesvd loses the smallest values, which are exact.
  constexpr std::uint64_t n = 64;
  std::vector<double> graded;
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::uint64_t j = 0; j < n; ++j)
      graded.push_back((std::popcount(i & j) % 2 == 0 ? 0.125 : -0.125) * std::ldexp(1.0, -static_cast<int>(j)));
  save("g.npy", {n, n}, graded);
  expect_good(run({"svd", "/g.npy", "-o", "/s.npy", "--values", "--relative"}));
  for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(std::ldexp(load("s.npy")[k], static_cast<int>(k)), 1, 1e-13) << k;
  expect_good(run({"svd", "/g.npy", "-o", "/f.npz", "--relative", "--verify", "--tolerance", "1e-13"}));
}

TEST_F(Myriad, AnyRank) {
  // The matrices have ranks 1, 2 and 0.
  save<double>("a.npy", {3, 3, 2}, {1, 2, 2, 4, 2, 4, 3, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0});
  save<double>("b.npy", {3, 3, 1}, {1, 2, 2, 3, 8, 5, 1, 1, 1});
  Outcome const ranks = run({"rank", "/a.npy", "-o", "/r.npy", "--verify"});
  expect_good(ranks);
  EXPECT_EQ(ranks.out.rfind("computed ranks of 3 matrices of 3 x 2", 0), 0U) << ranks.out;
  EXPECT_NE(ranks.out.find("worst backward error"), std::string::npos);
  EXPECT_EQ(load("r.npy").values, (std::vector<std::complex<double>>{1, 2, 0}));
  EXPECT_EQ(load("r.npy").descr, "<i4");
  expect_good(run({"rank", "/a.npy", "-o", "/r.npy", "--verify", "--atol", "3.5"}));
  EXPECT_EQ(load("r.npy").values, (std::vector<std::complex<double>>{1, 1, 0}));
  expect_good(run({"rank", "/a.npy", "-o", "/r.npy", "--verify", "--rtol", "0.8", "--atol", "0.1"}));
  EXPECT_EQ(load("r.npy").values, (std::vector<std::complex<double>>{1, 1, 0}));

  expect_good(run({"pinv", "/a.npy", "-o", "/x.npy", "--verify", "--tolerance", "1e-14"}));
  EXPECT_EQ(load("x.npy").shape, (Shape{3, 2, 3}));
  EXPECT_NEAR(load("x.npy")[0], 1.0 / 45, 1e-15);
  EXPECT_NEAR(load("x.npy")[6], 1.0 / 3, 1e-15);
  EXPECT_EQ(load("x.npy")[12], 0);
  expect_good(run({"pinv", "/a.npy", "-o", "/x.npy", "--verify", "--rcond", "0.8"}));
  EXPECT_NEAR(load("x.npy")[6], 0, 1e-15);  // the value 3 is left out beside 4
  EXPECT_NEAR(load("x.npy")[10], 0.25, 1e-15);

  expect_good(run({"lstsq", "/a.npy", "/b.npy", "--rank-deficient", "-o", "/x.npy", "--verify"}));
  EXPECT_EQ(load("x.npy").shape, (Shape{3, 2, 1}));
  std::array const expected{0.2, 0.4, 1.0, 2.0, 0.0, 0.0};
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(load("x.npy")[k], expected[k], 1e-14) << k;
  expect_good(run({"lstsq", "/a.npy", "/b.npy", "--rank-deficient", "--rcond", "0.8", "-o", "/x.npy", "--verify"}));
  EXPECT_NEAR(load("x.npy")[2], 0, 1e-14);
  EXPECT_NEAR(load("x.npy")[3], 2, 1e-14);

  expect_refusal({"lstsq", "/a.npy", "/b.npy", "--rcond", "0.8", "-o", "/x.npy"}, "--rcond needs --rank-deficient");
  expect_refusal({"pinv", "/a.npy", "-o", "/x.npy", "--rcond", "-1"}, "--rcond");
  expect_refusal({"rank", "/a.npy", "-o", "/x.npy", "--atol", "none"}, "--atol");
}

TEST_F(Myriad, RanksOfHugeAndTinyMatrices) {
  // As float, 1e-50 is 0: the relative tolerance must not come back.
  save<float>("d.npy", {2, 2}, {1, 0, 0, 1e-8F});
  expect_good(run({"rank", "/d.npy", "-o", "/r.npy", "--verify"}));
  EXPECT_EQ(load("r.npy")[0], 1);
  expect_good(run({"rank", "/d.npy", "-o", "/r.npy", "--verify", "--atol", "1e-50"}));
  EXPECT_EQ(load("r.npy")[0], 2);
  // Singular values that overflow, and small ones
  save<double>("h.npy", {2, 4, 4}, std::vector<double>(32, 1e308));
  save<float>("f.npy", {1, 4, 4}, std::vector<float>(16, 3e38F));
  save<std::complex<double>>("t.npy", {2, 2}, {{1e-310, 0}, {0, 2e-310}, {0, 0}, {4e-310, 0}});
  for (std::string const file : {"/h.npy", "/f.npy"}) {
    expect_good(run({"rank", file, "-o", "/r.npy", "--verify", "--tolerance", "1e-6"}));
    EXPECT_EQ(load("r.npy")[0], 1);
  }
  expect_good(run({"rank", "/t.npy", "-o", "/r.npy", "--verify", "--tolerance", "1e-14"}));
  EXPECT_EQ(load("r.npy")[0], 2);
  expect_good(run({"rank", "/t.npy", "-o", "/r.npy", "--verify", "--tolerance", "1e-14", "--atol", "2e-310"}));
  EXPECT_EQ(load("r.npy")[0], 1);
  expect_good(run({"rank", "/t.npy", "-o", "/r.npy", "--verify", "--tolerance", "1e-14", "--atol", "1"}));
  EXPECT_EQ(load("r.npy")[0], 0);
}

// The default cutoff is that of the matrix, not that of a longer neighbour.
TEST_F(Myriad, NeighboursDoNotDecideTheRank) {
  std::string const header = "%%MatrixMarket matrix array real general\n";
  for (std::string const k : {"1", "3"}) {
    folder.write("A" + k + ".mtx", header + "2 2\n1\n0\n0\n3e-15\n");
    folder.write("b" + k + ".mtx", header + "2 1\n1\n3e-15\n");
  }
  std::string ones;
  for (int k = 0; k < 40; ++k) ones += "1\n";
  folder.write("A2.mtx", header + "40 1\n" + ones);
  folder.write("b2.mtx", header + "40 1\n" + ones);
  expect_good(run({"lstsq", "/A*.mtx", "/b*.mtx", "--rank-deficient", "--verify", "-o", "/x.npz"}));
  for (std::string const k : {"0", "1", "2"}) {
    expect_good(run({"convert", "/x.npz:x_" + k, "-o", "/x.npy"}));
    for (auto const& x : load("x.npy").values) EXPECT_NEAR(std::real(x), 1, 1e-14) << k;
  }
}

// The bound of min(m, n) is 3, above that of any matrix.
TEST_F(Myriad, TallAndWideMatricesInOneFile) {
  auto const write = [&](std::string const& name, int m, int n) {
    std::string text = "%%MatrixMarket matrix array real general\n" + std::to_string(m) + " " + std::to_string(n) + "\n";
    for (int k = 0; k < m * n; ++k) text += std::to_string(k * k % 7 + 1) + "\n";
    folder.write(name, text);
  };
  write("A1.mtx", 2, 5);
  write("A2.mtx", 3, 1);
  write("A3.mtx", 1, 1);
  write("B1.mtx", 2, 5);
  write("B2.mtx", 3, 1);
  folder.write("B3.mtx", "%%MatrixMarket matrix array real general\n0 3\n");
  for (std::string const files : {"/A*.mtx", "/B*.mtx"}) {
    for (std::string const command : {"svd", "lu", "qr"})
      expect_good(run({command, files, "-o", "/f.npz", "--verify", "--tolerance", "1e-14"}));
    expect_good(run({"svd", files, "-o", "/f.npz", "--full", "--verify", "--tolerance", "1e-14"}));
    expect_good(run({"svd", files, "-o", "/s.npz", "--values"}));
    expect_good(run({"rank", files, "-o", "/r.npy", "--verify", "--tolerance", "1e-14"}));
    EXPECT_EQ(load("r.npy").values, (std::vector<std::complex<double>>{2, 1, files == "/A*.mtx" ? 1.0 : 0.0}));
  }
}

TEST_F(Myriad, BatchesOfNothingAreFine) {
  save<double>("a.npy", {0, 3, 3}, {});
  save<double>("b.npy", {0, 3}, {});
  save<double>("z.npy", {5, 0, 0}, {});
  expect_good(run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--verify", "--refine", "--equilibrate"}));
  EXPECT_EQ(load("x.npy").shape, (Shape{0, 3}));
  expect_good(run({"lu", "/a.npy", "-o", "/f.npz", "--verify"}));
  expect_good(run({"det", "/z.npy", "-o", "/d.npy"}));
  EXPECT_EQ(load("d.npy").values, std::vector<std::complex<double>>(5, 1));
}

TEST_F(Myriad, SolvesMatrixMarketSetsInNaturalOrder) {
  for (int k : {1, 2, 10}) {
    std::string const cell = std::to_string(k);
    folder.write("cells/" + cell + "/A.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 " + cell + "\n2 2 1\n");
    folder.write("cells/" + cell + "/b.mtx", "%%MatrixMarket matrix array real general\n2 1\n20\n7\n");
  }
  std::vector<std::string> const arguments{
      "solve", "/cells/*/A.mtx", "/cells/*/b.mtx", "--equilibrate", "--refine", "--verify", "--tolerance", "1e-15", "-o", "/x.npy"};
  Outcome const outcome = run(arguments);
  expect_good(outcome);
  EXPECT_NE(outcome.out.find("/A.mtx)"), std::string::npos) << outcome.out;
  Array const x = load("x.npy");
  EXPECT_EQ(x.shape, (Shape{3, 2, 1}));
  EXPECT_EQ(x.values, (std::vector<std::complex<double>>{20, 7, 10, 7, 2, 7}));

  // A missing file in a folder must not shift the pairs.
  std::filesystem::remove(folder.path("cells/1/b.mtx"));
  std::filesystem::remove(folder.path("cells/2/A.mtx"));
  expect_refusal(arguments, "one of the folders lacks a file");
}

TEST_F(Myriad, SetsOfDifferentSizesGiveAnArchive) {
  folder.write("A1.mtx", "%%MatrixMarket matrix array real general\n1 1\n2\n");
  folder.write("A2.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 4\n");
  folder.write("b1.mtx", "%%MatrixMarket matrix array real general\n1 1\n6\n");
  folder.write("b2.mtx", "%%MatrixMarket matrix array real general\n2 1\n5\n8\n");
  expect_refusal({"solve", "/A*.mtx", "/b*.mtx", "-o", "/x.npy"}, "x.npy: the matrices differ in size, so the result is an .npz archive");
  for (auto const& options : std::vector<std::vector<std::string>>{{}, {"--equilibrate", "--refine"}}) {
    std::vector<std::string> arguments{"solve", "/A*.mtx", "/b*.mtx", "--verify", "--tolerance", "1e-15", "-o", "/x.npz"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    expect_good(run(arguments));
    std::string const bytes = folder.read("x.npz");
    double const x0 = 3, x1[] = {2, 5};
    EXPECT_NE(bytes.find("x_0.npy"), std::string::npos);
    EXPECT_NE(bytes.find(io::npy_preamble("<f8", {1, 1}) + std::string(reinterpret_cast<char const*>(&x0), 8)), std::string::npos);
    EXPECT_NE(bytes.find(io::npy_preamble("<f8", {2, 1}) + std::string(reinterpret_cast<char const*>(x1), 16)), std::string::npos);
  }
  // Output files are read again.
  expect_good(run({"multiply", "/A*.mtx", "/x.npz", "-o", "/b.npz", "--verify"}));
  expect_good(run({"solve", "/A*.mtx", "/b.npz:c", "-o", "/again.npz"}));
  EXPECT_EQ(folder.read("again.npz"), folder.read("x.npz"));
  for (std::string const command : {"inverse", "lu", "qr"})
    expect_good(run({command, "/A*.mtx", "-o", "/f.npz", "--verify", "--tolerance", "1e-15"}));
  expect_good(run({"multiply", "/A*.mtx", "/b*.mtx", "-o", "/c.npz", "--verify"}));
  expect_good(run({"lstsq", "/A*.mtx", "/b*.mtx", "-o", "/x.npz", "--verify"}));
  expect_good(run({"det", "/A*.mtx", "-o", "/d.npy"}));
  EXPECT_EQ(load("d.npy").values, (std::vector<std::complex<double>>{2, -4}));
}

TEST_F(Myriad, SummaryAsJson) {
  save<double>("a.npy", {2, 1, 1}, {1, 0});
  save<double>("b.npy", {2, 1}, {1, 1});
  Outcome const outcome = run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--json", "--verify", "--threads", "1"});
  EXPECT_EQ(outcome.status, 1);
  auto const summary = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(summary["command"], "solve");
  EXPECT_EQ(summary["count"], 2);
  EXPECT_EQ(summary["failed"], 1);
  EXPECT_EQ(summary["failures"][0]["matrix"], 1);
  EXPECT_EQ(summary["failures"][0]["info"], 1);
  EXPECT_EQ(summary["backend"], "cpu");
  EXPECT_EQ(summary["threads"], 1);
  EXPECT_EQ(summary["dtype"], "f8");
  EXPECT_EQ(summary["worst_backward_error"], 0.0);
  EXPECT_GT(summary["seconds"].get<double>(), 0);
  EXPECT_GT(summary["matrices_per_second"].get<double>(), 0);
  auto const machine = nlohmann::json::parse(run({"info", "--json"}).out);
  EXPECT_TRUE(machine["backends"]["cpu"]["usable"].get<bool>());
}

TEST_F(Myriad, StreamsThroughAMadeUpGpu) {
  // A fake driver whose GPU computes nothing (tests/runtime/fake_cuda.hpp), and a pack without our kernels.
  gpu::Pack::write(folder.path("some.pack"),
                   {{.key = {}, .name = "x", .arch = "sm_90", .compiler = "NVRTC 13.0", .lowered_name = "x", .log = "", .cubin = "x"}});
  test::Environment const driver("LD_LIBRARY_PATH", MYRIAD_FAKE_DRIVER_FOLDER), compiler("MYRIAD_NVRTC", "/nonexistent"),
      pack("MYRIAD_PACK", folder.path("some.pack").c_str()), cache("MYRIAD_CACHE_DIR", "off");
  save<double>("a.npy", {3, 2, 2}, {2, 0, 0, 4, 0, 1, 1, 0, 1, 0, 0, 1});
  save<double>("b.npy", {3, 2}, {2, 4, 5, 6, 7, 8});
  expect_refusal({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--info", "/i.npy", "--backend", "gpu", "--equilibrate"}, "is in no pack");
  expect_refusal({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--backend", "gpu"}, "is in no pack");
  test::Environment const tables("MYRIAD_TUNED_DIR", folder.path("tables").c_str());
  expect_refusal({"tune", "gemm", "--n", "40"}, "is in no pack");
  expect_refusal({"bench", "gemm", "--backend", "gpu", "--n", "40", "--count", "10", "--vs", "none"}, "is in no pack");
  expect_refusal({"bench", "gemm", "--backend", "gpu", "--device", "2"}, "argument 2 (device) is 2; the driver has 2 GPUs, counted from 0");
  // Without elements no kernel is needed; info is written.
  save<double>("none.npy", {3, 0, 0}, {});
  save<double>("none_b.npy", {3, 0}, {});
  Outcome outcome = run({"solve", "/none.npy", "/none_b.npy", "-o", "/x.npy", "--info", "/i.npy", "--backend", "gpu"});
  expect_good(outcome);
  EXPECT_NE(outcome.out.find(" on gpu, Fake GPU\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("of what the link was measured to do"), std::string::npos) << outcome.out;
  EXPECT_EQ(load("i.npy").values, (std::vector<std::complex<double>>{0, 0, 0}));
  outcome = run({"inverse", "/none.npy", "-o", "/x.npy", "--backend", "gpu", "--json"});
  expect_good(outcome);
  auto const summary = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(summary["backend"], "gpu");
  EXPECT_EQ(summary["device"], "Fake GPU");
  EXPECT_EQ(summary["bytes_to_device"], 0);
  EXPECT_EQ(summary["bytes_to_host"], 12);
  EXPECT_GT(summary["bytes_per_second"].get<double>(), 0);
  EXPECT_GT(summary["link"]["both"].get<double>(), 0);
  EXPECT_GT(summary["share_of_link"].get<double>(), 0);
}

/// A fake driver with two GPUs.
struct OnTwoMadeUpGpus : Myriad {
  test::Environment const driver{"LD_LIBRARY_PATH", MYRIAD_FAKE_DRIVER_FOLDER}, compiler{"MYRIAD_NVRTC", MYRIAD_FAKE_NVRTC},
      cache{"MYRIAD_CACHE_DIR", "off"};
};

TEST_F(OnTwoMadeUpGpus, RefusesWrongDevices) {
  save<double>("a.npy", {2, 2}, {1, 0, 0, 1});
  auto const refuses = [&](std::vector<std::string> const& options, std::string const& part) {
    std::vector<std::string> arguments{"inverse", "/a.npy", "-o", "/x.npy"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    expect_refusal(arguments, "myriad inverse: " + part);
  };
  refuses({"--device", "7"}, "--device 7: there is no GPU 7; the driver has 2 GPUs, counted from 0");
  refuses({"--device", "1,2"}, "--device 1,2: there is no GPU 2; the driver has 2 GPUs, counted from 0");
  refuses({"--device", "0,0"}, "--device 0,0: GPU 0 is named twice");
  for (std::string const wrong : {"x", "0,", "0;1", "-1", "1.5", "99999999999", "all,0"})
    refuses({"--device=" + wrong}, "--device '" + wrong + "' is neither all nor a list of numbers such as 0,2");
  refuses({"--device", ""}, "--device '' is neither all nor a list of numbers such as 0,2");
  refuses({"--device", "0", "--backend", "cpu"}, "--device 0 names GPUs, and the backend is cpu");
  refuses({"--device", "all", "--on-gpu-failure", "jump"}, "--on-gpu-failure 'jump' is not known; there are stop and move");
  for (std::vector<std::string> const& one : std::vector<std::vector<std::string>>{{}, {"--device", "1"}, {"--backend", "cpu"}}) {
    std::vector<std::string> options{"--on-gpu-failure", "move"};
    options.insert(options.end(), one.begin(), one.end());
    refuses(options, "--on-gpu-failure move needs several GPUs: --device all, or a list such as 0,2");
  }
  expect_refusal({"convert", "/a.npy", "-o", "/x.npy", "--device", "0"}, "--device: converting is done by the CPU");
  expect_refusal({"convert", "/a.npy", "-o", "/x.npy", "--on-gpu-failure", "move"}, "--on-gpu-failure: converting is done by the CPU");
  test::Environment const no_driver("LD_LIBRARY_PATH", "/nonexistent"), no_gpu("CUDA_VISIBLE_DEVICES", "-1");
  refuses({"--device", "all"}, "--device all: Queue: no GPU can be used: ");
  expect_refusal({"info", "--links"}, "myriad info: --links: Queue: no GPU can be used: ");
}

TEST_F(OnTwoMadeUpGpus, MeasuresLinks) {
  Outcome outcome = run({"info", "--links", "--json"});
  expect_good(outcome);
  auto const links = nlohmann::json::parse(outcome.out)["links"];
  ASSERT_EQ(links["gpus"].size(), 2U);
  for (char const* rate : {"to_device", "to_host", "both"}) {
    for (int gpu : {0, 1}) {
      auto const& link = links["gpus"][static_cast<std::size_t>(gpu)];
      EXPECT_EQ(link["ordinal"], gpu);
      EXPECT_GT(link[rate].get<double>(), 0) << rate;
    }
    EXPECT_GT(links["all"][rate].get<double>(), 0) << rate;
  }
  ASSERT_EQ(links["peers"].size(), 2U);
  for (int from : {0, 1}) {
    auto const& peer = links["peers"][static_cast<std::size_t>(from)];
    EXPECT_EQ(peer["from"], from);
    EXPECT_EQ(peer["to"], 1 - from);
    EXPECT_GT(peer["copy"].get<double>(), 0);
    EXPECT_GT(peer["direct"].get<double>(), 0);
  }
  outcome = run({"info", "--links"});
  expect_good(outcome);
  for (char const* part :
       {"\nlink 0 ", "\nlink 1 ", "\nall links ", "\nlink 0-1 ", "\nlink 1-0 ", " GB/s both at once\n", " GB/s direct\n"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << outcome.out;
  EXPECT_FALSE(nlohmann::json::parse(run({"info", "--json"}).out).contains("links"));
}

#ifdef MYRIAD_FAKE_KERNELS
/// Systems of three equations with two right-hand sides, whose kernel the fake driver runs. A run computes them in three calls; in each
/// call both GPUs get one chunk.
struct SolvesOnTwoMadeUpGpus : OnTwoMadeUpGpus {
  static constexpr std::int64_t count = 100'000;
  test::Environment const kernels{"LD_PRELOAD", MYRIAD_FAKE_KERNELS};

  void SetUp() override {
    std::vector<double> a = random(count * 9, 1);
    for (std::size_t k = 0; k < a.size(); k += 9)
      for (std::size_t i : {0, 4, 8}) a[k + i] += 4;
    save("a.npy", {count, 3, 3}, a);
    save("b.npy", {count, 3, 2}, random(count * 6, 2));
  }
  Outcome solve(std::string const& x, std::vector<std::string> const& more) {
    std::vector<std::string> arguments{"solve", "/a.npy", "/b.npy", "-o", "/" + x, "--chunk", "6M"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

TEST_F(SolvesOnTwoMadeUpGpus, WithTheBitsOfOne) {
  Outcome const one = solve("x1.npy", {"--backend", "gpu", "--verify"});
  expect_good(one);
  EXPECT_NE(one.out.find(" on gpu, Fake GPU\n"), std::string::npos) << one.out;
  Outcome const both = solve("x.npy", {"--device", "all"});
  expect_good(both);
  EXPECT_NE(both.out.find(" on gpu 0 (50%), gpu 1 (50%), Fake GPU\n"), std::string::npos) << both.out;
  EXPECT_NE(both.out.find(" GB to the GPUs and "), std::string::npos) << both.out;
  EXPECT_TRUE(folder.read("x.npy") == folder.read("x1.npy"));
  Outcome const turned = solve("x2.npy", {"--device", "1,0", "--json"});
  expect_good(turned);
  EXPECT_TRUE(folder.read("x2.npy") == folder.read("x1.npy"));
  auto const summary = nlohmann::json::parse(turned.out);
  ASSERT_EQ(summary["gpus"].size(), 2U);
  EXPECT_EQ(summary["gpus"][0]["device"], 1);
  EXPECT_EQ(summary["gpus"][0]["name"], "Fake GPU");
  EXPECT_NEAR(summary["gpus"][0]["share"].get<double>(), 0.5, 0.01);
  EXPECT_GT(summary["share_of_link"].get<double>(), 0);
}

TEST_F(SolvesOnTwoMadeUpGpus, WhenOneFailsTheOtherGoesOn) {
  expect_good(solve("x1.npy", {"--device", "0"}));
  test::Environment const broken("FAKE_CUDA_BROKEN_GPU", "1");
  for (char const* launch : {"1", "2"}) {
    test::Environment const when("FAKE_CUDA_BREAKS_AT_LAUNCH", launch);
    Outcome const outcome = solve("x.npy", {"--device", "all", "--on-gpu-failure", "move", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("myriad solve: warning: GPU 1 failed (")) << outcome.err;
    EXPECT_TRUE(
        outcome.err.ends_with("FAKE_ERROR (as told)); the other GPUs computed its unfinished matrices, so that all results are complete\n"))
        << outcome.err;
    EXPECT_TRUE(folder.read("x.npy") == folder.read("x1.npy"));
    auto const summary = nlohmann::json::parse(outcome.out);
    EXPECT_FALSE(summary["gpus"][0].contains("failure"));
    EXPECT_NE(summary["gpus"][1]["failure"].get<std::string>().find("cuLaunchKernelEx"), std::string::npos);
    EXPECT_EQ(summary["warnings"].size(), 1U);
  }
  test::Environment const first("FAKE_CUDA_BREAKS_AT_LAUNCH", "2");
  Outcome const outcome = solve("x.npy", {"--device", "1,0", "--on-gpu-failure", "move"});
  EXPECT_NE(outcome.out.find(" on gpu 1 ("), std::string::npos) << outcome.out;
}

TEST_F(SolvesOnTwoMadeUpGpus, WhenOneCannotBeOpened) {
  expect_good(solve("x1.npy", {"--device", "0"}));
  test::Environment const broken("FAKE_CUDA_BROKEN_GPU", "1"), from_the_start("FAKE_CUDA_BREAKS_AT_LAUNCH", "0");
  std::string const problem = "GPU 1 (Fake GPU): cuDevicePrimaryCtxRetain";
  auto const before = folder.files();
  for (char const* gpus : {"all", "0,1", "1"}) {
    Outcome const stopped = solve("x.npy", {"--device", gpus});
    EXPECT_EQ(stopped.status, 2);
    EXPECT_TRUE(stopped.err.starts_with("myriad solve: " + problem)) << stopped.err;
    EXPECT_EQ(folder.files(), before);
  }
  Outcome const moved = solve("x.npy", {"--device", "all", "--on-gpu-failure", "move", "--json"});
  EXPECT_EQ(moved.status, 0) << moved.err;
  EXPECT_TRUE(moved.err.starts_with("myriad solve: warning: " + problem)) << moved.err;
  EXPECT_TRUE(moved.err.ends_with("FAKE_ERROR (as told); the other GPUs computed all matrices\n")) << moved.err;
  EXPECT_TRUE(folder.read("x.npy") == folder.read("x1.npy"));
  auto const summary = nlohmann::json::parse(moved.out);
  ASSERT_EQ(summary["gpus"].size(), 2U);
  EXPECT_EQ(summary["gpus"][0]["share"], 1);
  EXPECT_EQ(summary["gpus"][1]["device"], 1);
  EXPECT_TRUE(summary["gpus"][1]["failure"].get<std::string>().starts_with(problem));
}

TEST_F(SolvesOnTwoMadeUpGpus, StopsWhenOneFails) {
  expect_good(solve("x1.npy", {"--device", "0"}));
  {
    test::Environment const broken("FAKE_CUDA_BROKEN_GPU", "1"), second("FAKE_CUDA_BREAKS_AT_LAUNCH", "2");
    auto const before = folder.files();
    Outcome outcome = solve("x.npy", {"--device", "all"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_TRUE(outcome.err.starts_with("myriad solve: GPU 1 (Fake GPU): ")) << outcome.err;
    EXPECT_NE(outcome.err.find("FAKE_ERROR (as told); 34952 of 100000 matrices were finished, and are not kept without --resume\n"),
              std::string::npos)
        << outcome.err;
    EXPECT_EQ(folder.files(), before);
    outcome = solve("x.npy", {"--device", "all", "--resume"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("myriad solve: GPU 1 (Fake GPU): "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("x.npy is not complete: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("; --resume goes on from there\n"), std::string::npos) << outcome.err;
  }
  Outcome const resumed = solve("x.npy", {"--device", "0", "--resume"});
  expect_good(resumed);
  EXPECT_NE(resumed.out.find(" of them in an earlier run"), std::string::npos) << resumed.out;
  EXPECT_NE(resumed.out.find(" on gpu 0, Fake GPU\n"), std::string::npos) << resumed.out;
  EXPECT_TRUE(folder.read("x.npy") == folder.read("x1.npy"));
}
#endif

/// Tests on a GPU: MYRIAD_TEST_BACKEND=gpu.
struct OnAGpu : Myriad {
  void SetUp() override {
    char const* const backend = std::getenv("MYRIAD_TEST_BACKEND");
    if (!backend || std::string(backend) != "gpu") GTEST_SKIP() << "MYRIAD_TEST_BACKEND is not gpu";
  }

  struct Part {
    io::NpyHeader header;
    std::string data;
  };
  /// The arrays of an .npy file, or of an .npz archive with uncompressed members.
  std::vector<Part> parts(std::string const& name) {
    std::string const bytes = folder.read(name), magic = "\x93NUMPY";
    std::vector<Part> out;
    for (std::size_t at = bytes.find(magic); at != std::string::npos; at = bytes.find(magic, at + 1)) {
      Part part;
      part.header = io::parse_npy_header(std::string_view(bytes).substr(at), name);
      part.data = bytes.substr(at + part.header.data_offset,
                               static_cast<std::size_t>(io::element_count(part.header.shape)) * std::stoul(part.header.descr.substr(2)));
      out.push_back(std::move(part));
    }
    return out;
  }

  /// Expects equal integers, numbers equal up to `tolerance` of the largest, and NaN and infinity at the same places.
  void expect_alike(std::string const& name, std::string const& other, double tolerance) {
    auto const x = parts(name), y = parts(other);
    ASSERT_FALSE(x.empty());
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      EXPECT_EQ(x[k].header.shape, y[k].header.shape);
      ASSERT_EQ(x[k].header.descr, y[k].header.descr);
      if (x[k].header.descr == "<i4") {
        EXPECT_EQ(x[k].data, y[k].data) << name << ", array " << k;
        continue;
      }
      auto const numbers = [](Part const& part) {
        auto const count = static_cast<std::size_t>(io::element_count(part.header.shape));
        std::vector<std::complex<double>> out(count);
        io::convert(io::stored_type(part.header, ""), part.data.data(), 1, Dtype::c64, out.data(), 1, static_cast<std::int64_t>(count));
        return out;
      };
      auto const a = numbers(x[k]), b = numbers(y[k]);
      double largest = 0, worst = 0;
      std::size_t not_finite_elsewhere = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        bool const nan = std::isnan(std::abs(a[i])), other_nan = std::isnan(std::abs(b[i]));
        if (!std::isfinite(std::abs(a[i])) || !std::isfinite(std::abs(b[i]))) {
          not_finite_elsewhere += nan != other_nan || (!nan && a[i] != b[i]);
          continue;
        }
        largest = std::max(largest, std::abs(a[i]));
        worst = std::max(worst, std::abs(a[i] - b[i]));
      }
      EXPECT_EQ(not_finite_elsewhere, 0U) << name << ", array " << k;
      EXPECT_LE(worst, tolerance * largest) << name << ", array " << k;
    }
  }

  /// Expects the same results on CPU and GPU.
  void same_on_both(std::vector<std::string> arguments, std::string const& result, double tolerance) {
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    bool const info = arguments[0] != "qr";
    auto const on = [&](char const* backend, std::string const& to, std::string const& info_to) {
      std::vector<std::string> all = arguments;
      for (std::string const& more : {std::string("-o"), "/" + to + result, std::string("--backend"), std::string(backend)})
        all.push_back(more);
      if (info) {
        all.emplace_back("--info");
        all.push_back("/" + info_to);
      }
      return run(all);
    };
    Outcome const cpu = on("cpu", "cpu", "cpu-info.npy"), gpu = on("gpu", "gpu", "gpu-info.npy");
    EXPECT_EQ(gpu.status, cpu.status) << gpu.err;
    EXPECT_EQ(gpu.err, cpu.err);
    EXPECT_NE(gpu.out.find("of what the link was measured to do"), std::string::npos) << gpu.out;
    expect_alike("cpu" + result, "gpu" + result, tolerance);
    if (info) expect_alike("cpu-info.npy", "gpu-info.npy", 0);
  }
};

TEST_F(OnAGpu, EveryCommandGivesWhatItGivesOnTheCpu) {
  constexpr std::int64_t count = 30'011, n = 7, k = 2;
  // far from singular, except one that is singular and one with a NaN
  std::vector<double> a = random(count * n * n, 3), b = random(count * n * k, 4), positive(a.size());
  for (std::int64_t m = 0; m < count; ++m)
    for (std::int64_t i = 0; i < n; ++i) {
      a[static_cast<std::size_t>((m * n + i) * n + (i + m) % n)] += 2 * n;
      for (std::int64_t j = 0; j < n; ++j)
        positive[static_cast<std::size_t>((m * n + i) * n + j)] =
            i == j ? 2.0 * n : a[static_cast<std::size_t>(m * n * n + std::max(i, j))] / (4 * n);
    }
  std::fill_n(a.begin() + 1000 * n * n, n, 0.0);
  save("s.npy", {count, n, n}, a);
  a[20'000 * n * n + 3] = nan;
  positive[5000 * n * n] = -1;
  save("a.npy", {count, n, n}, a);
  save("p.npy", {count, n, n}, positive);
  save("b.npy", {count, n, k}, b);
  save("v.npy", {count, n}, random(count * n, 5));
  save("one.npy", {n, n}, std::vector<double>(a.begin(), a.begin() + n * n));
  for (auto const& [dtype, tolerance] : {std::pair{"f4", 1e-4}, {"f8", 1e-12}, {"c8", 1e-4}, {"c16", 1e-12}}) {
    SCOPED_TRACE(dtype);
    // Smaller than the default chunks of program and streams, so that there are many of each
    std::vector<std::string> const options{"--dtype", dtype, "--chunk", "3M"};
    auto const with = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.end(), options.begin(), options.end());
      return arguments;
    };
    same_on_both(with({"solve", "/a.npy", "/b.npy"}), ".npy", tolerance);
    same_on_both(with({"solve", "/a.npy", "/b.npy", "--equilibrate"}), ".npy", tolerance);
    same_on_both(with({"inverse", "/a.npy"}), ".npy", tolerance);
    same_on_both(with({"lu", "/s.npy"}), ".npz", tolerance);
    same_on_both(with({"solve", "/one.npy", "/b.npy"}), ".npy", tolerance);
    same_on_both(with({"det", "/s.npy"}), ".npy", tolerance);
    same_on_both(with({"det", "/s.npy", "--log"}), ".npz", tolerance);
    same_on_both(with({"cholesky", "/p.npy"}), ".npz", tolerance);
    same_on_both(with({"solve", "/p.npy", "/b.npy", "--positive-definite"}), ".npy", tolerance);
    same_on_both(with({"qr", "/p.npy"}), ".npz", tolerance);
    same_on_both(with({"eigh", "/p.npy", "--values"}), ".npz", tolerance);
    same_on_both(with({"lstsq", "/p.npy", "/b.npy"}), ".npy", tolerance);
    same_on_both(with({"multiply", "/a.npy", "/b.npy"}), ".npy", tolerance);
    same_on_both(with({"symv", "/a.npy", "/v.npy"}), ".npy", tolerance);
  }
}

/// Few commands and matrices: each process opens all GPUs, which takes a second. Both GPUs get chunks of 4 MiB.
TEST_F(OnAGpu, SeveralGpusGiveTheBytesOfOne) {
  auto const gpus = nlohmann::json::parse(run({"info", "--json"}).out)["gpu"]["devices"];
  if (gpus.size() < 2 || gpus[0]["name"] != gpus[1]["name"]) GTEST_SKIP() << "there are no two GPUs of one model";
  constexpr std::int64_t count = 60'000, n = 7;
  save("a.npy", {count, n, n}, random(count * n * n, 3));
  save("b.npy", {count, n}, random(count * n, 5));
  for (std::vector<std::string> arguments : {std::vector<std::string>{"solve", "/a.npy", "/b.npy"}, {"svd", "/a.npy"}}) {
    SCOPED_TRACE(arguments[0]);
    std::string const extension = arguments[0] == "svd" ? ".npz" : ".npy";
    auto const on = [&](std::string const& device, std::string const& result) {
      std::vector<std::string> all = arguments;
      for (std::string const& more : {std::string("--device"), device, std::string("-o"), "/" + result + extension}) all.push_back(more);
      return run(all);
    };
    EXPECT_EQ(on("0", "x").status, 0);
    Outcome const several = on("all", "y");
    EXPECT_EQ(several.status, 0) << several.err;
    EXPECT_NE(several.out.find("%), gpu 1 ("), std::string::npos) << several.out;
    EXPECT_FALSE(folder.read("y" + extension).empty());
    EXPECT_TRUE(folder.read("x" + extension) == folder.read("y" + extension));
  }
}

TEST_F(OnAGpu, MatricesOfDifferentSizes) {
  auto const save_market = [&](char kind, int number, std::vector<double> const& values, std::int64_t cols) {
    std::string name(1, kind);
    name += std::to_string(number);
    name += ".mtx";
    io::save_market(folder.path(name), values.data(), static_cast<std::int64_t>(values.size()) / cols, cols);
  };
  for (int m = 1; m <= 40; ++m) {
    std::int64_t const n = 1 + m * 7 % 19;
    std::vector<double> a = random(static_cast<std::size_t>(n * n), static_cast<unsigned>(m));
    for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] += 20;
    save_market('A', m, a, n);
    save_market('b', m, random(static_cast<std::size_t>(n), static_cast<unsigned>(100 + m)), 1);
  }
  same_on_both({"solve", "/A*.mtx", "/b*.mtx"}, ".npz", 1e-12);
  same_on_both({"inverse", "/A*.mtx"}, ".npz", 1e-12);
  same_on_both({"lu", "/A*.mtx"}, ".npz", 1e-12);
}

TEST_F(OnAGpu, OfEigenvaluesAloneNothingElseComesBack) {
  constexpr std::int64_t count = 100, n = 6;
  save("a.npy", {count, n, n}, random(count * n * n, 3));
  auto const bytes_to_host = [&](std::vector<std::string> const& more) {
    std::vector<std::string> arguments{"eigh", "/a.npy", "-o", "/f.npz", "--backend", "gpu", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nlohmann::json::parse(run(arguments).out)["bytes_to_host"].get<std::int64_t>();
  };
  EXPECT_EQ(bytes_to_host({"--values"}), count * (n * 8 + 4));
  EXPECT_EQ(bytes_to_host({}), count * (n * n * 8 + n * 8 + 4));
}

TEST_F(Myriad, TellsOfGpuKernels) {
  ::setenv("MYRIAD_CACHE_DIR", folder.path("kernels").c_str(), 1);
  ::setenv("MYRIAD_NVRTC", "/nonexistent/libnvrtc.so", 1);
  auto const gpu = nlohmann::json::parse(run({"info", "--json"}).out)["gpu"];
  EXPECT_EQ(gpu["cache"]["folder"], folder.path("kernels"));
  EXPECT_EQ(gpu["nvrtc"]["version"], "");
  EXPECT_NE(gpu["nvrtc"]["tried"].dump().find("/nonexistent/libnvrtc.so"), std::string::npos);
  EXPECT_NE(run({"info"}).out.find("/nonexistent/libnvrtc.so"), std::string::npos);
  ASSERT_TRUE(std::filesystem::create_directory(folder.path("kernels")));
  std::string const name(64, 'a');
  std::ofstream(folder.path("kernels/" + name + ".kernel")) << "no kernel";
  std::ofstream(folder.path("kernels/mine.txt")) << "something else";
  auto const cache = nlohmann::json::parse(run({"cache", "list", "--json"}).out);
  ASSERT_EQ(cache["kernels"].size(), 1U);
  EXPECT_TRUE(cache["kernels"][0]["damaged"].get<bool>());
  EXPECT_NE(run({"cache", "list"}).out.find("damaged"), std::string::npos);
  EXPECT_EQ(run({"cache", "clear"}).out, "1 kernel removed\n");
  EXPECT_TRUE(std::filesystem::exists(folder.path("kernels/mine.txt")));
  EXPECT_EQ(run({"cache", "clear"}).out, "0 kernels removed\n");
  expect_refusal({"pack", "build", "--arch", "sm_90", "--routines", "no_such_routine", "-o", "/x.pack"}, "there are no kernels");
  for (std::string const arch : {"90", "sm_", "sm_90a", "compute_80"})
    expect_refusal({"pack", "build", "--arch", "sm_80," + arch, "-o", "/x.pack"},
                   "'" + arch + "', which is not the name of an architecture");
  expect_refusal({"pack", "build", "--arch", "sm_90", "--dtype", "f3", "-o", "/x.pack"}, "--dtype 'f3' is not known");
  expect_refusal({"pack", "build", "--arch", "sm_90", "--list", "/x.list", "--n", "4", "-o", "/x.pack"}, "--n excludes --list");
  ::unsetenv("MYRIAD_CACHE_DIR");
  ::unsetenv("MYRIAD_NVRTC");
}

TEST_F(Myriad, TuneRefusesWhatItDoesNotKnow) {
  expect_refusal({"tune", "no_such_routine"}, "'no_such_routine' is not tuned; there are gemm, ");
  for (std::string const sizes : {"0", "x", "3-2", "4-", "2-8-9", "5000"})
    expect_refusal({"tune", "gemm", "--n", "8," + sizes}, "--n '" + sizes + "' is no size and no range of sizes such as 2-32");
  expect_refusal({"tune", "gemm", "--dtype", "f3"},
                 "--dtype 'f3' is not known; there are f4, f8, c8, c16, half, bfloat16 and complex_half");
  expect_refusal({"tune", "gemv", "--dtype", "f8,half"}, "--dtype half: elements of 16 bits have products only, by gemm");
  expect_refusal({"tune", "ormqr"}, "'ormqr' has nothing of its own to tune; there are gemm, ");
  expect_refusal({"tune"}, "which routine? There are gemm, ");
  expect_refusal({"tune", "gemm", "--op", "NC"}, "--op");
  expect_refusal({"tune", "gemm", "--table", "/x.json"}, "--table goes with --show");
  expect_refusal({"tune", "--show", "--table", "/x.json"}, "/x.json cannot be read");
  expect_refusal({"tune", "gemm", "--budget", "-1"}, "--budget: '-1' is not a positive number (see");
  expect_refusal({"tune", "gemm", "--candidates", "x"}, "--candidates: 'x' is not a positive number (see");
  expect_refusal({"tune", "gemm", "--device", "-2"}, "--device: '-2' is not a number of 0 or more (see");
}

TEST_F(Myriad, TunesOnAMadeUpGpu) {
  // A fake driver that invents the times of kernels, which do nothing, and a pack of these kernels.
  std::vector<gpu::KernelRecord> records;
  for (auto const& [routine, size, dtype] : {std::tuple{"gemm", 6, Dtype::f64}, {"gemm", 40, Dtype::f16}, {"symv", 40, Dtype::f64}})
    for (gpu::KernelSource const& kernel :
         gpu::shipped_kernels({.routines = {routine}, .sizes = {size}, .dtypes = {dtype}, .candidates = 100}))
      records.push_back({.key = gpu::KernelStore::key(kernel, "sm_90", "NVRTC 13.0"),
                         .name = kernel.name,
                         .arch = "sm_90",
                         .compiler = "NVRTC 13.0",
                         .lowered_name = "another",
                         .log = "",
                         .cubin = "image"});
  gpu::Pack::write(folder.path("some.pack"), records);
  test::Environment const driver("LD_LIBRARY_PATH", MYRIAD_FAKE_DRIVER_FOLDER), compiler("MYRIAD_NVRTC", "/nonexistent"),
      pack("MYRIAD_PACK", folder.path("some.pack").c_str()), cache("MYRIAD_CACHE_DIR", "off"), any("FAKE_CUDA_TIMES", "1"),
      tables("MYRIAD_TUNED_DIR", folder.path("tables").c_str());
  auto const expect_table = [](std::string const& out, std::size_t rows) {
    // Columns of numbers end with their headings, for any kernel names.
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < out.size(); at = out.find('\n', at) + 1) lines.push_back(out.substr(at, out.find('\n', at) - at));
    ASSERT_GE(lines.size(), rows + 2) << out;
    std::size_t const last = lines[1].find("kernel: config");
    ASSERT_NE(last, std::string::npos) << out;
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_GT(lines[2 + i].size(), last) << out;
      EXPECT_EQ(lines[2 + i].substr(last - 2, 2), "  ") << out;
      EXPECT_NE(lines[2 + i][last - 3], ' ') << out;
      EXPECT_EQ(lines[2 + i].compare(last, 4, "gemm"), 0) << out;
    }
  };
  expect_refusal({"tune", "symv", "--n", "40", "--count", "10"}, "symv comes to no kernel that is tuned at this size");
  expect_refusal({"tune", "getrs", "--n", "40", "--count", "10"}, "is in no pack");
  Outcome outcome = run({"tune", "gemm", "--n", "6", "--count", "10", "--plot", "/gain.svg"});
  expect_good(outcome);
  expect_table(outcome.out, 1);
  EXPECT_NE(outcome.out.find("gemm_tiles: k 6, "), std::string::npos) << outcome.out;
  EXPECT_NE(folder.read("gain.svg").find("Gain of tuning: gemm"), std::string::npos);
  outcome = run({"tune", "gemm", "--n", "6,40", "--dtype", "half", "--count", "10"});
  EXPECT_EQ(outcome.status, 2);  // the pack lacks one of the kernels
  outcome = run({"tune", "gemm", "--n", "40", "--dtype", "half", "--count", "10"});
  expect_good(outcome);
  expect_table(outcome.out, 1);
  outcome = run({"tune", "gemm", "--n", "6", "--count", "10", "--plot", "/gain.svg"});
  expect_good(outcome);
  EXPECT_NE(outcome.out.find("1 of 1 were tuned before"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("nothing new to draw"), std::string::npos) << outcome.out;
  // All known entries, with a picture
  outcome = run({"tune", "--show", "--plot", "/all.svg"});
  expect_good(outcome);
  expect_table(outcome.out, 2);
  EXPECT_NE(folder.read("all.svg").find("gemm_halves half"), std::string::npos);
  outcome = run({"tune", "--show", "gemm_halves", "--table", "/tables/Fake-GPU.json"});
  expect_good(outcome);
  expect_table(outcome.out, 1);
  expect_refusal({"tune", "--show", "lu"}, "has no entry of a kernel 'lu'");
}

TEST_F(Myriad, TuningThatIsInterruptedKeepsWhatItHasAndGoesOn) {
  // A fake driver that invents the times of kernels, which do nothing, and a fake compiler. A few megabytes are copied before each call, so
  // that a size takes long enough to be interrupted.
  test::Environment const driver("LD_LIBRARY_PATH", MYRIAD_FAKE_DRIVER_FOLDER), compiler("MYRIAD_NVRTC", MYRIAD_FAKE_NVRTC),
      cache("MYRIAD_CACHE_DIR", "off"), times("FAKE_CUDA_TIMES", "1"), tables("MYRIAD_TUNED_DIR", folder.path("tables").c_str());
  constexpr std::size_t sizes = 8;
  std::vector<std::string> const command{"tune",    "gemm",  "--n",          "4-11", "--dtype",   "f8",
                                         "--count", "20000", "--candidates", "12",   "--threads", "1"};
  std::string const table = folder.path("tables/Fake-GPU.json");
  auto const rows = [](std::string const& out) {
    std::size_t number = 0;
    for (std::size_t at = out.find("gemm_tiles: "); at != std::string::npos; at = out.find("gemm_tiles: ", at + 1)) ++number;
    return number;
  };

  test::Program program(folder, command);
  auto const start = std::chrono::steady_clock::now();
  while (!std::filesystem::exists(table) && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  program.signal(SIGINT);
  Outcome outcome = program.wait();
  expect_good(outcome);
  std::vector<TunedConfig> kept = read_tuned(table);
  ASSERT_GE(kept.size(), 1U);
  ASSERT_LT(kept.size(), sizes) << "it was done before it was interrupted";
  EXPECT_EQ(rows(outcome.out), kept.size()) << outcome.out;
  std::string const of_all = std::to_string(kept.size()) + " of " + std::to_string(sizes);
  EXPECT_NE(outcome.out.find("interrupted after " + of_all + "; the same command goes on\n"), std::string::npos) << outcome.out;

  // Finished entries are not searched again: they keep a date that no search would give.
  constexpr char const* long_ago = "2000-01-01";
  for (TunedConfig& entry : kept) entry.date = long_ago;
  folder.write("tables/Fake-GPU.json", tuning::text_of("Fake GPU", kept));
  outcome = run(command);
  expect_good(outcome);
  EXPECT_NE(outcome.out.find(of_all + " were tuned before"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("interrupted"), std::string::npos) << outcome.out;
  EXPECT_EQ(rows(outcome.out), sizes - kept.size()) << outcome.out;
  std::vector<TunedConfig> const all = read_tuned(table);
  ASSERT_EQ(all.size(), sizes);
  for (std::size_t i = 0; i < sizes; ++i) {
    EXPECT_EQ(all[i].sizes[0], static_cast<std::int64_t>(4 + i));
    EXPECT_EQ(all[i].date == long_ago, i < kept.size()) << i;
    if (i < kept.size()) {
      EXPECT_EQ(all[i].config, kept[i].config) << i;
    }
  }
}

TEST_F(Myriad, MeasuresOnAMadeUpGpu) {
  std::vector<gpu::KernelRecord> records;
  for (gpu::KernelSource const& kernel :
       gpu::shipped_kernels({.routines = {"gemm"}, .sizes = {6}, .dtypes = {Dtype::f64}, .candidates = 1}))
    records.push_back({.key = gpu::KernelStore::key(kernel, "sm_90", "NVRTC 13.0"),
                       .name = kernel.name,
                       .arch = "sm_90",
                       .compiler = "NVRTC 13.0",
                       .lowered_name = "another",
                       .log = "",
                       .cubin = "image"});
  gpu::Pack::write(folder.path("some.pack"), records);
  test::Environment const driver("LD_LIBRARY_PATH", MYRIAD_FAKE_DRIVER_FOLDER), compiler("MYRIAD_NVRTC", "/nonexistent"),
      pack("MYRIAD_PACK", folder.path("some.pack").c_str()), cache("MYRIAD_CACHE_DIR", "off");
  Outcome const outcome = run({"bench", "gemm", "--backend", "gpu", "--n", "6", "--dtype", "f8", "--count", "10", "--repeats", "1", "--vs",
                               "none", "--json", "/gpu.json", "--plot", "/gpu.svg"});
  // The check notices that the kernel did nothing.
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("WRONG"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("myriad bench: a residual is too large"), std::string::npos) << outcome.err;
  auto const results = nlohmann::json::parse(folder.read("gpu.json"));
  EXPECT_EQ(results["gpu"], "Fake GPU");
  EXPECT_EQ(results["rows"][0]["n"], 6);
  EXPECT_EQ(results["rows"][0]["dtype"], "d");
  EXPECT_FALSE(results["rows"][0]["pass"]);
  EXPECT_NE(folder.read("gpu.svg").find("share of the copy rate"), std::string::npos);
}

// Failures of single matrices: exit status 1, neighbours unharmed

TEST_F(Myriad, SingularMatricesAndNanAreReported) {
  constexpr std::int64_t count = 9, n = 3;
  std::vector<double> a = random(count * n * n, 3);
  std::vector<double> const b = random(count * n, 4);
  save("a.npy", {count, n, n}, a);
  save("b.npy", {count, n}, b);
  for (auto const& options :
       std::vector<std::vector<std::string>>{{}, {"--equilibrate"}, {"--refine"}, {"--equilibrate", "--refine", "--verify"}}) {
    save("a.npy", {count, n, n}, a);
    auto const command = [&](std::string const& output) {
      std::vector<std::string> arguments{"solve", "/a.npy", "/b.npy", "-o", output, "--info", "/info.npy"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      return arguments;
    };
    expect_good(run(command("/good.npy")));
    std::vector<double> bad = a;
    std::fill_n(bad.begin() + 2 * n * n, n * n, 0.0);
    bad[5 * n * n + 4] = nan;
    save("a.npy", {count, n, n}, bad);
    Outcome const outcome = run(command("/x.npy"));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("2 of 9 matrices failed"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("matrix 2: singular: U(1, 1), counted from 1, is exactly zero"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("matrix 5: " + folder.path("a.npy") + " holds NaN at (1, 1), counted from 0"), std::string::npos)
        << outcome.err;
    EXPECT_EQ(load("info.npy").values, (std::vector<std::complex<double>>{0, 0, 1, 0, 0, -1, 0, 0, 0}));
    Array const x = load("x.npy"), good = load("good.npy");
    for (std::size_t m = 0; m < count; ++m)
      for (std::size_t i = 0; i < n; ++i) {
        if (m == 2 || m == 5)
          EXPECT_TRUE(std::isnan(x[m * n + i])) << m;
        else
          EXPECT_EQ(x[m * n + i], good[m * n + i]) << m;
      }
  }
}

TEST_F(Myriad, NoCommandPassesNanInSilence) {
  save<double>("a.npy", {2, 2, 2}, {4, 1, 1, 3, 4, nan, nan, 3});
  save<double>("b.npy", {2, 2}, {1, 1, 1, 1});
  for (std::string const command : {"inverse", "det", "lu", "qr", "cholesky", "eigh", "svd", "pinv", "rank"}) {
    Outcome const outcome = run({command, "/a.npy", "-o", "/o.npz", "--info", "/info.npy"});
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_NE(outcome.err.find("matrix 1: " + folder.path("a.npy") + " holds NaN at"), std::string::npos) << command << outcome.err;
    EXPECT_EQ(load("info.npy")[0], 0) << command;
    EXPECT_NE(load("info.npy")[1], 0) << command;
  }
  for (std::string const command : {"multiply", "symv", "lstsq"}) {
    Outcome const outcome = run({command, "/a.npy", "/b.npy", "-o", "/o.npz"});
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_NE(outcome.err.find("1 of 2 matrices failed"), std::string::npos) << command << outcome.err;
  }
}

TEST_F(Myriad, OverflowIsAFailureAndLogAvoidsIt) {
  save<double>("a.npy", {2, 2}, {1e200, 0, 0, 1e200});
  Outcome const outcome = run({"det", "/a.npy", "-o", "/d.npy"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("overflows; --log"), std::string::npos) << outcome.err;
  expect_good(run({"det", "/a.npy", "-o", "/d.npy", "--log"}));
  save<double>("s.npy", {2, 2}, {1, 1, 1, 1});
  expect_good(run({"det", "/s.npy", "-o", "/d.npy", "--log"}));
  EXPECT_EQ(load("d.npy")[0], 0);
  EXPECT_EQ(load("d.npy")[1], -std::numeric_limits<double>::infinity());
}

TEST_F(Myriad, ToleranceMakesAPoorSolutionAFailure) {
  save("a.npy", {50, 5, 5}, random(50 * 25, 5));
  save("b.npy", {50, 5}, random(50 * 5, 6));
  Outcome const outcome = run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--verify", "--tolerance", "1e-30"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("is above the tolerance 1.00e-30"), std::string::npos) << outcome.err;
  expect_good(run({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--verify", "--refine", "--tolerance", "1e-15"}));
  expect_refusal({"solve", "/a.npy", "/b.npy", "-o", "/x.npy", "--tolerance", "1e-15"}, "--tolerance needs --verify");
}

TEST_F(Myriad, VerifyFailsWhatRoundingDoesNotExplain) {
  // Only the lower triangle is used, and --verify measures against all of A.
  save<double>("a.npy", {3, 2, 2}, {4, 1, 1, 3, 4, nan, 1, 3, 4, 9, 1, 3});
  save<double>("b.npy", {3, 2}, {1, 1, 1, 1, 1, 1});
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"cholesky", "/a.npy"}, {"solve", "/a.npy", "/b.npy", "--positive-definite"}}) {
    for (std::string const more : {"-o", "/x.npy", "--verify"}) arguments.push_back(more);
    Outcome const outcome = run(arguments);
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.out.find("worst backward error nan, matrix 1"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.err.find("2 of 3 matrices failed"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("  matrix 1: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("is above 6.66e-15, the most that rounding explains"), std::string::npos) << outcome.err;
    EXPECT_EQ((outcome.out + outcome.err).find("-nan"), std::string::npos) << outcome.out << outcome.err;
    arguments.insert(arguments.end(), {"--tolerance", "10"});
    EXPECT_NE(run(arguments).err.find("1 of 3 matrices failed"), std::string::npos);
    arguments.push_back("--json");
    EXPECT_EQ(nlohmann::json::parse(run(arguments).out)["worst_backward_error"], "nan");
  }
}

TEST_F(Myriad, VerifyAcceptsWhatBackwardStableRoutinesGive) {
  struct Run {
    std::int64_t n;
    std::string dtype;
    std::vector<std::string> arguments;
  };
  std::vector<Run> all;
  for (std::int64_t const n : {1, 2, 7, 40, 130}) {
    constexpr std::int64_t count = 4;
    std::string const at = "/" + std::to_string(n) + "-";
    auto const save = [&](char const* name, std::vector<std::int64_t> const& shape, std::vector<double> const& data) {
      this->save(at.substr(1) + name, shape, data);
    };
    auto const size = static_cast<std::size_t>(n);
    std::vector<double> const a = random(count * size * size, 11), b = random(count * size, 12);
    std::vector<double> definite(a.size()), graded = a, tall = random(count * size * 2 * size, 13);
    for (std::size_t m = 0; m < count; ++m)
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) {
          std::size_t const at = (m * size + i) * size + j, across = (m * size + j) * size + i;
          definite[at] = (a[at] + a[across]) / 2 + (i == j ? 2.0 * static_cast<double>(n) : 0);
          graded[at] *= std::ldexp(1.0, -static_cast<int>(i + 2 * j) % 60);
        }
    save("a.npy", {count, n, n}, a);
    save("g.npy", {count, n, n}, graded);
    save("p.npy", {count, n, n}, definite);
    save("t.npy", {count, 2 * n, n}, tall);
    save("w.npy", {count, n, 2 * n}, tall);
    save("b.npy", {count, n}, b);
    save("b2.npy", {count, 2 * n}, random(count * 2 * size, 14));
    for (std::string const dtype : {"f4", "f8", "c8", "c16"})
      for (std::vector<std::string> const& arguments :
           std::vector<std::vector<std::string>>{{"solve", at + "a.npy", at + "b.npy"},
                                                 {"solve", at + "g.npy", at + "b.npy"},
                                                 {"solve", at + "g.npy", at + "b.npy", "--equilibrate"},
                                                 {"solve", at + "g.npy", at + "b.npy", "--equilibrate", "--refine"},
                                                 {"solve", at + "p.npy", at + "b.npy", "--positive-definite"},
                                                 {"multiply", at + "g.npy", at + "b.npy"},
                                                 {"symv", at + "p.npy", at + "b.npy"},
                                                 {"inverse", at + "a.npy"},
                                                 {"lstsq", at + "t.npy", at + "b2.npy"},
                                                 {"lstsq", at + "w.npy", at + "b.npy"},
                                                 {"lstsq", at + "t.npy", at + "b2.npy", "--rank-deficient"},
                                                 {"lstsq", at + "w.npy", at + "b.npy", "--rank-deficient"},
                                                 {"pinv", at + "w.npy"},
                                                 {"rank", at + "t.npy"},
                                                 {"lu", at + "g.npy"},
                                                 {"qr", at + "t.npy"},
                                                 {"cholesky", at + "p.npy"},
                                                 {"svd", at + "t.npy"},
                                                 {"svd", at + "w.npy", "--full"},
                                                 {"eigh", at + "p.npy"}}) {
        all.push_back({n, dtype, arguments});
      }
  }
  tests::for_drawn(all, tests::Budget::program, 14, [&](Run const& drawn) {
    std::vector<std::string> arguments = drawn.arguments;
    for (std::string const& more : {std::string("--dtype"), drawn.dtype, std::string("-o"), std::string("/x.npz"), std::string("--verify")})
      arguments.push_back(more);
    Outcome const outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments[0] << arguments[1] << drawn.n << drawn.dtype << outcome.err;
    return true;
  });
  // Errors of underflow are ignored.
  save<double>("small.npy", {2, 2}, {1e-30, 3e-31, 2e-30, 1e-31});
  for (std::string const command : {"multiply", "symv"}) {
    save<double>("v.npy", {2, 1}, {1.1e-14, 1.3e-12});
    EXPECT_EQ(run({command, "/small.npy", "/v.npy", "--dtype", "f4", "-o", "/x.npy", "--verify"}).status, 0) << command;
  }
}

TEST(SolutionError, TellsALostEntryFromAWrongResult) {
  using cli::Promise;
  auto const error = [](std::array<float, 4> const& a, std::array<float, 4> const& x, std::array<float, 4> const& b, Promise promise) {
    auto const matrix = [](std::array<float, 4> const& data) { return Batch<float const>(row_major(data.data(), 2, 2)); };
    return cli::solution_error<float>(matrix(a), matrix(x), matrix(b), 0, promise);
  };
  std::array<float, 4> const identity{1, 0, 0, 1};
  // X = A^-1 without its entry -5e-23.
  std::array<float, 4> const a{2e-38F, 0, 1e-30F, 1e30F};
  cli::Verified found = error(a, {5e37F, 0, 0, 1e-30F}, identity, Promise::whole);
  EXPECT_NEAR(found.error, 1, 1e-6);
  EXPECT_EQ(found.place, "row 1 of column 0");
  EXPECT_LT(found.normwise.value(), 1e-30);
  EXPECT_NEAR(found.bound, 60 * 0x1p-24, 1e-12);
  EXPECT_LE(error(a, {5e37F, 0, -5e-23F, 1e-30F}, identity, Promise::whole).error, found.bound);
  EXPECT_FALSE(error(a, {5e37F, 0, 0, 1e-30F}, identity, Promise::rows).normwise);
  // A column of tiny numbers: the error is small relative to the norm of A, but not to the columns that X multiplies.
  std::array<float, 4> const uneven{1e30F, 1, 1e30F, 2};
  std::array<float, 4> const wrong{0, 0, 1e25F, 0}, right{1, 0, 1, 0};
  EXPECT_LT(error(uneven, wrong, right, Promise::norms).normwise.value(), found.bound);
  EXPECT_GT(error(uneven, wrong, right, Promise::columns).normwise.value(), 0.1);
  EXPECT_LT(error({1e-40F, 0, 0, 1}, {0, 0, 1, 1}, {1e-40F, 0, 1, 1}, Promise::columns).normwise.value(), found.bound);
  EXPECT_GT(error({1e-40F, 0, 0, 1}, {0, 0, 1, 1}, {1e-40F, 0, 1, 1}, Promise::scaled).normwise.value(), 0.2);
  // Rounding does not explain NaN, but half of the smallest number.
  float const none = std::numeric_limits<float>::quiet_NaN(), least = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(std::isnan(error(identity, {1, 0, none, 1}, identity, Promise::whole).normwise.value()));
  EXPECT_EQ(error({least, 0, 0, least}, {0.4F, 0, 0, 0.4F}, {0, 0, 0, 0}, Promise::rows).error, 0);
  EXPECT_GT(error({1e-40F, 0, 0, 1}, {0, 0, 0, 1}, {1e-40F, 0, 0, 1}, Promise::rows).error, 0.5);
}

TEST_F(Myriad, VerifyTellsOfALostEntry) {
  // The inverse, with an element 5e37, may lose the entry -5e-23, or have a tiny number instead of zero.
  folder.write("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n2e-38\n1e-30\n0.0\n1e+30\n");
  Outcome const outcome = run({"inverse", "/a.mtx", "--dtype", "f4", "-o", "/x.npy", "--verify"});
  EXPECT_EQ(outcome.status, 0);
  auto const x = load("x.npy");
  bool const lost = x[2] == 0 || x[1] != 0;
  EXPECT_EQ(outcome.err.find("myriad inverse: warning: matrix 0: componentwise backward error 1.00e+00 at row ") == 0, lost) << outcome.err;
  EXPECT_EQ(outcome.err.find("small entries of the result may be lost; normwise it is") != std::string::npos, lost) << outcome.err;
  EXPECT_EQ(run({"inverse", "/a.mtx", "--dtype", "f4", "-o", "/x.npy", "--verify", "--tolerance", "1e-3"}).status, lost ? 1 : 0);
}

TEST_F(Myriad, ImaginaryPartsOnAHermitianDiagonalAreIgnoredAloud) {
  save<std::complex<double>>("a.npy", {2, 2, 2}, {{4, 0}, {1, -1}, {1, 1}, {6, 0}, {4, 3}, {1, -1}, {1, 1}, {6, -2}});
  save<std::complex<double>>("one.npy", {2, 2}, {{4, 3}, {1, -1}, {1, 1}, {6, -2}});
  save<std::complex<double>>("b.npy", {2, 2, 1}, {1, 2, 3, 4});
  for (std::vector<std::string> const& arguments :
       std::vector<std::vector<std::string>>{{"cholesky", "/a.npy"},
                                             {"eigh", "/a.npy"},
                                             {"solve", "/a.npy", "/b.npy", "--positive-definite"},
                                             {"symv", "/a.npy", "/b.npy", "--hermitian"},
                                             {"solve", "/one.npy", "/b.npy", "--positive-definite"}}) {
    auto all = arguments;
    all.insert(all.end(), {"-o", "/x.npz", "--verify", "--json"});
    Outcome const outcome = run(all);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::string const where = arguments[1] == "/one.npy" ? folder.path("one.npy") : folder.path("a.npy") + ", matrix 1,";
    EXPECT_EQ(outcome.err,
              "myriad " + arguments[0] + ": warning: " + where +
                  " holds 4+3i at (0, 0), counted from 0; imaginary parts on the diagonal of a Hermitian matrix are ignored\n");
    auto const summary = nlohmann::json::parse(outcome.out);
    EXPECT_LT(summary["worst_backward_error"].get<double>(), 1e-14) << arguments[0];
    EXPECT_EQ(summary["warnings"].size(), 1U);
  }
  expect_good(run({"symv", "/a.npy", "/b.npy", "-o", "/x.npy"}));  // symmetric: they count
}

TEST_F(Myriad, EscapeSequencesDoNotReachTheTerminal) {
  save<double>("bad\x1b[31m\n.npy", {1, 1}, {0});
  save<double>("b.npy", {1, 1}, {1});
  save<double>("nan.npy", {1, 1}, {nan});
  std::filesystem::rename(folder.path("nan.npy"), folder.path("nan\x9b.npy"));
  folder.write("token.mtx", "%%MatrixMarket matrix array real general\n1 1\n\x1b[31mRED\x1b[0m\n");
  auto const expect_harmless = [&](std::vector<std::string> const& arguments, int status, std::string const& part) {
    Outcome const outcome = run(arguments);
    EXPECT_EQ(outcome.status, status) << outcome.err;
    std::string const text = outcome.out + outcome.err;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    for (char const c : text) EXPECT_TRUE((c >= ' ' && c < 0x7f) || c == '\n') << static_cast<int>(c);
    return outcome;
  };
  expect_harmless({"convert", "/token.mtx", "-o", "/x.npy"}, 2, "'\\x1b[31mRED\\x1b[0m' is not a number");
  expect_harmless({"det", "/none\x1b.npy", "-o", "/x.npy"}, 2, "none\\x1b.npy: cannot be read");
  expect_harmless({"det\x1b"}, 2, "'det\\x1b' is not a command");
  expect_harmless({"det", "/b.npy", "--no\x1b", "-o", "/x.npy"}, 2, "--no\\x1b");
  expect_harmless({"inverse", "/nan\x9b.npy", "-o", "/x.npy"}, 1, "nan\\x9b.npy holds NaN");
  expect_harmless({"symv", "/b.npy", "/bad\x1b[31m\n.npy", "-o", "/x\r.txt"}, 2, "x\\x0d.txt: the name of a result ends");
  // Lists name files in the summary.
  folder.write("\x1b]0;A.mtx", "%%MatrixMarket matrix array real general\n1 1\n2\n");
  expect_harmless({"lu", "/*A.mtx", "-o", "/x.npz", "--verify"}, 0, "\\x1b]0;A.mtx)");
  Outcome const json = expect_harmless({"inverse", "/nan\x9b.npy", "-o", "/x.npy", "--json"}, 1, "\\ufffd");
  EXPECT_EQ(nlohmann::json::parse(json.out)["failed"], 1);
  test::Environment const cache("MYRIAD_CACHE_DIR", "/nonexistent/\x1b\xff");
  expect_harmless({"info"}, 0, "/nonexistent/\\x1b\\xff");
  expect_harmless({"info", "--json"}, 0, "/nonexistent/\\u001b\\ufffd");
}

// Bad usage and input: exit status 2, one line, nothing written

TEST_F(Myriad, TakesNoBetterSimdTargetThanItIsAllowed) {
  ::setenv("MYRIAD_SIMD", "abacus", 1);
  Outcome const refused = run({"info"});
  EXPECT_EQ(refused.status, 2);
  ASSERT_NE(refused.err.find("MYRIAD_SIMD is 'abacus'; this build has "), std::string::npos) << refused.err;
  // Every processor has the last of them.
  std::string const known = refused.err.substr(0, refused.err.find_last_not_of(" \n") + 1);
  std::string const last = known.substr(known.find_last_of(' ') + 1);
  ::setenv("MYRIAD_SIMD", last.c_str(), 1);
  Outcome const limited = run({"info"});
  ::unsetenv("MYRIAD_SIMD");
  EXPECT_EQ(limited.status, 0) << limited.err;
  EXPECT_NE(limited.out.find("SIMD target " + last + "\n"), std::string::npos) << limited.out;
}

TEST_F(Myriad, RefusesWrongUsage) {
  save<double>("a.npy", {2, 2}, {1, 0, 0, 1});
  expect_refusal({}, "subcommand");
  expect_refusal({"slove"}, "'slove' is not a command");
  expect_refusal({"solve"}, "myriad solve: A is required");
  expect_refusal({"solve", "/a.npy", "/a.npy"}, "--output is required");
  expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.npy", "--what"}, "--what");
  expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.npy", "--threads", "0"}, "--threads");
  expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.npy", "--chunk", "lots"}, "--chunk 'lots' is not a size");
  expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.npy", "--dtype", "i4"}, "--dtype 'i4' is not known");
  expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.npy", "--backend", "abacus"}, "--backend 'abacus' is not known");
  {
    test::Environment const no_gpu("CUDA_VISIBLE_DEVICES", "-1");
    expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.npy", "--backend", "gpu"}, "--backend gpu: Queue: no GPU can be used: ");
  }
  expect_refusal({"convert", "/a.npy", "-o", "/x.npy", "--backend", "gpu"}, "--backend gpu: converting is done by the CPU");
  expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.txt"}, "x.txt: the name of a result ends in .npy or .npz");
  expect_refusal({"solve", "/a.npy", "/a.npy", "-o", "/x.npy", "--info", "/x.npy"}, "--info and -o are the same file");
  EXPECT_EQ(run({"--help"}).status, 0);
  EXPECT_EQ(run({"--version"}).status, 0);
  for (std::string const command :
       {"solve", "multiply", "symv", "inverse", "lstsq", "det", "lu", "cholesky", "qr", "eigh", "svd", "pinv", "rank", "convert", "info"}) {
    Outcome const help = run({command, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.out.find("Usage: myriad " + command), std::string::npos) << help.out;
  }
}

TEST_F(Myriad, RefusesWrongFiles) {
  save<double>("a.npy", {2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
  save<double>("b.npy", {2, 2, 1}, {1, 1, 1, 1});
  expect_refusal({"solve", "/none.npy", "/b.npy", "-o", "/x.npy"}, "none.npy: cannot be read: No such file or directory");
  folder.write("text.npy", "1 2\n3 4\n");
  expect_refusal({"solve", "/text.npy", "/b.npy", "-o", "/x.npy"}, "text.npy: is neither an .npy file");
  std::string const whole = folder.read("a.npy");
  folder.write("cut.npy", whole.substr(0, whole.size() - 1));
  expect_refusal({"solve", "/cut.npy", "/b.npy", "-o", "/x.npy"}, "cut.npy: the file is cut short");
  folder.write("stub.npy", whole.substr(0, 20));
  expect_refusal({"solve", "/stub.npy", "/b.npy", "-o", "/x.npy"}, "ends inside its .npy header");
  std::string swapped = whole;
  swapped.replace(swapped.find("<f8"), 3, ">f8");
  folder.write("swapped.npy", swapped);
  EXPECT_EQ(run({"convert", "/swapped.npy", "-o", "/native.npy"}).status, 0);
  EXPECT_EQ(load("native.npy")[0], std::bit_cast<double>(std::uint64_t{0xf03f}));  // 1 in the other byte order
  folder.write("bad.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n0\nzero\n1\n");
  expect_refusal({"solve", "/bad.mtx", "/b.npy", "-o", "/x.npy"}, "bad.mtx, line 5: 'zero' is not a number");
  expect_refusal({"solve", "/cells/*/A.mtx", "/b.npy", "-o", "/x.npy"}, "no file matches this pattern");
}

TEST_F(Myriad, RefusesShapesThatDoNotMatch) {
  save<double>("a.npy", {2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
  save<double>("wide.npy", {2, 3}, {1, 0, 0, 1, 1, 0});
  save<double>("b3.npy", {3, 2, 1}, {1, 1, 1, 1, 1, 1});
  save<double>("rows.npy", {2, 3, 1}, {1, 1, 1, 1, 1, 1});
  save<double>("v.npy", {2}, {1, 1});
  save<double>("four.npy", {1, 1, 2, 2}, {1, 0, 0, 1});
  expect_refusal({"solve", "/a.npy", "/b3.npy", "-o", "/x.npy"},
                 "a.npy holds 2 matrices (shape (2, 2, 2)) and " + folder.path("b3.npy") + " holds 3");
  expect_refusal({"solve", "/a.npy", "/rows.npy", "-o", "/x.npy"}, "needs 2 rows and has 3");
  expect_refusal({"solve", "/wide.npy", "/v.npy", "-o", "/x.npy"},
                 "the matrices must be square, 2 x 3 is not; for least squares there is myriad lstsq");
  expect_refusal({"inverse", "/wide.npy", "-o", "/x.npy"}, "wide.npy: the matrices must be square");
  expect_refusal({"inverse", "/v.npy", "-o", "/x.npy"}, "shape (2,) is a vector, not a matrix");
  expect_refusal({"det", "/four.npy", "-o", "/x.npy"}, "four.npy: has 4 dimensions, shape (1, 1, 2, 2)");
  expect_refusal({"multiply", "/wide.npy", "/wide.npy", "-o", "/x.npy"}, "needs 3 rows and has 2");
  expect_refusal({"symv", "/wide.npy", "/v.npy", "-o", "/x.npy"}, "wide.npy: the matrices must be square");
  expect_refusal({"symv", "/a.npy", "/a.npy", "-o", "/x.npy"}, "a.npy: a vector per matrix is needed, and this has 2 columns");
  expect_refusal({"symv", "/a.npy", "/v.npy", "-o", "/x.npy", "--uplo", "left"}, "--uplo");
}

TEST_F(Myriad, FindsAnUnwritableOutputBeforeItComputes) {
  // The input is bad, but only reading it shows that; so the message tells which check came first.
  folder.write("a.mtx", "%%MatrixMarket matrix array real general\n1 1\nbad\n");
  expect_refusal({"inverse", "/a.mtx", "-o", "/none/x.npy"}, "none/x.npy: cannot be written: No such file or directory");
  expect_refusal({"inverse", "/a.mtx", "-o", "/x.npy", "--info", "/none/info.npy"}, "none/info.npy: cannot be written");
  std::filesystem::create_directory(folder.path("folder.npy"));
  expect_refusal({"inverse", "/a.mtx", "-o", "/folder.npy"}, "it is a directory");
  expect_refusal({"inverse", "/a.mtx", "-o", "/x.npy"}, "a.mtx, line 3");
}

// Streaming

/// Writes a batch of well-conditioned n x n matrices piece by piece.
void write_batch(std::string const& path, std::int64_t count, std::int64_t n) {
  std::ofstream file(path, std::ios::binary);
  file << io::npy_preamble("<f8", {count, n, n});
  std::vector<double> matrix = random(static_cast<std::size_t>(n * n), 7);
  for (std::int64_t b = 0; b < count; ++b) {
    for (std::int64_t i = 0; i < n; ++i) matrix[static_cast<std::size_t>(i * n + i)] = 4 + static_cast<double>((b * 31 + i) % 17);
    file.write(reinterpret_cast<char const*>(matrix.data()), static_cast<std::streamsize>(matrix.size() * sizeof(double)));
  }
}

TEST_F(Myriad, ChunksGiveTheSameBytes) {
#ifdef MYRIAD_SANITIZED
  constexpr int count = 301;
#else
  constexpr int count = 601;
#endif
  write_batch(folder.path("a.npy"), count, 6);
  save("b.npy", {count, 6}, random(count * 6, 9));
  for (std::string const command : {"solve", "inverse", "lu", "qr", "det"}) {
    std::vector<std::string> arguments{command, "/a.npy"};
    if (command == "solve") arguments.insert(arguments.end(), {"/b.npy", "--verify"});
    auto const with = [&](std::string const& output, std::string const& chunk) {
      auto all = arguments;
      all.insert(all.end(), {"-o", output, "--chunk", chunk});
      return all;
    };
    expect_good(run(with("/whole.npz", "1G")));
    expect_good(run(with("/parts.npz", "10000")));
    expect_good(run(with("/single.npz", "1")));
    EXPECT_EQ(folder.read("whole.npz"), folder.read("parts.npz")) << command;
    EXPECT_EQ(folder.read("whole.npz"), folder.read("single.npz")) << command;
  }
}

#ifndef MYRIAD_SANITIZED
TEST_F(Myriad, MemoryStaysBoundedWhateverTheSizeOfTheFile) {
  write_batch(folder.path("small.npy"), 100, 16);
  write_batch(folder.path("large.npy"), 65536, 16);  // 128 MiB
  for (std::string const command : {"inverse", "lu"}) {
    long const before = run({command, "/small.npy", "-o", "/x.npz", "--chunk", "4M"}).peak_kib;
    Outcome const outcome = run({command, "/large.npy", "-o", "/x.npz", "--chunk", "4M"});
    expect_good(outcome);
    EXPECT_LT(outcome.peak_kib - before, 24 * 1024)
        << command << ": " << before << " KiB with a small file, " << outcome.peak_kib << " KiB with a large one";
  }
}
#endif

TEST_F(Myriad, AnInterruptedRunLeavesNothingBehind) {
  write_batch(folder.path("a.npy"), 64, 400);
  folder.write("x.npz", "old");
  std::vector<std::string> const before = folder.files();
  for (int const number : {SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGQUIT}) {
    test::Program program(folder, {"qr", folder.path("a.npy"), "-o", folder.path("x.npz"), "--threads", "1"});
    auto const unfinished = [&] {
      for (std::string const& name : folder.files())
        if (name.ends_with(".part")) return true;
      return false;
    };
    auto const start = std::chrono::steady_clock::now();
    while (!unfinished() && std::chrono::steady_clock::now() - start < std::chrono::seconds(30))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    program.signal(number);
#ifdef MYRIAD_SANITIZED
    bool const reported = number == SIGSEGV || number == SIGFPE;  // the sanitizer reports it and ends the program
#else
    bool const reported = false;
#endif
    EXPECT_EQ(program.wait().status, reported ? 1 : -number);
    EXPECT_EQ(folder.files(), before);
    EXPECT_EQ(folder.read("x.npz"), "old");
  }
}

}  // namespace
}  // namespace myriad
