#include "kiln/compile/names.hpp"

#include <algorithm>
#include <array>

#include "kiln/core/text.hpp"

namespace kiln::compile {
namespace {

// Keywords of C11, C++20 and later, and macros of compilers and <math.h>.
constexpr std::string_view kReserved[] = {
    "alignas",     "alignof",    "and",          "and_eq",   "asm",          "auto",     "bitand",    "bitor",
    "bool",        "break",      "case",         "catch",    "char",         "class",    "compl",     "concept",
    "const",       "constexpr",  "continue",     "decltype", "default",      "delete",   "do",        "double",
    "else",        "enum",       "explicit",     "export",   "extern",       "false",    "float",     "for",
    "friend",      "goto",       "if",           "inline",   "int",          "long",     "mutable",   "namespace",
    "new",         "noexcept",   "not",          "not_eq",   "nullptr",      "operator", "or",        "or_eq",
    "private",     "protected",  "public",       "register", "requires",     "restrict", "return",    "short",
    "signed",      "sizeof",     "static",       "struct",   "switch",       "template", "this",      "throw",
    "true",        "try",        "typedef",      "typeid",   "typename",     "union",    "unsigned",  "using",
    "virtual",     "void",       "volatile",     "wchar_t",  "while",        "xor",      "xor_eq",    "linux",
    "unix",        "i386",       "main",         "typeof",   "thread_local", "fortran",  "NAN",       "INFINITY",
    "static_cast", "const_cast", "dynamic_cast", "char8_t",  "char16_t",     "char32_t", "consteval", "constinit",
    "co_await",    "co_return",  "co_yield"};
constexpr std::string_view kLongReserved[] = {"static_assert", "reinterpret_cast", "typeof_unqual"};

bool is_reserved(std::string_view name) {
  return std::ranges::find(kReserved, name) != std::end(kReserved) ||
         std::ranges::find(kLongReserved, name) != std::end(kLongReserved);
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string upper(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return name;
}

std::string identifier(std::string_view name, std::string_view otherwise, std::set<std::string>& taken) {
  constexpr std::size_t kLongest = 48;
  std::string result;
  for (const char c : name.substr(0, kLongest)) {
    // No two underscores stand together: such names belong to the compiler.
    const bool plain = is_letter(c) || is_digit(c);
    if (plain || (!result.empty() && result.back() != '_')) result += plain ? c : '_';
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  if (result.empty()) result = otherwise;
  if (!is_letter(result[0])) result = text("n", result);
  if (is_reserved(result)) result += "_value";
  if (upper(result).starts_with("KILN")) result = text("n", result);
  std::string unique = result;
  for (int number = 2; !taken.insert(upper(unique)).second; ++number) unique = text(result, "_", number);
  return unique;
}

}  // namespace kiln::compile
