// The text of forward(): what values are called, what stands in the place where it is read, calls of a list as a loop.
#include <algorithm>

#include "kiln/onnx/generate/marks.hpp"
#include "kiln/onnx/generate/struct_builder.hpp"

namespace kiln::onnx::cpp {
namespace {

// The words of C++ in it that are no members: what a variable must not hide.
void add_words(const std::string& code, std::set<std::string>& words) {
  bool quoted = false;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (quoted && code[at] == '\\') {
      ++at;
      continue;
    }
    if (code[at] == '"') quoted = !quoted;
    const auto is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (quoted || !is_word(code[at])) continue;
    const std::size_t begin = at;
    while (at < code.size() && is_word(code[at])) ++at;
    if (begin == 0 || code[begin - 1] != '.') words.insert(code.substr(begin, at - begin));
    --at;
  }
}

}  // namespace

std::string StructBuilder::local_name(int value, const Scope& scope) const {
  std::string name = program_.values[static_cast<std::size_t>(value)].name;
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

std::string StructBuilder::beside(const StructType& type, std::string name) {
  const auto is_field = [&](const Field& field) { return field.name == name; };
  return std::any_of(type.fields.begin(), type.fields.end(), is_field) ? name + "_out" : name;
}

std::string StructBuilder::written(const std::string& text, const Scope& scope,
                                   const std::map<int, std::string>& names) {
  return resolved(text, [&](char mark, int number, char before, char after) -> std::string {
    if (mark == kLayerMark) return access(scope, *leaves_.at(number));
    if (mark == kPartMark) return access(scope, *scopes_[static_cast<std::size_t>(number)]);
    const std::string& name = names.at(number);
    if (name.empty() || name.front() != '\x04') return name;  // a variable
    // An expression that stands here for its only use; one of operators needs parentheses beside others.
    const std::string inner = name.substr(1);
    if (inner.front() != '\x05') return inner;
    const bool alone = (before == '(' || before == ' ') && (after == ')' || after == ',');
    return before == '(' && alone ? inner.substr(1) : kiln::text('(', inner.substr(1), ')');
  });
}

// for (const auto& block : layer) x = block.forward(x, mask): calls of all elements of a list, each of which reads the
// result of the one before it in the same place, and nobody else does. Returns how many statements that are.
std::size_t StructBuilder::add_loop(const Scope& scope, std::size_t first, std::map<int, std::string>& names,
                                    std::set<std::string>& taken, std::string& out) {
  const std::vector<Statement>& body = scope.body;
  const auto part_of = [&](const Statement& statement) -> const Scope* {
    if (statement.text.empty() || statement.text[0] != kPartMark || statement.form == Statement::Form::Lines)
      return nullptr;
    return scopes_[static_cast<std::size_t>(std::atoi(statement.text.c_str() + 1))];
  };
  const Scope* const begin = part_of(body[first]);
  if (!begin || parents_.at(begin) != &scope) return 0;
  const auto place =
      static_cast<std::size_t>(std::find(scope.parts.begin(), scope.parts.end(), begin) - scope.parts.begin());
  const auto field = std::find_if(current_->fields.begin(), current_->fields.end(),
                                  [&](const Field& each) { return each.is_list && each.first == place; });
  if (field == current_->fields.end() || first + field->count > body.size()) return 0;
  const auto moving = begin->inputs.size();
  std::size_t at = moving;
  for (std::size_t i = 0; i < field->count; ++i) {
    const Scope* const part = part_of(body[first + i]);
    if (part != scope.parts[place + i] || part->inputs.size() != begin->inputs.size()) return 0;
    if (i == 0) continue;
    const Scope* const before = scope.parts[place + i - 1];
    const int result = before->outputs[0];
    if (reads_[result] != 1) return 0;
    for (std::size_t k = 0; k < part->inputs.size(); ++k) {
      if (part->inputs[k] == result && (at == moving || at == k)) at = k;
      else if (part->inputs[k] != begin->inputs[k]) return 0;
    }
    if (at == moving || part->inputs[at] != result) return 0;
  }
  const int input = begin->inputs[at], result = scope.parts[place + field->count - 1]->outputs[0];
  const Type& from = program_.values[static_cast<std::size_t>(input)].type;
  if (from != program_.values[static_cast<std::size_t>(result)].type) return 0;
  const std::string variable = unique(field->name == "hidden" ? "state" : "hidden", taken);
  std::string operands;
  for (std::size_t k = 0; k < begin->inputs.size(); ++k)
    operands += text(k ? ", " : "", k == at ? variable : written(value_mark(begin->inputs[k]), scope, names));
  out += text(name_of(from), ' ', variable, " = ", written(value_mark(input), scope, names), ";\nfor (const ",
              field->type, "& block : ", field->path(), ") ", variable, " = block.forward(", operands, ");\n");
  names[result] = variable;
  return field->count;
}

void StructBuilder::write_forward(Scope& scope, StructType& type, bool is_root) {
  using Form = Statement::Form;
  current_ = &type;
  std::set<std::string> taken = {"block", "device"};
  for (const Field& field : type.fields) taken.insert({field.name, field.group});
  for (const Statement& statement : scope.body) add_words(statement.text, taken);
  std::map<int, std::string> names;
  std::string parameters;
  for (std::size_t i = 0; i < scope.inputs.size(); ++i) {
    const int input = scope.inputs[i];
    const Variable& variable = program_.values[static_cast<std::size_t>(input)];
    static constexpr const char* kLetters[] = {"x", "y", "z"};
    const bool outside = variable.name.find('/', 1) == std::string::npos && i > 0;
    std::string name = is_root || outside ? local_name(input, scope) : i < 3 ? kLetters[i] : text("input_", i + 1);
    names[input] = unique(std::move(name), taken);
    parameters += text(i ? ", " : "", "const ", name_of(variable.type), "& ", names[input]);
    if (is_root) structs_.inputs.push_back(names[input]);
  }
  const std::vector<std::string> results = results_of(scope);
  reads_ = reads_of(scope.body, results);  // what is read once may stand in the place where it is
  std::string lines;
  for (std::size_t i = 0; i < scope.body.size(); ++i) {
    const Statement& statement = scope.body[i];
    if (const std::size_t count = add_loop(scope, i, names, taken, lines)) {
      i += count - 1;
      continue;
    }
    // Names of what bodies of lambdas declare.
    each_mark(statement.text, [&](char mark, int value) {
      if (mark == kValueMark && !names.count(value)) names[value] = unique(local_name(value, scope), taken);
    });
    const std::string code = written(statement.text, scope, names);
    if (statement.form == Form::Lines) {
      lines += code;
      continue;
    }
    if (statement.form == Form::Several) {
      const std::string all = unique("results", taken);
      lines += text("const std::vector<onnx::Datum> ", all, " = ", code, ";\n");
      for (std::size_t k = 0; k < statement.results.size(); ++k) {
        const int value = statement.results[k];
        if (!reads_[value]) continue;
        const Type& of = program_.values[static_cast<std::size_t>(value)].type;
        names[value] = unique(local_name(value, scope), taken);
        const std::string item = text(all, '[', statement.places[k], ']');
        lines += of.is_tensor() ? text("const ", name_of(of), ' ', names[value], '(', item, ".value());\n")
                                : text("const onnx::Datum ", names[value], " = ", item, ";\n");
      }
      continue;
    }
    const int value = statement.results[0];
    const bool next_reads = i + 1 < scope.body.size() ? [&] {
      bool found = false;
      each_mark(scope.body[i + 1].text,
                [&](char mark, int other) { found = found || (mark == kValueMark && other == value); });
      return found && scope.body[i + 1].form != Form::Lines && scope.body[i + 1].text.find('\n') == std::string::npos;
    }()
                                                      : results.size() == 1 && results[0] == value_mark(value);
    const bool is_last = i + 1 == scope.body.size();
    if (reads_[value] == 1 && next_reads && (code.size() < 64 || (is_last && code.size() < 100)) &&
        code.find('\n') == std::string::npos && (statement.form != Form::Applied || is_last)) {
      names[value] = text('\x04', statement.form == Form::Infix ? "\x05" : "", code);
      continue;
    }
    names[value] = unique(beside(type, local_name(value, scope)), taken);
    lines += text("const ", name_of(program_.values[static_cast<std::size_t>(value)].type), ' ', names[value], " = ",
                  code, ";\n");
  }

  std::string given;
  std::set<std::string> output_names;
  for (std::size_t i = 0; i < results.size(); ++i) {
    given += (given.empty() ? "" : ", ") + written(results[i], scope, names);
    if (is_root) structs_.outputs.push_back(unique(identifier(program_.result_names[i], "output"), output_names));
  }
  if (results.size() == 1 && given.starts_with("(") && results[0].front() == kValueMark &&
      names.at(std::atoi(results[0].c_str() + 1)).starts_with("\x04\x05"))
    given = given.substr(1, given.size() - 2);
  std::vector<Type> types = program_.result_types;
  if (!is_root) {
    types.clear();
    for (const int output : scope.outputs) types.push_back(program_.values[static_cast<std::size_t>(output)].type);
  }
  std::string result_type;
  for (const Type& each : types) result_type += (result_type.empty() ? "" : ", ") + name_of(each);
  if (types.size() != 1) result_type = is_root ? structs_.name + "Outputs" : text("std::tuple<", result_type, '>');
  std::set<std::string> words;
  add_words(lines + given, words);
  if (words.count("device") && !scope.inputs.empty()) {
    const auto tensor = std::find_if(scope.inputs.begin(), scope.inputs.end(), [&](int input) {
      return program_.values[static_cast<std::size_t>(input)].type.is_tensor();
    });
    std::string all;
    for (const int input : scope.inputs) all += (all.empty() ? "" : ", ") + names[input];
    lines = text("const Device device = ",
                 tensor == scope.inputs.end() ? text("onnx::device_of({", all, "})") : names[*tensor] + ".device()",
                 ";\n", lines);
  }
  if (scope.inputs.empty()) parameters = words.count("device") ? "const Device& device" : "const Device&";
  type.signature = text(result_type, '\n', "forward(", parameters, ") const");
  type.forward = text(lines, "return ", types.size() == 1 ? given : text('{', given, '}'), ";\n");
}

}  // namespace kiln::onnx::cpp
