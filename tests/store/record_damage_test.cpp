// Records whose checksums are right and whose values are not: what their JSON says is refused, or read.
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/store/record/object_record.hpp"

#include "formats/mutation.hpp"
#include "temporary.hpp"

namespace kiln {
namespace {

enum class Phase : std::uint8_t { Warmup, Decay };
struct Inner {
  std::int8_t small = -3;
  std::vector<std::string> names = {"a", "\"b\" ünd\n"};
  bool operator==(const Inner&) const = default;
};
struct Values {
  std::int64_t epoch = 12;
  double rate = 0.25, best = INFINITY;
  bool done = true;
  Phase phase = Phase::Decay;
  std::string note = "say \\ \u00e9";
  std::optional<float> clip = 1.5f;
  std::map<std::string, double> metrics = {{"accuracy", 0.5}, {"loss", -1e-9}};
  std::vector<Inner> inner = {{}, {.small = 7, .names = {}}};
  bool operator==(const Values&) const = default;
};

std::string damaged(const std::string& text, Random& random) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  std::vector<std::byte> bytes(first, first + text.size());
  for (std::int64_t count = 1 + random.below(3); count > 0 && !bytes.empty(); --count) damage(bytes, random);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(DamagedRecord, ValuesAreReadOrRefusedAndNothingIsHalfRead) {
  const TemporaryFile file("values.kiln");
  save_record(Values{}, file.path);
  const TensorSource sound = open_tensors(file.path);
  std::vector<std::string> keys;
  for (const auto& [key, value] : sound.metadata) keys.push_back(key);
  ASSERT_GE(keys.size(), 9u);
  const Values before{.epoch = 1, .rate = 2, .best = 3, .note = "before"};
  Random random(7);
  int read = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    TensorSource record = sound;
    std::string& value = record.metadata.at(keys[static_cast<std::size_t>(random.below(std::ssize(keys)))]);
    value = damaged(value, random);
    Values loaded = before;
    try {
      load_record(loaded, record, "damaged");
      ++read;
    } catch (const Error& error) {
      ++refused;
      EXPECT_TRUE(error.kind() == ErrorKind::Config || error.kind() == ErrorKind::Load) << error.what();
      EXPECT_TRUE(error.message().starts_with("damaged: ")) << error.what();
      EXPECT_EQ(loaded, before) << error.what();
    }
    if (HasFailure()) FAIL() << "round " << round << ": " << value;
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 2'000);
}

}  // namespace
}  // namespace kiln
