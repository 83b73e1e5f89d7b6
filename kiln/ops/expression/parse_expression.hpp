// Parses the part of a text that is one expression.
#pragma once
#include <deque>
#include <span>

#include "kiln/ops/expression/cursor.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// Parses the expression at the cursor, as a tree over `scope`. Calls are looked up in `functions`, or among all
/// functions where that is null. Throws ArgumentError.
Tree parse_expression(Cursor& text, std::span<const Variable> scope, const std::deque<Function>* functions);

/// The type's name in error sentences: "a number".
std::string_view name(Type type);

}  // namespace kiln::expr
