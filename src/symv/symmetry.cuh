#pragma once

namespace myriad {

/// Whether A(i, j) is A(j, i) or its conjugate, where only A(j, i) is stored.
enum class Symmetry : int { symmetric, hermitian };

}  // namespace myriad
