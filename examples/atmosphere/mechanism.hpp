#pragma once
/// The POLLU air-pollution mechanism: 20 species, 25 reactions, photochemical smog over 60 minutes.
///
/// Source: J. G. Verwer, Gauss-Seidel iteration for stiff ODEs from chemical kinetics, SIAM J. Sci. Comput. 15 (1994) 1243-1259; also in
/// the Test Set for IVP Solvers (University of Bari), from which the reference solution is taken. Concentrations are in ppm, time in
/// minutes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace atmosphere {

enum Species : int { NO2, NO, O3P, O3, HO2, OH, HCHO, CO, ALD, MEO2, C2O3, CO2, PAN, CH3O, HNO3, O1D, SO2, SO4, NO3, N2O5, species_count };

inline constexpr std::array<char const*, species_count> species_names{"NO2",  "NO",  "O3P",  "O3",   "HO2", "OH",  "HCHO",
                                                                      "CO",   "ALD", "MEO2", "C2O3", "CO2", "PAN", "CH3O",
                                                                      "HNO3", "O1D", "SO2",  "SO4",  "NO3", "N2O5"};

/// One reaction with mass-action kinetics: r = rate [first] [second], and what it yields. `none` stands for no second reactant and for
/// products that are not followed.
struct Reaction {
  static constexpr int none = -1;
  double rate;                   ///< at the reference temperature, in min^-1 or ppm^-1 min^-1
  std::array<int, 2> reactants;  ///< species
  std::array<int, 4> products;   ///< species, one entry per molecule
  double light_power;            ///< photolysis: the rate grows as this power of the light; thermal reactions: 0
  double activation;             ///< E/R in kelvin: the rate grows as exp(-E/R (1/T - 1/298 K))
};

namespace detail {
inline constexpr int x = Reaction::none;
}

/// Rates, reactants and products are Verwer's. The last two columns are not part of the published problem but vary the rates from cell to
/// cell: rounded temperature dependences of the kind that kinetic data evaluations (IUPAC, JPL) list, third-body reactions included as an
/// equivalent E/R at 298 K.
inline constexpr std::array<Reaction, 25> reactions{{
    {0.35, {NO2, detail::x}, {NO, O3P, detail::x, detail::x}, 1.0, 0},             // 1  photolysis
    {26.6, {NO, O3}, {NO2, detail::x, detail::x, detail::x}, 0, 1500},             // 2
    {1.23e4, {HO2, NO}, {NO2, OH, detail::x, detail::x}, 0, -270},                 // 3
    {8.6e-4, {HCHO, detail::x}, {HO2, HO2, CO, detail::x}, 1.5, 0},                // 4  photolysis
    {8.2e-4, {HCHO, detail::x}, {CO, detail::x, detail::x, detail::x}, 1.5, 0},    // 5  photolysis
    {1.5e4, {HCHO, OH}, {HO2, CO, detail::x, detail::x}, 0, -135},                 // 6
    {1.3e-4, {ALD, detail::x}, {MEO2, HO2, CO, detail::x}, 1.5, 0},                // 7  photolysis
    {2.4e4, {ALD, OH}, {C2O3, detail::x, detail::x, detail::x}, 0, -350},          // 8
    {1.65e4, {C2O3, NO}, {NO2, MEO2, CO2, detail::x}, 0, -290},                    // 9
    {9.0e3, {C2O3, NO2}, {PAN, detail::x, detail::x, detail::x}, 0, -300},         // 10
    {0.022, {PAN, detail::x}, {C2O3, NO2, detail::x, detail::x}, 0, 13900},        // 11
    {1.2e4, {MEO2, NO}, {CH3O, NO2, detail::x, detail::x}, 0, -300},               // 12
    {1.88, {CH3O, detail::x}, {HCHO, HO2, detail::x, detail::x}, 0, 900},          // 13
    {1.63e4, {NO2, OH}, {HNO3, detail::x, detail::x, detail::x}, 0, -900},         // 14
    {4.8e6, {O3P, detail::x}, {O3, detail::x, detail::x, detail::x}, 0, -720},     // 15
    {3.5e-4, {O3, detail::x}, {O1D, detail::x, detail::x, detail::x}, 2.0, 0},     // 16 photolysis
    {0.0175, {O3, detail::x}, {O3P, detail::x, detail::x, detail::x}, 1.0, 0},     // 17 photolysis
    {1.0e8, {O1D, detail::x}, {OH, OH, detail::x, detail::x}, 0, -60},             // 18 with water vapour
    {4.44e11, {O1D, detail::x}, {O3P, detail::x, detail::x, detail::x}, 0, -100},  // 19
    {1.24e3, {SO2, OH}, {SO4, HO2, detail::x, detail::x}, 0, -400},                // 20
    {2.1, {NO3, detail::x}, {NO, detail::x, detail::x, detail::x}, 1.0, 0},        // 21 photolysis
    {5.78, {NO3, detail::x}, {NO2, O3P, detail::x, detail::x}, 1.0, 0},            // 22 photolysis
    {0.0474, {NO2, O3}, {NO3, detail::x, detail::x, detail::x}, 0, 2450},          // 23
    {1.78e3, {NO3, NO2}, {N2O5, detail::x, detail::x, detail::x}, 0, -300},        // 24
    {3.12, {N2O5, detail::x}, {NO3, NO2, detail::x, detail::x}, 0, 11000},         // 25
}};
inline constexpr int water_reaction = 17;  ///< index of the reaction whose rate is proportional to the humidity

