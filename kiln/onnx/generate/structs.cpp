#include "kiln/onnx/generate/structs.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"

namespace kiln::onnx::cpp {
namespace {

constexpr std::size_t kMostFields = 30;  // reflection takes two more

bool is_number(const std::string& name) { return !name.empty() && name[0] >= '0' && name[0] <= '9'; }

bool begins_with(const Path& path, const Path& start) {
  return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
}

// Calls f(mark, number) for each reference.
template <class F>
void each_mark(const std::string& text, F&& f) {
  for (std::size_t at = 0; (at = text.find_first_of("\x01\x02\x03", at)) != std::string::npos; ++at)
    f(text[at], std::atoi(text.c_str() + at + 1));
}
/// `text` with f(mark, number, before, after) in place of each reference; the letters around it.
template <class F>
std::string resolved(const std::string& text, F&& f) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] < '\x01' || text[at] > '\x03') {
      out += text[at];
      continue;
    }
    const std::size_t end = text.find(';', at);
    out += f(text[at], std::atoi(text.c_str() + at + 1), at ? text[at - 1] : '(',
             end + 1 < text.size() ? text[end + 1] : ')');
    at = end;
  }
  return out;
}

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

class Builder {
 public:
  Builder(const Program& program, const std::string& name, const std::string& file)
      : program_(program), name_(name), file_(file) {}

  Structs run() {
    structs_.root = std::make_unique<Scope>();
    structs_.name = type_name(name_);
    for (std::size_t i = 0; i < program_.layers.size(); ++i)
      insert(*structs_.root, program_.layers[i].path, static_cast<int>(i));
    for (auto& child : structs_.root->children) collapse(*child);
    Scope& root = *structs_.root;
    root.inputs = program_.inputs;
    number(root);
    find_parts(root, root, "");
    root.has_forward = true;
    root.body = distributed(root, root, program_.statements);
    settle(root);
    structs_.output_types = program_.result_types;
    return std::move(structs_);
  }

 private:
  // ---- the tree of scopes ---------------------------------------------------------------------------------------------
  static void insert(Scope& root, const Path& path, int layer) {
    Scope* at = &root;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto found = std::find_if(at->children.begin(), at->children.end(),
                                      [&](const auto& child) { return child->name == path[i]; });
      if (found != at->children.end()) {
        at = found->get();
        continue;
      }
      auto made = std::make_unique<Scope>();
      made->name = path[i];
      made->path.assign(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      at->children.push_back(std::move(made));
      at = at->children.back().get();
    }
    at->layer = layer;
  }

  // A scope around one other alone is no struct of its own; one of numbered scopes is a list.
  static void collapse(Scope& scope) {
    for (auto& child : scope.children) collapse(*child);
    if (scope.children.size() == 1 && !scope.children[0]->is_list) {
      std::unique_ptr<Scope> child = std::move(scope.children[0]);
      child->name = text(scope.name, '_', child->name);
      Scope taken = std::move(*child);
      scope = std::move(taken);
      return;
    }
    scope.is_list = !scope.children.empty() && std::all_of(scope.children.begin(), scope.children.end(),
                                                           [](const auto& child) { return is_number(child->name); });
    if (scope.is_list)
      std::stable_sort(scope.children.begin(), scope.children.end(), [](const auto& a, const auto& b) {
        return std::strtoll(a->name.c_str(), nullptr, 10) < std::strtoll(b->name.c_str(), nullptr, 10);
      });
  }

  void number(Scope& scope) {
    if (scope.layer < 0 && !scope.is_list) {
      scope.number = static_cast<int>(scopes_.size());
      scopes_.push_back(&scope);
    }
    for (auto& child : scope.children) number(*child);
  }

  // What stands in the struct of `owner`: its children, those of lists under the lists' names.
  void find_parts(Scope& owner, Scope& scope, const std::string& list) {
    for (auto& child : scope.children) {
      const std::string field = list.empty() ? child->name : text(list, '_', child->name);
      if (child->is_list) {
        find_parts(owner, *child, field);
        continue;
      }
      names_[child.get()] = {field, list};
      owner.parts.push_back(child.get());
      parents_[child.get()] = &owner;
      if (child->layer < 0) find_parts(*child, *child, "");
      else leaves_[child->layer] = child.get();
    }
  }

