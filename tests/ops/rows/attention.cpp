#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

struct Case {
  Shape q, k;
  std::int64_t value_width;
  AttentionOptions options = {};
  Shape mask = {}, bias = {};  // absent where empty
};

/// The textbook's formula, a query at a time.
Array attend(const Case& c, const Array& q, const Array& k, const Array& v, const Array* mask, const Array* bias) {
  const std::int64_t heads = c.q[1], group = heads / c.k[1], queries = c.q[2], keys = c.k[2], width = c.q[3];
  const double scale = c.options.scale.value_or(1 / std::sqrt(static_cast<double>(width)));
  Array result({c.q[0], heads, queries, c.value_width});
  each_index({c.q[0], heads, queries}, [&](const Dims& at) {
    const std::int64_t b = at[0], h = at[1], i = at[2], position = i + keys - queries;
    std::vector<double> scores;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t p = 0; p < width; ++p) score += scale * q({b, h, i, p}) * k({b, h / group, j, p});
      if (c.options.softcap > 0) score = c.options.softcap * std::tanh(score / c.options.softcap);
      if (bias) score += broadcast_at(*bias, {b, h, i, j});
      bool seen = !mask || broadcast_at(*mask, {b, h, i, j}) != 0;
      if (c.options.causal && j > position) seen = false;
      if (c.options.window && std::abs(position - j) >= *c.options.window) seen = false;
      scores.push_back(seen ? score : -std::numeric_limits<double>::infinity());
    }
    // Quiet: beside a score of 0 whose share nobody has.
    double best = c.options.quiet ? 0 : -std::numeric_limits<double>::infinity(), total = 0;
    for (const double score : scores) best = std::max(best, score);
    if (std::isinf(best)) return;
    for (const double score : scores) total += std::exp(score - best);
    if (c.options.quiet) total += std::exp(-best);
    for (std::int64_t j = 0; j < keys; ++j)
      for (std::int64_t p = 0; p < c.value_width; ++p)
        result({b, h, i, p}) += std::exp(scores[static_cast<std::size_t>(j)] - best) / total * v({b, h / group, j, p});
  });
  return result;
}

OpCase attention_row(std::string name, const Case& c, bool gradient = true) {
  Shape v = c.k;
  v.back() = c.value_width;
  OpCase row{
      .name = std::move(name), .operands = {{c.q}, {c.k}, {v}}, .function = {}, .meaning = {}, .gradient = gradient};
  row.tolerance = 4;
  if (!c.mask.empty()) row.operands.push_back({c.mask, 0, 1, OperandSpec::Flag});
  if (!c.bias.empty()) row.operands.push_back({c.bias});
  const std::size_t mask = c.mask.empty() ? 0 : 3, bias = c.bias.empty() ? 0 : row.operands.size() - 1;
  row.function = [=](const Values& in) {
    return Values{attention(in[0], in[1], in[2], c.options, mask ? in[mask] : Value(), bias ? in[bias] : Value())};
  };
  row.meaning = [=](const std::vector<Array>& in) {
    return std::vector<Array>{attend(c, in[0], in[1], in[2], mask ? &in[mask] : nullptr, bias ? &in[bias] : nullptr)};
  };
  return row;
}

