// 2,000 random programs have the values and gradients of their meaning; a wrong one is made small and printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/programs/random/program.hpp"
#include "tests/support/backends/devices.hpp"
#include "tests/support/long.hpp"
#include "tests/support/mistaken.hpp"

namespace kiln::programs {
namespace {

std::size_t instructions_in(const Program& program) {
  return static_cast<std::size_t>(
      std::count_if(program.begin(), program.end(), [](const Line& line) { return line.instruction != nullptr; }));
}

constexpr int kParts = 8;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class RandomPrograms : public testing::TestWithParam<int> {};

// KILN_PROGRAMS=100000 runs that many, KILN_SEED=123 that one alone, KILN_TEST_DEVICES="fused few" on that device.
TEST_P(RandomPrograms, HaveTheValuesAndGradientsOfTheirMeaning) {
  const std::uint64_t count = from_environment("KILN_PROGRAMS", test::is_long() ? 20'000 : 2000),
                      all = ~std::uint64_t{0};
  const std::uint64_t only = from_environment("KILN_SEED", all);
  for (std::uint64_t seed = static_cast<std::uint64_t>(GetParam()); seed < count; seed += kParts) {
    if (only != all && seed != only) continue;
    const Program program = generate(seed);
    for (const auto& [name, device] : test::devices_under_test()) {
      // Once every line is read at once; and once some are read then, some at the end and others never.
      for (const std::uint64_t reading : {std::uint64_t{0}, seed + 1}) {
        const std::optional<std::string> wrong = check(program, device, reading);
        if (!wrong) continue;
        const Program small = minimise(program, device, reading);
        ADD_FAILURE() << "KILN_SEED=" << seed << " on " << name << (reading ? ", some lines read: " : ": ") << *wrong
                      << "\nmade small: " << check(small, device, reading).value_or("right") << "\n\n"
                      << snippet(small);
        return;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, kParts));

TEST(RandomProgramsAreOfManyKinds, EveryInstructionIsUsedOften) {
  std::map<std::string, int> uses;
  std::size_t fewest = 1000, most = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Program program = generate(seed);
    fewest = std::min(fewest, instructions_in(program));
    most = std::max(most, instructions_in(program));
    for (const Line& line : program)
      if (line.instruction) ++uses[line.instruction->name];
  }
  EXPECT_EQ(fewest, 5u);
  EXPECT_EQ(most, 40u);
  for (const Instruction& instruction : instructions())
    EXPECT_GE(uses[instruction.name], 5) << instruction.name << " is hardly ever possible";
}

// ---- it can fail ---------------------------------------------------------------------------------------------------

bool is_tanh(const op::Op& op) {
  const auto* unary = std::get_if<op::Unary>(&op.is);
  return unary && op::name(unary->fn) == "tanh";
}
// Of all the functions that programs call, only the gradient of abs asks for signs.
bool is_sign(const op::Op& op) {
  const auto* unary = std::get_if<op::Unary>(&op.is);
  return unary && op::name(unary->fn) == "sign";
}

void finds(bool (*wrong)(const op::Op&), const std::string& name, const char* file) {
  const Device device(make_ref<test::Mistaken>(wrong));
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200 && found < 3; ++seed) {
    const Program program = generate(seed);
    if (!check(program, device)) continue;
    ++found;
    const Program small = minimise(program, device);
    ASSERT_EQ(instructions_in(small), 1u) << snippet(small);
    EXPECT_EQ(small.back().instruction->name, name);
    EXPECT_TRUE(check(small, device));
    EXPECT_FALSE(check(small, Device::cpu()));
    std::ofstream(std::string(KILN_SNIPPETS) + "/" + file) << snippet(small);
  }
  EXPECT_EQ(found, 3) << "hardly a program is wrong when " << name << " is";
}

TEST(AMistakeInAKernel, IsFoundAndTheProgramMadeSmall) { finds(is_tanh, "tanh", "value.cpp"); }
TEST(AMistakeInAGradient, IsFoundAndTheProgramMadeSmall) { finds(is_sign, "abs", "gradient.cpp"); }

// The snippets of programs that use all instructions between them; CTest compiles the file.
TEST(Snippets, AreProgramsOfEveryInstruction) {
  std::ofstream file(std::string(KILN_SNIPPETS) + "/all.cpp");
  std::set<std::string> missing;
  for (const Instruction& instruction : instructions()) missing.insert(instruction.name);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Program program = generate(seed);
    bool fresh = false;
    for (const Line& line : program) fresh |= line.instruction && missing.erase(line.instruction->name) == 1;
    if (!fresh) continue;
    const std::string code = snippet(program);
    const std::size_t main = code.find("int main");
    file << code.substr(0, main) << "namespace seed_" << seed << " {\n" << code.substr(main) << "}\n";
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

}  // namespace
}  // namespace kiln::programs
