// Runs a program with Kiln, compares it with its meaning, and makes a wrong program small.
#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

DType dtype_of(Type type) { return type == Type::Real ? DType::F64 : type == Type::Index ? DType::I64 : DType::Bool; }

TensorData values_of(const Grid& grid) {
  std::vector<double> values;
  for (const Dual& e : grid.x) values.push_back(e.v);
  return TensorData::of<double>(grid.shape, std::span<const double>(values)).to(dtype_of(grid.type));
}

/// How much each element of a line counts in the loss.
std::vector<double> weights(std::size_t line, std::size_t count) {
  Random random(Key{line});
  std::vector<double> weights(count);
  for (double& weight : weights) weight = random.uniform(-1, 1);
  return weights;
}

Value run(const Line& line, const Values& values) {
  Operands in;
  for (const int i : line.in) in.push_back(values[static_cast<std::size_t>(i)]);
  return line.instruction->run(in, line.attributes);
}

std::vector<bool> used(const Program& program) {
  std::vector<bool> used(program.size());
  for (const Line& line : program)
    for (const int i : line.in) used[static_cast<std::size_t>(i)] = true;
  return used;
}

std::string titled(std::size_t i, const Line& line) {
  return text("line ", i, ", ", line.instruction ? line.instruction->name : "numbers", ": ");
}

}  // namespace

std::optional<std::string> check(const Program& program, const Device& device, std::uint64_t reading) {
  const std::vector<Grid> expected = interpret(program);
  const Device graph = device.autodiff();
  Values values;
  std::vector<std::size_t> late, last_use(program.size());
  std::vector<bool> forgotten(program.size());
  for (std::size_t i = 0; i < program.size(); ++i)
    for (const int operand : program[i].in) last_use[static_cast<std::size_t>(operand)] = i;
  const auto misread = [&](std::size_t i) {
    const std::string report = difference(values[i].data(), values_of(expected[i]), {1e-9, 1e-9});
    return report.empty() ? report : titled(i, program[i]) + report;
  };
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Line& line = program[i];
    try {
      Value value = line.instruction ? run(line, values) : from_data(values_of(line.leaf), graph);
      if (!line.instruction && line.leaf.type == Type::Real) value = value.require_grad();
      values.push_back(value);
    } catch (const Error& error) { return titled(i, line) + error.what(); }
    // A value whose handles are gone need not be stored.
    for (const int operand : line.in) {
      const auto j = static_cast<std::size_t>(operand);
      if (last_use[j] == i && forgotten[j]) values[j] = {};
    }
    const auto choice = reading ? Random(Key{reading}.split(i)).below(4) : 0;
    if (choice == 1) late.push_back(i);
    forgotten[i] = choice != 1 && line.instruction;
    if (choice == 0)
      if (const std::string report = misread(i); !report.empty()) return report;
  }

  // The loss weighs the elements of every float line that no other line uses.
  const std::vector<bool> inner = used(program);
  Value loss;
  double slope = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (inner[i] || expected[i].type != Type::Real || !values[i].tracked()) continue;
    const std::vector<double> weight = weights(i, expected[i].x.size());
    for (std::size_t j = 0; j < weight.size(); ++j) slope += weight[j] * expected[i].x[j].d;
    const Value part =
        sum(values[i] * from_data(TensorData::of<double>(expected[i].shape, std::span<const double>(weight)), device));
    loss = loss ? loss + part : part;
  }
  const auto misread_late = [&]() -> std::optional<std::string> {
    for (const std::size_t i : late)
      if (const std::string report = misread(i); !report.empty()) return report;
    return {};
  };
  if (!loss) return misread_late();
  try {
    const Gradients gradients = backward(loss);
    double found = 0, size = 1;
    for (std::size_t i = 0; i < program.size(); ++i) {
      if (program[i].instruction || !values[i].tracked()) continue;
      const std::optional<Value> gradient = gradients.find(values[i]);
      if (!gradient) continue;
      if (gradient->shape() != values[i].shape())
        return titled(i, program[i]) + text("its gradient is ", *gradient, ", not like ", values[i]);
      const std::vector<double> elements = gradient->data().to_vector<double>();
      for (std::size_t j = 0; j < elements.size(); ++j) {
        const double part = elements[j] * program[i].leaf.x[j].d;
        found += part;
        size += std::fabs(part);
      }
    }
    if (!(std::fabs(found - slope) <= 1e-8 * size))
      return text("the gradient along the direction is ", found, ", expected ", slope);
  } catch (const Error& error) { return text("backward: ", error.what()); }
  return misread_late();
}

namespace {

/// Without the lines that nothing uses, but for the last.
Program pruned(const Program& program) {
  std::vector<bool> kept(program.size());
  kept.back() = true;
  for (std::size_t i = program.size(); i-- > 0;)
    if (kept[i])
      for (const int j : program[i].in) kept[static_cast<std::size_t>(j)] = true;
  std::vector<int> moved(program.size());
  Program result;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (!kept[i]) continue;
    moved[i] = static_cast<int>(result.size());
    result.push_back(program[i]);
    for (int& j : result.back().in) j = moved[static_cast<std::size_t>(j)];
  }
  return result;
}

}  // namespace

Program minimise(Program program, const Device& device, std::uint64_t reading) {
  const auto still_wrong = [&](const Program& candidate) { return check(candidate, device, reading).has_value(); };
  // One loss at a time: the lines up to some line, and what that one needs.
  for (std::size_t length = 1; length < program.size(); ++length) {
    const Program shorter = pruned(Program(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(length)));
    if (!still_wrong(shorter)) continue;
    program = shorter;
    break;
  }
  // Numbers in place of a line, the latest first, as long as that leaves the program wrong.
  for (bool smaller = true; smaller;) {
    smaller = false;
    const std::vector<Grid> values = interpret(program);
    for (std::size_t i = program.size() - 1; i-- > 0 && !smaller;) {
      if (!program[i].instruction) continue;
      Program candidate = program;
      candidate[i] = {.leaf = values[i]};
      for (std::size_t j = 0; j < values[i].x.size(); ++j)
        candidate[i].leaf.x[j].d = values[i].type == Type::Real ? 1.0 / static_cast<double>(j + 1) : 0;
      candidate = pruned(candidate);
      smaller = still_wrong(candidate);
      if (smaller) program = candidate;
    }
  }
  return program;
}

}  // namespace kiln::programs
