// Sizes whose sums and products leave 63 bits are answered with a sentence that names the function; nothing is read or
// written by a size that wrapped around.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "kiln/core/error/trace.hpp"
#include "kiln/ops/create/create.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/loss/ctc_transducer.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/position.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/resample.hpp"
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/ops/view/assemble.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/view/view.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t k30 = std::int64_t{1} << 30, k40 = std::int64_t{1} << 40, k62 = std::int64_t{1} << 62;

/// One element seen as many.
Value huge(const Shape& shape) { return expand(ones(Shape::filled(shape.size(), 1), Device::cpu()), shape); }
/// None at all.
Value nothing(const Shape& shape) { return zeros(shape, Device::cpu()); }

struct Call {
  const char* name;  // what the sentence begins with, after its kind
  std::function<Value()> call;
};

const Call kSizedCalls[] = {
    {"cat",
     [] { return cat(Values{huge({k62}), huge({k62}), huge({k62}), huge({k62}), ones({3}, Device::cpu())}, 0); }},
    {"cat", [] { return stack(Values{huge({k62}), huge({k62})}, 0); }},
    {"pad", [] { return pad(ones({3}, Device::cpu()), {kMost}, {5}, 0); }},
    {"pad", [] { return pad(huge({k62}), {k62}, {0}, 0); }},
    {"block_diag", [] { return block_diag(Values{nothing({0, k62}), nothing({0, k62}), nothing({0, k62})}); }},
    {"flatten", [] { return flatten(nothing({0, k62, 4}), 1); }},
    {"expand", [] { return expand(ones({1, 1}, Device::cpu()), {k40, k40}); }},
    {"add", [] { return huge({k40, 1}) + huge({1, k40}); }},
    {"where", [] { return where(eq(huge({k40, 1}), 1), huge({1, k40}), 0); }},
    {"matmul", [] { return matmul(huge({k40, 1}), huge({1, k40})); }},
    {"mul", [] { return outer(huge({k40}), huge({k40})); }},
    {"kron", [] { return kron(nothing({0, k62}), nothing({1, 4})); }},
    {"tensordot", [] { return tensordot(nothing({0, k62, 4}), nothing({k62, 4, 0}), 2); }},
    {"repeat", [] { return repeat(nothing({0, k62}), {1, 4}); }},
    {"repeat", [] { return tile(huge({k62}), {4}); }},
    {"repeat_interleave", [] { return repeat_interleave(huge({k62}), 4, 0); }},
    {"conv", [] { return conv(nothing({1, 0, 5}), nothing({0, std::int64_t{1} << 61, 1}), {}, {.groups = 8}); }},
    {"conv", [] { return conv(huge({1, 1, 5}), huge({1, 1, k40}), {}, {.dilation = {k30}}); }},
    {"conv", [] { return conv(huge({1, 1, kMost}), huge({1, 1, 1}), {}, {.padding = {1}}); }},
    {"conv_transpose", [] { return conv_transpose(huge({1, 1, k62}), huge({1, 1, 3}), {}, {.stride = {8}}); }},
    {"conv_transpose", [] { return conv_transpose(huge({1, 1, 4}), huge({1, 1, 3}), {}, {}, {kMost}); }},
    {"max_pool", [] { return max_pool(huge({1, 1, kMost}), {.kernel = {3}, .padding = {1}}); }},
    {"avg_pool", [] { return avg_pool(huge({1, 1, kMost}), {.kernel = {3}, .padding = {1}}); }},
    {"max_unpool",
     [] {
       const Value index = zeros({1, 1, 1}, Device::cpu(), DType::I64);
       return max_unpool(reshape(ones({1, 1, 1}, Device::cpu()), {1, 1, 1}), index, {kMost - 1});
     }},
    {"fold", [] { return fold(nothing({1, 8, 1}), {k30, k30, k30}, {.kernel = {k30, k30, k30}}); }},
    {"fold", [] { return fold(nothing({1, 8, 1}), {kMost}, {.kernel = {1}, .padding = {1}}); }},
    {"unfold", [] { return unfold(huge({1, 1, k30, k30, 8}), {.kernel = {k30, k30, 8}}); }},
    {"pixel_shuffle", [] { return pixel_shuffle(nothing({1, 0, k62}), 4); }},
    {"pixel_unshuffle", [] { return pixel_unshuffle(nothing({0, k62, 4}), 4); }},
    {"resample", [] { return interpolate(huge({4, 1, 2}), {.size = {k62}}); }},
    {"flatten", [] { return diagonal(nothing({0, k40, k40}), 3); }},
    {"diag_embed", [] { return diag_embed(nothing({0, k40})); }},
    {"diag_embed", [] { return diag_embed(huge({kMost}), 1); }},
    {"eye", [] { return eye({k40, k40}, Device::cpu()); }},
    {"layer_norm", [] { return layer_norm(nothing({0, k40, k40}), 2); }},
    {"arange", [] { return arange(std::numeric_limits<std::int64_t>::min(), kMost, 1, Device::cpu()); }},
    {"linspace", [] { return linspace(0, 1, kMost, Device::cpu()); }},
    {"one_hot", [] { return one_hot(zeros({3}, Device::cpu(), DType::I64), kMost, DType::F32); }},
    {"bincount", [] { return bincount(full({1}, kMost, Device::cpu(), DType::I64)); }},
    {"histogram", [] { return histogram(ones({2}, Device::cpu()), kMost, 0, 1).counts; }},
    {"combinations", [] { return combinations(huge({kMost}), 3, true); }},
    {"meshgrid", [] { return meshgrid(Values{huge({k40}), huge({k40})})[0]; }},
    {"irfft", [] { return irfft(huge({k62 + 1, 2})); }},
    {"ctc_loss",
     [] {
       const Value one = ones({1}, Device::cpu(), DType::I64);
       return ctc_loss(ones({1, 1, 2}, Device::cpu()), expand(ones({1, 1}, Device::cpu(), DType::I64), {1, k62}), one,
                       one);
     }},
    {"index_get",
     [] {
       const Value index = zeros({1}, Device::cpu(), DType::I64);
       return index_get(nothing({0, k62, 4}), Values{Value(), index, index});
     }},
    {"roi_align",
     [] { return roi_align(ones({1, 1, 2, 2}, Device::cpu()), ones({4, 5}, Device::cpu()), {.size = {k40, k40}}); }},
    {"alibi_bias", [] { return alibi_bias({kMost, 1, 1}, Device::cpu()); }},
    {"sinusoidal_positions", [] { return sinusoidal_positions({1, kMost}, Device::cpu()); }},
    {"rotary_tables", [] { return rotary_tables(arange(0, 2, 1, Device::cpu()), k62).cosine; }},
};

