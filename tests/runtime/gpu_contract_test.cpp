/// Promises of every call on a GPU: it can be captured into a graph, and batches may have more than 2^31 elements. Skipped, with the
/// reason, without a GPU; the tests' own code runs on the CPU everywhere.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "gemm/gemm_choice.hpp"
#include "gemm/gemm_gpu.hpp"
#include "graph.hpp"
#include "myriad/memory.hpp"
#include "myriad/myriad.hpp"
#include "on_gpu.hpp"
#include "runtime/launch.hpp"
#include "tune/tuned.hpp"

namespace myriad {
namespace {

class GpuContract : public OnFirstGpu {};

template <typename T>
std::vector<T> random(std::int64_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> out(static_cast<std::size_t>(size));
  for (T& x : out) {
    if constexpr (is_complex<T>)
      x = T(static_cast<Real<T>>(uniform(engine)), static_cast<Real<T>>(uniform(engine)));
    else
      x = static_cast<T>(uniform(engine));
  }
  return out;
}

/// Also of 16-bit types.
template <typename T>
std::vector<T> random_numbers(std::int64_t size, unsigned seed) {
  if constexpr (HalfElement<T>) {
    std::vector<T> out;
    for (auto const x : random<Compute<T>>(size, seed)) out.push_back(T(x));
    return out;
  } else {
    return random<T>(size, seed);
  }
}

template <typename T>
bool same_bits(std::vector<T> const& x, std::vector<T> const& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// Several routines in sequence, with inputs that change between runs.
template <typename T>
class Chain {
 public:
  struct Results {
    std::vector<T> numbers;
    std::vector<int> integers;
    bool operator==(Results const& other) const { return same_bits(numbers, other.numbers) && integers == other.integers; }
  };

  Chain(Queue& queue, std::int64_t n) : queue_(queue), n_(n) {}

  /// Sets other inputs, and every result to NaN or -1.
  void set(unsigned seed) {
    std::vector<T> general = random<T>(count * n_ * n_, seed);
    std::vector<T> positive = random<T>(count * n_ * n_, seed + 1);
    for (std::int64_t b = 0; b < count; ++b)
      for (std::int64_t i = 0; i < n_; ++i) {
        general[static_cast<std::size_t>((b * n_ + i) * n_ + (i + b) % n_)] += T(static_cast<Real<T>>(2 * n_));
        positive[static_cast<std::size_t>((b * n_ + i) * n_ + i)] = T(static_cast<Real<T>>(2 * n_));
      }
    put(general, general_);
    put(positive, positive_);
    put(random<T>(count * n_ * nrhs, seed + 2), right_);
    T const nan(std::numeric_limits<Real<T>>::quiet_NaN());
    for (auto* a : {&lu_, &y_, &l_, &qr_, &tau_, &x_, &z_, &det_}) put(std::vector<T>(static_cast<std::size_t>(a->size()), nan), *a);
    for (auto* a : {&pivots_, &info_, &other_info_, &third_info_}) put(std::vector<int>(static_cast<std::size_t>(a->size()), -1), *a);
  }

  void run() {
    Queue& q = queue_;
    auto const matrices = [&](DeviceArray<T>& a, std::int64_t cols) { return batch(a.data(), n_, cols, {.count = count}); };
    auto const inputs = [&](DeviceArray<T>& a, std::int64_t cols) { return Batch<T const>(matrices(a, cols)); };
    auto const pivots = vectors(pivots_.data(), n_, count);
    copy(q, general_.data(), general_.size(), lu_.data());
    getrf<T>(q, matrices(lu_, n_), pivots, info_.data());
    copy(q, right_.data(), right_.size(), y_.data());
    getrs<T>(q, Op::none, inputs(lu_, n_), Batch<int const>(pivots), matrices(y_, nrhs));
    copy(q, positive_.data(), positive_.size(), l_.data());
    potrf<T>(q, Uplo::lower, matrices(l_, n_), other_info_.data());
    copy(q, general_.data(), general_.size(), qr_.data());
    geqrf<T>(q, matrices(qr_, n_), vectors(tau_.data(), n_, count));
    solve<T>(q, inputs(general_, n_), inputs(right_, nrhs), matrices(x_, nrhs), info_.data());
    solve_positive_definite<T>(q, Uplo::lower, inputs(positive_, n_), inputs(right_, nrhs), matrices(z_, nrhs), third_info_.data());
    det<T>(q, inputs(general_, n_), det_.data());
  }

  Results results() {
    Results out;
    auto const append = [&](auto& to, auto const& array) {
      auto const from = to_host(queue_, array);
      to.insert(to.end(), from.begin(), from.end());
    };
    for (auto const* a : {&lu_, &y_, &l_, &qr_, &tau_, &x_, &z_, &det_}) append(out.numbers, *a);
    for (auto const* a : {&pivots_, &info_, &other_info_, &third_info_}) append(out.integers, *a);
    return out;
  }

 private:
  static constexpr std::int64_t count = 301, nrhs = 2;

  template <typename U>
  void put(std::vector<U> const& from, DeviceArray<U>& to) {
    copy(queue_, from.data(), to.size(), to.data());
    queue_.wait();
  }

  Queue& queue_;
  std::int64_t n_;
  template <typename U = T>
  DeviceArray<U> array(std::int64_t of_matrix) {
    return DeviceArray<U>(queue_, of_matrix * count);
  }
  DeviceArray<T> general_ = array(n_ * n_), positive_ = array(n_ * n_), right_ = array(n_ * nrhs);
  DeviceArray<T> lu_ = array(n_ * n_), y_ = array(n_ * nrhs), l_ = array(n_ * n_), qr_ = array(n_ * n_), tau_ = array(n_),
                 x_ = array(n_ * nrhs), z_ = array(n_ * nrhs), det_ = array(1);
  DeviceArray<int> pivots_ = array<int>(n_), info_ = array<int>(1), other_info_ = array<int>(1), third_info_ = array<int>(1);
};

template <typename T>
bool is_nan(T x) {
  return std::isnan(std::abs(x));
}

/// Expects runs on `queue` to give the same bits each time, and the results of the CPU. `run(chain)` runs the chain.
template <typename T, typename Run>
void expect_same(Queue& queue, Chain<T>& chain, std::int64_t n, Run run) {
  Queue cpu({.backend = Backend::cpu});
  Chain<T> on_cpu(cpu, n);
  std::optional<typename Chain<T>::Results> former;
  for (unsigned const seed : {10U, 20U, 10U}) {
    chain.set(seed);
    auto const unset = chain.results();
    ASSERT_TRUE(std::all_of(unset.numbers.begin(), unset.numbers.end(), is_nan<T>));
    run(chain);
    auto const result = chain.results();
    chain.set(seed);
    chain.run();
    EXPECT_TRUE(result == chain.results());
    EXPECT_FALSE(former && result == *former);
    former = result;
    on_cpu.set(seed);
    on_cpu.run();
    auto const expected = on_cpu.results();
    EXPECT_EQ(result.integers, expected.integers);
    ASSERT_EQ(result.numbers.size(), expected.numbers.size());
    double const u = std::numeric_limits<Real<T>>::epsilon();
    double worst = 0;
    for (std::size_t i = 0; i < expected.numbers.size(); ++i) {
      double const error = std::abs(result.numbers[i] - expected.numbers[i]) / (1 + std::abs(expected.numbers[i]));
      if (!(error <= worst)) worst = error;
    }
    EXPECT_LE(worst, 1000 * u);
  }
  queue.wait();
}

template <typename T>
void expect_replays(Queue& queue, std::int64_t n) {
  SCOPED_TRACE(testing::Message() << n << " by " << n << ", " << sizeof(T) << " bytes");
  Chain<T> chain(queue, n);
  queue.prepare([&] { chain.run(); });
  queue.wait();
  test::Graph graph(queue, [&] { chain.run(); });
  expect_same<T>(queue, chain, n, [&](Chain<T>&) { graph.launch(); });
}

TEST_F(GpuContract, RoutinesAreCapturedIntoAGraphAndReplayed) {
  for (std::int64_t const n : {5, 20}) {  // one lane per matrix, and several
    expect_replays<double>(*queue, n);
    expect_replays<std::complex<float>>(*queue, n);
  }
}

/// Expects a routine on three arrays of `elements` numbers to give the same bits in a graph, also when replayed with other inputs.
template <typename T>
void expect_same_in_a_graph(Queue& queue, char const* name, std::int64_t elements, std::function<void(T*, T*, T*)> const& call) {
  SCOPED_TRACE(testing::Message() << name << ", " << sizeof(T) << " bytes");
  DeviceArray<T> a(queue, elements), b(queue, elements), c(queue, elements);
  auto const result = [&](unsigned seed, auto&& run) {
    for (auto* x : {&a, &b, &c}) {
      std::vector<T> const numbers = random_numbers<T>(elements, seed++);
      copy(queue, numbers.data(), elements, x->data());
      queue.wait();
    }
    run();
    std::vector<T> out;
    for (auto* x : {&a, &b, &c}) {
      std::vector<T> const found = to_host(queue, *x);
      out.insert(out.end(), found.begin(), found.end());
    }
    return out;
  };
  auto const plainly = [&] { call(a.data(), b.data(), c.data()); };
  queue.prepare(plainly);
  test::Graph graph(queue, plainly);
  auto const inputs = result(1, [] {});
  for (unsigned const seed : {1U, 11U}) {
    auto const plain = result(seed, plainly);
    EXPECT_TRUE(same_bits(plain, result(seed, [&] { graph.launch(); }))) << "seed " << seed;
    EXPECT_FALSE(same_bits(plain, inputs));
  }
}
TEST_F(GpuContract, ProductsAndTrianglesAreCapturedAndReplayed) {
  Queue& q = *queue;
  auto const of_type = [&]<typename T>(T) {
    // One tile and several; one matrix and many
    for (auto const& [n, count] : {std::pair<std::int64_t, std::int64_t>{20, 50}, {70, 20}, {300, 1}}) {
      auto const view = [n = n, count = count](T* x) { return batch(x, n, n, {.count = count}); };
      auto const column = [n = n, count = count](T* x) { return batch(x, n, 1, {.stride = n * n, .count = count}); };
      auto const check = [&](char const* name, std::function<void(T*, T*, T*)> const& call) {
        expect_same_in_a_graph<T>(q, name, count * n * n, call);
      };
      check("gemm", [&](T* a, T* b, T* c) { gemm<T>(q, T(1), view(a), view(b), T(1), view(c)); });
      if constexpr (!HalfElement<T>) {
        check("symm", [&](T* a, T* b, T* c) { symm<T>(q, Side::left, Uplo::lower, T(1), view(a), view(b), T(1), view(c)); });
        check("syr2k", [&](T* a, T* b, T* c) { syr2k<T>(q, Uplo::upper, T(1), view(a), view(b), T(1), view(c)); });
        check("trmm", [&](T* a, T* b, T*) { trmm<T>(q, Side::left, Uplo::lower, Diag::unit, T(1), view(a), view(b)); });
        check("trsm", [&](T* a, T* b, T*) { trsm<T>(q, Side::right, Uplo::lower, Diag::unit, T(1), view(a), view(b)); });
        check("gesv_mixed", [&](T* a, T* b, T* c) { gesv_mixed<T>(q, view(a), {}, view(b), view(c), nullptr, nullptr); });
        check("trmv", [&](T* a, T* b, T*) { trmv<T>(q, Uplo::lower, Diag::unit, view(a), column(b)); });
        check("trsv", [&](T* a, T* b, T*) { trsv<T>(q, Uplo::lower, Diag::unit, view(a), column(b)); });
        check("trtri", [&](T* a, T*, T*) { trtri<T>(q, Uplo::lower, Diag::unit, view(a), nullptr); });
        check("gemv", [&](T* a, T* b, T* c) { gemv<T>(q, T(1), view(a), column(b), T(1), column(c)); });
        check("symv", [&](T* a, T* b, T* c) { symv<T>(q, Uplo::lower, T(1), view(a), column(b), T(1), column(c)); });
      }
    }
  };
  of_type(double());
  of_type(std::complex<float>());
  of_type(half());
}
TEST_F(GpuContract, RanksAndSingularValuesAreCapturedAndReplayed) {
  Queue& q = *queue;
  auto const of_type = [&]<typename T>(T) {
    // One lane per matrix, one block, and several launches
    for (auto const& [n, count] : {std::pair<std::int64_t, std::int64_t>{8, 50}, {40, 20}, {150, 2}}) {
      using R = Real<T>;
      auto const view = [n = n, count = count](T* x) { return batch(x, n, n, {.count = count}); };
      auto const column = [n = n, count = count](T* x) { return batch(x, n, 1, {.stride = n * n, .count = count}); };
      auto const columns_chosen = [n = n, count = count](T* x) { return batch(reinterpret_cast<int*>(x), n, 1, {.count = count}); };
      auto const values = [n = n, count = count](T* x) { return batch(reinterpret_cast<R*>(x), n, 1, {.count = count}); };
      auto const check = [&](char const* name, std::function<void(T*, T*, T*)> const& call) {
        expect_same_in_a_graph<T>(q, name, count * n * n, call);
      };
      check("gesvd", [&](T* a, T* b, T* c) { gesvd<T>(q, SvdJob::left, view(a), values(b), view(c), {}, nullptr); });
      check("pinv", [&](T* a, T* b, T* c) { pinv<T>(q, view(a), R(-1), view(b), reinterpret_cast<int*>(c), nullptr); });
      check("gejsv", [&](T* a, T* b, T* c) { gejsv<T>(q, SvdJob::left, view(a), values(b), view(c), {}, nullptr); });
      check("gelsd", [&](T* a, T* b, T* c) { gelsd<T>(q, view(a), view(b), values(c), R(-1), nullptr, nullptr); });
      check("matrix_rank", [&](T* a, T* b, T*) { matrix_rank<T>(q, view(a), R(1), R(-1), reinterpret_cast<int*>(b), nullptr); });
      check("cond", [&](T* a, T* b, T*) { cond<T>(q, view(a), reinterpret_cast<R*>(b), nullptr); });
      check("norm2", [&](T* a, T* b, T*) { norm2<T>(q, view(a), reinterpret_cast<R*>(b), nullptr); });
      check("geqp3", [&](T* a, T* b, T* c) {
        matrix_rank<T>(q, batch(a, 1, 1, {.count = n * count}), R(100), R(0), reinterpret_cast<int*>(b),
                       nullptr);  // zeros: no column fixed
        geqp3<T>(q, view(a), columns_chosen(b), column(c));
      });
      check("gelsy", [&](T* a, T* b, T* c) {
        matrix_rank<T>(q, batch(a, 1, 1, {.count = n * count}), R(100), R(0), reinterpret_cast<int*>(c), nullptr);
        gelsy<T>(q, view(a), view(b), columns_chosen(c), R(0), nullptr);
      });
    }
  };
  of_type(double());
  of_type(std::complex<float>());
}

/// Kernels with grid barriers on all multiprocessors.
TEST_F(GpuContract, OneLargeMatrixIsCapturedAndReplayed) {
  Queue& q = *queue;
  auto const check = [&]<typename T>(char const* name, std::int64_t n, std::function<void(Batch<T>, T*, T*)> const& call) {
    expect_same_in_a_graph<T>(q, name, n * n, [&](T* a, T* b, T* c) { call(batch(a, n, n), b, c); });
  };
  auto const of_type = [&]<typename T>(T) {
    check.template operator()<T>("symv", 3100, [&](Batch<T> a, T* b, T* c) {
      std::int64_t const n = a.rows;
      symv<T>(q, Uplo::upper, T(1), a, batch(b, n, 1), T(1), batch(c, n, 1));
    });
    for (std::int64_t const n : {500, 1900})  // in shared memory and not
      check.template operator()<T>("sytrd, orgtr and ormtr", n, [&](Batch<T> a, T* b, T* c) {
        auto const d = batch(reinterpret_cast<Real<T>*>(c), n, 1), e = batch(reinterpret_cast<Real<T>*>(c) + n, n - 1, 1);
        auto const tau = batch(c + 2 * n, n - 1, 1);
        sytrd<T>(q, Uplo::lower, a, d, e, tau);
        ormtr<T>(q, Side::left, Uplo::lower, Op::none, a, tau, batch(b, n, n));
        orgtr<T>(q, Uplo::lower, a, tau);
      });
  };
  of_type(double());
  of_type(std::complex<float>());
}

/// Eigenproblems too large for a block: alone, twice and in a graph they give the same bits, and so do two in a row.
template <typename T>
void expect_same_eigenvectors(Queue& queue, std::int64_t n, std::int64_t count, Job job) {
  SCOPED_TRACE(testing::Message() << count << " matrices of " << n << " rows, " << sizeof(T) << " bytes");
  std::vector<T> one = random<T>(n * n, 3), all;
  for (int b = 0; b < count; ++b) all.insert(all.end(), one.begin(), one.end());
  DeviceArray<T> a(queue, n * n * count);
  DeviceArray<Real<T>> w(queue, n * count);
  DeviceArray<int> info(queue, count);
  auto const call = [&](std::int64_t matrices) {
    syevd<T>(queue, job, Uplo::lower, batch(a.data(), n, n, {.count = matrices}), vectors(w.data(), n, matrices), info.data());
  };
  auto const result = [&](auto&& run) {
    copy(queue, all.data(), a.size(), a.data());
    run();
    return std::pair(to_host(queue, a), to_host(queue, w));
  };
  queue.prepare([&] { call(count); });
  test::Graph graph(queue, [&] { call(count); });
  auto const alone = result([&] { call(1); }), together = result([&] { call(count); }), replayed = result([&] { graph.launch(); });
  EXPECT_TRUE(together == replayed);
  EXPECT_TRUE(std::all_of(alone.second.begin(), alone.second.begin() + n, [](Real<T> x) { return std::isfinite(x); }));
  for (std::int64_t b = 0; b < count; ++b) {
    EXPECT_TRUE(std::equal(alone.second.begin(), alone.second.begin() + n, together.second.begin() + b * n)) << "values of matrix " << b;
    EXPECT_TRUE(job == Job::values || std::equal(alone.first.begin(), alone.first.begin() + n * n, together.first.begin() + b * n * n))
        << "vectors of matrix " << b;
  }
}
TEST_F(GpuContract, LargeEigenproblemsAreCapturedAndGiveTheSameBits) {
  for (Job const job : {Job::vectors, Job::values}) {
    expect_same_eigenvectors<double>(*queue, 333, 3, job);
    expect_same_eigenvectors<std::complex<float>>(*queue, 333, 3, job);
    expect_same_eigenvectors<double>(*queue, 260, 70, job);  // more matrices than groups of blocks
  }
}

/// Expects `count` matrices, which repeat five, to give the results of five.
void expect_as_few(Queue& queue, std::int64_t count) {
  constexpr std::int64_t n = 32, few = 5;
  std::vector<float> const matrices = random<float>(few * n * n, 1);
  struct Factors {
    DeviceArray<float> a;
    DeviceArray<int> pivots, info;
    Factors(Queue& queue, std::int64_t size) : a(queue, size * n * n), pivots(queue, size * n), info(queue, size) {}
  };
  auto const factor = [&](Factors& f) {
    getrf<float>(queue, batch(f.a.data(), n, n, {.count = f.info.size()}), vectors(f.pivots.data(), n, f.info.size()), f.info.data());
  };
  Factors expected(queue, few), many(queue, count);
  for (Factors* f : {&expected, &many}) copy(queue, matrices.data(), few * n * n, f->a.data());
  for (std::int64_t filled = few; filled < count;) {
    std::int64_t const more = std::min(filled, count - filled);
    copy(queue, many.a.data(), more * n * n, many.a.data() + filled * n * n);
    filled += more;
  }
  factor(expected);
  factor(many);
  auto const equal = [&](auto const& some, auto const& all, std::int64_t of_matrix, std::int64_t b) {
    auto const from = to_host(queue, some);
    std::remove_const_t<decltype(from)> x(static_cast<std::size_t>(of_matrix));
    copy(queue, all.data() + b * of_matrix, of_matrix, x.data());
    queue.wait();
    return std::memcmp(x.data(), from.data() + b % few * of_matrix, x.size() * sizeof x[0]) == 0;
  };
  for (std::int64_t const b : {std::int64_t{0}, count / 2, count - 5, count - 4, count - 3, count - 2, count - 1}) {
    EXPECT_TRUE(equal(expected.a, many.a, n * n, b)) << "factors of matrix " << b;
    EXPECT_TRUE(equal(expected.pivots, many.pivots, n, b)) << "pivots of matrix " << b;
    EXPECT_TRUE(equal(expected.info, many.info, 1, b)) << "info of matrix " << b;
  }
  EXPECT_FALSE(equal(expected.a, many.a, n * n, 0) && same_bits(matrices, to_host(queue, expected.a)));  // so the matrices were factored
}

/// Vectors of pivots may be longer than the matrix's number of rows.
TEST_F(GpuContract, LongerPivots) {
  constexpr std::int64_t n = 8, longer = 12, count = 100;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> a(n * n * count), b(n * count);
  for (auto* const v : {&a, &b}) std::generate(v->begin(), v->end(), [&] { return normal(random); });
  std::vector<int> pivots(longer * count, 1);
  Queue cpu({.backend = Backend::cpu});
  auto const matrices = [&](double* data, std::int64_t cols) { return batch(data, n, cols, {.count = count}); };
  getrf<double>(cpu, matrices(a.data(), n), vectors(pivots.data(), longer, count), nullptr);
  auto const device_a = to_device(*queue, a);
  auto const device_b = to_device(*queue, b);
  auto const device_pivots = to_device(*queue, pivots);
  getrs<double>(cpu, Op::none, matrices(a.data(), n), vectors(pivots.data(), longer, count), matrices(b.data(), 1));
  getrs<double>(*queue, Op::none, matrices(device_a.data(), n), vectors(device_pivots.data(), longer, count), matrices(device_b.data(), 1));
  std::vector<double> x(b.size());
  copy(*queue, device_b.data(), n * count, x.data());
  queue->wait();
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], b[k], 1e-8 * (1 + std::fabs(b[k]))) << k;
}

/// Whether a GPU has this much free memory, and an eighth to spare.
bool has_room(Queue& queue, std::size_t bytes) {
  std::size_t free = 0, all = 0;
  gpu::driver::CurrentContext const current(gpu::context_of(queue).handle());
  gpu::driver::check(gpu::driver::api().cuMemGetInfo_v2(&free, &all), "cuMemGetInfo");
  return free >= bytes + bytes / 8;
}

TEST_F(GpuContract, MoreThan2To31Elements) {
  constexpr std::int64_t count = (std::int64_t{1} << 21) + 3;
  constexpr std::size_t needed = count * (32 * 32 + 32 + 1) * 4;
  if (!has_room(*queue, needed)) GTEST_SKIP() << needed << " bytes are needed";
  expect_as_few(*queue, count);
}

/// The same for products and triangles with arrays of `count` n-by-n matrices: A, which repeats five, and C. The other operand is also A,
/// or one B for all.
template <typename T>
void expect_products_as_few(Queue& queue, std::int64_t n, std::int64_t count) {
  constexpr std::int64_t few = 5;
  std::vector<T> const matrices = random_numbers<T>(few * n * n, 1), right = random_numbers<T>(n * n, 2);
  DeviceArray<T> const b = to_device(queue, right);
  struct Arrays {
    DeviceArray<T> a, c;
    std::int64_t count;
    Arrays(Queue& queue, std::int64_t rows, std::int64_t matrices)
        : a(queue, matrices * rows * rows), c(queue, matrices * rows * rows), count(matrices) {}
  };
  Arrays expected(queue, n, few), many(queue, n, count);
  auto const set = [&](Arrays& to) {
    copy(queue, matrices.data(), few * n * n, to.a.data());
    for (std::int64_t filled = few; filled < to.count;) {
      std::int64_t const more = std::min(filled, to.count - filled);
      copy(queue, to.a.data(), more * n * n, to.a.data() + filled * n * n);
      filled += more;
    }
    copy(queue, to.a.data(), to.a.size(), to.c.data());
  };
  auto const check = [&](char const* name, auto const& call) {
    for (Arrays* x : {&expected, &many}) {
      set(*x);
      Batch<T const> one = batch(b.data(), n, n, {.count = x->count});
      one.batch_stride = 0;
      call(batch(x->a.data(), n, n, {.count = x->count}), one, batch(x->c.data(), n, n, {.count = x->count}));
    }
    std::vector<T> const from = to_host(queue, expected.c);
    EXPECT_FALSE(same_bits(from, matrices)) << name;
    for (std::int64_t const m : {std::int64_t{0}, count / 2, count - 5, count - 4, count - 3, count - 2, count - 1}) {
      std::vector<T> x(static_cast<std::size_t>(n * n));
      copy(queue, many.c.data() + m * n * n, n * n, x.data());
      queue.wait();
      EXPECT_EQ(std::memcmp(x.data(), from.data() + m % few * n * n, x.size() * sizeof(T)), 0) << name << ", matrix " << m;
    }
  };
  using Input = Batch<T const>;
  check("gemm", [&](Batch<T> x, Input y, Batch<T> z) { gemm<T>(queue, T(1), x, y, T(1), z); });
  check("gemm of many", [&](Batch<T> x, Input, Batch<T> z) { gemm<T>(queue, T(1), x, x, T(1), z); });
  if constexpr (!HalfElement<T>) {
    check("symm", [&](Batch<T> x, Input y, Batch<T> z) { symm<T>(queue, Side::left, Uplo::lower, T(1), x, y, T(1), z); });
    check("trmm", [&](Batch<T> x, Input, Batch<T> z) { trmm<T>(queue, Side::left, Uplo::lower, Diag::non_unit, T(1), x, z); });
    check("ger", [&](Batch<T> x, Input y, Batch<T> z) { ger<T>(queue, T(1), columns(x, 0, 1), columns(y, 0, 1), z); });
    check("trmv", [&](Batch<T> x, Input, Batch<T> z) { trmv<T>(queue, Uplo::lower, Diag::unit, x, columns(z, 0, 1)); });
    check("trsv", [&](Batch<T> x, Input, Batch<T> z) { trsv<T>(queue, Uplo::lower, Diag::unit, x, columns(z, 0, 1)); });
    check("trtri", [&](Batch<T>, Input, Batch<T> z) { trtri<T>(queue, Uplo::lower, Diag::unit, z, nullptr); });
    check("syrk", [&](Batch<T> x, Input, Batch<T> z) { syrk<T>(queue, Uplo::lower, T(1), x, T(1), z); });
    check("trsm", [&](Batch<T>, Input y, Batch<T> z) { trsm<T>(queue, Side::left, Uplo::lower, Diag::unit, T(1), y, z); });
    check("gemv", [&](Batch<T> x, Input y, Batch<T> z) { gemv<T>(queue, T(1), x, columns(y, 0, 1), T(1), columns(z, 0, 1)); });
    check("symv", [&](Batch<T> x, Input y, Batch<T> z) { symv<T>(queue, Uplo::lower, T(1), x, columns(y, 0, 1), T(1), columns(z, 0, 1)); });
  }
}
/// The same for sizes with different kernels.
template <typename T>
void expect_products_beyond_2_to_31(Queue& queue, std::initializer_list<std::int64_t> sizes) {
  constexpr std::int64_t elements = std::int64_t{1} << 31;
  if (!has_room(queue, static_cast<std::size_t>(elements) * 2 * sizeof(T))) GTEST_SKIP() << "there is not enough memory";
  for (std::int64_t const n : sizes) {
    SCOPED_TRACE(fmt::format("{} rows", n));
    expect_products_as_few<T>(queue, n, elements / (n * n) + 3);
  }
}
TEST_F(GpuContract, ProductsOfMoreThan2To31Elements) { expect_products_beyond_2_to_31<float>(*queue, {32, 64, 150}); }
TEST_F(GpuContract, ProductsOfMoreThan2To31DoubleElements) { expect_products_beyond_2_to_31<double>(*queue, {32, 64, 150}); }
TEST_F(GpuContract, ProductsOfMoreThan2To31ComplexElements) { expect_products_beyond_2_to_31<std::complex<float>>(*queue, {32, 64, 150}); }
TEST_F(GpuContract, ProductsOfMoreThan2To31DoubleComplexElements) {
  expect_products_beyond_2_to_31<std::complex<double>>(*queue, {32, 64, 150});
}
TEST_F(GpuContract, ProductsOfMoreThan2To31Halves) { expect_products_beyond_2_to_31<half>(*queue, {8, 32, 150, 256}); }
TEST_F(GpuContract, ProductsOfMoreThan2To31ComplexHalves) { expect_products_beyond_2_to_31<complex_half>(*queue, {8, 32, 150}); }

/// A symmetric matrix of n rows with a repeated pattern times a vector: some rows against sums in double.
void expect_rows_of_symv(Queue& queue, std::int64_t n) {
  std::vector<float> const pattern = random<float>((1 << 20) + 7, 1), x = random<float>(n, 2);
  auto const period = static_cast<std::int64_t>(pattern.size());
  DeviceArray<float> a(queue, n * n);
  std::int64_t filled = std::min(period, n * n);
  copy(queue, pattern.data(), filled, a.data());
  for (; filled < n * n; filled *= 2) copy(queue, a.data(), std::min(filled, n * n - filled), a.data() + filled);
  DeviceArray<float> const on_x = to_device(queue, x);
  DeviceArray<float> y(queue, n);
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    symv<float>(queue, uplo, 1, batch(a.data(), n, n), batch(on_x.data(), n, 1), 0, batch(y.data(), n, 1));
    std::vector<float> const found = to_host(queue, y);
    for (std::int64_t const i : {std::int64_t{0}, n / 3, n - 2, n - 1}) {
      double sum = 0, moduli = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        bool const stored = uplo == Uplo::lower ? i >= j : i <= j;
        double const term = static_cast<double>(pattern[static_cast<std::size_t>((stored ? i + j * n : j + i * n) % period)]) *
                            static_cast<double>(x[static_cast<std::size_t>(j)]);
        sum += term;
        moduli += std::abs(term);
      }
      EXPECT_NEAR(found[static_cast<std::size_t>(i)], sum, 1e-5 * moduli) << "row " << i;
    }
  }
}
TEST_F(GpuContract, OneMatrixOfMoreThan2To31Elements) {
  constexpr std::int64_t n = 46345;
  if (!has_room(*queue, n * n * sizeof(float))) GTEST_SKIP() << "there is not enough memory";
  expect_rows_of_symv(*queue, n);
}

