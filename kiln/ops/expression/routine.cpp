#include "kiln/ops/expression/routine.hpp"

#include <cstdlib>
#include <map>

#include "kiln/core/mutex.hpp"

namespace kiln::expr {
namespace {

/// Parses digits; returns nothing where they do not fit T.
template <class T>
std::optional<T> literal(const std::string& digits) {
  if constexpr (std::is_same_v<T, float>) return std::strtof(digits.c_str(), nullptr);
  else if constexpr (std::is_same_v<T, double>) return std::strtod(digits.c_str(), nullptr);
  else {
    char* end = nullptr;
    const auto value = static_cast<T>(std::strtoull(digits.c_str(), &end, 0));
    return *end == 0 ? std::optional(value) : std::nullopt;
  }
}

template <class T>
std::optional<Cell<T>> literal_of(const Node& node) {
  if (node.type == Type::Bool) return Cell<T>{.word = node.text == "true"};
  if (node.type == Type::Word) {
    const auto word = literal<std::uint32_t>(node.text);
    return word ? std::optional(Cell<T>{.word = *word}) : std::nullopt;
  }
  const auto number = literal<T>(node.text);
  return number ? std::optional(Cell<T>{.number = *number}) : std::nullopt;
}

template <class T>
std::vector<ReadyStatement<T>> ready(const std::vector<Statement>& statements, const Dialect* dialect) {
  std::vector<ReadyStatement<T>> all;
  for (const Statement& statement : statements) {
    ReadyStatement<T> made{statement.kind,
                           statement.variable,
                           {},
                           ready<T>(statement.body, dialect),
                           ready<T>(statement.otherwise, dialect)};
    for (const Tree& tree : statement.values) made.values.push_back(expr::ready<T>(tree, dialect));
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace

template <class T>
Compiled<T> compiled_for(const Function& function, const Dialect* dialect) {
  return !dialect || dialect->has(function, dtype_of<T>) ? compiled<T>(function) : nullptr;
}

template <class T>
ReadyTree<T> ready(const Tree& tree, const Dialect* dialect) {
  ReadyTree<T> made;
  for (const Node& node : tree.nodes) {
    ReadyNode<T> step{.node = &node};
    switch (node.kind) {
      case Node::Kind::Literal: step.literal = literal_of<T>(node); break;
      case Node::Kind::Call:
        step.compiled = compiled_for<T>(*node.function, dialect);
        if (!step.compiled) step.routine = routine_of<T>(*node.function, dialect);
        break;
      case Node::Kind::Operation:
        if (node.operands.size() == 2) {
          step.operate = operation<T>(node.op);
          step.of_words = operation<std::uint32_t>(node.op);
        }
        break;
      case Node::Kind::Variable: break;
    }
    made.nodes.push_back(std::move(step));
  }
  return made;
}

template <class T>
const typename Evaluator<T>::Routine* routine_of(const Function& function, const Dialect* dialect) {
  using Routine = typename Evaluator<T>::Routine;
  static Mutex& mutex = *new Mutex();
  static auto& made = *new std::map<std::pair<const Function*, const Dialect*>, std::unique_ptr<const Routine>>();
  const std::pair key(&function, dialect);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = made.find(key); found != made.end()) return found->second.get();
  }
  std::unique_ptr<Routine> routine;
  const Definition* const definition = function.definition(dtype_of<T>);
  if (definition && !definition->body.empty()) {
    routine = std::make_unique<Routine>();
    routine->parameters = function.takes.size();
    for (const Variable& variable : definition->variables) routine->variables.push_back(variable.type);
    routine->body = ready<T>(definition->body, dialect);  // prepares other routines first
  }
  const std::lock_guard lock(mutex);
  return made.try_emplace(key, std::move(routine)).first->second.get();
}

#define KILN_ROUTINES(T)                                                 \
  template Compiled<T> compiled_for<T>(const Function&, const Dialect*); \
  template ReadyTree<T> ready<T>(const Tree&, const Dialect*);           \
  template const Evaluator<T>::Routine* routine_of<T>(const Function&, const Dialect*);
KILN_ROUTINES(double)
KILN_ROUTINES(float)
KILN_ROUTINES(std::int64_t)
KILN_ROUTINES(std::uint64_t)
KILN_ROUTINES(std::int32_t)
KILN_ROUTINES(std::uint32_t)
#undef KILN_ROUTINES

}  // namespace kiln::expr
