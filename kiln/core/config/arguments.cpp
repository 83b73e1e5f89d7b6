#include "kiln/core/config/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln {
namespace config {
namespace {

/// The JSON value that an argument spells. What is not JSON becomes text, and the error about the text says that a
/// number was expected.
Json value_of(std::string_view value, bool is_text) {
  if (is_text) return {std::string(value)};
  try {
    return parse_json(value, "command line");
  } catch (const ConfigError&) { return {std::string(value)}; }
}

Json value_of(std::string_view value, const Option& option) {
  if (!option.is_list || value.starts_with('[')) return value_of(value, option.is_text && !option.is_list);
  Json::List list;
  for (std::size_t begin = 0; begin <= value.size() && !value.empty();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    list.push_back(value_of(value.substr(begin, end - begin), option.is_text));
    begin = end + 1;
  }
  return {std::move(list)};
}

Json& member(Json::Object& object, std::string_view key) {
  for (auto& [known, value] : object)
    if (known == key) return value;
  return object.emplace_back(std::string(key), Json{nullptr}).second;
}

void put(Json& json, std::string_view path, Json value) {
  if (!std::holds_alternative<Json::Object>(json.is)) json = Json{Json::Object()};
  auto& object = std::get<Json::Object>(json.is);
  const std::size_t dot = path.find('.');
  Json& part = member(object, path.substr(0, dot));
  if (dot == path.npos) part = std::move(value);
  else put(part, path.substr(dot + 1), std::move(value));
}

const Option* find(const std::vector<Option>& options, std::string_view path) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.path == path; });
  return found == options.end() ? nullptr : &*found;
}

/// Whether an option above this one takes JSON (an entry of a map, a field of a variant): that option then reads the
/// value.
bool is_below(const std::vector<Option>& options, std::string_view path) {
  return std::any_of(options.begin(), options.end(),
                     [&](const Option& o) { return o.type == "JSON" && path.starts_with(o.path + '.'); });
}

/// Says whether the word behind an option is its value. A flag needs none, but may have one.
bool takes_next(const Option* option, std::string_view word) {
  if (option && option->is_flag) return word == "true" || word == "false";
  return !word.starts_with("--");
}

/// The meaning of an option, or of the nearest struct that it is in; empty where nothing is said of either.
std::string_view meaning_of(std::string_view path, const Help& said) {
  while (true) {
    for (const Help::Meaning& each : said.meanings)
      if (each.option == path) return each.meaning;
    const std::size_t dot = path.rfind('.');
    if (dot == path.npos) return {};
    path = path.substr(0, dot);
  }
}

bool is_known(std::string_view name, const std::vector<Option>& options) {
  return std::any_of(options.begin(), options.end(), [&](const Option& option) {
    return option.path == name || option.path.starts_with(text(name, '.'));
  });
}

[[noreturn]] void unknown(std::string_view path, const std::vector<Option>& options) {
  std::vector<std::string_view> names{"config"};
  for (const Option& option : options) names.push_back(option.path);
  fail<ConfigError>("command line: unknown option '--", shown(path), '\'', did_you_mean(path, names));
}

std::string on_one_line(std::string_view json) {
  std::string line;
  bool indents = false;
  for (const char letter : json) {
    indents = letter == '\n' || (indents && letter == ' ');
    if (!indents) line += letter;
  }
  return line;
}

void describe(const Type& type, Option& option) {
  using enum Type::Kind;
  option.is_flag = type.kind == Bool;
  option.is_text = type.kind == Text || type.kind == Enum;
  switch (type.kind) {
    case Bool: option.type = "true|false"; break;
    case Integer: option.type = "INTEGER"; break;
    case Float: option.type = "NUMBER"; break;
    case Text: option.type = "TEXT"; break;
    case Enum:
      for (const std::string_view name : type.names()) option.type += text(option.type.empty() ? "" : "|", name);
      break;
    case Optional:
      describe(*type.element, option);
      option.is_text = false;  // it may be null
      break;
    case List:
      describe(*type.element, option);
      option.type += ",...";
      option.is_flag = false;
      option.is_list = true;
      break;
    case Map:
    case Variant:
    case Struct:
    case Own: option.type = "JSON"; break;
  }
}

void append_options(std::vector<Option>& options, const Type& type, const void* object, const std::string& prefix,
                    bool has_defaults) {
  const std::vector<Field> fields = type.fields(object);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    const std::string path = prefix + std::string(field.name);
    const bool defaulted = has_defaults || has_default(type, i, field);
    if (field.type->kind == Type::Kind::Struct) {
      append_options(options, *field.type, field.at, path + '.', defaulted);
      continue;
    }
    Option option{.path = path};
    describe(*field.type, option);
    if (defaulted) option.fallback = write_json(field.type->write(field.at));
    options.push_back(std::move(option));
  }
}

}  // namespace

