// The first batches of a loader, to look at them, or to train on them alone.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// The first `count` batches of the loader's next epoch, fewer if there are no more; a DataLoader's next epoch stays the
/// same. Throws ArgumentError for less than one.
template <class Loader>
auto first_batches(Loader&& loader, std::int64_t count) {
  require<ArgumentError>(count >= 1, "first batches: ", count, " batches; there must be at least one");
  std::int64_t epoch = 0;
  if constexpr (requires { loader.set_epoch(loader.epoch()); }) epoch = loader.epoch();
  std::vector<std::remove_cvref_t<decltype(*loader.begin())>> batches;
  for (auto&& batch : loader) {
    batches.push_back(std::forward<decltype(batch)>(batch));
    if (static_cast<std::int64_t>(batches.size()) == count) break;
  }
  if constexpr (requires { loader.set_epoch(loader.epoch()); }) loader.set_epoch(epoch);
  return batches;
}

}  // namespace kiln
