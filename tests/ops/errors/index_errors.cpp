// Wrong calls of indexing, views and assembling, and what is defined where a loop over doubles does not say it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/value.hpp"
#include "kiln/ops/view/assemble.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/view/view.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

const WrongCall kIndexCalls[] = {
    // index
    {"IndexError: scatter: index -1 is out of range for dimension 0 of size 3",
     [] { scatter(floats({3}), 0, integers({1}, -1), floats({1})); }},
    {"DTypeError: scatter: float32 [3] and int64 [1] must have one element type",
     [] { scatter(floats({3}), 0, integers({1}), integers({1}), Update::Max); }},
    {"ShapeError: scatter: index [2, 5] does not fit [3, 4] beside dimension 0",
     [] { scatter(floats({3, 4}), 0, integers({2, 5}), floats({2, 5})); }},
    {"ShapeError: select_assign: source [2, 3] must have shape [2, 4], which index [2] selects of [3, 4]",
     [] { select_assign(floats({3, 4}), 0, integers({2}), floats({2, 3})); }},
    {"IndexError: index_fill: index 3 is out of range for dimension 0 of size 3",
     [] { index_fill(floats({3, 4}), 0, integers({2}, 3), 0.0); }},
    {"IndexError: take: index 6 is out of range for size 6 in [6]", [] { take(floats({2, 3}), integers({1}, 6)); }},
    {"IndexError: take: index -7 is out of range for size 6 in [6]", [] { take(floats({2, 3}), integers({1}, -7)); }},
    {"IndexError: take: index 0 is out of range for size 0 in [0]", [] { take(floats({0}), integers({1}, 0)); }},
    {"ArgumentError: ravel_index: 1 indices for a shape [2, 3]", [] { ravel_index(Values{integers({1})}, {2, 3}); }},
    {"ShapeError: index_get: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { index_get(floats({4, 4}), Values{integers({2}), integers({3})}); }},
    {"ShapeError: take_along_dim: index [2] must have as many dimensions as float32 [2, 3]",
     [] { take_along_dim(floats({2, 3}), integers({2}), 1); }},
    {"ShapeError: take_along_dim: [2, 1] and [3, 1] do not broadcast: 2 and 3 differ in dimension -2",
     [] { take_along_dim(floats({2, 3}), integers({3, 1}), 1); }},
    {"ShapeError: gather_nd: the last dimension of index [4, 3] must have 1 to 2 elements, for float32 [2, 3]",
     [] { gather_nd(floats({2, 3}), integers({4, 3})); }},
    {"ShapeError: scatter_nd: source [5] does not broadcast to [4, 3]",
     [] { scatter_nd(floats({2, 3}), integers({4, 1}), floats({5})); }},
    {"ArgumentError: index_get: needs an index", [] { index_get(floats({2, 3}), Values{Value()}); }},
    {"IndexError: index_put: 3 indices for float32 [2, 3]",
     [] { index_put(floats({2, 3}), Values{integers({1}), integers({1}), integers({1})}, 0); }},
    {"ShapeError: index_get: the mask [3] does not fit [2, 3] from dimension 0",
     [] { index_get(floats({2, 3}), Values{flags({3})}); }},
    {"DTypeError: index_get: indices must be an integer tensor, got float32 [2]",
     [] { index_get(floats({2, 3}), Values{floats({2})}); }},
    {"ArgumentError: unravel_index: the shape has no dimensions", [] { unravel_index(integers({1}), {}); }},
    {"ShapeError: nonzero: float32 [] has no dimensions to index", [] { nonzero(floats({})); }},
    // masks
    {"DTypeError: mask_select: the mask must be boolean, got int64 [2]",
     [] { mask_select(floats({2}), integers({2})); }},
    {"ShapeError: masked_scatter: the mask [3] does not have the shape of float32 [2]",
     [] { masked_scatter(floats({2}), flags({3}), floats({3})); }},
    {"ShapeError: masked_scatter: float32 [2] has 2 elements for 3 places",
     [] { masked_scatter(floats({3}), flags({3}), floats({2})); }},
    {"DTypeError: mask_fill: the mask must be boolean, got float32 [2]",
     [] { mask_fill(floats({2}), floats({2}), 0); }},
    {"ShapeError: mask_assign: the mask [3] does not fit [2, 3] from dimension 0",
     [] { mask_assign(floats({2, 3}), flags({3}), 1); }},
    {"ShapeError: mask_assign: source [4] does not broadcast to [3]",
     [] { mask_assign(floats({3}), flags({3}), floats({4})); }},
    {"ArgumentError: one_hot_fill: -1 classes", [] { one_hot_fill(integers({2}), -1, 1, 0); }},
    // views
    {"ShapeError: squeeze: dimension 1 of float32 [1, 2] has size 2, not 1", [] { squeeze(floats({1, 2}), {0, 1}); }},
    {"ArgumentError: unsqueeze: dimension 1 is named twice in [1, -2]", [] { unsqueeze(floats({2}), {1, -2}); }},
    {"ArgumentError: movedim: [0] and [0, 1] differ in length", [] { movedim(floats({2, 3}), {0}, {0, 1}); }},
    {"ArgumentError: movedim: dimension 1 is named twice in [1, -1]", [] { movedim(floats({2, 3}), {0, 1}, {1, -1}); }},
    {"ShapeError: broadcast_tensors: [2] and [3] do not broadcast: 2 and 3 differ in dimension -1",
     [] { broadcast_tensors(Values{floats({2}), floats({3})}); }},
    {"ArgumentError: roll: [1] and [0, 1] differ in length", [] { roll(floats({2, 3}), {1}, {0, 1}); }},
    {"IndexError: fliplr: dimension 1 is out of range for rank 1", [] { fliplr(floats({3})); }},
    {"ArgumentError: rot90: a plane needs two dimensions, got 1 twice", [] { rot90(floats({2, 3}), 1, 1, -1); }},
    {"ArgumentError: repeat_interleave: -1 times", [] { repeat_interleave(floats({2}), -1, 0); }},
    {"ShapeError: repeat_interleave: 2 * 4611686018427387904 elements are more than 2^63 - 1",
     [] { repeat_interleave(floats({2}), kHuge, 0); }},
    {"ShapeError: repeat_interleave: counts [3] do not have one entry for each of the 2 slices of dimension 0",
     [] { repeat_interleave(floats({2}), integers({3}), 0); }},
    {"ArgumentError: repeat_interleave: -2 times", [] { repeat_interleave(floats({2}), integers({2}, -2), 0); }},
    {"ArgumentError: chunk: the number of parts must be positive, got 0", [] { chunk(floats({2}), 0, 0); }},
    {"ArgumentError: tensor_split: the number of parts must be positive, got -1",
     [] { tensor_split(floats({2}), -1, 0); }},
    {"ShapeError: split_with_sizes: the sizes add up to 3, not the 5 of dimension 0",
     [] { split_with_sizes(floats({5}), {1, 2}, 0); }},
    {"ShapeError: split_with_sizes: the sizes add up to more than the 5 of dimension 0",
     [] { split_with_sizes(floats({5}), {4, kHuge, kHuge}, 0); }},
    {"IndexError: split_at: 1 does not lie between 3 and 5", [] { split_at(floats({5}), {3, 1}, 0); }},
    {"IndexError: unbind: dimension 0 is out of range for rank 0", [] { unbind(floats({}), 0); }},
    // assembling
    {"ShapeError: block_diag: needs matrices, got float32 [2]", [] { block_diag(Values{floats({2})}); }},
    {"ArgumentError: block_diag: needs at least one matrix", [] { block_diag({}); }},
    {"ArgumentError: pad: cannot reflect 3 elements of the 3 of dimension 0",
     [] { pad(floats({3}), {3}, {0}, PadMode::Reflect); }},
    {"ArgumentError: pad: cannot wrap around 4 elements of the 3 of dimension 0",
     [] { pad(floats({3}), {0}, {4}, PadMode::Circular); }},
    {"ArgumentError: pad: dimension 0 of float32 [0] has no edge", [] { pad(floats({0}), {1}, {0}, PadMode::Edge); }},
    {"ArgumentError: pad: by 0 and -4 elements nothing is left of the 3 of dimension 0",
     [] { pad(floats({3}), {0}, {-4}, PadMode::Edge); }},
    {"ShapeError: meshgrid: needs vectors, got float32 [2, 2]", [] { meshgrid(Values{floats({2, 2})}); }},
    {"ArgumentError: combinations: of 0 elements", [] { combinations(floats({4}), 0); }},
    {"ArgumentError: combinations: of 32 of 64 elements there are more than 2^31 numbers",
     [] { combinations(floats({64}), 32); }},
    // diagonals
    {"ShapeError: diagonal: needs matrices, got float32 [3]", [] { diagonal(floats({3})); }},
    {"ArgumentError: diagonal: dimension 1 is named twice", [] { diagonal(floats({3, 3}), 0, 1, -1); }},
    {"ShapeError: diag: needs a vector or a matrix, got float32 [1, 1, 1]", [] { diag(floats({1, 1, 1})); }},
    {"ArgumentError: diag_embed: a diagonal 4611686018427387904 off the main one",
     [] { diag_embed(floats({2}), kHuge); }},
    {"ShapeError: triu_mask: shape [-1, 2] has a negative size", [] { triu_mask({-1, 2}, Device::cpu()); }},
    {"ShapeError: tril_mask: needs the shape of a matrix, got [2]", [] { tril_mask({2}, Device::cpu()); }},
};

TEST(WrongCallsOfIndexing, AreAnsweredWithASentence) { expect_sentences(kIndexCalls); }

// ---- what is defined -----------------------------------------------------------------------------------------------

const char* const kDevices[] = {"cpu", "reference"};
using Numbers = std::vector<double>;

Value doubles(const Numbers& numbers, const Device& device) {
  return from_data(
      TensorData::of<double>({static_cast<std::int64_t>(numbers.size())}, std::span<const double>(numbers)), device);
}
Value places(const std::vector<std::int64_t>& numbers, const Device& device) {
  return from_data(
      TensorData::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, std::span<const std::int64_t>(numbers)),
      device);
}
Numbers read(const Value& x) { return x.data().to_vector<double>(); }