/// 16-bit products have the same bits in every layout, although kernels pass terms to tensor cores in different orders.
template <typename T>
void expect_same_products_in_every_layout(Queue& queue, std::int64_t n) {
  constexpr std::int64_t count = 3;
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::uniform_int_distribution<int> power(-5, 5);
  auto const numbers = [&] {
    std::vector<T> out(static_cast<std::size_t>(count * n * n));
    for (T& x : out) {
      float const re = std::ldexp(uniform(engine), power(engine));
      if constexpr (is_complex<T>)
        x = T(std::complex<float>(re, std::ldexp(uniform(engine), power(engine))));
      else
        x = T(re);
    }
    return out;
  };
  std::vector<T> const a = numbers(), b = numbers(), c = numbers();
  auto const product = [&](bool by_rows, std::int64_t gap, std::int64_t offset, bool is_interleaved = false) {
    std::int64_t const ld = n + gap;
    auto const at = [&](std::int64_t e) {
      std::int64_t const q = e / (n * n), j = e / n % n, i = e % n;
      if (is_interleaved) return static_cast<std::size_t>(e % (n * n) * count + q);
      return static_cast<std::size_t>(offset + q * ld * n + (by_rows ? i * ld + j : j * ld + i));
    };
    auto const placed = [&](std::vector<T> const& x) {
      std::vector<T> out(static_cast<std::size_t>(offset + ld * n * count));
      for (std::size_t e = 0; e < x.size(); ++e) out[at(static_cast<std::int64_t>(e))] = x[e];
      return to_device(queue, out);
    };
    auto const view = [&](DeviceArray<T> const& x) {
      T* const data = const_cast<T*>(x.data()) + offset;
      if (is_interleaved) return interleaved(data, n, n, count);
      return by_rows ? row_major(data, n, n, {.ld = ld, .stride = ld * n, .count = count})
                     : batch(data, n, n, {.ld = ld, .stride = ld * n, .count = count});
    };
    DeviceArray<T> const on_a = placed(a), on_b = placed(b), on_c = placed(c);
    gemm<T>(queue, 1, view(on_a), view(on_b), 1, view(on_c));
    std::vector<T> const found = to_host(queue, on_c);
    std::vector<T> out(c.size());
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = found[at(static_cast<std::int64_t>(e))];
    return out;
  };
  std::vector<T> const expected = product(false, 0, 0);
  for (bool const by_rows : {false, true})
    for (auto const& [gap, offset] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, 1}, {3, 0}, {8, 0}, {8, 1}})
      EXPECT_TRUE(same_bits(expected, product(by_rows, gap, offset)))
          << n << ", by rows " << by_rows << ", gap " << gap << ", offset " << offset;
  EXPECT_TRUE(same_bits(expected, product(false, 0, 0, true))) << n << ", interleaved";
}
constexpr std::array<std::int64_t, 9> sizes_of_halves{8, 20, 33, 40, 65, 100, 150, 192, 264};
TEST_F(GpuContract, ProductsOfHalfInEveryLayout) {
  for (std::int64_t const n : sizes_of_halves) expect_same_products_in_every_layout<half>(*queue, n);
}
TEST_F(GpuContract, ProductsOfBfloat16InEveryLayout) {
  for (std::int64_t const n : sizes_of_halves) expect_same_products_in_every_layout<bfloat16>(*queue, n);
}
TEST_F(GpuContract, ProductsOfComplexHalfInEveryLayout) {
  for (std::int64_t const n : sizes_of_halves) expect_same_products_in_every_layout<complex_half>(*queue, n);
}

