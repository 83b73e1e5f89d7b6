// A few weights that products, convolutions and recurrences of many kinds use in turn, over the numbers of channels by
// which kernels choose: each result has the bits that it has on operands of its own and in a process of its own, and is
// near that of the plain kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "kiln/core/random.hpp"
#include "kiln/ops/product/linear.hpp"
#include "kiln/ops/sequence/recurrent.hpp"
#include "tests/ops/passes.hpp"

namespace kiln::test {
namespace {

enum Shared { Image, Line, Batch, Kernel, Square, Bias, Input, Hidden, kShared };

/// The same numbers every time, as few as the powers of two allow in halves.
Values operands_of(std::int64_t channels, DType dtype, const Device& device) {
  const Shape shapes[kShared] = {{2, channels, 6, 6},        {5, channels},           {3, 4, channels},
                                 {channels, channels, 3, 3}, {channels, channels},    {channels},
                                 {4 * channels, channels},   {4 * channels, channels}};
  Random random(Key{static_cast<std::uint64_t>(channels)});
  Values operands;
  for (const Shape& shape : shapes) {
    std::vector<double> numbers(static_cast<std::size_t>(numel(shape)));
    for (double& number : numbers) number = random.uniform(-1, 1) / std::sqrt(static_cast<double>(channels));
    operands.push_back(from_data(TensorData::of<double>(shape, numbers).to(dtype), device).require_grad());
  }
  return operands;
}

struct Use {
  const char* name;
  Value (*of)(const Values& w);
  std::int64_t multiple = 1;  // of channels
};

std::int64_t channels_of(const Values& w) { return w[Bias].dim(0); }

// Some see the same memory in other shapes and orders.
const Use kUses[] = {
    {"conv", [](const Values& w) { return conv(w[Image], w[Kernel], w[Bias], {.padding = {1, 1}}); }},
    {"conv, stride 2", [](const Values& w) { return conv(w[Image], w[Kernel], {}, {.stride = {2, 2}}); }},
    {"conv, dilation 2", [](const Values& w) { return conv(w[Image], w[Kernel], w[Bias], {.dilation = {2, 2}}); }},
    {"conv, uneven stride",
     [](const Values& w) { return conv(w[Image], w[Kernel], {}, {.stride = {1, 3}, .padding = {2, 0}}); }},
    {"conv, turned weight",
     [](const Values& w) { return conv(w[Image], permute(w[Kernel], {1, 0, 3, 2}), {}, {.padding = {1, 1}}); }},
    {"conv, 2 groups",
     [](const Values& w) {
       return conv(w[Image], narrow(w[Kernel], 1, 0, channels_of(w) / 2), w[Bias], {.padding = {1, 1}, .groups = 2});
     },
     2},
    {"conv, one half of the results",
     [](const Values& w) { return conv(w[Image], narrow(w[Kernel], 0, 0, channels_of(w) / 2), {}); }, 2},
    {"conv, the other half",
     [](const Values& w) { return conv(w[Image], narrow(w[Kernel], 0, channels_of(w) / 2, channels_of(w) / 2), {}); },
     2},
    {"conv in a line",
     [](const Values& w) {
       const std::int64_t c = channels_of(w);
       return conv(reshape(w[Image], {2, c, 36}), reshape(w[Kernel], {c, c, 9}), w[Bias], {.padding = {4}});
     }},
    {"conv of pixels",
     [](const Values& w) { return conv(w[Image], reshape(w[Square], {channels_of(w), channels_of(w), 1, 1}), {}); }},
    {"conv_transpose",
     [](const Values& w) { return conv_transpose(w[Image], w[Kernel], w[Bias], {.padding = {1, 1}}); }},
    {"conv_transpose, stride 2",
     [](const Values& w) { return conv_transpose(w[Image], w[Kernel], {}, {.stride = {2, 2}}); }},
    {"conv and conv_transpose",
     [](const Values& w) { return conv_transpose(relu(conv(w[Image], w[Kernel], w[Bias])), w[Kernel], w[Bias]); }},
    {"matmul", [](const Values& w) { return matmul(w[Line], w[Square]); }},
    {"matmul, turned", [](const Values& w) { return relu(matmul(w[Line], transpose(w[Square])) + w[Bias]); }},
    {"matmul with itself", [](const Values& w) { return matmul(w[Square], w[Square]); }},
    {"matmul of a batch", [](const Values& w) { return matmul(w[Batch], w[Square]); }},
    {"matmul of the kernel's places",
     [](const Values& w) {
       return matmul(reshape(w[Line], {5, 1, 1, 1, channels_of(w)}), permute(w[Kernel], {2, 3, 0, 1}));
     }},
    {"matmul of the kernel's rows",
     [](const Values& w) {
       const Value rows = reshape(w[Kernel], {channels_of(w), -1});
       return matmul(rows, transpose(rows));
     }},
    {"linear", [](const Values& w) { return linear(w[Batch], w[Square], w[Bias]); }},
    {"linear to gates", [](const Values& w) { return linear(w[Line], w[Input]); }},
    {"lstm",
     [](const Values& w) {
       const RecurrentPass pass = lstm(w[Batch], {w[Input], w[Hidden], {}, {}});
       return pass.outputs * 2 + reshape(pass.state.cell, {3, 1, channels_of(w)});
     }},
    {"steps of an optimizer",
     [](const Values& w) { return (w[Square] * 0.9 - matmul(w[Square], w[Square]) * 0.1) / 2; }},
};

/// A use of the weights in one direction.
struct Act {
  const Use* use;
  char pass;
  Bits run(const Values& operands) const {
    return run_pass(pass, [&](const Values& w) { return Values{use->of(w)}; }, operands);
  }
};

std::vector<Act> acts_of(std::int64_t channels) {
  std::vector<Act> acts;
  for (const Use& use : kUses)
    for (const char pass : std::string_view("fbd"))
      if (channels % use.multiple == 0) acts.push_back({&use, pass});
  return acts;
}

/// Nothing but what two ways of adding up the same numbers may differ in.
void expect_near(const Bits& actual, const Bits& expected, DType dtype) {
  const double share = dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 1e-5 : dtype == DType::F16 ? 1e-2 : 8e-2;
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    double largest = 1e-2;
    for (std::int64_t j = 0; j < expected[i].numel(); ++j) largest = std::max(largest, std::abs(expected[i].at(j)));
    EXPECT_EQ(difference(actual[i], expected[i], {.relative = 0, .absolute = share * largest}), "") << "result " << i;
  }
}

struct Width {
  std::int64_t channels;
  DType dtype;
};

std::vector<Width> widths() {
  std::vector<Width> all;
  for (const std::int64_t channels : {1, 3, 4, 8, 16, 17, 32, 64})
    for (const DType dtype : {DType::F32, DType::BF16, DType::F16, DType::F64})
      if (channels <= 32 || dtype == DType::F32 || dtype == DType::BF16) all.push_back({channels, dtype});
  return all;
}

class SharedWeights : public testing::TestWithParam<Width> {};

TEST_P(SharedWeights, GiveEachOfTheirUsesTheBitsOfItsFirstTime) {
  const auto [channels, dtype] = GetParam();
  const Device device = Device::cpu().autodiff();
  const std::vector<Act> acts = acts_of(channels);
  std::vector<Bits> first;
  for (const Act& act : acts) {
    const Values own = operands_of(channels, dtype, device);
    soil(own, 7);
    first.push_back(act.run(own));
  }
  const Values shared = operands_of(channels, dtype, device);
  Random random(Key{7});
  for (std::size_t step = 0; step < 4 * acts.size(); ++step) {
    const auto i = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(acts.size())));
    if (step % 8 == 0) soil(shared, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(same_bits(acts[i].run(shared), first[i]))
        << acts[i].use->name << " " << acts[i].pass << ", step " << step;
  }
  const Device plain = Device::parse("reference").autodiff();
  for (std::size_t i = 0; i < acts.size(); ++i) {
    SCOPED_TRACE(text(acts[i].use->name, " ", acts[i].pass));
    if (channels <= 17) expect_near(first[i], acts[i].run(operands_of(channels, dtype, plain)), dtype);
  }
}