TEST(Scatter, LetsTheLastAssignmentWinAndHaveTheGradient) {
  for (const char* name : kDevices) {
    const Device device = Device::parse(name).autodiff();
    const Value x = doubles({1, 2, 3}, device).require_grad(), source = doubles({4, 5, 6}, device).require_grad();
    const Value index = places({2, 0, 2}, device), weights = doubles({10, 20, 30}, device);
    for (const Value& z : {scatter(x, 0, index, source), select_assign(x, 0, index, source)}) {
      EXPECT_EQ(read(z), (Numbers{5, 2, 6}));
      const Values gradients = grad(sum(z * weights), Values{x, source});
      EXPECT_EQ(read(gradients[0]), (Numbers{0, 20, 0}));
      EXPECT_EQ(read(gradients[1]), (Numbers{0, 10, 30}));
    }
  }
}

TEST(Scatter, SharesTheGradientOfEqualExtremes) {
  for (const char* name : kDevices) {
    const Device device = Device::parse(name).autodiff();
    const Value x = doubles({7, 1}, device).require_grad(), source = doubles({7, 0, 7, 2}, device).require_grad();
    const Value index = places({0, 0, 0, 1}, device);
    const Value z = scatter(x, 0, index, source, Update::Max);
    EXPECT_EQ(read(z), (Numbers{7, 2}));
    const Values gradients = grad(sum(z * doubles({6, 1}, device)), Values{x, source});
    EXPECT_EQ(read(gradients[0]), (Numbers{2, 0}));
    EXPECT_EQ(read(gradients[1]), (Numbers{2, 0, 2, 1}));
  }
}

