// Random programs of elementwise steps, for kernels to be printed of: the same ones in the generator and in the test.
#pragma once
#include <algorithm>
#include <memory>
#include <random>

#include "kiln/ops/expression/kernel.hpp"
#include "tests/ops/expression/row_text.hpp"

namespace kiln::expr {

struct RandomProgram {
  std::shared_ptr<op::Program> program;
  std::vector<Access> inputs;
  std::vector<Shape> shapes;  // of the inputs; a number has none
};

inline constexpr unsigned kPrograms = 60;

/// Rows whose compiled form is what the text says to the last bit: in C++ a constant like 0.5 makes doubles of floats,
/// and some functions of floats are computed as doubles.
inline bool is_exact(const Tree& tree) {
  constexpr std::string_view kInDouble[] = {"lgamma", "digamma", "polygamma", "erfinv", "i0", "i1", "sinc"};
  for (const Node& node : tree.nodes) {
    if (node.kind == Node::Kind::Literal && node.text.find('.') != std::string::npos) return false;
    if (node.kind == Node::Kind::Call && std::ranges::count(kInDouble, node.function->name)) return false;
  }
  return true;
}

class Author {
 public:
  explicit Author(unsigned seed) : engine_(seed), seed_(seed) {}

  RandomProgram write() {
    op::Program& program = *random_.program;
    const Shape shapes[] = {{3, 4, 5}, {1, 7, 6}, {2, 3, 9}, {41}};
    program.shape = shapes[pick(4)];
    // Mostly of one type, so that what is wrong in a step is met by the next; every second program is one for WGSL too.
    const DType narrow[] = {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I16,
                            DType::I8,  DType::U32, DType::U16,  DType::U8,  DType::Bool};
    const DType theme = seed_ % 2 ? narrow[seed_ / 2 % 10] : kElements[seed_ / 2 % 13];
    const auto type = [&] { return pick(4) ? theme : seed_ % 2 ? narrow[pick(10)] : kElements[pick(13)]; };
    for (std::size_t i = 0, count = 1 + pick(3); i < count; ++i) input(type());
    const std::size_t steps = 3 + pick(8);
    while (program.steps.size() < steps) step(type());
    std::vector<bool> read(steps);
    for (const op::ProgramStep& step : program.steps)
      for (int k = 0; k < op::arity(step.op); ++k)
        if (const Operand from = step.in[static_cast<std::size_t>(k)]; from.from == Operand::Result)
          read[from.index] = true;
    // Values that no later step reads are results, and some of the others.
    for (std::size_t i = 0; i < steps; ++i)
      if (!read[i] || pick(3) == 0) program.outputs.push_back(static_cast<std::uint16_t>(i));
    if (seed_ % 5 == 0) fold();
    return random_;
  }

 private:
  using Operand = op::ProgramOperand;
  std::size_t pick(std::size_t count) { return engine_() % count; }
  op::Program& program() { return *random_.program; }
  DType type_of(Operand operand) {
    return operand.from == Operand::Input ? program().inputs[operand.index] : program().steps[operand.index].dtype;
  }

