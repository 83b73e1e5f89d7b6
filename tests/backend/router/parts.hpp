// Routers of the tests, and tensors on their parts.
#pragma once
#include <vector>

#include "kiln/backend/router/router.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {

/// The processor twice: behind Fusion, and without it.
inline Device two_processors() { return Device::router({Device::cpu(), Device(plain_cpu())}); }

inline TensorData data_of(const Shape& shape, std::initializer_list<float> numbers) {
  return TensorData::of<float>(shape, numbers);
}
inline std::vector<float> numbers_of(const Value& value) { return value.data().to_vector<float>(); }

}  // namespace kiln::test
