#include "case/case.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/dtype.hpp"

namespace myriad::cases {

std::string Outcome::text() const {
  if (pass) return fmt::format("passed, worst quantity {:.3g} of its limit (matrix {}: {}); {}", worst, matrix, what, problem);
  return fmt::format("matrix {}: {}; {}", matrix, what, problem);
}

void Findings::at_most(char const* what, double value, double limit) {
  if (std::isnan(value)) value = std::abs(value);  // fmt would show its sign
  double const ratio = value / limit;
  bool const good = value <= limit;
  if (!pass_) return;
  if (!good || ratio > worst_) {
    what_ = good ? fmt::format("{} = {:.3g}", what, value) : fmt::format("{} = {:.3g}, at most {:.3g} allowed", what, value, limit);
    worst_ = ratio;
  }
  pass_ = good;
}

void Findings::require(bool holds, std::string const& what) {
  if (holds || !pass_) return;
  pass_ = false;
  worst_ = std::numeric_limits<double>::infinity();
  what_ = what;
}

void Findings::equal(char const* what, std::int64_t got, std::int64_t expected) {
  if (got != expected) require(false, fmt::format("{} is {}, expected {}", what, got, expected));
}

void CaseRun::hold(std::initializer_list<ArrayBase*> arrays, Role role) {
  for (ArrayBase* const array : arrays) {
    array->keep();
    held_.push_back({array, role});
  }
}

void CaseRun::prepare() {
  for (Held const& h : held_) h.array->restore();
}

Outcome CaseRun::check(std::int64_t step) const {
  Outcome outcome{.problem = problem_.text()};
  auto const take = [&](std::int64_t b, Findings const& found) {
    if (!found.pass() && outcome.pass) {
      outcome.pass = false;
      outcome.matrix = b;
      outcome.what = found.what();
    } else if (outcome.pass && (outcome.matrix < 0 || found.worst() > outcome.worst)) {
      outcome.matrix = b;
      outcome.what = found.what();
    }
    outcome.worst = larger(outcome.worst, found.worst());
  };
  for (std::int64_t b = 0; b < problem_.count; b += step) {
    Findings found;
    verify(b, found);
    take(b, found);
  }
  Findings around;
  for (Held const& h : held_)
    if (h.role == Role::input)
      around.require(h.array->unchanged(), "an input was changed");
    else
      around.require(h.array->padding_unchanged(), "memory outside the matrices was written");
  if (!around.pass()) take(-1, around);
  return outcome;
}

bool CaseRun::spoil(std::int64_t b, Spoil kind) {
  if (kind == Spoil::info) return info_ && info_->spoil(b, false);
  for (Held const& h : held_) {
    bool const result = h.is_result();
    if (kind == Spoil::input && h.role == Role::input) return h.array->spoil(b, false);
    if (kind == Spoil::padding && result) return h.array->spoil_padding();
    if ((kind == Spoil::result || kind == Spoil::result_nan) && result) return h.array->spoil(b, kind == Spoil::result_nan);
  }
  return false;
}

std::string CaseRun::result(std::int64_t b) const {
  std::string bytes;
  for (Held const& h : held_)
    if (h.is_result()) h.array->append_bytes(b, bytes);
  return bytes;
}

std::string CaseRun::operand_at(void const* p) const {
  constexpr std::array roles{"input", "output", "in place", "destroyed"};
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (std::string const part = held_[i].array->part_at(p); !part.empty())
      return fmt::format("operand {} ({}): the {}", i + 1, roles[static_cast<std::size_t>(held_[i].role)], part);
  return "memory of no operand";
}

double CaseRun::flops() const {
  double const factor = is_complex_dtype(problem_.dtype) ? 4 : 1;
  if (!problem_.ragged) return factor * real_flops(problem_.bounds()) * static_cast<double>(problem_.count);
  double sum = 0;
  for (std::int64_t b = 0; b < problem_.count; ++b) sum += real_flops(problem_.shape_of(b));
  return factor * sum;
}

double CaseRun::bytes() const {
  double sum = 0;
  for (Held const& h : held_) sum += h.array->bytes() * (h.role == Role::in_place || h.role == Role::destroyed ? 2 : 1);
  return sum;
}

}  // namespace myriad::cases
