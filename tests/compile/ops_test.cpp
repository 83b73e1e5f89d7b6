// Each family of ops, compiled, against the device cpu.
#include <limits>

#include <gtest/gtest.h>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/ops/view/view.hpp"
#include "tests/compile/compiled.hpp"

namespace kiln::compile {
namespace {

Value random(const Shape& shape, std::uint64_t key, double low = -2, double high = 2) {
  return uniform(shape, low, high, cpu(), DType::F32, Key{key});
}
Value whole(const Shape& shape, std::initializer_list<std::int64_t> numbers) {
  return from_data(TensorData::of<std::int64_t>(shape, numbers), cpu());
}

TEST(CompiledOps, EveryElementwiseFunctionOfFloats) {
  KILN_NEEDS_COMPILER();
  const auto all = [](const Values& in) {
    Values out;
    for (std::size_t fn = 0; fn < op::enumerator_count(op::UnaryFn()); ++fn)
      if (const auto domain = op::domain(static_cast<op::UnaryFn>(fn));
          domain == op::Domain::Float || domain == op::Domain::Number || domain == op::Domain::Any)
        out.push_back(emit(op::Unary{static_cast<op::UnaryFn>(fn)}, {in[0]}));
    for (std::size_t fn = 0; fn < op::enumerator_count(op::BinaryFn()); ++fn)
      if (const auto domain = op::domain(static_cast<op::BinaryFn>(fn));
          domain == op::Domain::Float || domain == op::Domain::Number || domain == op::Domain::Any)
        out.push_back(emit(op::Binary{static_cast<op::BinaryFn>(fn)}, {in[0], in[1]}));
    return out;
  };
  expect_same(all, {random({3, 5}, 1), random({3, 5}, 2)}, {.relative = 1e-4, .absolute = 1e-5});
}

TEST(CompiledOps, EveryElementwiseFunctionOfIntegers) {
  KILN_NEEDS_COMPILER();
  const auto all = [](const Values& in) {
    Values out;
    for (std::size_t fn = 0; fn < op::enumerator_count(op::BinaryFn()); ++fn)
      if (const auto domain = op::domain(static_cast<op::BinaryFn>(fn));
          domain == op::Domain::Integer || domain == op::Domain::Number || domain == op::Domain::Any)
        for (const DType dtype : {DType::I64, DType::I32, DType::I8, DType::U8})
          out.push_back(emit(op::Binary{static_cast<op::BinaryFn>(fn)}, {cast(in[0], dtype), cast(in[1], dtype)}));
    return out;
  };
  expect_same(all, {whole({2, 3}, {1, -7, 13, 100, 4, 6}), whole({2, 3}, {3, 2, -5, 7, 1, 2})});
}

TEST(CompiledOps, Views) {
  KILN_NEEDS_COMPILER();
  const auto views = [](const Values& in) {
    const Value &x = in[0], &y = in[1];
    const Range ranges[] = {{}, {1, 4, 2}, {.from = -1, .to = std::nullopt, .step = -1}};
    return Values{permute(x, {2, 0, 1}) + 1.0,
                  reshape(permute(x, {1, 0, 2}), {20, 6}),
                  slice(exp(x), ranges),
                  expand(y, {4, 5, 6}) * x,
                  cat(Inputs(std::array{x, x * 2.0, permute(permute(x, {1, 0, 2}), {1, 0, 2})}), 1),
                  slice_assign(x, std::array{Range{1, 3, 1}}, expand(y, {2, 5, 6})),
                  pad(x, {0, 1, 0}, {1, 0, 2}, 3.5),
                  flip(x, {0, 2}),
                  cast(x * 10.0, DType::I8),
                  cast(gt(x, 0.0), DType::F32)};
  };
  expect_same(views, {random({4, 5, 6}, 3), random({1, 6}, 4)});
}

TEST(CompiledOps, Reductions) {
  KILN_NEEDS_COMPILER();
  const auto reductions = [](const Values& in) {
    const Value& x = in[0];
    return Values{sum(x),
                  mean(x, {0}),
                  prod(x, {2}),
                  max(x, {0, 2}),
                  min(exp(x), {1}, true),
                  any(gt(x, 1.9), {1}),
                  all(lt(x, 1.9), {2}),
                  argmax(x, 1),
                  argmin(x),
                  variance(x, {2}),
                  softmax(x, 1),
                  log_softmax(x, -1),
                  sum(cast(x * 3.0, DType::I32), {0}),
                  cumsum(x, 1),
                  sum(in[1], {0})};
  };
  expect_same(reductions, {random({3, 4, 5}, 5), full(Shape{0, 3}, 1.0, cpu())});
}

TEST(CompiledOps, Products) {
  KILN_NEEDS_COMPILER();
  const auto products = [](const Values& in) {
    const Value &a = in[0], &b = in[1], &c = in[2];
    return Values{matmul(a, b), matmul(a, transpose(c)), matmul(transpose(b), transpose(a)),
                  matmul(reshape(a, {2, 1, 2, 7}), reshape(b, {1, 7, 5})), matmul(sigmoid(a), b)};
  };
  expect_same(products, {random({4, 7}, 6), random({7, 5}, 7), random({3, 7}, 8)});
}

TEST(CompiledOps, ConvolutionsAndPools) {
  KILN_NEEDS_COMPILER();
  const auto convolutions = [](const Values& in) {
    const Value &x = in[0], &w = in[1], &b = in[2], &depthwise = in[3];
    const PoolOptions padded{.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}};
    PoolOptions uncounted = padded;
    uncounted.count_padding = false;
    PoolOptions up = padded;
    up.ceil = true;
    const MaxPoolResult found = max_pool_with_indices(x, padded);
    return Values{conv(x, w, b),
                  conv(x, w, {}, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}}),
                  conv(x, depthwise, {}, {.stride = {2, 2}, .padding = {1, 1}, .groups = 4}),
                  conv_transpose(x, permute(w, {1, 0, 2, 3}), {}, {.stride = {2, 3}, .padding = {1, 0}}),
                  max_pool(x, padded),
                  found.values,
                  found.indices,
                  avg_pool(x, padded),
                  avg_pool(x, uncounted),
                  avg_pool(x, up),
                  adaptive_avg_pool(x, {3, 1}),
                  conv(in[4], in[5], b, {.stride = {1, 1}, .padding = {3, 3}, .dilation = {3, 3}})};
  };
  expect_same(convolutions, {random({2, 4, 9, 8}, 9), random({6, 4, 3, 3}, 10), random({6}, 11),
                             random({8, 1, 3, 3}, 12), random({1, 2, 2, 1}, 13), random({6, 2, 3, 3}, 14)});
}

