/// Illegal arguments: a BadArgument with LAPACK's position, and nothing written.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "myriad/myriad.hpp"

namespace myriad {
namespace {

constexpr std::int64_t n = 5;
constexpr std::int64_t nrhs = 2;
constexpr std::int64_t count = 3;
constexpr double untouched = -1.5e300;

class Arguments : public testing::Test {
 protected:
  std::vector<double> memory_a = std::vector<double>(200, untouched), memory_b = memory_a, memory_c = memory_a, memory_r = memory_a,
                      memory_s = memory_a;
  std::vector<int> memory_p = std::vector<int>(60, -77), info = memory_p;
  Queue queue{{.backend = Backend::cpu, .threads = 1}};

  Batch<double> a = batch(memory_a.data(), n, n, {.count = count});
  Batch<double> b = batch(memory_b.data(), n, nrhs, {.count = count});
  Batch<double> c = batch(memory_c.data(), n, nrhs, {.count = count});
  Batch<double> x = batch(memory_c.data(), n, n, {.count = count});
  Batch<double> r = vectors(memory_r.data(), n, count);
  Batch<double> s = vectors(memory_s.data(), n, count);
  Batch<double> tau = vectors(memory_r.data(), n, count);
  Batch<double> ferr = vectors(memory_r.data(), nrhs, count);
  Batch<double> berr = vectors(memory_s.data(), nrhs, count);
  Batch<int> pivots = vectors(memory_p.data(), n, count);

  static Batch<double> null(Batch<double> z) {
    z.data = nullptr;
    return z;
  }
  static Batch<double> negative_rows(Batch<double> z) {
    z.rows = -1;
    return z;
  }
  static Batch<double> negative_cols(Batch<double> z) {
    z.cols = -1;
    return z;
  }
  static Batch<double> short_ld(Batch<double> z) {
    z.col_stride = z.rows - 1;
    return z;
  }
  static Batch<double> overlapping(Batch<double> z) {
    z.batch_stride = 1;
    return z;
  }
  template <typename T>
  static Batch<T> fewer(Batch<T> z) {
    z.count -= 1;
    return z;
  }
  static Batch<double> backwards(Batch<double> z) {
    z.row_stride = -1;
    return z;
  }
  static Batch<double> longer(Batch<double> z) {
    z.rows += 1;
    return z;
  }
  static Batch<double> narrower(Batch<double> z) {
    z.cols -= 1;
    return z;
  }