std::vector<OpCase> attention_rows() {
  const AttentionOptions causal{.causal = true};
  return {
      attention_row("attention", {{2, 2, 3, 4}, {2, 2, 5, 4}, 3}),
      attention_row("attention_scale", {{1, 1, 2, 3}, {1, 1, 3, 3}, 2, {.scale = 0.3}}),
      attention_row("attention_causal", {{1, 2, 4, 3}, {1, 2, 4, 3}, 3, causal}),
      attention_row("attention_causal_with_a_cache", {{1, 1, 2, 3}, {1, 1, 5, 3}, 3, causal}),
      attention_row("attention_causal_of_more_queries", {{1, 1, 5, 3}, {1, 1, 3, 3}, 3, causal}),
      attention_row("attention_softcap", {{1, 2, 3, 4}, {1, 2, 4, 4}, 3, {.softcap = 1.5}}),
      attention_row("attention_window", {{1, 1, 5, 3}, {1, 1, 6, 3}, 2, {.window = 2}}),
      attention_row("attention_causal_window", {{1, 1, 6, 3}, {1, 1, 6, 3}, 2, {.causal = true, .window = 3}}),
      attention_row("attention_grouped_heads", {{2, 4, 3, 3}, {2, 2, 4, 3}, 2}),
      attention_row("attention_one_kv_head", {{1, 3, 2, 3}, {1, 1, 4, 3}, 2, causal}),
      attention_row("attention_mask", {{2, 2, 3, 3}, {2, 2, 4, 3}, 2, {}, {2, 2, 3, 4}}),
      attention_row("attention_mask_of_keys", {{2, 2, 3, 3}, {2, 2, 4, 3}, 2, {}, {2, 1, 1, 4}}),
      attention_row("attention_bias", {{2, 2, 3, 3}, {2, 2, 4, 3}, 2, {}, {}, {2, 2, 3, 4}}),
      attention_row("attention_bias_of_heads", {{2, 2, 3, 3}, {2, 1, 4, 3}, 2, {}, {}, {2, 3, 4}}),
      attention_row("attention_bias_of_batches", {{2, 2, 3, 3}, {2, 2, 4, 3}, 2, {}, {}, {2, 1, 1, 4}}),
      attention_row("attention_bias_of_queries", {{1, 2, 3, 3}, {1, 2, 4, 3}, 2, {}, {}, {3, 1}}),
      attention_row("attention_everything", {{2, 4, 5, 3},
                                             {2, 2, 6, 3},
                                             2,
                                             {.causal = true, .scale = 0.7, .softcap = 2, .window = 4},
                                             {5, 6},
                                             {4, 5, 6}}),
      attention_row("quiet_attention", {{2, 2, 3, 4}, {2, 1, 5, 4}, 3, {.quiet = true}, {3, 5}, {2, 3, 5}}),
      attention_row("quiet_attention_causal", {{1, 1, 4, 3}, {1, 1, 4, 3}, 3, {.causal = true, .quiet = true}}),
      attention_row("attention_one_query", {{1, 2, 1, 4}, {1, 2, 7, 4}, 4, causal}),
      attention_row("attention_one_query_with_everything", {{2, 4, 1, 5},
                                                            {2, 2, 9, 5},
                                                            3,
                                                            {.causal = true, .scale = 0.7, .softcap = 2, .window = 7},
                                                            {1, 9},
                                                            {4, 1, 9}}),
      attention_row("attention_one_query_of_many_keys", {{1, 2, 1, 20}, {1, 1, 205, 20}, 33, {}, {205}, {1, 1}}, false),
      attention_row("attention_of_nothing", {{0, 2, 3, 4}, {0, 2, 3, 4}, 4}),
      attention_row("attention_of_no_keys", {{1, 2, 3, 4}, {1, 2, 0, 4}, 4}),
      attention_row("attention_of_no_queries", {{1, 2, 0, 4}, {1, 2, 3, 4}, 4}),
      attention_row("attention_of_many_blocks", {{1, 2, 230, 16}, {1, 1, 301, 16}, 33, {}, {230, 301}, {2, 230, 301}},
                    false),
      attention_row("attention_of_many_causal_blocks", {{2, 1, 300, 8}, {2, 1, 300, 8}, 8, causal}, false),
      attention_row("attention_of_many_windows",
                    {{1, 1, 250, 24}, {1, 1, 331, 24}, 24, {.causal = true, .window = 100}}, false),
      attention_row("attention_of_many_even_windows", {{1, 1, 250, 5}, {1, 1, 250, 5}, 5, {.window = 40}}, false),
  };
}

const Family kAttentionFamily(&attention_rows);

// ---- long sequences: gradients of the kernel against those of the expansion -----------------------------------------

Value numbers(const Shape& shape, const Device& device, std::uint64_t seed, DType dtype = DType::F32) {
  return normal(shape, 0, 1, device, dtype, Key{seed});
}

/// Output and gradients on `name`, from the same numbers.
std::vector<TensorData> results_on(const char* name, const Case& c, DType dtype) {
  const Device device = Device::parse(name).autodiff(), cpu = Device::cpu();
  Shape v_shape = c.k;
  v_shape.back() = c.value_width;
  const auto leaf = [&](const Shape& shape, std::uint64_t seed) {
    return to_device(numbers(shape, cpu, seed, dtype), device).require_grad();
  };
  const Value q = leaf(c.q, 1), k = leaf(c.k, 2), v = leaf(v_shape, 3);
  const Value bias = c.bias.empty() ? Value() : leaf(c.bias, 4);
  const Value mask = c.mask.empty() ? Value() : to_device(gt(numbers(c.mask, cpu, 5), -0.5), device);
  const Value output = attention(q, k, v, c.options, mask, bias);
  const Gradients gradients = backward(sum(output * to_device(numbers(output.shape(), cpu, 6, dtype), device)));
  std::vector<TensorData> results{output.data(), gradients.of(q).data(), gradients.of(k).data(),
                                  gradients.of(v).data()};
  if (bias) results.push_back(gradients.of(bias).data());
  return results;
}

const std::pair<const char*, Case> kLong[] = {
    {"plain", {{2, 2, 200, 16}, {2, 2, 333, 16}, 40}},
    {"causal", {{1, 4, 300, 24}, {1, 2, 300, 24}, 24, {.causal = true}}},
    {"window", {{1, 1, 280, 9}, {1, 1, 400, 9}, 7, {.causal = true, .softcap = 3, .window = 110}}},
    {"mask and bias", {{2, 2, 150, 8}, {2, 2, 250, 8}, 8, {}, {2, 1, 150, 250}, {2, 2, 150, 250}}},
    {"bias of heads", {{3, 2, 130, 8}, {3, 2, 220, 8}, 8, {}, {}, {2, 130, 220}}},
    {"bias of batches", {{3, 4, 130, 8}, {3, 2, 220, 8}, 8, {.causal = true}, {}, {3, 1, 130, 220}}},
    {"bias of keys", {{2, 2, 130, 8}, {2, 2, 220, 8}, 8, {}, {}, {220}}},
    {"bias of queries", {{2, 2, 130, 8}, {2, 2, 220, 8}, 8, {}, {}, {130, 1}}},
};

