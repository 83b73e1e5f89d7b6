// Results: where the results of a call lie before kernels are asked for, so that what was begun can be undone if the
// device refuses one of them.
#pragma once
#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "kiln/ops/value.hpp"

namespace kiln::gpu {

/// A family may start again only as long as no kernel that it has launched wrote to memory that was an operand's
/// (Gpu::take_memory): it asks for all kernels that write there before it launches the first.
class Results {
 public:
  explicit Results(std::span<Value> values) : values_(values) {
    if (std::ranges::any_of(values, [](const Value& value) { return static_cast<bool>(value.node()->storage); }))
      for (const Value& value : values)
        before_.push_back({value.node()->storage, value.node()->strides, value.node()->offset});
  }
  void restore() const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      Node& node = *values_[i].node();
      if (before_.empty()) node.storage = nullptr;
      else std::tie(node.storage, node.strides, node.offset) = before_[i];
    }
  }

 private:
  std::span<Value> values_;
  std::vector<std::tuple<Ref<Storage>, Dims, std::int64_t>> before_;  // empty where none had storage
};

}  // namespace kiln::gpu
