#include "kiln/ops/expression/evaluate.hpp"

#include <algorithm>

#include "kiln/ops/expression/routine.hpp"

namespace kiln::expr {
namespace {

template <class F>
void for_each(Lanes lanes, F f) {
  for (std::size_t t = 0; t < lanes.count; ++t)
    if (!lanes.there || lanes.there[t]) f(t);
}

/// The memory of several columns.
class Memory {
 public:
  Memory(std::size_t columns, std::size_t lanes)
      : memory_(std::make_unique<std::uint64_t[]>(columns * lanes)), lanes_(lanes) {}
  template <class T>
  Column<T> column(Type type) {
    std::uint64_t* const at = memory_.get() + lanes_ * used_++;
    if (type == Type::Number) return {.numbers = reinterpret_cast<T*>(at)};
    return {.words = reinterpret_cast<std::uint32_t*>(at)};
  }

 private:
  const std::unique_ptr<std::uint64_t[]> memory_;
  const std::size_t lanes_;
  std::size_t used_ = 0;
};

template <class T>
void copy(Lanes lanes, Type type, const Column<T>& from, const Column<T>& to) {
  if (type == Type::Number) for_each(lanes, [&](std::size_t t) { to.numbers[t] = from.numbers[t]; });
  else for_each(lanes, [&](std::size_t t) { to.words[t] = from.words[t]; });
}

template <class T>
void run(const typename Evaluator<T>::Routine& routine, Lanes lanes, std::span<const Column<T>> operands,
         std::span<const Column<T>> results);

template <class T>
[[noreturn]] void fail_for(const Function& function) {
  fail<DTypeError>(function.name, ": is not defined for ", dtype_of<T>);
}

/// Calls a C++ function for one element after the other.
template <class T>
void call(Compiled<T> compiled, const Function& function, Lanes lanes, std::span<const Column<T>> in,
          const Column<T>& out) {
  constexpr std::size_t kMost = 16;
  KILN_CHECK(in.size() <= kMost);
  Cell<T> cells[kMost];
  for_each(lanes, [&](std::size_t t) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i].numbers) cells[i].number = in[i].numbers[t];
      if (in[i].words) cells[i].word = in[i].words[t];
    }
    const Cell<T> made = compiled(cells);
    if (function.gives == Type::Number) out.numbers[t] = made.number;
    else out.words[t] = made.word;
  });
}

/// The values of a tree's nodes.
template <class T>
class Values {
 public:
  Values(const ReadyTree<T>& tree, Lanes lanes, std::span<const Column<T>> scope)
      : lanes_(lanes), scope_(scope), memory_(tree.nodes.size(), lanes.count) {
    columns_.reserve(tree.nodes.size());
    for (const ReadyNode<T>& node : tree.nodes) columns_.push_back(value(node));
  }
  const Column<T>& root() const { return columns_.back(); }

 private:
  const Column<T>& operand(const ReadyNode<T>& step, std::size_t i) const { return columns_[step.node->operands[i]]; }

  Column<T> value(const ReadyNode<T>& step) {
    const Node& node = *step.node;
    if (node.kind == Node::Kind::Variable) return scope_[node.variable];
    const Column<T> out = memory_.template column<T>(node.type);
    switch (node.kind) {
      case Node::Kind::Literal:
        require<DTypeError>(step.literal.has_value(), "expression: ", node.text, " is no ", dtype_of<T>);
        if (out.numbers) std::fill_n(out.numbers, lanes_.count, step.literal->number);
        else std::fill_n(out.words, lanes_.count, step.literal->word);
        break;
      case Node::Kind::Call: {
        std::vector<Column<T>> in;
        for (std::size_t i = 0; i < node.operands.size(); ++i) in.push_back(operand(step, i));
        if (step.compiled) call<T>(step.compiled, *node.function, lanes_, in, out);
        else if (step.routine) expr::run<T>(*step.routine, lanes_, in, std::span(&out, 1));
        else fail_for<T>(*node.function);
        break;
      }
      default: operate(step, out);
    }
    return out;
  }

