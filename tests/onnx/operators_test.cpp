// Operators that the standard's tests leave out: some against figures of ONNX Runtime (standard_figures.py), random ones
// by what is known of their numbers.
#include <cmath>

#include "kiln/onnx/apply.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "tests/onnx/figures.hpp"
#include "tests/support/devices.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

TEST(Operators, AgreeWithOnnxRuntime) {
  const std::vector<FigureCase> cases = figures_of("standard_figures.json");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(text("case ", i, ": ", cases[i].op));
    compare(cases[i], "", 17);
  }
}

// ceil(side of the box / side of the result) samples: of float32 that is ceil((3.5 * 0.8 - 1 * 0.8) / 2) = 1 a side, where
// 0.8f as a double makes it 1.00000001. Of ones, one sample in a corner counts 0.8 * 0.7.
TEST(RoiAlign, CountsSamplesOfMaximaInFloat32) {
  const Value x = ones({1, 1, 6, 7}, cpu), boxes = from_data(TensorData::of<float>({1, 4}, {1, 1, 2, 3.5f}), cpu),
              image = zeros({1}, cpu, DType::I64);
  for (const std::int64_t ratio : {0, 1}) {
    const Datum y = apply("RoiAlign", 16, {x, boxes, image},
                          {{"mode", "max"},
                           {"output_height", 2},
                           {"output_width", 1},
                           {"sampling_ratio", ratio},
                           {"spatial_scale", 0.8}});
    for (const float each : y.value().data().to_vector<float>()) EXPECT_NEAR(each, 0.56f, 1e-4f) << ratio;
  }
}

// ---- integers of 8 bits -------------------------------------------------------------------------------------------
// The largest that there are, and odd, so that a sum which is rounded once is another.
std::vector<std::uint8_t> large_bytes(std::int64_t count) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(i % 5 == 3 ? 253 : 255));
  return bytes;
}
Datum byte_tensor(const Shape& shape, const std::vector<std::uint8_t>& bytes) {
  return from_data(TensorData::of<std::uint8_t>(shape, bytes), cpu);
}

TEST(Integers, LongSumsOfProductsAreExact) {
  for (const std::int64_t depth : {0, 1, 258, 259, 1000, 4200}) {
    const std::vector<std::uint8_t> a = large_bytes(2 * depth), b = large_bytes(depth * 3);
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 3; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += std::int64_t{a[static_cast<std::size_t>(i * depth + k)]} * b[static_cast<std::size_t>(k * 3 + j)];
        expected.push_back(sum);
      }
    const Autocast half(DType::BF16);
    const Datum y = apply("MatMulInteger", 10, {byte_tensor({2, depth}, a), byte_tensor({depth, 3}, b)});
    EXPECT_EQ(y.value().data().to_vector<std::int64_t>(), expected) << depth;
  }
}

TEST(Integers, ConvolutionsAreExact) {
  for (const std::int64_t channels : {16, 400, 9000}) {  // Winograd rounds sums of many; those of the last are too long
    for (const std::int64_t rows : {1, 3}) {
      const std::int64_t size = rows == 1 ? 4 : 14, kernel = rows == 1 ? 2 : 3, out = rows == 1 ? 1 : 32;
      const std::int64_t lines = rows == 1 ? 1 : size, places = rows * kernel;
      if (rows == 3 && channels > 400) continue;
      const std::vector<std::uint8_t> x = large_bytes(channels * lines * size),
                                      w = large_bytes(out * channels * places);
      const Datum y = apply("ConvInteger", 10,
                            {byte_tensor({1, channels, lines, size}, x), byte_tensor({out, channels, rows, kernel}, w),
                             byte_tensor({}, {1}), byte_tensor({}, {128})});
      const std::vector<std::int64_t> found = y.value().data().to_vector<std::int64_t>();
      const std::int64_t height = lines - rows + 1, width = size - kernel + 1;
      ASSERT_EQ(static_cast<std::int64_t>(found.size()), out * height * width);
      for (std::int64_t i = 0; i < out * height * width; ++i) {
        const std::int64_t o = i / (height * width), top = i / width % height, left = i % width;
        std::int64_t sum = 0;
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t p = 0; p < places; ++p) {
            const std::int64_t at = (c * lines + top + p / kernel) * size + left + p % kernel;
            sum += (std::int64_t{x[static_cast<std::size_t>(at)]} - 1) *
                   (std::int64_t{w[static_cast<std::size_t>((o * channels + c) * places + p)]} - 128);
          }
        ASSERT_EQ(found[static_cast<std::size_t>(i)], sum) << channels << " channels, element " << i;
      }
    }
  }
}

