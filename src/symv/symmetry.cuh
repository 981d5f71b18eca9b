#pragma once

namespace myriad {

/// A(i, j) where A(j, i) is stored: the same, or its conjugate.
enum class Symmetry : int { symmetric, hermitian };

}  // namespace myriad
