#pragma once
/// Storage of batches, odd sizes, and transposed views that tests of all product kernels go through.

#include <type_traits>
#include <utility>

#include "product.hpp"
#include "sizes.hpp"

namespace myriad {

enum class StoredAs { column_major, row_major, interleaved, pointers, ragged };

/// A square product of such batches; A and B may be transposed.
constexpr Product product_of(StoredAs as, int n, bool transposed_a, bool transposed_b) {
  bool const by_columns = as != StoredAs::row_major, pointers = as == StoredAs::pointers, ragged = as == StoredAs::ragged;
  auto const layout = [&](bool transposed) {
    if (as == StoredAs::interleaved) return Layout::interleaved;
    // A matrix of one element is always by columns.
    if (by_columns != transposed || n == 1) return pointers ? Layout::dense_columns : Layout::packed_columns;
    return pointers ? Layout::dense_rows : Layout::packed_rows;
  };
  Product p{.m = n, .n = n, .k = n, .a = layout(transposed_a), .b = layout(transposed_b), .c = layout(false)};
  p.ragged_m = p.ragged_n = p.ragged_k = ragged;
  p.pointers = pointers;
  p.transposed_a = as == StoredAs::interleaved && transposed_a;
  p.transposed_b = as == StoredAs::interleaved && transposed_b;
  return p;
}

/// Calls check.operator()<as, n, transposed_a, transposed_b>() for every storage and size. Views take turns: every storage has all of them,
/// at different sizes.
template <typename Check>
void for_each_product(Check check) {
  auto const of_way = [&]<StoredAs as, int... sizes>(std::integral_constant<StoredAs, as>, std::integer_sequence<int, sizes...>) {
    [&]<int... place>(std::integer_sequence<int, place...>) {
      constexpr int turn = static_cast<int>(as);
      (check.template operator()<as, sizes, ((place + turn) % 2 != 0), ((place + turn) / 2 % 2 != 0)>(), ...);
    }
    (std::make_integer_sequence<int, sizeof...(sizes)>{});
  };
  constexpr auto sizes = kernel_sizes<1, 3, 7, 9, 15, 17, 25, 33, 65>();
  of_way(std::integral_constant<StoredAs, StoredAs::column_major>{}, sizes);
  of_way(std::integral_constant<StoredAs, StoredAs::row_major>{}, sizes);
  of_way(std::integral_constant<StoredAs, StoredAs::interleaved>{}, sizes);
  of_way(std::integral_constant<StoredAs, StoredAs::pointers>{}, sizes);
  of_way(std::integral_constant<StoredAs, StoredAs::ragged>{}, sizes);
}

}  // namespace myriad
