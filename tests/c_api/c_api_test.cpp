/// The C interface against the C++ one: same bits for every routine and element type; and its own argument checks.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "myriad/myriad.h"
#include "myriad/myriad.hpp"

namespace {

using myriad::Batch;
using myriad::Real;

constexpr std::int64_t n = 5, m = 7, nrhs = 3, count = 9;

struct QueueCloser {
  void operator()(myriad_queue* queue) const { myriad_queue_destroy(queue); }
};
using QueuePointer = std::unique_ptr<myriad_queue, QueueCloser>;

QueuePointer make_queue(int threads = 1) {
  myriad_queue* queue = nullptr;
  EXPECT_EQ(myriad_queue_create(&queue, MYRIAD_CPU, threads), MYRIAD_OK) << myriad_last_error(nullptr);
  return QueuePointer(queue);
}

template <typename T>
constexpr myriad_dtype dtype_of = static_cast<myriad_dtype>(myriad::dtype_of<T>);
template <>
constexpr myriad_dtype dtype_of<int> = MYRIAD_INT;

/// Memory of `count` column-major matrices, with its two descriptors.
template <typename T>
struct Matrices {
  std::int64_t rows, cols;
  std::vector<T> data;

  Matrices(std::int64_t rows_, std::int64_t cols_, T fill = T())
      : rows(rows_), cols(cols_), data(static_cast<std::size_t>(rows_ * cols_ * count), fill) {}
  [[nodiscard]] Batch<T> cpp() { return myriad::batch(data.data(), rows, cols, {.count = count}); }
  [[nodiscard]] myriad_batch c() const { return myriad_strided(dtype_of<T>, rows, cols, data.data(), 0, 0, count); }
};

template <typename T>
Matrices<T> random_matrices(std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<Real<T>> uniform(-1, 1);
  Matrices<T> x(rows, cols);
  for (T& value : x.data) {
    if constexpr (myriad::is_complex<T>) {
      auto const re = uniform(engine);
      value = T(re, uniform(engine));
    } else {
      value = uniform(engine);
    }
  }
  return x;
}

/// Hermitian positive definite.
template <typename T>
Matrices<T> positive_matrices(unsigned seed) {
  Matrices<T> x = random_matrices<T>(n, n, seed);
  auto const a = x.cpp();
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < j; ++i) {
        if constexpr (myriad::is_complex<T>)
          *a.at(b, i, j) = std::conj(*a.at(b, j, i));
        else
          *a.at(b, i, j) = *a.at(b, j, i);
      }
      *a.at(b, j, j) = T(2 * n + b);
    }
  return x;
}

