#pragma once
/// Device primitives of kernels: PTX and intrinsics. Each has a twin of the same name in simt_host/host.hpp.

#define SIMT_INLINE __device__ __forceinline__
#define SIMT_OUTLINE __device__ __noinline__
#define SIMT_KERNEL __global__
#define SIMT_GRID_CONSTANT __grid_constant__
#define SIMT_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define SIMT_UNROLL _Pragma("unroll")
#define SIMT_UNROLL_BY(n) SIMT_PRAGMA(unroll(n))
#define SIMT_PRAGMA(x) _Pragma(#x)
#define SIMT_LOOP _Pragma("unroll 1")

namespace myriad::simt {

inline constexpr int warp_size = 32;

__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
/// The number of this thread in its warp.
__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x % 32); }
__device__ __forceinline__ long long block_index() { return blockIdx.x; }
__device__ __forceinline__ long long block_count() { return gridDim.x; }

/// Barrier of the block; makes writes to shared memory visible to all of its threads.
__device__ __forceinline__ void sync_block() { __syncthreads(); }
/// As sync_block, for a warp.
__device__ __forceinline__ void sync_warp() { __syncwarp(); }

/// Signals between blocks of a cooperative launch (see Grid): signal() adds one to a counter in global memory. Writes of the block before
/// it are visible to blocks that have waited for that many signals. Both functions are also barriers of the block.
__device__ __forceinline__ void signal(unsigned* count) {
  __syncthreads();
  // The release makes the block's writes visible to readers of the count; __syncthreads orders those of the other threads before it.
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}
__device__ __forceinline__ void wait_for_signals(unsigned* count, unsigned signals) {
  if (threadIdx.x == 0) {
    unsigned now;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
    } while (static_cast<int>(now - signals) < 0);
  }
  __syncthreads();
}

/// Grid barrier of a cooperative launch (see Grid), split into arrive and wait: between them a block may do independent work. Writes to
/// global memory before arrive_at_grid are visible to other blocks after wait_for_grid. `arrived` is in global memory and was zero before
/// the first barrier; `round` barriers of as many blocks came before this one. Both halves are also barriers of the block.
__device__ __forceinline__ void arrive_at_grid(unsigned* arrived, unsigned) { signal(arrived); }
__device__ __forceinline__ void wait_for_grid(unsigned* arrived, unsigned round) { wait_for_signals(arrived, (round + 1) * gridDim.x); }
/// As sync_grid below, for the `blocks` blocks that pass this `arrived`. Usable once: the counter must be zero before.
__device__ __forceinline__ void sync_blocks(unsigned* arrived, unsigned blocks) {
  signal(arrived);
  wait_for_signals(arrived, blocks);
}
__device__ __forceinline__ void sync_grid(unsigned* arrived, unsigned round) {
  arrive_at_grid(arrived, round);
  wait_for_grid(arrived, round);
}

/// Clusters of neighbouring blocks (see Grid). Before compute capability 9.0, and in launches without clusters, each block is one.
__device__ __forceinline__ int cluster_blocks() {
  unsigned blocks = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
#endif
  return static_cast<int>(blocks);
}
__device__ __forceinline__ int block_in_cluster() {
  unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}
