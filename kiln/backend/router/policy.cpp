#include <algorithm>
#include <bit>

#include "kiln/backend/router/router.hpp"

namespace kiln {

int route_by_place(const RouteRequest& request) {
  const auto allows = [&](int part) { return part >= 0 && (request.allowed >> part & 1); };
  if (allows(request.near)) return request.near;
  const RouteOperand* anchor = nullptr;
  for (const RouteOperand& operand : request.operands)
    if (operand.stays && allows(operand.part) && (!anchor || anchor->bytes < operand.bytes)) anchor = &operand;
  if (anchor) return anchor->part;

  struct Cost {
    std::int64_t moved = 0, computed_elsewhere = 0;
    auto operator<=>(const Cost&) const = default;
  };
  const auto cost_of = [&](int part) {
    Cost cost;
    for (const RouteOperand& operand : request.operands) {
      if (!(operand.places >> part & 1)) cost.moved += operand.bytes;
      if (operand.part != part) cost.computed_elsewhere += operand.bytes;
    }
    return cost;
  };
  int best = std::countr_zero(request.allowed);
  for (int part = best + 1; part < 32; ++part)
    if (allows(part) && cost_of(part) < cost_of(best)) best = part;
  return best;
}

}  // namespace kiln
