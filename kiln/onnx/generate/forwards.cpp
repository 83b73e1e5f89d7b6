// The text of forward(): what values are called, what stands in the place where it is read, calls of a list as a loop.
#include <algorithm>

#include "kiln/onnx/generate/struct_builder.hpp"

namespace kiln::onnx::cpp {

std::string StructBuilder::local_name(int value, const Scope& scope) const {
  std::string name = program_[value].name;
  const std::size_t end = name.rfind("_output_");
  const bool numbered = end != std::string::npos && name.find_first_not_of("0123456789", end + 8) == std::string::npos;
  if (numbered) name = name.substr(0, end) + (name.substr(end + 8) == "0" ? "" : "_" + name.substr(end + 8));
  Node node;
  node.name = name;
  Path path = Lowering::scope_of(node);
  const std::size_t slash = name.rfind('/');
  const std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
  if (begins_with(path, scope.path))
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(scope.path.size()));
  else if (slash != std::string::npos) return identifier(last, "v");
  if (path.empty()) return identifier(last.starts_with("onnx::") ? last.substr(6) : last, "v");
  std::string all;
  for (const std::string& part : path) all += (all.empty() ? "" : "_") + part;
  return identifier(all, "v");
}

Code StructBuilder::variable(Forward& forward, int value, std::string name) const {
  return forward.names[value] = Code::word(unique(std::move(name), forward.taken));
}

void StructBuilder::replace_references(Code& code, const Forward& forward) const {
  const auto number = static_cast<std::size_t>(code.number);
  if (code.kind == Code::Kind::Value) code = forward.names.at(code.number);
  else if (code.kind == Code::Kind::Layer) code = Code::word(access(forward.scope, *leaves_.at(code.number)));
  else if (code.kind == Code::Kind::Struct) code = Code::word(access(forward.scope, *scopes_[number]));
}
Code StructBuilder::named(Code code, const Forward& forward) const {
  each_reference(code, [&](Code& reference) { replace_references(reference, forward); });
  return code;
}

// ---- calls of a list's elements -----------------------------------------------------------------------------------
const Scope* StructBuilder::called(const Statement& statement) const {
  const bool calls = statement.form == Statement::Form::Expression && statement.code.kind == Code::Kind::Method &&
                     statement.code.parts[0].kind == Code::Kind::Struct;
  return calls ? scopes_[static_cast<std::size_t>(statement.code.parts[0].number)] : nullptr;
}

std::optional<std::size_t> StructBuilder::chained_operand(const Forward& forward, std::size_t first,
                                                          const Field& field) const {
  const Scope& begin = *forward.scope.parts[field.first];
  std::optional<std::size_t> moving;
  for (std::size_t i = 0; i < field.count; ++i) {
    const Scope* const part = called(forward.scope.body[first + i]);
    if (part != forward.scope.parts[field.first + i] || part->inputs.size() != begin.inputs.size()) return {};
    if (i == 0) continue;
    const int before = forward.scope.parts[field.first + i - 1]->outputs[0];
    if (forward.reads.at(before) != 1) return {};
    for (std::size_t k = 0; k < part->inputs.size(); ++k) {
      if (part->inputs[k] == before && moving.value_or(k) == k) moving = k;
      else if (part->inputs[k] != begin.inputs[k]) return {};
    }
    if (!moving || part->inputs[*moving] != before) return {};
  }
  return moving;
}

