// Every wrong call answers with one sentence that names the operation, the operands and the reason.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/ops/devices.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/view/view.hpp"
#include "tests/support/sentence.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

Value bytes(const Shape& shape) { return ones(shape, Device::cpu(), DType::U8); }

/// The op itself, which functions hand only what fits.
void cut(const Shape& shape, std::int64_t begin, std::int64_t step, std::int64_t size) {
  emit(op::Slice{.begin = {begin}, .step = {step}, .size = {size}}, {floats(shape)});
}

const WrongCall kCalls[] = {
    {"ShapeError: add: [2, 3] and [4] do not broadcast: 3 and 4 differ in dimension -1",
     [] { floats({2, 3}) + floats({4}); }},
    {"DeviceError: add: cpu and reference; move one with to_device()",
     [] { floats({2}) + ones({2}, Device::parse("reference")); }},
    {"ArgumentError: exp: the operand is empty", [] { exp(Value()); }},
    {"DTypeError: bitwise_and: takes integers or booleans, got float32", [] { bitwise_and(floats({2}), floats({2})); }},
    {"DTypeError: bitwise_not: takes integers or booleans, got a float", [] { bitwise_not(1.5); }},
    {"ShapeError: where: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { where(flags({2}), floats({3}), 0); }},
    {"IndexError: sum: dimension 2 is out of range for rank 2", [] { sum(floats({2, 3}), {2}); }},
    {"IndexError: sum: dimension -3 is out of range for rank 2", [] { sum(floats({2, 3}), {-3}); }},
    {"ArgumentError: mean: dimension 1 is named twice in [1, -1]", [] { mean(floats({2, 3}), {1, -1}); }},
    {"ShapeError: max: float32 [2, 0] has no elements along dimensions [1]", [] { max(floats({2, 0}), {1}); }},
    {"ShapeError: argmax: float32 [2, 0] has no elements along dimension 1", [] { argmax(floats({2, 0}), 1); }},
    {"ShapeError: reshape: float32 [2, 3] has 6 elements, [4] has 4", [] { reshape(floats({2, 3}), {4}); }},
    {"ShapeError: reshape: float32 [2, 3] has 6 elements, which [4, -1] cannot hold",
     [] { reshape(floats({2, 3}), {4, -1}); }},
    {"ShapeError: reshape: [-1, -1] leaves more than one size open", [] { reshape(floats({2, 3}), {-1, -1}); }},
    {"ShapeError: reshape: [-2, 3] has a negative size", [] { reshape(floats({2, 3}), {-2, 3}); }},
    {"ShapeError: permute: [0, 0] does not order the dimensions of float32 [2, 3]",
     [] { permute(floats({2, 3}), {0, 0}); }},
    {"ShapeError: expand: float32 [2, 3] does not broadcast to [2, 4]", [] { expand(floats({2, 3}), {2, 4}); }},
    {"ShapeError: squeeze: dimension 0 of float32 [2, 3] has size 2, not 1", [] { squeeze(floats({2, 3}), 0); }},
    {"IndexError: at: index 7 is out of range for dimension 1 of size 3", [] { at(floats({2, 3}), 1, 7); }},
    {"IndexError: at: index -4 is out of range for dimension 1 of size 3", [] { at(floats({2, 3}), 1, -4); }},
    {"IndexError: slice: elements from -1 in steps of 1 leave dimension 0 of size 4", [] { cut({4}, -1, 1, 2); }},
    {"IndexError: slice: elements from 4 in steps of -1 leave dimension 0 of size 4", [] { cut({4}, 4, -1, 2); }},
    {"IndexError: slice: elements from 1 in steps of 2 leave dimension 0 of size 4", [] { cut({4}, 1, 2, 3); }},
    {"IndexError: slice: elements from 1 in steps of -2 leave dimension 0 of size 4", [] { cut({4}, 1, -2, 2); }},
    {"IndexError: slice: elements from 0 in steps of 4611686018427387904 leave dimension 0 of size 4",
     [] { cut({4}, 0, std::int64_t{1} << 62, 3); }},
    {"ArgumentError: slice: the step of dimension 0 is 0", [] { cut({4}, 1, 0, 2); }},
    {"ArgumentError: slice: the step is 0",
     [] {
       const Range range{0, 1, 0};
       slice(floats({2}), {&range, 1});
     }},
    {"IndexError: narrow: 3 elements from 1 leave dimension 0 of size 2", [] { narrow(floats({2}), 0, 1, 3); }},
    {"ShapeError: expand: float32 [3] does not broadcast to [2]",
     [] {
       const Range range{0, 2};
       slice_assign(floats({4}), {&range, 1}, floats({3}));
     }},
    {"ShapeError: cat: [2, 3] and [2, 4] differ beyond dimension 0",
     [] {
       const Value parts[] = {floats({2, 3}), floats({2, 4})};
       cat(parts, 0);
     }},
    {"ArgumentError: cat: needs at least one tensor", [] { cat({}, 0); }},
    {"ShapeError: stack: [2] and [3] differ",
     [] {
       const Value parts[] = {floats({2}), floats({3})};
       stack(parts, 0);
     }},
    {"ArgumentError: split: parts of 0 elements", [] { split(floats({4}), 0, 0); }},
    {"ArgumentError: pad: by -2 and -1 elements nothing is left of the 2 of dimension 0",
     [] { pad(floats({2}), {-2}, {-1}); }},
    {"ShapeError: matmul: [2, 3] x [4, 5]: inner dimensions 3 and 4 differ",
     [] { matmul(floats({2, 3}), floats({4, 5})); }},
    {"ShapeError: matmul: [3] x [3, 2]: both need at least two dimensions",
     [] { matmul(floats({3}), floats({3, 2})); }},
    {"DTypeError: matmul_integer: needs a tensor of int8 or uint8, got float32 [2, 3]",
     [] { matmul_integer(floats({2, 3}), bytes({3, 2})); }},
    {"ShapeError: matmul_integer: [2, 3] x [4, 5]: inner dimensions 3 and 4 differ",
     [] { matmul_integer(bytes({2, 3}), bytes({4, 5})); }},
    {"ShapeError: matmul_integer: [3] x [3, 2]: both need at least two dimensions",
     [] { matmul_integer(bytes({3}), bytes({3, 2})); }},
    {"ShapeError: matmul_integer: a zero point of shape [3] does not fit [2, 3], which takes [2, 1]",
     [] { matmul_integer(bytes({2, 3}), bytes({3, 2}), bytes({3})); }},
    {"DTypeError: matmul_integer: uint8 [3, 2] and int8 [2] must have one element type",
     [] { matmul_integer(bytes({2, 3}), bytes({3, 2}), {}, cast(bytes({2}), DType::I8)); }},
    {"DTypeError: conv_integer: needs a tensor of int8 or uint8, got float32 [4, 3, 1, 1]",
     [] { conv_integer(bytes({1, 3, 5, 5}), floats({4, 3, 1, 1})); }},
    {"ShapeError: conv_integer: x [1, 3, 5, 5] has 3 channels, weight [4, 2, 3, 3] with 1 group takes 2",
     [] { conv_integer(bytes({1, 3, 5, 5}), bytes({4, 2, 3, 3})); }},
    {"ShapeError: conv_integer: a zero point of shape [3] does not fit [1, 3, 5, 5]",
     [] { conv_integer(bytes({1, 3, 5, 5}), bytes({4, 3, 1, 1}), bytes({3})); }},
    {"ShapeError: conv_integer: a zero point of shape [3] does not fit [4, 3, 1, 1]",
     [] { conv_integer(bytes({1, 3, 5, 5}), bytes({4, 3, 1, 1}), {}, bytes({3})); }},
    {"ShapeError: conv: x [1, 3, 5, 5] has 3 channels, weight [4, 2, 3, 3] with 1 group takes 2",
     [] { conv(floats({1, 3, 5, 5}), floats({4, 2, 3, 3}), {}); }},
    {"ShapeError: conv: a kernel of [3, 3] with dilation [1, 1] does not fit into [2, 2] with padding [0, 0] to [0, 0]",
     [] { conv(floats({1, 1, 2, 2}), floats({1, 1, 3, 3}), {}); }},
    {"ShapeError: conv: bias [3] does not have the 4 result channels of weight [4, 1, 1, 1]",
     [] { conv(floats({1, 1, 2, 2}), floats({4, 1, 1, 1}), floats({3})); }},
    {"ArgumentError: conv: stride [1], padding [0, 0] to [0, 0] and dilation [1, 1] need 2 entries each",
     [] { conv(floats({1, 1, 2, 2}), floats({4, 1, 1, 1}), {}, {.stride = {1}}); }},
    {"DTypeError: conv: needs a tensor of floats, got int64 [1, 1, 2, 2]",
     [] { conv(integers({1, 1, 2, 2}), floats({1, 1, 1, 1}), {}); }},
    {"ArgumentError: conv: 4611686018427387904 in [4611686018427387904] is not below 2^31",
     [] { conv(floats({1, 1, 9}), floats({1, 1, 5}), {}, {.dilation = {std::int64_t{1} << 62}}); }},
    {"ArgumentError: max_pool: 4294967296 in [4294967296] is not below 2^31",
     [] { max_pool(floats({1, 1, 2}), {.kernel = {std::int64_t{1} << 32}, .padding = {std::int64_t{1} << 31}}); }},
    {"ShapeError: max_pool: a window of [3] does not fit into [1, 1, 2] with padding [0]",
     [] { max_pool(floats({1, 1, 2}), {.kernel = {3}}); }},
    {"ArgumentError: avg_pool: padding [2] is more than half of kernel [3]",
     [] { avg_pool(floats({1, 1, 5}), {.kernel = {3}, .padding = {2}}); }},
    {"ArgumentError: adaptive_avg_pool: sizes [0] must be positive", [] { adaptive_avg_pool(floats({1, 1, 5}), {0}); }},
    {"DTypeError: select: indices must be an integer tensor, got float32 [8, 16]",
     [] { select(floats({10, 4}), 0, floats({8, 16})); }},
    {"IndexError: select: index 12 is out of range for dimension 0 of size 10",
     [] { select(floats({10, 4}), 0, integers({3}, 12)); }},
    {"IndexError: gather: index -1 is out of range for dimension 1 of size 4",
     [] { gather(floats({10, 4}), 1, integers({10, 1}, -1)); }},
    {"ShapeError: scatter_add: source [2] must have the shape of index [3]",
     [] { scatter_add(floats({4}), 0, integers({3}), floats({2})); }},
    {"ArgumentError: arange: the step is 0", [] { arange(0, 5, 0, Device::cpu()); }},
    {"ArgumentError: dropout: a probability of 1.5 is not between 0 and 1", [] { dropout(floats({2}), 1.5); }},
    {"ArgumentError: uniform: the range from 1 to 0 is empty", [] { uniform({2}, 1, 0, Device::cpu()); }},
    {"ShapeError: layer_norm: weight [4] does not cover the last dimensions of [2, 3]",
     [] { layer_norm(floats({2, 3}), floats({4}), floats({4})); }},
    {"IndexError: softmax: dimension 2 is out of range for rank 2", [] { softmax(floats({2, 3}), 2); }},
    {"ShapeError: cross_entropy: needs logits [batch, classes] and targets [batch], got [2, 3] and [3]",
     [] { cross_entropy_each(floats({2, 3}), integers({3})); }},
    {"ShapeError: item: float32 [2] has 2 elements, not one: index the one you want first, or read all by to_vector()",
     [] { (void)floats({2}).item(); }},
    {"ShapeError: zeros: shape [2, -1] has a negative size", [] { zeros({2, -1}, Device::cpu()); }},
    {"ShapeError: zeros: shape [4611686018427387904, 4] has more than 2^63 - 1 elements",
     [] { zeros({std::int64_t{1} << 62, 4}, Device::cpu()); }},
    {"ShapeError: unfold: a window of 3 elements, 2 apart, does not fit into 4",
     [] { unfold(floats({4}), 0, 3, 1, 2); }},
    {"ArgumentError: unfold: windows of 2 elements, 1 apart, in steps of 0", [] { unfold(floats({4}), 0, 2, 0); }},
    {"ShapeError: unfold: a window of 9223372036854775807 elements, 4 apart, does not fit into 4",
     [] { unfold(floats({4}), 0, std::numeric_limits<std::int64_t>::max(), 1, 4); }},
    {"ShapeError: fold: 6 elements have 5 windows of 2, not the 3 of float32 [3, 2]",
     [] { fold(floats({3, 2}), 0, 6, 1); }},
    {"IndexError: fold: dimension 0 is out of range for rank 0", [] { fold(floats({3}), 0, 3, 1); }},
    {"IndexError: cumsum: dimension 2 is out of range for rank 2", [] { cumsum(floats({2, 3}), 2); }},
    {"ShapeError: linear_recurrence: [2, 3] and [4] do not broadcast: 3 and 4 differ in dimension -1",
     [] { linear_recurrence(floats({2, 3}), floats({4}), 0); }},
    {"DTypeError: linear_recurrence: needs a tensor of floats, got int64 [2]",
     [] { linear_recurrence(integers({2}), integers({2}), 0); }},
    {"ArgumentError: topk: k is 4 but dimension 1 has 3 elements", [] { topk(floats({2, 3}), 4, 1); }},
    {"ArgumentError: topk: k is -1 but dimension 1 has 3 elements", [] { topk(floats({2, 3}), -1, 1); }},
    {"ArgumentError: kthvalue: k is 0 but dimension 1 has 3 elements, counted from 1",
     [] { kthvalue(floats({2, 3}), 0, 1); }},
    {"ShapeError: mode: float32 [2, 0] has no elements along dimension 1", [] { mode(floats({2, 0}), 1); }},
    {"ShapeError: searchsorted: the sorted [2, 3] has neither one dimension nor, but for the last, those of [4, 3]",
     [] { searchsorted(floats({2, 3}), floats({4, 3})); }},
    {"ShapeError: searchsorted: the sorted [] has neither one dimension nor, but for the last, those of [4, 3]",
     [] { searchsorted(floats({}), floats({4, 3})); }},
    {"ShapeError: bucketize: the boundaries must be a list, got float32 [2, 2]",
     [] { bucketize(floats({2, 2}), floats({2, 2})); }},
    {"ArgumentError: quantile: 1.5 is not between 0 and 1", [] { quantile(floats({3}), 1.5, 0); }},
    {"ShapeError: nanquantile: float32 [2, 0] has no elements along dimension 1",
     [] { nanquantile(floats({2, 0}), 0.5, 1); }},
    {"ShapeError: median: float32 [0] has no elements along dimension 0", [] { median(floats({0})); }},
    {"ShapeError: cov: takes [variables, observations], got float32 [3]", [] { cov(floats({3})); }},
    {"ShapeError: average: weights [2] do not broadcast to float32 [1]",
     [] { average(floats({1}), floats({2}), {0}); }},
    {"ArgumentError: bincount: -1 is negative", [] { bincount(integers({2}, -1)); }},
    {"DTypeError: bincount: counts integers, got float32 [2]", [] { bincount(floats({2})); }},
    {"ShapeError: bincount: weights [3] must have the shape of int64 [2]",
     [] { bincount(integers({2}), floats({3})); }},
    {"ArgumentError: histogram: the range from 2 to 2 is empty", [] { histogram(floats({3}), 4, 2, 2); }},
    {"ArgumentError: histogram: 0 bins", [] { histogram(floats({3}), 0, 0, 1); }},
    {"ShapeError: histogram: edges must be a list of two or more, got float32 [1]",
     [] { histogram(floats({3}), floats({1})); }},
    {"ShapeError: histc: float32 [0] has no elements to take the range from", [] { histc(floats({0}), 4); }},
    {"ArgumentError: diff: -1 times", [] { diff(floats({3}), -1); }},
    {"ShapeError: trapezoid: places float32 [4] are neither a list of 3 nor of the shape of float32 [2, 3]",
     [] { trapezoid(floats({2, 3}), floats({4})); }},
    {"ShapeError: interp: the points must be two lists of one length, got float32 [2] and float32 [3]",
     [] { interp(floats({2}), floats({2}), floats({3})); }},
};

TEST(WrongCalls, AreAnsweredWithASentence) { expect_sentences(kCalls); }

TEST(WrongCalls, AreToldWhatDevicesThereAre) {
  std::string there;
  for (const std::string& name : device_names()) there += (there.empty() ? "" : ", ") + name;
  EXPECT_NE(there.find("cpu, reference"), std::string::npos);
  EXPECT_EQ(sentence_of([] { Device::parse("abacus"); }), "DeviceError: no device 'abacus'; there are: " + there);
}

TEST(MaxPool, IsQuickForAWindowThatIsAllPadding) {
  const std::int64_t half = std::int64_t{1} << 29;
  const Value x = from_data(TensorData::of<float>({1, 1, 1, 3}, {2, 5, 3}), Device::parse("reference"));
  const Value pooled = max_pool(x, {.kernel = {1, 2 * half}, .stride = {1, 1}, .padding = {0, half}});
  EXPECT_EQ(pooled.data().to_vector<float>(), (std::vector<float>{5, 5, 5, 5}));
}

// ---- element types -------------------------------------------------------------------------------------------------

TEST(Promotion, FollowsTheTableForTensorsAndTheKindForNumbers) {
  const auto typed = [](DType dtype) { return ones({2}, Device::cpu(), dtype); };
  EXPECT_EQ((typed(DType::F16) + typed(DType::BF16)).dtype(), DType::F32);
  EXPECT_EQ((typed(DType::I32) + typed(DType::F16)).dtype(), DType::F16);
  EXPECT_EQ((typed(DType::U8) + typed(DType::I8)).dtype(), DType::I16);
  EXPECT_EQ((typed(DType::F16) + 2.5).dtype(), DType::F16);
  EXPECT_EQ((typed(DType::U8) + 2).dtype(), DType::U8);
  EXPECT_EQ((typed(DType::U8) + 2.5).dtype(), DType::F32);
  EXPECT_EQ((typed(DType::Bool) + 1).dtype(), DType::I64);
  EXPECT_EQ((typed(DType::I32) / typed(DType::I32)).dtype(), DType::F32);
  EXPECT_EQ(exp(typed(DType::I64)).dtype(), DType::F32);
  EXPECT_EQ(gt(typed(DType::F16), 0).dtype(), DType::Bool);
  EXPECT_EQ(sum(typed(DType::I8)).dtype(), DType::I64);
  EXPECT_EQ(mean(typed(DType::U8)).dtype(), DType::F32);
}

TEST(Integers, WrapAroundAndDivideByZeroToZero) {
  const auto of = [](std::int8_t value) { return full({1}, value, Device::cpu(), DType::I8); };
  EXPECT_EQ((of(127) + of(1)).item(), -128);
  EXPECT_EQ((of(-128) * of(-1)).item(), -128);
  EXPECT_EQ(neg(of(-128)).item(), -128);
  EXPECT_EQ(floor_divide(of(7), of(0)).item(), 0);
  EXPECT_EQ(floor_divide(of(-128), of(-1)).item(), -128);
  EXPECT_EQ(remainder(of(7), of(0)).item(), 0);
  EXPECT_EQ(shift_left(of(1), of(9)).item(), 0);
  EXPECT_EQ(shift_right(of(-2), of(9)).item(), -1);
}

TEST(NaN, GoesThroughMaximaAndReductions) {
  const double nan = std::nan("");
  const Value x = from_data(TensorData::of<float>({3}, {1.f, static_cast<float>(nan), 2.f}), Device::cpu());
  for (const Value& result : {maximum(x, 5.0), minimum(x, 5.0), relu(x)}) EXPECT_TRUE(std::isnan(result.data().at(1)));
  for (const Value& result : {max(x), min(x), sum(x), mean(x), prod(x)}) EXPECT_TRUE(std::isnan(result.item()));
  EXPECT_EQ(argmax(x, 0).item(), 1);
  EXPECT_EQ(argmin(x, 0).item(), 1);
}

}  // namespace
}  // namespace kiln