/// Matrices without gaps from 33 rows on go to gemm_bulk if they are enough for all multiprocessors; fewer do not, and have the same bits.
/// Only C is written, for any alignment, and a C that is not read may be NaN.
template <typename T>
void expect_same_products_of_many_and_few(Queue& queue, std::int64_t n) {
  constexpr std::int64_t count = 301, few = 100, guard = 16;
  std::int64_t const square = n * n;
  std::vector<T> const a = random<T>(count * square, 1), b = random<T>(count * square, 2), c = random<T>(count * square, 3),
                       nan(c.size(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
  T const beside(77);
  for (bool const behind_pointers : {false, true})
    for (std::int64_t const offset : {0, 1})
      for (bool const transposes : {false, true})
        for (T const beta : {T(0), T(-1)}) {
          SCOPED_TRACE(testing::Message() << n << ", pointers " << behind_pointers << ", offset " << offset << ", transposes " << transposes
                                          << ", beta " << std::real(beta));
          std::int64_t const begin = guard + offset;
          auto const placed = [&](std::vector<T> const& x) {
            std::vector<T> out(static_cast<std::size_t>(begin) + x.size() + guard, beside);
            std::copy(x.begin(), x.end(), out.begin() + begin);
            return to_device(queue, out);
          };
          auto const product = [&](std::int64_t at_once, std::vector<T> const& before) {
            DeviceArray<T> const on_a = placed(a), on_b = placed(b), on_c = placed(before);
            for (std::int64_t first = 0; first < count; first += at_once) {
              std::int64_t const some = std::min(at_once, count - first);
              std::vector<DeviceArray<T*>> pointers;  // alive until the product is done
              auto const view = [&](DeviceArray<T> const& x) {
                T* const data = const_cast<T*>(x.data()) + begin + first * square;
                if (!behind_pointers) return batch(data, n, n, {.count = some});
                std::vector<T*> of;
                for (std::int64_t q = 0; q < some; ++q) of.push_back(data + q * square);
                pointers.push_back(to_device(queue, of));
                return batch(pointers.back().data(), n, n, {.count = some});
              };
              Batch<T> const left = view(on_a), right = view(on_b), to = view(on_c);
              gemm<T>(queue, T(2), transposes ? transposed(left) : left, right, beta, to);
              queue.wait();
            }
            return to_host(queue, on_c);
          };
          std::vector<T> const expected = product(few, c), found = product(count, beta == T(0) ? nan : c);
          EXPECT_TRUE(same_bits(expected, found));
          auto const untouched = [&](auto from, auto until) { return std::all_of(from, until, [&](T x) { return x == beside; }); };
          EXPECT_TRUE(untouched(found.begin(), found.begin() + begin) && untouched(found.end() - guard, found.end()));
        }
}
template <typename T>
class GpuProducts : public GpuContract {};
using Elements = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GpuProducts, Elements);
TYPED_TEST(GpuProducts, OfManyAndFewAreTheSame) {
  for (std::int64_t const n : {33, 34, 36, 50, 57, 65, 84, 100, 104, 127, 131})
    expect_same_products_of_many_and_few<TypeParam>(*this->queue, n);
}

/// gemm_halves_warpgroups gives the bits of a ragged batch, which other kernels compute. With gaps, lines begin at multiples of 16 bytes
/// but end anywhere; gaps are NaN in A and B, and must not be touched in C. Other kernels compute a C whose lines end within 16 bytes.
template <typename T, typename Output>
void expect_products_by_warpgroups(Queue& queue, std::int64_t m, std::int64_t n, std::int64_t k, bool gaps) {
  // Enough matrices for several tiles per block
  std::int64_t const count = std::max<std::int64_t>(3, 400 / ((m + 191) / 192 * ((n + 191) / 192)));
  auto const gap_of = [&](std::int64_t line) { return gaps ? 8 - line % 8 : 0; };
  auto const numbers = [&]<typename X>(X, std::int64_t line, std::int64_t lines, unsigned seed, bool nan_between) {
    std::int64_t const gap = gap_of(line);
    // Repeats 99991 random numbers, since drawing all takes longer than the rest of the test. The period is not a multiple of a matrix.
    std::vector<X> const some = random_numbers<X>(99991, seed);
    std::vector<X> out(static_cast<std::size_t>(count * (line + gap) * lines));
    for (std::size_t i = 0; i < out.size(); i += some.size())
      std::copy_n(some.begin(), std::min(some.size(), out.size() - i), out.begin() + static_cast<std::ptrdiff_t>(i));
    if (nan_between)
      for (std::int64_t l = 0; l < count * lines; ++l)
        std::fill_n(out.begin() + l * (line + gap) + line, gap, std::numeric_limits<X>::quiet_NaN());
    return out;
  };
  auto const view = [&](auto* data, std::int64_t rows, std::int64_t columns, bool transposes) {
    std::int64_t const line = transposes ? columns : rows, lines = transposes ? rows : columns;
    auto const whole = batch(data, line, lines, {.ld = line + gap_of(line), .count = count});
    return transposes ? transposed(whole) : whole;
  };
  DeviceArray<std::int64_t> const all_rows = to_device(queue, std::vector<std::int64_t>(static_cast<std::size_t>(count), m));
  for (bool const transposes_a : {false, true})
    for (bool const transposes_b : {false, true}) {
      DeviceArray<T> const a = to_device(queue, numbers(T(), transposes_a ? k : m, transposes_a ? m : k, 1, true)),
                           b = to_device(queue, numbers(T(), transposes_b ? n : k, transposes_b ? k : n, 2, true));
      for (bool const by_rows : {false, true})
        for (float const beta : {0.0F, -0.5F}) {
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", " << transposes_a << transposes_b << by_rows << " "
                                          << beta);
          std::vector<Output> numbers_of_c = numbers(Output(), by_rows ? n : m, by_rows ? m : n, 3, false);
          if (beta == 0) std::fill(numbers_of_c.begin(), numbers_of_c.end(), std::numeric_limits<Output>::quiet_NaN());
          DeviceArray<Output> const before = to_device(queue, numbers_of_c);
          auto const result = [&](bool ragged) {
            DeviceArray<Output> c(queue, before.size());
            copy<Output>(queue, before.data(), before.size(), c.data());
            GemmTask<T, Output> task{2, view(const_cast<T*>(a.data()), m, k, transposes_a),
                                     view(const_cast<T*>(b.data()), k, n, transposes_b), beta, view(c.data(), m, n, by_rows)};
            if (ragged) task.a.row_sizes = task.c.row_sizes = all_rows.data();
            auto const choice = gpu::choose_of_halves(gpu::facts_of<T, Output>(gpu::arguments_of(task), queue.device()));
            bool const ends_with_16_bytes = (by_rows ? n : m) * static_cast<std::int64_t>(sizeof(Output)) % 16 == 0;
            EXPECT_EQ(std::holds_alternative<GemmHalvesWarpgroups>(choice.config), !ragged && ends_with_16_bytes);
            gemm<T>(queue, task.alpha, task.a, task.b, task.beta, task.c);
            return to_host(queue, c);
          };
          std::vector<Output> const expected = result(true), found = result(false);
          ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(Output)), 0);
        }
    }
}
/// Sizes, and whether lines have gaps between them.
struct SizesAndGaps {
  std::int64_t m, n, k;
  bool gaps = false;
};
void PrintTo(SizesAndGaps const& p, std::ostream* out) { *out << p.m << " x " << p.n << " x " << p.k << (p.gaps ? " with gaps" : ""); }
class GpuProductsByWarpgroups : public GpuContract, public testing::WithParamInterface<SizesAndGaps> {
 protected:
  template <typename T, typename Output>
  void expect_same_bits() {
    if (queue->device().major != 9 || queue->device().minor != 0) GTEST_SKIP() << "for compute capability 9.0 alone";
    auto const [m, n, k, gaps] = GetParam();
    expect_products_by_warpgroups<T, Output>(*queue, m, n, k, gaps);
  }
};
TEST_P(GpuProductsByWarpgroups, OfHalf) { expect_same_bits<half, half>(); }
TEST_P(GpuProductsByWarpgroups, OfBfloat16ToSingle) { expect_same_bits<bfloat16, float>(); }
INSTANTIATE_TEST_SUITE_P(Sizes, GpuProductsByWarpgroups,
                         testing::Values(SizesAndGaps{136, 136, 136}, SizesAndGaps{192, 192, 192}, SizesAndGaps{264, 264, 264},
                                         SizesAndGaps{320, 320, 320}, SizesAndGaps{384, 384, 384}, SizesAndGaps{72, 520, 72},
                                         SizesAndGaps{400, 64, 264}, SizesAndGaps{148, 148, 148, true}, SizesAndGaps{264, 200, 133, true},
                                         SizesAndGaps{400, 280, 78, true}, SizesAndGaps{270, 198, 134, true}),
                         [](auto const& test) {
                           return fmt::format("{}_{}_{}{}", test.param.m, test.param.n, test.param.k, test.param.gaps ? "_gaps" : "");
                         });

