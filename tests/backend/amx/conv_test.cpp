#include <gtest/gtest.h>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/conv/choose.hpp"
#include "kiln/backend/cpu/conv/conv.hpp"
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/planned/epilogue.hpp"

#include "tests/backend/arrays.hpp"
#include "tests/backend/convolutions.hpp"

namespace kiln::cpu {
namespace {

Value image_of(const Shape& shape, unsigned seed, std::vector<int> order = {}) {
  return random_tensor(shape, seed, std::move(order), DType::BF16);
}

template <class Op>
constexpr conv::Pass kPass = std::is_same_v<Op, op::Conv>            ? conv::Pass::Forward
                             : std::is_same_v<Op, op::ConvTranspose> ? conv::Pass::Data
                                                                     : conv::Pass::Weight;

template <class Op>
bool is_ours(const Op& op, Call call) {
  const conv::Geometry g = conv::Geometry::of(op, call);
  if (g.empty()) return false;
  const Algorithm algorithm =
      conv::choose({kPass<Op>, g, call.out[0].dtype(), kPass<Op> == conv::Pass::Forward && call.in.size() > 2})
          .algorithm;
  return algorithm == Algorithm::AmxConv;
}

template <class Op>
Value run(const Op& op, const std::vector<Value>& in) {
  const Descs desc = op.infer(in);
  Value out = tensor(desc[0].shape, desc[0].dtype);
  EXPECT_TRUE(is_ours(op, {in, {&out, 1}}));
  EXPECT_TRUE(conv::run(op, {in, {&out, 1}}));
  return out;
}

struct Operands {
  Value x, weight, y, bias;

  explicit Operands(const Case& c)
      : x(image_of(c.x(), 1)), weight(image_of(c.weight(), 2)), y(image_of(c.y(), 3)), bias(image_of({c.out}, 4)) {}
};
std::array<Value, 3> passes(const Case& c, const Operands& in) {
  return {run(c.conv(), {in.x, in.weight, in.bias}), run(op::ConvTranspose{c.conv(), c.sizes}, {in.y, in.weight}),
          run(op::ConvWeightGrad{c.conv(), c.kernel}, {in.x, in.y})};
}

class AmxConvolution : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!amx::available()) GTEST_SKIP() << "this machine has no products of bfloat16 vectors";
  }
};

// Each number is the exact sum, rounded once: the operands are eighths, so that float32 sums of them are exact.
TEST_P(AmxConvolution, AndItsGradientsAreExactSumsRoundedOnce) {
  const Case& c = GetParam();
  const Operands in(c);
  const std::vector<double> x = numbers(in.x), w = numbers(in.weight), y = numbers(in.y), b = numbers(in.bias);
  std::vector<double> to_y(y.size()), to_x(x.size(), 0.0), to_w(w.size(), 0.0);
  const std::size_t pixels = y.size() / static_cast<std::size_t>(c.batch * c.out);
  for (std::size_t i = 0; i < to_y.size(); ++i) to_y[i] = b[i / pixels % b.size()];
  each_product(c, [&](auto i, auto j, auto k) {
    to_y[std::size_t(k)] += x[std::size_t(i)] * w[std::size_t(j)];
    to_x[std::size_t(i)] += y[std::size_t(k)] * w[std::size_t(j)];
    to_w[std::size_t(j)] += y[std::size_t(k)] * x[std::size_t(i)];
  });
  for (auto* const list : {&to_y, &to_x, &to_w})
    for (double& number : *list) number = static_cast<float>(BF16(number));
  const std::array<Value, 3> made = passes(c, in);
  EXPECT_EQ(distance(numbers(made[0]), to_y), 0);
  EXPECT_EQ(distance(numbers(made[1]), to_x), 0);
  EXPECT_EQ(distance(numbers(made[2]), to_w), 0);
}

