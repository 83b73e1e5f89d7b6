// Attention by cuDNN beside loops over doubles.
#include <gtest/gtest.h>

#include <cmath>
#include <list>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/cuda/attentions.hpp"
#include "kiln/core/random.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/backend/gpu/attend.hpp"

namespace kiln::cuda::test {
namespace {

using gpu::Attention;
using kiln::test::attend_by_loops;

/// Numbers of the device, and the same on the host.
struct Numbers {
  TensorData data;
  Block block;
  Numbers(Random& random, DType dtype, std::int64_t count)
      : data({count}, dtype), block(driver(), data.bytes().size() + 64) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(random.uniform(-1, 1));
    data = TensorData::of<double>({count}, std::span<const double>(values)).to(dtype);
    driver().upload(block.start(), data.bytes());
  }
  std::vector<double> downloaded() const {
    TensorData found = data;
    driver().download(block.start(), found.bytes().size())->wait(found.bytes().data());
    return found.to_vector<double>();
  }
};

struct Case {
  std::int64_t batch, heads, kv_heads, queries, keys, width, values;
  bool causal = false;
  std::int64_t window = 0;
  bool turned = false;  // [batch, time, heads, width] in memory
};

/// One question with its memory, on the device and on the host.
struct Asked {
  Attention device, host;
  std::list<Numbers> numbers{};
  Random random{Key{3}};
  const Case is;

  Asked(const Case& of, DType dtype) : is(of) {
    device = {.dtype = dtype, .causal = is.causal, .window = is.window, .scale = 0.375};
    host = device;
    const auto fill = [&](Attention::Tensor Attention::* which, std::int64_t heads, std::int64_t time,
                          std::int64_t width) {
      Numbers& made = numbers.emplace_back(random, dtype, is.batch * heads * time * width);
      const Dims strides = is.turned ? Dims{time * heads * width, width, heads * width, 1}
                                     : Dims{heads * time * width, time * width, width, 1};
      device.*which = {made.block.start(), {is.batch, heads, time, width}, strides};
      host.*which = {made.data.bytes().data(), {is.batch, heads, time, width}, strides};
    };
    using A = Attention;
    fill(&A::q, is.heads, is.queries, is.width);
    fill(&A::k, is.kv_heads, is.keys, is.width);
    fill(&A::v, is.kv_heads, is.keys, is.values);
    fill(&A::out, is.heads, is.queries, is.values);
    fill(&A::grad, is.heads, is.queries, is.values);
    fill(&A::q_grad, is.heads, is.queries, is.width);
    fill(&A::k_grad, is.kv_heads, is.keys, is.width);
    fill(&A::v_grad, is.kv_heads, is.keys, is.values);
    Numbers& sums = numbers.emplace_back(random, DType::F32, is.batch * is.heads * is.queries);
    device.log_sum = sums.block.start();
    host.log_sum = sums.data.bytes().data();
  }

  void set_kind(Attention::Kind kind) { device.kind = host.kind = kind; }
  Numbers& of(const std::byte* start) {
    for (Numbers& each : numbers)
      if (each.block.start() == start) return each;
    throw std::logic_error("nobody's");
  }
  void expect_same(const std::byte* start, double tolerance, const char* what) {
    Numbers& made = of(start);
    const auto found = made.downloaded(), wanted = made.data.to_vector<double>();
    double worst = 0, most = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      worst = std::max(worst, std::isfinite(found[i]) ? std::abs(found[i] - wanted[i]) : INFINITY);
      most = std::max(most, std::abs(wanted[i]));
    }
    EXPECT_LE(worst, tolerance * std::max(most, 1.0)) << what;
  }
};

