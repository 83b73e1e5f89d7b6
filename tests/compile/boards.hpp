// Compiled programs on microcontrollers, as QEMU has them.
#pragma once
#include <map>
#include <optional>

#include "tests/compile/compiled.hpp"

namespace kiln::compile {

struct BoardOptions {
  std::int64_t ram = 0;         // bytes of data memory, the stack included; 0: all that the board has
  bool counts = false;          // instructions take a nanosecond each, so that the board's clock counts them
  std::string serial = "none";  // QEMU's option -serial
  std::string input = "";       // what is typed on the serial line
  int seconds = 60;             // after which QEMU is ended
};
struct BoardRun {
  std::string said;  // by semihosting and on the serial line
  bool succeeded = false;
  std::map<std::string, std::int64_t> bytes{};  // of .text (with constants), .data and .bss
};

/// What is missing to build and run programs for the target: "" or the name of a tool.
std::string missing_for(const std::string& target);
/// Builds a compiled program with `main.c` and runs it on a board of the target's kind. An expectation fails where the
/// compiler says anything.
BoardRun run_on(const std::string& target, const CompiledCode& code, const std::string& main,
                const BoardOptions& options = {});
/// A program that runs the compiled one once, on zeros, and says how long it took.
std::string counted_main(const CompiledCode& code, std::int64_t inputs, std::int64_t outputs);
/// The instructions that it took, where they were counted.
double instructions(const std::string& target, const BoardRun& run);
/// An array of floats, as C writes it.
std::string array_text(const std::string& name, const TensorData& data);

/// Compiles a program of one float32 input and one float32 output for a target, and runs it on a board of that kind. An
/// expectation fails where an output differs by more than a ten thousandth of the largest. Without the tools the test is
/// skipped. Returns the compiled program where it ran.
std::optional<CompiledCode> expect_right_on(const std::string& target, const Source& source, const TensorData& input,
                                            const TensorData& expected);
/// A function as the device cpu computes it.
void expect_right_on(const std::string& target, FunctionRef<Values(const Values&)> function, const Value& input);

}  // namespace kiln::compile
