#include "case/problem.hpp"

#include <fmt/format.h>

#include "core/dtype.hpp"

namespace myriad::cases {

char const* name(Layout layout) {
  switch (layout) {
    case Layout::column_major:
      return "column_major";
    case Layout::padded:
      return "padded";
    case Layout::row_major:
      return "row_major";
    case Layout::row_major_padded:
      return "row_major_padded";
    case Layout::interleaved:
      return "interleaved";
    case Layout::interleaved_padded:
      return "interleaved_padded";
    case Layout::woven:
      return "woven";
    case Layout::spread:
      return "spread";
    case Layout::block:
      return "block";
    case Layout::conjugated:
      return "conjugated";
    case Layout::pointers:
      return "pointers";
    case Layout::row_major_pointers:
      return "row_major_pointers";
  }
  return "?";
}

char const* name(Dtype dtype) { return dtype_name(dtype); }

char const* name(Input input) {
  switch (input) {
    case Input::random:
      return "random";
    case Input::conditioned:
      return "conditioned";
    case Input::dominant:
      return "dominant";
    case Input::graded:
      return "graded";
    case Input::scaled:
      return "scaled";
    case Input::singular_first:
      return "singular_first";
    case Input::singular_middle:
      return "singular_middle";
    case Input::singular_last:
      return "singular_last";
    case Input::nan:
      return "nan";
    case Input::infinite:
      return "infinite";
    case Input::growth:
      return "growth";
    case Input::ties:
      return "ties";
    case Input::zero:
      return "zero";
  }
  return "?";
}

Shape Problem::bounds() const {
  Shape const s{m, n, k};
  return fix ? fix(s) : s;
}

Shape Problem::shape_of(std::int64_t b) const {
  if (!ragged) return bounds();
  Random random(*this, b, 0);
  // The largest size is frequent enough that every batch has some.
  auto const size = [&](std::int64_t limit) { return random.below(4) == 0 ? limit : random.below(limit + 1); };
  Shape const all = bounds();
  std::int64_t const rows = size(all.m);
  std::int64_t const cols = size(all.n);
  Shape const s{rows, cols, size(all.k)};
  return fix ? fix(s) : s;
}

std::string Problem::text() const {
  Shape const s = bounds();
  std::string text = fmt::format("seed {}, type {}, m {}, n {}, k {}, count {}, {}{}{}, {} input", seed, name(dtype), s.m, s.n, s.k, count,
                                 name(layout), ragged ? ", ragged" : "", flush ? ", flush" : "", name(input));
  if (bad_place >= 0) text += fmt::format(", matrix {} {}", bad_place, name(bad));
  if (first != 0) text += fmt::format(", first {}", first);
  text += fmt::format(", op {}{}, uplo {}, side {}, diag {}, job {}, svd job {}, vect {}, alpha {}{:+}i, beta {}{:+}i{}",
                      static_cast<char>(op), static_cast<char>(op_b), static_cast<char>(uplo), static_cast<char>(side),
                      static_cast<char>(diag), static_cast<char>(job), static_cast<char>(svd_job), static_cast<char>(vect), alpha.real(),
                      alpha.imag(), beta.real(), beta.imag(), pivots ? "" : ", no pivots");
  if (arithmetic != Arithmetic::standard) text += fmt::format(", arithmetic {}", static_cast<int>(arithmetic));
  if (timing) text += ", timing";
  return text;
}

Random::Random(Problem const& problem, std::int64_t b, std::uint64_t stream) : state_(problem.seed) {
  for (std::uint64_t const part : {static_cast<std::uint64_t>(problem.first + b), stream}) state_ = (bits() ^ part) * 0x9e3779b97f4a7c15ULL;
}

// splitmix64: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.
std::uint64_t Random::bits() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}
double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0; }
std::int64_t Random::below(std::int64_t limit) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(limit)); }

}  // namespace myriad::cases
