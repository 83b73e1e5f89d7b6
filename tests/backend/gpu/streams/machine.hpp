// A device for each test whose streams do nothing before somebody waits for them, and tensors of floats on it.
#pragma once
#include <numeric>
#include <vector>

#include "kiln/backend/gpu/order/own_stream.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/gpu/streams/deferred.hpp"

namespace kiln::gpu::test {

using Floats = std::vector<float>;
inline constexpr std::int64_t kCount = 1000;

[[maybe_unused]] inline const bool kRegistered = (register_streams(&open_stream), true);

/// A device of its own for each test.
struct Machine {
  Ref<Deferred> driver = make_ref<Deferred>();
  Ref<Gpu> gpu = make_ref<Gpu>(driver);
  Device device{gpu};
};

inline Floats counted(float first) {
  Floats numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}
inline Floats times(Floats numbers, float factor) {
  for (float& number : numbers) number *= factor;
  return numbers;
}
inline Value tensor(const Floats& numbers, const Device& device) {
  return from_data(TensorData::of<float>({static_cast<std::int64_t>(numbers.size())}, numbers), device);
}
inline Floats floats(const Value& value) { return value.data().to_vector<float>(); }
inline const std::byte* address(const Value& value) {
  return static_cast<const Memory&>(*value.node()->storage).bytes();
}

}  // namespace kiln::gpu::test