// ---- random numbers -----------------------------------------------------------------------------------------------
struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};
Moments moments_of(const Datum& datum) {
  const std::vector<double> numbers = datum.value().data().to_vector<double>();
  Moments m{0, 0, numbers.at(0), numbers.at(0)};
  for (const double x : numbers) {
    m.mean += x / static_cast<double>(numbers.size());
    m.least = std::min(m.least, x), m.most = std::max(m.most, x);
  }
  for (const double x : numbers) m.deviation += (x - m.mean) * (x - m.mean) / static_cast<double>(numbers.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}
std::vector<double> numbers_of(const Datum& datum) { return datum.value().data().to_vector<double>(); }
Datum floats_of(const Shape& shape, const std::vector<float>& numbers) {
  return Datum(from_data(TensorData::of<float>(shape, numbers), cpu));
}

constexpr std::int64_t kDouble = static_cast<std::int64_t>(Element::Double);
constexpr std::int64_t kInt64 = static_cast<std::int64_t>(Element::Int64);

TEST(Operators, RandomNumbersHaveTheirShapeTypeAndRange) {
  const Datum uniform =
      apply("RandomUniform", 22, {}, {{"shape", Ints{40, 50}}, {"low", -1.0}, {"high", 3.0}, {"seed", 1.0}}, cpu);
  EXPECT_EQ(uniform.element(), Element::Float);
  EXPECT_EQ(uniform.value().shape(), (Shape{40, 50}));
  const Moments u = moments_of(uniform);
  EXPECT_GE(u.least, -1);
  EXPECT_LT(u.most, 3);
  EXPECT_NEAR(u.mean, 1, 0.1);  // the deviation of the mean is 4 / sqrt(12 * 2000) = 0.026
  EXPECT_NEAR(u.deviation, 4 / std::sqrt(12.0), 0.06);
  const Datum normal =
      apply("RandomNormal", 1, {},
            {{"shape", Ints{2000}}, {"mean", 5.0}, {"scale", 2.0}, {"seed", 1.0}, {"dtype", kDouble}}, cpu);
  EXPECT_EQ(normal.element(), Element::Double);
  const Moments n = moments_of(normal);
  EXPECT_NEAR(n.mean, 5, 0.18);  // 0.045
  EXPECT_NEAR(n.deviation, 2, 0.13);
  const Datum like = floats_of({2, 3}, {0, 0, 0, 0, 0, 0});
  for (const char* op : {"RandomNormalLike", "RandomUniformLike"}) {
    const Datum made = apply(op, 22, {like}), other = apply(op, 22, {like}, {{"dtype", kDouble}});
    EXPECT_EQ(made.value().shape(), (Shape{2, 3}));
    EXPECT_EQ(made.element(), Element::Float);
    EXPECT_EQ(other.element(), Element::Double);
  }
}

TEST(Operators, SeedsDecideWhatIsDrawn) {
  const auto drawn = [](double seed) {
    return numbers_of(apply("RandomNormal", 22, {}, {{"shape", Ints{8}}, {"seed", seed}}, cpu));
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
  const auto free = [] { return numbers_of(apply("RandomNormal", 22, {}, {{"shape", Ints{8}}}, cpu)); };
  EXPECT_NE(free(), free());
}

TEST(Operators, MultinomialDrawsByItsLogits) {
  // Shares of 0.25 and 0.75, and of certainty; logits need not be normalised.
  const Datum logits = floats_of({2, 2}, {2, 2 + std::log(3.0f), 0, -100});
  const Datum drawn = apply("Multinomial", 22, {logits}, {{"sample_size", 4000}, {"seed", 1.0}, {"dtype", kInt64}});
  EXPECT_EQ(drawn.element(), Element::Int64);
  ASSERT_EQ(drawn.value().shape(), (Shape{2, 4000}));
  const std::vector<double> numbers = numbers_of(drawn);
  double ones = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    EXPECT_TRUE(numbers[i] == 0 || numbers[i] == 1);
    ones += numbers[i];
    EXPECT_EQ(numbers[4000 + i], 0);
  }
  EXPECT_NEAR(ones / 4000, 0.75, 0.03);  // the deviation is 0.007
  const Datum usual = apply("Multinomial", 7, {logits});
  EXPECT_EQ(usual.element(), Element::Int32);
  EXPECT_EQ(usual.value().shape(), (Shape{2, 1}));
  EXPECT_THROW(apply("Multinomial", 7, {logits}, {{"sample_size", 0}}), ArgumentError);
}

// ---- operator sets 1 to 5 -----------------------------------------------------------------------------------------
const Datum kRow = floats_of({4}, {1, 2, 3, 4});

TEST(OldOperators, TakeShapesAsAttributes) {
  EXPECT_EQ(Datum(apply("Reshape", 1, {kRow}, {{"shape", Ints{2, -1}}})).value().shape(), (Shape{2, 2}));
  EXPECT_EQ(Datum(apply("Reshape", 1, {floats_of({2, 2}, {1, 2, 3, 4})}, {{"shape", Ints{0, 1, 2}}})).value().shape(),
            (Shape{2, 1, 2}));
  EXPECT_EQ(numbers_of(apply("Tile", 6, {kRow, ints({1}, {2}, cpu)})), (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(numbers_of(apply("Slice", 1, {kRow}, {{"starts", Ints{1}}, {"ends", Ints{-1}}})),
            (std::vector<double>{2, 3}));
  EXPECT_EQ(Datum(apply("Unsqueeze", 1, {kRow}, {{"axes", Ints{0, 2}}})).value().shape(), (Shape{1, 4, 1}));
  EXPECT_EQ(Datum(apply("Squeeze", 1, {floats_of({1, 4}, {1, 2, 3, 4})}, {{"axes", Ints{0}}})).value().shape(),
            (Shape{4}));
}

TEST(OldOperators, CastNamesItsTypeInWords) {
  const Datum x = floats_of({3}, {-1.5, 0, 2.75});
  const Datum whole = apply("Cast", 1, {x}, {{"to", "INT32"}});
  EXPECT_EQ(whole.element(), Element::Int32);
  EXPECT_EQ(numbers_of(whole), (std::vector<double>{-1, 0, 2}));
  EXPECT_EQ(Datum(apply("Cast", 5, {x}, {{"to", "DOUBLE"}})).element(), Element::Double);
  EXPECT_EQ(numbers_of(apply("Cast", 1, {x}, {{"to", "bool"}})), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(Datum(apply("Cast", 1, {x}, {{"to", "FLOAT16"}})).element(), Element::Float16);
  EXPECT_THROW(apply("Cast", 1, {x}, {{"to", "REAL"}}), ArgumentError);
}

TEST(OldOperators, PadAndUpsampleAndSplit) {
  const Datum x = floats_of({1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(numbers_of(apply("Pad", 1, {x}, {{"paddings", Ints{0, 0, 0, 1, 0, 0, 0, 2}}, {"value", 7.0}})),
            (std::vector<double>{7, 1, 2, 7, 7}));
  EXPECT_EQ(numbers_of(apply("Pad", 2, {x}, {{"pads", Ints{0, 0, 0, 1, 0, 0, 0, 1}}, {"mode", "edge"}})),
            (std::vector<double>{1, 1, 2, 2}));
  EXPECT_EQ(numbers_of(apply("Upsample", 1, {x}, {{"height_scale", 2.0}, {"width_scale", 3.0}, {"mode", "nearest"}})),
            (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(numbers_of(apply("Upsample", 7, {x}, {{"scales", Floats{1, 1, 1, 2}}, {"mode", "nearest"}})),
            (std::vector<double>{1, 1, 2, 2}));
  const std::vector<Datum> by_attribute = apply_for({0, 1}, "Split", 1, {kRow}, {{"split", Ints{1, 3}}}),
                           by_input = apply_for({0, 1}, "Split", 1, {kRow, floats_of({2}, {1, 3})}),
                           even = apply_for({0, 1}, "Split", 2, {kRow});
  EXPECT_EQ(numbers_of(by_attribute.at(1)), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(numbers_of(by_input.at(1)), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(numbers_of(even.at(1)), (std::vector<double>{3, 4}));
}

TEST(OldOperators, TopKTakesItsNumberAsAnAttribute) {
  const Datum x = floats_of({2, 3}, {1, 3, 2, 9, 7, 8});
  const std::vector<Datum> last = apply_for({0, 1}, "TopK", 1, {x}, {{"k", 2}}),
                           first = apply_for({0, 1}, "TopK", 1, {x}, {{"k", 1}, {"axis", 0}});
  EXPECT_EQ(numbers_of(last.at(0)), (std::vector<double>{3, 2, 9, 8}));
  EXPECT_EQ(numbers_of(last.at(1)), (std::vector<double>{1, 2, 0, 2}));
  EXPECT_EQ(numbers_of(first.at(0)), (std::vector<double>{9, 7, 8}));
}

TEST(OldOperators, IsTestSaysWhetherTheyTrain) {
  const Datum many(ones({1000}, cpu));
  EXPECT_EQ(moments_of(apply("Dropout", 1, {many}, {{"is_test", 1}, {"ratio", 0.25}})).least, 1);
  const std::vector<Datum> dropped = apply_for({0, 1}, "Dropout", 6, {many}, {{"ratio", 0.25}});
  const Moments m = moments_of(dropped.at(0));
  EXPECT_EQ(m.least, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(m.most), 1 / 0.75f);
  EXPECT_NEAR(m.mean, 1, 0.1);                         // the deviation is 0.018
  EXPECT_EQ(dropped.at(1).element(), Element::Float);  // the mask
  // y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by the running statistics or the batch's own.
  const Datum x = floats_of({2, 1, 1}, {1, 5}), scale = floats_of({1}, {2}), bias = floats_of({1}, {10}),
              mean = floats_of({1}, {3}), variance = floats_of({1}, {16});
  EXPECT_EQ(numbers_of(apply("BatchNormalization", 1, {x, scale, bias, mean, variance},
                             {{"is_test", 1}, {"epsilon", 0.0}, {"consumed_inputs", Ints{0, 0, 0, 1, 1}}})),
            (std::vector<double>{9, 11}));
  const std::vector<Datum> trained = apply_for({0, 1}, "BatchNormalization", 6, {x, scale, bias, mean, variance},
                                               {{"epsilon", 0.0}, {"momentum", 0.5}});
  EXPECT_EQ(numbers_of(trained.at(0)), (std::vector<double>{8, 12}));
  EXPECT_EQ(numbers_of(apply("BatchNormalization", 6, {x, scale, bias, mean, variance}, {{"epsilon", 0.0}})),
            (std::vector<double>{9, 11}));  // nobody asks for the batch's statistics: it does not train
}

TEST(OldOperators, BroadcastFromAnAxisOn) {
  const Datum x = floats_of({2, 3, 1}, {1, 2, 3, 4, 5, 6}), rows = floats_of({2}, {10, 20}),
              columns = floats_of({3}, {1, 2, 3});
  EXPECT_EQ(numbers_of(apply("Add", 1, {x, rows}, {{"broadcast", 1}, {"axis", 0}})),
            (std::vector<double>{11, 12, 13, 24, 25, 26}));
  EXPECT_EQ(numbers_of(apply("Sub", 6, {x, columns}, {{"broadcast", 1}, {"axis", 1}})),
            (std::vector<double>{0, 0, 0, 3, 3, 3}));
  EXPECT_EQ(numbers_of(apply("Mul", 6, {x, columns}, {{"broadcast", 1}, {"axis", -2}})),
            (std::vector<double>{1, 4, 9, 4, 10, 18}));
  EXPECT_EQ(numbers_of(apply("Pow", 1, {x, floats_of({1}, {2})}, {{"broadcast", 1}})),
            (std::vector<double>{1, 4, 9, 16, 25, 36}));
  EXPECT_EQ(numbers_of(apply("Greater", 1, {x, rows}, {{"broadcast", 1}, {"axis", 0}})),
            (std::vector<double>{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(numbers_of(apply("PRelu", 1, {floats_of({1, 2, 2}, {-1, 1, -1, 1}), floats_of({2}, {0.5, 0.25})})),
            (std::vector<double>{-0.5, 1, -0.25, 1}));
  EXPECT_EQ(numbers_of(apply("Gemm", 1, {floats_of({1, 2}, {1, 2}), floats_of({2, 2}, {1, 0, 0, 1}), rows},
                             {{"broadcast", 1}, {"beta", 2.0}})),
            (std::vector<double>{21, 42}));
}

TEST(OldOperators, SumOfAListAndClipByAttributes) {
  EXPECT_EQ(numbers_of(apply("Sum", 1, {kRow, kRow, kRow})), (std::vector<double>{3, 6, 9, 12}));
  EXPECT_EQ(numbers_of(apply("Max", 1, {kRow, floats_of({4}, {4, 3, 2, 1})})), (std::vector<double>{4, 3, 3, 4}));
  EXPECT_EQ(numbers_of(apply("Clip", 1, {kRow}, {{"min", 2.0}, {"max", 3.0}})), (std::vector<double>{2, 2, 3, 3}));
  // Softmax over all dimensions from `axis` on, as they are one.
  const double share = 1.0 / 4;
  for (const double x : numbers_of(apply("Softmax", 1, {floats_of({1, 2, 2}, {5, 5, 5, 5})}))) EXPECT_EQ(x, share);
  EXPECT_EQ(numbers_of(apply("Concat", 1, {floats_of({1, 2}, {1, 2}), floats_of({1, 2}, {3, 4})})),
            (std::vector<double>{1, 2, 3, 4}));  // along dimension 1, where nothing is said
}

}  // namespace
}  // namespace kiln::onnx::test
