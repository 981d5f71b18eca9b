/// Packs hold the kernels that routines ask for: column-major batches without gaps, one right-hand side.

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "myriad/myriad.hpp"
#include "on_fake_compiler.hpp"
#include "packs/shipped.hpp"

namespace myriad::gpu {
namespace {

/// Kernels that were compiled, by their names.
std::set<std::string>& compiled() {
  static std::set<std::string> names;
  return names;
}

class ShippedOnFake : public test::OnFakeCompiler {
 protected:
  void SetUp() override {
    test::OnFakeCompiler::SetUp();
    before_ = on_message([](std::string_view text) {
      if (text.starts_with("compiled myriad::")) compiled().emplace(text.substr(9, text.rfind(" for ") - 9));
    });
  }
  void TearDown() override {
    on_message(before_);
    test::OnFakeCompiler::TearDown();
  }

 private:
  MessageHandler before_;
};

/// A batch at an address without memory.
template <typename T>
Batch<T> at(std::uintptr_t place, std::int64_t rows, std::int64_t cols, std::int64_t count) {
  return batch(reinterpret_cast<T*>(place << 36), rows, cols, {.count = count});
}

struct Call {
  std::string routine;
  std::function<void(Queue&)> run;
};

template <Element T>
std::vector<Call> calls(std::int64_t n, std::int64_t count) {
  auto const a = at<T>(1, n, n, count), c = at<T>(3, n, n, count), x = at<T>(4, n, 1, count), y = at<T>(5, n, 1, count);
  auto const r = at<Real<T>>(6, n, 1, count), s = at<Real<T>>(7, n, 1, count), one = at<Real<T>>(8, 1, 1, count);
  auto const tau = at<T>(9, n, 1, count);
  auto const p = at<int>(10, n, 1, count);
  auto const info = reinterpret_cast<int*>(std::uintptr_t{11} << 36);
  auto const scalars = reinterpret_cast<T*>(std::uintptr_t{12} << 36);
  auto const reals = reinterpret_cast<Real<T>*>(std::uintptr_t{13} << 36);
  std::vector<Call> out{
      {"getrf", [=](Queue& q) { getrf<T>(q, a, p, info); }},
      {"getrf_nopiv", [=](Queue& q) { getrf_nopiv<T>(q, a, info); }},
      {"getrs", [=](Queue& q) { getrs<T>(q, Op::none, a, p, x); }},
      {"gesv", [=](Queue& q) { gesv<T>(q, a, p, x, info); }},
      {"solve", [=](Queue& q) { solve<T>(q, a, x, y, info); }},
      {"getri", [=](Queue& q) { getri<T>(q, a, p, info); }},
      {"inverse", [=](Queue& q) { inverse<T>(q, a, c, info); }},
      {"det", [=](Queue& q) { det<T>(q, a, scalars); }},
      {"logdet", [=](Queue& q) { logdet<T>(q, a, scalars, reals); }},
      {"geqrf", [=](Queue& q) { geqrf<T>(q, a, tau); }},
      {"geqp3", [=](Queue& q) { geqp3<T>(q, a, p, tau); }},
      {"geqp3", [=](Queue& q) { geqp3<T>(q, transposed(a), p, tau); }},
      {"gelsy", [=](Queue& q) { gelsy<T>(q, a, x, p, 0, info); }},
      {"orgqr", [=](Queue& q) { orgqr<T>(q, a, tau); }},
      {"ormqr", [=](Queue& q) { ormqr<T>(q, Side::left, Op::conjugate_transpose, a, tau, x); }},
      {"gels", [=](Queue& q) { gels<T>(q, a, x, info); }},
      {"gesvd", [=](Queue& q) { gesvd<T>(q, SvdJob::thin, a, r, at<T>(2, n, n, count), c, info); }},
      {"gesvd", [=](Queue& q) { gesvd<T>(q, SvdJob::values, a, r, {}, {}, info); }},
      {"gejsv", [=](Queue& q) { gejsv<T>(q, SvdJob::thin, a, r, at<T>(2, n, n, count), c, info); }},
      {"gejsv", [=](Queue& q) { gejsv<T>(q, SvdJob::values, a, r, {}, {}, info); }},
      {"pinv", [=](Queue& q) { pinv<T>(q, a, Real<T>(-1), c, info, info + count); }},
      {"gelsd", [=](Queue& q) { gelsd<T>(q, a, x, r, Real<T>(-1), info, info + count); }},
      {"cond", [=](Queue& q) { cond<T>(q, a, reals, info); }},
      {"gebrd", [=](Queue& q) { gebrd<T>(q, a, r, rows(s, 0, n - 1), x, y); }},
      {"orgbr", [=](Queue& q) { orgbr<T>(q, Vect::q, n, a, x); }},
      {"orgbr", [=](Queue& q) { orgbr<T>(q, Vect::p, n, a, x); }},
      {"ormbr", [=](Queue& q) { ormbr<T>(q, Vect::q, Side::left, Op::none, n, a, x, c); }},
      {"ormbr", [=](Queue& q) { ormbr<T>(q, Vect::p, Side::left, Op::none, n, a, x, c); }},
      {"geequ", [=](Queue& q) { geequ<T>(q, a, r, s, reals, reals + count, reals + 2 * count, info); }},
      {"laqge", [=](Queue& q) { laqge<T>(q, a, r, s); }},
      {"backward_error", [=](Queue& q) { backward_error<T>(q, a, x, y, one); }},
      {"gesv_mixed", [=](Queue& q) { gesv_mixed<T>(q, a, p, x, y, nullptr, info); }},
      {"gemv", [=](Queue& q) { gemv<T>(q, T(2), a, x, T(1), y); }},
      {"gemv", [=](Queue& q) { gemv<T>(q, scalars, a, x, scalars, y); }},
  };
  if (n <= 33) {
    auto const tall = at<T>(1, 700, n, count);
    out.push_back({"gesvd", [=](Queue& q) { gesvd<T>(q, SvdJob::thin, tall, r, at<T>(2, 700, n, count), c, info); }});
    out.push_back({"gesvd", [=](Queue& q) { gesvd<T>(q, SvdJob::values, transposed(tall), r, {}, {}, info); }});
  }
  if (n > 33) out.push_back({"gelsd", [=](Queue& q) { gelsd<T>(q, columns(a, 0, n - 1), x, {}, Real<T>(-1), info, info + count); }});
  for (Uplo const uplo : {Uplo::lower, Uplo::upper}) {
    out.push_back({"potrf", [=](Queue& q) { potrf<T>(q, uplo, a, info); }});
    out.push_back({"potrs", [=](Queue& q) { potrs<T>(q, uplo, a, x); }});
    out.push_back({"posv", [=](Queue& q) { posv<T>(q, uplo, a, x, info); }});
    out.push_back({"solve_positive_definite", [=](Queue& q) { solve_positive_definite<T>(q, uplo, a, x, y, info); }});
    out.push_back({"potri", [=](Queue& q) { potri<T>(q, uplo, a, info); }});
    out.push_back({"potrf_regularized", [=](Queue& q) { potrf_regularized<T>(q, uplo, a, nullptr, reals, info, info + count); }});
    out.push_back({"posv_regularized", [=](Queue& q) { posv_regularized<T>(q, uplo, a, x, reals, nullptr, nullptr, info); }});
    out.push_back({"posv_mixed", [=](Queue& q) { posv_mixed<T>(q, uplo, a, x, y, nullptr, info); }});
    out.push_back({"syevd", [=](Queue& q) { syevd<T>(q, Job::vectors, uplo, a, r, info); }});
    out.push_back({"syevd", [=](Queue& q) { syevd<T>(q, Job::values, uplo, a, r, info); }});
    out.push_back({"trsv", [=](Queue& q) { trsv<T>(q, uplo, Diag::non_unit, a, x); }});
    out.push_back({"trtri", [=](Queue& q) { trtri<T>(q, uplo, Diag::non_unit, a, info); }});
    if (n > 32) out.push_back({"trtri", [=](Queue& q) { trtri<T>(q, uplo, Diag::unit, a, info); }});
    out.push_back({"symv", [=](Queue& q) { symv<T>(q, uplo, T(2), a, x, T(1), y); }});
    if (n > 128) continue;  // products
    out.push_back({"syrk", [=](Queue& q) { syrk<T>(q, uplo, scalars, a, scalars, c); }});
    out.push_back({"herk", [=](Queue& q) { herk<T>(q, uplo, reals, a, reals, c); }});
    out.push_back({"syr2k", [=](Queue& q) { syr2k<T>(q, uplo, scalars, a, at<T>(2, n, n, count), scalars, c); }});
    out.push_back({"her2k", [=](Queue& q) { her2k<T>(q, uplo, scalars, a, at<T>(2, n, n, count), reals, c); }});
  }
  return out;
}

template <HalfElement T>
std::vector<Call> calls(std::int64_t n, std::int64_t count) {
  if (n > 128) return {};
  auto const a = at<T>(1, n, n, count), b = at<T>(2, n, n, count), c = at<T>(3, n, n, count);
  auto const sums = at<Compute<T>>(4, n, n, count);
  auto const scalars = reinterpret_cast<Compute<T>*>(std::uintptr_t{12} << 36);
  return {{"gemm", [=](Queue& q) { gemm<T>(q, 2, a, b, 1, c); }},
          {"gemm to single precision", [=](Queue& q) { gemm<T>(q, 2, a, b, 1, sums); }},
          {"gemm, numbers in memory", [=](Queue& q) { gemm<T>(q, scalars, a, b, scalars, c); }}};
}

template <typename T>
void check(Queue& queue, std::set<std::string> const& shipped) {
  std::set<std::string> missing;
  for (std::int64_t const n : {5, 32, 33, 40, 64, 96, 97, 120, 128, 129, 160, 200, 256, 300, 512, 700})
    for (std::int64_t const count : {1, 3, 300, 5000})
      for (Call const& call : calls<T>(n, count)) {
        // Kernels of small matrices for the ragged batch of those that single precision does not solve are not shipped.
        if (n <= 32 && call.routine.ends_with("_mixed")) continue;
        compiled().clear();
        queue.prepare([&] { call.run(queue); });
        for (std::string const& name : compiled())
          if (!shipped.contains(name) && missing.insert(name).second)
            ADD_FAILURE() << call.routine << " of " << count << " matrices of " << n << " rows: " << name << " is not shipped";
      }
}

TEST_F(ShippedOnFake, PacksHoldWhatRoutinesAskFor) {
  std::set<std::string> shipped;
  for (KernelSource const& kernel : shipped_kernels({})) shipped.insert(kernel.name);
  check<float>(*queue, shipped);
  check<double>(*queue, shipped);
  check<std::complex<float>>(*queue, shipped);
  check<std::complex<double>>(*queue, shipped);
  check<half>(*queue, shipped);
  check<bfloat16>(*queue, shipped);
  check<complex_half>(*queue, shipped);
}

}  // namespace
}  // namespace myriad::gpu