  // ---- statements -----------------------------------------------------------------------------------------------------
  /// How often a body and its results read each value.
  static std::map<int, int> reads_of(const std::vector<Statement>& body, const std::vector<std::string>& results) {
    std::map<int, int> reads;
    const auto count = [&](const std::string& text) {
      each_mark(text, [&](char mark, int value) { reads[value] += mark == kValueMark; });
    };
    for (const Statement& statement : body) count(statement.text);
    for (const std::string& result : results) count(result);
    return reads;
  }
  std::vector<std::string> results_of(const Scope& scope) const {
    if (&scope == structs_.root.get()) return program_.results;
    std::vector<std::string> list;
    for (const int output : scope.outputs) list.push_back(value_mark(output));
    return list;
  }

  /// Statements of the body of `scope` with a call in place of those of each struct below `owner` that can be computed at
  /// one time.
  std::vector<Statement> distributed(const Scope& scope, const Scope& owner, std::vector<Statement> statements) {
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

  bool make_forward(const Scope& scope, Scope& part, std::vector<Statement>& statements, std::size_t first,
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
      each_mark(each.text, [&](char mark, int value) {
        alone = alone && (mark != kLayerMark || is_below(*leaves_.at(value), part));
        if (mark != kValueMark || made.count(value) || !is_outer(value)) return;
        if (std::find(part.inputs.begin(), part.inputs.end(), value) == part.inputs.end()) part.inputs.push_back(value);
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
    std::string operands, results;
    for (const int input : part.inputs) operands += text(operands.empty() ? "" : ", ", value_mark(input));
    call.text = text(kPartMark, part.number, ";.forward(", operands, ')');
    if (part.outputs.size() > 1) {
      for (const int output : part.outputs) results += text(results.empty() ? "" : ", ", value_mark(output));
      call.text = text("const auto [", results, "] = ", call.text, ";\n");
      call.form = Statement::Form::Lines;
    }
    statements.erase(begin, end);
    statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(first), std::move(call));
    part.body = distributed(part, part, std::move(body));
    return true;
  }
  bool is_below(const Scope& part, const Scope& scope) const {
    for (const Scope* at = &part; at; at = parents_.count(at) ? parents_.at(at) : nullptr)
      if (at == &scope) return true;
    return false;
  }
  // A value that statements of the main graph or inputs make.
  bool is_outer(int value) {
    if (outer_.empty()) {
      outer_.resize(program_.values.size());
      for (const int input : program_.inputs) outer_[static_cast<std::size_t>(input)] = true;
      for (const Statement& statement : program_.statements)
        for (const int result : statement.results) outer_[static_cast<std::size_t>(result)] = true;
    }
    return outer_[static_cast<std::size_t>(value)];
  }

  // ---- types ----------------------------------------------------------------------------------------------------------
  void settle(Scope& scope) {
    for (Scope* const part : scope.parts)
      if (part->layer < 0) settle(*part);
    auto type = std::make_unique<StructType>();
    const bool is_root = &scope == structs_.root.get();
    find_fields(scope, *type);
    type->has_forward = scope.has_forward;
    if (scope.has_forward) write_forward(scope, *type, is_root);
    for (const Field& field : type->fields)
      type->key += text(field.type, field.is_list ? "*" : " ", field.count, field.name, '\n');
    type->key += type->signature + type->forward;
    for (const auto& known : structs_.types)
      if (known->key == type->key) {
        known->instances.push_back(&scope);
        scope.type = known.get();
        return;
      }
    std::string name = names_[&scope].list.empty() ? scope.name : text(names_[&scope].list, "_block");
    type->name = is_root ? structs_.name : type_name(name);
    type->instances.push_back(&scope);
    scope.type = type.get();
    structs_.types.push_back(std::move(type));
  }

  // With a config, and perhaps outputs, of that name.
  std::string type_name(const std::string& of) {
    const std::string wanted = type_identifier(of, "Part");
    for (int i = 1;; ++i) {
      const std::string name =
          i == 1 ? wanted : text(wanted, is_number(wanted.substr(wanted.size() - 1)) ? "_" : "", i);
      if (type_names_.count(name) || type_names_.count(name + "Config")) continue;
      type_names_.insert({name, name + "Config", name + "Outputs"});
      return name;
    }
  }

  std::string part_type(const Scope& part) const {
    return part.layer >= 0 ? program_.layers[static_cast<std::size_t>(part.layer)].type : part.type->name;
  }

  void find_fields(const Scope& scope, StructType& type) {
    std::set<std::string> taken = {"forward", "init"};
    const std::vector<Scope*>& parts = scope.parts;
    for (std::size_t first = 0; first < parts.size();) {
      const Names& names = names_[parts[first]];
      const std::string is = part_type(*parts[first]);
      std::size_t last = first + 1;
      while (!names.list.empty() && last < parts.size() && names_[parts[last]].list == names.list &&
             part_type(*parts[last]) == is)
        ++last;
      Field field{names.field, is, "", first, last - first, last - first > 1};
      if (field.is_list) {
        const auto in_list = [&](std::size_t i) { return i < parts.size() && names_[parts[i]].list == names.list; };
        const bool whole = (first == 0 || !in_list(first - 1)) && !in_list(last);
        field.name = whole ? names.list : text(names.field, "_to_", parts[last - 1]->name);
      }
      field.name = unique(identifier(field.name, "part"), taken);
      type.fields.push_back(std::move(field));
      first = last;
    }
    if (type.fields.size() <= kMostFields + 2) return;
    require<LoadError>(type.fields.size() <= kMostFields * kMostFields, shown(file_), ": ", type.fields.size(),
                       " layers stand beside one another, and a struct has ", kMostFields * kMostFields, " at most");
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
      type.fields[i].group = text("part", i / kMostFields + 1);
      taken.insert(type.fields[i].group);
    }
  }

  // "layer1[2].conv1" of a layer or a struct in `scope`, at any depth below it.
  std::string access(const Scope& scope, const Scope& part) {
    const Scope* const parent = parents_.at(&part);
    const std::vector<Field>& fields = parent == &scope ? current_->fields : parent->type->fields;
    const auto place =
        static_cast<std::size_t>(std::find(parent->parts.begin(), parent->parts.end(), &part) - parent->parts.begin());
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& each) {
      return each.first <= place && place < each.first + each.count;
    });
    std::string own = field->path();
    if (field->is_list) own += text('[', place - field->first, ']');
    return parent == &scope ? own : text(access(scope, *parent), '.', own);
  }

  // ---- forward() ------------------------------------------------------------------------------------------------------
  // What a value may be called in this scope: "conv1" of /layer1/layer1.0/conv1/Conv_output_0 in layer1.0.
  std::string local_name(int value, const Scope& scope) const {
    std::string name = program_.values[static_cast<std::size_t>(value)].name;
    const std::size_t end = name.rfind("_output_");
    const bool numbered =
        end != std::string::npos && name.find_first_not_of("0123456789", end + 8) == std::string::npos;
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

  // What the module conv1 gives is called conv1_out beside it.
  static std::string beside(const StructType& type, std::string name) {
    const auto is_field = [&](const Field& field) { return field.name == name; };
    return std::any_of(type.fields.begin(), type.fields.end(), is_field) ? name + "_out" : name;
  }

  struct Names {
    std::string field, list;
  };

  void write_forward(Scope& scope, StructType& type, bool is_root);
  std::string written(const std::string& text, const Scope& scope, const std::map<int, std::string>& names);
  std::size_t add_loop(const Scope& scope, std::size_t first, std::map<int, std::string>& names,
                       std::set<std::string>& taken, std::string& out);

  const Program& program_;
  const std::string name_, file_;
  Structs structs_;
  std::vector<Scope*> scopes_;
  std::map<const Scope*, Names> names_;
  std::map<const Scope*, Scope*> parents_;
  std::map<int, const Scope*> leaves_;
  std::map<int, int> reads_;  // of the body that is being written
  std::vector<bool> outer_;
  std::set<std::string> type_names_ = {"Device",  "Tensor", "Float", "Int",  "Bool",
                                       "Spatial", "Shape",  "Value", "DType"};
  const StructType* current_ = nullptr;
};

