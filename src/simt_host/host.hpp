#pragma once
/// Primitives of kernels on the CPU: the twin of simt/device.hpp, for tests under the sanitizers.
///
/// Each GPU thread is a fiber; the fibers of a block run in one thread and switch at barriers. Only primitives that order memory are
/// annotated for the thread sanitizer: barriers, but not shuffles and votes. Asynchronous copies arrive only when waited for; their
/// destination is overwritten with garbage when they are started. Shared memory is filled with garbage and is an allocation of exact size,
/// so that the address sanitizer sees its end.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#define SIMT_INLINE inline
#define SIMT_OUTLINE
#define SIMT_KERNEL
#define SIMT_GRID_CONSTANT
#define SIMT_BOUNDS(threads, blocks)
#define SIMT_UNROLL
#define SIMT_UNROLL_BY(n)
#define SIMT_LOOP

namespace myriad::simt {

inline constexpr int warp_size = 32;

int thread_index();
int lane_index();
long long block_index();
long long block_count();
void sync_block();
void sync_warp();
void signal(unsigned* count);
void wait_for_signals(unsigned* count, unsigned signals);
void arrive_at_grid(unsigned* arrived, unsigned round);
void wait_for_grid(unsigned* arrived, unsigned round);
void sync_blocks(unsigned* arrived, unsigned blocks);
void sync_grid(unsigned* arrived, unsigned round);
void sync_grid_once(unsigned* counts);
int cluster_blocks();
int block_in_cluster();
void sync_cluster();
char* shared_memory();
void send_pair(float* to, float x, float y, unsigned round);
void send_pair(double* to, double x, double y, unsigned round);

namespace host {
/// Data that a lane exchanges with its warp.
struct Slot {
  unsigned long long words[2];
};
/// Exchanges `mine` with the warp and returns the slots of all lanes, valid until the next exchange.
using Slots = std::array<Slot, warp_size>;
Slots const& exchange(Slot mine);
struct Copy {
  void* to;
  void const* from;
  std::size_t bytes;
  std::size_t zeros = 0;  ///< further bytes to set to zero, for boxes
};
void copy_later(Copy copy);
void end_copy_group();
/// The next copy that this thread has not waited for, or null pointers: of all groups, or of all but the last `pending` ones.
Copy next_copy();
Copy next_copy(int pending);
/// Waits for a number of 4 or 8 bytes whose lowest bit is `round`; returns it without that bit.
unsigned long long receive(void const* from, int bytes, unsigned round);
void run(long long blocks, bool together, int cluster, int threads, int shared_bytes, void (*kernel)(void const*), void const* argument);
/// The shared memory of a block of this cluster.
char* shared_memory_of(int rank);
}  // namespace host

/// Runs `kernel(argument)` in every thread of `blocks` blocks: one cluster of blocks after the other, or all blocks `together`, as
/// sync_grid needs. Throws std::logic_error on a deadlock.
template <typename Argument>
void run(long long blocks, int threads, int shared_bytes, void (*kernel)(Argument), Argument const& argument, bool together = false,
         int cluster = 1) {
  struct Call {
    void (*kernel)(Argument);
    Argument const* argument;
  } const call{kernel, &argument};
  host::run(
      blocks, together, cluster, threads, shared_bytes,
      [](void const* c) {
        auto const* const my = static_cast<Call const*>(c);
        my->kernel(*my->argument);
      },
      &call);
}

template <typename T>
T* in_block_of_cluster(T* mine, int rank) {
  return reinterpret_cast<T*>(host::shared_memory_of(rank) + (reinterpret_cast<char*>(mine) - shared_memory()));
}

template <typename T>
T shuffle(T value, int source) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(host::Slot));
  host::Slot slot{};
  std::memcpy(&slot, &value, sizeof(T));
  slot = host::exchange(slot)[static_cast<std::size_t>(source & (warp_size - 1))];
  std::memcpy(&value, &slot, sizeof(T));
  return value;
}
template <typename T>
T shuffle_xor(T value, int mask) {
  return shuffle(value, lane_index() ^ mask);
}
inline unsigned largest_of_warp(unsigned value) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    unsigned const other = shuffle_xor(value, distance);
    value = value > other ? value : other;
  }
  return value;
}
template <typename R, int count>
void receive_pairs(R (&pairs)[count][2], R const* const (&from)[count], int wanted, unsigned round) {
  for (int p = 0; p < wanted; ++p)
    for (int e = 0; e < 2; ++e) {
      unsigned long long const bits = host::receive(from[p] + e, sizeof(R), round);
      std::memcpy(&pairs[p][e], &bits, sizeof(R));
    }
}
unsigned ballot(bool condition);
inline int lowest_bit(unsigned bits) { return std::countr_zero(bits); }
inline int count_bits(unsigned bits) { return std::popcount(bits); }