TEST(ContractOnTheCpu, IsWhatTheTestsExpect) {
  Queue cpu({.backend = Backend::cpu});
  for (std::int64_t const n : {5, 20}) {
    Chain<double> chain(cpu, n);
    expect_same<double>(cpu, chain, n, [](Chain<double>& c) { c.run(); });
    Chain<std::complex<float>> other(cpu, n);
    expect_same<std::complex<float>>(cpu, other, n, [](auto& c) { c.run(); });
  }
  expect_as_few(cpu, 1003);
  expect_products_as_few<float>(cpu, 32, 203);
  expect_products_as_few<std::complex<double>>(cpu, 7, 203);
  expect_products_as_few<half>(cpu, 32, 203);
  expect_same_products_of_many_and_few<float>(cpu, 33);
  expect_same_products_of_many_and_few<std::complex<double>>(cpu, 33);
  expect_rows_of_symv(cpu, 1500);
  for (std::int64_t const n : {8, 33}) {
    expect_same_products_in_every_layout<half>(cpu, n);
    expect_same_products_in_every_layout<complex_half>(cpu, n);
  }
}

/// Tuned kernels: a matrix has the same bits with every config that a search may try. There is a test for each type and kind of routine,
/// since nearly all time goes to compiling.
template <typename T>
class EveryConfig : public GpuContract {
 protected:
  static constexpr std::int64_t count = 150;  // more than multiprocessors

