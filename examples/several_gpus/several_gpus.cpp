// Batches that stay on the GPUs of one host: a queue and a host thread for each. Prints matrices per second on 1, 2, ... GPUs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <vector>

#include "several_gpus/resident_batch.hpp"

namespace {

int run(std::int64_t count) {
  std::vector<ResidentBatch> batches;
  for (myriad::Device const& gpu : myriad::devices())
    batches.emplace_back(myriad::QueueOptions{.backend = myriad::Backend::gpu, .device = gpu.ordinal}, count);
  if (batches.empty()) {
    myriad::Queue const automatic;
    std::printf("no GPU can be used (%s); the CPU computes\n", automatic.gpu_problem().c_str());
    batches.emplace_back(myriad::QueueOptions{.backend = myriad::Backend::cpu}, count);
  }
  bool const on_gpus = batches[0].queue().backend() == myriad::Backend::gpu;
  if (on_gpus && batches.size() == 1) std::puts("there is one GPU, with which nothing can be compared");

  int const steps = steps_of_half_a_second(batches);
  std::printf("%lld systems of %d equations on each %s, %d steps\n", static_cast<long long>(count), ResidentBatch::n,
              on_gpus ? batches[0].queue().device().name.c_str() : "CPU", steps);
  double of_one = 0;
  for (std::size_t k = 1; k <= batches.size(); ++k) {
    double const seconds = seconds_together(std::span(batches).first(k), steps);
    double const rate = static_cast<double>(k) * static_cast<double>(count) * steps / seconds;
    if (k == 1) of_one = rate;
    std::printf("%zu %s%s %.3g matrices/s, %.2f times one\n", k, on_gpus ? "GPU" : "CPU", k == 1 ? ": " : "s:", rate, rate / of_one);
  }
  double worst = 0;
  for (ResidentBatch& batch : batches) worst = std::max(worst, batch.error());
  std::printf("largest backward error %.1e\n", worst);
  return worst <= 1e-14 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  long long const count = argc > 1 ? std::atoll(argv[1]) : 100'000;
  if (argc > 2 || count < 1) {
    std::fprintf(stderr, "usage: several_gpus [SYSTEMS PER GPU, 1 or more]\n");
    return 2;
  }
  try {
    return run(count);
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "several_gpus: %s\n", problem.what());
    return 2;
  }
}
