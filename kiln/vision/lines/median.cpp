#include "kiln/vision/lines/median.hpp"

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/vision/filter.hpp"
#include "kiln/vision/lines/stencil.hpp"

namespace kiln::vision {

Value median_of(std::vector<Value> wires) {
  std::vector<Exchange> network;
  each_exchange(static_cast<int>(wires.size()),
                [&](int low, int high) { network.push_back({low, high, false, false}); });
  std::vector<bool> needed(wires.size());
  mark_needed(network, needed, wires.size() / 2);
  for (const Exchange& each : network) {
    Value &low = wires[static_cast<std::size_t>(each.low)], &high = wires[static_cast<std::size_t>(each.high)];
    if (!each.needs_low && !each.needs_high) continue;
    const Value smaller = each.needs_low ? minimum(low, high) : Value(),
                larger = each.needs_high ? maximum(low, high) : Value();
    low = smaller;
    high = larger;
  }
  return wires[wires.size() / 2];
}

Value median_blur(const Value& x, std::int64_t size) {
  constexpr std::string_view name = "median_blur";
  const CalledAs named("median_blur");
  require_pictures(name, x);
  require<ArgumentError>(size >= 1 && size % 2 == 1 && size <= 63, name, ": the size ", size,
                         " must be odd and from 1 to 63");
  if (x.numel() == 0 || size == 1) return x;
  const std::int64_t reach = size / 2;
  constexpr std::int64_t kLargestNetwork = 9;
  if (size <= kLargestNetwork) {
    const Window window{.row = -reach, .column = -reach, .rows = size, .columns = size};
    return run_stencil(x, {.steps = {{.fold = Fold::Median, .windows = {window}}}, .border = Border::Replicate});
  }
  const Value wide = make_border(x, {reach, reach, reach, reach}, Border::Replicate);
  Values elements;
  for (std::int64_t row = 0; row < size; ++row)
    for (std::int64_t column = 0; column < size; ++column)
      elements.push_back(narrow(narrow(wide, 2, row, x.dim(2)), 3, column, x.dim(3)));
  return kthvalue(stack(elements, -1), size * size / 2 + 1, -1).values;
}

}  // namespace kiln::vision
