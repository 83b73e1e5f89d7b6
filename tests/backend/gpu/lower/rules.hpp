// Helpers of the tests of lowering: a rule by its name, and what a poor device's kernels do.
#pragma once
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {

inline const LoweringRule& rule_named(std::string_view name) {
  for (const LoweringRule& each : kLoweringRules)
    if (each.name == name) return each;
  fail<ArgumentError>("no rule ", name);
}

/// Calls f for each statement, and those inside of it.
template <class F>
void each_statement(const Statements& list, F& f) {
  for (const Statement& each : list) {
    f(each);
    for (const Statements* const part : {&each.head, &each.body, &each.otherwise}) each_statement(*part, f);
  }
}

/// What a poor device lacks and the kernel still has; empty if nothing.
inline std::string left_in(const Kernel& kernel) {
  std::string left;
  const auto note = [&](DType type, const char* what) {
    if (type == DType::I64 || type == DType::U64 || type == DType::F64) left += text(type, " ", what, "; ");
  };
  const auto see = [&](const Statement& each) {
    if (each.kind == Statement::Kind::Loop) note(kernel.values[each.first], "counter");
    if (each.kind != Statement::Kind::Let) return;
    note(each.instruction.type, "value");
    if (each.instruction.kind == Instruction::Kind::Shuffle) left += "a shuffle; ";
    if (each.instruction.kind == Instruction::Kind::Number) left += "a number; ";
  };
  each_statement(kernel.body, see);
  for (const Parameter& each : kernel.parameters)
    if (size_of(each.dtype) != 4) left += text("a buffer of ", each.dtype, "; ");
  for (const Kernel::Array& each : kernel.shared)
    if (size_of(each.dtype) != 4) left += text("shared ", each.dtype, "; ");
  for (const Kernel::Array& each : kernel.locals) note(each.dtype, "variable");
  return left;
}

/// Lowers the kernel for a poor device, and runs it on memory in place, with nothing of the original.
inline void run_lowered(const Kernel& kernel, std::int64_t blocks, const std::vector<Given>& given) {
  const Kernel made = lowered(kernel, poor_device());
  EXPECT_EQ(left_in(made), "") << kernel.name;
  std::vector<std::uint64_t> arguments;
  for (const Given& each : given) arguments.push_back(each.bits);
  interpret_lowered(made, blocks, arguments, [&](std::uint64_t at) {
    for (const Given& each : given)
      if (each.extent.begin && at >= each.extent.begin && at < each.extent.end) return each.extent;
    return Extent{at, at};
  });
}

/// What the rule says of a kernel that it cannot rewrite; empty if it can.
inline std::string refused(std::string_view rule, const Kernel& kernel) {
  return sentence_of([&] {
    rule_named(rule).apply(kernel);
    return 0;
  });
}

}  // namespace kiln::gpu
