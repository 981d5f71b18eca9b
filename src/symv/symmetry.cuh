#pragma once

namespace myriad {

/// What A(i, j) is where A(j, i) is stored: the same, or its conjugate.
enum class Symmetry : int { symmetric, hermitian };

}  // namespace myriad