Value bytes(const Shape& shape, std::uint64_t key, DType dtype = DType::I8) {
  return cast(random(shape, key, dtype == DType::U8 ? 0 : -100, 100), dtype);
}

// A zero point for each channel stands along the first dimension of the weight, whatever the last one's size is.
TEST(CompiledOps, ConvolutionsOfIntegersWithZeroPoints) {
  KILN_NEEDS_COMPILER();
  const auto convolution = [](const Values& in) {
    const ConvOptions padded{.stride = {1, 1}, .padding = {1, 1}};
    return Values{conv_integer(in[0], in[1], in[2], in[3], padded), conv_integer(in[0], in[1], {}, in[3]),
                  conv_integer(in[0], in[1], in[2], in[2], padded), conv_integer(in[0], in[1])};
  };
  constexpr Tolerance kExact{.relative = 0, .absolute = 0};
  const Value zero = bytes({1}, 20);
  for (const std::int64_t outs : {3, 5, 18})
    expect_same(convolution, {bytes({2, 2, 6, 5}, 21), bytes({outs, 2, 2, 3}, 22), zero, bytes({outs}, 23)}, kExact);
  const auto mixed = [](const Values& in) { return Values{conv_integer(in[0], in[1], in[2], in[3])}; };
  expect_same(mixed, {bytes({1, 2, 7}, 24, DType::U8), bytes({4, 2, 4}, 25), bytes({1}, 26, DType::U8), bytes({4}, 27)},
              kExact);
}

// A zero point beyond those of 8-bit integers makes sums that int32 would not hold.
TEST(CompiledOps, ProductsOfBytesWithADistantZeroPoint) {
  KILN_NEEDS_COMPILER();
  const auto product = [](const Values& in) {
    const auto floats = [](const Value& x) { return (cast(x, DType::F32) - -255.0) * 0.5; };
    return Values{matmul(floats(in[0]), floats(in[1]))};
  };
  constexpr std::int64_t kTerms = 12000;
  const auto bytes = [](const Shape& shape) { return cast(full(shape, 255, cpu()), DType::U8); };
  expect_same(product, {bytes({1, kTerms}), bytes({kTerms, 2})});
}