/// Barrier of the cluster; makes writes to shared memory and global memory visible to all of its threads.
__device__ __forceinline__ void sync_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}
/// The address at which another block of the cluster has what this one has at `mine`, which is in shared memory. Blocks must have started
/// before the others' accesses, and must not end before them: a kernel calls sync_cluster() before the first and after the last.
template <typename T>
__device__ __forceinline__ T* in_block_of_cluster(T* mine, int rank) {
  T* other = mine;
#if __CUDA_ARCH__ >= 900
  asm("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(mine), "r"(rank));
#endif
  return other;
}

/// The only grid barrier of a launch. It resets its counters: counts[0] and counts[32] must be zero before the launch and are zero after
/// it.
__device__ __forceinline__ void sync_grid_once(unsigned* counts) {
  sync_grid(counts, 0);
  if (threadIdx.x == 0 && atomicAdd(counts + 32, 1u) == gridDim.x - 1) counts[0] = counts[32] = 0;
}

/// Sends two numbers to another block of a cooperative launch through global memory, without a barrier. The lowest bit of each is replaced
/// by `round`, 0 or 1, which marks new data. The memory starts as zero, is written and read once per round, and the first round is 1. The
/// stores are relaxed: other writes of this thread do not become visible.
__device__ __forceinline__ void send_pair(float* to, float x, float y, unsigned round) {
  unsigned const a = (__float_as_uint(x) & ~1u) | round, b = (__float_as_uint(y) & ~1u) | round;
  asm volatile("st.relaxed.gpu.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(a), "r"(b) : "memory");
}
__device__ __forceinline__ void send_pair(double* to, double x, double y, unsigned round) {
  long long const a = (__double_as_longlong(x) & ~1ll) | round, b = (__double_as_longlong(y) & ~1ll) | round;
  asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
}
/// Loads the current bits of a pair, if `wanted`.
__device__ __forceinline__ void load_pair(unsigned (&words)[2], float const* from, unsigned wanted) {
  asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %3, 0;\n @p ld.relaxed.gpu.global.v2.b32 {%0, %1}, [%2];\n}"
               : "+r"(words[0]), "+r"(words[1])
               : "l"(from), "r"(wanted)
               : "memory");
}
__device__ __forceinline__ void load_pair(unsigned long long (&words)[2], double const* from, unsigned wanted) {
  asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %3, 0;\n @p ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];\n}"
               : "+l"(words[0]), "+l"(words[1])
               : "l"(from), "r"(wanted)
               : "memory");
}
__device__ __forceinline__ float sent_number(unsigned word) { return __uint_as_float(word & ~1u); }
__device__ __forceinline__ double sent_number(unsigned long long word) {
  return __longlong_as_double(static_cast<long long>(word & ~1ull));
}
template <typename R>
struct SentWord {
  using type = unsigned long long;
};
template <>
struct SentWord<float> {
  using type = unsigned;
};
/// Waits for the first `wanted` pairs of this round; the loads of all pairs are in flight together.
template <typename R, int count>
__device__ __forceinline__ void receive_pairs(R (&pairs)[count][2], R const* const (&from)[count], int wanted, unsigned round) {
  typename SentWord<R>::type words[count][2] = {};
  unsigned pending = (1u << wanted) - 1;
  while (pending != 0) {
#pragma unroll
    for (int p = 0; p < count; ++p) load_pair(words[p], from[p], pending & 1u << p);
    unsigned here = 0;
#pragma unroll
    for (int p = 0; p < count; ++p) here |= (~static_cast<unsigned>((words[p][0] ^ round) | (words[p][1] ^ round)) & 1u) << p;
    pending &= ~here;
  }
#pragma unroll
  for (int p = 0; p < count; ++p) {
    pairs[p][0] = sent_number(words[p][0]);
    pairs[p][1] = sent_number(words[p][1]);
  }
}

/// The dynamic shared memory of the block, aligned to 1024 bytes.
__device__ __forceinline__ char* shared_memory() {
  extern __shared__ __align__(1024) char myriad_shared_memory[];
  return myriad_shared_memory;
}

/// The value of lane (own lane ^ mask); T is an arithmetic type.
template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
/// The value of lane `source`; T is an arithmetic type.
template <typename T>
__device__ __forceinline__ T shuffle(T value, int source) {
  return __shfl_sync(0xffffffffu, value, source);
}
/// The maximum over the warp.
__device__ __forceinline__ unsigned largest_of_warp(unsigned value) { return __reduce_max_sync(0xffffffffu, value); }
/// Bit l is set if `condition` holds in lane l.
__device__ __forceinline__ unsigned ballot(bool condition) { return __ballot_sync(0xffffffffu, condition); }

/// Index of the lowest set bit of `bits`, which is not zero.
__device__ __forceinline__ int lowest_bit(unsigned bits) { return __ffs(static_cast<int>(bits)) - 1; }
__device__ __forceinline__ int count_bits(unsigned bits) { return __popc(static_cast<int>(bits)); }

/// D = A B + C for an 8-by-4 matrix A, a 4-by-8 matrix B and 8-by-8 matrices C and D of the warp: lane 4 g + t has element (g, t) of A,
/// (t, g) of B and elements (g, 2 t) and (g, 2 t + 1) of C and D. On an H200 products are added one after the other, each rounded once with
/// its sum.
__device__ __forceinline__ void multiply_add_8x8x4(double a, double b, double const (&c)[2], double (&d)[2]) {
  double const c0 = c[0], c1 = c[1];
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
               : "=d"(d[0]), "=d"(d[1])
               : "d"(a), "d"(b), "d"(c0), "d"(c1));
}

