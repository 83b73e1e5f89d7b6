// Attention by the GPU families' kernels, past the edges of their tiles, against loops over doubles.
#include <cmath>

#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"
#include "tests/backend/gpu/family/naming.hpp"

namespace kiln::test {
namespace {

struct Case {
  std::int64_t batch, heads, kv_heads, queries, keys, width, values;
  bool causal = false;
  std::int64_t window = 0;
  bool masked = false, biased = false;
  double softcap = 0;
  bool turned = false;  // [batch, time, heads, width] in memory
};

/// A tensor of doubles [a, b, c, d].
struct Numbers {
  Shape shape;
  std::vector<double> all;
  double& at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return all[static_cast<std::size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d)];
  }
};

Numbers random_numbers(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  Numbers made{shape, std::vector<double>(places(shape))};
  // Exact in every float type.
  for (double& number : made.all) number = (static_cast<int>(random() % 17) - 8) / 8.0;
  return made;
}

Value on_device(const Device& device, const Numbers& numbers, DType dtype, bool turned = false) {
  const auto value = [&](const Shape& shape, std::span<const double> all) {
    return Value(device.backend().upload(TensorData::of<double>(shape, all).to(dtype), device));
  };
  if (!turned) return value(numbers.shape, numbers.all);
  const Shape& s = numbers.shape;
  std::vector<double> moved(numbers.all.size());
  each_index(s, [&](const Dims& i) {
    moved[place_of({s[0], s[2], s[1], s[3]}, {i[0], i[2], i[1], i[3]})] = numbers.all[place_of(s, i)];
  });
  return permute(value({s[0], s[2], s[1], s[3]}, moved), {0, 2, 1, 3});
}

void expect_attention(const Case& c, DType dtype, const Device& device = simulated()) {
  Numbers q = random_numbers({c.batch, c.heads, c.queries, c.width}, 1);
  Numbers k = random_numbers({c.batch, c.kv_heads, c.keys, c.width}, 2);
  Numbers v = random_numbers({c.batch, c.kv_heads, c.keys, c.values}, 3);
  Numbers mask = random_numbers({c.batch, 1, c.queries, c.keys}, 4);
  Numbers bias = random_numbers({1, c.heads, 1, c.keys}, 5);
  Numbers g = random_numbers({c.batch, c.heads, c.queries, c.values}, 6);
  const double scale = 0.375;
  Numbers out{g.shape, std::vector<double>(g.all.size())}, dq{q.shape, std::vector<double>(q.all.size())};
  Numbers dk{k.shape, std::vector<double>(k.all.size())}, dv{v.shape, std::vector<double>(v.all.size())};
  Numbers sums{{c.batch, c.heads, c.queries, 1}, std::vector<double>(places({c.batch, c.heads, c.queries}))};
  Numbers delta = sums;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.heads; ++h)
      for (std::int64_t i = 0; i < c.queries; ++i) {
        const std::int64_t kv = h / (c.heads / c.kv_heads);
        std::vector<double> share(static_cast<std::size_t>(c.keys)), slope = share, inner = share;
        double total = 0;
        for (std::int64_t j = 0; j < c.keys; ++j) {
          const auto at = static_cast<std::size_t>(j);
          const std::int64_t distance = c.keys - c.queries + i - j;
          const bool sees = (!c.causal || distance >= 0) &&
                            (c.window == 0 || (distance < c.window && distance > -c.window)) &&
                            (!c.masked || mask.at(b, 0, i, j) > 0);
          double x = 0;
          for (std::int64_t w = 0; w < c.width; ++w) x += q.at(b, h, i, w) * k.at(b, kv, j, w);
          x *= scale;
          slope[at] = 1;
          if (c.softcap > 0) {
            const double t = std::tanh(x / c.softcap);
            x = t * c.softcap;
            slope[at] = 1 - t * t;
          }
          if (c.biased) x += bias.at(0, h, 0, j);
          share[at] = sees ? std::exp(x) : 0;
          total += share[at];
        }
        sums.at(b, h, i, 0) = std::log(total);
        for (std::int64_t j = 0; j < c.keys; ++j) {
          double& of = share[static_cast<std::size_t>(j)];
          if (total > 0) of /= total;
          for (std::int64_t w = 0; w < c.values; ++w) {
            out.at(b, h, i, w) += of * v.at(b, kv, j, w);
            inner[static_cast<std::size_t>(j)] += g.at(b, h, i, w) * v.at(b, kv, j, w);
          }
        }
        for (std::int64_t w = 0; w < c.values; ++w) delta.at(b, h, i, 0) += g.at(b, h, i, w) * out.at(b, h, i, w);
        for (std::int64_t j = 0; j < c.keys; ++j) {
          const auto at = static_cast<std::size_t>(j);
          const double outer = share[at] * (inner[at] - delta.at(b, h, i, 0)) * slope[at] * scale;
          for (std::int64_t w = 0; w < c.width; ++w) {
            dq.at(b, h, i, w) += outer * k.at(b, kv, j, w);
            dk.at(b, kv, j, w) += outer * q.at(b, h, i, w);
          }
          for (std::int64_t w = 0; w < c.values; ++w) dv.at(b, kv, j, w) += share[at] * g.at(b, h, i, w);
        }
      }

  const DType wide = dtype == DType::F64 ? DType::F64 : DType::F32;
  const double tolerance = dtype == DType::F64 ? 1e-11 : dtype == DType::F32 ? 2e-5 : dtype == DType::F16 ? 0.02 : 0.1;
  for (double& number : mask.all) number = number > 0;
  const Value visible = c.masked ? on_device(device, mask, DType::Bool) : Value();
  const Values in{on_device(device, q, dtype, c.turned),
                  on_device(device, k, dtype, c.turned),
                  on_device(device, v, dtype, c.turned),
                  visible,
                  c.biased ? on_device(device, bias, dtype) : Value(),
                  scale,
                  c.softcap > 0 ? Value(c.softcap) : Value()};
  const Values made = emit_all(op::Attention{c.causal, c.window}, in);
  expect_near(made[0], out.all, tolerance, "output");
  expect_near(made[1], sums.all, tolerance, "logarithm");
  Values more = in;
  more.insert(more.end(), {on_device(device, g, dtype, c.turned),
                           reshape(on_device(device, sums, wide), {c.batch, c.heads, c.queries}),
                           reshape(on_device(device, delta, wide), {c.batch, c.heads, c.queries}), Value()});
  const Values grads = emit_all(op::AttentionGrad{c.causal, c.window}, more);
  expect_near(grads[0], dq.all, 4 * tolerance, "gradient of q");
  expect_near(grads[1], dk.all, 16 * tolerance, "gradient of k");
  expect_near(grads[2], dv.all, 16 * tolerance, "gradient of v");
}

