// Trees and functions made ready to run: what evaluate.cpp runs.
#pragma once
#include <optional>

#include "kiln/ops/expression/compiled.hpp"
#include "kiln/ops/expression/operate.hpp"

namespace kiln::expr {

/// A node whose literal is read and whose function is found.
template <class T>
struct ReadyNode {
  const Node* node;
  std::optional<Cell<T>> literal{};
  Operate<T> operate = nullptr;                             // of numbers
  Operate<std::uint32_t> of_words = nullptr;                // of words and truths
  Compiled<T> compiled = nullptr;                           // of a call; or else
  const typename Evaluator<T>::Routine* routine = nullptr;  // or else it is an error to get there
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

/// A body with its variables; that of a tree returns it.
template <class T>
struct Evaluator<T>::Routine {
  std::size_t parameters = 0;
  std::vector<Type> variables;  // what is kept while it runs
  std::vector<ReadyStatement<T>> body;
};

/// Of a function; made once. Null where it has no body for numbers of T.
template <class T>
const typename Evaluator<T>::Routine* routine_of(const Function& function, const Dialect* dialect);
template <class T>
ReadyTree<T> ready(const Tree& tree, const Dialect* dialect);
/// The function of C++ that stands for a call; null where there is none or `dialect` has it not.
template <class T>
Compiled<T> compiled_for(const Function& function, const Dialect* dialect);

}  // namespace kiln::expr
