// Sums go through memory as it lies, so a tensor that lies in another order has a sum of other bits. Whatever order its
// operands lie in, what is fused lies, and is summed, as if its operations ran one at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

const Shape kShape{4, 32, 32, 40};  // enough for a product to take its steps along

/// Random numbers whose memory goes through the dimensions in this order.
Value lying(const Device& device, const Shape& shape, const Dims& order, unsigned seed) {
  Shape stored;
  Dims back = Dims::filled(order.size(), 0);
  for (int i = 0; i < order.size(); ++i) {
    stored.push_back(shape[static_cast<int>(order[i])]);
    back[static_cast<int>(order[i])] = i;
  }
  TensorData data(stored, DType::F32);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::ranges::generate(data.as<float>(), [&] { return normal(random); });
  return permute(Value(device.backend().upload(std::move(data), device)), back);
}

enum class Lies { RowMajor, ChannelsLast, Transposed, Zeros, Channels };
constexpr Lies kAll[] = {Lies::RowMajor, Lies::ChannelsLast, Lies::Transposed, Lies::Zeros, Lies::Channels};

Value operand(const Device& device, Lies lies, unsigned seed) {
  switch (lies) {
    case Lies::RowMajor: return lying(device, kShape, {0, 1, 2, 3}, seed);
    case Lies::ChannelsLast: return lying(device, kShape, {0, 2, 3, 1}, seed);
    case Lies::Transposed: return lying(device, kShape, {1, 0, 3, 2}, seed);
    case Lies::Zeros: return zeros(kShape, device);
    case Lies::Channels: return lying(device, {32, 1, 1}, {0, 1, 2}, seed);
  }
  return {};
}

/// What a program made, and sums of that in a program of their own.
std::vector<TensorData> results_of(const Values& made) {
  made[0].device().flush();
  Values read = made;
  for (const Value& value : made) {
    if (value.rank() == 4) read.push_back(sum(value, {0, 2, 3}));
    read.push_back(sum(value));
  }
  std::vector<TensorData> results;
  for (const Value& value : read) results.push_back(value.data());
  return results;
}

void expect_same_bits(const std::vector<TensorData>& ours, const std::vector<TensorData>& single,
                      const std::string& lie) {
  for (std::size_t i = 0; i < single.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(ours[i].bytes(), single[i].bytes())) << "result " << i << " of " << lie;
}

using Body = Values (*)(const Value&, const Value&, const Value&);
void expect_bits_of_single_operations(Body body, const std::array<Lies, 3>& lie) {
  const auto run = [&](const Device& device) {
    const Value x = operand(device, lie[0], 1), y = operand(device, lie[1], 2), z = operand(device, lie[2], 3);
    device.flush();
    return results_of(body(x, y, z));
  };
  const FusedDevice fused;
  std::string orders;
  for (const Lies each : lie) orders += text(' ', static_cast<int>(each));
  expect_same_bits(run(fused.device), run(Device::cpu()), orders);
}

template <class Test>
void for_all_orders(Test&& test) {
  for (const Lies x : kAll)
    for (const Lies y : kAll)
      for (const Lies z : kAll) test(std::array{x, y, z});
}

TEST(Orders, AreThoseOfSingleOperations) {
  for_all_orders([](const std::array<Lies, 3>& lie) {
    expect_bits_of_single_operations(
        [](const Value& x, const Value& y, const Value& z) {
          const Value one = expand((x + 0.5) * y, kShape), other = expand(z - 1, kShape);
          return Values{one, other, where(gt(other, 0.0), other, one) + y};
        },
        lie);
  });
}

TEST(Orders, AreThoseOfSingleOperationsThroughSumsInTheProgram) {
  for_all_orders([](const std::array<Lies, 3>& lie) {
    expect_bits_of_single_operations(
        [](const Value& x, const Value& y, const Value& z) {
          const Value shared = tanh(expand(x * y, kShape));
          return Values{mean(square(shared)), sum(shared + z), shared};
        },
        lie);
  });
}

TEST(Orders, AreThoseOfSingleOperationsAfterProducts) {
  for_all_orders([](const std::array<Lies, 3>& lie) {
    expect_bits_of_single_operations(
        [](const Value& x, const Value& y, const Value& z) {
          const Value square = lying(x.device(), {40, 40}, {0, 1}, 9);
          const Value kernels = lying(x.device(), {32, 32, 3, 3}, {0, 1, 2, 3}, 8);
          const ConvOptions same{.padding = {1, 1}};
          return Values{relu(z + matmul(expand(x, kShape), square)),
                        relu(y + conv(expand(x, kShape), kernels, {}, same))};
        },
        lie);
  });
}

TEST(Orders, AreThoseOfSingleOperationsInBlocksOfRows) {
  const auto body = [](const Device& device, const Dims& order) {
    const Value x = lying(device, {4096, 8, 64}, order, 1), y = lying(device, {4096, 8, 64}, {0, 1, 2}, 2);
    device.flush();
    const Value both = x + y;
    return results_of({both, softmax(both, 2)});
  };
  for (const Dims& order : {Dims{0, 1, 2}, Dims{1, 0, 2}, Dims{0, 2, 1}, Dims{2, 1, 0}}) {
    const FusedDevice fused;
    expect_same_bits(body(fused.device, order), body(Device::cpu(), order), text(order));
  }
}

}  // namespace
}  // namespace kiln::test