TEST(Sizes, ThatLeave63BitsAreAnsweredWithASentence) {
  for (const auto& [name, call] : kSizedCalls) {
    const std::string said = sentence_of([&] { return call().data(); });
    (void)sentence_of([] { return 0; });  // what was asked for before the call failed fails as well, for nobody else
    // Where a tensor could be described and not be held, it is memory that lacks.
    const bool told = said.starts_with(std::string("ShapeError: ") + name + ": ") ||
                      said.starts_with(std::string("ArgumentError: ") + name + ": ") ||
                      said.starts_with("MemoryError: ") || said.starts_with("ShapeError: shape ");
    EXPECT_TRUE(told) << name << " says: " << said;
  }
}

// What can be described is told before anything runs: nobody has to read a result to learn that it cannot be.
TEST(Sizes, OfResultsAreCheckedByTheCallItself) {
  const auto said = [](auto&& call) {
    try {
      (void)call();
    } catch (const Error& error) { return std::string(without_calls(error.what())); }
    return std::string();
  };
  EXPECT_EQ(said([] { return matmul(huge({k40, 1}), huge({1, k40})); }),
            "ShapeError: matmul: a result of shape [1099511627776, 1099511627776] has more than 2^63 - 1 elements");
  EXPECT_EQ(said([] { return cat(Values{huge({k62}), huge({k62})}, 0); }),
            "ShapeError: cat: 4611686018427387904 + 4611686018427387904 elements are more than 2^63 - 1");
}

TEST(Sizes, OfEmptyTensorsMayMultiplyToAnything) {
  for (const char* name : {"cpu", "reference"}) {
    const auto none = [&](const Shape& shape) { return zeros(shape, Device::parse(name)); };
    EXPECT_EQ(sum(none({k40, 3, 0, k40}), {0, 3}).data().shape(), (Shape{3, 0}));
    EXPECT_EQ(mean(none({0, k40, k40}), {1, 2}).data().shape(), Shape{0});
    EXPECT_EQ((none({0, k40, k40}) + 1).data().numel(), 0);
    EXPECT_EQ(transpose(none({0, k40, k40})).data().numel(), 0);
  }
}

TEST(Sizes, UpToTheLargestAreExact) {
  const Value line = huge({kMost});
  const Values parts = split(line, k62 + 1, 0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].shape(), Shape{k62 + 1});
  EXPECT_EQ(parts[1].shape(), Shape{k62 - 2});
  EXPECT_EQ(cat(Values{huge({k62}), huge({k62 - 1})}, 0).shape(), Shape{kMost});
  EXPECT_EQ(max_pool(huge({1, 1, kMost}), {.kernel = {2}, .stride = {3}, .ceil = true}).shape(),
            (Shape{1, 1, (kMost - 2) / 3 + 2}));
  // A window of one element may be any distance from a second one.
  EXPECT_EQ(unfold(ones({2, 2}, Device::cpu()), 0, 1, kMost, kMost).data().to_vector<float>(),
            (std::vector<float>{1, 1}));
  EXPECT_EQ(all(window_mask({3, 2}, 0, false, Device::cpu())).item(), 1);
  EXPECT_EQ(sentence_of([] { return window_mask({kMost, kMost}, 0, false, Device::cpu()); }),
            "ShapeError: sub: a result of shape [9223372036854775807, 9223372036854775807] has more than 2^63 - 1 "
            "elements");
}

}  // namespace
}  // namespace kiln
