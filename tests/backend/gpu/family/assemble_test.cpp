// Tensors put together of others, and what need not be copied or converted for that: parts that lie beside each other, halves
// that are widened as they are read, norms that are rounded as they are written.
#include <algorithm>

#include "tests/backend/gpu/family/watched.hpp"

namespace kiln::test {
namespace {

bool is_view_of(const Value& part, const Value& whole) {
  return part.node()->storage.get() == whole.node()->storage.get();
}

TEST(GpuCat, LeavesPartsWhereTheyLieSideBySide) {
  const TensorData data = whole_numbers({6, 5, 4}, DType::F32, 100);
  for (int dim = 0; dim < 3; ++dim) {
    const Value x = from_data(data, simulated());
    const Value first = narrow(x, dim, 1, 2), second = narrow(x, dim, 3, 1);
    const Value joined = cat(Values{first, second}, dim);
    EXPECT_TRUE(same_bytes(joined.data(), narrow(x, dim, 1, 3).data())) << dim;
    EXPECT_TRUE(is_view_of(joined, x)) << dim;
    // Not so in another order, with a gap between, of one part twice, and beside another tensor.
    for (const Values& parts : {Values{second, first}, Values{narrow(x, dim, 0, 2), second}, Values{second, second},
                                Values{first, narrow(x + 0, dim, 3, 1)}}) {
      const Value copied = cat(parts, dim);
      std::int64_t at = 0;
      for (const Value& part : parts) {
        EXPECT_TRUE(same_bytes(narrow(copied, dim, at, part.dim(dim)).data(), part.data())) << dim;
        at += part.dim(dim);
      }
      EXPECT_FALSE(is_view_of(copied, x)) << dim;
    }
  }
  const Value x = from_data(data, simulated());
  Values planes;
  for (int i = 0; i < 4; ++i) planes.push_back(squeeze(narrow(x, -1, i, 1), -1));
  const Value stacked = stack(planes, 0);
  EXPECT_TRUE(is_view_of(stacked, x));
  EXPECT_TRUE(same_bytes(stacked.data(), permute(x, {2, 0, 1}).data()));
  const Value changed = stacked + 1;  // the parts stay what they are
  (void)changed.data();
  EXPECT_TRUE(same_bytes(x.data(), data));
}

TEST(GpuRavel, ConvertsWhatItPutsTogether) {
  for (const DType to : {DType::F32, DType::BF16, DType::F64, DType::I32}) {
    Values parts;
    std::vector<double> wanted;
    unsigned seed = 0;
    for (const DType dtype : {DType::BF16, DType::BF16, DType::F32, DType::I64, DType::Bool, DType::F16, DType::U8})
      for (const Shape& shape : {Shape{8, 8}, Shape{3}, Shape{}, Shape{0, 4}, Shape{4, 16}}) {
        const TensorData data = whole_numbers(shape, dtype, 60, ++seed);
        parts.push_back(from_data(data, simulated()));
        if (shape.size() == 2 && seed % 2) parts.back() = permute(permute(parts.back(), {1, 0}) + 0, {1, 0});
        for (const double number : parts.back().data().to_vector<double>()) wanted.push_back(number);
      }
    expect_numbers(ravel(parts, to).data(), wanted, text(to));
  }
}

TEST(GpuRavel, IsToldOfHalvesAsTheyAre) {
  const WatchedDevice gpu;
  const Value x = gpu.of({4, 6}, DType::BF16), y = gpu.of({8});
  (void)gpu.launches();
  const Value together = ravel(Values{reshape(cast(x, DType::F32), {3, 8}), y}, DType::F32);
  EXPECT_EQ(gpu.launches(), (Names{"cat", "cat"}));  // a kernel for each type
  const Value rounded = ravel(Values{cast(y, DType::BF16), y}, DType::F32);
  EXPECT_EQ(gpu.launches().size(), 3u);
  std::vector<double> wanted = x.data().to_vector<double>();
  for (const double number : y.data().to_vector<double>()) wanted.push_back(number);
  expect_numbers(together.data(), wanted, "together");
}

TEST(GpuAttention, MakesGradientsBesideEachOtherWhereItsOperandsAre) {
  const Shape parts{2, 5, 3, 2, 8}, one{2, 2, 5, 8};
  const Value all = from_data(whole_numbers(parts, DType::F32, 7), simulated()) * 0.1;
  const Value turned = permute(all, {2, 0, 3, 1, 4});  // [3, batch, heads, time, width]
  const Value scale(0.3), g = from_data(whole_numbers(one, DType::F32, 5, 3), simulated());
  const auto gradients = [&](const Value& q, const Value& k, const Value& v) {
    const Values in{q, k, v, Value(), Value(), scale, Value()};
    const Values made = emit_all(op::Attention{true}, in);
    Values more = in;
    more.insert(more.end(), {g, made[1], sum(g * made[0], {3}), Value()});
    return emit_all(op::AttentionGrad{true}, more);
  };
  const auto part = [&](int i) { return squeeze(narrow(turned, 0, i, 1), 0); };
  const Value q = part(0), k = part(1), v = part(2);
  const Values together = gradients(q, k, v), apart = gradients(q + 0, k + 0, v + 0);
  const Value joined = permute(stack(together, 0), {1, 3, 0, 2, 4});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bytes(together[i].data(), apart[i].data())) << i;
  EXPECT_TRUE(is_view_of(joined, together[0]));
  EXPECT_EQ(joined.shape(), parts);
  EXPECT_EQ(joined.node()->strides, contiguous_strides(parts));
  EXPECT_FALSE(is_view_of(apart[1], apart[0]));
  // Parts in another order, or of a larger whole, do not cover one.
  const Values turned_round = gradients(v, k, q);
  EXPECT_FALSE(is_view_of(turned_round[1], turned_round[0]));
}

TEST(GpuLayerNorm, IsRoundedAsItIsWritten) {
  const Value weight = from_data(whole_numbers({40}, DType::F32, 5, 2), simulated()) + 0.5,
              bias = from_data(whole_numbers({40}, DType::F32, 5, 3), simulated());
  const WatchedDevice gpu;
  const auto on = [&](const Device& device, const Value& value) { return from_data(value.data(), device); };
  for (const DType dtype : {DType::BF16, DType::F16}) {
    const auto program = [&](const Device& device) {
      const Value x = from_data(whole_numbers({3, 7, 40}, DType::F32, 50), device);
      const Value y = layer_norm(x, on(device, weight), on(device, bias), 1e-5);
      return cast(reshape(y, {21, 40}), dtype);
    };
    (void)gpu.launches();
    const Value fused = program(gpu.device);
    const Names launched = gpu.launches();
    EXPECT_EQ(std::ranges::count(launched, "elementwise"), 0) << dtype;
    EXPECT_TRUE(same_bytes(fused.data(), program(simulated()).data())) << dtype;
  }
}

TEST(GpuGroupNormGrad, ReadsGradientsOfHalves) {
  for (const std::int64_t rows : {6, 5000}) {  // with sums in one pass where there are many
    const Value x = from_data(whole_numbers({rows, 24}, DType::F32, 50), simulated()),
                weight = from_data(whole_numbers({24}, DType::F32, 5, 2), simulated()) + 0.5,
                g = from_data(whole_numbers({rows / 2, 2, 24}, DType::BF16, 9, 3), simulated());
    const op::GroupNormGrad op{1};
    const Values halves = emit_all(op, {x, weight, Value(1e-5), g}),
                 wide = emit_all(op, {x, weight, Value(1e-5), reshape(cast(g, DType::F32), {rows, 24})});
    // Threads take other neighbours, and so sums come in another order.
    for (std::size_t i = 0; i < 3; ++i)
      expect_near(halves[i], wide[i].data().to_vector<double>(), i == 0 ? 1e-5 : 1e-2, text(rows, " rows, ", i));
  }
  const WatchedDevice gpu;
  const Value x = gpu.of({6, 24}), weight = gpu.of({24}), g = gpu.of({2, 3, 24}, DType::BF16);
  (void)gpu.launches();
  const Value wide = reshape(cast(g, DType::F32), {6, 24});
  const Values made = emit_all(op::GroupNormGrad{1}, {x, weight, Value(1e-5), wide});
  const Names launched = gpu.launches();
  EXPECT_EQ(std::ranges::count(launched, "norm_grad_rows"), 1);
}

}  // namespace
}  // namespace kiln::test
