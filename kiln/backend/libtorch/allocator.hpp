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

/// Makes ATen take its memory on the host of this process from Kiln's pool from now on.
void use_pool();

/// The block of the pool that holds x; null where x lies in other memory.
Ref<Storage> block_of(const at::Tensor& x);

}  // namespace kiln::libtorch