  /// call(queue, a, b, pivots, info)
  void gives_the_same_bits(char const* name, int n, auto const& call) {
    std::vector<T> a = random<T>(count * n * n, 5);
    if constexpr (!is_half(dtype_of<T>))
      for (std::int64_t i = 0; i < count * n; ++i) a[static_cast<std::size_t>(i * n + i % n)] += T(2 * n);
    std::vector<T> const b = random<T>(count * n * n, 6);
    auto const result = [&] {
      DeviceArray<T> on_a = to_device(*queue, a), on_b = to_device(*queue, b);
      DeviceArray<int> pivots(*queue, count * n), info(*queue, count);
      call(*queue, batch(on_a.data(), n, n, {.count = count}), batch(on_b.data(), n, n, {.count = count}), pivots.data(), info.data());
      std::vector<T> out = to_host(*queue, on_a), other = to_host(*queue, on_b);
      out.insert(out.end(), other.begin(), other.end());
      return out;
    };
    tuning::Search search;
    tuning::set_search(*queue, &search);
    std::vector<T> const planned = result();
    ASSERT_EQ(search.points.size(), 1U) << name;
    std::size_t tried = 0;
    for (tuning::Values const& candidate : search.points[0].candidates) {
      if (tried == 8) break;
      search.taken[0] = candidate;
      std::vector<T> other;
      try {
        other = result();
      } catch (CompileError const&) {
        continue;  // a search skips it, too
      }
      ++tried;
      EXPECT_TRUE(same_bits(planned, other)) << name << " n = " << n << ", config " << fmt::format("{}", fmt::join(candidate, " "));
    }
    EXPECT_GE(tried, 2U) << name << " n = " << n;
    tuning::set_search(*queue, nullptr);
  }
};
using ElementsAndHalves = testing::Types<float, double, std::complex<float>, std::complex<double>, half, bfloat16, complex_half>;
TYPED_TEST_SUITE(EveryConfig, ElementsAndHalves);

