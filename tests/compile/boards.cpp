#include "tests/compile/boards.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

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

}  // namespace

void expect_right_on(const std::string& target, const Source& source, const TensorData& input,
                     const TensorData& expected) {
  const Board on = board(target);
  const std::string machine = on.emulator.substr(0, on.emulator.find(' '));
  for (const std::string& tool : {on.compiler, machine})
    if (!failure_of(tool + " --version").empty()) GTEST_SKIP() << "there is no " << tool;
  const CompiledCode code = compile(source, {.target = target});
  const TemporaryFile folder("program");
  write_code(code, folder.directory);
  write_text(folder.directory + "/main.c", main_of(code, input, expected));
  const std::string boards = std::string(KILN_SOURCE_DIR) + "/tests/compile/board/";
  std::string symbols;
  for (const char c : "," + on.memory) symbols += c == ',' ? " -Wl,--defsym=" : std::string(1, c);
  ASSERT_EQ(failure_of(text("cd ", folder.directory, " && ", on.compiler,
                            " -std=gnu11 -fno-strict-aliasing -Wall -Wextra -Werror ", on.flags,
                            " -nostartfiles -ffunction-sections -fdata-sections -Wl,--gc-sections", symbols, " -T ",
                            boards, "board.ld -o program ", boards, on.start, " main.c ", code.name, ".c -lm")),
            "");
  EXPECT_EQ(failure_of(text("cd ", folder.directory, " && timeout 60 ", on.emulator, " program")), "");
}

void expect_right_on(const std::string& target, FunctionRef<Values(const Values&)> function, const Value& input) {
  const Source source{.graph = capture_graph(function, {&input, 1})};
  expect_right_on(target, source, input.data(), source.graph.replay({&input, 1})[0].data());
}

}  // namespace kiln::compile
