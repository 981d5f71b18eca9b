#include <array>

#include "cholesky/case.hpp"
#include "core/dtype.hpp"
#include "eigen/case.hpp"
#include "eigen/tridiagonal_case.hpp"
#include "gemm/case.hpp"
#include "lu/case.hpp"
#include "qr/case.hpp"
#include "refine/case.hpp"
#include "symm/case.hpp"
#include "symv/case.hpp"
#include "syrk/case.hpp"
#include "trsm/case.hpp"

namespace myriad::cases {
namespace {

template <template <typename> typename C>
std::unique_ptr<CaseRun> make(Problem const& problem) {
  return with_dtype(problem.dtype, [&]<typename T>() -> std::unique_ptr<CaseRun> { return std::make_unique<C<T>>(problem); });
}

template <template <typename> typename C>
std::unique_ptr<CaseRun> make_of_any_type(Problem const& problem) {
  return with_any_dtype(problem.dtype, [&]<typename T>() -> std::unique_ptr<CaseRun> { return std::make_unique<C<T>>(problem); });
}

constexpr std::array cases{
    Case{"gemm", "gemm", "oqabkrw", nullptr, make_of_any_type<GemmCase>},
    Case{"gemv", "gemm", "oabr", nullptr, make<GemvCase>},
    Case{"ger", "gemm", "oar", nullptr, make<GerCase>},
    Case{"symv", "symv", "uab", square, make<SymvCase>},
    Case{"hemv", "symv", "uab", square, make<HemvCase>},
    Case{"symm", "symm", "usabr", nullptr, make<SymmCase>},
    Case{"hemm", "symm", "usabr", nullptr, make<HemmCase>},
    Case{"syrk", "syrk", "oukab", square, make<SyrkCase>},
    Case{"herk", "syrk", "oukab", square, make<HerkCase>},
    Case{"syr2k", "syrk", "oqukab", square, make<Syr2kCase>},
    Case{"her2k", "syrk", "oqukab", square, make<Her2kCase>},
    Case{"trsm", "trsm", "ousdar", nullptr, make<TrsmCase>},
    Case{"trmm", "trsm", "ousdar", nullptr, make<TrmmCase>},
    Case{"trsv", "trsm", "oud", square, make<TrsvCase>},
    Case{"trmv", "trsm", "oud", square, make<TrmvCase>},
    Case{"trtri", "trsm", "udx", square, make<TrtriCase>},
    Case{"getrf", "lu", "rx", nullptr, make<GetrfCase>},
    Case{"getrf_nopiv", "lu", "rx", nullptr, make<GetrfNopivCase>},
    Case{"getrs", "lu", "opk", square, make<GetrsCase>},
    Case{"gesv", "lu", "pkx", square, make<GesvCase>},
    Case{"solve", "lu", "kx", square, make<SolveCase>},
    Case{"getri", "lu", "px", square, make<GetriCase>},
    Case{"inverse", "lu", "x", square, make<InverseCase>},
    Case{"det", "lu", "", square, make<DetCase>},
    Case{"logdet", "lu", "", square, make<LogdetCase>},
    Case{"potrf", "cholesky", "uhx", square, make<PotrfCase>},
    Case{"potrs", "cholesky", "uhk", square, make<PotrsCase>},
    Case{"posv", "cholesky", "uhkx", square, make<PosvCase>},
    Case{"solve_positive_definite", "cholesky", "uhkx", square, make<SolvePositiveDefiniteCase>},
    Case{"potri", "cholesky", "uhx", square, make<PotriCase>},
    Case{"geqrf", "qr", "r", nullptr, make<GeqrfCase>},
    Case{"ormqr", "qr", "oskr", nullptr, make<OrmqrCase>},
    Case{"orgqr", "qr", "kr", tall, make<OrgqrCase>},
    Case{"gels", "qr", "krx", nullptr, make<GelsCase>},
    Case{"syevd", "eigen", "uv", square, make<SyevdCase>},
    Case{"sytrd", "eigen", "u", square, make<SytrdCase>},
    Case{"orgtr", "eigen", "u", square, make<OrgtrCase>},
    Case{"ormtr", "eigen", "ousr", nullptr, make<OrmtrCase>},
    Case{"geequ", "refine", "rx", nullptr, make<GeequCase>},
    Case{"laqge", "refine", "r", nullptr, make<LaqgeCase>},
    Case{"gerfs", "refine", "opk", square, make<GerfsCase>},
    Case{"backward_error", "refine", "kr", nullptr, make<BackwardErrorCase>},
};

}  // namespace

std::span<Case const> all_cases() { return cases; }

Case const* find_case(std::string_view routine) {
  for (Case const& c : cases)
    if (c.routine == routine) return &c;
  return nullptr;
}

}  // namespace myriad::cases