std::size_t StructBuilder::add_loop(Forward& forward, std::size_t first) {
  const Scope& scope = forward.scope;
  const Scope* const begin = called(scope.body[first]);
  if (!begin || parents_.at(begin) != &scope) return 0;
  const auto place =
      static_cast<std::size_t>(std::find(scope.parts.begin(), scope.parts.end(), begin) - scope.parts.begin());
  const auto field = std::find_if(forward.type.fields.begin(), forward.type.fields.end(),
                                  [&](const Field& each) { return each.is_list && each.first == place; });
  if (field == forward.type.fields.end() || first + field->count > scope.body.size()) return 0;
  const std::optional<std::size_t> moving = chained_operand(forward, first, *field);
  if (!moving) return 0;
  const int input = begin->inputs[*moving], result = scope.parts[place + field->count - 1]->outputs[0];
  if (type_of(input) != type_of(result)) return 0;
  const Code start = forward.names.at(input);
  const Code hidden = Code::word(unique(field->name == "hidden" ? "state" : "hidden", forward.taken));
  Code::List operands;
  for (std::size_t k = 0; k < begin->inputs.size(); ++k)
    operands.push_back(k == *moving ? hidden : forward.names.at(begin->inputs[k]));
  forward.lines.push_back({name_of(type_of(input)), {hidden}, start});
  forward.lines.push_back({text("for (const ", field->type, "& block : ", field->path(), ')'),
                           {hidden},
                           Code::method(Code::word("block"), "forward", std::move(operands))});
  forward.names[result] = hidden;
  return field->count;
}

// ---- statements ---------------------------------------------------------------------------------------------------
void StructBuilder::add_several(Forward& forward, const Statement& statement) {
  const Code all = Code::word(unique("results", forward.taken));
  forward.lines.push_back({"const std::vector<onnx::Datum>", {all}, named(statement.code, forward)});
  for (std::size_t k = 0; k < statement.results.size(); ++k) {
    const int value = statement.results[k];
    if (!forward.reads[value]) continue;
    const std::string type = name_of(type_of(value));
    const Code item = Code::item(all, statement.indices[k]);
    forward.lines.push_back({"const " + type,
                             {variable(forward, value, local_name(value, forward.scope))},
                             type_of(value).is_tensor() ? Code::call(type, {Code::method(item, "value")}) : item});
  }
}

bool StructBuilder::is_read_next(const Forward& forward, std::size_t number) const {
  const std::vector<Statement>& body = forward.scope.body;
  const int value = body[number].results[0];
  const auto is_value = [&](const Code& code) { return code.kind == Code::Kind::Value && code.number == value; };
  if (forward.reads.at(value) != 1) return false;
  if (number + 1 == body.size()) return forward.results.size() == 1 && is_value(forward.results[0]);
  const Statement& next = body[number + 1];
  bool found = false;
  each_reference(next, [&](const Code& reference) { found = found || is_value(reference); });
  return found && next.form != Statement::Form::Lines && !contains(next.code, Code::Kind::Lambda);
}

void StructBuilder::add_statement(Forward& forward, std::size_t number) {
  using Form = Statement::Form;
  const Statement& statement = forward.scope.body[number];
  // Values that lines and bodies declare get names.
  each_reference(statement, [&](const Code& reference) {
    if (reference.kind == Code::Kind::Value && !forward.names.count(reference.number))
      variable(forward, reference.number, local_name(reference.number, forward.scope));
  });
  if (statement.form == Form::Several) return add_several(forward, statement);
  if (statement.form == Form::Lines) {
    for (Line line : statement.lines) {
      each_reference(line, [&](Code& reference) { replace_references(reference, forward); });
      forward.lines.push_back(std::move(line));
    }
    return;
  }
  const int value = statement.results[0];
  Code code = named(statement.code, forward);
  const bool is_last = number + 1 == forward.scope.body.size();
  const std::size_t length = print(code).size();
  if (is_read_next(forward, number) && (length < 64 || (is_last && length < 100)) &&
      !contains(code, Code::Kind::Lambda) && (statement.form != Form::Applied || is_last)) {
    forward.names[value] = std::move(code);
    return;
  }
  // The result of the module conv1 is conv1_out.
  std::string name = local_name(value, forward.scope);
  const auto is_field = [&](const Field& field) { return field.name == name; };
  if (std::any_of(forward.type.fields.begin(), forward.type.fields.end(), is_field)) name += "_out";
  Code result = variable(forward, value, std::move(name));
  forward.lines.push_back({"const " + name_of(type_of(value)), {std::move(result)}, std::move(code)});
}