std::vector<Option> options_for(const Type& type, const void* defaults) {
  std::vector<Option> options;
  append_options(options, type, defaults, "", false);
  return options;
}

Json read_arguments(int argc, const char* const* argv, const std::vector<Option>& options, std::string& source) {
  Json json{Json::Object()};
  std::vector<std::pair<std::string, Json>> changes;
  source = "command line";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--") || argument.size() == 2)
      fail<ConfigError>("command line: '", shown(argument), "' is not an option: options are written --key=value");
    const std::size_t equals = argument.find('=');
    std::string_view path = argument.substr(2, equals == argument.npos ? equals : equals - 2);
    const Option* option = find(options, path);
    if (!option && equals == argument.npos && path.starts_with("no-")) {
      if (const Option* const flag = find(options, path.substr(3)); flag && flag->is_flag) {
        changes.emplace_back(flag->path, Json{false});
        continue;
      }
    }
    const bool is_config = !option && path == "config";
    if (!option && !is_config && !is_below(options, path)) unknown(path, options);
    std::string_view value;
    if (equals != argument.npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < argc && takes_next(option, argv[i + 1])) {
      value = argv[++i];
    } else if (option && option->is_flag) {
      value = "true";
    } else {
      fail<ConfigError>("command line: '--", shown(path), "' has no value");
    }
    if (is_config) {
      source = text(value, " and the command line");
      json = parse_json(read_text_file(std::string(value)), value);
    } else {
      changes.emplace_back(std::string(path), option ? value_of(value, *option) : value_of(value, false));
    }
  }
  for (auto& [path, value] : changes) put(json, path, std::move(value));
  return json;
}

std::string help(const std::vector<Option>& options, const Help& said) {
  for (const Help::Meaning& each : said.meanings)
    require<ConfigError>(is_known(each.option, options), "help: the program has no option '", each.option, "'");
  std::string out = said.about.empty() ? "" : text(said.about, "\n\n");
  if (said.meanings.empty()) return out + help(options);
  std::string_view before;
  for (const Option& option : options) {
    const std::string_view meaning = meaning_of(option.path, said);
    require<ConfigError>(!meaning.empty(), "help: nothing says what '--", option.path, "' means");
    if (meaning != before) out += text("  ", meaning, ":\n");
    before = meaning;
    const std::string fallback = option.fallback.empty() ? "required" : on_one_line(option.fallback);
    out += text("    --", option.path, ' ', option.type, "  (", fallback, ")\n");
  }
  return out + "  a JSON file with any of these:\n    --config FILE\n";
}

std::string help(const std::vector<Option>& options) {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Option& option : options) {
    names.push_back(text("  --", option.path, ' ', option.type));
    width = std::max(width, names.back().size());
  }
  std::string out;
  for (std::size_t i = 0; i < options.size(); ++i) {
    out += names[i] + std::string(width - names[i].size() + 2, ' ') +
           (options[i].fallback.empty() ? "required" : on_one_line(options[i].fallback)) + '\n';
  }
  return out + "  --config FILE" + std::string(width > 15 ? width - 15 + 2 : 2, ' ') +
         "a JSON file with any of these\n";
}

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

int guarded(FunctionRef<void()> program) {
  try {
    program();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace config

bool asks_for_help(int argc, const char* const* argv) {
  return std::any_of(argv + std::min(argc, 1), argv + argc,
                     [](const std::string_view argument) { return argument == "--help" || argument == "-h"; });
}

std::optional<int> answered(int argc, const char* const* argv, std::string_view about, int most,
                            std::initializer_list<std::string_view> options) {
  if (asks_for_help(argc, argv)) {
    config::print(text(about, '\n'));
    return 0;
  }
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool unknown = words[i].starts_with('-') && std::ranges::find(options, words[i]) == options.end();
    if (!unknown && i < static_cast<std::size_t>(most)) continue;
    std::fprintf(stderr, "this program does not take '%s'; --help says what it takes\n", shown(words[i]).c_str());
    return 1;
  }
  return std::nullopt;
}

std::int64_t whole_number(std::string_view word, std::string_view name, std::int64_t least, std::int64_t greatest) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  require<ArgumentError>(
      problem == std::errc() && end == word.data() + word.size() && number >= least && number <= greatest, name,
      " is '", shown(word), "', it must be a whole number from ", least, " to ", greatest);
  return number;
}

}  // namespace kiln