namespace host {
/// Adds the product of an 8-by-4 and a 4-by-8 matrix, of which each lane has an element, to this lane's two sums.
void add_product(double a, double b, double* sum);
}  // namespace host
inline void multiply_add_8x8x4(double a, double b, double const (&c)[2], double (&d)[2]) {
  d[0] = c[0];
  d[1] = c[1];
  host::add_product(a, b, d);
}
inline void multiply_add_16x8x4(double const (&a)[2], double b, double (&c)[4]) {
  host::add_product(a[0], b, c);
  host::add_product(a[1], b, c + 2);
}
template <std::size_t count>
void multiply_add_16x8(double const (&a)[count][2], double const (&b)[count], double (&c)[4]) {
  for (std::size_t i = 0; i < count; ++i) multiply_add_16x8x4(a[i], b[i], c);
}

template <bool transposed, std::size_t count>
void load_matrices(unsigned (&x)[count], void const* row) {
  auto const& rows = host::exchange({{reinterpret_cast<std::uintptr_t>(row), 0}});
  auto const group = static_cast<std::size_t>(lane_index() / 4), pair = static_cast<std::size_t>(lane_index() % 4 * 2);
  auto const element = [&](std::size_t matrix, std::size_t i, std::size_t j) {
    auto const* const from = reinterpret_cast<unsigned short const*>(rows[8 * matrix + i].words[0]);
    unsigned short bits;
    std::memcpy(&bits, std::assume_aligned<16>(from) + j, 2);
    return static_cast<unsigned>(bits);
  };
  for (std::size_t p = 0; p < count; ++p)
    x[p] = transposed ? element(p, pair, group) | element(p, pair + 1, group) << 16
                      : element(p, group, pair) | element(p, group, pair + 1) << 16;
}

inline long long unknown(long long x) { return x; }
inline unsigned unknown(unsigned x) { return x; }

namespace host {
/// A copy may arrive early or late, so the copying thread fills its destination with garbage until it is waited for.
inline void start_copy(void* to_shared, void const* from_global, std::size_t bytes) {
  copy_later({to_shared, from_global, bytes});
  std::memset(to_shared, 0xff, bytes);
}
}  // namespace host
inline void copy_async_16(void* to_shared, void const* from_global) { host::start_copy(to_shared, from_global, 16); }
template <typename T>
void copy_async(T* to_shared, T const* from_global) {
  host::start_copy(to_shared, from_global, sizeof(T));
}
inline void wait_copies() {
  for (host::Copy copy = host::next_copy(); copy.to; copy = host::next_copy()) std::memcpy(copy.to, copy.from, copy.bytes);
}
inline void end_copy_group() { host::end_copy_group(); }
template <int pending>
void wait_copy_groups() {
  for (host::Copy copy = host::next_copy(pending); copy.to; copy = host::next_copy(pending)) std::memcpy(copy.to, copy.from, copy.bytes);
}

/// Bulk copies arrive when their phase ends; bulk stores read shared memory when they are waited for. Waiting for any other phase than the
/// current one and the one before is an error, and so is storing one box of a launch over another. The twin does not track writes to shared
/// memory. It requires show_to_products before every bulk store, as far as calls tell: by all threads of the last barrier, or by the
/// storing thread after it; or, after waiting for a phase, by all that arrived, each since it last waited for one.
using Mbarrier = unsigned long long;
void begin_mbarrier(Mbarrier* barrier, int arrivals);
void arrive_at_mbarrier(Mbarrier* barrier);
void arrive_and_expect(Mbarrier* barrier, int bytes);
void wait_for_phase(Mbarrier* barrier, int phase);
void copy_bulk(void* to_shared, void const* from_global, int bytes, Mbarrier* barrier);
void store_bulk(void* to_global, void const* from_shared, int bytes);
void end_bulk_group();
/// Made by the twin or by a driver: see host::tensor_map.
struct alignas(128) TensorMap {
  unsigned long long words[16];
};
/// store_box throws if a line does not end at a multiple of 16 bytes.
void copy_box(void* to_shared, TensorMap const& from, int first, int line, int matrix, Mbarrier* barrier);
void store_box(TensorMap const& to, int first, int line, int matrix, void const* from_shared);
namespace host {
void wait_bulk_stores(int pending);
}
template <int pending>
void wait_bulk_stores() {
  host::wait_bulk_stores(pending);
}