// ---- the function -------------------------------------------------------------------------------------------------
std::string StructBuilder::add_inputs(Forward& forward) {
  const Scope& scope = forward.scope;
  std::string parameters;
  for (std::size_t i = 0; i < scope.inputs.size(); ++i) {
    const int input = scope.inputs[i];
    static constexpr const char* kLetters[] = {"x", "y", "z"};
    const bool outside = program_[input].name.find('/', 1) == std::string::npos && i > 0;
    std::string name = forward.is_root || outside ? local_name(input, scope)
                       : i < 3                    ? kLetters[i]
                                                  : text("input_", i + 1);
    const Code parameter = variable(forward, input, std::move(name));
    parameters += text(i ? ", " : "", "const ", name_of(type_of(input)), "& ", parameter.text);
    if (forward.is_root) structs_.inputs.push_back(parameter.text);
  }
  return parameters;
}

void StructBuilder::add_device(Forward& forward, const Code& result, std::string& parameters) const {
  bool needed = contains(result, Code::Kind::Device);
  for (const Line& line : forward.lines)
    each_code(line, [&](const Code& code) { needed = needed || code.kind == Code::Kind::Device; });
  const std::vector<int>& inputs = forward.scope.inputs;
  if (inputs.empty()) parameters = needed ? "const Device& device" : "const Device&";
  if (!needed || inputs.empty()) return;
  const auto tensor = std::find_if(inputs.begin(), inputs.end(), [&](int each) { return type_of(each).is_tensor(); });
  Code::List all;
  for (const int input : inputs) all.push_back(forward.names.at(input));
  Code device = tensor == inputs.end() ? Code::call("onnx::device_of", {Code::list(std::move(all))})
                                       : Code::method(forward.names.at(*tensor), "device");
  forward.lines.insert(forward.lines.begin(), {"const Device", {Code::device()}, std::move(device)});
}

std::string StructBuilder::result_type(const Forward& forward) const {
  std::vector<Type> types = program_.result_types;
  if (!forward.is_root) {
    types.clear();
    for (const int output : forward.scope.outputs) types.push_back(type_of(output));
  }
  std::string list;
  for (const Type& each : types) list += (list.empty() ? "" : ", ") + name_of(each);
  if (types.size() == 1) return list;
  return forward.is_root ? structs_.name + "Outputs" : text("std::tuple<", list, '>');
}

void StructBuilder::write_forward(Scope& scope, StructType& type, bool is_root) {
  current_ = &type;
  Forward forward{scope, type, is_root, results_of(scope)};
  forward.reads = reads_of(scope.body, forward.results);
  forward.taken = {"block", "device"};
  for (const Field& field : type.fields) forward.taken.insert({field.name, field.group});
  for (const Statement& statement : scope.body) {
    add_words(statement.code, forward.taken);
    for (const Line& line : statement.lines) add_words(line, forward.taken);
  }
  std::string parameters = add_inputs(forward);
  for (std::size_t i = 0; i < scope.body.size();) {
    const std::size_t count = add_loop(forward, i);
    if (count == 0) add_statement(forward, i);
    i += std::max<std::size_t>(count, 1);
  }
  Code::List results;
  for (const Code& result : forward.results) results.push_back(named(result, forward));
  std::set<std::string> output_names;
  for (std::size_t i = 0; is_root && i < results.size(); ++i)
    structs_.outputs.push_back(unique(identifier(program_.result_names[i], "output"), output_names));
  const Code result = results.size() == 1 ? results[0] : Code::list(std::move(results));
  add_device(forward, result, parameters);
  type.result = result_type(forward);
  type.signature = text("forward(", parameters, ") const");
  type.forward = text(print(forward.lines), "return ", print(result), ";\n");
}

}  // namespace kiln::onnx::cpp