/// Whether the device knew how, forward and backward.
std::pair<bool, bool> run(const Case& is, DType dtype) {
  Asked asked(is, dtype);
  const double tolerance = dtype == DType::F16 ? 2e-3 : 1.6e-2;
  std::pair<bool, bool> known{true, true};
  // The first at once, others when they are waited for; of many a graph is made.
  const auto repeat = [&](Attention::Kind kind, bool& good) {
    asked.set_kind(kind);
    for (const int times : {1, 1, 4, 4, 4, 4}) {
      for (int i = 0; good && i < times; ++i) good = driver().attend(asked.device);
      driver().synchronize();
    }
  };
  repeat(Attention::Kind::Forward, known.first);
  attend_by_loops(asked.host);
  if (known.first) {
    asked.expect_same(asked.device.out.data, tolerance, "output");
    asked.expect_same(asked.device.log_sum, 1e-3, "logarithm of sums");
  }
  // The gradient is given what the loops made.
  for (const std::byte* const start : {asked.device.out.data, asked.device.log_sum})
    driver().upload(const_cast<std::byte*>(start), asked.of(start).data.bytes());
  repeat(Attention::Kind::Gradient, known.second);
  attend_by_loops(asked.host);
  if (known.second) {
    asked.expect_same(asked.device.q_grad.data, tolerance, "gradient of q");
    asked.expect_same(asked.device.k_grad.data, tolerance, "gradient of k");
    asked.expect_same(asked.device.v_grad.data, tolerance, "gradient of v");
  }
  return known;
}

class CudaAttentions : public testing::Test {
 protected:
  void SetUp() override {
    KILN_NEEDS_DEVICE();
    try {
      (void)cudnn::api();
    } catch (const Error& error) { GTEST_SKIP() << error.what(); }
  }
};

TEST_F(CudaAttentions, AreThoseOfLoops) {
  for (const Case& is : {Case{2, 1, 1, 16, 24, 8, 16},
                         {1, 2, 2, 17, 17, 16, 8, true},
                         {2, 2, 2, 18, 20, 8, 8, true, 0, true},
                         {1, 4, 2, 16, 16, 8, 8, false, 0, true},
                         {1, 2, 1, 24, 24, 8, 8, true, 7}})
    for (const DType dtype : {DType::F16, DType::BF16}) {
      SCOPED_TRACE(text(dtype, " ", is.heads, " ", is.queries, " ", is.keys, is.causal ? " causal" : ""));
      const auto [forward, backward] = run(is, dtype);
      EXPECT_TRUE(forward || !fake_state());
      EXPECT_TRUE(backward || !fake_state());
    }
}

// Whatever room there is: all at once, some sequences at a time, or some heads.
TEST_F(CudaAttentions, AreMadeInPieces) {
  const Case is{2, 4, 2, 16, 16, 8, 8, true};
  Asked asked(is, DType::BF16);
  attend_by_loops(asked.host);
  for (const std::byte* const start : {asked.device.out.data, asked.device.log_sum})
    driver().upload(const_cast<std::byte*>(start), asked.of(start).data.bytes());
  asked.set_kind(Attention::Kind::Gradient);
  attend_by_loops(asked.host);
  const std::int64_t wanted = driver().attention_workspace(asked.device);
  ASSERT_GT(wanted, 0);
  const std::int64_t of_head = (wanted - (64 << 10)) / 8;
  const Block workspace(driver(), static_cast<std::size_t>(wanted));
  for (const auto& [heads, pieces] : {std::pair{8, 1}, {5, 2}, {3, 4}, {2, 4}}) {
    SCOPED_TRACE(heads);
    asked.device.workspace = workspace.start();
    asked.device.workspace_bytes = (64 << 10) + heads * of_head;
    for (const std::byte* const start : {asked.device.q_grad.data, asked.device.k_grad.data, asked.device.v_grad.data})
      driver().clear(const_cast<std::byte*>(start), asked.of(start).data.bytes().size());
    Dnn dnn(make_ref<Stream>(driver_api(), 0), driver().budget());
    EXPECT_EQ(std::ssize(pieces_of(dnn, asked.device)), pieces);
    EXPECT_TRUE(driver().attend(asked.device) || !fake_state());
    if (fake_state())
      for (const std::byte* const start :
           {asked.device.q_grad.data, asked.device.k_grad.data, asked.device.v_grad.data})
        asked.expect_same(start, 1.6e-2, "gradient");
  }
}

