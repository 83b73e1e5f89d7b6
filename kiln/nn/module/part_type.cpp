#include "kiln/nn/module/part_type.hpp"

namespace kiln::nn {

template const TensorAccess& tensor_access<Param<1>>();
template const TensorAccess& tensor_access<Param<2>>();
template const TensorAccess& tensor_access<Param<3>>();
template const TensorAccess& tensor_access<Param<4>>();
template const TensorAccess& tensor_access<Buffer<1>>();

}  // namespace kiln::nn
