#include "kiln/ops/functions/index.hpp"

namespace kiln {

Value mask_select(const Value& x, const Value& mask) {
  require<DTypeError>(mask.dtype() == DType::Bool, "mask_select: the mask must be boolean, got ", mask);
  require<ShapeError>(mask.shape() == x.shape(), "mask_select: the mask ", mask.shape(), " does not have the shape of ",
                      x);
  std::vector<std::int64_t> positions;
  const TensorData data = mask.data();
  const auto flags = data.as<bool>();
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) positions.push_back(static_cast<std::int64_t>(i));
  const Shape shape{static_cast<std::int64_t>(positions.size())};
  return select(reshape(x, {x.numel()}), 0, from_data(TensorData::of<std::int64_t>(shape, positions), x.device()));
}

}  // namespace kiln
