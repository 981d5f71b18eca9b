/// Queues in several host threads at the same time, each with its own threads: the same bits as one queue with one thread. The thread
/// sanitizer runs these tests.

#include <gtest/gtest.h>

#include <atomic>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "myriad/myriad.hpp"

namespace {

using myriad::Real;

constexpr std::int64_t nrhs = 2;

template <typename T>
std::vector<T> random_values(std::int64_t size, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<Real<T>> uniform(-1, 1);
  std::vector<T> x(static_cast<std::size_t>(size));
  for (T& value : x) {
    value = uniform(engine);
    if constexpr (myriad::is_complex<T>) value += T(0, uniform(engine));
  }
  return x;
}

/// The bytes of the results of a routine of every family on random matrices: SIMD lanes up to 32 rows, LAPACK beyond.
template <typename T>
std::string work(myriad::Queue& queue, std::int64_t n, std::int64_t count) {
  std::string bytes;
  auto const keep = [&](auto const& x) { bytes.append(reinterpret_cast<char const*>(x.data()), x.size() * sizeof x[0]); };
  auto const a = random_values<T>(n * n * count, 1);
  auto const b = random_values<T>(n * nrhs * count, 2);
  std::vector<int> info(static_cast<std::size_t>(count)), pivots(static_cast<std::size_t>(n * count));
  auto const square = [&](auto& x) { return myriad::batch(x.data(), n, n, {.count = count}); };
  auto const sides = [&](auto& x) { return myriad::batch(x.data(), n, nrhs, {.count = count}); };

  auto factors = a, x = b;
  myriad::gesv(queue, square(factors), myriad::vectors(pivots.data(), n, count), sides(x), info.data());
  keep(factors), keep(pivots), keep(x), keep(info);

  std::vector<Real<T>> berr(static_cast<std::size_t>(nrhs * count));
  myriad::gerfs<T>(queue, myriad::Op::none, square(a), square(factors), myriad::vectors<int const>(pivots.data(), n, count), sides(b),
                   sides(x), {}, myriad::vectors(berr.data(), nrhs, count));
  keep(x), keep(berr);

  std::vector<T> inverse(a.size()), determinants(static_cast<std::size_t>(count));
  myriad::inverse<T>(queue, square(a), square(inverse), info.data());
  myriad::det<T>(queue, square(a), determinants.data());
  keep(inverse), keep(determinants);

  auto gram = a;  // A^H A + A^H A, positive definite
  myriad::gemm<T>(queue, T(2), myriad::conjugate_transposed(square(a)), square(a), T(0), square(gram));
  keep(gram);
  auto y = b;
  myriad::posv(queue, myriad::Uplo::upper, square(gram), sides(y), info.data());
  keep(y), keep(info);
  myriad::trsm<T>(queue, myriad::Side::left, myriad::Uplo::lower, myriad::Diag::unit, T(1), square(factors), sides(y));
  keep(y);

  auto qr = a;
  std::vector<T> tau(static_cast<std::size_t>(n * count));
  myriad::geqrf(queue, square(qr), myriad::vectors(tau.data(), n, count));
  myriad::orgqr<T>(queue, square(qr), myriad::vectors<T const>(tau.data(), n, count));
  keep(qr), keep(tau);
  auto least = a, z = b;
  myriad::gels(queue, square(least), sides(z), info.data());
  keep(z);
  queue.wait();
  return bytes;
}

template <typename T>
class Threads : public testing::Test {};
using Elements = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Threads, Elements);

TYPED_TEST(Threads, QueuesInSeveralHostThreads) {
#ifdef MYRIAD_SANITIZED
  constexpr std::pair<std::int64_t, std::int64_t> small{6, 60}, large{40, 4};  // n and matrices
#else
  constexpr std::pair<std::int64_t, std::int64_t> small{6, 500}, large{70, 9};
#endif
  for (auto const& [n, count] : {small, large}) {
    myriad::Queue alone({.backend = myriad::Backend::cpu, .threads = 1});
    std::string const expected = work<TypeParam>(alone, n, count);
    std::vector<std::string> results(3);
    std::vector<std::thread> hosts;
    for (std::size_t k = 0; k < results.size(); ++k)
      hosts.emplace_back([&results, k, size = n, matrices = count] {
        myriad::Queue queue({.backend = myriad::Backend::cpu, .threads = 1 + static_cast<int>(k)});
        results[k] = work<TypeParam>(queue, size, matrices);
      });
    for (std::thread& host : hosts) host.join();
    for (std::string const& result : results) EXPECT_TRUE(result == expected) << "n = " << n;
  }
}

TEST(ThreadsErrors, AnErrorInOneThreadLeavesTheOthersAlone) {
  std::atomic<int> refused = 0;
  std::vector<std::thread> hosts;
  for (int k = 0; k < 4; ++k)
    hosts.emplace_back([&refused, k] {
      myriad::Queue queue({.backend = myriad::Backend::cpu, .threads = 2});
      for (int round = 0; round < 20; ++round) {
        auto a = random_values<double>(8 * 8 * 64, static_cast<unsigned>(round));
        auto const matrices = myriad::batch(a.data(), 8, k % 2 == 0 ? 8 : -8, {.ld = 8, .stride = 64, .count = 64});
        try {
          myriad::getrf_nopiv(queue, matrices, nullptr);
        } catch (myriad::BadArgument const&) {
          ++refused;
        }
      }
    });
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(refused, 2 * 20);
}

}  // namespace
