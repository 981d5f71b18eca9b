#pragma once
/// Handlers of XLA's foreign function interface, for myriad.jax.

#include <nanobind/nanobind.h>

namespace myriad::python {

/// Adds `xla_routines` and `xla_calls` to the extension module.
void define_xla(nanobind::module_& m);

}  // namespace myriad::python
