// Attention modules against loops in float64, with each option; and with a cache, token by token, against the whole
// sequence at once.
#include "kiln/nn/attention/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kiln/core/config/config.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/nn/module.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"
#include "textbook.hpp"

namespace kiln {
namespace {

using nn::MultiHeadAttention;
using nn::MultiHeadAttentionConfig;

using test::autodiff, test::cpu;

Tensor<3> sequence(std::int64_t batch, std::int64_t time, std::int64_t width = 8, double start = 0.5) {
  return sines_of<3>({batch, time, width}, 0.9, start);
}
/// Each option by itself, and all that go together.
std::vector<MultiHeadAttentionConfig> kinds() {
  const MultiHeadAttentionConfig plain{.width = 8, .heads = 4};
  std::vector<MultiHeadAttentionConfig> kinds(10, plain);
  kinds[1].bias = false;
  kinds[2].kv_heads = 2;
  kinds[3].kv_heads = 1;
  kinds[4].head_width = 6;
  kinds[5].quiet = true;
  kinds[6].alibi = true;
  kinds[7].window = 2;
  kinds[8].rotary = nn::RotaryEncodingConfig{.length = 16};
  kinds[9] = {.width = 8,
              .heads = 4,
              .kv_heads = 2,
              .head_width = 4,
              .quiet = true,
              .softcap = 1.5,
              .window = 3,
              .rotary = nn::RotaryEncodingConfig{.length = 16}};
  for (MultiHeadAttentionConfig& kind : kinds) kind.initializer = nn::init::Normal{0, 0.6};
  return kinds;
}

TEST(MultiHeadAttention, IsTheTextbooksFormulaWithEachOption) {
  cpu.seed(3);
  for (const MultiHeadAttentionConfig& config : kinds()) {
    const MultiHeadAttention m = config.init(cpu);
    const Tensor<3> x = sequence(2, 5);
    SCOPED_TRACE(write_json(to_json(config)));
    expect_near(m.forward(x), attended(m, x, x, everything, {}));
    expect_near(m.forward(x, {.causal = true}), attended(m, x, x, earlier, {}));
  }
}

TEST(MultiHeadAttention, TakesPaddingMaskAndBiasTogether) {
  cpu.seed(4);
  const MultiHeadAttention m =
      MultiHeadAttentionConfig{.width = 8, .heads = 2, .initializer = nn::init::Normal{0, 0.6}, .kv_heads = 1}.init(
          cpu);
  const Tensor<3> x = sequence(2, 4);
  const auto padding = Tensor<2, Bool>::of({{true, true, true, false}, {true, true, false, false}}, cpu);
  const auto mask = Tensor<2, Bool>::of(
      {{true, true, true, true}, {false, true, true, true}, {true, true, false, true}, {false, false, true, true}},
      cpu);
  const auto bias = sines_of<4>({1, 2, 4, 4}, 0.7, 0.1);
  const Doubles biases = doubles(bias);
  const std::vector<bool> padded = padding.to_vector(), masked = mask.to_vector();
  const Seen seen = [&](auto b, auto, auto i, auto j) { return padded[b * 4 + j] && masked[i * 4 + j]; };
  const Bias added = [&](auto, auto h, auto i, auto j) { return biases[(h * 4 + i) * 4 + j]; };
  expect_near(m.forward(x, {.padding = padding, .mask = mask, .bias = bias}), attended(m, x, x, seen, added));
  const Seen both = [&](auto b, auto h, auto i, auto j) { return seen(b, h, i, j) && j <= i; };
  expect_near(m.forward(x, {.causal = true, .padding = padding, .mask = mask, .bias = bias}),
              attended(m, x, x, both, added));
}

TEST(MultiHeadAttention, AsksAContextOfAnotherWidthAndLength) {
  cpu.seed(5);
  const MultiHeadAttention m =
      MultiHeadAttentionConfig{.width = 8, .heads = 4, .kv_heads = 2, .context_width = 6}.init(cpu);
  const Tensor<3> x = sequence(2, 3), context = sequence(2, 5, 6, 0.1);
  const auto padding = Tensor<2, Bool>::of({{true, true, true, true, false}, {true, false, true, true, true}}, cpu);
  const std::vector<bool> padded = padding.to_vector();
  const Seen seen = [&](auto b, auto, auto, auto j) { return padded[b * 5 + j]; };
  expect_near(m.forward(x, context, {.padding = padding}), attended(m, x, context, seen, {}));
  const nn::KvCache memory = m.project_context(context);
  expect_near(m.cross_attend(x.narrow(1, 1, 1), memory), [&] {
    const Doubles all = attended(m, x, context, everything, {});
    Doubles some;
    for (std::size_t b = 0; b < 2; ++b)
      some.insert(some.end(), all.begin() + 8 * (3 * b + 1), all.begin() + 8 * (3 * b + 2));
    return some;
  }());
}

TEST(MultiHeadAttention, TokenByTokenWithACacheIsTheWholeSequence) {
  cpu.seed(6);
  for (const MultiHeadAttentionConfig& config : kinds()) {
    const MultiHeadAttention m = config.init(cpu);
    SCOPED_TRACE(write_json(to_json(config)));
    const Tensor<3> x = sequence(2, 7);
    // The second row's first two moments are padding, as they are on the left of a shorter prompt.
    const auto padding = Tensor<2, Bool>::of(
        {{true, true, true, true, true, true, true}, {false, false, true, true, true, true, true}}, cpu);
    const Tensor<3> whole = m.forward(x, {.causal = true, .padding = padding});
    nn::KvCache cache = m.cache(2, 9);
    std::vector<Value> parts;
    std::int64_t at = 0;
    for (const std::int64_t count : {3, 1, 2, 1}) {  // a prompt, then pieces
      parts.push_back(
          m.forward(x.narrow(1, at, count), cache, {.causal = true, .padding = padding.narrow(1, 0, at + count)})
              .value());
      at += count;
    }
    EXPECT_EQ(cache.length(), 7);
    expect_near(Tensor<3>(cat(parts, 1)), doubles(whole));
  }
}

TEST(MultiHeadAttention, LooksBackOnMoreThanAStrideOfItsCache) {
  cpu.seed(7);
  MultiHeadAttentionConfig config{.width = 8, .heads = 4};
  config.kv_heads = 2;
  config.rotary = nn::RotaryEncodingConfig{};
  const MultiHeadAttention m = config.init(cpu);
  const std::int64_t stride = nn::TensorCache<4>::kStride, time = stride + 3;
  const Tensor<3> x = sequence(2, time), whole = m.forward(x, {.causal = true});
  for (const std::int64_t capacity : {time, 2 * stride + 5}) {
    nn::KvCache cache = m.cache(2, capacity);
    std::vector<Value> parts = {m.forward(x.narrow(1, 0, stride - 2), cache).value()};
    for (std::int64_t at = stride - 2; at < time; ++at) parts.push_back(m.forward(x.narrow(1, at, 1), cache).value());
    expect_near(Tensor<3>(cat(parts, 1)), doubles(whole));
  }
}

TEST(MultiHeadAttention, KeepsAWindowInARing) {
  cpu.seed(11);
  for (MultiHeadAttentionConfig config : kinds()) {
    if (!config.window) config.window = 5;
    if (config.rotary) config.rotary->length = 200;
    const MultiHeadAttention m = config.init(cpu);
    SCOPED_TRACE(write_json(to_json(config)));
    const std::int64_t places = *config.window + nn::TensorCache<4>::kStride, time = 2 * places + 7;
    const Tensor<3> x = sequence(2, time), whole = m.forward(x, {.causal = true});
    nn::KvCache cache = m.cache(2, 4 * places);
    EXPECT_EQ(cache.keys.places(), places);
    EXPECT_EQ(cache.capacity(), 4 * places);
    std::vector<Value> parts;
    std::int64_t at = 0;
    while (at < time) {  // a prompt longer than the ring, then moments and pieces
      const std::int64_t count = at == 0 ? places + 3 : at % 9 == 4 ? std::min<std::int64_t>(4, time - at) : 1;
      parts.push_back(m.forward(x.narrow(1, at, count), cache).value());
      at += count;
    }
    EXPECT_EQ(cache.length(), time);
    EXPECT_EQ(cache.keys.all().dim(2), places);
    expect_near(Tensor<3>(cat(parts, 1)), doubles(whole));
  }
}

TEST(MultiHeadAttention, LooksBehindPaddingInARing) {
  cpu.seed(12);
  MultiHeadAttentionConfig config{.width = 8, .heads = 2};
  config.window = 4;
  const MultiHeadAttention m = config.init(cpu);
  const std::int64_t time = nn::TensorCache<4>::kStride + 12;
  const Tensor<3> x = sequence(1, time);
  const auto padding = Tensor<2, Bool>(ne(remainder(unsqueeze(arange(0, time, 1, cpu), 0), 3), 1));
  const Tensor<3> whole = m.forward(x, {.causal = true, .padding = padding});
  nn::KvCache cache = m.cache(1, 2 * time);
  m.forward(x.narrow(1, 0, time - 1), cache, {.causal = true, .padding = padding.narrow(1, 0, time - 1)});
  EXPECT_EQ(sentence_of([&] {
              nn::KvCache copy = cache;
              return m.forward(x.narrow(1, time - 1, 1), copy, {.causal = true, .padding = padding.narrow(1, 0, 4)});
            }),
            "ShapeError: MultiHeadAttention: the last dimension of padding, mask or bias [1, 4] must be the 76 keys, "
            "those of the cache among them");
  const Tensor<3> last = m.forward(x.narrow(1, time - 1, 1), cache, {.causal = true, .padding = padding});
  expect_near(last, doubles(whole.narrow(1, time - 1, 1)));
}

TEST(MultiHeadAttention, TakesBackFromARingAsFarAsItRemembers) {
  cpu.seed(13);
  MultiHeadAttentionConfig config{.width = 8, .heads = 2};
  config.window = 4;
  config.rotary = nn::RotaryEncodingConfig{};
  const MultiHeadAttention m = config.init(cpu);
  const Tensor<3> x = sequence(1, 110), draft = sequence(1, 30, 8, 0.9);
  nn::KvCache cache = m.cache(1, 200);
  m.forward(x.narrow(1, 0, 100), cache);
  m.forward(draft, cache);
  cache.truncate(100);
  const Tensor<3> whole = m.forward(x, {.causal = true});
  for (std::int64_t i = 100; i < 110; ++i)
    expect_near(m.forward(x.narrow(1, i, 1), cache), doubles(whole.narrow(1, i, 1)));
  EXPECT_EQ(
      sentence_of([&] { cache.truncate(60); }),
      "ArgumentError: truncate: to 60 of 110 time steps: the next looks back on those from 57 on, and those before 62 "
      "were written over");
  EXPECT_EQ(cache.length(), 110);
  EXPECT_EQ(sentence_of([&] { return m.forward(sequence(1, 91), cache); }),
            "ShapeError: append: 91 more do not fit: 110 of 200 are used");
  MultiHeadAttention other = m;
  other.window.reset();
  EXPECT_EQ(
      sentence_of([&] { return other.forward(sequence(1, 1), cache); }),
      "ArgumentError: MultiHeadAttention: the cache's ring holds 3 time steps before the next, fewer than the module "
      "looks back on; create it with cache()");
}

TEST(MultiHeadAttention, TurnsCachedKeysAnewAsTheSequenceGrows) {
  cpu.seed(14);
  for (const std::optional<std::int64_t> window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(5)}) {
    MultiHeadAttentionConfig config{.width = 8, .heads = 2};
    config.window = window;
    config.rotary = nn::RotaryEncodingConfig{.length = 6, .scaling = nn::scaling::DynamicNtk{.factor = 2}};
    const MultiHeadAttention m = config.init(cpu);
    const std::int64_t time = nn::TensorCache<4>::kStride + 10;
    const Tensor<3> x = sequence(2, time);
    nn::KvCache cache = m.cache(2, 2 * time);
    EXPECT_EQ(cache.keys.is_ring(), window.has_value());
    for (std::int64_t at = 0; at < time; ++at) {
      // At each length it is the sequence so far, whose frequencies are those of its length.
      const Tensor<3> now = m.forward(x.narrow(1, at, 1), cache);
      if (at % 7 != 0 && at != time - 1) continue;
      const Tensor<3> whole = m.forward(x.narrow(1, 0, at + 1), {.causal = true});
      expect_near(now, doubles(whole.narrow(1, at, 1)));
    }
  }
}

TEST(MultiHeadAttention, PlansOneMomentForThoseThatFollow) {
  const auto fusion = make_ref<fusion::Fusion>(Device::parse("reference").handle());
  const Device device(fusion);
  MultiHeadAttentionConfig config{.width = 8, .heads = 2};
  config.rotary = nn::RotaryEncodingConfig{};
  for (const std::int64_t capacity : {64, 500}) {  // of which the second has a ring
    const MultiHeadAttention m = config.init(device);
    nn::KvCache cache = m.cache(1, capacity);
    const auto planned_in = [&](int moments) {
      const std::int64_t before = fusion->statistics().planned;
      for (int i = 0; i < moments; ++i) m.forward(Tensor<3>(sines({1, 1, 8}, 0.37, i, device)), cache).to_vector();
      return fusion->statistics().planned - before;
    };
    EXPECT_GT(planned_in(3), 0);
    EXPECT_EQ(planned_in(50), 0);
    if (cache.keys.is_ring()) { EXPECT_EQ(planned_in(100), 0); }
    config.window = 8;
  }
}

TEST(MultiHeadAttention, KeepsGradientsThroughACache) {
  const MultiHeadAttention model =
      MultiHeadAttentionConfig{.width = 4, .heads = 2, .quiet = true, .rotary = nn::RotaryEncodingConfig{.length = 8}}
          .init(autodiff);
  expect_right_gradients(model, [](const MultiHeadAttention& m) {
    const Tensor<3> x = input<3>({2, 3, 4});
    nn::KvCache cache = m.cache(2, 3);
    return weighted(m.forward(x.narrow(1, 0, 2), cache)) + weighted(m.forward(x.narrow(1, 2, 1), cache));
  });
}

TEST(MultiHeadAttention, HasRightGradientsWithItsOptions) {
  for (MultiHeadAttentionConfig config : kinds()) {
    config.width = 4;
    config.heads = 2;
    config.kv_heads = std::min<std::int64_t>(config.kv_heads, 1);
    expect_right_gradients(config.init(autodiff), [](const MultiHeadAttention& m) {
      return weighted(m.forward(input<3>({1, 4, 4}), {.causal = true}));
    });
  }
}

TEST(MultiHeadAttention, PutsMomentsWhereTheirPositionsAre) {
  cpu.seed(7);
  const MultiHeadAttention m =
      MultiHeadAttentionConfig{.width = 8, .heads = 2, .rotary = nn::RotaryEncodingConfig{.length = 16}}.init(cpu);
  const Tensor<3> x = sequence(1, 4);
  const Tensor<3> whole = m.forward(x, {.causal = true});
  // With two moments of padding before it, a sequence whose positions say so is the same.
  const Tensor<3> padded(cat(Values{sequence(1, 2, 8, 0.9).value(), x.value()}, 1));
  const auto padding = Tensor<2, Bool>::of({{false, false, true, true, true, true}}, cpu);
  const auto positions = Tensor<2, Int>::of({{0, 0, 0, 1, 2, 3}}, cpu);
  const Tensor<3> found = m.forward(padded, {.causal = true, .padding = padding, .positions = positions});
  expect_near(found.narrow(1, 2, 4), doubles(whole));
}

TEST(MultiHeadAttention, DropsSharesWhileItIsTrainedAlone) {
  cpu.seed(8);
  const MultiHeadAttention m = MultiHeadAttentionConfig{.width = 8, .heads = 2, .dropout = 0.5}.init(cpu);
  const Tensor<3> x = sequence(1, 6);
  EXPECT_NE(m.forward(x).to_vector(), m.forward(x).to_vector());
  expect_near(valid(m).forward(x), attended(m, x, x, everything, {}));
}

void expect_appends_in_place(const Device& device) {
  const Tensor<4> x(sines({1, 2, 1, 64}, 0.37, 0, device));
  auto cache = nn::TensorCache<4>::with_capacity({1, 2, 4096, 64}, 2, device);
  for (int i = 0; i < 3; ++i) cache.append(x).sum().item();
  const std::int64_t size = 2 * 4096 * 64 * 4, before = device.memory().in_use;
  device.reset_memory_peak();
  for (int i = 0; i < 8; ++i) (cache.append(x) * 1.0).sum().item();
  EXPECT_LT(device.memory().peak - before, size / 8);  // a copy would have needed `size`
  EXPECT_EQ(cache.length, 11);
  const auto all = cache.all();
  EXPECT_EQ(all.shape(), (Shape{1, 2, 11, 64}));
  for (std::int64_t i = 0; i < 11; ++i) EXPECT_EQ(all.narrow(2, i, 1).to_vector(), x.to_vector());
}

TEST(KvCache, WritesWhatIsNewAndNothingElse) {
  expect_appends_in_place(Device(make_ref<fusion::Fusion>(Device::parse("reference").handle())));
  expect_appends_in_place(Device::cpu());
}

TEST(KvCache, CopiesAreOfTheirOwn) {
  auto cache = nn::TensorCache<1>::with_capacity({4}, 0, cpu);
  cache.append(Tensor<1>::of({1, 2}, cpu));
  nn::TensorCache<1> other = cache;
  const Tensor<1> earlier = cache.all();
  cache.append(Tensor<1>::of({3}, cpu));
  other.append(Tensor<1>::of({4, 5}, cpu));
  EXPECT_EQ(cache.all().to_vector(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(other.all().to_vector(), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(earlier.to_vector(), (std::vector<float>{1, 2}));
}

TEST(KvCache, FollowsBeamsAndForgetsDrafts) {
  cpu.seed(9);
  const MultiHeadAttention m = MultiHeadAttentionConfig{.width = 8, .heads = 2}.init(cpu);
  const Tensor<3> prompt = sequence(2, 3), next = sequence(3, 1, 8, 0.2);
  nn::KvCache cache = m.cache(2, 8);
  m.forward(prompt, cache);
  cache.reorder(Tensor<1, Int>::of({1, 1, 0}, cpu));
  m.forward(sequence(3, 2, 8, 0.7), cache);
  cache.truncate(3);
  const Tensor<3> found = m.forward(next, cache);
  const Tensor<3> beams = prompt.select(0, Tensor<1, Int>::of({1, 1, 0}, cpu));
  const Tensor<3> whole = m.forward(Tensor<3>(cat(Values{beams.value(), next.value()}, 1)), {.causal = true});
  expect_near(found, doubles(whole.narrow(1, 3, 1)));
}

TEST(MultiHeadAttention, SaysWhatIsWrong) {
  const MultiHeadAttention m = MultiHeadAttentionConfig{.width = 8, .heads = 2}.init(cpu);
  nn::KvCache cache = m.cache(1, 4);
  m.forward(sequence(1, 3), cache);
  EXPECT_EQ(sentence_of([&] { return m.forward(sequence(1, 2), cache); }),
            "ShapeError: append: 2 more do not fit: 3 of 4 are used");
  EXPECT_EQ(sentence_of([&] { return m.forward(sequence(2, 1), cache); }),
            "ShapeError: append: [2, 2, 1, 4] does not fit a cache of [1, 2, 4, 4] that grows along dimension 2");
  EXPECT_EQ(sentence_of([&] { cache.truncate(5); }), "ArgumentError: truncate: 5 of 3 time steps");
  EXPECT_EQ(
      sentence_of([&] { return m.forward(sequence(1, 2), {.padding = Tensor<2, Bool>::of({{true}}, cpu)}); }),
      "ShapeError: MultiHeadAttention: padding [1, 1] must be [batch, keys] = [1, 2], keys of the cache among them");
  EXPECT_EQ(sentence_of([] { MultiHeadAttentionConfig{.width = 8, .heads = 4, .kv_heads = 3}.init(cpu); }),
            "ArgumentError: MultiHeadAttentionConfig: 3 heads of keys and values do not divide 4 heads");
  EXPECT_EQ(sentence_of([] { MultiHeadAttentionConfig{.width = 8, .heads = 4, .window = 0}.init(cpu); }),
            "ArgumentError: MultiHeadAttentionConfig: the window must be positive, got 0");
  const MultiHeadAttention rotary =
      MultiHeadAttentionConfig{.width = 8, .heads = 2, .rotary = nn::RotaryEncodingConfig{.length = 4}}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return rotary.forward(sequence(1, 2), sequence(1, 3)); }),
            "ArgumentError: MultiHeadAttention: positions of x and of a context have no distance, as rotary encoding "
            "needs");
  EXPECT_EQ(sentence_of([&] { return rotary.forward(sequence(1, 5)); }),
            "ShapeError: RotaryEncoding: positions 0 to 4 are not all in the table, which has 4");
}

}  // namespace
}  // namespace kiln
