// Translates Oniguruma's expressions, in Ruby's syntax, to PCRE2's. Character classes are written out where the two
// differ: which characters are spaces or parts of words.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/text/pattern/classes.hpp"
#include "kiln/data/text/pattern/pattern.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

class Translation {
 public:
  explicit Translation(const View& regex) : regex_(regex), in_(regex.text()) {}

  std::string whole() {
    if (in_.size() > kLongest) refuse("is longer than ", kLongest, " bytes");
    std::string out = alternatives(0, false);
    if (at_ < in_.size()) refuse("closes a group that it does not open");
    return out;
  }

 private:
  static constexpr std::size_t kLongest = 1 << 16;
  static constexpr int kDeepest = 100;

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    regex_.refuse("is the expression '", shown(in_), "', which ", parts...);
  }
  bool done() const { return at_ >= in_.size(); }
  bool take(std::string_view text) {
    if (!in_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  char32_t next_point() {
    if (done()) refuse("ends too early");
    const auto [point, bytes] = unicode::decode(in_, at_);
    if (point == unicode::kReplacement && bytes == 1) refuse("is no UTF-8");
    at_ += bytes;
    return point;
  }

  /// Translates up to the group's end, or the text's.
  std::string alternatives(int depth, bool any_case) {
    if (depth > kDeepest) refuse("nests groups more than ", kDeepest, " deep");
    std::string out;
    while (!done() && in_[at_] != ')') {
      if (take("|")) {
        out += '|';
        continue;
      }
      const std::size_t begin = out.size();
      out += atom(depth, any_case);
      quantifiers(out, begin);
    }
    return out;
  }

  std::string group(std::string_view opening, int depth, bool any_case) {
    std::string out = text(opening, alternatives(depth + 1, any_case));
    if (!take(")")) refuse("does not close a group");
    return out + ')';
  }

  /// Translates the rest of a group after "(".
  std::string group_of_any_kind(int depth, bool any_case) {
    if (!take("?")) {
      if (take("*")) refuse("begins a group with '(*', which is not supported");
      return group("(?:", depth, any_case);
    }
    if (take("#")) {
      while (!done() && in_[at_] != ')') next_point();
      if (!take(")")) refuse("does not close a comment");
      return "";
    }
    for (const std::string_view kind : {":", "=", "!", ">", "<=", "<!"})
      if (take(kind)) return group(text("(?", kind), depth, any_case);
    if (take("<")) {  // a name, which nothing refers to here
      while (!done() && in_[at_] != '>') next_point();
      if (!take(">")) refuse("does not close a name");
      return group("(?:", depth, any_case);
    }
    bool on = true;
    std::string set, unset;
    while (!done() && in_[at_] != ':' && in_[at_] != ')') {
      const char32_t option = next_point();
      if (option == '-') on = false;
      else if (option == 'i') (on ? set : unset) += 'i', any_case = on;
      else if (option == 'm') (on ? set : unset) += 's';
      else refuse("has the option '", shown(in_.substr(at_ - 1, 1)), "', which is not supported");
    }
    const std::string opening = text("(?", set, unset.empty() ? "" : "-", unset, ':');
    if (take(":")) return group(opening, depth, any_case);
    if (!take(")")) refuse("does not close a group");
    // The option applies to the end of the enclosing group, including its remaining alternatives.
    return opening + alternatives(depth + 1, any_case) + ')';
  }

  std::string atom(int depth, bool any_case) {
    if (take("(")) return group_of_any_kind(depth, any_case);
    if (take("[")) return bracket(0, any_case);
    if (take(".")) return ".";
    if (take("^")) return "(?m:^)";
    if (take("$")) return "(?m:$)";
    if (take("\\")) return escape(any_case);
    return literal(next_point());
  }

  void quantifiers(std::string& out, std::size_t begin) {
    if (out.size() == begin) return;
    for (int many = 0; !done(); ++many) {
      const bool interval = in_[at_] == '{' && is_interval();
      if (!interval && in_[at_] != '*' && in_[at_] != '+' && in_[at_] != '?') return;
      if (many > 0) refuse("repeats a repetition, which is not supported");
      std::string how;
      if (interval) {
        const std::size_t end = in_.find('}', at_);
        how = std::string(in_.substr(at_, end - at_ + 1));
        if (how.starts_with("{,")) how.insert(1, 1, '0');
        at_ = end + 1;
        if (how.find(',') == std::string::npos && !done() && in_[at_] == '?')
          refuse("has '?' after a number of repetitions, which is not supported");
        if (!done() && in_[at_] == '+') refuse("has '+' after a number of repetitions, which is not supported");
      } else {
        how = in_[at_++];
      }
      if (take("?")) how += '?';
      else if (!interval && take("+")) how += '+';
      out += how;
    }
  }
  /// {2}, {2,}, {,3} or {2,3}; anything else is a literal brace.
  bool is_interval() const {
    const std::size_t end = in_.find('}', at_);
    if (end == std::string_view::npos) return false;
    const std::string_view inner = in_.substr(at_ + 1, end - at_ - 1);
    const std::size_t comma = std::min(inner.find(','), inner.size());
    const auto digits = [](std::string_view part) {
      return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    };
    if (inner.empty() || inner == "," || comma > 5 || inner.size() > comma + 6) return false;
    return digits(inner.substr(0, comma)) && (comma == inner.size() || digits(inner.substr(comma + 1)));
  }

  /// Translates an escape after a backslash, outside of brackets.
  std::string escape(bool any_case) {
    const std::string word = text('[', word_letters(), ']');
    const std::string edge = text("(?:(?<=", word, ")(?!", word, ")|(?<!", word, ")(?=", word, "))");
    if (take("b")) return edge;
    if (take("B")) return text("(?!", edge, ')');
    if (take("A")) return "\\A";
    if (take("z")) return "\\z";
    if (take("Z")) return "\\Z";
    if (take("R")) return R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))";
    const Set set = escaped_set(any_case);
    return set.negated ? text("[^", set.ranges, ']') : text('[', set.ranges, ']');
  }

  /// An element within brackets that is not a range.
  struct Set {
    std::string ranges;
    bool negated = false;
    std::optional<char32_t> point = {};  // if it is a single character
  };

  /// Translates an escape after a backslash, within brackets.
  Set escaped_set(bool any_case) {
    const char32_t kind = next_point();
    switch (kind) {
      case 's': return {std::string(kSpaces)};
      case 'S': return {std::string(kSpaces), true};
      case 'w': return {word_letters()};
      case 'W': return {word_letters(), true};
      case 'd': return {*category_letters("Nd")};
      case 'D': return {*category_letters("Nd"), true};
      case 'h': return {std::string(kHexDigits)};
      case 'H': return {std::string(kHexDigits), true};
      case 'p':
      case 'P': return property(kind == 'P', any_case);
      case 'n': return one('\n');
      case 't': return one('\t');
      case 'r': return one('\r');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case 'a': return one('\a');
      case 'e': return one(0x1b);
      case 'x': return one(take("{") ? number(1, 8, '}') : in_ascii(number(1, 2)));
      case 'u': return one(number(4, 4));
      default: break;
    }
    if ((kind >= '0' && kind <= '9') || (kind >= 'A' && kind <= 'Z') || (kind >= 'a' && kind <= 'z'))
      refuse("has '\\", static_cast<char>(kind), "', which is not supported");
    return one(kind);
  }
  static Set one(char32_t point) { return {.ranges = literal(point), .point = point}; }

  char32_t in_ascii(char32_t point) const {
    if (point >= 0x80) refuse("names bytes above 7f, which are not characters");
    return point;
  }
  char32_t number(int least, int most, char end = 0) {
    char32_t value = 0;
    int digits = 0;
    for (; digits < most && !done(); ++digits, ++at_) {
      const char c = in_[at_];
      const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (digit < 0) break;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (digits < least || (end && !take(std::string_view(&end, 1))) || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000))
      refuse("has a number that is not a character");
    return value;
  }

  /// Translates the rest of a property after \p or \P.
  Set property(bool negated, bool any_case) {
    if (!take("{")) refuse("has '\\p' without braces");
    if (take("^")) negated = !negated;
    const std::size_t end = in_.find('}', at_);
    if (end == std::string_view::npos) refuse("does not close '\\p{'");
    const std::string_view name = in_.substr(at_, end - at_);
    at_ = end + 1;
    return {named(name, any_case), negated};
  }
  std::string named(std::string_view name, bool any_case) {
    std::string plain;
    for (const char c : name)
      if (c != ' ' && c != '_' && c != '-') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 32 : c);
    if (const auto category = category_letters(plain)) {
      if (any_case && plain.size() == 2 && plain[0] == 'l' && plain != "lm" && plain != "lo")
        refuse("asks for \\p{", shown(name), "} and ignores case, which is not supported");
      return *category;
    }
    if (const auto known = named_letters(plain)) return *known;
    const bool letters = std::ranges::all_of(plain, [](char c) { return c >= 'a' && c <= 'z'; });
    if (!letters || plain.size() < 3 || std::ranges::count(kNotScripts, plain))
      refuse("asks for \\p{", shown(name), "}, which is not supported");
    return text("\\p{sc:", plain, '}');  // a script; PCRE2 reports an unknown name
  }
  /// POSIX classes in which PCRE2 and Oniguruma differ.
  static constexpr std::string_view kNotScripts[] = {"alnum", "alpha", "any",   "assigned", "blank", "cntrl",
                                                     "graph", "lower", "print", "punct",    "upper"};

  /// Translates brackets after "[" to an expression that matches one character.
  std::string bracket(int depth, bool any_case) {
    if (depth > kDeepest) refuse("nests brackets more than ", kDeepest, " deep");
    const bool negated = take("^");
    std::string ranges, others, before;  // `before`: conditions that each character must fulfil as well (&&)
    const auto end_of_part = [&] {
      if (ranges.empty() && others.empty()) refuse("has empty brackets");
      std::string part = others.empty()   ? text('[', ranges, ']')
                         : ranges.empty() ? text("(?:", others, ')')
                                          : text("(?:[", ranges, "]|", others, ')');
      ranges.clear(), others.clear();
      return part;
    };
    const auto add_other = [&](const std::string& one) { others += text(others.empty() ? "" : "|", one); };
    while (true) {
      if (done()) refuse("does not close its brackets");
      if (take("]")) break;
      if (take("&&")) {
        before += text("(?=", end_of_part(), ')');
        continue;
      }
      if (take("[:")) {
        const bool without = take("^");
        const std::size_t end = in_.find(":]", at_);
        if (end == std::string_view::npos) refuse("does not close '[:'");
        const std::string_view name = in_.substr(at_, end - at_);
        at_ = end + 2;
        const auto known = named_letters(name);
        if (!known) refuse("asks for [:", shown(name), ":], which is not supported");
        if (without) add_other(text("[^", *known, ']'));
        else ranges += *known;
        continue;
      }
      if (take("[")) {
        add_other(bracket(depth + 1, any_case));
        continue;
      }
      const Set first = take("\\") ? escaped_set(any_case) : one(next_point());
      if (first.negated) {
        add_other(text("[^", first.ranges, ']'));
        continue;
      }
      if (!first.point || in_.substr(at_, 1) != "-" || in_.substr(at_, 2) == "-]" || in_.substr(at_, 2) == "-[") {
        ranges += first.ranges;
        continue;
      }
      ++at_;
      const Set last = take("\\") ? escaped_set(any_case) : one(next_point());
      if (!last.point || *last.point < *first.point) refuse("has a range that ends before it begins, or with a class");
      ranges += text(first.ranges, '-', last.ranges);
    }
    const bool plain = before.empty() && others.empty();
    std::string all = text(before, end_of_part());
    if (!before.empty()) all = text("(?:", all, ')');
    if (!negated) return all;
    return plain ? text("[^", all.substr(1)) : text("(?:(?!", all, ')', kAnything, ')');
  }

  const View& regex_;
  std::string_view in_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_pcre2(const View& regex) { return Translation(regex).whole(); }

}  // namespace kiln::tokens
