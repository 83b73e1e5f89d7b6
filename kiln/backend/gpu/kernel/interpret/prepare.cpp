#include <algorithm>

#include "kiln/backend/gpu/kernel/interpret/program.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu::interpreted {
namespace {

using Kind = Instruction::Kind;

std::uint32_t size_of_cell(DType type) { return type == DType::Bool ? 1 : static_cast<std::uint32_t>(size_of(type)); }

class Preparation {
 public:
  explicit Preparation(Program& program) : program_(program), known_(program.kernel.values.size()) {}

  Steps steps(const Statements& statements, int depth) {
    program_.depth = std::max(program_.depth, depth + 2);
    const std::size_t before = made_.size();
    Steps steps = open_steps(statements, depth);
    leave(before);
    return steps;
  }

 private:
  /// Statements whose values can be used after them.
  Steps open_steps(const Statements& statements, int depth) {
    program_.depth = std::max(program_.depth, depth + 2);
    Steps steps;
    for (const Statement& statement : statements) {
      if (statement.kind == Statement::Kind::Let) let(statement, steps);
      else steps.push_back(step(statement, depth));
    }
    return steps;
  }
  void know(Id id) {
    known_[id] = true;
    made_.push_back(id);
  }
  void leave(std::size_t before) {
    for (; made_.size() > before; made_.pop_back()) known_[made_.back()] = false;
  }

  DType type_of(Id id) const { return program_.kernel.values[id]; }
  DType element_of(std::uint16_t buffer) const { return program_.kernel.parameter(buffer).dtype; }

  Step step_of(Run run, const std::vector<Id>& operands) const {
    Step step{.run = run};
    for (const Id id : operands) {
      require<ArgumentError>(known_[id], "kernel ", program_.kernel.name, ": value ", id,
                             " is used where it is not known: outside of the lambda that made it, or before");
      step.operands.push_back(program_.cells[id]);
    }
    if (!operands.empty()) step.operand_type = type_of(operands[0]);
    return step;
  }

  void demand(std::uint16_t parameter, bool written) const {
    const Parameter::Kind kind = program_.kernel.parameter(parameter).kind;
    require<ArgumentError>(
        kind == Parameter::Kind::Both || kind == (written ? Parameter::Kind::Output : Parameter::Kind::Input),
        "kernel ", program_.kernel.name, ": ", written ? "writes to" : "reads", " parameter ", parameter,
        ", which is not made for that");
  }

  void let(const Statement& statement, Steps& steps) {
    const Instruction& in = statement.instruction;
    Step step = step_of(run_of(in), in.operands);
    step.result = program_.cells[statement.first];
    step.place = in.place;
    step.width = in.width;
    step.bits = in.bits;
    const std::size_t results = in.kind == Kind::Call ? in.function->results : in.width;
    for (std::size_t i = 0; i < results; ++i) know(statement.first + static_cast<Id>(i));
    if (in.kind == Kind::Tree || in.kind == Kind::Call) {
      std::vector<DType> types;
      for (const Id id : in.operands) types.push_back(type_of(id));
      step.call = program_.calls.emplace_back(make_call(in, std::move(types))).get();
    }
    const bool constant = in.kind <= Kind::Blocks;
    (in.kind == Kind::Block ? program_.of_block : constant ? program_.constant : steps).push_back(std::move(step));
  }