TEST(CompiledOps, Indices) {
  KILN_NEEDS_COMPILER();
  const auto indices = [](const Values& in) {
    const Value &x = in[0], &rows = in[1], &places = in[2];
    return Values{select(x, 0, rows),
                  select(x, 1, reshape(rows, {2, 2})) * 2.0,
                  gather(x, 0, places),
                  scatter_add(x, 0, places, x * x),
                  select_add(x, 0, rows, x + 1.0),
                  one_hot(rows, 4)};
  };
  expect_same(indices,
              {random({4, 3}, 15), whole({4}, {2, 0, 1, 2}), whole({4, 3}, {0, 1, 2, 3, 3, 3, 0, 0, 0, 1, 2, 0})});
}

TEST(CompiledOps, ResamplesAndBlends) {
  KILN_NEEDS_COMPILER();
  const auto resized = [](const Values& in) {
    const Value& x = in[0];
    const auto to = [&](const Spatial& size, Interpolation mode, bool align_corners = false, bool antialias = false) {
      return interpolate(x, {.size = size, .mode = mode, .align_corners = align_corners, .antialias = antialias});
    };
    return Values{
        to({10, 7}, Interpolation::Nearest),
        to({3, 11}, Interpolation::NearestExact) + 1.0,
        to({10, 13}, Interpolation::Linear),
        to({9, 4}, Interpolation::Linear, true),
        to({2, 3}, Interpolation::Linear, false, true),
        to({7, 9}, Interpolation::Cubic),
        to({4, 5}, Interpolation::Lanczos3),
        to({2, 4}, Interpolation::Area),
        interpolate(x, {.scale = {1.7}, .mode = Interpolation::Linear}),
        cast(interpolate(cast(x, DType::F16), {.size = {8, 8}, .mode = Interpolation::Linear}), DType::F32),
        emit(op::Resample{.dim = 3, .from = 3, .to = 6, .mode = Interpolation::Linear, .transposed = true}, {x})};
  };
  expect_same(resized, {random({2, 3, 5, 6}, 31)}, {.relative = 1e-3, .absolute = 1e-3});
  // What places weigh is no weight of a network.
  const auto cubic = [](const Values& in) {
    return Values{interpolate(in[0], {.size = {11, 13}, .mode = Interpolation::Cubic})};
  };
  expect_same(cubic, {random({2, 3, 5, 6}, 31)}, {.relative = 1e-5, .absolute = 1e-5}, {.weights = DType::F16});
  const auto sampled = [](const Values& in) {
    const auto with = [&](Interpolation mode, SamplePadding padding) {
      return grid_sample(in[0], in[1], {.mode = mode, .padding = padding});
    };
    return Values{with(Interpolation::Linear, SamplePadding::Zeros), with(Interpolation::Cubic, SamplePadding::Border),
                  with(Interpolation::Nearest, SamplePadding::Reflection)};
  };
  expect_same(sampled, {random({2, 3, 5, 6}, 32), random({2, 4, 7, 2}, 33, -1.4, 1.4)});
}

// An element that a row does not read has no influence, whatever it is: rows at the edges have fewer taps.
TEST(CompiledOps, ResamplingReadsNoMoreThanItsTaps) {
  KILN_NEEDS_COMPILER();
  TensorData x = TensorData::of<float>({1, 1, 4}, {1, 2, 3, std::numeric_limits<float>::infinity()});
  expect_same(
      [](const Values& in) {
        return Values{interpolate(in[0], {.size = {9}, .mode = Interpolation::Linear}),
                      interpolate(in[0], {.size = {3}, .mode = Interpolation::Linear, .antialias = true})};
      },
      {from_data(std::move(x), cpu())});
}

TEST(CompiledOps, IndexOutOfRangeEndsTheRun) {
  KILN_NEEDS_COMPILER();
  const Values inputs{random({4, 3}, 15), whole({2}, {2, 4})};
  const Source source{.graph = capture_graph([](const Values& in) { return Values{select(in[0], 0, in[1])}; }, inputs)};
  const Library library(compile(source), source);
  std::vector<TensorData> outputs;
  EXPECT_EQ(library.run({inputs[0].data(), inputs[1].data()}, outputs), 1);
  EXPECT_EQ(library.run({inputs[0].data(), TensorData::of<std::int64_t>({2}, {-1, 0})}, outputs), 1);
  EXPECT_EQ(library.run({inputs[0].data(), TensorData::of<std::int64_t>({2}, {3, 0})}, outputs), 0);
}