  void operate(const ReadyNode<T>& step, const Column<T>& out) const {
    const Node& node = *step.node;
    const std::size_t count = lanes_.count;
    const Column<T>& a = operand(step, 0);
    if (node.op == Operator::Select) {
      const Column<T>&yes = operand(step, 1), &no = operand(step, 2);
      if (out.numbers)
        for_all(count, [&](std::size_t t) { out.numbers[t] = a.words[t] ? yes.numbers[t] : no.numbers[t]; });
      else for_all(count, [&](std::size_t t) { out.words[t] = a.words[t] ? yes.words[t] : no.words[t]; });
    } else if (node.operands.size() == 2) {
      const Column<T>& b = operand(step, 1);
      void* const to = out.numbers ? static_cast<void*>(out.numbers) : out.words;
      if (node.operand_type == Type::Number) step.operate(count, a.numbers, b.numbers, to);
      else step.of_words(count, a.words, b.words, to);
    } else if (node.op == Operator::Not) {
      for_all(count, [&](std::size_t t) { out.words[t] = !a.words[t]; });
    } else if (node.op == Operator::Negate) {
      if (out.words) for_all(count, [&](std::size_t t) { out.words[t] = 0 - a.words[t]; });
      else
        for_all(count, [&](std::size_t t) {
          if constexpr (std::is_floating_point_v<T>) out.numbers[t] = -a.numbers[t];
          else out.numbers[t] = wrapping_negate(a.numbers[t]);
        });
    } else {
      if (out.words) for_all(count, [&](std::size_t t) { out.words[t] = ~a.words[t]; });
      else if constexpr (std::is_integral_v<T>)
        for_all(count, [&](std::size_t t) { out.numbers[t] = static_cast<T>(~a.numbers[t]); });
      else fail<DTypeError>("expression: '~' takes no floats");
    }
  }

  const Lanes lanes_;
  const std::span<const Column<T>> scope_;
  Memory memory_;
  std::vector<Column<T>> columns_;
};

/// A running routine. Each statement runs for the lanes that reach it.
template <class T>
class Frame {
 public:
  Frame(const typename Evaluator<T>::Routine& routine, Lanes lanes, std::span<const Column<T>> operands,
        std::span<const Column<T>> results)
      : routine_(routine), lanes_(lanes), results_(results), memory_(routine.variables.size(), lanes.count) {
    for (std::size_t i = 0; i < routine.variables.size(); ++i) {
      const Type type = routine.variables[i];
      scope_.push_back(memory_.template column<T>(type));
      if (i < routine.parameters) copy(lanes, type, operands[i], scope_.back());
    }
    Mask all(lanes.count, 1);
    if (lanes.there) all.assign(lanes.there, lanes.there + lanes.count);
    gone_.assign(lanes.count, 0);
    run(routine.body, all);
  }

 private:
  using Mask = std::vector<std::uint8_t>;

  bool is_empty(const Mask& mask) const { return std::ranges::find(mask, 1) == mask.end(); }
  Lanes those(const Mask& mask) const { return {mask.size(), mask.data()}; }

  /// The lanes of the mask in which the tree's value is `holds`.
  Mask asked(const ReadyTree<T>& tree, const Mask& mask, bool holds) const {
    const Values<T> values(tree, those(mask), scope_);
    Mask made(mask.size());
    for (std::size_t t = 0; t < made.size(); ++t) made[t] = mask[t] && (values.root().words[t] != 0) == holds;
    return made;
  }

  /// Runs the statements and removes from the mask the lanes that have returned.
  void run(const std::vector<ReadyStatement<T>>& statements, Mask& mask) {
    for (const ReadyStatement<T>& statement : statements) {
      switch (statement.kind) {
        case Statement::Kind::Let:
        case Statement::Kind::Var:
        case Statement::Kind::Assign: {
          const Values<T> values(statement.values[0], those(mask), scope_);
          copy(those(mask), routine_.variables[statement.variable], values.root(), scope_[statement.variable]);
          break;
        }
        case Statement::Kind::If: {
          Mask then = asked(statement.values[0], mask, true), otherwise = mask;
          for (std::size_t t = 0; t < mask.size(); ++t) otherwise[t] = mask[t] && !then[t];
          if (!is_empty(then)) run(statement.body, then);
          if (!is_empty(otherwise)) run(statement.otherwise, otherwise);
          for (std::size_t t = 0; t < mask.size(); ++t) mask[t] = then[t] || otherwise[t];
          break;
        }
        case Statement::Kind::While:
          for (Mask inside = mask;;) {
            inside = asked(statement.values[0], inside, true);
            if (is_empty(inside)) break;
            run(statement.body, inside);
          }
          for (std::size_t t = 0; t < mask.size(); ++t) mask[t] = mask[t] && !gone_[t];
          break;
        case Statement::Kind::Return:
          for (std::size_t i = 0; i < statement.values.size() && i < results_.size(); ++i) {
            const Values<T> values(statement.values[i], those(mask), scope_);
            copy(those(mask), statement.values[i].type(), values.root(), results_[i]);
          }
          for (std::size_t t = 0; t < mask.size(); ++t) gone_[t] |= mask[t];
          std::ranges::fill(mask, std::uint8_t{0});
          return;
      }
      if (is_empty(mask)) return;
    }
  }