using State = std::array<double, species_count>;
using Rates = std::array<double, reactions.size()>;

inline constexpr State initial_state = [] {
  State y{};
  y[NO] = 0.2;
  y[O3] = 0.04;
  y[HCHO] = 0.1;
  y[CO] = 0.3;
  y[ALD] = 0.01;
  y[SO2] = 0.007;
  return y;
}();

inline constexpr double end_time = 60;

/// The published solution at t = 60 min, computed with RADAU5 in 128-bit arithmetic at tolerance 1.1e-18.
inline constexpr State reference_solution{0.5646255480022769e-01, 0.1342484130422339e+00, 0.4139734331099427e-08, 0.5523140207484359e-02,
                                          0.2018977262302196e-06, 0.1464541863493966e-06, 0.7784249118997964e-01, 0.3245075353396018e+00,
                                          0.7494013383880406e-02, 0.1622293157301561e-07, 0.1135863833257075e-07, 0.2230505975721359e-02,
                                          0.2087162882798630e-03, 0.1396921016840158e-04, 0.8964884856898295e-02, 0.4352846369330103e-17,
                                          0.6899219696263405e-02, 0.1007803037365946e-03, 0.1772146513969984e-05, 0.5682943292316392e-04};

namespace detail {
/// Calls f with the constants 0 to N - 1, so that the compiler resolves indices into the tables above.
template <std::size_t N, typename F>
[[gnu::always_inline]] constexpr void unroll(F&& f) {
  [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) { (f(std::integral_constant<std::size_t, i>{}), ...); }
  (std::make_index_sequence<N>{});
}
}  // namespace detail

/// The mechanism in the integrator's form: y' = f(y; rates). Every array holds one cell per lane: species i of this cell is
/// at y[i * stride], so that a loop over neighbouring cells is a loop over vector lanes.
struct Mechanism {
  static constexpr int size = species_count;
  static constexpr int parameters = static_cast<int>(reactions.size());

  /// f = dy/dt.
  [[gnu::always_inline]] static void derivative(double const* y, double const* k, double* f, std::int64_t stride) {
    double sum[size] = {};
    detail::unroll<reactions.size()>([&](auto index) __attribute__((always_inline)) {
      constexpr Reaction reaction = reactions[index];
      double speed = k[static_cast<std::int64_t>(index) * stride] * y[reaction.reactants[0] * stride];
      if constexpr (reaction.reactants[1] != Reaction::none) speed *= y[reaction.reactants[1] * stride];
      detail::unroll<2>([&](auto r) __attribute__((always_inline)) {
        if constexpr (reaction.reactants[r] != Reaction::none) sum[reaction.reactants[r]] -= speed;
      });
      detail::unroll<4>([&](auto p) __attribute__((always_inline)) {
        if constexpr (reaction.products[p] != Reaction::none) sum[reaction.products[p]] += speed;
      });
    });
    detail::unroll<size>([&](auto i) __attribute__((always_inline)) { f[static_cast<std::int64_t>(i) * stride] = sum[i]; });
  }

  /// Subtracts the Jacobian df/dy from w, whose element (i, j) is at w[(i + j * size) * element_stride].
  [[gnu::always_inline]] static void subtract_jacobian(double const* y, double const* k, std::int64_t stride, double* w,
                                                       std::int64_t element_stride) {
    detail::unroll<reactions.size()>([&](auto index) __attribute__((always_inline)) {
      constexpr Reaction reaction = reactions[index];
      detail::unroll<2>([&](auto r) __attribute__((always_inline)) {
        if constexpr (reaction.reactants[r] != Reaction::none) {
          constexpr int other = reaction.reactants[1 - r];
          double slope = k[static_cast<std::int64_t>(index) * stride];  // derivative of the reaction's rate by reactant r
          if constexpr (other != Reaction::none) slope *= y[other * stride];
          double* const column = w + reaction.reactants[r] * size * element_stride;
          detail::unroll<2>([&](auto consumed) __attribute__((always_inline)) {
            if constexpr (reaction.reactants[consumed] != Reaction::none) column[reaction.reactants[consumed] * element_stride] += slope;
          });
          detail::unroll<4>([&](auto p) __attribute__((always_inline)) {
            if constexpr (reaction.products[p] != Reaction::none) column[reaction.products[p] * element_stride] -= slope;
          });
        }
      });
    });
  }
};

}  // namespace atmosphere
