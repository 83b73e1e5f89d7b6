#include "tests/compile/boards.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

namespace kiln::compile {
namespace {

struct Board {
  std::string target, compiler, flags, start, emulator;
  std::string code, data;  // where these memories begin
  std::int64_t code_bytes, data_bytes;
};

constexpr std::int64_t kKilo = 1024, kMega = kKilo * kKilo;

constexpr const char* kArm = "arm-none-eabi-gcc";
std::string arm_emulator(const std::string& machine) {
  return "qemu-system-arm -machine " + machine +
         " -display none -monitor none -semihosting-config enable=on,target=native";
}
Board board(const std::string& target) {
  const std::string arm = "--specs=nano.specs -mthumb ";
  if (target == "m0")
    return {target,      kArm,      arm + "-Os -mcpu=cortex-m0", "arm.c", arm_emulator("microbit"), "0x0", "0x20000000",
            256 * kKilo, 16 * kKilo};
  if (target == "m4")
    return {target,
            kArm,
            arm + "-O2 -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16",
            "arm.c",
            arm_emulator("mps2-an386"),
            "0x0",
            "0x20000000",
            4 * kMega,
            4 * kMega};
  if (target == "m7")
    return {target,
            kArm,
            arm + "-O2 -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16",
            "arm.c",
            arm_emulator("mps2-an500"),
            "0x0",
            "0x60000000",
            4 * kMega,
            16 * kMega};
  if (target == "m33")
    return {target,
            kArm,
            arm + "-O2 -mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16",
            "arm.c",
            arm_emulator("mps2-an505"),
            "0x10000000",
            "0x38000000",
            4 * kMega,
            4 * kMega};
  return {target,
          "riscv64-unknown-elf-gcc",
          "--specs=picolibc.specs -O2 -march=rv32imac -mabi=ilp32 -mcmodel=medany",
          "riscv.c",
          "qemu-system-riscv32 -machine virt -bios none -display none -monitor none "
          "-semihosting-config enable=on,target=native",
          "0x80000000",
          "0x82000000",
          32 * kMega,
          64 * kMega};
}

/// The output of a command, and whether its status is 0.
std::pair<std::string, bool> output_of(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return {"popen failed", false};
  std::string said;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) said.append(part.data(), count);
  return {said, pclose(pipe) == 0};
}

/// Compares the outputs on the board, where nothing but this and the program is.
std::string main_of(const CompiledCode& code, const TensorData& input, const TensorData& expected) {
  double largest = 0;
  for (const float number : expected.as<float>()) largest = std::max(largest, std::fabs(static_cast<double>(number)));
  return text("#include \"", code.name, ".h\"\n#include \"board.h\"\n", array_text("input", input),
              array_text("expected", expected), "static float output[", expected.numel(),
              "];\nint main(void) {\n  int i;\n  if (", code.name, "_run(input, output)) return 4;\n  for (i = 0; i < ",
              expected.numel(), "; ++i) {\n    const float error = output[i] - expected[i];\n    if (!(error < ",
              largest * 1e-4, "f && error > -", largest * 1e-4,
              "f)) {\n      say(\"wrong\\n\");\n      return 1;\n    }\n  }\n"
              "  say(\"right\\n\");\n  return 0;\n}\n");
}

/// Sizes of sections, as `size -A` prints them.
std::map<std::string, std::int64_t> sections_of(const std::string& program, const std::string& compiler) {
  const std::string size = compiler.substr(0, compiler.rfind('-')) + "-size";
  std::map<std::string, std::int64_t> bytes;
  std::istringstream lines(output_of(size + " -A '" + program + "'").first);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t count = 0;
    if (words >> name >> count && name.starts_with('.')) bytes[name] = count;
  }
  return bytes;
}

}  // namespace

std::string array_text(const std::string& name, const TensorData& data) {
  std::string out = text("static const float ", name, "[", data.numel(), "] = {");
  for (const float number : data.as<float>()) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.9ef", static_cast<double>(number));
    out += text(digits, ", ");
  }
  return out + "};\n";
}

std::string counted_main(const CompiledCode& code, std::int64_t inputs, std::int64_t outputs) {
  return text(
      "#include \"", code.name, ".h\"\n#include \"board.h\"\nstatic float input[", inputs, "], output[", outputs,
      "];\nint main(void) {\n  const unsigned long before = ticks();\n  const int status = ", code.name,
      "_run(input, output);\n  say_number(\"ticks\", (long)((ticks() - before) & 0xFFFFFFul));\n  return status;\n}\n");
}

double instructions(const std::string& target, const BoardRun& run) {
  const double nanoseconds = target == "m0" ? 62.5 : target == "m33" ? 50 : 40;  // clocks of 16, 20 and 25 MHz
  const std::size_t at = run.said.find("ticks ");
  return at == std::string::npos ? 0 : nanoseconds * std::stod(run.said.substr(at + 6));
}

std::string missing_for(const std::string& target) {
  const Board on = board(target);
  for (const std::string& tool : {on.compiler, on.emulator.substr(0, on.emulator.find(' '))})
    if (!failure_of(tool + " --version").empty()) return tool;
  return "";
}

BoardRun run_on(const std::string& target, const CompiledCode& code, const std::string& main,
                const BoardOptions& options) {
  const Board on = board(target);
  const TemporaryFile folder("program");
  write_code(code, folder.directory);
  write_text(folder.directory + "/main.c", main);
  write_text(folder.directory + "/input", options.input);
  const std::string boards = std::string(KILN_SOURCE_DIR) + "/tests/compile/board/";
  const auto symbol = [](const std::string& name, const auto& value) {
    return text(" -Wl,--defsym=", name, "=", value);
  };
  const std::string memory = symbol("code_origin", on.code) + symbol("code_length", on.code_bytes) +
                             symbol("data_origin", on.data) +
                             symbol("data_length", options.ram > 0 ? options.ram : on.data_bytes);
  const std::string failure = failure_of(
      text("cd ", folder.directory, " && ", on.compiler, " -std=gnu11 -fno-strict-aliasing -Wall -Wextra -Werror ",
           on.flags, " -nostartfiles -ffunction-sections -fdata-sections -Wl,--gc-sections", memory, " -T ", boards,
           "board.ld -I ", boards, " -o program ", boards, on.start, " main.c ", code.name, ".c -lm"));
  EXPECT_EQ(failure, "");
  BoardRun run;
  if (!failure.empty()) return run;
  run.bytes = sections_of(folder.directory + "/program", on.compiler);
  std::tie(run.said, run.succeeded) =
      output_of(text("cd ", folder.directory, " && timeout ", options.seconds, " ", on.emulator, " -serial ",
                     options.serial, options.counts ? " -icount shift=0" : "", " -kernel program < input"));
  return run;
}

std::optional<CompiledCode> expect_right_on(const std::string& target, const Source& source, const TensorData& input,
                                            const TensorData& expected) {
  if (const std::string missing = missing_for(target); !missing.empty()) {
    [&] { GTEST_SKIP() << "there is no " << missing; }();
    return {};
  }
  const CompiledCode code = compile(source, {.target = target});
  const BoardRun run = run_on(target, code, main_of(code, input, expected));
  EXPECT_TRUE(run.succeeded) << run.said;
  return code;
}

void expect_right_on(const std::string& target, FunctionRef<Values(const Values&)> function, const Value& input) {
  const Source source{.graph = capture_graph(function, {&input, 1})};
  expect_right_on(target, source, input.data(), source.graph.replay({&input, 1})[0].data());
}

}  // namespace kiln::compile