struct alignas(16) Chunk {
  unsigned words[4];
};
inline Chunk load_chunk(void const* from) { return *static_cast<Chunk const*>(std::assume_aligned<16>(from)); }
inline Chunk load_chunk_once(void const* from) { return load_chunk(from); }
using CachePolicy = unsigned long long;
inline CachePolicy cache_policy(bool) { return 0; }
inline Chunk load_chunk_once(void const* from, CachePolicy) { return load_chunk(from); }
template <typename T>
T load_global(T const* from) {
  return *std::assume_aligned<sizeof(T)>(from);
}
template <typename T>
T load_global_if(bool wanted, T const* from) {
  return wanted ? load_global(from) : T{};
}
template <typename T>
T load_changing_if(bool wanted, T const* from) {
  return load_global_if(wanted, from);
}
template <typename T>
T load_global_before_barrier(T const* from) {
  return load_global(from);
}
inline void store_chunk(void* to, Chunk x) { *static_cast<Chunk*>(std::assume_aligned<16>(to)) = x; }
inline unsigned load_word(void const* from) {
  unsigned word;
  std::memcpy(&word, std::assume_aligned<4>(from), 4);
  return word;
}
inline void store_word(void* to, unsigned x) { std::memcpy(std::assume_aligned<4>(to), &x, 4); }
inline unsigned select_bytes(unsigned x, unsigned y, unsigned digits) {
  unsigned long long const bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned out = 0;
  for (unsigned i = 0; i < 4; ++i) out |= static_cast<unsigned>(bytes >> (digits >> (4 * i) & 7) * 8 & 0xff) << 8 * i;
  return out;
}
inline void store_half_chunk(void* to, void const* from) { std::memcpy(std::assume_aligned<8>(to), from, 8); }
template <typename T>
void store_global(T* to, T x) {
  *std::assume_aligned<sizeof(T)>(to) = x;
}

inline unsigned bits_of(float x) { return std::bit_cast<unsigned>(x); }
inline unsigned long long bits_of(double x) { return std::bit_cast<unsigned long long>(x); }
inline float number_of(unsigned bits) { return std::bit_cast<float>(bits); }
inline double number_of(unsigned long long bits) { return std::bit_cast<double>(bits); }
inline float float_of_half(unsigned short bits) {
  unsigned const sign = (bits & 0x8000U) << 16, exponent = bits >> 10 & 31U, fraction = bits & 1023U;
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<unsigned>(static_cast<float>(fraction) * 0x1p-24F));
  return std::bit_cast<float>(sign | (exponent == 31 ? 255U : exponent + 112U) << 23 | fraction << 13);
}
inline unsigned short half_bits(float x) {
  float const magnitude = std::fabs(x);
  unsigned const sign = std::bit_cast<unsigned>(x) >> 16 & 0x8000;
  unsigned bits = 0x7fff;  // NaN as on GPUs, without a sign
  if (magnitude >= 65520) {
    bits = sign | 0x7c00;
  } else if (magnitude >= 0x1p-14F) {
    int exponent;
    float const fraction = std::frexp(magnitude, &exponent);
    bits = sign | ((static_cast<unsigned>(exponent + 14) << 10) + static_cast<unsigned>(std::nearbyint(fraction * 2048)) - 1024);
  } else if (magnitude >= 0) {
    bits = sign | static_cast<unsigned>(std::nearbyint(magnitude * 0x1p24F));
  }
  return static_cast<unsigned short>(bits);
}
inline float float_of_bfloat16(unsigned short bits) { return std::bit_cast<float>(static_cast<unsigned>(bits) << 16); }
inline unsigned short bfloat16_bits(float x) {
  auto const bits = std::bit_cast<unsigned>(x);
  return static_cast<unsigned short>(std::isnan(x) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
void multiply_add_half_16x8x16(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]);
void multiply_add_bfloat16_16x8x16(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]);
inline unsigned tf32_bits(float x) {
  auto const bits = std::bit_cast<unsigned>(x);
  return std::isfinite(x) ? (bits + 0x1000) & 0xffffe000 : bits;
}

