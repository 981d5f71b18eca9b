#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <array>
#include <utility>

#include "cholesky/case.hpp"
#include "gemm/case.hpp"
#include "lu/case.hpp"
#include "peers/loop.hpp"
#include "peers/peer.hpp"

namespace myriad::bench {
namespace {

using namespace cases;
using Sizes = std::integer_sequence<int, 4, 8, 16, 32>;
template <typename T, int M, int N>
using Matrix = Eigen::Matrix<T, M, N>;

/// Calls f.template operator()<N>() for the N in Sizes that equals n; returns an empty function if there is none.
template <typename F, int... N>
std::function<void()> with_size(std::int64_t n, std::integer_sequence<int, N...>, F const& f) {
  std::function<void()> found;
  ((n == N ? void(found = f.template operator()<N>()) : void()), ...);
  return found;
}

template <typename T, int N>
Eigen::Map<Matrix<T, N, N>> square_map(Batch<T> const& a, std::int64_t b) {
  return Eigen::Map<Matrix<T, N, N>>(a.data + b * a.batch_stride);
}

template <typename T, int N>
std::function<void()> work(GemmCase<T>& c, int threads) {
  auto const& p = c.problem();
  if (p.m != p.n || p.k != p.n || p.op != Op::none || p.op_b != Op::none || (c.beta != T(0) && c.beta != T(1))) return {};
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      auto const a = square_map<T, N>(c.a.view(), i);
      auto const b = square_map<T, N>(c.b.view(), i);
      auto z = square_map<T, N>(c.c.view(), i);
      // Eigen does not optimise a factor of one away
      if (c.beta == T(0) && c.alpha == T(1))
        z.noalias() = a * b;
      else if (c.beta == T(0))
        z.noalias() = c.alpha * a * b;
      else
        z.noalias() += c.alpha * a * b;
    });
  };
}

/// In-place LU of PartialPivLU, with pivots as in LAPACK.
template <typename T, int N>
void factor(Eigen::Map<Matrix<T, N, N>>& a, int* pivots) {
  Eigen::Transpositions<N, N, int> rows;
  int interchanges = 0;
  Eigen::internal::partial_lu_inplace(a, rows, interchanges);
  for (int k = 0; k < N; ++k) pivots[k] = rows.coeff(k) + 1;
}

template <typename T, int N>
std::function<void()> work(GetrfCase<T>& c, int threads) {
  if (c.problem().m != c.problem().n) return {};
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      auto a = square_map<T, N>(c.a.view(), i);
      factor<T, N>(a, c.pivots.view().matrix(i));
      c.info.data()[i] = 0;  // Eigen does not report zero pivots
    });
  };
}

template <typename T, int N>
std::function<void()> work(GesvCase<T>& c, int threads) {
  if (c.problem().k != 1) return {};
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      auto a = square_map<T, N>(c.a.view(), i);
      int* const pivots = c.pivots.view().matrix(i);
      factor<T, N>(a, pivots);
      Eigen::Map<Matrix<T, N, 1>> x(c.b.view().matrix(i));
      for (int k = 0; k < N; ++k) std::swap(x[k], x[pivots[k] - 1]);
      a.template triangularView<Eigen::UnitLower>().solveInPlace(x);
      a.template triangularView<Eigen::Upper>().solveInPlace(x);
      c.info.data()[i] = 0;
    });
  };
}

template <typename T, int N>
std::function<void()> work(InverseCase<T>& c, int threads) {
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      square_map<T, N>(c.x.view(), i) = square_map<T, N>(c.a.view(), i).inverse();
      c.info.data()[i] = 0;
    });
  };
}

template <typename T, int N>
std::function<void()> work(PotrfCase<T>& c, int threads) {
  if (c.problem().uplo != Uplo::lower) return {};
  return [&c, threads] {
    for_each_matrix(threads, c.problem().count, [&](std::int64_t i) {
      using Map = Eigen::Map<Matrix<T, N, N>>;
      Map a = square_map<T, N>(c.a.view(), i);
      Eigen::Index const failed = Eigen::internal::llt_inplace<T, Eigen::Lower>::blocked(a);
      c.info.data()[i] = static_cast<int>(failed) + 1;
    });
  };
}

template <typename T>
std::function<void()> work_of_case(CaseRun& run, int threads) {
  std::function<void()> found;
  if (run.problem().ragged) return found;
  for_case_of<T, GemmCase, GetrfCase, GesvCase, InverseCase, PotrfCase>(
      run, [&](auto& c) { found = with_size(run.problem().n, Sizes{}, [&]<int N>() { return work<T, N>(c, threads); }); });
  return found;
}

class EigenPeer final : public Peer {
 public:
  [[nodiscard]] std::string_view name() const override { return "eigen"; }
  [[nodiscard]] std::string label() const override {
    return fmt::format("Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  }
  [[nodiscard]] std::function<void()> prepare(CaseRun& run, int threads) const override {
    // no complex types: they would double the long build
    if (run.problem().dtype == Dtype::f32) return work_of_case<float>(run, threads);
    if (run.problem().dtype == Dtype::f64) return work_of_case<double>(run, threads);
    return {};
  }
};

}  // namespace

std::unique_ptr<Peer> make_eigen_peer() { return std::make_unique<EigenPeer>(); }

}  // namespace myriad::bench