TEST(GpuAttention, CrossesTheEdgesOfTiles) {
  expect_attention({1, 1, 1, 3, 5, 4, 4}, DType::F32);
  expect_attention({1, 1, 1, 16, 64, 16, 16}, DType::F32);
  expect_attention({2, 1, 1, 17, 65, 20, 8}, DType::F32);
  expect_attention({1, 1, 1, 70, 130, 33, 17}, DType::F32);
  expect_attention({1, 1, 1, 1, 100, 8, 40}, DType::F32);
}

TEST(GpuAttention, OfWideHeads) {
  expect_attention({1, 1, 1, 5, 9, 130, 20}, DType::F32);
  expect_attention({1, 1, 1, 5, 9, 20, 150}, DType::F32);
}

TEST(GpuAttention, ShowsWhatItIsAsked) {
  for (const bool causal : {false, true})
    for (const std::int64_t window : {0, 3, 80})
      expect_attention({1, 2, 1, 70, 68, 8, 8, causal, window}, DType::F32);  // the first two queries see nothing
  expect_attention({1, 1, 1, 5, 150, 8, 8, true, 70}, DType::F32);
  expect_attention({2, 4, 2, 20, 30, 8, 8, false, 0, true, true, 2.5}, DType::F32);
  expect_attention({2, 2, 2, 20, 30, 8, 8, true, 9, true, true, 1.5, true}, DType::F32);
}

TEST(GpuAttention, KnowsAllTypesAndOrders) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const bool turned : {false, true})
      expect_attention({2, 4, 2, 35, 40, 8, 16, true, 0, false, false, 0, turned}, dtype);
}

TEST(GpuAttention, ByMatricesThatWarpsHold) {
  const Device device = Device::parse("simulated:vulkan32");
  for (const DType dtype : {DType::F16, DType::BF16})
    for (const bool turned : {false, true}) {
      expect_attention({1, 2, 1, 70, 133, 64, 64, true, 0, false, false, 0, turned}, dtype, device);
      expect_attention({2, 2, 2, 9, 65, 40, 24, false, 0, true, true, 2.5, turned}, dtype, device);
    }
  expect_attention({1, 1, 1, 5, 70, 128, 144}, DType::F16, device);            // several blocks share the values
  expect_attention({1, 2, 1, 66, 130, 17, 33, true, 70}, DType::F16, device);  // loaded one by one
  expect_attention({1, 1, 1, 65, 20, 16, 16, true}, DType::F16, device);       // the first queries see nothing
}

TEST(GpuAttention, HasTilesForLittleSharedMemory) {
  const std::set<std::string> ours{
      "attention",          "attention_again",         "attention_query_grad", "attention_query_grad_again",
      "attention_key_grad", "attention_key_grad_again"};
  for (const gpu::Profile& profile : gpu::profiles()) {
    SCOPED_TRACE(profile.name);
    const auto driver = make_ref<NamingDriver>(profile);
    const Device device(make_ref<gpu::Gpu>(driver));
    for (const DType dtype : {DType::F32, DType::F16}) {
      driver->names.clear();
      expect_attention({1, 2, 1, 35, 40, 8, 8, true}, dtype, device);
      expect_attention({1, 1, 1, 5, 9, 20, 150}, dtype, device);
      for (const std::string& each : ours) EXPECT_TRUE(driver->names.contains(each)) << each << " of " << dtype;
    }
  }
}

TEST(GpuAttention, OfNothing) {
  const auto expect_all = [](DType dtype, const Device& device) {
    SCOPED_TRACE(name(dtype));
    expect_attention({1, 1, 1, 3, 0, 4, 4}, dtype, device);
    expect_attention({1, 1, 1, 0, 3, 4, 4}, dtype, device);
    expect_attention({0, 2, 1, 3, 3, 4, 4}, dtype, device);
    for (const bool causal : {false, true}) {
      expect_attention({1, 2, 1, 3, 5, 0, 4, causal}, dtype, device);
      expect_attention({1, 2, 1, 3, 5, 4, 0, causal}, dtype, device);
    }
  };
  expect_all(DType::F32, simulated());
  expect_all(DType::F16, Device::parse("simulated:vulkan32"));  // by matrices
}

}  // namespace
}  // namespace kiln::test