  /// Expects the call to throw BadArgument with this routine, position and name, and to write nothing.
  void bad(std::string const& routine, int position, std::string const& argument, std::function<void()> const& call) {
    try {
      call();
      ADD_FAILURE() << routine << ": argument " << position << " (" << argument << ") was accepted";
    } catch (BadArgument const& error) {
      EXPECT_EQ(error.routine(), routine) << error.what();
      EXPECT_EQ(error.position(), position) << error.what();
      EXPECT_EQ(error.argument(), argument) << error.what();
      EXPECT_NE(std::string(error.what()).find(argument), std::string::npos);
    }
    // at most one message per array; all elements held the same number before
    for (auto* memory : {&memory_a, &memory_b, &memory_c, &memory_r, &memory_s})
      if (std::any_of(memory->begin(), memory->end(), [](double value) { return value != untouched; })) {
        ADD_FAILURE() << routine << " wrote to an array";
        std::fill(memory->begin(), memory->end(), untouched);
      }
    for (auto* memory : {&memory_p, &info})
      if (std::any_of(memory->begin(), memory->end(), [](int value) { return value != -77; })) {
        ADD_FAILURE() << routine << " wrote to pivots or info";
        std::fill(memory->begin(), memory->end(), -77);
      }
  }
};

TEST_F(Arguments, GemmGrouped) {
  using Group = GemmGroup<double>;
  Group const good{.alpha = 1, .a = a, .b = b, .beta = 0, .c = c};
  auto const call = [&](auto change) {
    Group wrong = good;
    change(wrong);
    return [=, this] {
      Group const groups[] = {good, wrong, good};
      gemm_grouped<double>(queue, groups);
    };
  };
  bad("gemm_grouped", 7, "a", call([](Group& g) { g.a.data = nullptr; }));
  bad("gemm_grouped", 10, "ldb", call([](Group& g) { g.b.col_stride = g.b.rows - 1; }));
  bad("gemm_grouped", 9, "b", call([](Group& g) { g.b = fewer(g.b); }));
  bad("gemm_grouped", 12, "c", call([this](Group& g) { g.c = b; }));
  try {
    call([](Group& g) { g.a = columns(g.a, 0, n - 1); })();
    ADD_FAILURE() << "was accepted";
  } catch (BadArgument const& error) {
    EXPECT_NE(std::string(error.what()).find("group 1"), std::string::npos) << error.what();
    EXPECT_EQ(error.position(), 5);
  }
}

TEST_F(Arguments, Gemm) {
  auto const call = [&](In<double> p, In<double> q, Batch<double> z) { return [=, this] { gemm(queue, 1.0, p, q, 0.0, z); }; };
  bad("gemm", 3, "m", call(negative_rows(a), b, c));
  bad("gemm", 5, "k", call(negative_cols(a), b, c));
  bad("gemm", 4, "n", call(a, negative_cols(b), c));
  bad("gemm", 7, "a", call(null(a), b, c));
  bad("gemm", 8, "lda", call(short_ld(a), b, c));
  bad("gemm", 9, "b", call(a, null(b), c));
  bad("gemm", 10, "ldb", call(a, short_ld(b), c));
  bad("gemm", 12, "c", call(a, b, null(c)));
  bad("gemm", 13, "ldc", call(a, b, short_ld(c)));
  bad("gemm", 12, "c", call(a, b, overlapping(c)));
  bad("gemm", 7, "a", call(fewer(a), b, c));
  bad("gemm", 9, "b", call(a, fewer(b), c));
  bad("gemm", 3, "m", call(a, b, batch(memory_c.data(), n + 1, nrhs, {.count = count})));
  bad("gemm", 5, "k", call(narrower(a), b, c));
  bad("gemm", 4, "n", call(a, b, batch(memory_c.data(), n, nrhs + 1, {.count = count})));
  bad("gemm", 12, "c", call(a, b, b));
  bad("gemm", 12, "c", call(a, b, batch(memory_a.data() + 1, n, nrhs, {.ld = n, .stride = n * n, .count = count})));
}

TEST_F(Arguments, ScalarsInMemory) {
  double const* const none = nullptr;
  double const one = 1;
  bad("gemm", 6, "alpha", [&] { gemm<double>(queue, none, a, b, &one, c); });
  bad("gemm", 11, "beta", [&] { gemm<double>(queue, 1, a, b, none, c); });
  bad("gemm", 11, "beta", [&] { gemm<double>(queue, &one, a, b, none, c, Arithmetic::standard); });
  bad("gemv", 4, "alpha", [&] { gemv<double>(queue, none, a, r, 0, s); });
  bad("gemv", 9, "beta", [&] { gemv<double>(queue, 1, a, r, none, s); });
  bad("ger", 3, "alpha", [&] { ger<double>(queue, none, r, s, a); });
  for (auto const& [name, routine] : {std::pair("symv", &symv<double>), {"hemv", &hemv<double>}}) {
    bad(name, 3, "alpha", [&] { routine(queue, Uplo::lower, none, a, r, 0, s); });
    bad(name, 8, "beta", [&] { routine(queue, Uplo::lower, 1, a, r, none, s); });
  }
  for (auto const& [name, routine] : {std::pair("symm", &symm<double>), {"hemm", &hemm<double>}}) {
    bad(name, 5, "alpha", [&] { routine(queue, Side::left, Uplo::lower, none, a, b, 0, c); });
    bad(name, 10, "beta", [&] { routine(queue, Side::left, Uplo::lower, 1, a, b, none, c); });
  }
  Batch<double> const square = batch(memory_c.data(), n, n, {.count = 1});
  auto const first = [](auto const& x) { return matrices(x, 0, 1); };
  bad("syrk", 5, "alpha", [&] { syrk<double>(queue, Uplo::lower, none, first(a), 0, square); });
  bad("herk", 8, "beta", [&] { herk<double>(queue, Uplo::lower, 1, first(a), none, square); });
  bad("syr2k", 10, "beta", [&] { syr2k<double>(queue, Uplo::lower, 1, first(b), first(b), none, square); });
  bad("her2k", 5, "alpha", [&] { her2k<double>(queue, Uplo::lower, none, first(b), first(b), 0, square); });
  bad("trmm", 7, "alpha", [&] { trmm<double>(queue, Side::left, Uplo::lower, Diag::unit, none, a, b); });
  bad("trsm", 7, "alpha", [&] { trsm<double>(queue, Side::left, Uplo::lower, Diag::unit, none, a, b); });
  // in the output
  double const* const last = c.data + (c.count - 1) * c.batch_stride + (c.rows - 1) + (c.cols - 1) * c.col_stride;
  bad("gemm", 6, "alpha", [&] { gemm<double>(queue, c.data, a, b, 0, c); });
  bad("gemm", 11, "beta", [&] { gemm<double>(queue, 1, a, b, last, c); });
  bad("trsm", 7, "alpha", [&] { trsm<double>(queue, Side::left, Uplo::lower, Diag::unit, b.data, a, b); });
  GemmGroup<double> const group{.alpha = none, .a = a, .b = b, .beta = 0, .c = c};
  bad("gemm_grouped", 6, "alpha", [&] { gemm_grouped<double>(queue, std::span(&group, 1)); });
}

TEST_F(Arguments, GemmOfHalves) {
  auto const halves = [](auto const& z, half* data) { return batch(data, z.rows, z.cols, {.count = z.count}); };
  std::vector<half> memory_h(3 * 200, half(-77));
  auto const ha = halves(a, memory_h.data()), hb = halves(b, memory_h.data() + 200), hc = halves(c, memory_h.data() + 400);
  std::vector<float> memory_f(200, -77);
  auto const fc = batch(memory_f.data(), n, nrhs, {.count = count});
  auto const call = [&](In<half> p, In<half> q, auto z) { return [=, this] { gemm<half>(queue, 1, p, q, 0, z); }; };
  bad("gemm", 5, "k", call(columns(ha, 0, n - 1), hb, hc));
  bad("gemm", 9, "b", call(ha, fewer(hb), hc));
  bad("gemm", 9, "b", call(ha, fewer(hb), fc));
  bad("gemm", 3, "m", call(ha, hb, batch(memory_f.data(), n + 1, nrhs, {.count = count})));
  bad("gemm", 12, "c", call(ha, hb, hb));
  // The last matrix of A shares memory with a C of floats.
  bad("gemm", 12, "c", call(ha, hb, batch(reinterpret_cast<float*>(memory_h.data()) + 1, n, nrhs, {.count = count})));
  EXPECT_EQ(std::count_if(memory_h.begin(), memory_h.end(), [](half x) { return x.bits() != half(-77).bits(); }), 0);
  EXPECT_EQ(std::count_if(memory_f.begin(), memory_f.end(), [](float x) { return x != -77; }), 0);
}

TEST_F(Arguments, Gemv) {
  auto const call = [&](In<double> p, In<double> q, Batch<double> z) { return [=, this] { gemv(queue, 1.0, p, q, 0.0, z); }; };
  bad("gemv", 2, "m", call(negative_rows(a), r, s));
  bad("gemv", 3, "n", call(negative_cols(a), r, s));
  bad("gemv", 5, "a", call(null(a), r, s));
  bad("gemv", 6, "lda", call(short_ld(a), r, s));
  bad("gemv", 7, "x", call(a, null(r), s));
  bad("gemv", 7, "x", call(a, b, s));
  bad("gemv", 8, "incx", call(a, backwards(r), s));
  bad("gemv", 10, "y", call(a, r, null(s)));
  bad("gemv", 10, "y", call(a, r, c));
  bad("gemv", 10, "y", call(a, r, overlapping(s)));
  bad("gemv", 11, "incy", call(a, r, backwards(s)));
  bad("gemv", 5, "a", call(fewer(a), r, s));
  bad("gemv", 7, "x", call(a, fewer(r), s));
  bad("gemv", 2, "m", call(rows(a, 0, n - 1), r, s));
  bad("gemv", 3, "n", call(narrower(a), r, s));
  bad("gemv", 10, "y", call(a, r, r));
  bad("gemv", 10, "y", call(a, r, columns(a, 1, 1)));
  // A vector of a ragged batch may lack its column.
  std::vector<std::int64_t> const one_each{1, 0, 1};
  Batch<double> uneven = r;
  uneven.col_sizes = one_each.data();
  bad("gemv", 7, "x", call(a, uneven, s));
  bad("gemv", 10, "y", call(a, s, uneven));
}

TEST_F(Arguments, SymvAndHemv) {
  auto const check = [&](std::string const& name, auto routine) {
    auto const call = [&](In<double> p, In<double> q, Batch<double> z) {
      return [=, this] { routine(queue, Uplo::lower, 1.0, p, q, 0.0, z); };
    };
    bad(name, 1, "uplo", [&] { routine(queue, static_cast<Uplo>('X'), 1.0, a, r, 0.0, s); });
    bad(name, 2, "n", call(negative_rows(a), r, s));
    bad(name, 2, "n", call(narrower(a), r, s));
    bad(name, 4, "a", call(null(a), r, s));
    bad(name, 5, "lda", call(short_ld(a), r, s));
    bad(name, 6, "x", call(a, null(r), s));
    bad(name, 6, "x", call(a, b, s));
    bad(name, 7, "incx", call(a, backwards(r), s));
    bad(name, 9, "y", call(a, r, null(s)));
    bad(name, 9, "y", call(a, r, c));
    bad(name, 9, "y", call(a, r, overlapping(s)));
    bad(name, 10, "incy", call(a, r, backwards(s)));
    bad(name, 4, "a", call(fewer(a), r, s));
    bad(name, 6, "x", call(a, fewer(r), s));
    bad(name, 2, "n", call(block(a, 0, 0, n - 1, n - 1), r, s));
    bad(name, 2, "n", call(a, rows(r, 0, n - 1), s));
    bad(name, 9, "y", call(a, r, r));
    bad(name, 9, "y", call(a, r, columns(a, 1, 1)));
  };
  check("symv", [](auto&&... arguments) { symv<double>(arguments...); });
  check("hemv", [](auto&&... arguments) { hemv<double>(arguments...); });
}

TEST_F(Arguments, SymmAndHemm) {
  auto const check = [&](std::string const& name, auto routine) {
    auto const call = [&](In<double> p, In<double> q, Batch<double> z, Side side = Side::left) {
      return [=, this] { routine(queue, side, Uplo::lower, 1.0, p, q, 0.0, z); };
    };
    bad(name, 1, "side", call(a, b, c, static_cast<Side>('X')));
    bad(name, 2, "uplo", [&] { routine(queue, Side::left, static_cast<Uplo>('X'), 1.0, a, b, 0.0, c); });
    bad(name, 3, "m", call(a, b, negative_rows(c)));
    bad(name, 4, "n", call(a, b, negative_cols(c)));
    bad(name, 6, "a", call(null(a), b, c));
    bad(name, 7, "lda", call(short_ld(a), b, c));
    bad(name, 8, "b", call(a, null(b), c));
    bad(name, 9, "ldb", call(a, short_ld(b), c));
    bad(name, 11, "c", call(a, b, null(c)));
    bad(name, 11, "c", call(a, b, overlapping(c)));
    bad(name, 12, "ldc", call(a, b, short_ld(c)));
    bad(name, 6, "a", call(fewer(a), b, c));
    bad(name, 8, "b", call(a, fewer(b), c));
    bad(name, 3, "m", call(narrower(a), b, c));
    bad(name, 3, "m", call(a, rows(b, 0, n - 1), c));
    bad(name, 4, "n", call(a, narrower(b), c));
    bad(name, 4, "n", call(a, b, c, Side::right));
    bad(name, 11, "c", call(a, b, b));
    bad(name, 11, "c", call(a, b, columns(a, 1, nrhs)));
  };
  check("symm", [](auto&&... arguments) { symm<double>(arguments...); });
  check("hemm", [](auto&&... arguments) { hemm<double>(arguments...); });
}

TEST_F(Arguments, SymmetricUpdates) {
  auto const neither = static_cast<Uplo>('X');
  auto const of_one = [&](std::string const& name, auto routine) {
    auto const call = [&](In<double> p, Batch<double> z, Uplo uplo = Uplo::lower) {
      return [=, this] { routine(queue, uplo, 1.0, p, 0.0, z); };
    };
    bad(name, 1, "uplo", call(b, a, neither));
    bad(name, 3, "n", call(b, negative_rows(a)));
    bad(name, 3, "n", call(b, narrower(a)));
    bad(name, 3, "n", call(rows(b, 0, n - 1), a));
    bad(name, 4, "k", call(negative_cols(b), a));
    bad(name, 6, "a", call(null(b), a));
    bad(name, 6, "a", call(fewer(b), a));
    bad(name, 7, "lda", call(short_ld(b), a));
    bad(name, 9, "c", call(b, null(a)));
    bad(name, 9, "c", call(b, overlapping(a)));
    bad(name, 9, "c", call(columns(a, 1, nrhs), a));
    bad(name, 10, "ldc", call(b, short_ld(a)));
  };
  of_one("syrk", [](auto&&... arguments) { syrk<double>(arguments...); });
  of_one("herk", [](auto&&... arguments) { herk<double>(arguments...); });
  auto const of_two = [&](std::string const& name, auto routine) {
    auto const call = [&](In<double> p, In<double> q, Batch<double> z, Uplo uplo = Uplo::lower) {
      return [=, this] { routine(queue, uplo, 1.0, p, q, 0.0, z); };
    };
    bad(name, 1, "uplo", call(b, c, a, neither));
    bad(name, 3, "n", call(b, c, narrower(a)));
    bad(name, 3, "n", call(b, rows(c, 0, n - 1), a));
    bad(name, 4, "k", call(b, narrower(c), a));
    bad(name, 6, "a", call(null(b), c, a));
    bad(name, 7, "lda", call(short_ld(b), c, a));
    bad(name, 8, "b", call(b, null(c), a));
    bad(name, 8, "b", call(b, fewer(c), a));
    bad(name, 9, "ldb", call(b, short_ld(c), a));
    bad(name, 11, "c", call(b, c, null(a)));
    bad(name, 11, "c", call(columns(a, 0, nrhs), c, a));
    bad(name, 11, "c", call(b, columns(a, 0, nrhs), a));
    bad(name, 12, "ldc", call(b, c, short_ld(a)));
  };
  of_two("syr2k", [](auto&&... arguments) { syr2k<double>(arguments...); });
  of_two("her2k", [](auto&&... arguments) { her2k<double>(arguments...); });
}

TEST_F(Arguments, Ger) {
  auto const call = [&](In<double> p, In<double> q, Batch<double> z) { return [=, this] { ger(queue, 1.0, p, q, z); }; };
  bad("ger", 1, "m", call(r, s, negative_rows(a)));
  bad("ger", 2, "n", call(r, s, negative_cols(a)));
  bad("ger", 4, "x", call(null(r), s, a));
  bad("ger", 4, "x", call(b, s, a));
  bad("ger", 5, "incx", call(backwards(r), s, a));
  bad("ger", 6, "y", call(r, null(s), a));
  bad("ger", 6, "y", call(r, transposed(s), a));
  bad("ger", 7, "incy", call(r, backwards(s), a));
  bad("ger", 8, "a", call(r, s, null(a)));
  bad("ger", 9, "lda", call(r, s, short_ld(a)));
  bad("ger", 8, "a", call(r, s, overlapping(a)));
  bad("ger", 4, "x", call(fewer(r), s, a));
  bad("ger", 6, "y", call(r, fewer(s), a));
  bad("ger", 1, "m", call(rows(r, 0, n - 1), s, a));
  bad("ger", 2, "n", call(r, s, narrower(a)));
  bad("ger", 8, "a", call(r, s, batch(memory_r.data(), n, n, {.count = count})));
  bad("ger", 8, "a", call(columns(a, 0, 1), s, a));
  // With alpha = 0 nothing is done, but arguments are checked.
  bad("ger", 6, "y", [&] { ger(queue, 0.0, r, fewer(s), a); });
}

TEST_F(Arguments, Trsm) {
  auto const call = [&](In<double> p, Batch<double> z, Side side = Side::left) {
    return [=, this] { trsm(queue, side, Uplo::lower, Diag::non_unit, 1.0, p, z); };
  };
  bad("trsm", 1, "side", call(a, b, static_cast<Side>('X')));
  bad("trsm", 2, "uplo", [&] { trsm(queue, Side::left, static_cast<Uplo>('X'), Diag::unit, 1.0, a, b); });
  bad("trsm", 4, "diag", [&] { trsm(queue, Side::left, Uplo::lower, static_cast<Diag>('X'), 1.0, a, b); });
  bad("trsm", 5, "m", call(a, negative_rows(b)));
  bad("trsm", 6, "n", call(a, negative_cols(b)));
  bad("trsm", 8, "a", call(null(a), b));
  bad("trsm", 9, "lda", call(short_ld(a), b));
  bad("trsm", 10, "b", call(a, null(b)));
  bad("trsm", 11, "ldb", call(a, short_ld(b)));
  bad("trsm", 8, "a", call(fewer(a), b));
  bad("trsm", 5, "m", call(narrower(a), b));
  bad("trsm", 6, "n", call(a, b, Side::right));
  bad("trsm", 10, "b", call(a, columns(a, 1, nrhs)));
}

TEST_F(Arguments, Trmm) {
  auto const call = [&](In<double> p, Batch<double> z, Side side = Side::left) {
    return [=, this] { trmm(queue, side, Uplo::lower, Diag::non_unit, 1.0, p, z); };
  };
  bad("trmm", 1, "side", call(a, b, static_cast<Side>('X')));
  bad("trmm", 2, "uplo", [&] { trmm(queue, Side::left, static_cast<Uplo>('X'), Diag::unit, 1.0, a, b); });
  bad("trmm", 4, "diag", [&] { trmm(queue, Side::left, Uplo::lower, static_cast<Diag>('X'), 1.0, a, b); });
  bad("trmm", 5, "m", call(a, negative_rows(b)));
  bad("trmm", 6, "n", call(a, negative_cols(b)));
  bad("trmm", 8, "a", call(null(a), b));
  bad("trmm", 9, "lda", call(short_ld(a), b));
  bad("trmm", 10, "b", call(a, null(b)));
  bad("trmm", 11, "ldb", call(a, short_ld(b)));
  bad("trmm", 8, "a", call(fewer(a), b));
  bad("trmm", 5, "m", call(narrower(a), b));
  bad("trmm", 6, "n", call(a, b, Side::right));
  bad("trmm", 10, "b", call(a, columns(a, 1, nrhs)));
}

TEST_F(Arguments, TrsvAndTrmv) {
  auto const check = [&](std::string const& name, auto routine) {
    auto const call = [&](In<double> p, Batch<double> z, Uplo uplo = Uplo::lower, Diag diag = Diag::non_unit) {
      return [=, this] { routine(queue, uplo, diag, p, z); };
    };
    bad(name, 1, "uplo", call(a, r, static_cast<Uplo>('X')));
    bad(name, 3, "diag", call(a, r, Uplo::upper, static_cast<Diag>('X')));
    bad(name, 4, "n", call(negative_rows(a), r));
    bad(name, 4, "n", call(narrower(a), r));
    bad(name, 4, "n", call(a, rows(r, 0, n - 1)));
    bad(name, 5, "a", call(null(a), r));
    bad(name, 5, "a", call(fewer(a), r));
    bad(name, 6, "lda", call(short_ld(a), r));
    bad(name, 7, "x", call(a, null(r)));
    bad(name, 7, "x", call(a, b));
    bad(name, 7, "x", call(a, overlapping(r)));
    bad(name, 7, "x", call(a, columns(a, 1, 1)));
    bad(name, 8, "incx", call(a, backwards(r)));
  };
  check("trsv", [](auto&&... arguments) { trsv<double>(arguments...); });
  check("trmv", [](auto&&... arguments) { trmv<double>(arguments...); });
}

TEST_F(Arguments, Trtri) {
  auto const call = [&](Batch<double> z, Uplo uplo = Uplo::lower, Diag diag = Diag::non_unit) {
    return [=, this] { trtri(queue, uplo, diag, z, info.data()); };
  };
  bad("trtri", 1, "uplo", call(a, static_cast<Uplo>('X')));
  bad("trtri", 2, "diag", call(a, Uplo::upper, static_cast<Diag>('X')));
  bad("trtri", 3, "n", call(negative_rows(a)));
  bad("trtri", 3, "n", call(narrower(a)));
  bad("trtri", 4, "a", call(null(a)));
  bad("trtri", 4, "a", call(overlapping(a)));
  bad("trtri", 5, "lda", call(short_ld(a)));
}

TEST_F(Arguments, Getrf) {
  auto const call = [&](Batch<double> z, Batch<int> p) { return [=, this] { getrf(queue, z, p, info.data()); }; };
  bad("getrf", 1, "m", call(negative_rows(a), pivots));
  bad("getrf", 2, "n", call(negative_cols(a), pivots));
  bad("getrf", 3, "a", call(null(a), pivots));
  bad("getrf", 4, "lda", call(short_ld(a), pivots));
  bad("getrf", 3, "a", call(overlapping(a), pivots));
  bad("getrf", 5, "ipiv", call(a, Batch<int>{.rows = n, .cols = 1, .col_stride = n, .batch_stride = n, .count = count}));
  bad("getrf", 5, "ipiv", call(a, fewer(pivots)));
  bad("getrf", 5, "ipiv", call(a, vectors(memory_p.data(), n - 1, count)));
  bad("getrf_nopiv", 1, "m", [&] { getrf_nopiv(queue, negative_rows(a), info.data()); });
  bad("getrf_nopiv", 3, "a", [&] { getrf_nopiv(queue, null(a), info.data()); });
  bad("getrf_nopiv", 4, "lda", [&] { getrf_nopiv(queue, short_ld(a), info.data()); });
}

TEST_F(Arguments, GetrsGesvSolve) {
  auto const rs = [&](In<double> p, Batch<int const> ipiv, Batch<double> z, Op op = Op::none) {
    return [=, this] { getrs<double>(queue, op, p, ipiv, z); };
  };
  bad("getrs", 1, "trans", rs(a, pivots, b, static_cast<Op>('X')));
  bad("getrs", 2, "n", rs(narrower(a), pivots, b));
  bad("getrs", 3, "nrhs", rs(a, pivots, negative_cols(b)));
  bad("getrs", 4, "a", rs(null(a), pivots, b));
  bad("getrs", 5, "lda", rs(short_ld(a), pivots, b));
  bad("getrs", 6, "ipiv", rs(a, fewer(pivots), b));
  bad("getrs", 7, "b", rs(a, pivots, null(b)));
  bad("getrs", 8, "ldb", rs(a, pivots, short_ld(b)));
  bad("getrs", 7, "b", rs(a, pivots, columns(a, 0, nrhs)));

  auto const sv = [&](Batch<double> p, Batch<int> ipiv, Batch<double> z) { return [=, this] { gesv(queue, p, ipiv, z, info.data()); }; };
  bad("gesv", 1, "n", sv(negative_rows(a), pivots, b));
  bad("gesv", 1, "n", sv(narrower(a), pivots, b));
  bad("gesv", 2, "nrhs", sv(a, pivots, negative_cols(b)));
  bad("gesv", 3, "a", sv(null(a), pivots, b));
  bad("gesv", 4, "lda", sv(short_ld(a), pivots, b));
  bad("gesv", 5, "ipiv", sv(a, fewer(pivots), b));
  bad("gesv", 5, "ipiv", sv(a, vectors(memory_p.data(), n - 1, count), b));
  bad("gesv", 6, "b", sv(a, pivots, null(b)));
  bad("gesv", 6, "b", sv(a, pivots, fewer(b)));
  bad("gesv", 7, "ldb", sv(a, pivots, short_ld(b)));
  bad("gesv", 6, "b", sv(a, pivots, columns(a, 0, nrhs)));

  auto const so = [&](In<double> p, In<double> z, Batch<double> y) { return [=, this] { solve(queue, p, z, y, info.data()); }; };
  bad("solve", 1, "n", so(narrower(a), b, c));
  bad("solve", 2, "nrhs", so(a, b, narrower(c)));
  bad("solve", 3, "a", so(null(a), b, c));
  bad("solve", 4, "lda", so(short_ld(a), b, c));
  bad("solve", 5, "b", so(a, null(b), c));
  bad("solve", 6, "ldb", so(a, short_ld(b), c));
  bad("solve", 7, "x", so(a, b, null(c)));
  bad("solve", 8, "ldx", so(a, b, short_ld(c)));
  bad("solve", 7, "x", so(a, b, fewer(c)));
  bad("solve", 7, "x", so(a, b, columns(a, 0, nrhs)));
  bad("solve", 7, "x", so(a, b, batch(memory_b.data() + 1, n, nrhs, {.count = count})));
}

TEST_F(Arguments, InverseAndDeterminant) {
  bad("getri", 1, "n", [&] { getri<double>(queue, narrower(a), pivots, info.data()); });
  bad("getri", 2, "a", [&] { getri<double>(queue, null(a), pivots, info.data()); });
  bad("getri", 3, "lda", [&] { getri<double>(queue, short_ld(a), pivots, info.data()); });
  bad("getri", 4, "ipiv", [&] { getri<double>(queue, a, fewer(pivots), info.data()); });
  bad("inverse", 1, "n", [&] { inverse(queue, narrower(a), x, info.data()); });
  bad("inverse", 2, "a", [&] { inverse(queue, null(a), x, info.data()); });
  bad("inverse", 3, "lda", [&] { inverse(queue, short_ld(a), x, info.data()); });
  bad("inverse", 4, "x", [&] { inverse(queue, a, null(x), info.data()); });
  bad("inverse", 5, "ldx", [&] { inverse(queue, a, short_ld(x), info.data()); });
  bad("inverse", 4, "x", [&] { inverse(queue, a, batch(memory_a.data() + 1, n, n, {.count = count}), info.data()); });
  bad("det", 1, "n", [&] { det<double>(queue, narrower(a), memory_r.data()); });
  bad("det", 2, "a", [&] { det<double>(queue, null(a), memory_r.data()); });
  bad("det", 3, "lda", [&] { det<double>(queue, short_ld(a), memory_r.data()); });
  bad("det", 4, "det", [&] { det<double>(queue, a, nullptr); });
  bad("logdet", 4, "sign", [&] { logdet<double>(queue, a, nullptr, memory_r.data()); });
  bad("logdet", 5, "logabs", [&] { logdet<double>(queue, a, memory_r.data(), nullptr); });
}

TEST_F(Arguments, Eigenproblems) {
  auto const call = [&](Batch<double> z, Batch<double> values, Job job = Job::vectors, Uplo uplo = Uplo::lower) {
    return [=, this] { syevd(queue, job, uplo, z, values, info.data()); };
  };
  bad("syevd", 1, "jobz", call(a, r, static_cast<Job>('X')));
  bad("syevd", 2, "uplo", call(a, r, Job::values, static_cast<Uplo>('X')));
  bad("syevd", 3, "n", call(negative_rows(a), r));
  bad("syevd", 3, "n", call(narrower(a), r));
  bad("syevd", 3, "n", call(a, rows(r, 0, n - 1)));
  bad("syevd", 4, "a", call(null(a), r));
  bad("syevd", 4, "a", call(overlapping(a), r));
  bad("syevd", 5, "lda", call(short_ld(a), r));
  bad("syevd", 6, "w", call(a, null(r)));
  bad("syevd", 6, "w", call(a, fewer(r)));
  bad("syevd", 6, "w", call(a, b));
  bad("syevd", 6, "w", call(a, columns(a, 1, 1)));
  bad("syevd", 3, "n", [&] {  // LAPACK's workspace would exceed its integers. Matrix and values do not exist: nothing is read
    auto* const elsewhere = reinterpret_cast<double*>(std::uintptr_t{1} << 32);
    syevd(queue, Job::vectors, Uplo::lower, batch(memory_a.data(), 40000, 40000), vectors(elsewhere, 40000, 1), info.data());
  });
  bad("syevd", 3, "n", [&] { heevd(queue, Job::vectors, Uplo::upper, narrower(a), r, info.data()); });
}

TEST_F(Arguments, Tridiagonalization) {
  Batch<double> const d = r, e = rows(s, 0, n - 1), t = rows(vectors(memory_b.data(), n, count), 0, n - 1);
  auto const call = [&](Batch<double> z, Batch<double> diagonal, Batch<double> beside, Batch<double> tau, Uplo uplo = Uplo::lower) {
    return [=, this] { sytrd(queue, uplo, z, diagonal, beside, tau); };
  };
  bad("sytrd", 1, "uplo", call(a, d, e, t, static_cast<Uplo>('X')));
  bad("sytrd", 2, "n", call(negative_rows(a), d, e, t));
  bad("sytrd", 2, "n", call(narrower(a), d, e, t));
  bad("sytrd", 3, "a", call(null(a), d, e, t));
  bad("sytrd", 4, "lda", call(short_ld(a), d, e, t));
  bad("sytrd", 5, "d", call(a, null(d), e, t));
  bad("sytrd", 5, "d", call(a, rows(d, 0, n - 1), e, t));
  bad("sytrd", 6, "e", call(a, d, null(e), t));
  bad("sytrd", 6, "e", call(a, d, d, t));
  bad("sytrd", 7, "tau", call(a, d, e, null(t)));
  bad("sytrd", 7, "tau", call(a, d, e, fewer(t)));
  bad("sytrd", 7, "tau", call(a, d, e, e));
  bad("sytrd", 2, "n", [&] { hetrd(queue, Uplo::upper, narrower(a), d, e, t); });

  auto const form = [&](Batch<double> z, Batch<double> tau_, Uplo uplo = Uplo::lower) {
    return [=, this] { orgtr<double>(queue, uplo, z, tau_); };
  };
  bad("orgtr", 1, "uplo", form(a, t, static_cast<Uplo>('X')));
  bad("orgtr", 2, "n", form(narrower(a), t));
  bad("orgtr", 3, "a", form(null(a), t));
  bad("orgtr", 4, "lda", form(short_ld(a), t));
  bad("orgtr", 5, "tau", form(a, null(t)));
  bad("orgtr", 5, "tau", form(a, d));
  bad("orgtr", 5, "tau", form(a, fewer(t)));
  bad("orgtr", 3, "a", form(a, rows(vectors(memory_a.data(), n, count), 0, n - 1)));

  auto const apply = [&](Batch<double> z, Batch<double> tau_, Batch<double> to, Side side = Side::left, Uplo uplo = Uplo::lower,
                         Op op = Op::none) { return [=, this] { ormtr<double>(queue, side, uplo, op, z, tau_, to); }; };
  bad("ormtr", 1, "side", apply(a, t, c, static_cast<Side>('X')));
  bad("ormtr", 2, "uplo", apply(a, t, c, Side::left, static_cast<Uplo>('X')));
  bad("ormtr", 3, "trans", apply(a, t, c, Side::left, Uplo::upper, static_cast<Op>('X')));
  bad("ormtr", 4, "m", apply(a, t, negative_rows(c)));
  bad("ormtr", 5, "n", apply(a, t, c, Side::right));
  bad("ormtr", 4, "m", apply(narrower(a), t, c));
  bad("ormtr", 6, "a", apply(null(a), t, c));
  bad("ormtr", 6, "a", apply(fewer(a), t, c));
  bad("ormtr", 7, "lda", apply(short_ld(a), t, c));
  bad("ormtr", 8, "tau", apply(a, null(t), c));
  bad("ormtr", 8, "tau", apply(a, d, c));
  bad("ormtr", 9, "c", apply(a, t, null(c)));
  bad("ormtr", 9, "c", apply(a, t, b));
  bad("ormtr", 10, "ldc", apply(a, t, short_ld(c)));
}

TEST_F(Arguments, SingularValues) {
  auto const call = [&](SvdJob job, Batch<double> z, Batch<double> values, Batch<double> u = {}, Batch<double> vt = {}) {
    return [=, this] { gesvd(queue, job, z, values, u, vt, info.data()); };
  };
  SvdJob const no = SvdJob::values, thin = SvdJob::thin;
  Batch<double> const u = batch(memory_b.data(), n, n, {.count = count}), wide = columns(a, 0, 4), tall = rows(a, 0, 4);
  bad("gejsv", 1, "jobz", [&] { gejsv(queue, static_cast<SvdJob>('X'), a, r, {}, {}, info.data()); });
  bad("gejsv", 6, "s", [&] { gejsv(queue, no, a, fewer(r), {}, {}, info.data()); });
  bad("gesvd", 1, "jobz", call(static_cast<SvdJob>('X'), a, r));
  bad("gesvd", 2, "m", call(no, negative_rows(a), r));
  bad("gesvd", 3, "n", call(no, negative_cols(a), r));
  bad("gesvd", 4, "a", call(no, null(a), r));
  bad("gesvd", 4, "a", call(no, overlapping(a), r));
  bad("gesvd", 5, "lda", call(no, short_ld(a), r));
  bad("gesvd", 6, "s", call(no, a, null(r)));
  bad("gesvd", 6, "s", call(no, a, fewer(r)));
  bad("gesvd", 6, "s", call(no, a, rows(r, 0, n - 1)));
  bad("gesvd", 6, "s", call(no, a, columns(a, 1, 1)));
  bad("gesvd", 7, "u", call(thin, a, r));
  bad("gesvd", 7, "u", call(thin, a, r, null(u), x));
  bad("gesvd", 7, "u", call(thin, a, r, fewer(u), x));
  bad("gesvd", 7, "u", call(SvdJob::left, a, r, narrower(u)));
  bad("gesvd", 7, "u", call(SvdJob::left, tall, r, u));
  bad("gesvd", 7, "u", call(SvdJob::full, wide, r, columns(u, 0, 4), rows(x, 0, 4)));
  bad("gesvd", 7, "u", call(thin, a, r, a, x));
  bad("gesvd", 8, "ldu", call(thin, a, r, short_ld(u), x));
  bad("gesvd", 9, "vt", call(thin, a, r, u, null(x)));
  bad("gesvd", 9, "vt", call(SvdJob::right, a, r, {}, rows(x, 0, n - 1)));
  bad("gesvd", 9, "vt", call(SvdJob::right, wide, r, {}, x));
  bad("gesvd", 9, "vt", call(SvdJob::full, tall, rows(r, 0, 4), batch(memory_b.data(), 4, 4, {.count = count}), rows(x, 0, 4)));
  bad("gesvd", 9, "vt", call(thin, a, r, u, u));
  bad("gesvd", 10, "ldvt", call(thin, a, r, u, short_ld(x)));
  bad("gesvd", 3, "n", [&] {  // LAPACK's workspace would exceed its integers. Nothing of these exists, and nothing is read
    auto* const at = reinterpret_cast<double*>(std::uintptr_t{1} << 40);
    std::int64_t const size = 40000, all = size * size;
    gesvd(queue, thin, batch(at, size, size), vectors(at + all, size, 1), batch(at + 2 * all, size, size), batch(at + 4 * all, size, size),
          info.data());
  });
}

TEST_F(Arguments, Pseudoinverse) {
  auto const call = [&](Batch<double> z, Batch<double> to, double rcond = -1) {
    return [=, this] { pinv<double>(queue, z, rcond, to, nullptr, info.data()); };
  };
  Batch<double> const y = batch(memory_b.data(), 4, n, {.count = count}), wide = columns(a, 0, 4);
  bad("pinv", 1, "m", call(negative_rows(a), x));
  bad("pinv", 1, "m", call(wide, columns(y, 0, 4)));
  bad("pinv", 2, "n", call(negative_cols(a), x));
  bad("pinv", 2, "n", call(a, rows(x, 0, 4)));
  bad("pinv", 3, "a", call(null(a), x));
  bad("pinv", 4, "lda", call(short_ld(a), x));
  bad("pinv", 5, "rcond", call(a, x, std::numeric_limits<double>::quiet_NaN()));
  bad("pinv", 6, "x", call(wide, null(y)));
  bad("pinv", 6, "x", call(wide, fewer(y)));
  bad("pinv", 6, "x", call(a, a));
  bad("pinv", 7, "ldx", call(a, short_ld(x)));
  bad("pinv", 2, "n", [&] {  // as for gesvd, before memory is taken
    auto* const at = reinterpret_cast<double*>(std::uintptr_t{1} << 40);
    std::int64_t const size = 40000;
    pinv<double>(queue, batch(at, size, size), -1.0, batch(at + size * size, size, size), nullptr, info.data());
  });
}

TEST_F(Arguments, LeastSquaresOfAnyRank) {
  auto const call = [&](Batch<double> z, Batch<double> sides, Batch<double> values, double rcond = -1) {
    return [=, this] { gelsd<double>(queue, z, sides, values, rcond, nullptr, info.data()); };
  };
  bad("gelsd", 1, "m", call(negative_rows(a), b, r));
  bad("gelsd", 2, "n", call(negative_cols(a), b, r));
  bad("gelsd", 3, "nrhs", call(a, negative_cols(b), r));
  bad("gelsd", 4, "a", call(null(a), b, r));
  bad("gelsd", 5, "lda", call(short_ld(a), b, r));
  bad("gelsd", 6, "b", call(a, null(b), r));
  bad("gelsd", 6, "b", call(a, fewer(b), r));
  bad("gelsd", 6, "b", call(a, rows(b, 0, n - 1), r));
  bad("gelsd", 6, "b", call(a, columns(a, 0, nrhs), r));
  bad("gelsd", 7, "ldb", call(a, short_ld(b), r));
  bad("gelsd", 8, "s", call(a, b, fewer(r)));
  bad("gelsd", 8, "s", call(a, b, rows(r, 0, n - 1)));
  bad("gelsd", 8, "s", call(a, b, rows(columns(b, 0, 1), 0, n)));
  bad("gelsd", 9, "rcond", call(a, b, r, std::numeric_limits<double>::quiet_NaN()));
}

TEST_F(Arguments, NumbersOfSingularValues) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const rank_of = [&](Batch<double> z, double atol, double rtol, int* to) {
    return [=, this] { matrix_rank<double>(queue, z, atol, rtol, to, info.data()); };
  };
  bad("matrix_rank", 1, "m", rank_of(negative_rows(a), 0, -1, info.data()));
  bad("matrix_rank", 2, "n", rank_of(negative_cols(a), 0, -1, info.data()));
  bad("matrix_rank", 3, "a", rank_of(null(a), 0, -1, info.data()));
  bad("matrix_rank", 4, "lda", rank_of(short_ld(a), 0, -1, info.data()));
  bad("matrix_rank", 5, "atol", rank_of(a, -1, -1, info.data()));
  bad("matrix_rank", 5, "atol", rank_of(a, nan, -1, info.data()));
  bad("matrix_rank", 6, "rtol", rank_of(a, 0, nan, info.data()));
  bad("matrix_rank", 7, "rank", rank_of(a, 0, -1, nullptr));
  bad("cond", 3, "a", [&] { cond<double>(queue, null(a), memory_r.data(), info.data()); });
  bad("cond", 5, "cond", [&] { cond<double>(queue, a, nullptr, info.data()); });
  bad("norm2", 4, "lda", [&] { norm2<double>(queue, short_ld(a), memory_r.data(), info.data()); });
  bad("norm2", 5, "norm", [&] { norm2<double>(queue, a, nullptr, info.data()); });
}

TEST_F(Arguments, Bidiagonalization) {
  Batch<double> const d = r, e = rows(s, 0, n - 1), tq = vectors(memory_b.data(), n, count), tp = vectors(memory_c.data(), n, count);
  auto const call = [&](Batch<double> z, Batch<double> diagonal, Batch<double> beside, Batch<double> tauq, Batch<double> taup) {
    return [=, this] { gebrd(queue, z, diagonal, beside, tauq, taup); };
  };
  bad("gebrd", 1, "m", call(negative_rows(a), d, e, tq, tp));
  bad("gebrd", 2, "n", call(negative_cols(a), d, e, tq, tp));
  bad("gebrd", 3, "a", call(null(a), d, e, tq, tp));
  bad("gebrd", 4, "lda", call(short_ld(a), d, e, tq, tp));
  bad("gebrd", 5, "d", call(a, null(d), e, tq, tp));
  bad("gebrd", 5, "d", call(a, rows(d, 0, n - 1), e, tq, tp));
  bad("gebrd", 5, "d", call(a, columns(a, 0, 1), e, tq, tp));
  bad("gebrd", 6, "e", call(a, d, rows(e, 0, n - 2), tq, tp));
  bad("gebrd", 6, "e", call(a, d, d, tq, tp));
  bad("gebrd", 7, "tauq", call(a, d, e, fewer(tq), tp));
  bad("gebrd", 7, "tauq", call(a, d, e, rows(tq, 0, n - 1), tp));
  bad("gebrd", 7, "tauq", call(a, d, e, d, tp));
  bad("gebrd", 8, "taup", call(a, d, e, tq, null(tp)));
  bad("gebrd", 8, "taup", call(a, d, e, tq, rows(tp, 0, n - 1)));
  bad("gebrd", 8, "taup", call(a, d, e, tq, tq));

  auto const form = [&](Vect vect, RaggedSize k, Batch<double> z, Batch<double> tau_) {
    return [=, this] { orgbr<double>(queue, vect, k, z, tau_); };
  };
  Vect const q = Vect::q, p = Vect::p;
  std::vector<std::int64_t> const sizes{n, 3, n};
  bad("orgbr", 1, "vect", form(static_cast<Vect>('X'), n, a, tq));
  bad("orgbr", 2, "m", form(q, n, negative_rows(a), tq));
  bad("orgbr", 3, "n", form(q, n, rows(a, 0, n - 1), tq));
  bad("orgbr", 3, "n", form(q, n, narrower(a), tq));
  bad("orgbr", 3, "n", form(p, n, narrower(a), tq));
  bad("orgbr", 3, "n", form(p, n, rows(a, 0, n - 1), tq));
  bad("orgbr", 3, "n", form(q, {n, sizes.data()}, columns(a, 0, 4), tq));
  bad("orgbr", 4, "k", form(q, -1, a, tq));
  bad("orgbr", 5, "a", form(q, n, null(a), tq));
  bad("orgbr", 5, "a", form(q, n, a, vectors(memory_a.data(), n, count)));
  bad("orgbr", 6, "lda", form(q, n, short_ld(a), tq));
  bad("orgbr", 7, "tau", form(q, n, a, null(tq)));
  bad("orgbr", 7, "tau", form(p, n, a, rows(tq, 0, n - 1)));
  bad("orgbr", 7, "tau", form(q, n, a, fewer(tq)));

  auto const apply = [&](Vect vect, RaggedSize k, Batch<double> z, Batch<double> tau_, Batch<double> to, Side side = Side::left,
                         Op op = Op::none) { return [=, this] { ormbr<double>(queue, vect, side, op, k, z, tau_, to); }; };
  bad("ormbr", 1, "vect", apply(static_cast<Vect>('X'), n, a, tau, c));
  bad("ormbr", 2, "side", apply(q, n, a, tau, c, static_cast<Side>('X')));
  bad("ormbr", 3, "trans", apply(q, n, a, tau, c, Side::left, static_cast<Op>('X')));
  bad("ormbr", 4, "m", apply(q, n, a, tau, negative_rows(c)));
  bad("ormbr", 4, "m", apply(q, n, rows(a, 0, n - 1), tau, c));
  bad("ormbr", 4, "m", apply(p, n, narrower(a), tau, c));
  bad("ormbr", 5, "n", apply(q, n, a, tau, c, Side::right));
  bad("ormbr", 6, "k", apply(q, -1, a, tau, c));
  bad("ormbr", 7, "a", apply(q, n, narrower(a), tau, c));
  bad("ormbr", 7, "a", apply(p, n, rows(a, 0, n - 1), tau, c));
  bad("ormbr", 7, "a", apply(q, n, null(a), tau, c));
  bad("ormbr", 7, "a", apply(q, n, fewer(a), tau, c));
  bad("ormbr", 8, "lda", apply(q, n, short_ld(a), tau, c));
  bad("ormbr", 9, "tau", apply(q, n, a, rows(tau, 0, n - 1), c));
  bad("ormbr", 9, "tau", apply(q, n, a, null(tau), c));
  bad("ormbr", 10, "c", apply(q, n, a, tau, null(c)));
  bad("ormbr", 10, "c", apply(q, n, a, tau, columns(a, 0, 2)));
  bad("ormbr", 11, "ldc", apply(q, n, a, tau, short_ld(c)));
}

TEST_F(Arguments, Cholesky) {
  Uplo const lower = Uplo::lower;
  Uplo const neither = static_cast<Uplo>('X');
  bad("potrf", 1, "uplo", [&] { potrf(queue, neither, a, info.data()); });
  bad("potrf", 2, "n", [&] { potrf(queue, lower, narrower(a), info.data()); });
  bad("potrf", 3, "a", [&] { potrf(queue, lower, null(a), info.data()); });
  bad("potrf", 4, "lda", [&] { potrf(queue, lower, short_ld(a), info.data()); });
  bad("potri", 1, "uplo", [&] { potri(queue, neither, a, info.data()); });
  bad("potri", 2, "n", [&] { potri(queue, lower, narrower(a), info.data()); });
  bad("potri", 3, "a", [&] { potri(queue, lower, null(a), info.data()); });
  bad("potri", 4, "lda", [&] { potri(queue, lower, short_ld(a), info.data()); });
  bad("potrs", 1, "uplo", [&] { potrs<double>(queue, neither, a, b); });
  bad("potrs", 2, "n", [&] { potrs<double>(queue, lower, narrower(a), b); });
  bad("potrs", 3, "nrhs", [&] { potrs<double>(queue, lower, a, negative_cols(b)); });
  bad("potrs", 4, "a", [&] { potrs<double>(queue, lower, null(a), b); });
  bad("potrs", 5, "lda", [&] { potrs<double>(queue, lower, short_ld(a), b); });
  bad("potrs", 6, "b", [&] { potrs<double>(queue, lower, a, null(b)); });
  bad("potrs", 7, "ldb", [&] { potrs<double>(queue, lower, a, short_ld(b)); });
  bad("posv", 1, "uplo", [&] { posv(queue, neither, a, b, info.data()); });
  bad("posv", 2, "n", [&] { posv(queue, lower, narrower(a), b, info.data()); });
  bad("posv", 3, "nrhs", [&] { posv(queue, lower, a, negative_cols(b), info.data()); });
  bad("posv", 4, "a", [&] { posv(queue, lower, null(a), b, info.data()); });
  bad("posv", 5, "lda", [&] { posv(queue, lower, short_ld(a), b, info.data()); });
  bad("posv", 6, "b", [&] { posv(queue, lower, a, fewer(b), info.data()); });
  bad("posv", 7, "ldb", [&] { posv(queue, lower, a, short_ld(b), info.data()); });
  bad("posv", 6, "b", [&] { posv(queue, lower, a, columns(a, 0, nrhs), info.data()); });
  auto const so = [&](Uplo uplo, In<double> p, In<double> z, Batch<double> y) {
    return [=, this] { solve_positive_definite(queue, uplo, p, z, y, info.data()); };
  };
  bad("solve_positive_definite", 1, "uplo", so(neither, a, b, c));
  bad("solve_positive_definite", 2, "n", so(lower, narrower(a), b, c));
  bad("solve_positive_definite", 3, "nrhs", so(lower, a, b, narrower(c)));
  bad("solve_positive_definite", 4, "a", so(lower, null(a), b, c));
  bad("solve_positive_definite", 5, "lda", so(lower, short_ld(a), b, c));
  bad("solve_positive_definite", 6, "b", so(lower, a, null(b), c));
  bad("solve_positive_definite", 7, "ldb", so(lower, a, short_ld(b), c));
  bad("solve_positive_definite", 8, "x", so(lower, a, b, null(c)));
  bad("solve_positive_definite", 9, "ldx", so(lower, a, b, short_ld(c)));
  bad("solve_positive_definite", 8, "x", so(lower, a, b, fewer(c)));
  bad("solve_positive_definite", 8, "x", so(lower, a, b, columns(a, 0, nrhs)));
  bad("solve_positive_definite", 8, "x", so(lower, a, b, batch(memory_b.data() + 1, n, nrhs, {.count = count})));
}

TEST_F(Arguments, RegularizedCholesky) {
  auto const lower = Uplo::lower, neither = static_cast<Uplo>('X');
  auto const factor = [&](Uplo uplo, Batch<double> p) {
    return [=, this] { potrf_regularized(queue, uplo, p, nullptr, nullptr, nullptr, info.data()); };
  };
  bad("potrf_regularized", 1, "uplo", factor(neither, a));
  bad("potrf_regularized", 2, "n", factor(lower, narrower(a)));
  bad("potrf_regularized", 3, "a", factor(lower, null(a)));
  bad("potrf_regularized", 4, "lda", factor(lower, short_ld(a)));
  auto const so = [&](Uplo uplo, Batch<double> p, Batch<double> z) {
    return [=, this] { posv_regularized(queue, uplo, p, z, nullptr, nullptr, nullptr, info.data()); };
  };
  bad("posv_regularized", 1, "uplo", so(neither, a, b));
  bad("posv_regularized", 2, "n", so(lower, narrower(a), b));
  bad("posv_regularized", 3, "nrhs", so(lower, a, negative_cols(b)));
  bad("posv_regularized", 4, "a", so(lower, null(a), b));
  bad("posv_regularized", 5, "lda", so(lower, short_ld(a), b));
  bad("posv_regularized", 6, "b", so(lower, a, fewer(b)));
  bad("posv_regularized", 7, "ldb", so(lower, a, short_ld(b)));
  bad("posv_regularized", 6, "b", so(lower, a, columns(a, 0, nrhs)));
}

TEST_F(Arguments, MixedPrecision) {
  auto const sv = [&](Batch<double> p, Batch<int> ipiv, In<double> z, Batch<double> y) {
    return [=, this] { gesv_mixed<double>(queue, p, ipiv, z, y, nullptr, info.data()); };
  };
  bad("gesv_mixed", 1, "n", sv(narrower(a), pivots, b, c));
  bad("gesv_mixed", 2, "nrhs", sv(a, pivots, b, narrower(c)));
  bad("gesv_mixed", 3, "a", sv(null(a), pivots, b, c));
  bad("gesv_mixed", 3, "a", sv(a, pivots, columns(a, 0, nrhs), c));
  bad("gesv_mixed", 4, "lda", sv(short_ld(a), pivots, b, c));
  bad("gesv_mixed", 5, "ipiv", sv(a, fewer(pivots), b, c));
  bad("gesv_mixed", 5, "ipiv", sv(a, vectors(memory_p.data(), n - 1, count), b, c));
  bad("gesv_mixed", 6, "b", sv(a, pivots, null(b), c));
  bad("gesv_mixed", 6, "b", sv(a, pivots, fewer(b), c));
  bad("gesv_mixed", 7, "ldb", sv(a, pivots, short_ld(b), c));
  bad("gesv_mixed", 8, "x", sv(a, pivots, b, null(c)));
  bad("gesv_mixed", 8, "x", sv(a, pivots, b, fewer(c)));
  bad("gesv_mixed", 8, "x", sv(a, pivots, b, columns(a, 0, nrhs)));
  bad("gesv_mixed", 9, "ldx", sv(a, pivots, b, short_ld(c)));
  auto const so = [&](Uplo uplo, Batch<double> p, In<double> z, Batch<double> y) {
    return [=, this] { posv_mixed<double>(queue, uplo, p, z, y, nullptr, info.data()); };
  };
  auto const lower = Uplo::lower;
  bad("posv_mixed", 1, "uplo", so(static_cast<Uplo>('X'), a, b, c));
  bad("posv_mixed", 2, "n", so(lower, narrower(a), b, c));
  bad("posv_mixed", 3, "nrhs", so(lower, a, b, narrower(c)));
  bad("posv_mixed", 4, "a", so(lower, null(a), b, c));
  bad("posv_mixed", 4, "a", so(lower, a, columns(a, 0, nrhs), c));
  bad("posv_mixed", 5, "lda", so(lower, short_ld(a), b, c));
  bad("posv_mixed", 6, "b", so(lower, a, null(b), c));
  bad("posv_mixed", 7, "ldb", so(lower, a, short_ld(b), c));
  bad("posv_mixed", 8, "x", so(lower, a, b, null(c)));
  bad("posv_mixed", 8, "x", so(lower, a, b, columns(a, 0, nrhs)));
  bad("posv_mixed", 9, "ldx", so(lower, a, b, short_ld(c)));
}

TEST_F(Arguments, Qr) {
  bad("geqrf", 1, "m", [&] { geqrf(queue, negative_rows(a), tau); });
  bad("geqrf", 2, "n", [&] { geqrf(queue, negative_cols(a), tau); });
  bad("geqrf", 3, "a", [&] { geqrf(queue, null(a), tau); });
  bad("geqrf", 4, "lda", [&] { geqrf(queue, short_ld(a), tau); });
  bad("geqrf", 5, "tau", [&] { geqrf(queue, a, null(tau)); });
  bad("geqrf", 5, "tau", [&] { geqrf(queue, a, vectors(memory_r.data(), n - 1, count)); });
  bad("geqrf", 5, "tau", [&] { geqrf(queue, a, vectors(memory_a.data(), n, count, n * n)); });
  bad("geqp3", 1, "m", [&] { geqp3(queue, negative_rows(a), pivots, tau); });
  bad("geqp3", 2, "n", [&] { geqp3(queue, negative_cols(a), pivots, tau); });
  bad("geqp3", 3, "a", [&] { geqp3(queue, null(a), pivots, tau); });
  bad("geqp3", 4, "lda", [&] { geqp3(queue, short_ld(a), pivots, tau); });
  bad("geqp3", 5, "jpvt", [&] { geqp3(queue, a, fewer(pivots), tau); });
  bad("geqp3", 5, "jpvt", [&] { geqp3(queue, a, vectors(memory_p.data(), n - 1, count), tau); });
  bad("geqp3", 6, "tau", [&] { geqp3(queue, a, pivots, null(tau)); });
  bad("geqp3", 6, "tau", [&] { geqp3(queue, a, pivots, vectors(memory_r.data(), n - 1, count)); });
  bad("geqp3", 6, "tau", [&] { geqp3(queue, a, pivots, vectors(memory_a.data(), n, count, n * n)); });
  auto const lsy = [&](Batch<double> p, Batch<double> y, Batch<int> numbers, double rcond = 0) {
    return [=, this] { gelsy<double>(queue, p, y, numbers, rcond, info.data()); };
  };
  bad("gelsy", 1, "m", lsy(negative_rows(a), b, pivots));
  bad("gelsy", 2, "n", lsy(negative_cols(a), b, pivots));
  bad("gelsy", 3, "nrhs", lsy(a, negative_cols(b), pivots));
  bad("gelsy", 4, "a", lsy(null(a), b, pivots));
  bad("gelsy", 5, "lda", lsy(short_ld(a), b, pivots));
  bad("gelsy", 6, "b", lsy(a, null(b), pivots));
  bad("gelsy", 6, "b", lsy(a, fewer(b), pivots));
  bad("gelsy", 6, "b", lsy(a, columns(a, 0, nrhs), pivots));
  bad("gelsy", 6, "b", lsy(rows(a, 0, n - 1), rows(b, 0, n - 1), pivots));
  bad("gelsy", 7, "ldb", lsy(a, short_ld(b), pivots));
  bad("gelsy", 8, "jpvt", lsy(a, b, fewer(pivots)));
  bad("gelsy", 8, "jpvt", lsy(a, b, vectors(memory_p.data(), n - 1, count)));
  bad("gelsy", 8, "jpvt", lsy(a, b, vectors(reinterpret_cast<int*>(memory_b.data()), n, count)));
  bad("gelsy", 8, "jpvt", lsy(a, b, vectors(reinterpret_cast<int*>(memory_a.data()), n, count)));
  bad("gelsy", 9, "rcond", lsy(a, b, pivots, std::numeric_limits<double>::quiet_NaN()));
  auto const mqr = [&](Side side, Op op, In<double> p, In<double> t, Batch<double> z) {
    return [=, this] { ormqr<double>(queue, side, op, p, t, z); };
  };
  bad("ormqr", 1, "side", mqr(static_cast<Side>('X'), Op::none, a, tau, c));
  bad("ormqr", 2, "trans", mqr(Side::left, static_cast<Op>('X'), a, tau, c));
  bad("ormqr", 3, "m", mqr(Side::left, Op::none, a, tau, negative_rows(c)));
  bad("ormqr", 4, "n", mqr(Side::left, Op::none, a, tau, negative_cols(c)));
  bad("ormqr", 5, "k", mqr(Side::left, Op::none, narrower(a), tau, c));
  bad("ormqr", 6, "a", mqr(Side::left, Op::none, null(a), tau, c));
  bad("ormqr", 7, "lda", mqr(Side::left, Op::none, short_ld(a), tau, c));
  bad("ormqr", 8, "tau", mqr(Side::left, Op::none, a, null(tau), c));
  bad("ormqr", 9, "c", mqr(Side::left, Op::none, a, tau, null(c)));
  bad("ormqr", 10, "ldc", mqr(Side::left, Op::none, a, tau, short_ld(c)));
  bad("ormqr", 4, "n", mqr(Side::right, Op::none, a, tau, c));
  bad("ormqr", 9, "c", mqr(Side::left, Op::none, a, tau, columns(a, 0, nrhs)));
  std::vector<std::complex<double>> z(80);
  auto const complex_batch = batch(z.data(), 2, 2, {.count = 2});
  bad("ormqr", 2, "trans", [&] {
    ormqr<std::complex<double>>(queue, Side::left, Op::transpose, complex_batch, vectors(z.data() + 20, 2, 2),
                                batch(z.data() + 40, 2, 2, {.count = 2}));
  });
  bad("orgqr", 1, "m", [&] { orgqr<double>(queue, negative_rows(a), tau); });
  bad("orgqr", 2, "n", [&] { orgqr<double>(queue, transposed(b), ferr); });
  bad("orgqr", 3, "k", [&] { orgqr<double>(queue, narrower(a), tau); });
  bad("orgqr", 4, "a", [&] { orgqr<double>(queue, null(a), tau); });
  bad("orgqr", 5, "lda", [&] { orgqr<double>(queue, short_ld(a), tau); });
  bad("orgqr", 6, "tau", [&] { orgqr<double>(queue, a, null(tau)); });
  bad("gels", 2, "m", [&] { gels(queue, negative_rows(a), b, info.data()); });
  bad("gels", 3, "n", [&] { gels(queue, negative_cols(a), b, info.data()); });
  bad("gels", 4, "nrhs", [&] { gels(queue, a, negative_cols(b), info.data()); });
  bad("gels", 5, "a", [&] { gels(queue, null(a), b, info.data()); });
  bad("gels", 6, "lda", [&] { gels(queue, short_ld(a), b, info.data()); });
  bad("gels", 7, "b", [&] { gels(queue, a, null(b), info.data()); });
  bad("gels", 7, "b", [&] { gels(queue, a, fewer(b), info.data()); });
  bad("gels", 8, "ldb", [&] { gels(queue, a, short_ld(b), info.data()); });
  bad("gels", 7, "b", [&] { gels(queue, a, columns(a, 0, nrhs), info.data()); });
}

TEST_F(Arguments, Refinement) {
  double* const none = nullptr;
  auto const equ = [&](Batch<double> p, Batch<double> u, Batch<double> v) {
    return [=, this] { geequ(queue, p, u, v, none, none, none, info.data()); };
  };
  bad("geequ", 1, "m", equ(negative_rows(a), r, s));
  bad("geequ", 2, "n", equ(negative_cols(a), r, s));
  bad("geequ", 3, "a", equ(null(a), r, s));
  bad("geequ", 4, "lda", equ(short_ld(a), r, s));
  bad("geequ", 5, "r", equ(a, null(r), s));
  bad("geequ", 6, "c", equ(a, r, null(s)));
  bad("geequ", 5, "r", equ(a, longer(r), s));
  bad("geequ", 6, "c", equ(a, r, r));
  auto const qge = [&](Batch<double> p, Batch<double> u, Batch<double> v) { return [=, this] { laqge<double>(queue, p, u, v); }; };
  bad("laqge", 1, "m", qge(negative_rows(a), r, s));
  bad("laqge", 3, "a", qge(null(a), r, s));
  bad("laqge", 4, "lda", qge(short_ld(a), r, s));
  bad("laqge", 5, "r", qge(a, longer(r), s));
  bad("laqge", 6, "c", qge(a, r, fewer(s)));
  auto const rfs = [&](In<double> p, In<double> f, Batch<int const> ipiv, In<double> z, Batch<double> y) {
    return [=, this] { gerfs<double>(queue, Op::none, p, f, ipiv, z, y, ferr, berr); };
  };
  std::vector<double> factors(100, 1.0);
  auto const af = batch(factors.data(), n, n, {.count = count});
  bad("gerfs", 1, "trans", [&] { gerfs<double>(queue, static_cast<Op>('X'), a, af, pivots, b, c, ferr, berr); });
  bad("gerfs", 2, "n", rfs(narrower(a), af, pivots, b, c));
  bad("gerfs", 3, "nrhs", rfs(a, af, pivots, negative_cols(b), c));
  bad("gerfs", 4, "a", rfs(null(a), af, pivots, b, c));
  bad("gerfs", 5, "lda", rfs(short_ld(a), af, pivots, b, c));
  bad("gerfs", 6, "af", rfs(a, null(af), pivots, b, c));
  bad("gerfs", 7, "ldaf", rfs(a, short_ld(af), pivots, b, c));
  bad("gerfs", 8, "ipiv", rfs(a, af, fewer(pivots), b, c));
  bad("gerfs", 9, "b", rfs(a, af, pivots, null(b), c));
  bad("gerfs", 10, "ldb", rfs(a, af, pivots, short_ld(b), c));
  bad("gerfs", 11, "x", rfs(a, af, pivots, b, null(c)));
  bad("gerfs", 12, "ldx", rfs(a, af, pivots, b, short_ld(c)));
  bad("gerfs", 11, "x", rfs(a, af, pivots, b, b));
  bad("gerfs", 13, "ferr", [&] { gerfs<double>(queue, Op::none, a, af, pivots, b, c, fewer(ferr), berr); });
  bad("gerfs", 14, "berr", [&] { gerfs<double>(queue, Op::none, a, af, pivots, b, c, ferr, longer(berr)); });
  auto const error = [&](Batch<double> p, In<double> y, In<double> z, Batch<double> e) {
    return [=, this] { backward_error<double>(queue, p, y, z, e); };
  };
  bad("backward_error", 1, "m", error(negative_rows(a), c, b, berr));
  bad("backward_error", 2, "n", error(narrower(a), c, b, berr));
  bad("backward_error", 3, "nrhs", error(a, c, narrower(b), berr));
  bad("backward_error", 4, "a", error(null(a), c, b, berr));
  bad("backward_error", 5, "lda", error(short_ld(a), c, b, berr));
  bad("backward_error", 6, "x", error(a, null(c), b, berr));
  bad("backward_error", 7, "ldx", error(a, short_ld(c), b, berr));
  bad("backward_error", 8, "b", error(a, c, null(b), berr));
  bad("backward_error", 9, "ldb", error(a, c, short_ld(b), berr));
  bad("backward_error", 10, "berr", error(a, c, b, null(berr)));
}

TEST_F(Arguments, PointersAndRaggedSizes) {
  std::vector<double*> pointers{memory_a.data(), memory_a.data() + 25, nullptr};
  auto behind = batch(pointers.data(), n, n, {.ld = n, .count = count});
  bad("getrf", 3, "a", [&] { getrf(queue, behind, pivots, info.data()); });
  pointers[2] = memory_a.data() + 30;  // within matrix 1
  bad("getrf", 3, "a", [&] { getrf(queue, behind, pivots, info.data()); });
  std::vector<std::int64_t> sizes{1, n + 1, 2};
  auto ragged = a;
  ragged.row_sizes = ragged.col_sizes = sizes.data();
  bad("getrf", 1, "m", [&] { getrf(queue, ragged, pivots, info.data()); });
  sizes[1] = -1;
  bad("getrf", 1, "m", [&] { getrf(queue, ragged, pivots, info.data()); });
  sizes[1] = 3;
  auto uneven = ragged;
  std::vector<std::int64_t> others{1, 3, 3};
  uneven.col_sizes = others.data();
  bad("gesv", 1, "n", [&] { gesv(queue, uneven, pivots, b, info.data()); });
}

TEST_F(Arguments, NothingToDoIsNoError) {
  Batch<double> const no_matrix{.rows = n, .cols = n, .col_stride = n, .count = 0};
  Batch<double> const no_rows{.rows = 0, .cols = 0, .col_stride = 1, .count = 3};
  Batch<int> const no_pivots{.rows = n, .cols = 1, .col_stride = n, .count = 0};
  EXPECT_NO_THROW(getrf(queue, no_matrix, no_pivots, nullptr));
  EXPECT_NO_THROW(gemm(queue, 1.0, no_matrix, no_matrix, 0.0, no_matrix));
  Batch<double> const no_vector{.rows = n, .cols = 1, .col_stride = n, .count = 0};
  EXPECT_NO_THROW(gemv(queue, 1.0, no_matrix, no_vector, 0.0, no_vector));
  EXPECT_NO_THROW(symv(queue, Uplo::upper, 1.0, no_matrix, no_vector, 0.0, no_vector));
  EXPECT_NO_THROW(ger(queue, 1.0, no_vector, no_vector, no_matrix));
  EXPECT_NO_THROW(potrf(queue, Uplo::lower, no_matrix, nullptr));
  EXPECT_NO_THROW(syevd(queue, Job::vectors, Uplo::lower, no_matrix, no_vector, nullptr));
  Batch<double> const no_entries{.rows = 0, .cols = 1, .count = 3};
  EXPECT_NO_THROW(syevd(queue, Job::vectors, Uplo::lower, no_rows, no_entries, info.data()));
  for (int b = 0; b < 3; ++b) EXPECT_EQ(info[static_cast<std::size_t>(b)], 0) << "info of an empty matrix";
  std::fill(info.begin(), info.end(), -77);
  EXPECT_NO_THROW(potrf(queue, Uplo::lower, no_rows, info.data()));
  for (int b = 0; b < 3; ++b) EXPECT_EQ(info[static_cast<std::size_t>(b)], 0) << "info of an empty matrix";
}

}  // namespace
}  // namespace myriad