TEST(CompiledOps, IndicesOfSeveralDimensions) {
  KILN_NEEDS_COMPILER();
  const auto chosen = [](const Values& in) {
    const Value at = emit(op::RavelIndex{Shape{4, 3, 5}}, {in[1], in[2], in[3]});
    return Values{at, select(flatten(in[0], 0, 2), 0, at)};
  };
  const Values inputs{random({4, 3, 5}, 34), whole({3}, {3, -1, 0}), whole({3}, {-3, 2, 1}), whole({3}, {4, 0, -2})};
  expect_same(chosen, inputs);
  const Source source{.graph = capture_graph(chosen, inputs)};
  const Library library(compile(source), source);
  std::vector<TensorData> outputs;
  const auto status = [&](std::initializer_list<std::int64_t> rows, std::initializer_list<std::int64_t> columns) {
    return library.run({inputs[0].data(), TensorData::of<std::int64_t>({3}, rows),
                        TensorData::of<std::int64_t>({3}, columns), inputs[3].data()},
                       outputs);
  };
  EXPECT_EQ(status({0, 1, 2}, {0, 1, 2}), 0);
  EXPECT_NE(status({0, 1, 2}, {0, 3, 2}), 0);  // inside the flattened tensor
  EXPECT_NE(status({0, 1, 2}, {0, 1, -4}), 0);
  EXPECT_NE(status({4, 1, 2}, {0, 1, 2}), 0);
  EXPECT_NE(status({-5, 1, 2}, {2, 1, 2}), 0);
}

TEST(CompiledOps, CausalAttention) {
  KILN_NEEDS_COMPILER();
  expect_same([](const Values& in) { return Values{attention(in[0], in[1], in[2], {.causal = true})}; },
              {random({1, 2, 5, 4}, 35), random({1, 2, 5, 4}, 36), random({1, 2, 5, 4}, 37)});
}

// An option that asks for all ops to be expanded means those that have an expansion.
TEST(CompiledOps, CaptureExpandsCompositeOpsAlone) {
  const Values inputs{bytes({1, 2, 4, 4}, 31), bytes({3, 2, 2, 2}, 32)};
  const auto function = [](const Values& in) { return Values{conv_integer(in[0], in[1]) * 2}; };
  const Graph graph = capture_graph(function, inputs, {.random = false, .expands = [](const op::Op&) { return true; }});
  EXPECT_EQ(difference(graph.replay(inputs)[0].data(), function(inputs)[0].data()), "");
}

TEST(CompiledOps, HalvesAndDoubles) {
  KILN_NEEDS_COMPILER();
  const auto mixed = [](const Values& in) {
    const Value half = cast(in[0], DType::F16), brain = cast(in[0], DType::BF16), wide = cast(in[0], DType::F64);
    return Values{half * half + 1.0, brain * 3.0, exp(wide), cast(half, DType::F32), matmul(wide, transpose(wide))};
  };
  expect_same(mixed, {random({3, 4}, 16)}, {.relative = 1e-5, .absolute = 1e-6});
}

// Sums of halves are rounded once: the figures are those of the same halves as float32, to the last of their 11 bits.
TEST(CompiledOps, PoolsAndConvolutionsOfHalvesAreRoundedOnce) {
  KILN_NEEDS_COMPILER();
  const auto of = [](DType dtype, const Values& in) {
    const Value x = cast(cast(in[0], DType::F16), dtype), w = cast(cast(in[1], DType::F16), dtype),
                b = cast(cast(in[2], DType::F16), dtype);
    return Values{cast(avg_pool(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}), DType::F16),
                  cast(conv(x, w, b), DType::F16), cast(conv(x, w, {}, {.stride = {3, 3}}), DType::F16)};
  };
  // An average whose sum is beyond float16.
  const Values inputs{random({1, 2, 5, 5}, 28, 20000, 30000), random({3, 2, 3, 3}, 29, -0.01, 0.01), random({3}, 30)};
  const Source source{.graph = capture_graph([&](const Values& in) { return of(DType::F16, in); }, inputs)};
  const Library library(compile(source), source);
  std::vector<TensorData> outputs;
  ASSERT_EQ(library.run({inputs[0].data(), inputs[1].data(), inputs[2].data()}, outputs), 0);
  const Values expected = of(DType::F32, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(difference(outputs[i], expected[i].data(), {.relative = 1e-3, .absolute = 0.01}), "") << "output " << i;
}

}  // namespace
}  // namespace kiln::compile