// Versions are known to err in gradients of keys that are not whole tiles, and older ones in more.
TEST_F(CudaAttentions, AreNotAskedOfVersionsThatErr) {
  void* const library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  auto* const version = static_cast<std::size_t*>(::dlsym(library, "kiln_fake_cudnn_version"));
  if (!version) GTEST_SKIP() << "its version is what it is";
  const std::size_t before = *version;
  *version = 91400;
  EXPECT_EQ(run({1, 1, 1, 16, 40, 8, 8}, DType::BF16), std::pair(true, false));
  EXPECT_EQ(run({1, 1, 1, 16, 128, 8, 8}, DType::BF16), std::pair(true, true));
  *version = 91000;
  EXPECT_EQ(run({1, 1, 1, 24, 128, 8, 8}, DType::BF16), std::pair(false, false));
  *version = before;
}

// Where cuDNN may add up in any order, or does not know how to see nothing, our kernels are asked.
TEST_F(CudaAttentions, AreLeftToOthersWhereItWouldDiffer) {
  const std::pair none{false, false};
  EXPECT_EQ(run({1, 1, 1, 1, 64, 8, 8}, DType::BF16), none);
  EXPECT_EQ(run({1, 1, 1, 24, 16, 8, 8, true}, DType::BF16), none);
  EXPECT_EQ(run({1, 1, 1, 16, 16, 8, 8, false, 5}, DType::BF16), none);
  EXPECT_EQ(run({1, 1, 1, 16, 16, 12, 8}, DType::BF16), none);
  EXPECT_EQ(run({1, 1, 1, 16, 16, 8, 8}, DType::F32), none);
}

/// Output and gradients of attention of bfloat16's numbers in a type, of so much of it that cuDNN is asked.
std::vector<TensorData> made_on(const Device& plain, DType dtype, bool causal, std::int64_t queries) {
  const Device device = plain.autodiff();
  unsigned seed = 1;
  const auto operand = [&](const Shape& shape, const Device& on) {
    Random random(Key{seed++});
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < numel(shape); ++i) numbers.push_back(random.uniform(-1, 1));
    return from_data(TensorData::of<double>(shape, std::span<const double>(numbers)).to(DType::BF16).to(dtype), on);
  };
  const auto turned = [](const Value& x) { return permute(x, {0, 2, 1, 3}); };
  const Values in{operand({2, queries, 8, 64}, device).require_grad(), operand({2, 512, 4, 64}, device).require_grad(),
                  operand({2, 512, 4, 64}, device).require_grad()};
  const Value y = attention(turned(in[0]), turned(in[1]), turned(in[2]), {.causal = causal});
  const Value given = operand(y.shape(), plain);
  std::vector<TensorData> all{y.data().to(DType::F64)};
  for (const Value& each : grad({&y, 1}, {&given, 1}, in)) all.push_back(each.data().to(DType::F64));
  return all;
}

TEST_F(CudaAttentions, OfADeviceAreThoseOfTheProcessorAndTheSameBitsAgain) {
  KILN_NEEDS_COMPILER();
  if (fake_state()) GTEST_SKIP() << "the fake driver runs no kernels";
  for (const bool causal : {false, true})
    for (const std::int64_t queries : {500, 512}) {
      SCOPED_TRACE(text(causal, " ", queries));
      const auto found = made_on(Device::cuda(), DType::BF16, causal, queries);
      const auto again = made_on(Device::cuda(), DType::BF16, causal, queries);
      const auto wanted = made_on(Device::cpu(), DType::F32, causal, queries);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto a = found[i].to_vector<double>(), b = wanted[i].to_vector<double>();
        double apart = 0, all = 0;
        for (std::size_t j = 0; j < a.size(); ++j) {
          apart += (a[j] - b[j]) * (a[j] - b[j]);
          all += b[j] * b[j];
        }
        EXPECT_LE(std::sqrt(apart / all), 5e-3) << i;
        if (is_set("KILN_DETERMINISTIC", true)) {
          EXPECT_TRUE(std::ranges::equal(found[i].bytes(), again[i].bytes())) << i;
        }
      }
    }
}

}  // namespace
}  // namespace kiln::cuda::test
