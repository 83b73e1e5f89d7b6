#include "kiln/compile/nesting.hpp"

#include <algorithm>
#include <limits>

namespace kiln::compile {
namespace {

/// Calls f(strides) for all lists of strides of the loop.
template <class F>
void each_strides(Loop& loop, F&& f) {
  for (Operand& operand : loop.value.in)
    if (!operand.is_number) f(operand.access.strides);
  for (Access& out : loop.out)
    if (out.buffer >= 0) f(out.strides);
  if (!loop.index.strides.empty()) f(loop.index.strides);
}

void erase(Loop& loop, std::size_t d) {
  each_strides(loop, [&](Counts& strides) { strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(d)); });
  for (Guard& guard : loop.guards) guard.strides.erase(guard.strides.begin() + static_cast<std::ptrdiff_t>(d));
  loop.sizes.erase(loop.sizes.begin() + static_cast<std::ptrdiff_t>(d));
  if (static_cast<int>(d) < loop.kept) --loop.kept;
}

bool may_join(Loop& loop, std::size_t d) {
  if (static_cast<int>(d) + 1 == loop.kept) return false;  // one is kept, the next is reduced
  if (loop.sizes[d] * loop.sizes[d + 1] > std::numeric_limits<std::int32_t>::max()) return false;  // counted by ints
  for (const Guard& guard : loop.guards)
    if (guard.strides[d] != 0 || guard.strides[d + 1] != 0) return false;
  bool joins = true;
  each_strides(loop, [&](const Counts& strides) { joins &= strides[d] == strides[d + 1] * loop.sizes[d + 1]; });
  return joins;
}

/// A guard that no dimension moves holds always or never; where it never does, the inner loop gets the size 0.
void leave_out_what_never_runs(Loop& loop) {
  for (const Guard& guard : loop.guards) {
    const bool fixed = std::ranges::all_of(guard.strides, [](std::int64_t stride) { return stride == 0; });
    if (!fixed || (guard.offset >= 0 && guard.offset < guard.size)) continue;
    const bool inner_is_kept = loop.kept == static_cast<int>(loop.sizes.size()) && loop.mode != Mode::Fold &&
                               loop.mode != Mode::Extreme && loop.mode != Mode::Scan;
    loop.sizes.push_back(0);
    if (inner_is_kept) ++loop.kept;
    each_strides(loop, [](Counts& strides) { strides.push_back(0); });
    for (Guard& each : loop.guards) each.strides.push_back(0);
    return;
  }
}

}  // namespace

Loop coalesced(Loop loop) {
  for (std::size_t d = loop.sizes.size(); d-- > 0;)
    if (loop.sizes[d] == 1) erase(loop, d);
  leave_out_what_never_runs(loop);
  for (std::size_t d = loop.sizes.size(); d-- > 1;) {
    if (!may_join(loop, d - 1)) continue;
    loop.sizes[d] *= loop.sizes[d - 1];
    erase(loop, d - 1);
  }
  return loop;
}

bool overlaps(const Loop& loop) {
  for (const Access& out : loop.out)
    for (const Operand& operand : loop.value.in)
      if (!operand.is_number && operand.access.buffer == out.buffer) return true;
  return false;
}

std::int64_t steps_at_once(const Loop& loop) {
  constexpr std::int64_t kMost = 8;
  if (loop.sizes.size() < 2) return 1;
  const std::size_t around = loop.sizes.size() - 2;
  const Access& out = loop.out[0];
  if (overlaps(loop) || out.index >= 0 || out.strides[around] != 0 || out.strides.back() == 0) return 1;
  for (const Guard& guard : loop.guards)
    if (guard.strides[around] != 0) return 1;
  for (std::int64_t steps = kMost; steps > 1; --steps)
    if (loop.sizes[around] % steps == 0) return steps;
  return 1;
}

}  // namespace kiln::compile
