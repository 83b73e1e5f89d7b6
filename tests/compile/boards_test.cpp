// Compiled networks on microcontrollers, as QEMU has them.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "kiln/nn/nn.hpp"
#include "tests/compile/compiled.hpp"

namespace kiln::compile {
namespace {

struct Board {
  std::string target, compiler, flags, start, emulator, memory;
};

constexpr const char* kArm = "arm-none-eabi-gcc";
std::string arm_emulator(const std::string& machine) {
  return "qemu-system-arm -machine " + machine +
         " -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel";
}
Board board(const std::string& target) {
  const std::string arm = "--specs=nano.specs -mthumb ";
  if (target == "m0")
    return {target,
            kArm,
            arm + "-Os -mcpu=cortex-m0",
            "arm.c",
            arm_emulator("microbit"),
            "code_origin=0x0,code_length=256K,data_origin=0x20000000,data_length=16K"};
  if (target == "m4")
    return {target,
            kArm,
            arm + "-O2 -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16",
            "arm.c",
            arm_emulator("mps2-an386"),
            "code_origin=0x0,code_length=4M,data_origin=0x20000000,data_length=4M"};
  if (target == "m7")
    return {target,
            kArm,
            arm + "-O2 -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16",
            "arm.c",
            arm_emulator("mps2-an500"),
            "code_origin=0x0,code_length=4M,data_origin=0x60000000,data_length=16M"};
  if (target == "m33")
    return {target,
            kArm,
            arm + "-O2 -mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16",
            "arm.c",
            arm_emulator("mps2-an505"),
            "code_origin=0x10000000,code_length=4M,data_origin=0x38000000,data_length=4M"};
  return {target,
          "riscv64-unknown-elf-gcc",
          "--specs=picolibc.specs -O2 -march=rv32imac -mabi=ilp32 -mcmodel=medany",
          "riscv.c",
          "qemu-system-riscv32 -machine virt -bios none -display none -monitor none -serial none "
          "-semihosting-config enable=on,target=native -kernel",
          "code_origin=0x80000000,code_length=32M,data_origin=0x82000000,data_length=64M"};
}

std::string array(const std::string& name, const TensorData& data) {
  std::string out = text("static const float ", name, "[", data.numel(), "] = {");
  for (const float number : data.as<float>()) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.9ef", static_cast<double>(number));
    out += text(digits, ", ");
  }
  return out + "};\n";
}

/// Compares the outputs on the board, where nothing but this and the program is.
std::string main_of(const CompiledCode& code, const TensorData& input, const TensorData& expected) {
  double largest = 0;
  for (const float number : expected.as<float>()) largest = std::max(largest, std::fabs(static_cast<double>(number)));
  return text("#include \"", code.name, ".h\"\nvoid say(const char* text);\n", array("input", input),
              array("expected", expected), "static float output[", expected.numel(),
              "];\nint main(void) {\n  int i;\n  if (", code.name, "_run(input, output)) return 4;\n  for (i = 0; i < ",
              expected.numel(), "; ++i) {\n    const float error = output[i] - expected[i];\n    if (!(error < ",
              largest * 1e-4, "f && error > -", largest * 1e-4,
              "f)) {\n      say(\"wrong\\n\");\n      return 1;\n    }\n  }\n"
              "  say(\"right\\n\");\n  return 0;\n}\n");
}

void expect_right_on(const std::string& target, FunctionRef<Values(const Values&)> function, const Value& input) {
  const Board on = board(target);
  const std::string machine = on.emulator.substr(0, on.emulator.find(' '));
  for (const std::string& tool : {on.compiler, machine})
    if (!failure_of(tool + " --version").empty()) GTEST_SKIP() << "there is no " << tool;
  const Source source{.graph = capture_graph(function, {&input, 1})};
  const CompiledCode code = compile(source, {.target = target});
  const TemporaryFile folder("program");
  write_code(code, folder.directory);
  write_text(folder.directory + "/main.c", main_of(code, input.data(), source.graph.replay({&input, 1})[0].data()));
  const std::string boards = std::string(KILN_SOURCE_DIR) + "/tests/compile/board/";
  std::string symbols;
  for (const char c : "," + on.memory) symbols += c == ',' ? " -Wl,--defsym=" : std::string(1, c);
  ASSERT_EQ(
      failure_of(text("cd ", folder.directory, " && ", on.compiler, " -std=gnu11 -Wall -Wextra -Werror ", on.flags,
                      " -nostartfiles -ffunction-sections -fdata-sections -Wl,--gc-sections", symbols,
                      " -T ", boards, "board.ld -o program ", boards, on.start, " main.c ", code.name, ".c -lm")),
      "");
  EXPECT_EQ(failure_of(text("cd ", folder.directory, " && timeout 60 ", on.emulator, " program")), "");
}

/// The guide's network, for one picture.
auto guide(std::int64_t hidden, const Device& device) {
  const auto conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}}.init(device);
  const auto linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = hidden}.init(device);
  const auto linear2 = nn::LinearConfig{.in = hidden, .out = 10}.init(device);
  return [=](const Values& in) {
    Tensor<4> x = conv1.forward(Tensor<3>(in[0]).unsqueeze(1));
    x = nn::AdaptiveAvgPool2d{.sizes = {8, 8}}.forward(conv2.forward(x).relu());
    return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).softmax(1).value()};
  };
}