TEST_P(AmxConvolution, HasTheSameBitsOnAnyNumberOfThreads) {
  const Case& c = GetParam();
  const int before = num_threads();
  const Operands in(c);
  set_num_threads(1);
  const std::array<Value, 3> one = passes(c, in);
  for (const int threads : {2, 5}) {
    set_num_threads(threads);
    const std::array<Value, 3> many = passes(c, in);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], many[i])) << i << " on " << threads;
  }
  set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AmxConvolution,
    testing::Values(Case{2, 32, 32, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},    //
                    Case{1, 16, 16, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},    //
                    Case{2, 17, 35, {20}, {5}, {2}, {2}, {1}, {2}},                     // 1-d
                    Case{2, 40, 70, {15, 17}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},  // rows left over
                    Case{3, 48, 33, {16, 18}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},  //
                    Case{2, 24, 40, {12, 13}, {3, 2}, {1, 3}, {2, 1}, {2, 1}, {2, 3}},  // dilated
                    Case{2, 32, 16, {9, 11}, {2, 4}, {1, 1}, {1, 0}, {0, 3}, {1, 1}},   // uneven padding
                    Case{3, 40, 24, {9, 9}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},    // pixels that nothing sees
                    Case{2, 20, 30, {7, 8}, {2, 3}, {3, 4}, {0, 1}, {1, 0}, {1, 1}},    //
                    Case{3, 64, 48, {9, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},    // padded, pointwise
                    Case{2, 16, 20, {4, 4}, {3, 3}, {1, 1}, {4, 5}, {5, 4}, {1, 1}},    // more padding than kernel
                    Case{2, 18, 19, {4, 5, 6}, {2, 3, 3}, {1, 2, 1}, {1, 1, 0}, {0, 1, 2}, {1, 1, 2}},  // 3-d
                    Case{1, 32, 48, {9, 9}, {5, 5}, {1, 1}, {2, 2}, {2, 2}, {1, 1}},                    // many places
                    Case{1, 300, 530, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},                  // deep
                    Case{1, 40, 70, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},                    // few pixels
                    Case{1, 64, 48, {4, 6}, {3, 2}, {2, 1}, {1, 1}, {1, 1}, {1, 2}},                    //
                    Case{1, 600, 1100, {3, 4}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},                 //
                    Case{2, 65, 66, {32, 45}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}));  // pixels in parts

class Collected : public Epilogue {
 public:
  explicit Collected(std::int64_t count) : bits(static_cast<std::size_t>(count)), times(bits.size()) {}
  void finish(const ProductTile& piece) const override {
    const auto* const data = reinterpret_cast<const std::uint16_t*>(piece.data);
    for (std::int64_t row = 0; row < piece.rows; ++row)
      for (std::int64_t i = 0; i < piece.count; ++i) {
        const auto at = static_cast<std::size_t>(piece.first + row * piece.step + i);
        bits[at] = data[row * piece.row + i];
        ++times[at];
      }
  }
  mutable std::vector<std::uint16_t> bits;
  mutable std::vector<int> times;
};

TEST_F(AmxConvolution, HandsItsPiecesOver) {
  const Case c{3, 80, 150, {30, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Operands in(c);
  const std::vector<Value> operands{in.x, in.weight};
  const Value plain = run(c.conv(), operands);
  ASSERT_EQ(read(plain).strides, channels_last_strides(c.y()));
  const Collected collected(numel(c.y()));
  Value out = tensor(c.y(), DType::BF16);
  op::Epilogue op;
  op.product = c.conv();
  EXPECT_TRUE(conv::multiply(op, {operands, {&out, 1}}, collected));
  for (std::size_t i = 0; i < collected.bits.size(); ++i) {
    ASSERT_EQ(collected.times[i], 1) << i;
    ASSERT_EQ(collected.bits[i], reinterpret_cast<const std::uint16_t*>(read(plain).data)[i]) << i;
  }
}

TEST_F(AmxConvolution, ReadsOperandsInAnyOrder) {
  const Case c{2, 40, 48, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Operands in(c);
  const auto turned = [](const Value& value, std::vector<int> order) {
    Value same = image_of(value.shape(), 9, std::move(order));
    copy(read(value), read(same));
    return same;
  };
  const std::array<Value, 3> plain = passes(c, in);
  for (const std::vector<int>& order : std::vector<std::vector<int>>{{0, 2, 3, 1}, {3, 2, 1, 0}}) {
    Operands other = in;
    other.x = turned(in.x, order), other.y = turned(in.y, order), other.weight = turned(in.weight, order);
    const std::array<Value, 3> made = passes(c, other);
    for (std::size_t i = 0; i < made.size(); ++i) EXPECT_TRUE(same_bits(plain[i], made[i])) << i;
  }
}

TEST_F(AmxConvolution, LeavesOthersToOtherKernels) {
  const auto taken = [](const Case& c, DType dtype) {
    const Value x = random_tensor(c.x(), 1, {}, dtype), w = random_tensor(c.weight(), 2, {}, dtype);
    Value y = tensor(c.y(), dtype);
    const Value in[] = {x, w};
    return is_ours(c.conv(), {in, {&y, 1}});
  };
  const Case plain{1, 32, 32, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  EXPECT_TRUE(taken(plain, DType::BF16));
  EXPECT_FALSE(taken(plain, DType::F16));
  EXPECT_FALSE(taken(plain, DType::F32));
  Case few = plain, groups = plain, none = plain;
  few.in = 3, groups.groups = 2, none.batch = 0;
  for (const Case& c : {few, groups, none}) EXPECT_FALSE(taken(c, DType::BF16));
}

}  // namespace
}  // namespace kiln::cpu
