// Every error is told once: to who first reads, saves, steps or waits for what is wrong, whatever it was made of and on
// whatever device; and to no thread that has nothing to do with it.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "kiln/kiln.hpp"
#include "tests/programs/told/tellings.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {
namespace {

constexpr std::int64_t kMany = 64 << 20;  // floats, for which there is no room

struct Refuses {
  Desc infer(Inputs in) const { return like(in[0]); }
  Values expand(Inputs in) const { return {within(in[0], 0, 0.5)}; }
};

/// Something that is wrong: floats [n], made of `x`, floats [4, 3].
struct Fault {
  const char* name;
  bool of_memory;
  std::function<Tensor<1>(const Tensor<2>&)> make;
};

Tensor<1, Int> indices(const Tensor<2>& x, std::vector<std::int64_t> list) {
  return Tensor<1, Int>(from_data(TensorData::of<std::int64_t>({std::ssize(list)}, list), x.device()));
}
Tensor<1> chosen(const Tensor<2>& x, std::int64_t index) { return x.select(0, indices(x, {1, index})).sum(1); }
Tensor<1> many(const Tensor<2>& x) { return ones({kMany}, x.device()); }

const std::vector<Fault> kFaults = {
    {"select", false, [](const Tensor<2>& x) { return x.select(0, indices(x, {1, 7})).flatten(); }},
    {"a sum of what is chosen", false, [](const Tensor<2>& x) { return chosen(x, 9); }},
    {"a step more", false, [](const Tensor<2>& x) { return (chosen(x, 9) + 1).exp(); }},
    {"two in one", false, [](const Tensor<2>& x) { return chosen(x, 9) + chosen(x, -1); }},
    {"an index that is wrong", false,
     [](const Tensor<2>& x) {
       const Tensor<1, Int> far = indices(x, {0, 1}).select(0, indices(x, {5}));
       return x.select(0, far).flatten();
     }},
    {"classes", false,
     [](const Tensor<2>& x) {
       return Tensor<1>(cross_entropy(x.value(), indices(x, {0, 1, 2, 3}).value(), {}, Reduction::None));
     }},
    {"a range", false, [](const Tensor<2>& x) { return within(x.flatten(), -2, -1); }},
    {"an operation of the user's", false, [](const Tensor<2>& x) { return custom(Refuses{}, x.flatten()) * 2; }},
    {"a matrix", false,
     [](const Tensor<2>& x) { return Tensor<1>(solve(zeros({3, 3}, x.device()).value(), x(0).value())); }},
    {"memory", true, many},
    {"memory, and a step more", true, [](const Tensor<2>& x) { return many(x) + 1; }},
    {"memory, and two steps more", true, [](const Tensor<2>& x) { return (many(x) + x(0, 0)).exp() * 3 + 1; }},
    {"memory twice", true, [](const Tensor<2>& x) { return many(x) * x(0, 1) + many(x) * x(0, 0); }},
    {"memory of a view", true, [](const Tensor<2>& x) { return many(x).reshape(2, kMany / 2).sum(1); }},
    {"a large product", true,
     [](const Tensor<2>& x) {
       const Tensor<2> row = x(0).reshape(3, 1).expand(3, 8000);
       return row.transpose().matmul(row).sum(1);
     }},
};

/// What is done with it. Whoever reads says so by throwing.
struct Reader {
  const char* name;
  std::function<void(const Tensor<1>&)> read;
};

struct Weight {
  nn::Param<1> w;
};

Tensor<0> loss_of(const Tensor<1>& wrong, const nn::Param<1>& w) { return (wrong.sum() * w).sum(); }

const std::vector<Reader> kReaders = {
    {"item", [](const Tensor<1>& wrong) { (void)wrong.sum().item(); }},
    {"data", [](const Tensor<1>& wrong) { (void)wrong.to_vector(); }},
    {"future", [](const Tensor<1>& wrong) { (void)wrong.read_async().get(); }},
    {"several", [](const Tensor<1>& wrong) { (void)read(wrong, wrong.sum()); }},
    {"print", [](const Tensor<1>& wrong) { (void)to_text(wrong); }},
    {"move", [](const Tensor<1>& wrong) { (void)wrong.to_device(Device::parse("reference")); }},
    {"save",
     [](const Tensor<1>& wrong) {
       const std::string path = testing::TempDir() + "told.safetensors";
       struct Gone {
         std::string path;
         ~Gone() { std::remove(path.c_str()); }
       } gone{path};
       save(Weight{nn::Param<1>(wrong)}, path);
     }},
    {"backward",
     [](const Tensor<1>& wrong) {
       const nn::Param<1> w(ones({2}, wrong.device().autodiff()));
       (void)loss_of(wrong, w).backward().of(w).to_vector();
     }},
    {"step",
     [](const Tensor<1>& wrong) {
       Weight model{nn::Param<1>(ones({2}, wrong.device().autodiff()))};
       Sgd optimizer = SgdConfig{}.init(model);
       const auto gradients = GradientsParams::from(loss_of(wrong, model.w).backward(), model);
       model = optimizer.step(0.1, std::move(model), gradients);
       (void)model.w.to_vector();  // a device that runs by itself may not know yet
     }},
    {"sync", [](const Tensor<1>& wrong) { wrong.device().sync(); }},
};

/// The memory limit while it lives, where that is what is wrong.
struct Limit {
  Limit(const Device& device, bool wanted) : device(device), before(wanted ? device.memory().limit : 0) {
    if (!wanted) return;
    device.release_memory();
    device.set_memory_limit(device.memory().reserved + (16 << 20));
  }
  ~Limit() {
    if (before) device.set_memory_limit(before);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

  Device device;
  std::int64_t before;
};

class Told : public testing::TestWithParam<std::string> {
 protected:
  const Device device = device_named(GetParam());
  /// The device that finds late what is wrong says of memory what the processor below it says.
  bool is_limited() const { return GetParam().find("queued") == std::string_view::npos; }
  bool can_have(const Fault& fault) const { return !fault.of_memory || is_limited(); }
  /// Where errors are found late, who reads may be told of one of two before the other is known: sync() tells of that one.
  bool knows_all(const Fault& fault) const { return is_limited() || std::string_view(fault.name) != "two in one"; }
  Tensor<2> operand() const { return Tensor<2>::of({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}}, device); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Told,
                         testing::ValuesIn(with_cuda({"cpu", "plain cpu", "few", "fused few", "fused late", "queued",
                                                      "fused queued", "simulated", "plain simulated", "profiled few",
                                                      "profiled queued", "verified few", "verified queued",
                                                      "verified plain simulated"})),
                         label);

TEST_P(Told, OnceToWhoReads) {
  for (const Fault& fault : kFaults) {
    if (!can_have(fault) || !knows_all(fault)) continue;
    for (const Reader& reader : kReaders)
      for (const bool elsewhere : {false, true}) {
        SCOPED_TRACE(text(fault.name, ", ", reader.name, elsewhere ? " in another thread" : ""));
        const Tensor<2> x = operand();
        device.sync();
        const Limit limit(device, fault.of_memory);
        std::optional<Tensor<1>> wrong;
        std::vector<std::string> said = tellings([&] { wrong = fault.make(x); });
        if (wrong) {
          const auto read = [&] { reader.read(*wrong); };
          // Another thread that waits for the device is told nothing of this one's.
          const bool waits = std::string_view(reader.name) == "sync";
          const auto heard = elsewhere ? in_another_thread(read) : tellings(read);
          said.insert(said.end(), heard.begin(), heard.end());
          if (elsewhere && waits) {
            EXPECT_EQ(heard, std::vector<std::string>());
            said = tellings(read);
          }
        }
        EXPECT_EQ(said.size(), 1u);
        EXPECT_EQ(left_untold(device), std::vector<std::string>()) << (said.empty() ? "nothing" : said[0]);
        wrong.reset();
        EXPECT_EQ(left_untold(device), std::vector<std::string>());
      }
  }
}

// What nobody can read any more is told to the thread that asked for it. There is nothing wrong with memory that nobody needs.
TEST_P(Told, OnceToWhoWaitsWhenTheValueIsGone) {
  for (const Fault& fault : kFaults) {
    if (fault.of_memory) continue;
    SCOPED_TRACE(fault.name);
    const Tensor<2> x = operand();
    device.sync();
    std::vector<std::string> said = tellings([&] { (void)fault.make(x); });
    EXPECT_EQ(in_another_thread([&] { device.sync(); }), std::vector<std::string>());
    for (std::string& each : tellings([&] { device.sync(); })) said.push_back(std::move(each));
    EXPECT_EQ(said.size(), 1u);
    EXPECT_EQ(left_untold(device), std::vector<std::string>());
  }
}

TEST_P(Told, OnceOfThreadsThatHaveEnded) {
  const Fault& fault = kFaults[0];
  const Tensor<2> x = operand();
  device.sync();
  std::optional<Tensor<1>> wrong;
  std::vector<std::string> said = in_another_thread([&] { wrong = fault.make(x); });
  if (wrong) {
    EXPECT_EQ(left_untold(device), std::vector<std::string>());  // who has the value is yet to be told
    wrong.reset();
    said = tellings([&] { device.sync(); });
  }
  EXPECT_EQ(said.size(), 1u);
  EXPECT_EQ(left_untold(device), std::vector<std::string>());
}

TEST_P(Told, OfSeveralErrorsAtOnce) {
  const Tensor<2> x = operand();
  device.sync();
  std::optional<Tensor<1>> first, second;
  const auto said = tellings([&] {
    first = chosen(x, 9);
    second = chosen(x, -4);
    device.sync();
  });
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("index 9"), std::string::npos) << said[0];
  if (second) { EXPECT_NE(said[0].find("index -4"), std::string::npos) << said[0]; }
  EXPECT_EQ(left_untold(device), std::vector<std::string>());
}

// A value that failed has no contents for anybody, however often.
TEST_P(Told, AgainToWhoReadsAgain) {
  const Tensor<2> x = operand();
  std::optional<Tensor<1>> wrong;
  if (!tellings([&] { wrong = chosen(x, 9); }).empty()) return;  // a device that says so at the call
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(tellings([&] { (void)wrong->to_vector(); }).size(), 1u);
    EXPECT_EQ(in_another_thread([&] { (void)(*wrong * 2).to_vector(); }).size(), 1u);
    EXPECT_EQ(left_untold(device), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace kiln::test
