#pragma once
/// Batches larger than memory: one chunk is computed while the next one is read.

#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "io/source.hpp"
#include "job.hpp"
#include "journal.hpp"
#include "matrices.hpp"
#include "myriad/batch.hpp"

namespace myriad::cli {

/// One input of a command, and the forms in which it is needed.
struct Input {
  io::Source const* source = nullptr;
  bool view = true;                                        ///< the matrices, read only
  bool work = false;                                       ///< a row-major copy that may be overwritten
  bool broadcast = false;                                  ///< one matrix for the whole batch
  bool (*uses)(std::int64_t i, std::int64_t j) = nullptr;  ///< which elements are used; null: all
};

/// The part of an input in one chunk.
template <typename T>
struct Operand {
  Batch<T const> view;
  Matrices<T> work;
  Matrices<T> original;  ///< data of `view`, unless that is the file's own memory
};

[[nodiscard]] inline Sizes sizes_of(io::Source const& source, std::int64_t first, std::int64_t count) {
  auto const rows = [&](std::int64_t b) { return source.rows_of(first + b); };
  auto const cols = [&](std::int64_t b) { return source.cols_of(first + b); };
  if (!source.ragged()) return Sizes::from(count, false, rows, cols, source.rows(), source.cols());
  return sizes_like(Sizes::from(count, true, rows, cols, 0, 0), rows, cols);
}

template <typename T>
void load(Input const& input, std::int64_t first, std::int64_t count, Operand<T>& operand) {
  io::Source const& source = *input.source;
  Dtype const dtype = dtype_of<T>;
  std::int64_t const from = input.broadcast ? 0 : first;
  std::int64_t const many = input.broadcast ? std::min<std::int64_t>(count, 1) : count;
  auto const direct = source.direct(dtype);
  if (direct) source.populate(from, many);
  if (input.view) {
    if (direct) {
      auto const* const data = static_cast<T const*>(direct->data);
      operand.view = {.data = data + from * direct->batch_stride,
                      .rows = source.rows(),
                      .cols = source.cols(),
                      .row_stride = std::max<std::int64_t>(direct->row_stride, 1),
                      .col_stride = std::max<std::int64_t>(direct->col_stride, 1),
                      .batch_stride = direct->batch_stride,
                      .count = many};
    } else {
      operand.original.resize(sizes_of(source, from, many));
      source.read(from, many, dtype, operand.original.data());
      operand.view = operand.original.batch();
    }
    if (input.broadcast) {
      operand.view.batch_stride = 0;
      operand.view.count = count;
    }
  }
  if (input.work) {
    Matrices<T>& work = operand.work;
    Sizes sizes = sizes_of(source, from, many);
    sizes.count = count;
    work.resize(std::move(sizes));
    if (input.view && !direct)
      std::copy_n(operand.original.data(), operand.original.elements(), work.data());
    else
      source.read(from, many, dtype, work.data());
    if (input.broadcast)
      for (std::int64_t b = 1; b < count; ++b) std::copy_n(work.data(), work.elements_of(0), work.matrix(b));
  }
}

/// Bytes that `load` needs for matrix b.
template <typename T>
[[nodiscard]] std::int64_t bytes_of(Input const& input, std::int64_t b) {
  std::int64_t const m = input.broadcast ? 0 : b;
  std::int64_t const elements = input.source->rows_of(m) * input.source->cols_of(m);
  std::int64_t const copies = (input.view && !input.broadcast ? 1 : 0) + (input.work ? 1 : 0);
  return elements * copies * static_cast<std::int64_t>(sizeof(T));
}

/// Divides matrices first to first + count - 1 into chunks of at most `limit` bytes, or one matrix.
template <typename Bytes>
void add_chunks(std::int64_t first, std::int64_t count, bool ragged, std::int64_t limit, Bytes&& bytes, Ranges& chunks) {
  std::int64_t const end = first + count;
  if (!ragged) {
    std::int64_t const step = std::max<std::int64_t>(limit / std::max<std::int64_t>(bytes(0), 1), 1);
    for (; first < end; first += step) chunks.emplace_back(first, std::min(step, end - first));
    return;
  }
  std::int64_t held = 0;
  for (std::int64_t b = first; b < end; ++b) {
    std::int64_t const more = bytes(b);
    if (held > 0 && held + more > limit) {
      chunks.emplace_back(first, b - first);
      first = b;
      held = 0;
    }
    held += more;
  }
  if (first < end) chunks.emplace_back(first, end - first);
}

/// Calls body(first, count, operands) for each chunk of this process's share of a batch of `count` matrices, in order, while a thread loads
/// the next chunk.
///
/// `result_bytes(b)`: bytes that the body allocates for matrix b. At most two chunks are in memory, each of at most --chunk bytes or one
/// matrix.
template <typename T, std::size_t N, typename Bytes, typename Body>
void stream(Job& job, std::array<Input, N> const& inputs, Bytes&& result_bytes, Body&& body) {
  bool ragged = false;
  for (Input const& input : inputs) ragged = ragged || input.source->ragged();
  auto const bytes = [&](std::int64_t b) {
    std::int64_t sum = result_bytes(b);
    for (Input const& input : inputs) sum += bytes_of<T>(input, b);
    return sum;
  };
  // An element costs the steps of a factorization of its matrix, and as much as some of them for being moved.
  Ranges const share = job.share(ragged, [&](std::int64_t b) {
    std::int64_t const shorter =
        std::min(inputs[0].source->rows_of(inputs[0].broadcast ? 0 : b), inputs[0].source->cols_of(inputs[0].broadcast ? 0 : b));
    return bytes(b) * (16 + shorter);
  });
  std::int64_t whole = 0;
  for (auto const& [first, count] : share) whole += count;
  auto const limit = static_cast<std::int64_t>(std::min<std::uint64_t>(job.options().chunk, std::uint64_t{1} << 62));
  // Small batches get smaller chunks, so that reading and computing overlap from the start. 16 MiB take milliseconds of both.
  std::int64_t target = limit;
  if (!ragged && whole > 0)
    target = std::min(limit, std::max<std::int64_t>(whole * std::max<std::int64_t>(bytes(0), 1) / 8, std::int64_t{16} << 20));
  Ranges chunks;
  for (auto const& [first, count] : share) add_chunks(first, count, ragged, target, bytes, chunks);

  std::array<std::array<Operand<T>, N>, 2> slots;
  auto const load_chunk = [&](std::size_t k) {
    for (std::size_t i = 0; i < N; ++i) load<T>(inputs[i], chunks[k].first, chunks[k].second, slots[k % 2][i]);
  };
  if (!chunks.empty()) load_chunk(0);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    std::future<void> next;
    if (k + 1 < chunks.size()) next = std::async(std::launch::async, load_chunk, k + 1);
    auto const& [first, many] = chunks[k];
    body(first, many, slots[k % 2]);
    for (Input const& input : inputs)
      if (!input.broadcast && input.source->direct(dtype_of<T>)) input.source->release(first, many);
    if (next.valid()) next.get();
    job.finish_chunk(first, many);
  }
}

}  // namespace myriad::cli
