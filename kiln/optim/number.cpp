#include "kiln/optim/number.hpp"

namespace kiln {

Value as_tensor(double number) { return full({}, number, Device::cpu(), DType::F64); }

}  // namespace kiln