/// C += A B for a 16-by-4 matrix A and a 16-by-8 matrix C, and B as above: lane 4 g + t has elements (g, t) and (g + 8,
/// t) of A, (t, g) of B, and (g, 2 t), (g, 2 t + 1), (g + 8, 2 t) and (g + 8, 2 t + 1) of C.
__device__ __forceinline__ void multiply_add_16x8x4(double const (&a)[2], double b, double (&c)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(b));
#else
  double upper[2] = {c[0], c[1]}, lower[2] = {c[2], c[3]};
  multiply_add_8x8x4(a[0], b, upper, upper);
  multiply_add_8x8x4(a[1], b, lower, lower);
  c[0] = upper[0], c[1] = upper[1], c[2] = lower[0], c[3] = lower[1];
#endif
}

/// The same with k = 4, 8 or 16 in one instruction: a[i] and b[i] hold the i-th four columns of A and rows of B. Terms are added in order.
__device__ __forceinline__ void multiply_add_16x8(double const (&a)[1][2], double const (&b)[1], double (&c)[4]) {
  multiply_add_16x8x4(a[0], b[0], c);
}
__device__ __forceinline__ void multiply_add_16x8(double const (&a)[2][2], double const (&b)[2], double (&c)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
#else
  multiply_add_16x8x4(a[0], b[0], c);
  multiply_add_16x8x4(a[1], b[1], c);
#endif
}
__device__ __forceinline__ void multiply_add_16x8(double const (&a)[4][2], double const (&b)[4], double (&c)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(a[2][0]), "d"(a[2][1]), "d"(a[3][0]), "d"(a[3][1]), "d"(b[0]),
        "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
  for (int i = 0; i < 4; ++i) multiply_add_16x8x4(a[i], b[i], c);
#endif
}

/// C += A B for 16-bit types: A 16-by-16, B 16-by-8, C 16-by-8 in float. A word holds two numbers, the first in its lower half. Lane 4 g +
/// t has elements (g, 2 t) and (g, 2 t + 1) of A, those of row g + 8, and both again 8 columns on; (2 t, g) and (2 t + 1, g) of B, and
/// those 8 rows on; C as in multiply_add_16x8x4. Products are exact. The hardware chooses rounding and order of the sum, the same for every
/// element and call.
__device__ __forceinline__ void multiply_add_half_16x8x16(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiply_add_bfloat16_16x8x16(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Rounds to TF32 (11 bits of precision) to nearest, ties away from zero; returns the bits of a float.
__device__ __forceinline__ unsigned tf32_bits(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
/// C += A B for a 16-by-8 matrix A and an 8-by-8 matrix B, both as tf32_bits gives them, and a 16-by-8 matrix C: lane 4 g + t has elements
/// (g, t), (g + 8, t), (g, t + 4) and (g + 8, t + 4) of A, (t, g) and (t + 4, g) of B; C as in multiply_add_16x8x4. Products are exact. The
/// hardware chooses rounding and order of the sum, the same for every element and call.
__device__ __forceinline__ void multiply_add_tf32_16x8x8(unsigned const (&a)[4], unsigned const (&b)[2], float (&c)[4]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Reads one, two or four 8-by-8 matrices of a 16-bit type from shared memory (ldmatrix): lane 8 p + i passes the address of row i of
/// matrix p, a multiple of 16 bytes; lane 4 g + t gets elements (g, 2 t) and (g, 2 t + 1) of each as a word, or, transposed, (2 t, g) and
/// (2 t + 1, g).
template <bool transposed>
__device__ __forceinline__ void load_matrices(unsigned (&x)[1], void const* row) {
  unsigned const from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(x[0]) : "r"(from) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x[0]) : "r"(from) : "memory");
}
template <bool transposed>
__device__ __forceinline__ void load_matrices(unsigned (&x)[2], void const* row) {
  unsigned const from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(from) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(from) : "memory");
}
template <bool transposed>
__device__ __forceinline__ void load_matrices(unsigned (&x)[4], void const* row) {
  unsigned const from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(from)
                 : "memory");
}

