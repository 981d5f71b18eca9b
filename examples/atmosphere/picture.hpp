#pragma once
#include <string>
#include <vector>

#include "recorder.hpp"

namespace atmosphere {

/// The species that the picture shows.
[[nodiscard]] std::vector<int> picture_species();

/// An SVG document: concentration against time, a panel per species. `recorder` has recorded `picture_species()`.
[[nodiscard]] std::string picture(Recorder const& recorder);

}  // namespace atmosphere
