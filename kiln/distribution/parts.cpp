#include "kiln/distribution/parts.hpp"

#include "kiln/ops/functions.hpp"

namespace kiln::distribution {

Values broadcast_parameters(std::string_view distribution, Inputs parameters) {
  Shape shape;
  std::optional<DType> dtype;
  Device device;
  for (const Value& parameter : parameters) {
    require<ArgumentError>(!parameter.empty(), distribution, ": a parameter is an empty tensor");
    if (parameter.is_scalar()) continue;
    require<DTypeError>(parameter.dtype() != DType::Bool, distribution, ": a parameter must be numbers, got ",
                        parameter);
    shape = broadcast(distribution, shape, parameter.shape());
    device = parameter.device();
    if (is_float(parameter.dtype())) dtype = dtype ? promote(*dtype, parameter.dtype()) : parameter.dtype();
  }
  require<ArgumentError>(static_cast<bool>(device), distribution, ": numbers alone have no device; give a tensor");
  Values result;
  for (const Value& parameter : parameters) {
    const DType type = dtype.value_or(DType::F32);
    if (parameter.is_scalar()) result.push_back(full(shape, parameter.scalar(), device, type));
    else result.push_back(expand(cast(parameter, type), shape));
  }
  return result;
}

}  // namespace kiln::distribution