  const typename Evaluator<T>::Routine& routine_;
  const Lanes lanes_;
  const std::span<const Column<T>> results_;
  Memory memory_;
  std::vector<Column<T>> scope_;
  Mask gone_;  // the lanes that have returned
};

template <class T>
void run(const typename Evaluator<T>::Routine& routine, Lanes lanes, std::span<const Column<T>> operands,
         std::span<const Column<T>> results) {
  Frame<T>(routine, lanes, operands, results);
}

}  // namespace

template <class T>
struct Evaluator<T>::Ready {
  ReadyTree<T> tree{};
  const Function* function = nullptr;
  Compiled<T> compiled = nullptr;
  const Routine* routine = nullptr;
};

template <class T>
Evaluator<T>::Evaluator(const Tree& tree, const Dialect* dialect)
    : ready_(std::make_shared<const Ready>(Ready{.tree = ready<T>(tree, dialect)})) {}

template <class T>
Evaluator<T>::Evaluator(const Function& function, const Dialect* dialect) {
  Ready made{.function = &function, .compiled = compiled_for<T>(function, dialect)};
  if (!made.compiled) made.routine = routine_of<T>(function, dialect);
  ready_ = std::make_shared<const Ready>(std::move(made));
}

template <class T>
void Evaluator<T>::run(Lanes lanes, std::span<const Column<T>> operands, std::span<const Column<T>> results) const {
  if (!ready_->function) {
    const Values<T> values(ready_->tree, lanes, operands);
    copy(lanes, ready_->tree.type(), values.root(), results[0]);
  } else if (ready_->compiled) {
    call(ready_->compiled, *ready_->function, lanes, operands, results[0]);
  } else if (ready_->routine) {
    expr::run<T>(*ready_->routine, lanes, operands, results);
  } else {
    fail_for<T>(*ready_->function);
  }
}

namespace {

template <class T>
std::vector<Cell<T>> evaluate_one(const Evaluator<T>& evaluator, std::span<const Cell<T>> operands,
                                  std::size_t results) {
  std::vector<Cell<T>> in(operands.begin(), operands.end()), out(results);
  std::vector<Column<T>> from, to;
  for (Cell<T>& cell : in) from.push_back({&cell.number, &cell.word});
  for (Cell<T>& cell : out) to.push_back({&cell.number, &cell.word});
  evaluator.run({.count = 1}, from, to);
  return out;
}

}  // namespace

template <class T>
Cell<T> evaluate(const Tree& tree, std::span<const Cell<T>> operands, const Dialect* dialect) {
  return evaluate_one(Evaluator<T>(tree, dialect), operands, 1)[0];
}
template <class T>
std::vector<Cell<T>> evaluate(const Function& function, std::span<const Cell<T>> operands, const Dialect* dialect) {
  return evaluate_one(Evaluator<T>(function, dialect), operands, function.results);
}

#define KILN_EVALUATE(T)                                                               \
  template class Evaluator<T>;                                                         \
  template Cell<T> evaluate<T>(const Tree&, std::span<const Cell<T>>, const Dialect*); \
  template std::vector<Cell<T>> evaluate<T>(const Function&, std::span<const Cell<T>>, const Dialect*);
KILN_EVALUATE(double)
KILN_EVALUATE(float)
KILN_EVALUATE(std::int64_t)
KILN_EVALUATE(std::uint64_t)
KILN_EVALUATE(std::int32_t)
KILN_EVALUATE(std::uint32_t)
#undef KILN_EVALUATE

}  // namespace kiln::expr