// z = x * s0 * s1 * s2, at 2 * 0 * 3 * 0 and at 5 * 0 * 4: first and second derivatives by hand.
TEST(Scatter, DifferentiatesProductsBesideZeros) {
  for (const char* name : kDevices) {
    const Device device = Device::parse(name).autodiff();
    const Value x = doubles({2, 5}, device).require_grad(), s = doubles({0, 3, 0, 0, 4}, device).require_grad();
    const Value z = scatter(x, 0, places({0, 0, 0, 1, 1}, device), s, Update::Mul);
    EXPECT_EQ(read(z), (Numbers{0, 0}));
    const Values first = grad(sum(z), Values{x, s}, {.create_graph = true});
    EXPECT_EQ(read(first[0]), (Numbers{0, 0}));
    EXPECT_EQ(read(first[1]), (Numbers{0, 0, 0, 20, 0}));
    // Along v = (1, 1, 1, 1, 1): rows of the Hessian in s, summed.
    const Values second = grad(sum(first[1]), Values{x, s});
    EXPECT_EQ(read(second[0]), (Numbers{0, 4}));           // d(20)/dx1 = 4
    EXPECT_EQ(read(second[1]), (Numbers{6, 0, 6, 5, 5}));  // ds0 ds2: x s1 = 6; ds3 ds4: x = 5
  }
}