TEST(Attention, OfLongSequencesAgreesWithItsExpansion) {
  for (const auto& [name, c] : kLong)
    for (const DType dtype : {DType::F32, DType::F64}) {
      const auto fast = results_on("cpu", c, dtype), plain = results_on("reference", c, dtype);
      ASSERT_EQ(fast.size(), plain.size());
      for (std::size_t i = 0; i < fast.size(); ++i) {
        const Tolerance tolerance = dtype == DType::F64 ? Tolerance{1e-11, 1e-11} : Tolerance{2e-4, 2e-4};
        EXPECT_EQ(difference(fast[i], plain[i], tolerance), "") << text(name, ", ", dtype, ", result ", i);
      }
    }
}

TEST(Attention, HasTheSameGradientBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const auto& [name, c] : kLong) {
    set_num_threads(1);
    const auto alone = results_on("cpu", c, DType::F32);
    set_num_threads(3);
    const auto shared = results_on("cpu", c, DType::F32);
    for (std::size_t i = 0; i < alone.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(alone[i].bytes(), shared[i].bytes())) << name << ", result " << i;
  }
  set_num_threads(before);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST(Attention, TakesMemoryThatGrowsWithTimeAndNotWithItsSquare) {
  constexpr std::int64_t time = 8192, width = 32;
  const Device device = Device::cpu().autodiff();
  const auto leaf = [&](std::uint64_t seed) { return numbers({1, 1, time, width}, device, seed).require_grad(); };
  const Value q = leaf(1), k = leaf(2), v = leaf(3);
  const std::int64_t before = device.backend().memory().peak;
  const Gradients gradients = backward(sum(attention(q, k, v, {.causal = true})));
  // Less than 40 tensors like q, of which the gradient of q takes 16 for as many tasks; the scores would take 256.
  EXPECT_LT(device.backend().memory().peak - before, 40 * time * width * 4);
  EXPECT_GT(time * time * 4, 6 * 40 * time * width * 4);
}

// ---- special cases --------------------------------------------------------------------------------------------------

TEST(Attention, GivesZerosWhereAQuerySeesNothing) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name).autodiff();
    const auto leaf = [&](const Shape& shape) { return ones(shape, device).require_grad(); };
    const Value q = leaf({1, 1, 2, 2}), k = leaf({1, 1, 2, 2}), v = leaf({1, 1, 2, 2});
    const Value mask =
        from_data(TensorData::of<bool>({2, 2}, std::initializer_list<bool>{false, false, true, false}), device);
    const Value output = attention(q, k, v, {}, mask);
    EXPECT_EQ(output.data().to_vector<float>(), (std::vector<float>{0, 0, 1, 1})) << name;
    const Gradients gradients = backward(sum(output));
    for (const Value& operand : {q, k})
      EXPECT_EQ(gradients.of(operand).data().to_vector<float>(), std::vector<float>(4));
    EXPECT_EQ(gradients.of(v).data().to_vector<float>(), (std::vector<float>{1, 1, 0, 0})) << name;
    // A bias of -inf masks as well.
    const double inf = std::numeric_limits<double>::infinity();
    const Value shut = where(mask, zeros({2, 2}, device), -inf);
    EXPECT_EQ(attention(q, k, v, {}, {}, shut).data().to_vector<float>(), (std::vector<float>{0, 0, 1, 1})) << name;
  }
}

TEST(Attention, TakesLargeScoresAndPassesNan) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name);
    const Value q = full({1, 1, 1, 1}, 1000.0, device),
                k = from_data(TensorData::of<float>({1, 1, 3, 1}, {1000, 1000, -1000}), device);
    const Value v = from_data(TensorData::of<float>({1, 1, 3, 1}, {1, 3, 7}), device);
    EXPECT_EQ(attention(q, k, v).item(), 2) << name;
    EXPECT_TRUE(std::isnan(attention(q * std::nan(""), k, v).item())) << name;
  }
}

TEST(Masks, SayWhichKeysAQueryMaySee) {
  const auto flags = [](const Value& mask) { return mask.data().to_vector<int>(); };
  const Device device = Device::cpu();
  EXPECT_EQ(flags(causal_mask({2, 4}, device)), (std::vector<int>{1, 1, 1, 0, 1, 1, 1, 1}));
  EXPECT_EQ(flags(causal_mask({3, 2}, device)), (std::vector<int>{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(flags(window_mask({3, 3}, 2, false, device)), (std::vector<int>{1, 1, 0, 1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(flags(window_mask({3, 3}, 2, true, device)), (std::vector<int>{1, 0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(flags(window_mask({2, 3}, 0, false, device)), std::vector<int>(6, 1));
  const Value lengths = from_data(TensorData::of<std::int64_t>({2}, {1, 3}), device);
  EXPECT_EQ(padding_mask(lengths, 3).shape(), (Shape{2, 1, 1, 3}));
  EXPECT_EQ(flags(padding_mask(lengths, 3)), (std::vector<int>{1, 0, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace kiln::test