using ProductOperand = unsigned long long;
namespace host {
/// Address of a block's shared memory in wgmma descriptors. Not zero, as on a GPU.
inline constexpr unsigned shared_begin = 1024;
/// An asynchronous product. Its terms are computed when it is started and again when it is waited for, and must agree, since a GPU may read
/// the operands at any time in between. Its sums are garbage until then.
struct Product {
  float* sums;
  int columns;
  ProductOperand a, b;
  bool a_by_terms, b_by_terms;
  float (*widen)(unsigned short);
  std::vector<double> terms{};  ///< terms of the sums
  std::vector<float> former{};  ///< the former sums, unless an earlier pending product has them

  inline void find_terms();
};
void start_product(Product product);
std::vector<Product> take_products();

/// An operand in shared memory, as wgmma reads it.
class OperandInMemory {
 public:
  OperandInMemory(ProductOperand operand, bool by_terms)
      : start_(bytes_of(operand)),
        span_further_(bytes_of(operand >> 16)),
        eight_further_(bytes_of(operand >> 32)),
        span_(operand >> 62 == 1 ? 128 : 64),
        by_terms_(by_terms) {
    constexpr ProductOperand known = 0xc0003fff3fff3fff;
    if ((operand & ~known) != 0 || operand >> 62 == 0 || operand >> 62 == 3)
      throw std::logic_error("simt: the twin does not know such an operand of a product");
  }
  [[nodiscard]] unsigned short at(unsigned line, unsigned term) const {
    unsigned const of_span = span_ / 2;
    unsigned const place = by_terms_ ? line / of_span * span_further_ + term / 8 * eight_further_ + term % 8 * span_ + line % of_span * 2
                                     : line / 8 * eight_further_ + line % 8 * span_ + term * 2;
    unsigned const address = start_ + place, exchanged = address ^ (address >> 7 & (span_ / 16 - 1)) << 4;
    unsigned short bits;
    std::memcpy(&bits, shared_memory() + (exchanged - shared_begin), 2);
    return bits;
  }

 private:
  static unsigned bytes_of(ProductOperand field) { return static_cast<unsigned>(field & 0x3fff) << 4; }

