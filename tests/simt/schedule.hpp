#pragma once
/// Schedules of ragged batches, made on the host twin.

#include <algorithm>
#include <vector>

#include "gemm/ragged/gemm_schedule.cuh"

namespace myriad {

/// A schedule with its memory.
struct Schedule {
  static constexpr int threads = 64;
  using Parts = std::vector<GemmScheduleArguments::Part>;
  GemmScheduleArguments args{};
  std::vector<simt::Index> starts, of_blocks;
  std::vector<int> matrices;
  std::vector<GemmSchedulePart> parts = std::vector<GemmSchedulePart>(gemm_schedule_parts);
  std::vector<unsigned> counts = std::vector<unsigned>(64);

  template <typename A, typename C>
  Schedule(A const& a, C const& c, Parts const& of, int blocks, int together = 1) {
    auto const sizes_of = [](auto const& x) {
      simt::Matrices<char const> out{};
      out.rows = x.rows, out.cols = x.cols, out.count = x.count;
      out.row_sizes = reinterpret_cast<simt::Index const*>(x.row_sizes);
      out.col_sizes = reinterpret_cast<simt::Index const*>(x.col_sizes);
      out.row_offset = x.row_offset, out.col_offset = x.col_offset;
      return out;
    };
    starts.resize(static_cast<std::size_t>(c.count));
    matrices.resize(static_cast<std::size_t>(c.count));
    of_blocks.resize(static_cast<std::size_t>(2 * gemm_schedule_kinds * blocks), -1);
    args.a = sizes_of(a);
    args.c = sizes_of(c);
    args.together = together;
    args.parts = static_cast<int>(of.size());
    std::copy(of.begin(), of.end(), args.part);
    args.starts = starts.data();
    args.matrices = matrices.data();
    args.of_parts = parts.data();
    args.of_blocks = of_blocks.data();
    args.counts = counts.data();
    simt::run(blocks, threads, gemm_schedule_bytes(threads), gemm_schedule<threads>, args, blocks > 1);
  }
  [[nodiscard]] GemmSchedule of_part(std::size_t p) const { return {starts.data(), matrices.data(), &parts[p]}; }
};

}  // namespace myriad
