// Values that go from one GPU to another without passing the host. Kernels of the fake libraries do nothing, but copies and
// products are made: so it can be seen what a device waits for.
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/router/router.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/move.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

#define KILN_NEEDS_TWO_DEVICES() \
  KILN_NEEDS_DEVICE();           \
  KILN_NEEDS_COMPILER();         \
  if (device_count() < 2) GTEST_SKIP() << "one GPU"

/// How many microseconds each thing takes on the fake driver's devices, as long as it lives.
struct Paces {
  static constexpr int kQuick = 10, kSlow = 5000;
  Paces(int first, int second) { set(first, second); }
  ~Paces() { set(50, 50); }
  static void set(int first, int second) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (auto* const paces = reinterpret_cast<void (*)(int, int)>(::dlsym(library, "kiln_fake_paces")))
      paces(first, second);
  }
};

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(first + static_cast<float>(i));
  return all;
}
Value tensor(const Shape& shape, const std::vector<float>& elements, const Device& device) {
  return from_data(TensorData::of<float>(shape, elements), device);
}
std::vector<float> elements_of(const Value& value) { return value.data().to_vector<float>(); }

TEST(CudaPeers, CopyFromEachOther) {
  KILN_NEEDS_TWO_DEVICES();
  const auto before = fake_state();
  const Value x = tensor({4, 3}, numbers(12, 1), Device::cuda());
  const Value y = to_device(x, Device::cuda(1)), back = to_device(y, Device::cuda().autodiff());
  EXPECT_EQ(y.device(), Device::cuda(1));
  EXPECT_EQ(elements_of(y), numbers(12, 1));
  EXPECT_EQ(elements_of(back), numbers(12, 1));
  EXPECT_TRUE(back.device().is_autodiff());
  // Part of a tensor.
  EXPECT_EQ(elements_of(to_device(narrow(x, 0, 1, 2), Device::cuda(1))), numbers(6, 4));
  EXPECT_EQ(to_device(tensor({0}, {}, Device::cuda()), Device::cuda(1)).numel(), 0);
  const Value flags = from_data(TensorData::of<bool>({3}, {true, false, true}), Device::cuda());
  EXPECT_EQ(to_device(flags, Device::cuda(1)).data().to_vector<int>(), (std::vector{1, 0, 1}));
  if (before) { EXPECT_EQ(fake_state()->peers, before->peers + 4); }
  // Elements that are not in row-major order are put in order first, which the fake driver's kernels do not.
  if (!before) {
    const Value turned = to_device(transpose(x), Device::cuda(1));
    EXPECT_EQ(elements_of(turned), (std::vector<float>{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}));
  }
}

TEST(CudaPeers, WaitForWhatTheyCopy) {
  KILN_NEEDS_TWO_DEVICES();
  const Paces paces(Paces::kSlow, Paces::kQuick);
  const Value x = tensor({8}, numbers(8, 3), Device::cuda());
  const Ref<PendingMove> move = start_move(x, Device::cuda(1));
  EXPECT_EQ(elements_of(move->take()), numbers(8, 3));
}

TEST(CudaPeers, KeepMemoryThatOthersStillCopy) {
  KILN_NEEDS_TWO_DEVICES();
  Device::cuda().sync();
  const std::int64_t before = Device::cuda().memory().in_use;
  Value there;
  {
    const Paces paces(Paces::kQuick, Paces::kSlow);
    const Value earlier = tensor({8}, numbers(8, 0), Device::cuda(1));  // the second device is busy
    there = to_device(tensor({1000}, numbers(1000, 5), Device::cuda()), Device::cuda(1));
    for (int i = 0; i < 4; ++i) {
      const Value other = tensor({1000}, numbers(1000, 7000), Device::cuda());  // takes its memory, if that is free
      EXPECT_EQ(elements_of(other)[0], 7000);
    }
  }
  EXPECT_EQ(elements_of(there), numbers(1000, 5));
  Device::cuda().sync();
  EXPECT_EQ(Device::cuda().memory().in_use, before);
}

TEST(CudaPeers, GiveMemoryBackWhereItIsShort) {
  KILN_NEEDS_TWO_DEVICES();
  const Device first = Device::cuda(), second = Device::cuda(1);
  first.sync();
  const std::int64_t limit = first.memory().limit;
  first.release_memory();
  first.set_memory_limit(first.memory().in_use + (std::int64_t{6} << 20));
  const Paces paces(Paces::kQuick, Paces::kSlow);
  const std::vector<float> many = numbers(std::size_t{1} << 20, 1);
  Values there;
  for (int i = 0; i < 3; ++i) there.push_back(to_device(tensor({1 << 20}, many, first), second));  // 4 MiB each
  first.set_memory_limit(limit);
  for (const Value& each : there) EXPECT_EQ(elements_of(each), many);
}

TEST(CudaPeers, TakeErrorsAlong) {
  KILN_NEEDS_TWO_DEVICES();
  if (fake_state()) GTEST_SKIP() << "its kernels find no errors";
  const std::int64_t seven = 7;
  const Value index = from_data(TensorData::of<std::int64_t>({1}, {&seven, 1}), Device::cuda());
  const Value wrong = index_select(tensor({2}, {1, 2}, Device::cuda()), 0, index);
  // A quick GPU has found the error before the move begins; then the move throws it.
  EXPECT_EQ(sentence_of([&] { return (to_device(wrong, Device::cuda(1)) * 2).data(); }).find("IndexError: "), 0u);
  Device::cuda().sync();
}

TEST(CudaPeers, AreThePartsOfARouter) {
  KILN_NEEDS_TWO_DEVICES();
  const Device device = Device::parse("router:cuda,cuda:1").autodiff(), cpu = Device::cpu().autodiff();
  const auto before = fake_state();
  const RouterMoves moves = router_moves(device);
  std::vector<std::vector<float>> found[2];
  for (const bool routed : {false, true}) {
    const auto on = [&](int part) { return routed ? router_part(device, part) : cpu; };
    const Value a = tensor({2, 2}, {1, 2, 3, 4}, on(0)).require_grad();
    const Value b = tensor({2, 2}, {5, 6, 7, 8}, on(1)).require_grad();
    for (int i = 0; i < 5; ++i) {
      const Value x = tensor({2, 2}, numbers(4, static_cast<float>(i)), routed ? device : cpu);
      const Value result = matmul(matmul(matmul(x, a), b), a);
      found[routed].push_back(elements_of(result.detach()));
      if (before) continue;  // the gradient begins with a tensor that a kernel fills
      const Gradients gradients = backward(result);
      found[routed].push_back(elements_of(gradients.of(a)));
      found[routed].push_back(elements_of(gradients.of(b)));
    }
  }
  EXPECT_EQ(found[1], found[0]);
  const std::int64_t moved = router_moves(device).count - moves.count;
  EXPECT_GE(moved, 10);  // there and back
  if (before) { EXPECT_EQ(fake_state()->peers - before->peers, moved); }
}

}  // namespace
}  // namespace kiln::cuda::test
