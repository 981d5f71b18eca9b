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

  myriad::Queue queue;  // the first GPU, or all cores of this machine
  auto const a_there = myriad::to_device(queue, a), b_there = myriad::to_device(queue, b);
  myriad::DeviceArray<double> x(queue, n * count), error(queue, count);
  myriad::DeviceArray<int> info(queue, count);
  auto const matrices = myriad::batch(a_there.data(), n, n, {.count = count});
  auto const right_sides = myriad::vectors(b_there.data(), n, count);
  auto const solutions = myriad::vectors(x.data(), n, count);
  myriad::solve(queue, matrices, right_sides, solutions, info.data());
  myriad::backward_error(queue, matrices, solutions, right_sides, myriad::vectors(error.data(), 1, count));

  double worst = 0;
  for (double const e : myriad::to_host(queue, error)) worst = std::fmax(worst, e);
  int singular = 0;
  for (int const i : myriad::to_host(queue, info)) singular += i != 0;
  std::printf("%d systems, %d singular, largest backward error %.1e\n", count, singular, worst);
  return singular;
}
