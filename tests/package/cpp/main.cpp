// Uses an installed Myriad: a routine of every family, and an exception thrown inside the shared library.
#include <cmath>
#include <cstdio>
#include <myriad/myriad.hpp>
#include <vector>

int main() {
  int const count = 100;
  std::vector<double> a, b;
  for (int k = 0; k < count; ++k) {
    a.insert(a.end(), {4.0 + k, 1.0, 1.0, 3.0});
    b.insert(b.end(), {6.0 + k, 7.0});  // the solution is {1, 2}
  }
  myriad::Queue queue({.backend = myriad::Backend::cpu});
  auto const matrices = myriad::batch(a.data(), 2, 2, {.count = count});
  std::vector<double> x(b.size()), berr(count);
  auto const sides = myriad::vectors(b.data(), 2, count);
  auto const solutions = myriad::vectors(x.data(), 2, count);
  myriad::solve(queue, matrices, sides, solutions, nullptr);
  myriad::backward_error(queue, matrices, solutions, sides, myriad::vectors(berr.data(), 1, count));
  myriad::gemm(queue, -1.0, matrices, solutions, 1.0, sides);
  myriad::posv(queue, myriad::Uplo::lower, matrices, sides, nullptr);
  queue.wait();
  for (int k = 0; k < 2 * count; ++k)
    if (!(std::fabs(x[k] - (1 + k % 2)) < 1e-12 && std::fabs(b[k]) < 1e-12))
      return std::printf("wrong: x[%d] is %g, b[%d] is %g\n", k, x[k], k, b[k]), 1;

  try {
    myriad::getrf_nopiv(queue, myriad::batch(a.data(), 2, -2), nullptr);
  } catch (myriad::BadArgument const& error) {
    std::printf("Myriad %s works; refused: %s\n", MYRIAD_VERSION, error.what());
    return error.position() == 2 ? 0 : 1;
  }
  return std::puts("a negative size was not refused"), 1;
}
