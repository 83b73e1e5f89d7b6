// Thousands of damaged files: each is either read or refused with a sentence that begins with the file's name. Where the
// compiler can, the readers are compiled for this with the address and undefined behaviour sanitizers.
#include "damage.hpp"

#include <gtest/gtest.h>

#include "mutation.hpp"
#include "samples.hpp"

namespace kiln {
namespace {

bool reads(const DamageCase& format, std::vector<std::byte> bytes) {
  const std::string path = format.path();
  const FileBytes file = in_memory(std::move(bytes), path);
  try {
    format.read(file);
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == format.refusal || error.kind() == format.or_else) << error.what();
    EXPECT_TRUE(error.kind() != format.refusal || error.message().starts_with(path + ':')) << error.what();
    return false;
  }
}

class Damage : public testing::TestWithParam<DamageCase> {};

TEST_P(Damage, ReadsOrRefusesTwentyThousandDamagedFiles) {
  const DamageCase& format = GetParam();
  const std::vector<std::byte> sound = format.sound();
  ASSERT_TRUE(reads(format, sound));
  Random random(2024);
  int refused = 0, read = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = sound;
    for (std::int64_t count = 1 + random.below(4); count > 0 && !bytes.empty(); --count) damage(bytes, random);
    if (format.mend && random.below(2)) format.mend(bytes);
    ++(reads(format, std::move(bytes)) ? read : refused);
    if (HasFailure()) FAIL() << "round " << round;
  }
  // Both outcomes are common: damage to data or to a letter of a name is no damage to the format.
  EXPECT_GT(refused, 2'000);
  EXPECT_GT(read, 100);
}

TEST_P(Damage, AFileThatIsCutOffAnywhereIsRefused) {
  const std::vector<std::byte> sound = GetParam().sound();
  for (std::size_t size = 0; size + GetParam().padding < sound.size(); ++size)
    EXPECT_FALSE(reads(GetParam(), {sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
}

INSTANTIATE_TEST_SUITE_P(Formats, Damage, testing::ValuesIn(damage_cases().begin(), damage_cases().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln
