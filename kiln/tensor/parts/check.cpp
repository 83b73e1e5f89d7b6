#include "kiln/tensor/parts/check.hpp"

#include <array>

namespace kiln {
namespace {

constexpr std::array<std::string_view, 3> kKindNames = {"floats", "integers", "booleans"};

}  // namespace

void require_tensor(const Value& x, int rank, Kind kind) {
  if (x.empty() || x.is_scalar()) fail<ShapeError>("expected a tensor of rank ", rank, ", got ", x);
  if (x.rank() != rank) fail<ShapeError>("expected a tensor of rank ", rank, ", got ", x);
  if (kind_of(x.dtype()) != kind)
    fail<DTypeError>("expected a tensor of ", kKindNames[static_cast<std::size_t>(kind)], ", got ", x);
}

Dims dims_or_all(Dims dims, int rank) {
  if (dims.empty())
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  return dims;
}

}  // namespace kiln
