// Compiled programs on microcontrollers, as QEMU has them.
#pragma once
#include "tests/compile/compiled.hpp"

namespace kiln::compile {

/// Compiles a program of one float32 input and one float32 output for a target, and runs it on a board of that kind. An
/// expectation fails where an output differs by more than a ten thousandth of the largest. Without the tools the test is
/// skipped.
void expect_right_on(const std::string& target, const Source& source, const TensorData& input,
                     const TensorData& expected);
/// A function as the device cpu computes it.
void expect_right_on(const std::string& target, FunctionRef<Values(const Values&)> function, const Value& input);

}  // namespace kiln::compile