/// Asynchronous products of a warpgroup of 128 threads (wgmma), for compute capability 9.0 only (a kernel that calls them is
/// arch_specific). They read A and B from shared memory. A thread calls begin_products, starts products, calls end_product_group, and has
/// the sums after wait_products; until then it must not touch the sums or the operands. All threads of the warpgroup make the same calls.
/// To make copies and stores to shared memory visible to the products, every thread that made some calls show_to_products, and a barrier
/// follows.
///
/// A wgmma descriptor: the address of a matrix of a 16-bit type in shared memory (a multiple of 16 bytes) and its layout. The matrix is
/// stored in spans of 128 or 64 bytes, contiguous from a multiple of 1024 bytes on, with swizzled chunks of 16 bytes: chunk c of span s is
/// at place c ^ s % 8 of the span (spans of 64 bytes: c ^ s / 2 % 4). K-major: a span has elements of one line (row of A, column of B),
/// starting at any chunk; the next eight lines are `eight_further` bytes on. MN-major: a span, of 128 bytes, has 64 lines of one k; the
/// next eight k are `eight_further` bytes on, the next 64 lines `span_further`.
using ProductOperand = unsigned long long;
__device__ __forceinline__ ProductOperand product_operand(void const* begin, int span_bytes, int eight_further, int span_further) {
  return (static_cast<unsigned>(__cvta_generic_to_shared(begin)) & 0x3ffff) >> 4 | static_cast<ProductOperand>(span_further >> 4) << 16 |
         static_cast<ProductOperand>(eight_further >> 4) << 32 | static_cast<ProductOperand>(span_bytes == 128 ? 1 : 2) << 62;
}
/// The same layout, `bytes` further on.
__device__ __forceinline__ ProductOperand further_on(ProductOperand operand, int bytes) { return operand + (bytes >> 4); }