  /// A tensor of the program's shape, or one that broadcasts to it.
  Operand input(DType dtype) {
    Shape shape = program().shape;
    for (int dim = 0; dim < shape.size(); ++dim)
      if (pick(4) == 0) shape[dim] = 1;
    Dims strides = contiguous_strides(shape);
    for (int dim = 0; dim < shape.size(); ++dim)
      if (shape[dim] != program().shape[dim]) strides[dim] = 0;
    return add(dtype, {.strides = strides}, shape);
  }
  Operand add(DType dtype, Access access, const Shape& shape) {
    program().inputs.push_back(dtype);
    random_.inputs.push_back(access);
    random_.shapes.push_back(shape);
    return {Operand::Input, static_cast<std::uint16_t>(program().inputs.size() - 1)};
  }
  /// Something that there is; where nothing has the type, a new input.
  Operand tensor(DType dtype) {
    std::vector<Operand> fitting;
    for (std::size_t i = 0; i < program().inputs.size(); ++i)
      if (program().inputs[i] == dtype && !random_.inputs[i].number)
        fitting.push_back({Operand::Input, static_cast<std::uint16_t>(i)});
    for (std::size_t i = 0; i < program().steps.size(); ++i)
      if (program().steps[i].dtype == dtype) fitting.push_back({Operand::Result, static_cast<std::uint16_t>(i)});
    return fitting.empty() ? input(dtype) : fitting[pick(fitting.size())];
  }
  Operand any() {
    const std::size_t all = program().inputs.size() + program().steps.size(), at = pick(all);
    const Operand operand = at < program().inputs.size()
                                ? Operand{Operand::Input, static_cast<std::uint16_t>(at)}
                                : Operand{Operand::Result, static_cast<std::uint16_t>(at - program().inputs.size())};
    return operand.from == Operand::Input && random_.inputs[operand.index].number ? any() : operand;
  }

  void step(DType wanted) {
    const Operand first = any();
    const DType dtype = type_of(first);
    const auto has = [&](auto fn) { return computes(op::domain(fn), dtype) && is_exact(tree(fn)); };
    switch (pick(6)) {
      case 0: program().steps.push_back({op::Cast{wanted}, {first}, wanted}); return;
      case 1: {
        const Operand second = pick(3) ? tensor(dtype) : number(dtype);
        program().steps.push_back({op::Where{}, {tensor(DType::Bool), first, second}, dtype});
        return;
      }
      case 2:
      case 3: {
        const auto fn = static_cast<op::UnaryFn>(pick(enumerator_count(op::UnaryFn())));
        if (!has(fn)) return;
        program().steps.push_back({op::Unary{fn}, {first}, op::yields_bool(fn) ? DType::Bool : dtype});
        return;
      }
      default: {
        const auto fn = static_cast<op::BinaryFn>(pick(enumerator_count(op::BinaryFn())));
        if (!has(fn)) return;
        const Operand second = pick(3) || dtype == DType::Bool ? tensor(dtype) : number(dtype);
        program().steps.push_back({op::Binary{fn}, {first, second}, op::yields_bool(fn) ? DType::Bool : dtype});
      }
    }
  }
  Operand number(DType dtype) { return add(dtype, {.number = true}, {}); }

  void fold() {
    const op::ReduceFn of_numbers[] = {op::ReduceFn::Max, op::ReduceFn::Min, op::ReduceFn::Sum, op::ReduceFn::Prod};
    for (std::size_t step = 0; step < program().steps.size(); ++step) {
      const DType dtype = program().steps[step].dtype;
      if (pick(2) && step + 1 < program().steps.size()) continue;
      const op::ReduceFn fn = dtype == DType::Bool              ? (pick(2) ? op::ReduceFn::Any : op::ReduceFn::All)
                              : is_float(dtype) && pick(3) == 0 ? op::ReduceFn::Mean
                                                                : of_numbers[pick(4)];
      program().folds.push_back({static_cast<std::uint16_t>(step), fn, {program().shape.size() - 1}});
    }
  }

  std::mt19937 engine_;
  unsigned seed_;
  RandomProgram random_{std::make_shared<op::Program>(), {}, {}};
};

/// The random programs, and after them one for each cast from a type to another.
inline constexpr unsigned kAllPrograms = kPrograms + 13 * 13;
inline RandomProgram make_program(unsigned seed) {
  if (seed < kPrograms) return Author(seed).write();
  const DType from = kElements[(seed - kPrograms) / 13], to = kElements[(seed - kPrograms) % 13];
  RandomProgram made{std::make_shared<op::Program>(), {{.strides = {1}}}, {{400}}};
  made.program->shape = {400};
  made.program->inputs = {from};
  made.program->steps.push_back({op::Cast{to}, {op::ProgramOperand{op::ProgramOperand::Input, 0}}, to});
  made.program->outputs = {0};
  return made;
}

}  // namespace kiln::expr
