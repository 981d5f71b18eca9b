#include <omp.h>

#include "core/team.hpp"

namespace myriad::team {

int default_size() { return omp_get_max_threads(); }

bool inside() { return omp_in_parallel(); }

void run(int size, Work work) {
#pragma omp parallel num_threads(size)
  work();
}

}  // namespace myriad::team
