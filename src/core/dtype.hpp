#pragma once
/// The one switch over element types.

#include <utility>

#include "myriad/error.hpp"
#include "myriad/types.hpp"

namespace myriad {

/// Calls `f.template operator()<T>()` with the T that `dtype` stands for.
template <typename F>
decltype(auto) with_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::f32:
      return std::forward<F>(f).template operator()<float>();
    case Dtype::f64:
      return std::forward<F>(f).template operator()<double>();
    case Dtype::c32:
      return std::forward<F>(f).template operator()<std::complex<float>>();
    case Dtype::c64:
      return std::forward<F>(f).template operator()<std::complex<double>>();
  }
  throw Error("unknown element type " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace myriad

/// Explicit instantiation of something for every element type: MYRIAD_FOR_EACH_ELEMENT(X) expands X(float) X(double) ...
#define MYRIAD_FOR_EACH_ELEMENT(X) X(float) X(double) X(std::complex<float>) X(std::complex<double>)