/// Keyword spotting with depthwise convolutions, of MLPerf Tiny's shapes.
auto keywords(const Device& device) {
  const auto first = nn::Conv2dConfig{.in = 1, .out = 64, .kernel = {10, 4}, .stride = {2}}.init(device);
  std::vector<nn::Conv2d> depthwise, pointwise;
  for (int i = 0; i < 4; ++i) {
    depthwise.push_back(nn::Conv2dConfig{.in = 64, .out = 64, .kernel = {3}, .groups = 64}.init(device));
    pointwise.push_back(nn::Conv2dConfig{.in = 64, .out = 64, .kernel = {1}}.init(device));
  }
  const auto last = nn::LinearConfig{.in = 64, .out = 12}.init(device);
  return [=](const Values& in) {
    Tensor<4> x(pad(first.forward(Tensor<4>(in[0])).relu().value(), {0, 0, 4, 4}, {0, 0, 4, 4}));
    for (std::size_t i = 0; i < depthwise.size(); ++i) x = pointwise[i].forward(depthwise[i].forward(x).relu()).relu();
    return Values{last.forward(Tensor<2>(mean(x.value(), {2, 3}))).softmax(1).value()};
  };
}

/// Anomalies in sounds: an autoencoder of MLPerf Tiny's shapes.
auto autoencoder(const Device& device) {
  std::vector<nn::Linear> layers;
  std::int64_t width = 640;
  for (const std::int64_t next : {128, 128, 128, 128, 8, 128, 128, 128, 128, 640}) {
    layers.push_back(nn::LinearConfig{.in = width, .out = next}.init(device));
    width = next;
  }
  return [=](const Values& in) {
    Tensor<2> x(in[0]);
    for (const nn::Linear& layer : layers) x = &layer == &layers.back() ? layer.forward(x) : layer.forward(x).relu();
    return Values{x.value()};
  };
}

TEST(Boards, CortexM4RunsTheGuidesNetwork) {
  const Device device = seeded();
  expect_right_on("m4", guide(512, device), uniform(Shape{1, 28, 28}, 0, 1, device));
}
TEST(Boards, CortexM7SpotsKeywords) {
  const Device device = seeded();
  expect_right_on("m7", keywords(device), uniform(Shape{1, 1, 49, 10}, -1, 1, device));
}
TEST(Boards, CortexM33RunsAnAutoencoder) {
  const Device device = seeded();
  expect_right_on("m33", autoencoder(device), uniform(Shape{1, 640}, -1, 1, device));
}
TEST(Boards, RiscvRunsTheGuidesNetwork) {
  const Device device = seeded();
  expect_right_on("rv32", guide(32, device), uniform(Shape{1, 28, 28}, 0, 1, device));
}
// 16 KB of memory, no floating-point unit, no unaligned access.
TEST(Boards, CortexM0ReadsSmallDigits) {
  const Device device = seeded();
  const auto conv = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto linear1 = nn::LinearConfig{.in = 8 * 3 * 3, .out = 32}.init(device);
  const auto linear2 = nn::LinearConfig{.in = 32, .out = 10}.init(device);
  expect_right_on(
      "m0",
      [&](const Values& in) {
        const Tensor<4> x(max_pool(conv.forward(Tensor<4>(in[0])).relu().value(), {.kernel = {2, 2}}));
        return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).softmax(1).value()};
      },
      uniform(Shape{1, 1, 8, 8}, 0, 1, device));
}

}  // namespace
}  // namespace kiln::compile