TYPED_TEST(EveryConfig, OfProducts) {
  using T = TypeParam;
  if constexpr (is_half(dtype_of<T>)) {
    for (int const n : {4, 7, 40, 66, 72, 160, 264})
      this->gives_the_same_bits(
          "gemm", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) { gemm(q, Compute<T>(1), x, transposed(x), Compute<T>(0.5F), y); });
  } else {
    for (int const n : {7, 20, 40, 66})
      this->gives_the_same_bits("gemm", n,
                                [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) { gemm<T>(q, T(1), x, transposed(x), T(2), y); });
    for (int const n : {33, 42, 70, 99})  // gemm_bulk, where it was faster
      for (bool const by_rows : {false, true})
        this->gives_the_same_bits("gemm by columns", n, [by_rows](Queue& q, Batch<T> x, Batch<T> y, int*, int*) {
          gemm<T>(q, T(1), by_rows ? transposed(x) : x, x, T(2), y);
        });
  }
}

template <typename T>
class EveryConfigOfOthers : public EveryConfig<T> {};
TYPED_TEST_SUITE(EveryConfigOfOthers, Elements);

TYPED_TEST(EveryConfigOfOthers, Factorizations) {
  using T = TypeParam;
  constexpr std::int64_t count = TestFixture::count;
  for (int const n : {6, 17}) {
    this->gives_the_same_bits("getrf", n, [n](Queue& q, Batch<T> x, Batch<T>, int* p, int* i) { getrf<T>(q, x, vectors(p, n, count), i); });
    this->gives_the_same_bits(
        "solve", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int* i) { solve<T>(q, x, columns(y, 0, 1), columns(y, 1, 1), i); });
    this->gives_the_same_bits("inverse", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int* i) { inverse<T>(q, x, y, i); });
    this->gives_the_same_bits("potrf", n, [](Queue& q, Batch<T> x, Batch<T>, int*, int* i) { potrf<T>(q, Uplo::lower, x, i); });
    this->gives_the_same_bits("solve_positive_definite", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int* i) {
      solve_positive_definite<T>(q, Uplo::lower, x, columns(y, 0, 1), columns(y, 1, 1), i);
    });
    this->gives_the_same_bits("geqrf", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) { geqrf<T>(q, x, columns(y, 0, 1)); });
  }
}