template <typename T>
bool same_bits(std::vector<T> const& x, std::vector<T> const& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <typename T>
class EveryRoutine : public testing::Test {
 protected:
  QueuePointer c_queue = make_queue();
  myriad::Queue cpp_queue{{.backend = myriad::Backend::cpu, .threads = 1}};

  void good(myriad_status status) { EXPECT_EQ(status, MYRIAD_OK) << myriad_last_error(c_queue.get()); }
};
using Elements = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(EveryRoutine, Elements);

TYPED_TEST(EveryRoutine, Gemm) {
  using T = TypeParam;
  auto a = random_matrices<T>(n, m, 1), b = random_matrices<T>(n, nrhs, 2), c1 = random_matrices<T>(m, nrhs, 3), c2 = c1;
  T const alpha = T(2), beta = T(-3);
  myriad::gemm<T>(this->cpp_queue, alpha, myriad::conjugate_transposed(a.cpp()), b.cpp(), beta, c1.cpp());
  auto const ah = myriad_conjugate_transposed(a.c()), bc = b.c(), cc = c2.c();
  this->good(myriad_gemm(this->c_queue.get(), &alpha, &ah, &bc, &beta, &cc));
  EXPECT_TRUE(same_bits(c1.data, c2.data));
}

TYPED_TEST(EveryRoutine, GemmBy) {
  using T = TypeParam;
  auto a = random_matrices<T>(n, m, 1), b = random_matrices<T>(n, nrhs, 2), c = random_matrices<T>(m, nrhs, 3);
  T const alpha = T(2), beta = T(-3);
  auto const ah = myriad_conjugate_transposed(a.c()), bc = b.c();
  for (myriad_arithmetic const arithmetic : {MYRIAD_STANDARD, MYRIAD_TF32, MYRIAD_TF32X3}) {
    auto c1 = c, c2 = c;
    auto const cc = c2.c();
    myriad_status const status = myriad_gemm_by(this->c_queue.get(), &alpha, &ah, &bc, &beta, &cc, arithmetic);
    if (arithmetic != MYRIAD_STANDARD && !std::is_same_v<T, float>) {
      EXPECT_EQ(status, MYRIAD_BAD_ARGUMENT);
      EXPECT_EQ(myriad_last_error_position(this->c_queue.get()), 14);
    } else {
      this->good(status);
      myriad::gemm<T>(this->cpp_queue, alpha, myriad::conjugate_transposed(a.cpp()), b.cpp(), beta, c1.cpp(),
                      static_cast<myriad::Arithmetic>(arithmetic));
    }
    EXPECT_TRUE(same_bits(c1.data, c2.data));
  }
  auto const cc = c.c();
  EXPECT_EQ(myriad_gemm_by(this->c_queue.get(), nullptr, &ah, &bc, &beta, &cc, MYRIAD_STANDARD), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(this->c_queue.get()), 6);
}

TYPED_TEST(EveryRoutine, GemmGrouped) {
  using T = TypeParam;
  auto a = random_matrices<T>(n, m, 1), b = random_matrices<T>(n, nrhs, 2), c1 = random_matrices<T>(m, nrhs, 3), c2 = c1,
       d1 = random_matrices<T>(n, n, 4), d2 = d1;
  T const alpha = T(2), beta = T(-3), one = T(1);
  myriad::gemm<T>(this->cpp_queue, alpha, myriad::conjugate_transposed(a.cpp()), b.cpp(), beta, c1.cpp());
  myriad::gemm<T>(this->cpp_queue, one, a.cpp(), myriad::transposed(a.cpp()), alpha, d1.cpp());
  auto const ac = a.c(), ah = myriad_conjugate_transposed(a.c()), at = myriad_transposed(a.c()), bc = b.c(), cc = c2.c(), dc = d2.c();
  myriad_gemm_group const groups[] = {{&alpha, &ah, &bc, &beta, &cc}, {&one, &ac, &at, &alpha, &dc}};
  this->good(myriad_gemm_grouped(this->c_queue.get(), groups, 2));
  EXPECT_TRUE(same_bits(c1.data, c2.data));
  EXPECT_TRUE(same_bits(d1.data, d2.data));
  this->good(myriad_gemm_grouped(this->c_queue.get(), nullptr, 0));
}

TYPED_TEST(EveryRoutine, Gemv) {
  using T = TypeParam;
  auto a = random_matrices<T>(n, m, 1), x = random_matrices<T>(n, 1, 2), y1 = random_matrices<T>(m, 1, 3), y2 = y1;
  T const alpha = T(2), beta = T(-3);
  myriad::gemv<T>(this->cpp_queue, alpha, myriad::conjugate_transposed(a.cpp()), x.cpp(), beta, y1.cpp());
  auto const ah = myriad_conjugate_transposed(a.c()), xc = x.c(), yc = y2.c();
  this->good(myriad_gemv(this->c_queue.get(), &alpha, &ah, &xc, &beta, &yc));
  EXPECT_TRUE(same_bits(y1.data, y2.data));
}

TYPED_TEST(EveryRoutine, Ger) {
  using T = TypeParam;
  auto x = random_matrices<T>(m, 1, 1), y = random_matrices<T>(n, 1, 2), a1 = random_matrices<T>(m, n, 3), a2 = a1;
  T const alpha = T(2);
  myriad::ger<T>(this->cpp_queue, alpha, x.cpp(), myriad::conjugated(y.cpp()), a1.cpp());
  auto const xc = x.c(), yc = myriad_conjugated(y.c()), ac = a2.c();
  this->good(myriad_ger(this->c_queue.get(), &alpha, &xc, &yc, &ac));
  EXPECT_TRUE(same_bits(a1.data, a2.data));
}

TYPED_TEST(EveryRoutine, SymvAndHemv) {
  using T = TypeParam;
  auto a = random_matrices<T>(n, n, 1), x = random_matrices<T>(n, 1, 2), y1 = random_matrices<T>(n, 1, 3), y2 = y1;
  T const alpha = T(2), beta = T(-3);
  auto const ac = a.c(), xc = x.c(), yc = y2.c();
  myriad::symv<T>(this->cpp_queue, myriad::Uplo::lower, alpha, a.cpp(), x.cpp(), beta, y1.cpp());
  this->good(myriad_symv(this->c_queue.get(), MYRIAD_LOWER, &alpha, &ac, &xc, &beta, &yc));
  EXPECT_TRUE(same_bits(y1.data, y2.data));
  myriad::hemv<T>(this->cpp_queue, myriad::Uplo::upper, alpha, a.cpp(), x.cpp(), beta, y1.cpp());
  this->good(myriad_hemv(this->c_queue.get(), MYRIAD_UPPER, &alpha, &ac, &xc, &beta, &yc));
  EXPECT_TRUE(same_bits(y1.data, y2.data));
}

TYPED_TEST(EveryRoutine, SymmetricAndHermitianMatrices) {
  using T = TypeParam;
  using R = Real<T>;
  auto a = random_matrices<T>(n, n, 1), b = random_matrices<T>(m, n, 2), c1 = random_matrices<T>(m, n, 3), c2 = c1;
  auto p = random_matrices<T>(n, nrhs, 4), r = random_matrices<T>(n, nrhs, 5), s1 = a, s2 = a;
  T const alpha = T(2), beta = T(-3);
  R const real_alpha = 2, real_beta = -3;
  auto const ac = a.c(), bc = b.c(), cc = c2.c(), pc = p.c(), rc = r.c(), sc = s2.c();
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();
  auto const lower = myriad::Uplo::lower;
  auto const same = [&] { return same_bits(c1.data, c2.data) && same_bits(s1.data, s2.data); };
  myriad::symm<T>(q, myriad::Side::right, lower, alpha, a.cpp(), b.cpp(), beta, c1.cpp());
  this->good(myriad_symm(c, MYRIAD_RIGHT, MYRIAD_LOWER, &alpha, &ac, &bc, &beta, &cc));
  EXPECT_TRUE(same());
  myriad::hemm<T>(q, myriad::Side::right, lower, alpha, a.cpp(), b.cpp(), beta, c1.cpp());
  this->good(myriad_hemm(c, MYRIAD_RIGHT, MYRIAD_LOWER, &alpha, &ac, &bc, &beta, &cc));
  EXPECT_TRUE(same());
  myriad::syrk<T>(q, lower, alpha, p.cpp(), beta, s1.cpp());
  this->good(myriad_syrk(c, MYRIAD_LOWER, &alpha, &pc, &beta, &sc));
  EXPECT_TRUE(same());
  myriad::herk<T>(q, lower, real_alpha, p.cpp(), real_beta, s1.cpp());
  this->good(myriad_herk(c, MYRIAD_LOWER, &real_alpha, &pc, &real_beta, &sc));
  EXPECT_TRUE(same());
  myriad::syr2k<T>(q, lower, alpha, p.cpp(), r.cpp(), beta, s1.cpp());
  this->good(myriad_syr2k(c, MYRIAD_LOWER, &alpha, &pc, &rc, &beta, &sc));
  EXPECT_TRUE(same());
  myriad::her2k<T>(q, lower, alpha, p.cpp(), r.cpp(), real_beta, s1.cpp());
  this->good(myriad_her2k(c, MYRIAD_LOWER, &alpha, &pc, &rc, &real_beta, &sc));
  EXPECT_TRUE(same());
  EXPECT_FALSE(same_bits(s1.data, a.data));
}

TYPED_TEST(EveryRoutine, Eigenvalues) {
  using T = TypeParam;
  auto a1 = positive_matrices<T>(1), a2 = a1;
  Matrices<Real<T>> w1(n, 1), w2 = w1;
  std::vector<int> info1(count, -1), info2(count, -1);
  auto const wc = w2.c();
  for (auto const job : {MYRIAD_VALUES, MYRIAD_VECTORS})
    for (bool const complex_name : {false, true}) {
      a1 = a2 = positive_matrices<T>(2);
      auto const ac = a2.c();
      myriad::syevd<T>(this->cpp_queue, static_cast<myriad::Job>(job), myriad::Uplo::upper, a1.cpp(), w1.cpp(), info1.data());
      this->good((complex_name ? myriad_heevd : myriad_syevd)(this->c_queue.get(), job, MYRIAD_UPPER, &ac, &wc, info2.data()));
      EXPECT_TRUE(same_bits(a1.data, a2.data));
      EXPECT_TRUE(same_bits(w1.data, w2.data));
      EXPECT_EQ(info1, info2);
    }
}

TYPED_TEST(EveryRoutine, Tridiagonalization) {
  using T = TypeParam;
  for (bool const complex_name : {false, true}) {
    auto a1 = positive_matrices<T>(1), a2 = a1;
    Matrices<Real<T>> d1(n, 1), d2 = d1, e1(n - 1, 1), e2 = e1;
    Matrices<T> tau1(n - 1, 1), tau2 = tau1;
    auto const ac = a2.c(), tc = tau2.c();
    auto const dc = d2.c(), ec = e2.c();
    myriad::sytrd<T>(this->cpp_queue, myriad::Uplo::upper, a1.cpp(), d1.cpp(), e1.cpp(), tau1.cpp());
    this->good((complex_name ? myriad_hetrd : myriad_sytrd)(this->c_queue.get(), MYRIAD_UPPER, &ac, &dc, &ec, &tc));
    EXPECT_TRUE(same_bits(a1.data, a2.data));
    EXPECT_TRUE(same_bits(d1.data, d2.data));
    EXPECT_TRUE(same_bits(e1.data, e2.data));
    EXPECT_TRUE(same_bits(tau1.data, tau2.data));
    auto c1 = random_matrices<T>(m, n, 2), c2 = c1;
    auto const cc = c2.c();
    auto const op = myriad::is_complex<T> ? MYRIAD_CONJUGATE_TRANSPOSE : MYRIAD_TRANSPOSE;
    myriad::ormtr<T>(this->cpp_queue, myriad::Side::right, myriad::Uplo::upper, static_cast<myriad::Op>(op), a1.cpp(), tau1.cpp(),
                     c1.cpp());
    this->good((complex_name ? myriad_unmtr : myriad_ormtr)(this->c_queue.get(), MYRIAD_RIGHT, MYRIAD_UPPER, op, &ac, &tc, &cc));
    EXPECT_TRUE(same_bits(c1.data, c2.data));
    myriad::orgtr<T>(this->cpp_queue, myriad::Uplo::upper, a1.cpp(), tau1.cpp());
    this->good((complex_name ? myriad_ungtr : myriad_orgtr)(this->c_queue.get(), MYRIAD_UPPER, &ac, &tc));
    EXPECT_TRUE(same_bits(a1.data, a2.data));
  }
}

TYPED_TEST(EveryRoutine, SingularValues) {
  using T = TypeParam;
  auto const a = random_matrices<T>(m, n, 1);
  constexpr std::int64_t k = std::min(m, n);
  struct Routine {
    decltype(&myriad::gesvd<T>) cpp;
    decltype(&myriad_gesvd) c;
  };
  for (auto const job : {MYRIAD_SVD_VALUES, MYRIAD_SVD_THIN, MYRIAD_SVD_FULL, MYRIAD_SVD_LEFT, MYRIAD_SVD_RIGHT})
    for (Routine const& routine : {Routine{&myriad::gesvd<T>, &myriad_gesvd}, Routine{&myriad::gejsv<T>, &myriad_gejsv}}) {
      auto a1 = a, a2 = a;
      bool const full = job == MYRIAD_SVD_FULL;
      Matrices<Real<T>> s1(k, 1), s2 = s1;
      Matrices<T> u1(m, full ? m : k), u2 = u1, vt1(full ? n : k, n), vt2 = vt1;
      std::vector<int> info1(count, -1), info2(count, -1);
      auto const ac = a2.c(), sc = s2.c(), uc = u2.c(), vc = vt2.c();
      bool const has_u = job != MYRIAD_SVD_VALUES && job != MYRIAD_SVD_RIGHT, has_vt = job != MYRIAD_SVD_VALUES && job != MYRIAD_SVD_LEFT;
      routine.cpp(this->cpp_queue, static_cast<myriad::SvdJob>(job), a1.cpp(), s1.cpp(), u1.cpp(), vt1.cpp(), info1.data());
      this->good(routine.c(this->c_queue.get(), job, &ac, &sc, has_u ? &uc : nullptr, has_vt ? &vc : nullptr, info2.data()));
      EXPECT_TRUE(same_bits(s1.data, s2.data) && same_bits(u1.data, u2.data) && same_bits(vt1.data, vt2.data));
      EXPECT_EQ(info1, info2);
      EXPECT_EQ(u1.data[0] != T(0), has_u);
      EXPECT_EQ(vt1.data[0] != T(0), has_vt);
    }
}

TYPED_TEST(EveryRoutine, RankCondAndNorm) {
  using T = TypeParam;
  using R = Real<T>;
  auto const a = random_matrices<T>(m, n, 1);
  auto const ac = a.c();
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();
  std::vector<int> rank1(count, -1), rank2 = rank1, info1 = rank1, info2 = rank1;
  std::vector<R> cond1(count, R(-1)), cond2 = cond1, norm1 = cond1, norm2 = cond1;
  myriad::matrix_rank<T>(q, Matrices<T>(a).cpp(), R(0.25), R(0.5), rank1.data(), info1.data());
  this->good(myriad_matrix_rank(c, &ac, 0.25, 0.5, rank2.data(), info2.data()));
  EXPECT_EQ(rank1, rank2);
  EXPECT_EQ(info1, info2);
  // An atol that is 0 as float leaves rtol at 0.
  std::array<T, 4> diagonal{T(1), T(0), T(0), T(std::numeric_limits<R>::epsilon() / 16)};
  myriad_batch const small = myriad_strided(dtype_of<T>, 2, 2, diagonal.data(), 0, 0, 1);
  this->good(myriad_matrix_rank(c, &small, 1e-50, -1, rank2.data(), info2.data()));
  EXPECT_EQ(rank2[0], 2);
  this->good(myriad_matrix_rank(c, &small, 0, -1, rank2.data(), info2.data()));
  EXPECT_EQ(rank2[0], 1);
  myriad::cond<T>(q, Matrices<T>(a).cpp(), cond1.data(), info1.data());
  this->good(myriad_cond(c, &ac, cond2.data(), info2.data()));
  myriad::norm2<T>(q, Matrices<T>(a).cpp(), norm1.data(), info1.data());
  this->good(myriad_norm2(c, &ac, norm2.data(), info2.data()));
  EXPECT_TRUE(same_bits(cond1, cond2) && same_bits(norm1, norm2));
  EXPECT_EQ(info1, info2);
  EXPECT_GT(rank1[0], 0);
  EXPECT_GE(cond1[0], R(1));
  EXPECT_GT(norm1[0], R(0));
}

TYPED_TEST(EveryRoutine, LeastSquaresOfAnyRank) {
  using T = TypeParam;
  using R = Real<T>;
  auto a1 = random_matrices<T>(m, n, 1), a2 = a1, b1 = random_matrices<T>(std::max(m, n), 2, 2), b2 = b1;
  Matrices<R> s1(std::min(m, n), 1), s2 = s1;
  auto const ac = a2.c(), bc = b2.c(), sc = s2.c();
  std::vector<int> rank1(count, -1), rank2 = rank1, info1 = rank1, info2 = rank1;
  myriad::gelsd<T>(this->cpp_queue, a1.cpp(), b1.cpp(), s1.cpp(), R(0.5), rank1.data(), info1.data());
  this->good(myriad_gelsd(this->c_queue.get(), &ac, &bc, &sc, 0.5, rank2.data(), info2.data()));
  EXPECT_TRUE(same_bits(b1.data, b2.data) && same_bits(s1.data, s2.data));
  EXPECT_EQ(rank1, rank2);
  EXPECT_EQ(info1, info2);
  EXPECT_GT(rank1[0], 0);
}

TYPED_TEST(EveryRoutine, Pseudoinverse) {
  using T = TypeParam;
  auto const a = random_matrices<T>(m, n, 1);
  Matrices<T> x1(n, m), x2 = x1;
  auto const ac = a.c(), xc = x2.c();
  std::vector<int> rank1(count, -1), rank2 = rank1, info1 = rank1, info2 = rank1;
  myriad::pinv<T>(this->cpp_queue, Matrices<T>(a).cpp(), Real<T>(0.5), x1.cpp(), rank1.data(), info1.data());
  this->good(myriad_pinv(this->c_queue.get(), &ac, 0.5, &xc, rank2.data(), info2.data()));
  EXPECT_TRUE(same_bits(x1.data, x2.data));
  EXPECT_EQ(rank1, rank2);
  EXPECT_EQ(info1, info2);
  EXPECT_GT(rank1[0], 0);
}

TYPED_TEST(EveryRoutine, Bidiagonalization) {
  using T = TypeParam;
  constexpr std::int64_t k = std::min(m, n);
  for (bool const complex_name : {false, true}) {
    auto a1 = random_matrices<T>(m, n, 1), a2 = a1;
    Matrices<Real<T>> d1(k, 1), d2 = d1, e1(k - 1, 1), e2 = e1;
    Matrices<T> tauq1(k, 1), tauq2 = tauq1, taup1 = tauq1, taup2 = tauq1;
    auto const ac = a2.c(), qc = tauq2.c(), pc = taup2.c(), dc = d2.c(), ec = e2.c();
    auto* const c = this->c_queue.get();
    myriad::gebrd<T>(this->cpp_queue, a1.cpp(), d1.cpp(), e1.cpp(), tauq1.cpp(), taup1.cpp());
    this->good(myriad_gebrd(c, &ac, &dc, &ec, &qc, &pc));
    EXPECT_TRUE(same_bits(a1.data, a2.data) && same_bits(d1.data, d2.data) && same_bits(e1.data, e2.data));
    EXPECT_TRUE(same_bits(tauq1.data, tauq2.data) && same_bits(taup1.data, taup2.data));
    auto x1 = random_matrices<T>(nrhs, m, 2), x2 = x1;
    auto const xc = x2.c();
    auto const op = myriad::is_complex<T> ? MYRIAD_CONJUGATE_TRANSPOSE : MYRIAD_TRANSPOSE;
    std::vector<std::int64_t> const sizes(count, n);
    auto const some = myriad::columns(a1.cpp(), 0, k);
    auto const some_c = myriad_block(ac, 0, 0, m, k);
    myriad::ormbr<T>(this->cpp_queue, myriad::Vect::q, myriad::Side::right, static_cast<myriad::Op>(op), n, some, tauq1.cpp(), x1.cpp());
    this->good((complex_name ? myriad_unmbr : myriad_ormbr)(c, MYRIAD_Q, MYRIAD_RIGHT, op, n, sizes.data(), &some_c, &qc, &xc));
    EXPECT_TRUE(same_bits(x1.data, x2.data));
    auto const top = myriad::rows(a1.cpp(), 0, k);
    auto const top_c = myriad_block(ac, 0, 0, k, n);
    myriad::orgbr<T>(this->cpp_queue, myriad::Vect::p, m, top, taup1.cpp());
    this->good((complex_name ? myriad_ungbr : myriad_orgbr)(c, MYRIAD_P, m, nullptr, &top_c, &pc));
    EXPECT_TRUE(same_bits(a1.data, a2.data));
  }
}

TYPED_TEST(EveryRoutine, Triangles) {
  using T = TypeParam;
  auto a = positive_matrices<T>(1), b1 = random_matrices<T>(m, n, 2), b2 = b1, x1 = random_matrices<T>(n, 1, 3), x2 = x1, i1 = a, i2 = a;
  T const alpha = T(2);
  auto const ac = a.c(), bc = b2.c(), xc = x2.c(), ic = i2.c();
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();
  auto const upper = myriad::Uplo::upper, lower = myriad::Uplo::lower;
  auto const unit = myriad::Diag::unit, non_unit = myriad::Diag::non_unit;
  auto const same = [&] { return same_bits(b1.data, b2.data) && same_bits(x1.data, x2.data) && same_bits(i1.data, i2.data); };
  myriad::trsm<T>(q, myriad::Side::right, lower, unit, alpha, a.cpp(), b1.cpp());
  this->good(myriad_trsm(c, MYRIAD_RIGHT, MYRIAD_LOWER, MYRIAD_UNIT, &alpha, &ac, &bc));
  EXPECT_TRUE(same());
  myriad::trmm<T>(q, myriad::Side::right, upper, unit, alpha, a.cpp(), b1.cpp());
  this->good(myriad_trmm(c, MYRIAD_RIGHT, MYRIAD_UPPER, MYRIAD_UNIT, &alpha, &ac, &bc));
  EXPECT_TRUE(same());
  myriad::trsv<T>(q, lower, unit, a.cpp(), x1.cpp());
  this->good(myriad_trsv(c, MYRIAD_LOWER, MYRIAD_UNIT, &ac, &xc));
  EXPECT_TRUE(same());
  myriad::trmv<T>(q, upper, non_unit, a.cpp(), x1.cpp());
  this->good(myriad_trmv(c, MYRIAD_UPPER, MYRIAD_NON_UNIT, &ac, &xc));
  EXPECT_TRUE(same());
  std::vector<int> info1(count, -1), info2(count, -1);
  i1.data[0] = i2.data[0] = T(0);
  myriad::trtri<T>(q, upper, non_unit, i1.cpp(), info1.data());
  this->good(myriad_trtri(c, MYRIAD_UPPER, MYRIAD_NON_UNIT, &ic, info2.data()));
  EXPECT_TRUE(same() && info1 == info2);
  EXPECT_EQ(info1[0], 1);
  EXPECT_FALSE(same_bits(i1.data, a.data));
}

TYPED_TEST(EveryRoutine, Lu) {
  using T = TypeParam;
  auto const a = random_matrices<T>(n, n, 1);
  auto b = random_matrices<T>(n, nrhs, 2);
  std::vector<int> info1(count, -1), info2(count, -1);
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();

  auto f1 = a, f2 = a;
  Matrices<int> p1(n, 1), p2(n, 1);
  auto const f = f2.c(), p = p2.c();
  myriad::getrf(q, f1.cpp(), p1.cpp(), info1.data());
  this->good(myriad_getrf(c, &f, &p, info2.data()));
  EXPECT_TRUE(same_bits(f1.data, f2.data) && same_bits(p1.data, p2.data) && same_bits(info1, info2));

  auto x1 = b, x2 = b;
  auto const x = x2.c();
  myriad::getrs<T>(q, myriad::Op::conjugate_transpose, f1.cpp(), p1.cpp(), x1.cpp());
  this->good(myriad_getrs(c, MYRIAD_CONJUGATE_TRANSPOSE, &f, &p, &x));
  EXPECT_TRUE(same_bits(x1.data, x2.data));

  auto i1 = f1, i2 = f2;
  auto const i = i2.c();
  myriad::getri<T>(q, i1.cpp(), p1.cpp(), info1.data());
  this->good(myriad_getri(c, &i, &p, info2.data()));
  EXPECT_TRUE(same_bits(i1.data, i2.data) && same_bits(info1, info2));
}

TYPED_TEST(EveryRoutine, LuWithoutPivoting) {
  using T = TypeParam;
  auto const a = positive_matrices<T>(1);
  auto x1 = random_matrices<T>(n, nrhs, 2), x2 = x1;
  std::vector<int> info1(count, -1), info2(count, -1);
  auto f1 = a, f2 = a;
  auto const f = f2.c(), x = x2.c();
  myriad::getrf_nopiv(this->cpp_queue, f1.cpp(), info1.data());
  this->good(myriad_getrf_nopiv(this->c_queue.get(), &f, info2.data()));
  EXPECT_TRUE(same_bits(f1.data, f2.data) && same_bits(info1, info2));
  myriad::getrs<T>(this->cpp_queue, myriad::Op::none, f1.cpp(), {}, x1.cpp());
  this->good(myriad_getrs(this->c_queue.get(), MYRIAD_NONE, &f, nullptr, &x));
  EXPECT_TRUE(same_bits(x1.data, x2.data));
}

TYPED_TEST(EveryRoutine, SystemsInversesDeterminants) {
  using T = TypeParam;
  auto a = random_matrices<T>(n, n, 1), b = random_matrices<T>(n, nrhs, 2);
  std::vector<int> info1(count, -1), info2(count, -1);
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();
  auto const ac = a.c(), bc = b.c();

  {
    auto a1 = a, a2 = a, x1 = b, x2 = b;
    Matrices<int> p1(n, 1), p2(n, 1);
    auto const f = a2.c(), p = p2.c(), x = x2.c();
    myriad::gesv(q, a1.cpp(), p1.cpp(), x1.cpp(), info1.data());
    this->good(myriad_gesv(c, &f, &p, &x, info2.data()));
    EXPECT_TRUE(same_bits(a1.data, a2.data) && same_bits(p1.data, p2.data) && same_bits(x1.data, x2.data) && same_bits(info1, info2));
  }
  {
    Matrices<T> x1(n, nrhs), x2(n, nrhs);
    auto const x = x2.c();
    myriad::solve<T>(q, a.cpp(), b.cpp(), x1.cpp(), info1.data());
    this->good(myriad_solve(c, &ac, &bc, &x, info2.data()));
    EXPECT_TRUE(same_bits(x1.data, x2.data) && same_bits(info1, info2));
    EXPECT_NE(x1.data[0], T(0));
  }
  {
    Matrices<T> x1(n, n), x2(n, n);
    auto const x = x2.c();
    myriad::inverse<T>(q, a.cpp(), x1.cpp(), info1.data());
    this->good(myriad_inverse(c, &ac, &x, info2.data()));
    EXPECT_TRUE(same_bits(x1.data, x2.data) && same_bits(info1, info2));
    EXPECT_NE(x1.data[0], T(0));
  }
  std::vector<T> d1(count), d2(count), s1(count), s2(count);
  std::vector<Real<T>> l1(count), l2(count);
  myriad::det<T>(q, a.cpp(), d1.data());
  this->good(myriad_det(c, &ac, d2.data()));
  EXPECT_TRUE(same_bits(d1, d2));
  EXPECT_NE(d1[0], T(0));
  myriad::logdet<T>(q, a.cpp(), s1.data(), l1.data());
  this->good(myriad_logdet(c, &ac, s2.data(), l2.data()));
  EXPECT_TRUE(same_bits(s1, s2) && same_bits(l1, l2));
}

TYPED_TEST(EveryRoutine, Cholesky) {
  using T = TypeParam;
  auto const a = positive_matrices<T>(1);
  auto const b = random_matrices<T>(n, nrhs, 2);
  std::vector<int> info1(count, -1), info2(count, -1);
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();
  for (auto const& [cpp_uplo, c_uplo] : {std::pair{myriad::Uplo::lower, MYRIAD_LOWER}, std::pair{myriad::Uplo::upper, MYRIAD_UPPER}}) {
    auto f1 = a, f2 = a, x1 = b, x2 = b;
    auto const f = f2.c(), x = x2.c();
    myriad::potrf(q, cpp_uplo, f1.cpp(), info1.data());
    this->good(myriad_potrf(c, c_uplo, &f, info2.data()));
    EXPECT_TRUE(same_bits(f1.data, f2.data) && same_bits(info1, info2));
    EXPECT_FALSE(same_bits(f1.data, a.data));
    myriad::potrs<T>(q, cpp_uplo, f1.cpp(), x1.cpp());
    this->good(myriad_potrs(c, c_uplo, &f, &x));
    EXPECT_TRUE(same_bits(x1.data, x2.data));
    myriad::potri(q, cpp_uplo, f1.cpp(), info1.data());
    this->good(myriad_potri(c, c_uplo, &f, info2.data()));
    EXPECT_TRUE(same_bits(f1.data, f2.data) && same_bits(info1, info2));

    auto g1 = a, g2 = a, y1 = b, y2 = b;
    auto const g = g2.c(), y = y2.c();
    myriad::posv(q, cpp_uplo, g1.cpp(), y1.cpp(), info1.data());
    this->good(myriad_posv(c, c_uplo, &g, &y, info2.data()));
    EXPECT_TRUE(same_bits(g1.data, g2.data) && same_bits(y1.data, y2.data) && same_bits(info1, info2));

    auto kept = a, right = b;
    Matrices<T> z1(n, nrhs), z2(n, nrhs);
    auto const ac = kept.c(), bc = right.c(), z = z2.c();
    myriad::solve_positive_definite<T>(q, cpp_uplo, kept.cpp(), right.cpp(), z1.cpp(), info1.data());
    this->good(myriad_solve_positive_definite(c, c_uplo, &ac, &bc, &z, info2.data()));
    EXPECT_TRUE(same_bits(z1.data, z2.data) && same_bits(info1, info2));
    EXPECT_NE(z1.data[0], T(0));
    EXPECT_TRUE(same_bits(kept.data, a.data) && same_bits(right.data, b.data));
  }
}

TYPED_TEST(EveryRoutine, RegularizedCholesky) {
  using T = TypeParam;
  using R = myriad::Real<T>;
  auto const a = positive_matrices<T>(1);
  auto const b = random_matrices<T>(n, nrhs, 2);
  std::vector<int> info1(count, -1), info2(count, -1), replaced1(count, -1), replaced2(count, -1);
  std::vector<R> const jitter(count, R(0.5)), floor(count, R(1e4));
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();
  auto f1 = a, f2 = a, g1 = a, g2 = a, x1 = b, x2 = b;
  auto const f = f2.c(), g = g2.c(), x = x2.c();
  myriad::potrf_regularized<T>(q, myriad::Uplo::upper, f1.cpp(), jitter.data(), nullptr, replaced1.data(), info1.data());
  this->good(myriad_potrf_regularized(c, MYRIAD_UPPER, &f, jitter.data(), nullptr, replaced2.data(), info2.data()));
  EXPECT_TRUE(same_bits(f1.data, f2.data) && same_bits(info1, info2) && same_bits(replaced1, replaced2));
  EXPECT_EQ(replaced1[0], 0);
  myriad::posv_regularized<T>(q, myriad::Uplo::lower, g1.cpp(), x1.cpp(), nullptr, floor.data(), replaced1.data(), info1.data());
  this->good(myriad_posv_regularized(c, MYRIAD_LOWER, &g, &x, nullptr, floor.data(), replaced2.data(), info2.data()));
  EXPECT_TRUE(same_bits(g1.data, g2.data) && same_bits(x1.data, x2.data) && same_bits(info1, info2) && same_bits(replaced1, replaced2));
  EXPECT_EQ(replaced1[0], n);
}

TYPED_TEST(EveryRoutine, MixedPrecision) {
  using T = TypeParam;
  auto a = random_matrices<T>(n, n, 1);
  for (int q = 0; q < count; ++q)
    for (int i = 0; i < n; ++i) *a.cpp().at(q, i, i) += T(n);
  auto const definite = positive_matrices<T>(3);
  auto b = random_matrices<T>(n, nrhs, 2);
  std::vector<int> info1(count, -1), info2(count, -1), iter1(count, -99), iter2(count, -99);
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();
  auto const expect_same = [&](auto const& x, auto const& y) {
    EXPECT_TRUE(same_bits(x.data, y.data) && same_bits(info1, info2) && same_bits(iter1, iter2));
    EXPECT_EQ(info1[0], 0);
    EXPECT_EQ(iter1[0] == -1, sizeof(myriad::Real<T>) == 4);
    EXPECT_NE(x.data[0], T(0));
  };
  {
    auto a1 = a, a2 = a;
    Matrices<T> x1(n, nrhs), x2(n, nrhs);
    Matrices<int> p1(n, 1), p2(n, 1);
    auto const ac = a2.c(), bc = b.c(), xc = x2.c(), pc = p2.c();
    myriad::gesv_mixed<T>(q, a1.cpp(), p1.cpp(), b.cpp(), x1.cpp(), iter1.data(), info1.data());
    this->good(myriad_gesv_mixed(c, &ac, &pc, &bc, &xc, iter2.data(), info2.data()));
    expect_same(x1, x2);
    EXPECT_TRUE(same_bits(p1.data, p2.data));
  }
  auto a1 = definite, a2 = definite;
  Matrices<T> x1(n, nrhs), x2(n, nrhs);
  auto const ac = a2.c(), bc = b.c(), xc = x2.c();
  myriad::posv_mixed<T>(q, myriad::Uplo::upper, a1.cpp(), b.cpp(), x1.cpp(), iter1.data(), info1.data());
  this->good(myriad_posv_mixed(c, MYRIAD_UPPER, &ac, &bc, &xc, iter2.data(), info2.data()));
  expect_same(x1, x2);
}

TYPED_TEST(EveryRoutine, QrAndLeastSquares) {
  using T = TypeParam;
  auto const a = random_matrices<T>(m, n, 1);
  auto const b = random_matrices<T>(m, nrhs, 2);
  std::vector<int> info1(count, -1), info2(count, -1);
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();

  auto f1 = a, f2 = a;
  Matrices<T> t1(n, 1), t2(n, 1);
  auto const f = f2.c(), t = t2.c();
  myriad::geqrf(q, f1.cpp(), t1.cpp());
  this->good(myriad_geqrf(c, &f, &t));
  EXPECT_TRUE(same_bits(f1.data, f2.data) && same_bits(t1.data, t2.data));

  {
    auto p1 = a, p2 = a;
    Matrices<T> s1(n, 1), s2(n, 1);
    Matrices<int> j1(n, 1), j2(n, 1);
    auto const pc = p2.c(), jc = j2.c(), sc = s2.c();
    myriad::geqp3(q, p1.cpp(), j1.cpp(), s1.cpp());
    this->good(myriad_geqp3(c, &pc, &jc, &sc));
    EXPECT_TRUE(same_bits(p1.data, p2.data) && same_bits(j1.data, j2.data) && same_bits(s1.data, s2.data));
    EXPECT_FALSE(same_bits(p1.data, f1.data));
  }
  for (auto const apply : {myriad_ormqr, myriad_unmqr}) {
    auto x1 = b, x2 = b;
    auto const x = x2.c();
    myriad::ormqr<T>(q, myriad::Side::left, myriad::Op::conjugate_transpose, f1.cpp(), t1.cpp(), x1.cpp());
    this->good(apply(c, MYRIAD_LEFT, MYRIAD_CONJUGATE_TRANSPOSE, &f, &t, &x));
    EXPECT_TRUE(same_bits(x1.data, x2.data));
    EXPECT_FALSE(same_bits(x1.data, b.data));
  }
  for (auto const form : {myriad_orgqr, myriad_ungqr}) {
    auto q1 = f1, q2 = f1;
    auto const qc = q2.c();
    myriad::orgqr<T>(q, q1.cpp(), t1.cpp());
    this->good(form(c, &qc, &t));
    EXPECT_TRUE(same_bits(q1.data, q2.data));
  }
  {
    auto p1 = a, p2 = a, y1 = b, y2 = b;
    Matrices<int> j1(n, 1), j2(n, 1);
    auto const pc = p2.c(), yc = y2.c(), jc = j2.c();
    myriad::gelsy<T>(q, p1.cpp(), y1.cpp(), j1.cpp(), Real<T>(0.5), info1.data());
    this->good(myriad_gelsy(c, &pc, &yc, &jc, 0.5, info2.data()));
    EXPECT_TRUE(same_bits(p1.data, p2.data) && same_bits(y1.data, y2.data) && same_bits(j1.data, j2.data) && same_bits(info1, info2));
    EXPECT_GT(info1[0], 0);
  }
  auto a1 = a, a2 = a, x1 = b, x2 = b;
  auto const ac = a2.c(), x = x2.c();
  myriad::gels(q, a1.cpp(), x1.cpp(), info1.data());
  this->good(myriad_gels(c, &ac, &x, info2.data()));
  EXPECT_TRUE(same_bits(a1.data, a2.data) && same_bits(x1.data, x2.data) && same_bits(info1, info2));
}

TYPED_TEST(EveryRoutine, EquilibrationAndRefinement) {
  using T = TypeParam;
  using R = Real<T>;
  auto a = random_matrices<T>(n, n, 1), b = random_matrices<T>(n, nrhs, 2);
  for (std::size_t k = 0; k < a.data.size(); k += 3) a.data[k] *= R(1000);
  std::vector<int> info1(count, -1), info2(count, -1);
  auto& q = this->cpp_queue;
  auto* const c = this->c_queue.get();

  Matrices<R> r1(n, 1), r2(n, 1), c1(n, 1), c2(n, 1);
  std::vector<R> rowcnd1(count), rowcnd2(count), colcnd1(count), colcnd2(count), amax1(count), amax2(count);
  auto const ac = a.c(), bc = b.c(), r = r2.c(), s = c2.c();
  myriad::geequ<T>(q, a.cpp(), r1.cpp(), c1.cpp(), rowcnd1.data(), colcnd1.data(), amax1.data(), info1.data());
  this->good(myriad_geequ(c, &ac, &r, &s, rowcnd2.data(), colcnd2.data(), amax2.data(), info2.data()));
  EXPECT_TRUE(same_bits(r1.data, r2.data) && same_bits(c1.data, c2.data) && same_bits(rowcnd1, rowcnd2) && same_bits(colcnd1, colcnd2));
  EXPECT_TRUE(same_bits(amax1, amax2) && same_bits(info1, info2));
  EXPECT_GT(amax1[0], R(1));

  auto e1 = a, e2 = a;
  auto const e = e2.c();
  myriad::laqge<T>(q, e1.cpp(), r1.cpp(), {});
  this->good(myriad_laqge(c, &e, &r, nullptr));
  EXPECT_TRUE(same_bits(e1.data, e2.data));
  EXPECT_FALSE(same_bits(e1.data, a.data));

  auto f = a, x1 = b;
  Matrices<int> p(n, 1);
  myriad::gesv(q, f.cpp(), p.cpp(), x1.cpp(), nullptr);
  for (T& value : x1.data) value *= R(1.0009765625);
  auto x2 = x1;
  Matrices<R> ferr1(nrhs, 1), ferr2(nrhs, 1), berr1(nrhs, 1), berr2(nrhs, 1);
  auto const fc = f.c(), pc = p.c(), xc = x2.c(), ferr = ferr2.c(), berr = berr2.c();
  myriad::gerfs<T>(q, myriad::Op::none, a.cpp(), f.cpp(), p.cpp(), b.cpp(), x1.cpp(), ferr1.cpp(), berr1.cpp());
  this->good(myriad_gerfs(c, MYRIAD_NONE, &ac, &fc, &pc, &bc, &xc, &ferr, &berr));
  EXPECT_TRUE(same_bits(x1.data, x2.data) && same_bits(ferr1.data, ferr2.data) && same_bits(berr1.data, berr2.data));

  myriad::backward_error<T>(q, a.cpp(), x1.cpp(), b.cpp(), berr1.cpp());
  this->good(myriad_backward_error(c, &ac, &xc, &bc, &berr));
  EXPECT_TRUE(same_bits(berr1.data, berr2.data));
}

// ---- Checks of the C interface itself

/// Expects a call to be refused, naming this argument and position.
struct Refused {
  char const* routine;
  int position;
  char const* text;
  std::function<myriad_status(myriad_queue*)> call;
};

TEST(CApi, RefusesAndNamesTheArgument) {
  auto const queue = make_queue();
  Matrices<double> a(n, n, 1), b(n, nrhs, 1), b2(n, nrhs, 1), x(n, 1, 1), d(n, 1, 1), e(n - 1, 1, 1), tau(n - 1, 1, 1);
  Matrices<float> single(n, n, 1);
  Matrices<int> pivots(n, 1, 1);
  std::vector<int> info(count, 1);
  auto const ac = a.c(), bc = b.c(), b2c = b2.c(), xc = x.c(), dc = d.c(), ec = e.c(), tc = tau.c(), sc = single.c(), pc = pivots.c();
  auto unknown = a.c();
  unknown.dtype = static_cast<myriad_dtype>(17);
  double const one = 1;
  auto const bad_uplo = static_cast<myriad_uplo>('X');
  auto const bad_side = static_cast<myriad_side>(0);
  auto const bad_op = static_cast<myriad_op>('X');
  auto const bad_diag = static_cast<myriad_diag>(MYRIAD_UNIT + 256);  // a valid letter if truncated to a byte
  auto const bad_job = static_cast<myriad_job>('X');
  auto const bad_svd_job = static_cast<myriad_svd_job>('X');
  auto const bad_vect = static_cast<myriad_vect>('X');

  myriad_gemm_group const good_group{&one, &ac, &ac, &one, &ac}, in_place_group = good_group;
  auto const grouped = [&](myriad_queue* q, myriad_gemm_group const& second) {
    myriad_gemm_group const groups[] = {good_group, second};
    return myriad_gemm_grouped(q, groups, 2);
  };

  // Only the letter is wrong.
  std::vector<Refused> const table = {
      {"gemm_grouped", 1, "groups", [&](auto* q) { return myriad_gemm_grouped(q, nullptr, 1); }},
      {"gemm_grouped", 2, "-1", [&](auto* q) { return myriad_gemm_grouped(q, &good_group, -1); }},
      {"gemm_grouped", 7, "group 1",
       [&](auto* q) {
         return grouped(q, {&one, nullptr, &ac, &one, &ac});
       }},
      {"gemm_grouped", 7, "group 0 they are f64",
       [&](auto* q) {
         return grouped(q, {&one, &sc, &sc, &one, &sc});
       }},
      {"gemm_grouped", 9, "f32",
       [&](auto* q) {
         return grouped(q, {&one, &ac, &sc, &one, &ac});
       }},
      {"gemm_grouped", 6, "alpha",
       [&](auto* q) {
         return grouped(q, {nullptr, &ac, &ac, &one, &ac});
       }},
      {"gemm_grouped", 11, "beta",
       [&](auto* q) {
         return grouped(q, {&one, &ac, &ac, nullptr, &ac});
       }},
      {"gemm_grouped", 12, "group 0: gemm", [&](auto* q) { return myriad_gemm_grouped(q, &in_place_group, 1); }},
      {"gemm", 6, "alpha", [&](auto* q) { return myriad_gemm(q, nullptr, &ac, &ac, &one, &ac); }},
      {"gemm", 11, "beta", [&](auto* q) { return myriad_gemm(q, &one, &ac, &ac, nullptr, &ac); }},
      {"gemm", 7, "null", [&](auto* q) { return myriad_gemm(q, &one, nullptr, &ac, &one, &ac); }},
      {"gemm", 7, "17", [&](auto* q) { return myriad_gemm(q, &one, &unknown, &ac, &one, &ac); }},
      {"gemm", 7, "int", [&](auto* q) { return myriad_gemm(q, &one, &pc, &ac, &one, &ac); }},
      {"gemm", 9, "f32", [&](auto* q) { return myriad_gemm(q, &one, &ac, &sc, &one, &ac); }},
      {"gemm", 12, "f32", [&](auto* q) { return myriad_gemm(q, &one, &ac, &ac, &one, &sc); }},
      {"gemv", 4, "alpha", [&](auto* q) { return myriad_gemv(q, nullptr, &ac, &bc, &one, &bc); }},
      {"gemv", 9, "beta", [&](auto* q) { return myriad_gemv(q, &one, &ac, &bc, nullptr, &bc); }},
      {"gemv", 5, "null", [&](auto* q) { return myriad_gemv(q, &one, nullptr, &bc, &one, &bc); }},
      {"gemv", 7, "f32", [&](auto* q) { return myriad_gemv(q, &one, &ac, &sc, &one, &bc); }},
      {"gemv", 7, "one column", [&](auto* q) { return myriad_gemv(q, &one, &ac, &bc, &one, &bc); }},
      {"gemv", 10, "f32", [&](auto* q) { return myriad_gemv(q, &one, &ac, &bc, &one, &sc); }},
      {"ger", 3, "alpha", [&](auto* q) { return myriad_ger(q, nullptr, &bc, &bc, &ac); }},
      {"ger", 4, "one column", [&](auto* q) { return myriad_ger(q, &one, &bc, &bc, &ac); }},
      {"ger", 6, "f32", [&](auto* q) { return myriad_ger(q, &one, &bc, &sc, &ac); }},
      {"ger", 8, "null", [&](auto* q) { return myriad_ger(q, &one, &bc, &bc, nullptr); }},
      {"symv", 1, "uplo", [&](auto* q) { return myriad_symv(q, bad_uplo, &one, &ac, &xc, &one, &dc); }},
      {"symv", 3, "alpha", [&](auto* q) { return myriad_symv(q, MYRIAD_LOWER, nullptr, &ac, &bc, &one, &bc); }},
      {"symv", 4, "null", [&](auto* q) { return myriad_symv(q, MYRIAD_LOWER, &one, nullptr, &bc, &one, &bc); }},
      {"symv", 6, "f32", [&](auto* q) { return myriad_symv(q, MYRIAD_LOWER, &one, &ac, &sc, &one, &bc); }},
      {"symv", 8, "beta", [&](auto* q) { return myriad_symv(q, MYRIAD_LOWER, &one, &ac, &bc, nullptr, &bc); }},
      {"hemv", 1, "uplo", [&](auto* q) { return myriad_hemv(q, bad_uplo, &one, &ac, &xc, &one, &dc); }},
      {"hemv", 6, "one column", [&](auto* q) { return myriad_hemv(q, MYRIAD_LOWER, &one, &ac, &bc, &one, &bc); }},
      {"hemv", 9, "f32", [&](auto* q) { return myriad_hemv(q, MYRIAD_LOWER, &one, &ac, &bc, &one, &sc); }},
      {"symm", 1, "side", [&](auto* q) { return myriad_symm(q, bad_side, MYRIAD_LOWER, &one, &ac, &bc, &one, &b2c); }},
      {"symm", 2, "uplo", [&](auto* q) { return myriad_symm(q, MYRIAD_LEFT, bad_uplo, &one, &ac, &bc, &one, &b2c); }},
      {"symm", 5, "alpha", [&](auto* q) { return myriad_symm(q, MYRIAD_LEFT, MYRIAD_LOWER, nullptr, &ac, &bc, &one, &bc); }},
      {"hemm", 1, "side", [&](auto* q) { return myriad_hemm(q, bad_side, MYRIAD_LOWER, &one, &ac, &bc, &one, &b2c); }},
      {"hemm", 2, "uplo", [&](auto* q) { return myriad_hemm(q, MYRIAD_LEFT, bad_uplo, &one, &ac, &bc, &one, &b2c); }},
      {"hemm", 8, "f32", [&](auto* q) { return myriad_hemm(q, MYRIAD_LEFT, MYRIAD_LOWER, &one, &ac, &sc, &one, &bc); }},
      {"hemm", 10, "beta", [&](auto* q) { return myriad_hemm(q, MYRIAD_LEFT, MYRIAD_LOWER, &one, &ac, &bc, nullptr, &bc); }},
      {"syrk", 1, "uplo", [&](auto* q) { return myriad_syrk(q, bad_uplo, &one, &bc, &one, &ac); }},
      {"syrk", 5, "alpha", [&](auto* q) { return myriad_syrk(q, MYRIAD_LOWER, nullptr, &bc, &one, &ac); }},
      {"herk", 1, "uplo", [&](auto* q) { return myriad_herk(q, bad_uplo, &one, &bc, &one, &ac); }},
      {"herk", 6, "null", [&](auto* q) { return myriad_herk(q, MYRIAD_LOWER, &one, nullptr, &one, &ac); }},
      {"herk", 8, "beta", [&](auto* q) { return myriad_herk(q, MYRIAD_LOWER, &one, &bc, nullptr, &ac); }},
      {"syr2k", 1, "uplo", [&](auto* q) { return myriad_syr2k(q, bad_uplo, &one, &bc, &b2c, &one, &ac); }},
      {"syr2k", 8, "f32", [&](auto* q) { return myriad_syr2k(q, MYRIAD_LOWER, &one, &bc, &sc, &one, &ac); }},
      {"syr2k", 10, "beta", [&](auto* q) { return myriad_syr2k(q, MYRIAD_LOWER, &one, &bc, &bc, nullptr, &ac); }},
      {"her2k", 1, "uplo", [&](auto* q) { return myriad_her2k(q, bad_uplo, &one, &bc, &b2c, &one, &ac); }},
      {"her2k", 5, "alpha", [&](auto* q) { return myriad_her2k(q, MYRIAD_LOWER, nullptr, &bc, &bc, &one, &ac); }},
      {"her2k", 11, "f32", [&](auto* q) { return myriad_her2k(q, MYRIAD_LOWER, &one, &bc, &bc, &one, &sc); }},
      {"trsm", 1, "side", [&](auto* q) { return myriad_trsm(q, bad_side, MYRIAD_LOWER, MYRIAD_UNIT, &one, &ac, &bc); }},
      {"trsm", 2, "uplo", [&](auto* q) { return myriad_trsm(q, MYRIAD_LEFT, bad_uplo, MYRIAD_UNIT, &one, &ac, &bc); }},
      {"trsm", 4, "diag", [&](auto* q) { return myriad_trsm(q, MYRIAD_LEFT, MYRIAD_LOWER, bad_diag, &one, &ac, &bc); }},
      {"trsm", 7, "alpha", [&](auto* q) { return myriad_trsm(q, MYRIAD_LEFT, MYRIAD_LOWER, MYRIAD_UNIT, nullptr, &ac, &bc); }},
      {"trmm", 1, "side", [&](auto* q) { return myriad_trmm(q, bad_side, MYRIAD_LOWER, MYRIAD_UNIT, &one, &ac, &bc); }},
      {"trmm", 2, "uplo", [&](auto* q) { return myriad_trmm(q, MYRIAD_LEFT, bad_uplo, MYRIAD_UNIT, &one, &ac, &bc); }},
      {"trmm", 4, "diag", [&](auto* q) { return myriad_trmm(q, MYRIAD_LEFT, MYRIAD_LOWER, bad_diag, &one, &ac, &bc); }},
      {"trmm", 10, "f32", [&](auto* q) { return myriad_trmm(q, MYRIAD_LEFT, MYRIAD_LOWER, MYRIAD_UNIT, &one, &ac, &sc); }},
      {"trsv", 1, "uplo", [&](auto* q) { return myriad_trsv(q, bad_uplo, MYRIAD_UNIT, &ac, &xc); }},
      {"trsv", 3, "diag", [&](auto* q) { return myriad_trsv(q, MYRIAD_LOWER, bad_diag, &ac, &xc); }},
      {"trmv", 1, "uplo", [&](auto* q) { return myriad_trmv(q, bad_uplo, MYRIAD_UNIT, &ac, &xc); }},
      {"trmv", 3, "diag", [&](auto* q) { return myriad_trmv(q, MYRIAD_LOWER, bad_diag, &ac, &xc); }},
      {"trmv", 5, "null", [&](auto* q) { return myriad_trmv(q, MYRIAD_LOWER, MYRIAD_UNIT, nullptr, &bc); }},
      {"trmv", 7, "one column", [&](auto* q) { return myriad_trmv(q, MYRIAD_LOWER, MYRIAD_UNIT, &ac, &bc); }},
      {"trtri", 1, "uplo", [&](auto* q) { return myriad_trtri(q, bad_uplo, MYRIAD_UNIT, &ac, info.data()); }},
      {"trtri", 2, "diag", [&](auto* q) { return myriad_trtri(q, MYRIAD_LOWER, bad_diag, &ac, info.data()); }},
      {"getrf", 5, "ipiv", [&](auto* q) { return myriad_getrf(q, &ac, nullptr, nullptr); }},
      {"getrf", 5, "ipiv", [&](auto* q) { return myriad_getrf(q, &ac, &bc, nullptr); }},
      {"getrs", 1, "trans", [&](auto* q) { return myriad_getrs(q, static_cast<myriad_op>('n'), &ac, &pc, &bc); }},
      {"getrs", 6, "int", [&](auto* q) { return myriad_getrs(q, MYRIAD_NONE, &ac, &bc, &bc); }},
      {"gesv", 6, "null", [&](auto* q) { return myriad_gesv(q, &ac, nullptr, nullptr, nullptr); }},
      {"solve", 7, "f32", [&](auto* q) { return myriad_solve(q, &ac, &bc, &sc, nullptr); }},
      {"inverse", 4, "f32", [&](auto* q) { return myriad_inverse(q, &ac, &sc, nullptr); }},
      {"det", 4, "null", [&](auto* q) { return myriad_det(q, &ac, nullptr); }},
      {"potrf", 1, "uplo", [&](auto* q) { return myriad_potrf(q, bad_uplo, &ac, nullptr); }},
      {"potrs", 6, "f32", [&](auto* q) { return myriad_potrs(q, MYRIAD_LOWER, &ac, &sc); }},
      {"solve_positive_definite", 1, "uplo", [&](auto* q) { return myriad_solve_positive_definite(q, bad_uplo, &ac, &bc, &bc, nullptr); }},
      {"solve_positive_definite", 8, "f32",
       [&](auto* q) { return myriad_solve_positive_definite(q, MYRIAD_LOWER, &ac, &bc, &sc, nullptr); }},
      {"potrf_regularized", 1, "uplo",
       [&](auto* q) { return myriad_potrf_regularized(q, bad_uplo, &ac, nullptr, nullptr, nullptr, nullptr); }},
      {"posv_regularized", 6, "f32",
       [&](auto* q) { return myriad_posv_regularized(q, MYRIAD_LOWER, &ac, &sc, nullptr, nullptr, nullptr, nullptr); }},
      {"gesv_mixed", 8, "f32", [&](auto* q) { return myriad_gesv_mixed(q, &ac, nullptr, &bc, &sc, nullptr, nullptr); }},
      {"posv_mixed", 1, "uplo", [&](auto* q) { return myriad_posv_mixed(q, bad_uplo, &ac, &bc, &bc, nullptr, nullptr); }},
      {"syevd", 1, "jobz", [&](auto* q) { return myriad_syevd(q, bad_job, MYRIAD_LOWER, &ac, &xc, info.data()); }},
      {"syevd", 2, "uplo", [&](auto* q) { return myriad_syevd(q, MYRIAD_VALUES, bad_uplo, &ac, &xc, info.data()); }},
      {"heevd", 1, "jobz", [&](auto* q) { return myriad_heevd(q, bad_job, MYRIAD_LOWER, &ac, &xc, info.data()); }},
      {"heevd", 2, "uplo", [&](auto* q) { return myriad_heevd(q, MYRIAD_VALUES, bad_uplo, &ac, &xc, info.data()); }},
      {"heevd", 4, "null", [&](auto* q) { return myriad_heevd(q, MYRIAD_VALUES, MYRIAD_LOWER, nullptr, &bc, nullptr); }},
      {"syevd", 6, "f32", [&](auto* q) { return myriad_syevd(q, MYRIAD_VALUES, MYRIAD_LOWER, &ac, &sc, nullptr); }},
      {"sytrd", 1, "uplo", [&](auto* q) { return myriad_sytrd(q, bad_uplo, &ac, &dc, &ec, &tc); }},
      {"hetrd", 1, "uplo", [&](auto* q) { return myriad_hetrd(q, bad_uplo, &ac, &dc, &ec, &tc); }},
      {"sytrd", 5, "f32", [&](auto* q) { return myriad_sytrd(q, MYRIAD_LOWER, &ac, &sc, &ec, &tc); }},
      {"hetrd", 6, "null", [&](auto* q) { return myriad_hetrd(q, MYRIAD_LOWER, &ac, &dc, nullptr, &tc); }},
      {"orgtr", 1, "uplo", [&](auto* q) { return myriad_orgtr(q, bad_uplo, &ac, &tc); }},
      {"ungtr", 1, "uplo", [&](auto* q) { return myriad_ungtr(q, bad_uplo, &ac, &tc); }},
      {"orgtr", 5, "f32", [&](auto* q) { return myriad_orgtr(q, MYRIAD_LOWER, &ac, &sc); }},
      {"ormtr", 1, "side", [&](auto* q) { return myriad_ormtr(q, bad_side, MYRIAD_LOWER, MYRIAD_NONE, &ac, &tc, &bc); }},
      {"ormtr", 2, "uplo", [&](auto* q) { return myriad_ormtr(q, MYRIAD_LEFT, bad_uplo, MYRIAD_NONE, &ac, &tc, &bc); }},
      {"ormtr", 3, "trans", [&](auto* q) { return myriad_ormtr(q, MYRIAD_LEFT, MYRIAD_LOWER, bad_op, &ac, &tc, &bc); }},
      {"unmtr", 1, "side", [&](auto* q) { return myriad_unmtr(q, bad_side, MYRIAD_LOWER, MYRIAD_NONE, &ac, &tc, &bc); }},
      {"unmtr", 2, "uplo", [&](auto* q) { return myriad_unmtr(q, MYRIAD_LEFT, bad_uplo, MYRIAD_NONE, &ac, &tc, &bc); }},
      {"unmtr", 3, "trans", [&](auto* q) { return myriad_unmtr(q, MYRIAD_LEFT, MYRIAD_LOWER, bad_op, &ac, &tc, &bc); }},
      {"unmtr", 9, "f32", [&](auto* q) { return myriad_unmtr(q, MYRIAD_LEFT, MYRIAD_LOWER, MYRIAD_NONE, &ac, &tc, &sc); }},
      {"gejsv", 1, "jobz", [&](auto* q) { return myriad_gejsv(q, bad_svd_job, &ac, &xc, nullptr, nullptr, nullptr); }},
      {"gesvd", 1, "jobz", [&](auto* q) { return myriad_gesvd(q, bad_svd_job, &ac, &xc, nullptr, nullptr, nullptr); }},
      {"gesvd", 6, "f32", [&](auto* q) { return myriad_gesvd(q, MYRIAD_SVD_VALUES, &ac, &sc, nullptr, nullptr, nullptr); }},
      {"gesvd", 7, "u", [&](auto* q) { return myriad_gesvd(q, MYRIAD_SVD_LEFT, &ac, &xc, nullptr, nullptr, nullptr); }},
      {"gesvd", 9, "f32", [&](auto* q) { return myriad_gesvd(q, MYRIAD_SVD_RIGHT, &ac, &xc, nullptr, &sc, nullptr); }},
      {"gelsd", 8, "f32", [&](auto* q) { return myriad_gelsd(q, &ac, &xc, &sc, -1, nullptr, nullptr); }},
      {"matrix_rank", 7, "null", [&](auto* q) { return myriad_matrix_rank(q, &ac, 0, -1, nullptr, nullptr); }},
      {"cond", 5, "null", [&](auto* q) { return myriad_cond(q, &ac, nullptr, nullptr); }},
      {"norm2", 5, "null", [&](auto* q) { return myriad_norm2(q, &ac, nullptr, nullptr); }},
      {"pinv", 6, "f32", [&](auto* q) { return myriad_pinv(q, &ac, -1, &sc, nullptr, nullptr); }},
      {"gebrd", 5, "f32", [&](auto* q) { return myriad_gebrd(q, &ac, &sc, &ec, &tc, &tc); }},
      {"gebrd", 8, "null", [&](auto* q) { return myriad_gebrd(q, &ac, &dc, &ec, &xc, nullptr); }},
      {"orgbr", 1, "vect", [&](auto* q) { return myriad_orgbr(q, bad_vect, n, nullptr, &ac, &xc); }},
      {"orgbr", 4, "k", [&](auto* q) { return myriad_ungbr(q, MYRIAD_Q, -1, nullptr, &ac, &xc); }},
      {"orgbr", 7, "f32", [&](auto* q) { return myriad_orgbr(q, MYRIAD_P, n, nullptr, &ac, &sc); }},
      {"ormbr", 2, "side", [&](auto* q) { return myriad_ormbr(q, MYRIAD_Q, bad_side, MYRIAD_NONE, n, nullptr, &ac, &xc, &bc); }},
      {"unmbr", 3, "trans", [&](auto* q) { return myriad_unmbr(q, MYRIAD_Q, MYRIAD_LEFT, bad_op, n, nullptr, &ac, &xc, &bc); }},
      {"ormbr", 10, "f32", [&](auto* q) { return myriad_ormbr(q, MYRIAD_P, MYRIAD_LEFT, MYRIAD_NONE, n, nullptr, &ac, &xc, &sc); }},
      {"ormqr", 1, "side", [&](auto* q) { return myriad_ormqr(q, bad_side, MYRIAD_NONE, &ac, &xc, &bc); }},
      {"unmqr", 2, "trans", [&](auto* q) { return myriad_unmqr(q, MYRIAD_LEFT, bad_op, &ac, &xc, &bc); }},
      {"ormqr", 8, "f32", [&](auto* q) { return myriad_ormqr(q, MYRIAD_LEFT, MYRIAD_NONE, &ac, &sc, &bc); }},
      {"unmqr", 9, "f32", [&](auto* q) { return myriad_unmqr(q, MYRIAD_LEFT, MYRIAD_NONE, &ac, &ac, &sc); }},
      {"orgqr", 6, "f32", [&](auto* q) { return myriad_orgqr(q, &ac, &sc); }},
      {"ungqr", 6, "null", [&](auto* q) { return myriad_ungqr(q, &ac, nullptr); }},
      {"gels", 7, "f32", [&](auto* q) { return myriad_gels(q, &ac, &sc, nullptr); }},
      {"geequ", 5, "f32", [&](auto* q) { return myriad_geequ(q, &ac, &sc, &sc, nullptr, nullptr, nullptr, nullptr); }},
      {"laqge", 6, "f32", [&](auto* q) { return myriad_laqge(q, &ac, nullptr, &sc); }},
      {"gerfs", 14, "f32", [&](auto* q) { return myriad_gerfs(q, MYRIAD_NONE, &ac, &ac, &pc, &bc, &bc, nullptr, &sc); }},
      {"backward_error", 10, "null", [&](auto* q) { return myriad_backward_error(q, &ac, &bc, &bc, nullptr); }},
  };
  for (Refused const& refused : table) {
    EXPECT_EQ(refused.call(queue.get()), MYRIAD_BAD_ARGUMENT) << refused.routine;
    std::string const text = myriad_last_error(queue.get());
    EXPECT_TRUE(text.starts_with(refused.routine)) << text;
    EXPECT_NE(text.find(refused.text), std::string::npos) << refused.routine << ": " << text;
    EXPECT_EQ(myriad_last_error_position(queue.get()), refused.position) << text;
    EXPECT_EQ(refused.call(nullptr), MYRIAD_BAD_ARGUMENT) << refused.routine;
    EXPECT_NE(std::string(myriad_last_error(nullptr)).find("queue"), std::string::npos) << myriad_last_error(nullptr);
  }
  for (Matrices<double> const* const matrices : {&a, &b, &b2, &x, &d, &e, &tau})
    EXPECT_TRUE(same_bits(matrices->data, std::vector<double>(matrices->data.size(), 1))) << "a refused call wrote";
  EXPECT_TRUE(same_bits(single.data, Matrices<float>(n, n, 1).data)) << "a refused call wrote";
  EXPECT_TRUE(same_bits(pivots.data, Matrices<int>(n, 1, 1).data)) << "a refused call wrote";
  EXPECT_EQ(info, std::vector<int>(count, 1)) << "a refused call wrote";
}

template <typename T>
class ProductsOf16Bits : public testing::Test {};
using HalfElements = testing::Types<myriad::half, myriad::bfloat16, myriad::complex_half>;
TYPED_TEST_SUITE(ProductsOf16Bits, HalfElements);

TYPED_TEST(ProductsOf16Bits, HaveTheBitsOfTheCppInterface) {
  using T = TypeParam;
  using Wide = myriad::Compute<T>;
  auto const queue = make_queue();
  myriad::Queue cpp_queue{{.backend = myriad::Backend::cpu, .threads = 1}};
  auto const halves = [](std::int64_t rows, std::int64_t cols, unsigned seed) {
    auto const wide = random_matrices<Wide>(rows, cols, seed);
    Matrices<T> x(rows, cols);
    for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = T(wide.data[i]);
    return x;
  };
  auto a = halves(n, m, 1), b = halves(n, nrhs, 2), c1 = halves(m, nrhs, 3), c2 = c1;
  auto w1 = random_matrices<Wide>(m, nrhs, 4), w2 = w1;
  Wide const alpha(2), beta(-3);
  myriad::gemm<T>(cpp_queue, alpha, myriad::conjugate_transposed(a.cpp()), b.cpp(), beta, c1.cpp());
  myriad::gemm<T>(cpp_queue, alpha, myriad::conjugate_transposed(a.cpp()), b.cpp(), beta, w1.cpp());
  auto const ah = myriad_conjugate_transposed(a.c()), bc = b.c(), cc = c2.c(), wc = w2.c();
  EXPECT_EQ(myriad_at(cc, 1, 2, 1), c2.cpp().at(1, 2, 1));
  EXPECT_EQ(myriad_gemm(queue.get(), &alpha, &ah, &bc, &beta, &cc), MYRIAD_OK) << myriad_last_error(queue.get());
  EXPECT_TRUE(same_bits(c1.data, c2.data));
  EXPECT_EQ(myriad_gemm(queue.get(), &alpha, &ah, &bc, &beta, &wc), MYRIAD_OK) << myriad_last_error(queue.get());
  EXPECT_TRUE(same_bits(w1.data, w2.data));

  myriad::gemm<T>(cpp_queue, beta, myriad::conjugate_transposed(a.cpp()), b.cpp(), alpha, c1.cpp());
  auto d1 = halves(n, n, 5), d2 = d1;
  myriad::gemm<T>(cpp_queue, alpha, a.cpp(), myriad::transposed(a.cpp()), beta, d1.cpp());
  auto const ac = a.c(), at = myriad_transposed(a.c()), dc = d2.c();
  myriad_gemm_group const groups[] = {{&beta, &ah, &bc, &alpha, &cc}, {&alpha, &ac, &at, &beta, &dc}};
  EXPECT_EQ(myriad_gemm_grouped(queue.get(), groups, 2), MYRIAD_OK) << myriad_last_error(queue.get());
  EXPECT_TRUE(same_bits(c1.data, c2.data));
  EXPECT_TRUE(same_bits(d1.data, d2.data));
}

TEST(CApi, RefusesElementsOf16BitsWhereTheyDoNotFit) {
  auto const queue = make_queue();
  std::vector<double> memory(4 * n * n * count, -7);
  auto const matrix = [&](myriad_dtype dtype, std::size_t which) {
    return myriad_strided(dtype, n, n, memory.data() + which * n * n * count, 0, 0, count);
  };
  float const one[2] = {1, 0};
  auto const refusal = [&](myriad_dtype a, myriad_dtype b, myriad_dtype c) {
    auto const x = matrix(a, 0), y = matrix(b, 1), z = matrix(c, 2);
    EXPECT_EQ(myriad_gemm(queue.get(), one, &x, &y, one, &z), MYRIAD_BAD_ARGUMENT);
    return std::string(myriad_last_error(queue.get()));
  };
  auto const contains = [](std::string const& text, char const* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(contains(refusal(MYRIAD_F16, MYRIAD_BF16, MYRIAD_F16), "has elements of type bf16; with a of type f16 they are f16"));
  EXPECT_EQ(myriad_last_error_position(queue.get()), 9);
  EXPECT_TRUE(contains(refusal(MYRIAD_F16, MYRIAD_F16, MYRIAD_C32), "has elements of type c32; with a of type f16 they are f16 or f32"));
  EXPECT_EQ(myriad_last_error_position(queue.get()), 12);
  EXPECT_TRUE(contains(refusal(MYRIAD_C16, MYRIAD_C16, MYRIAD_F32), "has elements of type f32; with a of type c16 they are c16 or c32"));
  EXPECT_TRUE(contains(refusal(MYRIAD_F32, MYRIAD_F32, MYRIAD_F16), "has elements of type f16; with a of type f32 they are f32"));
  EXPECT_TRUE(contains(refusal(MYRIAD_INT, MYRIAD_INT, MYRIAD_INT), "they are f32, f64, c32, c64, f16, bf16 or c16"));
  auto const x = matrix(MYRIAD_F16, 0), y = matrix(MYRIAD_F16, 1);
  EXPECT_EQ(myriad_gemv(queue.get(), one, &x, &y, one, &y), MYRIAD_BAD_ARGUMENT);
  EXPECT_TRUE(contains(myriad_last_error(queue.get()), "has elements of type f16; they are f32, f64, c32 or c64"));
  EXPECT_EQ(std::count(memory.begin(), memory.end(), -7.0), static_cast<std::ptrdiff_t>(memory.size()));
}

TEST(CApi, ComplexMatricesGoWithRealScalings) {
  auto const queue = make_queue();
  Matrices<std::complex<float>> a(n, n, 1);
  Matrices<float> r(n, 1), c(n, 1);
  Matrices<double> wide(n, 1);
  auto const ac = a.c(), rc = r.c(), cc = c.c(), wc = wide.c();
  EXPECT_EQ(myriad_geequ(queue.get(), &ac, &rc, &cc, nullptr, nullptr, nullptr, nullptr), MYRIAD_OK) << myriad_last_error(queue.get());
  EXPECT_EQ(myriad_geequ(queue.get(), &ac, &rc, &wc, nullptr, nullptr, nullptr, nullptr), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(queue.get()), 6);
}

TEST(CApi, Queues) {
  auto const queue = make_queue(3);
  EXPECT_EQ(myriad_queue_threads(queue.get()), 3);
  EXPECT_EQ(myriad_queue_backend(queue.get()), MYRIAD_CPU);
  EXPECT_STREQ(myriad_queue_gpu_problem(queue.get()), "");
  EXPECT_STREQ(myriad_queue_gpu_problem(nullptr), "");
  EXPECT_EQ(myriad_queue_wait(queue.get()), MYRIAD_OK);
  EXPECT_STREQ(myriad_last_error(queue.get()), "");
  EXPECT_EQ(myriad_last_error_position(queue.get()), 0);

  EXPECT_EQ(myriad_queue_create(nullptr, MYRIAD_CPU, 1), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_queue_wait(nullptr), MYRIAD_BAD_ARGUMENT);
  myriad_queue* none = queue.get();
  EXPECT_EQ(myriad_queue_create(&none, static_cast<myriad_backend>(9), 1), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(myriad_last_error_position(nullptr), 2);
}

TEST(CApi, StreamsAndAllocatorsOfAQueueOnTheCpu) {
  auto const queue = make_queue();
  myriad_queue* const q = queue.get();
  EXPECT_EQ(myriad_queue_stream(q), nullptr);
  EXPECT_EQ(myriad_queue_stream(nullptr), nullptr);
  EXPECT_EQ(myriad_queue_device(q), -1);
  EXPECT_EQ(myriad_queue_device(nullptr), -1);
  EXPECT_EQ(myriad_queue_set_stream(q, MYRIAD_LEGACY_STREAM), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(q), 1);
  EXPECT_STREQ(myriad_last_error(q), "set_stream: argument 1 (stream) is given for a queue on the CPU");
  EXPECT_EQ(myriad_queue_set_stream(nullptr, nullptr), MYRIAD_BAD_ARGUMENT);
  auto const allocate = [](int64_t, void*, void*) -> void* {
    ADD_FAILURE() << "no workspace comes from the caller on the CPU";
    return nullptr;
  };
  auto const release = [](void*, int64_t, void*, void*) {};
  EXPECT_EQ(myriad_queue_set_allocator(q, allocate, release, nullptr), MYRIAD_OK);
  Matrices<double> a(n, n);
  auto const ac = a.c();
  EXPECT_EQ(myriad_inverse(q, &ac, &ac, nullptr), MYRIAD_OK) << myriad_last_error(q);
  EXPECT_EQ(myriad_queue_set_allocator(q, nullptr, release, nullptr), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(q), 1);
  EXPECT_EQ(myriad_queue_set_allocator(q, nullptr, nullptr, nullptr), MYRIAD_OK);
  EXPECT_EQ(myriad_queue_set_allocator(nullptr, nullptr, nullptr, nullptr), MYRIAD_BAD_ARGUMENT);
}

TEST(CApi, AlphaAndBetaInMemory) {
  auto const queue = make_queue();
  myriad_queue* const q = queue.get();
  auto a = random_matrices<double>(n, n, 1), c1 = random_matrices<double>(n, n, 2), c2 = c1;
  double const alpha = 2, beta = -3;
  auto const ac = a.c(), cc1 = c1.c(), cc2 = c2.c();
  EXPECT_EQ(myriad_gemm(q, &alpha, &ac, &ac, &beta, &cc1), MYRIAD_OK);
  EXPECT_EQ(myriad_queue_set_pointer_mode(q, MYRIAD_POINTER_MODE_DEVICE, MYRIAD_POINTER_MODE_DEVICE), MYRIAD_OK);
  EXPECT_EQ(myriad_gemm(q, &alpha, &ac, &ac, &beta, &cc2), MYRIAD_OK);
  EXPECT_TRUE(same_bits(c1.data, c2.data));
  EXPECT_EQ(myriad_gemm(q, &alpha, &ac, &ac, nullptr, &cc2), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(q), 11);
  EXPECT_EQ(myriad_queue_set_pointer_mode(q, MYRIAD_POINTER_MODE_HOST, static_cast<myriad_pointer_mode>(2)), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(q), 2);
  EXPECT_EQ(myriad_queue_set_pointer_mode(nullptr, MYRIAD_POINTER_MODE_HOST, MYRIAD_POINTER_MODE_HOST), MYRIAD_BAD_ARGUMENT);
}

TEST(CApi, AFolderForNvrtcIsAPath) {
  EXPECT_EQ(myriad_search_nvrtc(nullptr), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(nullptr), 1);
  EXPECT_EQ(myriad_search_nvrtc(""), MYRIAD_BAD_ARGUMENT);
  EXPECT_STREQ(myriad_last_error(nullptr), "search_nvrtc: argument 1 (folder) is empty");
}

TEST(CApi, PacksAreBuiltFromLists) {
  EXPECT_EQ(myriad_search_packs(nullptr), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(nullptr), 1);
  EXPECT_EQ(myriad_search_packs(""), MYRIAD_BAD_ARGUMENT);
  EXPECT_STREQ(myriad_last_error(nullptr), "search_packs: argument 1 (folder) is empty");
  std::int64_t kernels = 7;
  EXPECT_EQ(myriad_build_pack("sm_90", "/nonexistent", -1, "/x", &kernels), MYRIAD_BAD_ARGUMENT);
  EXPECT_EQ(myriad_last_error_position(nullptr), 3);
  EXPECT_EQ(kernels, 0);
  EXPECT_EQ(myriad_build_pack("sm_90,sm_90a", "/nonexistent", 0, "/x", nullptr), MYRIAD_BAD_ARGUMENT);
  EXPECT_STREQ(myriad_last_error(nullptr),
               "build_pack: argument 1 (archs) has 'sm_90a', which is not the name of an architecture, like sm_90, nor compute_90");
  EXPECT_EQ(myriad_build_pack("sm_90,compute_90", "/nonexistent", 0, "/x", nullptr), MYRIAD_FAILED);
  EXPECT_NE(std::string(myriad_last_error(nullptr)).find("the list of kernels /nonexistent cannot be read"), std::string::npos);
  for (int missing : {1, 2, 4}) {
    EXPECT_EQ(myriad_build_pack(missing == 1 ? nullptr : "sm_90", missing == 2 ? nullptr : "/x", 0, missing == 4 ? nullptr : "/x", nullptr),
              MYRIAD_BAD_ARGUMENT);
    EXPECT_EQ(myriad_last_error_position(nullptr), missing);
  }
}

TEST(CApi, AutomaticIsTheGpuOrSaysWhyNot) {
  myriad_queue* queue = nullptr;
  ASSERT_EQ(myriad_queue_create(&queue, MYRIAD_AUTOMATIC, 0), MYRIAD_OK) << myriad_last_error(nullptr);
  EXPECT_EQ(std::string(myriad_queue_gpu_problem(queue)).empty(), myriad_queue_backend(queue) == MYRIAD_GPU);
  myriad_queue_destroy(queue);
}

TEST(CApi, NoGpuIsAStatus) {
  myriad_queue* queue = nullptr;
  myriad_status const status = myriad_queue_create(&queue, MYRIAD_GPU, 0);
  if (status == MYRIAD_OK) {
    EXPECT_EQ(myriad_queue_backend(queue), MYRIAD_GPU);
    myriad_queue_destroy(queue);
  } else {
    EXPECT_EQ(status, MYRIAD_UNAVAILABLE);
    EXPECT_EQ(queue, nullptr);
    EXPECT_NE(std::string(myriad_last_error(nullptr)).find("GPU"), std::string::npos);
    EXPECT_EQ(myriad_last_error_position(nullptr), 0);
  }
}

TEST(CApi, ErrorsOfThreadsWithoutAQueueStayApart) {
  EXPECT_EQ(myriad_queue_create(nullptr, MYRIAD_CPU, 1), MYRIAD_BAD_ARGUMENT);
  std::string const here = myriad_last_error(nullptr);
  EXPECT_NE(here, "");
  std::string there = "not run";
  std::thread([&] { there = myriad_last_error(nullptr); }).join();
  EXPECT_EQ(there, "");
  EXPECT_EQ(myriad_last_error(nullptr), here);
}

TEST(CApi, ViewsAreThoseOfTheCppInterface) {
  Matrices<std::complex<double>> a(m, n);
  auto const same = [&](myriad_batch const& x, Batch<std::complex<double>> const& y) {
    for (std::int64_t b = 0; b < y.count; ++b) EXPECT_EQ(myriad_at(x, b, 1, 2), static_cast<void*>(y.at(b, 1, 2)));
    EXPECT_EQ(x.rows, y.rows);
    EXPECT_EQ(x.cols, y.cols);
    EXPECT_EQ(x.count, y.count);
    EXPECT_EQ(x.conjugated != 0, y.conjugated);
    EXPECT_EQ(x.dtype, MYRIAD_C64);
  };
  same(myriad_transposed(a.c()), myriad::transposed(a.cpp()));
  same(myriad_conjugated(a.c()), myriad::conjugated(a.cpp()));
  same(myriad_conjugated(myriad_conjugated(a.c())), a.cpp());
  same(myriad_conjugate_transposed(a.c()), myriad::conjugate_transposed(a.cpp()));
  same(myriad_block(a.c(), 2, 1, 4, 3), myriad::block(a.cpp(), 2, 1, 4, 3));
  same(myriad_rows(a.c(), 2, 4), myriad::rows(a.cpp(), 2, 4));
  same(myriad_columns(a.c(), 1, 3), myriad::columns(a.cpp(), 1, 3));
  same(myriad_matrices(a.c(), 4, 2), myriad::matrices(a.cpp(), 4, 2));

  Matrices<double> real(m, n);
  EXPECT_EQ(myriad_conjugated(real.c()).conjugated, 0);
  auto unknown = real.c();
  unknown.dtype = static_cast<myriad_dtype>(-1);
  EXPECT_EQ(myriad_at(unknown, 0, 0, 0), nullptr);
  EXPECT_EQ(myriad_transposed(unknown).dtype, unknown.dtype);
}

}  // namespace
