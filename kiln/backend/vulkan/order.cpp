#include "kiln/backend/vulkan/order.hpp"

#include <algorithm>

namespace kiln::vulkan {

void Tensors::acquired(const std::byte* start, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::lock_guard lock(mutex_);
  ends_[address] = address + bytes;
}

void Tensors::released(const std::byte* start) {
  const std::lock_guard lock(mutex_);
  ends_.erase(reinterpret_cast<std::uintptr_t>(start));
}

Accesses Tensors::accesses_of(const gpu::Kernel& kernel, std::span<const std::uint64_t> arguments) const {
  std::vector<Access> all;
  const std::lock_guard lock(mutex_);
  std::size_t at = 0;
  for (const gpu::Parameter& parameter : kernel.parameters) {
    const std::size_t first = at;
    at += parameter.words();
    if (parameter.kind == gpu::Parameter::Kind::Number || parameter.uniform) continue;
    for (std::size_t i = first; i < at; ++i) {
      // A kernel that was lowered says where its arguments come from.
      const std::size_t given = i < kernel.origins.size() ? kernel.origins[i].of : i;
      if (given >= arguments.size()) return std::nullopt;
      const auto after = ends_.upper_bound(arguments[given]);
      if (after == ends_.begin()) return std::nullopt;
      const auto& [begin, end] = *std::prev(after);
      if (arguments[given] > end) return std::nullopt;
      all.push_back({begin, end, parameter.kind != gpu::Parameter::Kind::Input});
    }
  }
  return all;
}

bool Order::waits(const Accesses& accesses) {
  constexpr std::size_t kMost = 32;  // that are compared
  const auto meet = [](const Access& a, const Access& b) {
    return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
  };
  const bool free = accesses && !is_unknown_ && open_.size() + accesses->size() <= kMost &&
                    std::ranges::none_of(*accesses, [&](const Access& each) {
                      return std::ranges::any_of(open_, [&](const Access& other) { return meet(each, other); });
                    });
  if (!free) open_.clear();
  is_unknown_ = !accesses;
  if (accesses) open_.insert(open_.end(), accesses->begin(), accesses->end());
  return !free;
}

}  // namespace kiln::vulkan
