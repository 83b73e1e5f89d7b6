// The part of a text that is one expression.
#pragma once
#include <deque>
#include <span>

#include "kiln/ops/expression/cursor.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// The expression at which the text is, as a tree over `scope`; calls in it are of `functions`, or of all where that is
/// null. Throws ArgumentError.
Tree parse_expression(Cursor& text, std::span<const Variable> scope, const std::deque<Function>* functions);

/// What a sentence calls it: "a number".
std::string_view name(Type type);

}  // namespace kiln::expr
