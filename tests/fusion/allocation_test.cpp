// A plan that is known is replayed without asking the system for memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

#include "kiln/autodiff/backward.hpp"
#include "tests/fusion/fused_device.hpp"

namespace {

std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The compiler takes malloc for a stranger here where it sees through the first of these alone.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes ? bytes : 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace kiln::test {
namespace {

TEST(Replay, AllocatesNothing) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer sees every block come and go";
#endif
  const Device device{make_ref<fusion::Fusion>(Ref<Backend>(&Device::cpu().backend())), true};
  const auto numbers = [&](const Shape& shape) { return uniform(shape, -1, 1, device); };
  const Value x = numbers({8, 24}), target = numbers({8, 4});
  Values parameters{numbers({24, 16}), numbers({16}), numbers({16, 4}), numbers({4})};
  for (Value& parameter : parameters) parameter = parameter.require_grad();
  device.sync();

  std::int64_t made = -1;
  for (int step = 0; step < 5; ++step) {
    const Value hidden = relu(matmul(x, parameters[0]) + parameters[1]);
    const Value loss = mean(square(softmax(matmul(hidden, parameters[2]) + parameters[3], 1) - target));
    const Gradients gradients = backward(loss);
    for (Value& parameter : parameters) parameter = (parameter.detach() - gradients.of(parameter) * 0.1).require_grad();
    const std::int64_t before = allocations;
    device.flush();
    made = allocations - before;
  }
  EXPECT_EQ(made, 0);
  EXPECT_TRUE(std::isfinite(parameters[0].data().at(0)));
}

}  // namespace
}  // namespace kiln::test
