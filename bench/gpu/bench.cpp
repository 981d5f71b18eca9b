#include "gpu/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/dtype.hpp"
#include "gpu/peer_calls.hpp"
#include "trsm/case.hpp"

namespace myriad::bench {

Timing time(Session const& session, std::function<void()> const& refresh, std::function<void()> const& work) {
  auto const& [queue, options, peers, meter, l2_bytes, rate] = session;
  Event start(queue), stop(queue);
  std::vector<double> seconds;
  for (int repeat = -2; repeat < options.repeats; ++repeat) {
    refresh();
    start.record();
    work();
    stop.record();
    double const elapsed = stop.seconds_since(start);
    if (repeat >= 0) seconds.push_back(elapsed);
  }
  std::sort(seconds.begin(), seconds.end());
  Timing timing{.seconds = seconds[seconds.size() / 2], .joules = 0};
  if (options.energy_seconds > 0) {
    auto const calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(options.energy_seconds / timing.seconds));
    auto const joules_of = [&](auto const& call) {
      queue.wait();
      double const before = meter.joules();
      for (std::int64_t k = 0; k < calls; ++k) call();
      queue.wait();
      return (meter.joules() - before) / static_cast<double>(calls);
    };
    // Inputs are refreshed before each call; the energy of that is measured alone and subtracted.
    timing.joules = joules_of([&] { refresh(), work(); }) - joules_of(refresh);
  }
  return timing;
}

std::vector<std::string> measured_routines() {
  std::vector<std::string> names;
  for (cases::Case const& c : cases::all_cases()) {
    if (c.has_on_gpu('m')) names.emplace_back(c.routine);
    if (c.has_on_gpu('1')) names.push_back(fmt::format("{}-square", c.routine));
  }
  return names;
}

Measured measured_of(std::string const& name) {
  std::string const square = "-square";
  bool const is_square = name.ends_with(square);
  cases::Case const* const found = cases::find_case(is_square ? name.substr(0, name.size() - square.size()) : name);
  if (!found || !found->has_on_gpu(is_square ? '1' : 'm'))
    throw Error(fmt::format("'{}' is not measured on a GPU; routines are {}", name, fmt::join(measured_routines(), ", ")));
  return {.routine = found, .one_column = found->has_on_gpu('1') && !is_square};
}

namespace {

/// Matrices in a batch: as many as `--gigabytes` admits.
std::int64_t count_of(Options const& options, Dtype dtype, std::int64_t n, std::int64_t other, std::string const& layout) {
  if (options.count > 0) return options.count;
  bool const half = is_half(dtype);
  double const bytes = options.gigabytes * (half ? 0.25e9 : 1e9);
  std::int64_t const most = half ? (layout == "pointers" ? 4'000'000 : 64'000'000) : n <= 4 ? 16'000'000 : 1'000'000;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes) / (element_bytes(dtype) * n * other), 1, most);
}

/// C += A B with half as many columns as rows: as many flops and bytes as a solve with n right-hand sides.
Timing time_gemm(Session const& session, std::function<void()> const& refresh, cases::CaseRun& run) {
  Timing timing;
  auto const time_case = [&]<typename T>(cases::TrsmCase<T>& c) {
    Batch<T> const &a = c.a.view(), &whole = c.b.view();
    DeviceArray<T> const other(session.queue, whole.count * whole.rows * whole.cols);
    copy<T>(session.queue, whole.data, other.size(), other.data());
    Batch<T> copied = whole;
    copied.data = other.data();
    std::int64_t const n = a.rows;
    Batch<T> const x = block(copied, 0, 0, n, n / 2), y = block(whole, 0, 0, n, n / 2);
    timing = time(session, refresh, [&] { gemm<T>(session.queue, T(1), a, x, T(1), y); });
  };
  with_dtype(run.problem().dtype, [&]<typename T>() { cases::for_case_of<T, cases::TrsmCase>(run, time_case); });
  return timing;
}

Json time_peers(Session const& session, std::function<void()> const& refresh, cases::CaseRun& run, std::int64_t count) {
  Json out = Json::object();
  PeerTimer timer{session.queue, session.peers, refresh, {}, {}};
  timer.attempt = [&](char const* name, std::function<void()> const& work) {
    auto const left_out = [&](std::runtime_error const& reason) {
      fmt::print(stderr, "{}: {} of {} matrices of {} rows is not measured: {}\n", session.options.program, name, count, run.problem().m,
                 reason.what());
    };
    try {
      work();
    } catch (PeerError const& reason) {
      left_out(reason);
    } catch (OutOfMemory const& reason) {
      left_out(reason);
    }
  };
  timer.measure = [&](char const* name, std::function<void()> const& call) {
    timer.attempt(name, [&] {
      Timing const timing = time(session, refresh, call);
      out[name]["ns_per_matrix"] = timing.seconds / static_cast<double>(count) * 1e9;
      if (timing.joules > 0) out[name]["nanojoules_per_matrix"] = timing.joules / static_cast<double>(count) * 1e9;
    });
  };
  measure_peers(timer, run);
  return out;
}

}  // namespace

