#include <array>

#include "cholesky/case.hpp"
#include "core/dtype.hpp"
#include "eigen/case.hpp"
#include "eigen/tridiagonal/tridiagonal_case.hpp"
#include "gemm/case.hpp"
#include "lu/case.hpp"
#include "mixed/case.hpp"
#include "qr/case.hpp"
#include "refine/case.hpp"
#include "svd/bidiagonal/bidiagonal_case.hpp"
#include "svd/case.hpp"
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
    Case{"gemm", "gemm", "oqabkrwi", "mat+", nullptr, make_of_any_type<GemmCase>},
    Case{"gemv", "gemm", "oabr", "mat", nullptr, make<GemvCase>},
    Case{"ger", "gemm", "oar", "mat", nullptr, make<GerCase>},
    Case{"symv", "symv", "uab", "matcu", square, make<SymvCase>},
    Case{"hemv", "symv", "uab", "matcu", square, make<HemvCase>},
    Case{"symm", "symm", "usabr", "mat+", nullptr, make<SymmCase>},
    Case{"hemm", "symm", "usabr", "mat+", nullptr, make<HemmCase>},
    Case{"syrk", "syrk", "oukabi", "mat+", square, make<SyrkCase>},
    Case{"herk", "syrk", "oukabi", "mat+", square, make<HerkCase>},
    Case{"syr2k", "syrk", "oqukabi", "mat+", square, make<Syr2kCase>},
    Case{"her2k", "syrk", "oqukabi", "mat+", square, make<Her2kCase>},
    Case{"trsm", "trsm", "ousdar", "mat1", nullptr, make<TrsmCase>},
    Case{"trmm", "trsm", "ousdar", "mat", nullptr, make<TrmmCase>},
    Case{"trsv", "trsm", "oud", "matc", square, make<TrsvCase>},
    Case{"trmv", "trsm", "oud", "matc", square, make<TrmvCase>},
    Case{"trtri", "trsm", "udx", "mat", square, make<TrtriCase>},
    Case{"getrf", "lu", "rx", "mat", nullptr, make<GetrfCase>},
    Case{"getrf_nopiv", "lu", "rx", "mat", nullptr, make<GetrfNopivCase>},
    Case{"getrs", "lu", "opk", "mat", square, make<GetrsCase>},
    Case{"gesv", "lu", "pkx", "mat", square, make<GesvCase>},
    Case{"solve", "lu", "kx", "mat", square, make<SolveCase>},
    Case{"getri", "lu", "px", "mat", square, make<GetriCase>},
    Case{"inverse", "lu", "x", "mat", square, make<InverseCase>},
    Case{"det", "lu", "", "mat", square, make<DetCase>},
    Case{"logdet", "lu", "", "mat", square, make<LogdetCase>},
    Case{"potrf", "cholesky", "uhx", "mat", square, make<PotrfCase>},
    Case{"potrs", "cholesky", "uhk", "mat", square, make<PotrsCase>},
    Case{"posv", "cholesky", "uhkx", "mat", square, make<PosvCase>},
    Case{"solve_positive_definite", "cholesky", "uhkx", "mat", square, make<SolvePositiveDefiniteCase>},
    Case{"potri", "cholesky", "uhx", "mat", square, make<PotriCase>},
    Case{"potrf_regularized", "cholesky", "uhx", "ma", square, make<PotrfRegularizedCase>},
    Case{"posv_regularized", "cholesky", "uhkx", "ma", square, make<PosvRegularizedCase>},
    Case{"gesv_mixed", "lu", "pkx", "ma", square, make<GesvMixedCase>},
    Case{"posv_mixed", "cholesky", "uhkx", "ma", square, make<PosvMixedCase>},
    Case{"geqrf", "qr", "r", "mat", nullptr, make<GeqrfCase>},
    Case{"ormqr", "qr", "oskri", "ma", nullptr, make<OrmqrCase>},
    Case{"orgqr", "qr", "kri", "ma", tall, make<OrgqrCase>},
    Case{"geqp3", "qr", "r", "ma", nullptr, make<Geqp3Case>},
    Case{"gelsy", "qr", "kr", "ma", nullptr, make<GelsyCase>},
    Case{"gels", "qr", "krx", "ma", nullptr, make<GelsCase>},
    Case{"syevd", "eigen", "uv", "mat", square, make<SyevdCase>},
    Case{"sytrd", "eigen", "u", "ma", square, make<SytrdCase>},
    Case{"orgtr", "eigen", "u", "ma", square, make<OrgtrCase>},
    Case{"ormtr", "eigen", "ousr", "ma", nullptr, make<OrmtrCase>},
    Case{"gesvd", "svd", "jr", "ma", nullptr, make<GesvdCase>},
    Case{"gejsv", "svd", "jr", "ma", nullptr, make<GejsvCase>},
    Case{"pinv", "svd", "r", "ma", nullptr, make<PinvCase>},
    Case{"gelsd", "svd", "kr", "ma", nullptr, make<GelsdCase>},
    Case{"matrix_rank", "svd", "r", "ma", nullptr, make<MatrixRankCase>},
    Case{"cond", "svd", "r", "ma", nullptr, make<CondCase>},
    Case{"norm2", "svd", "r", "ma", nullptr, make<Norm2Case>},
    Case{"gebrd", "svd", "r", "ma", nullptr, make<GebrdCase>},
    Case{"orgbr", "svd", "fr", "ma", nullptr, make<OrgbrCase>},
    Case{"ormbr", "svd", "oskfri", "ma", nullptr, make<OrmbrCase>},
    Case{"geequ", "refine", "rx", "ma", nullptr, make<GeequCase>},
    Case{"laqge", "refine", "r", "ma", nullptr, make<LaqgeCase>},
    Case{"gerfs", "refine", "opk", "ma", square, make<GerfsCase>},
    Case{"backward_error", "refine", "kr", "ma", nullptr, make<BackwardErrorCase>},
};

}  // namespace

std::span<Case const> all_cases() { return cases; }

Case const* find_case(std::string_view routine) {
  for (Case const& c : cases)
    if (c.routine == routine) return &c;
  return nullptr;
}

}  // namespace myriad::cases