__device__ __forceinline__ void show_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_product_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Sets the registers per thread of the warpgroup (setmaxnreg), a multiple of 8. give_registers frees some for other warpgroups;
/// take_registers waits until there are enough. SIMT_BOUNDS of the kernel give the initial number.
template <int count>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// Waits for all groups of products.
template <int count>
__device__ __forceinline__ void wait_products(float (&sums)[count]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  // Keeps the compiler from moving uses of the sums before the wait.
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

#define SIMT_NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define SIMT_NAMES_1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SIMT_NAMES_2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define SIMT_NAMES_3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SIMT_NAMES_4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define SIMT_NAMES_5 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define SIMT_NAMES_6 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define SIMT_NAMES_7 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SIMT_SUMS(i)                                                                                                          \
  "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7]), \
      "+f"(c[i + 8]), "+f"(c[i + 9]), "+f"(c[i + 10]), "+f"(c[i + 11]), "+f"(c[i + 12]), "+f"(c[i + 13]), "+f"(c[i + 14]), "+f"(c[i + 15])
#define SIMT_PRODUCT(type, n, names, in_0, in_1, in_2, in_3, ...)                                                                    \
  asm volatile("{\n .reg .pred p;\n setp.eq.u32 p, 0, 0;\n wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" names \
               "}, " in_0 ", " in_1 ", p, 1, 1, " in_2 ", " in_3 ";\n}"                                                              \
               : __VA_ARGS__                                                                                                         \
               : "l"(a), "l"(b), "n"(a_by_terms), "n"(b_by_terms))
#define SIMT_PRODUCTS(type)                                                                                                                \
  if constexpr (n == 32) {                                                                                                                 \
    SIMT_PRODUCT(type, 32, SIMT_NAMES_0, "%16", "%17", "%18", "%19", SIMT_SUMS(0));                                                        \
  } else if constexpr (n == 64) {                                                                                                          \
    SIMT_PRODUCT(type, 64, SIMT_NAMES_0 ", " SIMT_NAMES_1, "%32", "%33", "%34", "%35", SIMT_SUMS(0), SIMT_SUMS(16));                       \
  } else if constexpr (n == 96) {                                                                                                          \
    SIMT_PRODUCT(type, 96, SIMT_NAMES_0 ", " SIMT_NAMES_1 ", " SIMT_NAMES_2, "%48", "%49", "%50", "%51", SIMT_SUMS(0), SIMT_SUMS(16),      \
                 SIMT_SUMS(32));                                                                                                           \
  } else if constexpr (n == 128) {                                                                                                         \
    SIMT_PRODUCT(type, 128, SIMT_NAMES_0 ", " SIMT_NAMES_1 ", " SIMT_NAMES_2 ", " SIMT_NAMES_3, "%64", "%65", "%66", "%67", SIMT_SUMS(0),  \
                 SIMT_SUMS(16), SIMT_SUMS(32), SIMT_SUMS(48));                                                                             \
  } else if constexpr (n == 160) {                                                                                                         \
    SIMT_PRODUCT(type, 160, SIMT_NAMES_0 ", " SIMT_NAMES_1 ", " SIMT_NAMES_2 ", " SIMT_NAMES_3 ", " SIMT_NAMES_4, "%80", "%81", "%82",     \
                 "%83", SIMT_SUMS(0), SIMT_SUMS(16), SIMT_SUMS(32), SIMT_SUMS(48), SIMT_SUMS(64));                                         \
  } else if constexpr (n == 192) {                                                                                                         \
    SIMT_PRODUCT(type, 192, SIMT_NAMES_0 ", " SIMT_NAMES_1 ", " SIMT_NAMES_2 ", " SIMT_NAMES_3 ", " SIMT_NAMES_4 ", " SIMT_NAMES_5, "%96", \
                 "%97", "%98", "%99", SIMT_SUMS(0), SIMT_SUMS(16), SIMT_SUMS(32), SIMT_SUMS(48), SIMT_SUMS(64), SIMT_SUMS(80));            \
  } else if constexpr (n == 224) {                                                                                                         \
    SIMT_PRODUCT(type, 224,                                                                                                                \
                 SIMT_NAMES_0 ", " SIMT_NAMES_1 ", " SIMT_NAMES_2 ", " SIMT_NAMES_3 ", " SIMT_NAMES_4 ", " SIMT_NAMES_5 ", " SIMT_NAMES_6, \
                 "%112", "%113", "%114", "%115", SIMT_SUMS(0), SIMT_SUMS(16), SIMT_SUMS(32), SIMT_SUMS(48), SIMT_SUMS(64), SIMT_SUMS(80),  \
                 SIMT_SUMS(96));                                                                                                           \
  } else if constexpr (n == 256) {                                                                                                         \
    SIMT_PRODUCT(type, 256,                                                                                                                \
                 SIMT_NAMES_0 ", " SIMT_NAMES_1 ", " SIMT_NAMES_2 ", " SIMT_NAMES_3 ", " SIMT_NAMES_4 ", " SIMT_NAMES_5 ", " SIMT_NAMES_6  \
                              ", " SIMT_NAMES_7,                                                                                           \
                 "%128", "%129", "%130", "%131", SIMT_SUMS(0), SIMT_SUMS(16), SIMT_SUMS(32), SIMT_SUMS(48), SIMT_SUMS(64), SIMT_SUMS(80),  \
                 SIMT_SUMS(96), SIMT_SUMS(112));                                                                                           \
  }                                                                                                                                        \
  static_assert(n % 32 == 0 && n >= 32 && n <= 256)

/// Starts C += A B for 16-bit types: A 64-by-16, B 16-by-n, C 64-by-n in float; n is a multiple of 32. Warp w of the warpgroup has rows 16
/// w to 16 w + 15 of C. Of these and columns 8 i to 8 i + 7 a lane has c[4 i] to c[4 i + 3], placed as in multiply_add_16x8x4.
template <bool a_by_terms, bool b_by_terms, int n>
__device__ __forceinline__ void start_product_of_half(float (&c)[n / 2], ProductOperand a, ProductOperand b) {
  SIMT_PRODUCTS("f16");
}
template <bool a_by_terms, bool b_by_terms, int n>
__device__ __forceinline__ void start_product_of_bfloat16(float (&c)[n / 2], ProductOperand a, ProductOperand b) {
  SIMT_PRODUCTS("bf16");
}
#undef SIMT_PRODUCTS
#undef SIMT_PRODUCT
#undef SIMT_SUMS
#undef SIMT_NAMES_0
#undef SIMT_NAMES_1
#undef SIMT_NAMES_2
#undef SIMT_NAMES_3
#undef SIMT_NAMES_4
#undef SIMT_NAMES_5
#undef SIMT_NAMES_6
#undef SIMT_NAMES_7

/// Returns x, opaque to the compiler: values derived from it are computed here, not hoisted out of a loop and kept in registers.
__device__ __forceinline__ long long unknown(long long x) {
  asm volatile("" : "+l"(x));
  return x;
}
__device__ __forceinline__ unsigned unknown(unsigned x) {
  asm("" : "+r"(x));
  return x;
}

/// Starts a copy of 16 bytes from global to shared memory, both aligned to 16 bytes; complete after wait_copies and a barrier.
__device__ __forceinline__ void copy_async_16(void* to_shared, void const* from_global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to_shared))),
               "l"(from_global)
               : "memory");
}
/// The same for one element of 4, 8 or 16 bytes, aligned to its size. The surrounding 256 bytes are prefetched into L2, since other blocks
/// need them. No compiler barrier, so that addresses of several copies are loaded together. Elements of 2 bytes, which cp.async does not
/// support, are copied synchronously.
template <typename T>
__device__ __forceinline__ void copy_async(T* to_shared, T const* from_global) {
  if constexpr (sizeof(T) == 2) {
    unsigned short x;
    asm volatile("ld.global.b16 %0, [%1];" : "=h"(x) : "l"(__cvta_generic_to_global(from_global)));
    memcpy(to_shared, &x, 2);
  } else {
    unsigned const to = static_cast<unsigned>(__cvta_generic_to_shared(to_shared));
    asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], %2;" ::"r"(to), "l"(from_global), "n"(sizeof(T)));
  }
}
/// Waits for this thread's asynchronous copies.
__device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
/// Commits the copies that this thread has started since the last call as a group, which may be empty.
__device__ __forceinline__ void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all groups of this thread but the last `pending` ones.
template <int pending>
__device__ __forceinline__ void wait_copy_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// An mbarrier in shared memory for threads and, from compute capability 9.0 on, bulk copies: 8 bytes, aligned to 8. A phase (the first is
/// number 0) completes when `arrivals` threads have arrived and all expected bytes have been copied. After wait_for_phase a thread sees the
/// copied data, and writes to shared memory that other threads made before they arrived.
using Mbarrier = unsigned long long;
/// Called by one thread; sync_block must follow before any use.
__device__ __forceinline__ void begin_mbarrier(Mbarrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(arrivals)
               : "memory");
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
__device__ __forceinline__ void arrive_at_mbarrier(Mbarrier* barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
               : "memory");
}
/// Arrives, and adds `bytes` to the bytes that the phase expects.
__device__ __forceinline__ void arrive_and_expect(Mbarrier* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))),
      "r"(bytes)
      : "memory");
}
/// Waits until phase `phase` has completed. It must be the current phase or the one before.
__device__ __forceinline__ void wait_for_phase(Mbarrier* barrier, int phase) {
  unsigned const at = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
  unsigned ended;
  do {
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(ended)
                 : "r"(at), "r"(phase & 1)
                 : "memory");
#else
    asm volatile("{\n .reg .pred p;\n mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(ended)
                 : "r"(at), "r"(phase & 1)
                 : "memory");
#endif
  } while (ended == 0);
}