  Run run_of(const Instruction& in) {
    const Kernel& kernel = program_.kernel;
    switch (in.kind) {
      case Kind::Literal:
      case Kind::Number:
      case Kind::Thread:
      case Kind::Block:
      case Kind::Blocks: return run_constant(in);
      case Kind::Compute: return run_compute(in.arithmetic, type_of(in.operands[0]));
      case Kind::Select: return run_select(in.type);
      case Kind::MultiplyAdd: return run_multiply_add(in.type);
      case Kind::Tree:
      case Kind::Call: return run_call(in.element);
      case Kind::Cast: return run_cast(type_of(in.operands[0]), in.type);
      case Kind::Bits: return run_bits(in.type);
      case Kind::Convert: return run_convert(in.element, in.to);
      case Kind::Narrow: return run_narrow(in.element);
      case Kind::Entry: return run_entry();
      case Kind::Load: demand(in.place, false); return run_load(element_of(in.place));
      case Kind::Shared: return run_shared(kernel.shared[in.place].dtype);
      case Kind::Local: return run_local(in.type);
      case Kind::SharedPair: return run_shared_pair();
      case Kind::SharedSame: return run_shared_same(kernel.shared[in.place].dtype);
      case Kind::Fragments: return run_fragments(in.element);
      case Kind::Shuffle: return run_shuffle(in.type);
      case Kind::Update:
        demand(in.place, true);
        program_.updates = true;
        return run_update(element_of(in.place), in.update);
      case Kind::UpdateShared: return run_update_shared(kernel.shared[in.place].dtype, in.update);
    }
    __builtin_unreachable();
  }

  Step step(const Statement& statement, int depth) {
    const std::size_t before = made_.size();
    Steps head = open_steps(statement.head, depth + 1);  // the body of a While may use what its head computes
    Step step = step_of(run_of(statement), statement.operands);
    step.head = std::move(head);
    step.place = statement.place;
    step.from = statement.from;
    step.by = statement.by;
    step.transposed = statement.transposed;
    step.width = static_cast<std::uint16_t>(std::max<std::size_t>(statement.operands.size(), 1) - 1);
    step.depth = static_cast<std::uint16_t>(depth);
    if (statement.kind == Statement::Kind::Loop) {
      step.result = program_.cells[statement.first];
      know(statement.first);
    }
    step.body = steps(statement.body, depth + 1);
    step.otherwise = steps(statement.otherwise, depth + 1);
    leave(before);
    return step;
  }

  Run run_of(const Statement& statement) {
    const Kernel& kernel = program_.kernel;
    switch (statement.kind) {
      case Statement::Kind::Store: demand(statement.place, true); return run_store(element_of(statement.place));
      case Statement::Kind::StoreShared: return run_store_shared(kernel.shared[statement.place].dtype);
      case Statement::Kind::StoreLocal: return run_store_local(kernel.locals[statement.place].dtype);
      case Statement::Kind::Choose: return run_choose();
      case Statement::Kind::If: return run_if();
      case Statement::Kind::Loop: return run_loop(type_of(statement.first));
      case Statement::Kind::While: return run_while();
      case Statement::Kind::Barrier: return run_barrier();
      case Statement::Kind::Arrive: demand(statement.place, true); return run_arrive();
      case Statement::Kind::MatrixClear:
      case Statement::Kind::MatrixLoad:
      case Statement::Kind::MatrixMultiply:
      case Statement::Kind::MatrixScale:
      case Statement::Kind::MatrixStore: return run_matrix(statement.kind);
      case Statement::Kind::Await: demand(statement.place, true); return run_await();
      case Statement::Kind::Fence:
      case Statement::Kind::Let: return run_nothing();
    }
    __builtin_unreachable();
  }

  Program& program_;
  std::vector<bool> known_;  // by Id: is the value available here?
  std::vector<Id> made_;     // the available ones, in order
};

}  // namespace

Program prepare(const Kernel& kernel) {
  Program program{.kernel = kernel, .words = kernel.words()};
  for (const DType type : kernel.values) {
    program.cells.push_back(static_cast<std::uint32_t>(program.bytes));
    program.bytes += static_cast<std::size_t>(kernel.threads) * size_of_cell(type);
  }
  require<ArgumentError>(program.bytes <= UINT32_MAX, "kernel ", kernel.name, ": has too many values");
  program.body = Preparation(program).steps(program.kernel.body, 0);
  return program;
}

}  // namespace kiln::gpu::interpreted
