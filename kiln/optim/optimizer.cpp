#include "kiln/optim/optimizer.hpp"

#include <cmath>

namespace kiln {

ParamState fresh_state(const Value& param, std::size_t slots) {
  ParamState state;
  if (size_of(param.dtype()) == 2) state.master = cast(param.detach(), DType::F32);
  const DType dtype = state.master ? DType::F32 : param.dtype();
  for (std::size_t i = 0; i < slots; ++i) state.slots.push_back(zeros(param.shape(), param.device(), dtype));
  return state;
}

Value current_master(const Value& master, const Value& param) {
  return where(eq(cast(master, param.dtype()), param), master, cast(param, DType::F32));
}

void require_rate(std::string_view optimizer, double rate) {
  require<ArgumentError>(std::isfinite(rate) && rate >= 0, optimizer, ": a learning rate of ", rate);
}

void require_gradient(std::string_view optimizer, const std::string& path, const Value& param, const Value& grad) {
  require<ShapeError>(grad.shape() == param.shape(), optimizer, ": the gradient of '", path, "' has shape ",
                      grad.shape(), ", the parameter ", param.shape());
}

}  // namespace kiln