/// Starts a bulk copy from global to shared memory; both addresses and `bytes` are multiples of 16. The bytes count toward the current
/// phase of `barrier`, where a thread must expect them.
__device__ __forceinline__ void copy_bulk(void* to_shared, void const* from_global, int bytes, Mbarrier* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to_shared))),
               "l"(__cvta_generic_to_global(from_global)), "r"(bytes), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
               : "memory");
}
/// Starts a bulk copy from shared to global memory. To make writes to shared memory visible to it, each thread that wrote calls
/// show_to_products, and a barrier follows. The same thread must call wait_bulk_stores before it exits.
__device__ __forceinline__ void store_bulk(void* to_global, void const* from_shared, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to_global)),
               "r"(static_cast<unsigned>(__cvta_generic_to_shared(from_shared))), "r"(bytes)
               : "memory");
}
/// A TMA descriptor, made by the driver from BoxedMatrices (simt/boxes.hpp), from compute capability 9.0 on. It must be in kernel arguments
/// that are SIMT_GRID_CONSTANT.
struct alignas(128) TensorMap {
  unsigned long long words[16];
};
/// As copy_bulk, for a TMA box: of each of its lines, from `line` on, 128 bytes from element `first` on. Each line becomes a span of 128
/// bytes with chunks of 16 bytes swizzled for wgmma (see product_operand). The box's full size counts as expected bytes, also beyond the
/// matrix. `to_shared` is a multiple of 1024 bytes.
__device__ __forceinline__ void copy_box(void* to_shared, TensorMap const& from, int first, int line, int matrix, Mbarrier* barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to_shared))),
               "l"(&from), "r"(first), "r"(line), "r"(matrix), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
               : "memory");
}
/// Stores a TMA box, otherwise as store_bulk.
__device__ __forceinline__ void store_box(TensorMap const& to, int first, int line, int matrix, void const* from_shared) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&to), "r"(first), "r"(line),
               "r"(matrix), "r"(static_cast<unsigned>(__cvta_generic_to_shared(from_shared)))
               : "memory");
}
/// Commits this thread's store_bulk and store_box calls since the last call as a group, which may be empty.
__device__ __forceinline__ void end_bulk_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until all groups but the last `pending` ones have read shared memory, which may then be overwritten.
template <int pending>
__device__ __forceinline__ void wait_bulk_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/// 16 bytes, moved by one instruction.
struct alignas(16) Chunk {
  unsigned words[4];
};
__device__ __forceinline__ Chunk load_chunk(void const* from) {
  uint4 const x = *static_cast<uint4 const*>(from);
  return {{x.x, x.y, x.z, x.w}};
}
/// The same from global memory that is constant during the kernel, without allocating in L1: for data near which no other thread reads. The
/// compiler keeps the order of these loads.
__device__ __forceinline__ Chunk load_chunk_once(void const* from) {
  Chunk x;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.words[0]), "=r"(x.words[1]), "=r"(x.words[2]), "=r"(x.words[3])
               : "l"(__cvta_generic_to_global(from)));
  return x;
}
/// L2 cache policy of loads: evict_last (`stays`) or evict_first.
using CachePolicy = unsigned long long;
__device__ __forceinline__ CachePolicy cache_policy(bool stays) {
  CachePolicy last, first;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  return stays ? last : first;
}
__device__ __forceinline__ Chunk load_chunk_once(void const* from, CachePolicy policy) {
  Chunk x;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(x.words[0]), "=r"(x.words[1]), "=r"(x.words[2]), "=r"(x.words[3])
               : "l"(__cvta_generic_to_global(from)), "l"(policy));
  return x;
}
/// Loads 2, 4, 8 or 16 bytes, aligned to their size, from global memory that is constant during the kernel. See store_global.
template <typename T>
__device__ __forceinline__ T load_global(T const* from) {
  unsigned words[(sizeof(T) + 3) / 4];
  auto const address = __cvta_generic_to_global(from);
  if constexpr (sizeof(T) == 2) {
    unsigned short word;
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(word) : "l"(address));
    words[0] = word;
  } else if constexpr (sizeof(T) == 4)
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(words[0]) : "l"(address));
  else if constexpr (sizeof(T) == 8)
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(address));
  else
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(address));
  T x;
  memcpy(&x, words, sizeof(T));
  return x;
}
/// The same if `wanted`, else zero. Predicated: unlike a branch or select, it makes no load wait for another.
template <typename T>
__device__ __forceinline__ T load_global_if(bool wanted, T const* from) {
  unsigned words[sizeof(T) / 4] = {};
  auto const address = __cvta_generic_to_global(from);
  unsigned const here = wanted;
  if constexpr (sizeof(T) == 4)
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n @p ld.global.nc.u32 %0, [%1];\n}" : "+r"(words[0]) : "l"(address), "r"(here));
  else if constexpr (sizeof(T) == 8)
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %3, 0;\n @p ld.global.nc.v2.u32 {%0, %1}, [%2];\n}"
                 : "+r"(words[0]), "+r"(words[1])
                 : "l"(address), "r"(here));
  else
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %5, 0;\n @p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                 : "l"(address), "r"(here));
  T x;
  memcpy(&x, words, sizeof(T));
  return x;
}
/// The same from memory that this kernel writes later, as in a factorization in place. See store_global.
template <typename T>
__device__ __forceinline__ T load_changing_if(bool wanted, T const* from) {
  unsigned words[sizeof(T) / 4] = {};
  auto const address = __cvta_generic_to_global(from);
  unsigned const here = wanted;
  if constexpr (sizeof(T) == 4)
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n @p ld.global.u32 %0, [%1];\n}" : "+r"(words[0]) : "l"(address), "r"(here));
  else if constexpr (sizeof(T) == 8)
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %3, 0;\n @p ld.global.v2.u32 {%0, %1}, [%2];\n}"
                 : "+r"(words[0]), "+r"(words[1])
                 : "l"(address), "r"(here));
  else
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %5, 0;\n @p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                 : "l"(address), "r"(here));
  T x;
  memcpy(&x, words, sizeof(T));
  return x;
}
/// load_global, but issued before the next barrier. The compiler may move loads of constant memory past a barrier to their uses, to save
/// registers; they then stall a few at a time.
template <typename T>
__device__ __forceinline__ T load_global_before_barrier(T const* from) {
  unsigned words[sizeof(T) / 4];
  auto const address = __cvta_generic_to_global(from);
  if constexpr (sizeof(T) == 4)
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(words[0]) : "l"(address) : "memory");
  else if constexpr (sizeof(T) == 8)
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(address) : "memory");
  else
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(address)
                 : "memory");
  T x;
  memcpy(&x, words, sizeof(T));
  return x;
}
__device__ __forceinline__ void store_chunk(void* to, Chunk x) {
  *static_cast<uint4*>(to) = make_uint4(x.words[0], x.words[1], x.words[2], x.words[3]);
}
/// Copies the 8 bytes `from` shared memory, both aligned to 8 bytes.
__device__ __forceinline__ void store_half_chunk(void* to, void const* from) {
  *static_cast<uint2*>(to) = *static_cast<uint2 const*>(from);
}
/// Loads 4 bytes, aligned to 4, from shared memory.
__device__ __forceinline__ unsigned load_word(void const* from) { return *static_cast<unsigned const*>(from); }
__device__ __forceinline__ void store_word(void* to, unsigned x) { *static_cast<unsigned*>(to) = x; }
/// Byte permute: each of the last four hexadecimal digits of `digits` selects one of the eight bytes of x (0 to 3) and y (4 to 7).
__device__ __forceinline__ unsigned select_bytes(unsigned x, unsigned y, unsigned digits) { return __byte_perm(x, y, digits); }
/// Writes 2, 4, 8 or 16 bytes, aligned to their size, to global memory. The compiler cannot know that an address that was loaded is not in
/// shared memory, so it orders `*to = x` with loads from shared memory. Addresses from the kernel's arguments do not need this. No compiler
/// barrier.
template <typename T>
__device__ __forceinline__ void store_global(T* to, T x) {
  unsigned words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &x, sizeof(T));
  auto const address = __cvta_generic_to_global(to);
  if constexpr (sizeof(T) == 2)
    asm volatile("st.global.b16 [%0], %1;" ::"l"(address), "h"(static_cast<unsigned short>(words[0])));
  else if constexpr (sizeof(T) == 4)
    asm volatile("st.global.b32 [%0], %1;" ::"l"(address), "r"(words[0]));
  else if constexpr (sizeof(T) == 8)
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(words[0]), "r"(words[1]));
  else
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]));
}

