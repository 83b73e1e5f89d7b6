// The memory of ATen's own tensors comes from Kiln's pool, so that Device::memory() counts it and a limit holds for it.
#pragma once
#include "kiln/core/ref.hpp"

namespace at {
class Tensor;
}
namespace kiln {
class Storage;
}

namespace kiln::libtorch {

/// From now on, all tensors that ATen makes on the host of this process are in Kiln's pool.
void use_pool();

/// The block of the pool that holds x; null where x lies in other memory.
Ref<Storage> block_of(const at::Tensor& x);

}  // namespace kiln::libtorch