TYPED_TEST(EveryConfigOfOthers, VectorsAndTriangles) {
  using T = TypeParam;
  constexpr std::int64_t count = TestFixture::count;
  constexpr Uplo lower = Uplo::lower;
  for (int const n : {7, 20, 40, 50}) {
    this->gives_the_same_bits(
        "gemv", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) { gemv<T>(q, T(1), x, columns(y, 0, 1), T(0), columns(y, 1, 1)); });
    this->gives_the_same_bits("gemv, transposed", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) {
      gemv<T>(q, T(1), transposed(x), columns(y, 0, 1), T(0), columns(y, 1, 1));
    });
    this->gives_the_same_bits(
        "trsm", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) { trsm<T>(q, Side::left, lower, Diag::non_unit, T(1), x, y); });
    this->gives_the_same_bits("trsv", n,
                              [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) { trsv<T>(q, lower, Diag::non_unit, x, columns(y, 0, 1)); });
    this->gives_the_same_bits("trtri", n, [](Queue& q, Batch<T> x, Batch<T>, int*, int* i) { trtri<T>(q, lower, Diag::non_unit, x, i); });
    if (n > 32) continue;
    this->gives_the_same_bits("symv", n, [](Queue& q, Batch<T> x, Batch<T> y, int*, int*) {
      symv<T>(q, lower, T(1), x, columns(y, 0, 1), T(2), columns(y, 1, 1));
    });
    this->gives_the_same_bits("syevd", n, [n](Queue& q, Batch<T> x, Batch<T>, int*, int* i) {
      DeviceArray<Real<T>> values(q, count * n);
      syevd<T>(q, Job::vectors, lower, x, vectors(values.data(), n, count), i);
    });
  }
}

}  // namespace
}  // namespace myriad
