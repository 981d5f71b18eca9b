#include "case/case.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "core/dtype.hpp"

namespace myriad::cases {

std::string Outcome::text() const {
  if (pass) return fmt::format("passed, worst quantity {:.3g} of its limit (matrix {}: {}); {}", worst, matrix, what, problem);
  return fmt::format("matrix {}: {}; {}", matrix, what, problem);
}

void Findings::at_most(char const* what, double value, double limit) {
  if (std::isnan(value)) value = std::abs(value);  // fmt would print its sign
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

std::vector<std::int64_t> Findings::chosen(std::int64_t size) const {
  std::int64_t const some = !of_a_part_ ? size : std::min<std::int64_t>(size, size > 1000 ? 4 : 16);
  std::vector<std::int64_t> out(static_cast<std::size_t>(some));
  for (std::int64_t k = 0; k < some; ++k) out[static_cast<std::size_t>(k)] = some == size ? k : k * (size - 1) / (some - 1);
  return out;
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

namespace {

void add(Outcome& outcome, std::int64_t b, Findings const& found) {
  if (found.pass() ? outcome.pass && (outcome.matrix < 0 || found.worst() > outcome.worst) : outcome.pass) {
    outcome.pass = found.pass();
    outcome.matrix = b;
    outcome.what = found.what();
  }
  outcome.worst = larger(outcome.worst, found.worst());
}

}  // namespace

Outcome CaseRun::check(std::int64_t step) const {
  Outcome outcome{.problem = problem_.text()};
  for (std::int64_t b = 0; b < problem_.count; b += step) {
    Findings found;
    verify(b, found);
    add(outcome, b, found);
  }
  Findings around;
  for (Held const& h : held_)
    if (h.role == Role::input)
      around.require(h.array->unchanged(), "an input was changed");
    else
      around.require(h.array->padding_unchanged(), "memory outside the matrices was written");
  if (!around.pass()) add(outcome, -1, around);
  return outcome;
}

void CaseRun::place(Queue& queue, std::int64_t count, bool behind_pointers) {
  placed_ = count;
  for (Held const& h : held_) h.array->place(queue, count, behind_pointers, h.role != Role::output);
}

void CaseRun::refresh(Queue& queue) {
  for (Role const role : {Role::input, Role::in_place, Role::destroyed})
    for (Held const& h : held_)
      if (h.role == role) h.array->refresh(queue);
}

void CaseRun::poison(Queue& queue) {
  for (Held const& h : held_)
    if (h.role == Role::output) h.array->poison(queue);
}

Outcome CaseRun::check_placed(Queue& queue, std::int64_t some) {
  Outcome outcome{.problem = problem_.text()};
  Shape const s = problem_.bounds();
  bool const of_a_part = std::max(s.m, s.n) > 128;
  some = std::min(some, problem_.count);
  for (std::int64_t const first : std::set<std::int64_t>{0, (placed_ - some) / 2, placed_ - some}) {
    for (Held const& h : held_) h.array->fetch(queue, first, some);
    queue.wait();
    std::vector<Findings> found(static_cast<std::size_t>(some), Findings(of_a_part));
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t k = 0; k < some; ++k) {
      std::int64_t const b = (first + k) % problem_.count;
      Findings& of_b = found[static_cast<std::size_t>(k)];
      for (Held const& h : held_)
        if (h.role == Role::input) of_b.require(h.array->matrix_unchanged(b), "an input was changed");
      verify(b, of_b);
    }
    for (std::int64_t k = 0; k < some; ++k) add(outcome, first + k, found[static_cast<std::size_t>(k)]);
  }
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

std::unique_ptr<CaseRun> Case::placed(Queue& queue, Problem problem, bool behind_pointers, std::int64_t elements) const {
  std::int64_t const count = problem.count, matrix = std::max({problem.m, problem.n, problem.k}) * std::max(problem.m, problem.n);
  std::int64_t const most = problem.layout == Layout::interleaved ? 1021 : 1 << 16;
  problem.count = std::min(count, std::clamp<std::int64_t>(elements / matrix, 3, most));
  problem.timing = true;
  auto run = (*this)(problem);
  run->place(queue, count, behind_pointers);
  return run;
}

}  // namespace myriad::cases
