// Concepts of functions that make a batch of items, for DataLoader and StreamLoader.
#pragma once
#include <concepts>
#include <span>
#include <type_traits>

#include "kiln/core/random.hpp"

namespace kiln {

/// Makes a batch from its items, or from its items and one random key for each (for augmentation). Called from several
/// threads at once.
template <class B, class Item>
concept PlainBatcher = std::invocable<const B&, std::span<const Item>>;
template <class B, class Item>
concept KeyedBatcher = std::invocable<const B&, std::span<const Item>, std::span<const Key>>;
template <class B, class Item>
concept BatcherOf = PlainBatcher<B, Item> || KeyedBatcher<B, Item>;

/// This stands for the batches of a loader that does not compile, so that the sentence about it is all that is printed.
struct NoBatch {};

/// The batch that B makes of items, or NoBatch.
template <class B, class Item>
constexpr auto batch_made_by() {
  using Items = std::span<const Item>;
  if constexpr (KeyedBatcher<B, Item>)
    return std::type_identity<std::invoke_result_t<const B&, Items, std::span<const Key>>>();
  else if constexpr (PlainBatcher<B, Item>) return std::type_identity<std::invoke_result_t<const B&, Items>>();
  else return std::type_identity<void>();
}
template <class B, class Item, class Made = typename decltype(batch_made_by<B, Item>())::type>
using BatchMadeBy = std::conditional_t<std::is_void_v<Made>, NoBatch, Made>;

/// B makes batches of items that are Batch.
template <class B, class Item, class Batch>
concept MakesBatches = BatcherOf<B, Item> && !std::same_as<BatchMadeBy<B, Item>, NoBatch> &&
                       std::convertible_to<BatchMadeBy<B, Item>, Batch>;
template <class B, class Item>
concept HasMethodBatch = requires(const B& batcher, std::span<const Item> items) { batcher.batch(items); };

}  // namespace kiln