Json row_of(Session const& session, std::string const& name, Dtype dtype, int n, std::string const& layout, Uplo uplo) {
  auto const& [queue, options, peers, meter, l2_bytes, rate] = session;
  auto const [routine, one_column] = measured_of(name);
  bool const half = is_half(dtype), is_gemm = routine->routine == "gemm", is_gemv = routine->routine == "gemv";
  bool const is_gesvd = routine->routine == "gesvd";
  if (half && !routine->has('w')) throw Error(fmt::format("{} has no {}", name, dtype_name(dtype)));
  std::int64_t const given = options.k > 0 ? options.k : n;  // second size of gemv and gesvd, terms of gemm
  std::int64_t const columns = is_gemv || is_gesvd ? given : n, terms = is_gemm ? given : n;

  cases::Problem p;
  p.dtype = dtype;
  p.m = n;
  p.n = one_column ? 1 : columns;
  p.k = routine->has('i') ? terms : 1;
  p.count = count_of(options, dtype, n, is_gesvd ? columns : std::max(columns, terms), layout);
  p.layout = layout == "row_major"     ? cases::Layout::row_major
             : layout == "interleaved" ? cases::Layout::interleaved
                                       : cases::Layout::column_major;
  if (routine->has_on_gpu('+')) p.beta = 1;
  if (routine->has_on_gpu('u')) p.uplo = uplo;
  if (is_gemm && dtype == Dtype::f32 && options.arithmetic != "standard")
    p.arithmetic = options.arithmetic == "tf32" ? Arithmetic::tf32 : Arithmetic::tf32x3;
  auto const count = static_cast<double>(p.count);

  auto const run = routine->placed(queue, p, layout == "pointers");
  // A copy evicts everything else from the caches.
  DeviceArray<char> const other(queue, routine->has_on_gpu('c') ? 8 * l2_bytes : 0);
  std::function<void()> const refresh = [&] {
    run->refresh(queue);
    copy<char>(queue, other.data(), other.size() / 2, other.data() + other.size() / 2);
  };
  Timing const mine = time(session, refresh, [&] { run->run(queue); });
  run->poison(queue);
  refresh();
  run->run(queue);
  // Operations of a check
  std::int64_t const work = std::max<std::int64_t>(1, n * columns * std::max<std::int64_t>(is_gesvd ? columns : n, terms));
  cases::Outcome const outcome = run->check_placed(queue, std::clamp<std::int64_t>(100 * 64 * 64 * 64 / work, 1, 100));
  if (!outcome.pass) fmt::print(stderr, "{}: {}: {}\n", options.program, name, outcome.text());

  Json out;
  out["routine"] = p.arithmetic != Arithmetic::standard ? name + ", " + options.arithmetic
                   : terms != n                         ? fmt::format("{}, {} terms", name, terms)
                                                        : name;
  out["dtype"] = dtype_name(dtype);
  out["n"] = n;
  if (columns != n) out["columns"] = columns;
  out["layout"] = layout;
  if (routine->has_on_gpu('u')) out["uplo"] = uplo == Uplo::lower ? "lower" : "upper";
  out["count"] = p.count;
  out["ns_per_matrix"] = mine.seconds / count * 1e9;
  out["share_of_copy_rate"] = run->bytes() / static_cast<double>(run->problem().count) * count / mine.seconds / rate;
  if (mine.joules > 0) out["nanojoules_per_matrix"] = mine.joules / count * 1e9;
  out["error"] = outcome.worst;
  out["pass"] = outcome.pass;
  if (routine->has_on_gpu('1') && !one_column && n > 1 && layout != "pointers")
    out["gemm_of_as_many_flops_ns_per_matrix"] = time_gemm(session, refresh, *run).seconds / count * 1e9;
  bool const has_peers = !options.no_peers && (layout == "column_major" || (layout == "row_major" && is_gemv));
  out["peers"] = has_peers ? time_peers(session, refresh, *run, p.count) : Json::object();
  double best = 0;
  for (auto const& [peer, value] : out["peers"].items())
    if (double const ns = value["ns_per_matrix"]; best == 0 || ns < best) best = ns;
  if (best > 0) out["times_faster_than_best_peer"] = best / out["ns_per_matrix"].get<double>();
  return out;
}

}  // namespace myriad::bench
