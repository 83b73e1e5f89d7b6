// Moves statements to the struct that they belong to, and leaves a call of its forward() where they stood.
#include <algorithm>

#include "kiln/onnx/generate/struct_builder.hpp"

namespace kiln::onnx::cpp {

std::map<int, int> StructBuilder::reads_of(const std::vector<Statement>& body, const Code::List& results) {
  std::map<int, int> reads;
  const auto count = [&](const Code& reference) {
    if (reference.kind == Code::Kind::Value) ++reads[reference.number];
  };
  for (const Statement& statement : body) each_reference(statement, count);
  for (const Code& result : results) each_reference(result, count);
  return reads;
}

Code::List StructBuilder::results_of(const Scope& scope) const {
  if (&scope == structs_.root.get()) return program_.results;
  Code::List list;
  for (const int output : scope.outputs) list.push_back(Code::value(output));
  return list;
}

std::vector<Statement> StructBuilder::distributed(const Scope& scope, const Scope& owner,
                                                  std::vector<Statement> statements) {
  for (Scope* const part : owner.parts) {
    if (part->layer >= 0) continue;
    std::size_t first = statements.size(), last = 0, count = 0;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (!begins_with(statements[i].scope, part->path)) continue;
      first = std::min(first, i), last = i, ++count;
    }
    if (count > 0 && last - first + 1 == count && make_forward(scope, *part, statements, first, count)) continue;
    statements = distributed(scope, *part, std::move(statements));  // in the middle of this one's
  }
  return statements;
}

bool StructBuilder::make_forward(const Scope& scope, Scope& part, std::vector<Statement>& statements, std::size_t first,
                                 std::size_t count) {
  const auto begin = statements.begin() + static_cast<std::ptrdiff_t>(first),
             end = begin + static_cast<std::ptrdiff_t>(count);
  const std::map<int, int> reads = reads_of(statements, results_of(scope));
  std::vector<Statement> body(begin, end);
  std::set<int> made;
  bool alone = true;  // nothing of it needs layers of others
  part.inputs.clear(), part.outputs.clear();
  for (const Statement& each : body) {
    made.insert(each.results.begin(), each.results.end());
    each_reference(each, [&](const Code& reference) {
      const int number = reference.number;
      if (reference.kind == Code::Kind::Layer) alone = alone && is_below(*leaves_.at(number), part);
      if (reference.kind != Code::Kind::Value || made.count(number) || !is_outer(number)) return;
      if (std::find(part.inputs.begin(), part.inputs.end(), number) == part.inputs.end()) part.inputs.push_back(number);
    });
  }
  std::map<int, int> inner = reads_of(body, {});
  for (const Statement& each : body)
    for (const int value : each.results)
      if (const auto all = reads.find(value); all != reads.end() && all->second > inner[value])
        part.outputs.push_back(value);
  if (!alone || part.inputs.empty() || part.outputs.empty()) return false;
  part.has_forward = true;
  Statement call;
  call.scope = parents_.at(&part)->path;
  call.results = part.outputs;
  Code::List operands;
  for (const int input : part.inputs) operands.push_back(Code::value(input));
  call.code = Code::method(Code::structure(part.number), "forward", std::move(operands));
  if (part.outputs.size() > 1) {
    Line line{.type = "const auto", .code = std::exchange(call.code, {})};
    for (const int output : part.outputs) line.names.push_back(Code::value(output));
    call.lines.push_back(std::move(line));
    call.form = Statement::Form::Lines;
  }
  statements.erase(begin, end);
  statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(first), std::move(call));
  part.body = distributed(part, part, std::move(body));
  return true;
}

bool StructBuilder::is_below(const Scope& part, const Scope& scope) const {
  for (const Scope* at = &part; at; at = parents_.count(at) ? parents_.at(at) : nullptr)
    if (at == &scope) return true;
  return false;
}

bool StructBuilder::is_outer(int value) {
  if (outer_.empty()) {
    outer_.resize(program_.values.size());
    for (const int input : program_.inputs) outer_[static_cast<std::size_t>(input)] = true;
    for (const Statement& statement : program_.statements)
      for (const int result : statement.results) outer_[static_cast<std::size_t>(result)] = true;
  }
  return outer_[static_cast<std::size_t>(value)];
}

}  // namespace kiln::onnx::cpp