std::string Builder::written(const std::string& text, const Scope& scope, const std::map<int, std::string>& names) {
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
std::size_t Builder::add_loop(const Scope& scope, std::size_t first, std::map<int, std::string>& names,
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

void Builder::write_forward(Scope& scope, StructType& type, bool is_root) {
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

// A column of a type's instances: the same everywhere, or a parameter.
class Columns {
 public:
  explicit Columns(StructType& type) : type_(type) {}
  std::string text_of(const std::vector<std::string>& values, const std::string& type, const std::string& name) {
    if (std::all_of(values.begin(), values.end(), [&](const std::string& each) { return each == values[0]; }))
      return values[0];
    for (std::size_t i = 0; i < known_.size(); ++i)
      if (known_[i] == values && type_.parameters[i].type == type) return type_.parameters[i].name;
    known_.push_back(values);
    type_.parameters.push_back({type, unique(identifier(name, "part"), taken_)});
    for (std::size_t i = 0; i < values.size(); ++i) type_.instances[i]->arguments.push_back(values[i]);
    return type_.parameters.back().name;
  }

 private:
  StructType& type_;
  std::vector<std::vector<std::string>> known_;
  std::set<std::string> taken_ = {"init", "made", "device"};
};

template <class F>
std::vector<std::string> column(const StructType& type, std::size_t part, F&& value) {
  std::vector<std::string> values;
  for (const Scope* instance : type.instances) values.push_back(value(*instance->parts[part]));
  return values;
}

}  // namespace

Structs structs_of(const Program& program, const std::string& name, const std::string& file) {
  return Builder(program, name, file).run();
}

void find_parameters(Structs& structs, const Program& program) {
  const auto layer_of = [&](const Scope& scope) -> const Layer& {
    return program.layers[static_cast<std::size_t>(scope.layer)];
  };
  for (auto& type : structs.types) {
    Columns columns(*type);
    for (const Field& field : type->fields) {
      std::vector<std::string> made;
      for (std::size_t part = field.first; part < field.first + field.count; ++part) {
        const Scope& first = *type->instances[0]->parts[part];
        const std::string prefix = field.is_list ? text(field.name, '_', part - field.first) : field.name;
        std::string options;
        const auto add = [&](const std::string& name, const std::string& value) {
          options += text(options.empty() ? "" : ", ", '.', name, " = ", value);
        };
        if (first.layer < 0) {
          for (std::size_t p = 0; p < first.type->parameters.size(); ++p) {
            const Parameter& parameter = first.type->parameters[p];
            add(parameter.name,
                columns.text_of(column(*type, part, [&](const Scope& each) { return each.arguments[p]; }),
                                parameter.type, text(prefix, '_', parameter.name)));
          }
          made.push_back(text(first.type->name, "Config{", options, "}.init(device)"));
          continue;
        }
        const Layer& layer = layer_of(first);
        std::vector<std::string> values;
        for (std::size_t o = 0; o < layer.options.size(); ++o) {
          const Option& option = layer.options[o];
          const auto all = column(*type, part, [&](const Scope& each) { return layer_of(each).options[o].value; });
          const bool usual = std::all_of(type->instances.begin(), type->instances.end(), [&](const Scope* each) {
            const Option& own = layer_of(*each->parts[part]).options[o];
            return own.value == own.usual;
          });
          values.push_back(columns.text_of(all, option.type, text(prefix, '_', option.name)));
          if (!usual) add(option.name, values.back());
        }
        if (!layer.config.empty()) {
          made.push_back(text(layer.config, '{', options, "}.init(device)"));
          continue;
        }
        const std::string tensor = "Tensor" + layer.type.substr(layer.type.find('<'));
        made.push_back(text(layer.type, '(', tensor, "::zeros(", values[0], ", device",
                            values[1] == "DType::F32" ? "" : ", " + values[1], "))"));
      }
      const std::string to = text("made.", field.path());
      const bool same = std::all_of(made.begin(), made.end(), [&](const std::string& each) { return each == made[0]; });
      if (!field.is_list) type->init += text(to, " = ", made[0], ";\n");
      else if (same)
        type->init += text("for (int i = 0; i < ", made.size(), "; ++i) ", to, ".push_back(", made[0], ");\n");
      else
        for (const std::string& each : made) type->init += text(to, ".push_back(", each, ");\n");
    }
  }
}

namespace {

void add_weights(const Scope& scope, const std::string& path, const Program& program,
                 std::map<std::string, Value>& weights) {
  for (const Field& field : scope.type->fields)
    for (std::size_t i = 0; i < field.count; ++i) {
      const Scope& part = *scope.parts[field.first + i];
      std::string own = text(path, path.empty() ? "" : ".", field.path());
      if (field.is_list) own += text('.', i);
      if (part.layer < 0) {
        add_weights(part, own, program, weights);
        continue;
      }
      for (const auto& [name, value] : program.layers[static_cast<std::size_t>(part.layer)].tensors)
        weights.emplace(name.empty() ? own : text(own, '.', name), value);
    }
}

}  // namespace

std::map<std::string, Value> weights_of(const Structs& structs, const Program& program) {
  std::map<std::string, Value> weights;
  add_weights(*structs.root, "", program, weights);
  return weights;
}

}  // namespace kiln::onnx::cpp
