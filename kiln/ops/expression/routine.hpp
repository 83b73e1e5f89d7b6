// Trees and functions prepared to run by evaluate.cpp.
#pragma once
#include <optional>

#include "kiln/ops/expression/compiled.hpp"
#include "kiln/ops/expression/operate.hpp"

namespace kiln::expr {

/// A node whose literal is parsed and whose function is looked up.
template <class T>
struct ReadyNode {
  const Node* node;
  std::optional<Cell<T>> literal{};
  Operate<T> operate = nullptr;                             // for numbers
  Operate<std::uint32_t> of_words = nullptr;                // for words and truth values
  Compiled<T> compiled = nullptr;                           // for a call; or else `routine`
  const typename Evaluator<T>::Routine* routine = nullptr;  // where both are null, reaching the node is an error
};

template <class T>
struct ReadyTree {
  std::vector<ReadyNode<T>> nodes;
  Type type() const { return nodes.back().node->type; }
};

template <class T>
struct ReadyStatement {
  Statement::Kind kind;
  std::uint16_t variable;
  std::vector<ReadyTree<T>> values;
  std::vector<ReadyStatement> body, otherwise;
};

/// A function's body with its variables; the routine of a tree returns the tree's value.
template <class T>
struct Evaluator<T>::Routine {
  std::size_t parameters = 0;
  std::vector<Type> variables;  // the variables that it keeps while it runs
  std::vector<ReadyStatement<T>> body;
};

/// Returns the routine of a function, created once. Null where the function has no body for numbers of T.
template <class T>
const typename Evaluator<T>::Routine* routine_of(const Function& function, const Dialect* dialect);
template <class T>
ReadyTree<T> ready(const Tree& tree, const Dialect* dialect);
/// The C++ function that implements a call; null where there is none or `dialect` lacks it.
template <class T>
Compiled<T> compiled_for(const Function& function, const Dialect* dialect);

}  // namespace kiln::expr