TEST(Scatter, HandsNanOnAndKnowsBooleansAndNarrowIntegers) {
  for (const char* name : kDevices) {
    const Device device = Device::parse(name);
    const double nan = std::nan("");
    const Value index = places({0, 0, 1, 1}, device);
    for (const Update update : {Update::Min, Update::Max, Update::Add, Update::Mul}) {
      const Numbers z = read(scatter(doubles({1, nan}, device), 0, index, doubles({nan, 2, 3, 4}, device), update));
      EXPECT_TRUE(std::isnan(z[0]) && std::isnan(z[1]));
    }
    const Numbers assigned = read(scatter(doubles({1, nan}, device), 0, index, doubles({nan, 2, 3, 4}, device)));
    EXPECT_EQ(assigned, (Numbers{2, 4}));
    const auto narrow = [&](const Numbers& numbers, DType dtype) { return cast(doubles(numbers, device), dtype); };
    EXPECT_EQ(read(scatter_add(narrow({100, 0}, DType::I8), 0, index, narrow({100, 100, 1, 2}, DType::I8))),
              (Numbers{44, 3}));
    EXPECT_EQ(read(scatter_add(narrow({0, 1}, DType::Bool), 0, index, narrow({0, 0, 1, 1}, DType::Bool))),
              (Numbers{0, 1}));
    EXPECT_EQ(read(scatter(narrow({1, 1}, DType::Bool), 0, index, narrow({1, 1, 1, 0}, DType::Bool), Update::Mul)),
              (Numbers{1, 0}));
    EXPECT_EQ(read(scatter(narrow({9, 200}, DType::U8), 0, index, narrow({3, 250, 7, 255}, DType::U8), Update::Max)),
              (Numbers{250, 255}));
  }
}

TEST(Masks, MayBeAllFalseOrEmpty) {
  const Value none = full({3, 2}, false, Device::cpu(), DType::Bool), x = floats({3, 2});
  EXPECT_EQ(mask_select(x, none).shape(), (Shape{0}));
  EXPECT_EQ(argwhere(none).shape(), (Shape{0, 2}));
  EXPECT_EQ(read(masked_scatter(x, none, floats({0}))), read(x));
  EXPECT_EQ(index_get(x, Values{none}).shape(), (Shape{0}));
  EXPECT_EQ(argwhere(floats({0, 3})).shape(), (Shape{0, 2}));
  EXPECT_EQ(argwhere(floats({})).shape(), (Shape{1, 0}));
  EXPECT_EQ(flat_nonzero(from_data(TensorData::of<double>({3}, {0.0, std::nan(""), -0.0}), Device::cpu())).numel(), 1);
}

TEST(Views, OfWindowsShareTheirElements) {
  const Value x = doubles({1, 2, 3, 4, 5}, Device::cpu());
  const Value windows = unfold(x, 0, 3, 1);
  Device::cpu().sync();
  EXPECT_EQ(windows.node()->storage.get(), x.node()->storage.get());
  EXPECT_EQ(read(unfold(x, 0, 3, 2)), (Numbers{1, 2, 3, 3, 4, 5}));
  EXPECT_EQ(read(unfold(x, 0, 2, 1) * 2.0), (Numbers{2, 4, 4, 6, 6, 8, 8, 10}));
  EXPECT_EQ(diagonal(reshape(doubles({1, 2, 3, 4}, Device::cpu()), {2, 2})).shape(), (Shape{2}));
}

// Kernels that take strides must take those of windows, which overlap.
TEST(Views, OfWindowsAreOperandsOfEverything) {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
    const Value x = cast(reshape(arange(0, 120, 1, Device::cpu()), {2, 3, 20}), dtype) * 0.125;
    const Value windows = unfold(x, 2, 5, 1);  // [2, 3, 16, 5]
    const Value copied = from_data(windows.data(), Device::cpu());
    const Value weight = ones({5, 4}, Device::cpu(), dtype), kernel = ones({2, 3, 3, 3}, Device::cpu(), dtype);
    const std::function<Value(const Value&)> functions[] = {
        [&](const Value& v) { return matmul(v, weight); },
        [&](const Value& v) { return matmul(transpose(v), v); },
        [&](const Value& v) { return conv(v, kernel, {}); },
        [&](const Value& v) { return max_pool(v, {.kernel = {2, 2}}); },
        [&](const Value& v) { return avg_pool(v, {.kernel = {2, 2}}); },
        [&](const Value& v) { return softmax(v, 2); },
        [&](const Value& v) { return softmax(v, -1); },
        [&](const Value& v) { return sum(v, {1, 3}); },
        [&](const Value& v) { return max(v, {2}); },
        [&](const Value& v) { return argmax(v, 3); },
        [&](const Value& v) { return exp(v * -1.0) + v; },
        [&](const Value& v) { return reshape(permute(v, {3, 0, 2, 1}), {-1, 3}); },
        [&](const Value& v) { return select(v, 3, places({4, 0}, Device::cpu())); },
        [&](const Value& v) { return fold(v, 2, 20, 1); },
    };
    for (const auto& function : functions) EXPECT_EQ(read(function(windows)), read(function(copied)));
  }
}

TEST(OneHot, HoldsMoreClassesThanTheIndexTypeCounts) {
  const Value index = cast(places({-128, 127}, Device::cpu()), DType::I8);
  EXPECT_EQ(sum(one_hot(index, 300)).item(), 1);
  EXPECT_EQ(sum(one_hot_fill(index, 300, 1, 0)).item(), 1);
}

}  // namespace
}  // namespace kiln