  unsigned start_, span_further_, eight_further_, span_;
  bool by_terms_;
};

/// Terms of this lane, in the order of its sums.
void Product::find_terms() {
  auto const lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(thread_index() / warp_size % 4);
  OperandInMemory const left(a, a_by_terms), right(b, b_by_terms);
  std::array<std::array<double, 16>, 2> rows{};
  for (unsigned h = 0; h < 2; ++h)
    for (unsigned k = 0; k < 16; ++k) rows[h][k] = double{widen(left.at(16 * warp + lane / 4 + 8 * h, k))};
  terms.assign(static_cast<std::size_t>(columns / 2), 0);
  for (unsigned i = 0; i < terms.size(); i += 4)
    for (unsigned e = 0; e < 2; ++e)
      for (unsigned k = 0; k < 16; ++k) {
        double const x{widen(right.at(2 * i + lane % 4 * 2 + e, k))};
        for (unsigned h = 0; h < 2; ++h) terms[i + 2 * h + e] = std::fma(rows[h][k], x, terms[i + 2 * h + e]);
      }
}
}  // namespace host
inline ProductOperand product_operand(void const* begin, int span_bytes, int eight_further, int span_further) {
  auto const address = static_cast<unsigned>(static_cast<char const*>(begin) - shared_memory()) + host::shared_begin;
  return (address & 0x3ffff) >> 4 | static_cast<ProductOperand>(span_further >> 4) << 16 |
         static_cast<ProductOperand>(eight_further >> 4) << 32 | static_cast<ProductOperand>(span_bytes == 128 ? 1 : 2) << 62;
}
inline ProductOperand further_on(ProductOperand operand, int bytes) { return operand + static_cast<unsigned>(bytes >> 4); }
template <int count>
void give_registers() {
  static_assert(count % 8 == 0 && count >= 24 && count <= 256);
}
template <int count>
void take_registers() {
  static_assert(count % 8 == 0 && count >= 24 && count <= 256);
}
void show_to_products();
void begin_products();
void end_product_group();
template <std::size_t count>
void wait_products(float (&)[count]) {
  for (host::Product& product : host::take_products()) {
    std::vector<double> const terms = std::move(product.terms);
    product.find_terms();
    if (std::memcmp(terms.data(), product.terms.data(), terms.size() * sizeof(double)) != 0)
      throw std::logic_error("simt: what a product multiplies has changed before it was waited for");
    if (!product.former.empty()) std::copy(product.former.begin(), product.former.end(), product.sums);
    for (std::size_t i = 0; i < terms.size(); ++i) product.sums[i] = static_cast<float>(product.sums[i] + terms[i]);
  }
}
namespace host {
inline void find_and_start(Product product) {
  product.find_terms();
  start_product(std::move(product));
}
}  // namespace host
template <bool a_by_terms, bool b_by_terms, int n>
void start_product_of_half(float (&c)[n / 2], ProductOperand a, ProductOperand b) {
  static_assert(n % 32 == 0 && n >= 32 && n <= 256);
  host::find_and_start({c, n, a, b, a_by_terms, b_by_terms, float_of_half});
}
template <bool a_by_terms, bool b_by_terms, int n>
void start_product_of_bfloat16(float (&c)[n / 2], ProductOperand a, ProductOperand b) {
  static_assert(n % 32 == 0 && n >= 32 && n <= 256);
  host::find_and_start({c, n, a, b, a_by_terms, b_by_terms, float_of_bfloat16});
}
/// Products are added in the order of k, each rounded with its sum.
inline void multiply_add_tf32_16x8x8(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  auto const joined = [](unsigned lower, unsigned upper) { return lower | static_cast<unsigned long long>(upper) << 32; };
  host::Slots const rows = host::exchange({{joined(a[0], a[2]), joined(a[1], a[3])}});
  host::Slots const& columns = host::exchange({{joined(b[0], b[1]), 0}});
  auto const of = [](unsigned long long words, std::size_t k) {
    return std::bit_cast<float>(static_cast<unsigned>(words >> (k / 4 * 32)));
  };
  auto const group = static_cast<std::size_t>(lane_index() / 4), column = static_cast<std::size_t>(lane_index() % 4 * 2);
  for (std::size_t e = 0; e < 4; ++e)
    for (std::size_t k = 0; k < 8; ++k)
      c[e] = std::fma(of(rows[group * 4 + k % 4].words[e / 2], k), of(columns[(column + e % 2) * 4 + k % 4].words[0], k), c[e]);
}
inline double infinity() { return std::numeric_limits<double>::infinity(); }
inline double quiet_nan() { return std::numeric_limits<double>::quiet_NaN(); }
inline float natural_logarithm(float x) { return std::log(x); }
inline double natural_logarithm(double x) { return std::log(x); }
inline float hypotenuse(float x, float y) { return std::hypot(x, y); }
inline double hypotenuse(double x, double y) { return std::hypot(x, y); }
/// As on the device: subnormal arguments and results are flushed to zero, and zero and infinity give NaN.
template <typename R>
R newton_reciprocal(R x) {
  auto const flushed = [](R y) { return std::fabs(y) < std::numeric_limits<R>::min() ? std::copysign(R(0), y) : y; };
  R const y = flushed(R(1) / flushed(x));
  return std::fma(y, std::fma(-x, y, R(1)), y);
}
inline float reciprocal(float x) { return newton_reciprocal(x); }
inline double reciprocal(double x) { return newton_reciprocal(x); }
inline double reciprocal_square_root(double x) { return x > 0 && x < infinity() ? 1.0 / std::sqrt(x) : quiet_nan(); }
inline float reciprocal_square_root(float x) { return static_cast<float>(reciprocal_square_root(double{x})); }
using std::copysign;
using std::fabs;
using std::fma;
inline float fabsf(float x) { return std::fabs(x); }
inline float copysignf(float x, float sign) { return std::copysign(x, sign); }
inline float fmaf(float x, float y, float z) { return std::fma(x, y, z); }

}  // namespace myriad::simt
