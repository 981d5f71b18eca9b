#include "runtime/tensor_map.hpp"

#include <cstdint>

#include "runtime/launch.hpp"

namespace myriad::gpu {

std::optional<simt::TensorMap> tensor_map(Queue& queue, simt::BoxedMatrices const& x) {
  using namespace driver;
  Api const& cu = api();
  if (!cu.cuTensorMapEncodeTiled) return {};
  constexpr int rank = 3;
  std::uint64_t const sizes[rank] = {static_cast<std::uint64_t>(x.length), static_cast<std::uint64_t>(x.lines),
                                     static_cast<std::uint64_t>(x.matrices)};
  std::uint64_t const further[rank - 1] = {static_cast<std::uint64_t>(x.line_further), static_cast<std::uint64_t>(x.matrix_further)};
  std::uint32_t const box[rank] = {static_cast<std::uint32_t>(128 / x.element_bytes), static_cast<std::uint32_t>(x.lines_of_box), 1};
  std::uint32_t const every[rank] = {1, 1, 1};
  CurrentContext const current(context_of(queue).handle());  // the encoding needs a current context
  simt::TensorMap map{};
  // TMA moves bits, so the element type matters by size only.
  Result const result = cu.cuTensorMapEncodeTiled(&map, x.element_bytes == 2 ? TensorType::words_of_16 : TensorType::words_of_32, rank,
                                                  const_cast<void*>(x.data), sizes, further, box, every, TensorInterleave::none,
                                                  TensorSwizzle::spans_of_128, TensorPromotion::bytes_256, TensorFill::zeros);
  if (result == Result::invalid_value) return {};
  check(result, "cuTensorMapEncodeTiled");
  return map;
}

}  // namespace myriad::gpu