std::string name_of(const Width& width) { return text(width.channels, "_", width.dtype); }
INSTANTIATE_TEST_SUITE_P(Channels, SharedWeights, testing::ValuesIn(widths()),
                         [](const testing::TestParamInfo<Width>& info) { return name_of(info.param); });

/// A line for each act: its name and a hash of its bits.
std::map<std::string, std::uint64_t> digests(bool backwards) {
  std::map<std::string, std::uint64_t> all;
  for (const DType dtype : {DType::F32, DType::BF16})
    for (const std::int64_t channels : {4, 8, 16, 32}) {
      std::vector<Act> acts = acts_of(channels);
      if (backwards) std::ranges::reverse(acts);
      for (const Act& act : acts) {
        std::uint64_t hash = 0;
        for (const TensorData& data : act.run(operands_of(channels, dtype, Device::cpu().autodiff())))
          for (const std::byte byte : data.bytes()) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
        all[text(channels, " ", dtype, " ", act.use->name, " ", act.pass)] = hash;
      }
    }
  return all;
}

// Run by the test below, in a process that has done nothing else.
TEST(SharedWeightsAlone, DISABLED_PrintDigests) {
  for (const auto& [name, hash] : digests(true))
    std::printf("digest %016llx %s\n", static_cast<unsigned long long>(hash), name.c_str());
}

TEST(SharedWeightsAlone, GiveTheBitsOfAnotherProcess) {
  std::FILE* const other = popen(
      text("env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX ", std::filesystem::read_symlink("/proc/self/exe").string(),
           " --gtest_also_run_disabled_tests --gtest_filter=SharedWeightsAlone.DISABLED_PrintDigests")
          .c_str(),
      "r");
  ASSERT_NE(other, nullptr);
  std::map<std::string, std::uint64_t> theirs;
  std::array<char, 512> line;
  while (std::fgets(line.data(), line.size(), other)) {
    unsigned long long hash = 0;
    int at = 0;
    if (std::sscanf(line.data(), "digest %16llx %n", &hash, &at) != 1) continue;
    std::string name(line.data() + at);
    name.pop_back();
    theirs[name] = hash;
  }
  EXPECT_EQ(pclose(other), 0);
  const auto ours = digests(false);
  EXPECT_EQ(theirs.size(), ours.size());
  for (const auto& [name, hash] : ours) EXPECT_EQ(theirs[name], hash) << name;
}

}  // namespace
}  // namespace kiln::test
