#include "kiln/browser/handles.hpp"

#include <limits>
#include <unordered_map>

namespace kiln::browser {
namespace {

struct Table {
  std::unordered_map<Handle, Item> items;
  Handle last = 0;
};

/// Calls come one at a time, so nothing guards it. It is never destroyed: devices may be gone by then.
Table& table() {
  static Table& all = *new Table;
  return all;
}

}  // namespace

Handle hold(Item item) {
  Table& all = table();
  require<MemoryError>(all.last < std::numeric_limits<Handle>::max(),
                       "browser: all 2^32 handles were used: load the page again");
  const Handle handle = all.last + 1;
  all.items.emplace(handle, std::move(item));
  return all.last = handle;
}

const Item& held(Handle handle) {
  const auto found = table().items.find(handle);
  require<ArgumentError>(found != table().items.end(), "the tensor or object with handle ", handle,
                         " was disposed: keep it until it is no longer used");
  return found->second;
}

void dispose(Handle handle) noexcept {
  // The node is taken out first: what ends with it may hold and dispose others.
  const auto node = table().items.extract(handle);
}

std::size_t handles() { return table().items.size(); }

}  // namespace kiln::browser