__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned long long bits_of(double x) { return static_cast<unsigned long long>(__double_as_longlong(x)); }
__device__ __forceinline__ float number_of(unsigned bits) { return __uint_as_float(bits); }
__device__ __forceinline__ double number_of(unsigned long long bits) { return __longlong_as_double(static_cast<long long>(bits)); }
/// Conversions of 16-bit types: binary16 and bfloat16. They round to nearest, ties to even; NaN gives NaN.
__device__ __forceinline__ float float_of_half(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
__device__ __forceinline__ unsigned short half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ float float_of_bfloat16(unsigned short bits) { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
__device__ __forceinline__ unsigned short bfloat16_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
__device__ __forceinline__ double quiet_nan() { return __longlong_as_double(0x7ff8000000000000ll); }

__device__ __forceinline__ float natural_logarithm(float x) { return logf(x); }
__device__ __forceinline__ double natural_logarithm(double x) { return log(x); }
/// sqrt(x^2 + y^2) without intermediate overflow.
__device__ __forceinline__ float hypotenuse(float x, float y) { return hypotf(x, y); }
__device__ __forceinline__ double hypotenuse(double x, double y) { return hypot(x, y); }

/// 1 / x to about one unit in the last place, for x whose reciprocal is normal: Newton iteration from the hardware's estimate.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return fmaf(y, fmaf(-x, y, 1.0f), y);
}
__device__ __forceinline__ double reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  y = fma(y, fma(-x, y, 1.0), y);
  return fma(y, fma(-x, y, 1.0), y);
}

/// 1 / sqrt(x) to about one unit in the last place, for x that is neither tiny nor huge: one third-order step from the hardware's estimate.
/// NaN unless x is positive and finite.
__device__ __forceinline__ float reciprocal_square_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  float const error = fmaf(-x * y, y, 1.0f);
  return fmaf(y * error, fmaf(0.375f, error, 0.5f), y);
}
__device__ __forceinline__ double reciprocal_square_root(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  double const error = fma(-x * y, y, 1.0);
  return fma(y * error, fma(0.375, error, 0.5), y);
}

}  // namespace myriad::simt
