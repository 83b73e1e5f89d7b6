// Writes down what the rows find out about ops and functions, for tools/docs.py to make docs/ops.md of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/op.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                            DType::I8,  DType::U64, DType::U32, DType::U16,  DType::U8,  DType::Bool};

template <class List>
std::string joined(const List& list) {
  std::string out;
  for (const auto& entry : list) out += text(out.empty() ? "" : ",", entry);
  return out.empty() ? "-" : out;
}

/// What is known of an op.
struct OpRecord {
  std::string kernels;          // that the processor has for it
  std::set<std::string> types;  // of its first tensor
  int orders = 0;               // up to which it has been differentiated
};
std::map<std::string, OpRecord> ops;

/// What is known of a row.
struct RowRecord {
  std::set<std::string> ops, types;  // what a call is made of; what the row's numbers may be
  int orders = 0;
};

std::string kernels_for(const op::Op& op) {
  std::vector<std::string> own;
  const auto note = [&](auto* family, const char* name) {
    if (family && family().has(op)) own.push_back(name);
  };
  note(&cpu::simd_kernels, "simd");
  note(&cpu::matmul_kernels, "matmul");
  note(&cpu::conv_kernels, "conv");
  note(&cpu::integer_kernels, "integer");
  note(&cpu::lapack_kernels, "lapack");
  if (!op::visit(op, []<class T>(const T&) { return op::Composite<T>; })) own.push_back("plain");
  return joined(own);
}

void note_types(const op::Op& op, const Call& call, RowRecord& row) {
  const std::string name(op::function_name(op));
  row.ops.insert(name);
  ops[name].kernels = kernels_for(op);
  for (const Inputs values : {call.in, Inputs(call.out)})
    for (const Value& value : values)
      if (value.node()) return void(ops[name].types.insert(std::string(kiln::name(value.dtype()))));
}

/// The row's operands with its numbers as that type; nothing where they cannot be.
Values numbers_as(const OpCase& row, DType dtype, const Device& device) {
  const auto is = [&](OperandSpec::Kind kind) {
    return std::any_of(row.operands.begin(), row.operands.end(), [&](const OperandSpec& o) { return o.kind == kind; });
  };
  Values in = operands_of(row, dtype, device);
  if (is(OperandSpec::Real)) return in;
  const OperandSpec::Kind kind = is_integer(dtype) ? OperandSpec::Index : OperandSpec::Flag;
  if (is_float(dtype) || !is(kind)) return {};
  for (std::size_t i = 0; i < in.size(); ++i)
    if (row.operands[i].kind == kind) in[i] = cast(in[i], dtype);
  return in;
}

/// How often the row can be differentiated: 0, 1, or 2 for ever.
int orders_of(const OpCase& row) {
  std::set<std::string> tracked;
  const Device spy = spying_device([&](const op::Op& op, const Call& call) {
    const bool reached =
        std::any_of(call.in.begin(), call.in.end(), [](const Value& value) { return value.tracked(); });
    if (reached && is_float(call.out[0].dtype())) tracked.insert(std::string(op::function_name(op)));
  });
  const Values in = operands_of(row, DType::F32, spy);
  const Values results = row.function(in);
  const std::set<std::string> forwards = tracked;
  Value loss;
  Values wrt;
  for (const Value& result : results)
    if (result.tracked()) loss = loss ? loss + sum(square(result)) : sum(square(result));
  for (const Value& value : in)
    if (value.tracked()) wrt.push_back(value);
  if (!loss) return 0;
  (void)backward(loss);
  int orders = 1;
  try {
    Value again;
    for (const Value& gradient : grad(loss, wrt, {.create_graph = true}))
      if (gradient.tracked()) again = again ? again + sum(gradient) : sum(gradient);
    if (again) (void)grad(again, wrt);
    orders = 2;
  } catch (const AutodiffError&) {}
  for (const std::string& op : forwards) ops[op].orders = std::max(ops[op].orders, orders);
  return orders;
}

RowRecord find_out(const OpCase& row) {
  RowRecord found;
  const Device spy = spying_device([&](const op::Op& op, const Call& call) { note_types(op, call, found); }).inner();
  for (const DType dtype : kTypes) try {
      const Values in = numbers_as(row, dtype, spy);
      if (in.empty() && !row.operands.empty()) continue;
      for (const Value& result : row.function(in)) (void)result.data();
      found.types.insert(std::string(name(dtype)));
    } catch (const Error&) {}
  if (row.gradient) found.orders = orders_of(row);
  return found;
}

// Lines of columns with tabs between them: "row", name, ops, element types, orders of gradients; "op", name, kernels,
// element types, orders of gradients.
TEST(Record, OfWhatTheRowsFind) {
  const char* path = std::getenv("KILN_RECORD");
  if (!path) GTEST_SKIP() << "KILN_RECORD names no file";
  std::ofstream out(path);
  for (const OpCase& row : all_rows()) {
    const RowRecord found = find_out(row);
    out << "row\t" << row.name << '\t' << joined(found.ops) << '\t' << joined(found.types) << '\t' << found.orders
        << '\n';
  }
  for (const auto& [name, op] : ops)
    out << "op\t" << name << '\t' << op.kernels << '\t' << joined(op.types) << '\t' << op.orders << '\n';
}

}  // namespace
}  // namespace kiln::test
