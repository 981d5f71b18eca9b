#pragma once
/// Checks of alpha and beta in memory against the same calls with numbers, on any queue.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "myriad/myriad.hpp"

namespace myriad::test {

/// Makes calls repeatable: on a GPU it captures them into a graph and returns its launch.
using Recorder = std::function<std::function<void()>(Queue& queue, std::function<void()> const& calls)>;

/// Every routine with alpha and beta in memory, for matrices of up to n rows.
template <typename T>
class ScalarsInMemory {
 public:
  using S = Compute<T>;
  using R = Real<S>;

  ScalarsInMemory(Queue& queue, std::int64_t n, std::int64_t count, Recorder record)
      : queue_(queue), n_(n), count_(count), record_(std::move(record)) {}

  void check() {
    auto const columns = [&](auto* x) { return batch(x, n_, n_, {.count = count_}); };
    auto const rows = [&](auto* x) { return row_major(x, n_, n_, {.count = count_}); };
    auto const lanes = [&](auto* x) { return interleaved(x, n_, n_, count_); };
    check<S>("gemm", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
      gemm<T>(queue_, alpha, columns(a), transposed(columns(b)), beta, columns(c));
    });
    check<S>("gemm by rows, conjugated", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
      gemm<T>(queue_, alpha, rows(a), columns(b), beta, conjugated(rows(c)));
    });
    check<S>("gemm, interleaved, of a block", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
      gemm<T>(queue_, alpha, block(lanes(a), 0, 0, n_ - 1, n_), lanes(b), beta, block(lanes(c), 1, 0, n_ - 1, n_));
    });
    check_grouped();
    if constexpr (HalfElement<T>) return;
    if constexpr (Element<T>) {
      check_ragged();
      if constexpr (std::is_same_v<T, float>)
        check<S>("gemm, tf32x3", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
          gemm<T>(queue_, alpha, columns(a), columns(b), beta, columns(c), Arithmetic::tf32x3);
        });
      auto const column = [&](auto* x) { return block(columns(x), 0, 0, n_, 1); };
      check<S>("gemv", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
        gemv<T>(queue_, alpha, block(columns(a), 0, 0, n_ - 1, n_), column(b), beta, block(transposed(rows(c)), 1, 0, n_ - 1, 1));
      });
      check<S>(
          "ger", [&](auto alpha, auto, T const* a, T const* b, T* c) { ger<T>(queue_, alpha, column(a), conjugated(column(b)), rows(c)); },
          Reads::former);
      for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
        check<S>("symv", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
          symv<T>(queue_, uplo, alpha, columns(a), column(b), beta, conjugated(column(c)));
        });
        check<S>("hemv", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
          hemv<T>(queue_, uplo, alpha, rows(a), column(b), beta, column(c));
        });
        check<S>("symm", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
          symm<T>(queue_, Side::left, uplo, alpha, columns(a), columns(b), beta, rows(c));
        });
        check<S>("hemm", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
          hemm<T>(queue_, Side::right, uplo, alpha, columns(a), columns(b), beta, conjugated(columns(c)));
        });
        check<S>("syrk", [&](auto alpha, auto beta, T const* a, T const*, T* c) {
          syrk<T>(queue_, uplo, alpha, block(columns(a), 0, 0, n_, n_ - 1), beta, rows(c));
        });
        check<R>("herk",
                 [&](auto alpha, auto beta, T const* a, T const*, T* c) { herk<T>(queue_, uplo, alpha, columns(a), beta, columns(c)); });
        check<S>("syr2k", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
          syr2k<T>(queue_, uplo, alpha, columns(a), columns(b), beta, columns(c));
        });
        check<S, R>("her2k", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
          her2k<T>(queue_, uplo, alpha, columns(a), columns(b), beta, conjugated(rows(c)));
        });
        for (Side const side : {Side::left, Side::right}) {
          check<S>(
              "trmm",
              [&](auto alpha, auto, T const* a, T const*, T* c) {
                trmm<T>(queue_, side, uplo, Diag::non_unit, alpha, columns(a), columns(c));
              },
              Reads::former);
          check<S>(
              "trsm",
              [&](auto alpha, auto, T const* a, T const*, T* c) {
                trsm<T>(queue_, side, uplo, Diag::non_unit, alpha, columns(a), conjugated(rows(c)));
              },
              Reads::former);
        }
      }
    }
  }

 private:
  /// Results of 16-bit types are sums in single precision, rounded once.
  static constexpr double epsilon_of_halves = !HalfElement<T> ? 0 : std::is_same_v<T, bfloat16> ? 0x1p-7 : 0x1p-10;

  /// Whether beta = 0 lets C hold NaN, or C is an input whatever beta is.
  enum class Reads { unless_beta_is_zero, former };

  std::int64_t elements() const { return n_ * n_ * count_; }

  static void set(T& x, double re, double im) {
    if constexpr (is_complex<S>)
      x = T(S(R(re), R(im)));
    else
      x = T(R(re));
  }
  static S get(T const& x) { return S(x); }

  /// Random matrices with a large diagonal. `seed` 0: NaN.
  std::vector<T> matrices(unsigned seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> some(-1, 1);
    std::vector<T> out(static_cast<std::size_t>(elements()));
    double const nan = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t e = 0; e < out.size(); ++e) {
      auto const place = e % static_cast<std::size_t>(n_ * n_);
      double const shift = place % static_cast<std::size_t>(n_ + 1) == 0 ? 3 : 0;
      seed == 0 ? set(out[e], nan, nan) : set(out[e], some(random) / std::sqrt(double(n_)) + shift, some(random) / std::sqrt(double(n_)));
    }
    return out;
  }
  void put(std::vector<T> const& from, T* to) {
    copy<T>(queue_, from.data(), static_cast<std::int64_t>(from.size()), to);
    queue_.wait();
  }
  template <typename Number>
  static Number number(double re, double im) {
    if constexpr (is_complex<Number>)
      return Number(Real<Number>(re), Real<Number>(im));
    else
      return Number(re);
  }

  template <typename Alpha, typename Beta = Alpha, typename Call>
  void check(char const* name, Call const& call, Reads reads = Reads::unless_beta_is_zero) {
    SCOPED_TRACE(testing::Message() << name << ", n " << n_ << ", " << sizeof(T) << " bytes");
    DeviceArray<T> a(queue_, elements()), b(queue_, elements()), c(queue_, elements());
    DeviceArray<Alpha> alpha(queue_, 1);
    DeviceArray<Beta> beta(queue_, 1);
    // Recorded once, before the numbers are known
    auto const in_memory = record_(queue_, [&] { call(alpha.data(), beta.data(), a.data(), b.data(), c.data()); });
    double const pairs[][2]{{2, 1}, {-0.75, 0}, {0, 1}, {0, 0.5}, {0, 0}, {1, 2}, {1, 0}};
    unsigned seed = 1;
    for (auto const& pair : pairs) {
      Alpha const of_product = number<Alpha>(pair[0], pair[0] / 2);
      Beta const of_former = number<Beta>(pair[1], pair[1] == 1 ? 0 : -pair[1]);
      std::vector<T> const former = matrices(pair[1] == 0 && reads == Reads::unless_beta_is_zero ? 0 : seed++);
      put(matrices(pair[0] == 0 ? 0 : seed++), a.data());
      put(matrices(pair[0] == 0 ? 0 : seed++), b.data());
      put(former, c.data());
      call(of_product, of_former, a.data(), b.data(), c.data());
      std::vector<T> const expected = to_host(queue_, c);
      put(former, c.data());
      copy<Alpha>(queue_, &of_product, 1, alpha.data());
      copy<Beta>(queue_, &of_former, 1, beta.data());
      queue_.wait();
      in_memory();
      std::vector<T> const found = to_host(queue_, c);
      R const bound = R(64) * std::numeric_limits<R>::epsilon() * R(n_), rounding = R(2 * epsilon_of_halves);
      for (std::size_t e = 0; e < found.size(); ++e) {
        S const x = get(found[e]), y = get(expected[e]);
        if (x == y || (std::isnan(std::abs(x)) && std::isnan(std::abs(y)))) continue;
        if (std::abs(x - y) <= bound * (R(1) + std::abs(y)) + rounding * std::abs(y)) continue;
        ADD_FAILURE() << "alpha " << pair[0] << ", beta " << pair[1] << ", element " << e << ": " << x << ", not " << y;
        break;
      }
    }
  }

  /// Matrices of other sizes, some without terms.
  void check_ragged() {
    std::vector<std::int64_t> sizes, terms;
    for (std::int64_t q = 0; q < count_; ++q) {
      sizes.push_back(1 + q * 7 % n_);
      terms.push_back(q % 3 == 0 ? 0 : 1 + q * 5 % n_);
    }
    DeviceArray<std::int64_t> const of_sizes = to_device(queue_, sizes), of_terms = to_device(queue_, terms);
    auto const a_of = [&](auto* x) {
      auto out = batch(x, n_, n_, {.count = count_});
      out.row_sizes = of_sizes.data(), out.col_sizes = of_terms.data();
      return out;
    };
    auto const c_of = [&](auto* x) {
      auto out = row_major(x, n_, n_, {.count = count_});
      out.row_sizes = of_sizes.data(), out.col_sizes = of_sizes.data();
      return out;
    };
    check<S>("gemm, ragged", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
      gemm<T>(queue_, alpha, a_of(a), transposed(a_of(b)), beta, c_of(c));
    });
    check<S>("gemm, ragged, of a block", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
      gemm<T>(queue_, alpha, rows(a_of(a), 1, n_ - 1), transposed(a_of(b)), beta, rows(c_of(c), 1, n_ - 1));
    });
    check<R>("herk, ragged",
             [&](auto alpha, auto beta, T const* a, T const*, T* c) { herk<T>(queue_, Uplo::lower, alpha, a_of(a), beta, c_of(c)); });
  }

  /// A group with alpha and beta in memory, one with a number for beta, and one with numbers only.
  void check_grouped() {
    std::int64_t const some = count_ / 3;
    check<S>("gemm_grouped", [&](auto alpha, auto beta, T const* a, T const* b, T* c) {
      auto const all = [&](auto* x) { return batch(x, n_, n_, {.count = count_}); };
      auto const group = [&](Scalar<S> of_product, Scalar<S> of_former, std::int64_t first, std::int64_t count) {
        auto const part = [&](auto* x) { return myriad::matrices(all(x), first, count); };
        return GemmGroup<T>{.alpha = of_product, .a = part(a), .b = part(b), .beta = of_former, .c = part(c)};
      };
      std::vector const groups{group(alpha, beta, 0, some), group(alpha, S(0), some, some), group(S(2), S(0), 2 * some, count_ - 2 * some)};
      gemm_grouped<T>(queue_, groups);
    });
  }

  Queue& queue_;
  std::int64_t n_, count_;
  Recorder record_;
};

}  // namespace myriad::test
