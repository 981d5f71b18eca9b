// Solves 10 000 systems of 8 equations in one call.
#include <cmath>
#include <cstdio>
#include <myriad/myriad.hpp>
#include <vector>

int main() {
  int const n = 8, count = 10'000;
  std::vector<double> a(n * n * count), b(n * count);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(1.0 * i * i);  // any matrices, one behind the other, column-major
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(1.0 * i);
  std::vector<double> x(b.size()), error(count);
  std::vector<int> info(count);

  myriad::Queue queue;  // all cores of this machine
  auto const matrices = myriad::batch(a.data(), n, n, {.count = count});
  auto const right_sides = myriad::vectors(b.data(), n, count);
  auto const solutions = myriad::vectors(x.data(), n, count);
  myriad::solve(queue, matrices, right_sides, solutions, info.data());
  myriad::backward_error(queue, matrices, solutions, right_sides, myriad::vectors(error.data(), 1, count));
  queue.wait();

  double worst = 0;
  int singular = 0;
  for (int k = 0; k < count; ++k) {
    singular += info[k] != 0;
    worst = std::fmax(worst, error[k]);
  }
  std::printf("%d systems, %d singular, largest backward error %.1e\n", count, singular, worst);
  return singular;
}
