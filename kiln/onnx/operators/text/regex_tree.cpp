#include "kiln/onnx/operators/text/regex_tree.hpp"

#include <algorithm>
#include <cctype>

#include "kiln/core/text.hpp"
#include "kiln/onnx/operators/text/regex_ranges.hpp"

namespace kiln::onnx {
namespace {

using Ranges = Regex::Ranges;
using Place = Regex::Place;

struct Wrong {
  std::string why;
};

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}
  RegexTree run() {
    RegexTree tree = choice(Flags{}, 0);
    if (!ends()) throw Wrong{"there is a ) without its ("};
    return tree;
  }

 private:
  static constexpr int kMostGroups = 256, kMostRepeats = 1000;
  struct Flags {
    bool any_case = false, lines = false, dot_is_all = false, lazy = false;
  };

  bool ends() const { return at_ == pattern_.size(); }
  bool sees(std::string_view words) const { return pattern_.substr(at_).starts_with(words); }
  bool take(std::string_view words) {
    if (!sees(words)) return false;
    at_ += words.size();
    return true;
  }
  char32_t letter() {
    if (ends()) throw Wrong{"it ends too early"};
    return next_letter(pattern_, at_);
  }

  static RegexTree of(Ranges ranges, const Flags& flags) {
    RegexTree tree;
    tree.kind = RegexTree::Kind::Letter;
    tree.ranges = flags.any_case ? in_either_case(std::move(ranges)) : united(std::move(ranges));
    return tree;
  }
  static RegexTree of(Place place) {
    RegexTree tree;
    tree.kind = RegexTree::Kind::Assert;
    tree.place = place;
    return tree;
  }

  /// Up to the ) of its group, which is left, or the end.
  RegexTree choice(Flags flags, int depth) {
    if (depth > kMostGroups) throw Wrong{text("groups lie more than ", kMostGroups, " deep")};
    RegexTree all, sequence;
    all.kind = RegexTree::Kind::Choice;
    while (!ends() && !sees(")")) {
      if (take("|")) {
        all.parts.push_back(std::move(sequence));
        sequence = {};
        continue;
      }
      if (take("\\Q")) {
        while (!ends() && !take("\\E")) {
          const char32_t c = letter();
          sequence.parts.push_back(of({{c, c}}, flags));
          if (take("\\E")) break;
        }
        if (!sequence.parts.empty()) repeat(sequence.parts.back());
        continue;
      }
      std::optional<RegexTree> part = atom(flags, depth);
      if (!part) continue;
      repeat(*part);
      sequence.parts.push_back(std::move(*part));
    }
    all.parts.push_back(std::move(sequence));
    return all;
  }

  /// Nothing for flags alone, which change `flags`.
  std::optional<RegexTree> atom(Flags& flags, int depth) {
    if (sees("*") || sees("+") || sees("?")) throw Wrong{"there is nothing that could be repeated"};
    if (take("(")) return group(flags, depth);
    if (take("[")) return of(bracket(flags), {});
    if (take("^")) return of(flags.lines ? Place::LineBegin : Place::Begin);
    if (take("$")) return of(flags.lines ? Place::LineEnd : Place::End);
    if (take(".")) return of(flags.dot_is_all ? Ranges{{0, kLastLetter}} : without({{'\n', '\n'}}), flags);
    if (take("\\A")) return of(Place::Begin);
    if (take("\\z")) return of(Place::End);
    if (take("\\b")) return of(Place::Boundary);
    if (take("\\B")) return of(Place::NoBoundary);
    if (take("\\")) return of(escaped(), flags);
    const char32_t c = letter();
    return of({{c, c}}, flags);
  }

  std::optional<RegexTree> group(Flags& flags, int depth) {
    Flags inner = flags;
    if (take("?P<") || take("?<")) {
      const std::size_t begin = at_;
      const auto is_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
      while (!ends() && is_name(pattern_[at_])) ++at_;
      if (at_ == begin || !take(">")) throw Wrong{"a group's name is letters, digits and _ before a >"};
    } else if (take("?")) {
      for (bool on = true;;) {
        if (take(":")) break;
        if (take(")")) return flags = inner, std::nullopt;
        if (on && take("-")) on = false;
        else if (take("i")) inner.any_case = on;
        else if (take("m")) inner.lines = on;
        else if (take("s")) inner.dot_is_all = on;
        else if (take("U")) inner.lazy = on;  // which makes no difference to whole words
        else throw Wrong{"after (? stand flags i, m, s, U, or : or a name P<name>"};
      }
    }
    RegexTree tree = choice(inner, depth + 1);
    if (!take(")")) throw Wrong{"there is a ( without its )"};
    return tree;
  }

  void repeat(RegexTree& part) {
    int least = 0, most = -1;
    if (take("*")) least = 0;
    else if (take("+")) least = 1;
    else if (take("?")) most = 1;
    else if (!counts(least, most)) return;
    take("?");  // the fewest first: the same words
    int other = 0, another = 0;
    if (sees("*") || sees("+") || sees("?") || counts(other, another))
      throw Wrong{"what is repeated is repeated again"};
    RegexTree tree;
    tree.kind = RegexTree::Kind::Repeat;
    tree.least = least;
    tree.most = most;
    tree.parts.push_back(std::move(part));
    part = std::move(tree);
  }
  /// {2}, {2,} or {2,3}; anything else that begins with { is letters.
  bool counts(int& least, int& most) {
    const std::size_t begin = at_;
    const auto number = [&](int& n) {
      const std::size_t from = at_;
      for (n = 0; !ends() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_)
        n = std::min(n * 10 + (pattern_[at_] - '0'), kMostRepeats + 1);
      return at_ > from;
    };
    const auto back = [&] { return at_ = begin, false; };
    if (!take("{") || !number(least)) return back();
    most = least;
    if (take(",") && !number(most)) most = -1;
    if (!take("}")) return back();
    if (least > kMostRepeats || most > kMostRepeats || (most >= 0 && most < least))
      throw Wrong{text("repeats are up to ", kMostRepeats, ", and the least of them comes first")};
    return true;
  }

  /// Behind a backslash: a class, or one letter.
  Ranges escaped() {
    if (ends()) throw Wrong{"it ends in a backslash"};
    if (std::optional<Ranges> ranges = perl_class(pattern_[at_])) return ++at_, *ranges;
    const char32_t c = escaped_letter();
    return {{c, c}};
  }
  char32_t escaped_letter() {
    static constexpr std::string_view kNames = "aftnrv", kMeant = "\a\f\t\n\r\v";
    const char32_t c = letter();
    if (c < 128 && kNames.find(static_cast<char>(c)) != kNames.npos)
      return static_cast<unsigned char>(kMeant[kNames.find(static_cast<char>(c))]);
    if (c == 'x') {
      if (!take("{")) return digits(16, 2, 2);
      const char32_t code = digits(16, 1, 6);
      if (code > kLastLetter || !take("}")) throw Wrong{"\\x{ wants up to six hexadecimal digits of a letter and a }"};
      return code;
    }
    if (c >= '0' && c <= '7') {
      --at_;
      // \1 would be what a group has matched; octal numbers begin with 0 or have three digits.
      const bool octal =
          c == '0' || (pattern_.size() - at_ >= 3 && is_octal(pattern_[at_ + 1]) && is_octal(pattern_[at_ + 2]));
      if (octal) return digits(8, 1, 3);
      throw Wrong{"there are no references to groups"};
    }
    if (c < 128 && !std::isalnum(static_cast<unsigned char>(c))) return c;
    throw Wrong{"there is an escape that is none of those which Kiln reads"};
  }
  static bool is_octal(char c) { return c >= '0' && c <= '7'; }
  char32_t digits(unsigned base, int least, int most) {
    char32_t code = 0;
    int count = 0;
    for (; count < most && !ends(); ++count, ++at_) {
      const char c = pattern_[at_];
      const unsigned digit = c >= '0' && c <= '9'                 ? unsigned(c - '0')
                             : (c | 32) >= 'a' && (c | 32) <= 'f' ? unsigned((c | 32) - 'a' + 10)
                                                                  : 99;
      if (digit >= base) break;
      code = code * base + digit;
    }
    if (count < least) throw Wrong{"an escape wants more digits"};
    return code;
  }

  /// Behind a [.
  Ranges bracket(const Flags& flags) {
    const bool negated = take("^");
    Ranges ranges;
    for (bool first = true; first || !take("]"); first = false) {
      if (ends()) throw Wrong{"there is a [ without its ]"};
      if (const Ranges* const whole = class_in_bracket()) {
        ranges.insert(ranges.end(), whole->begin(), whole->end());
        continue;
      }
      const char32_t from = letter_in_bracket();
      char32_t to = from;
      if (sees("-") && !sees("-]")) {
        ++at_;
        to = letter_in_bracket();
        if (to < from) throw Wrong{"a range of letters runs backwards"};
      }
      ranges.emplace_back(from, to);
    }
    if (flags.any_case) ranges = in_either_case(std::move(ranges));
    return negated ? without(ranges) : ranges;
  }
  char32_t letter_in_bracket() { return take("\\") ? escaped_letter() : letter(); }
  /// [:alpha:], [:^alpha:] or \d; null where there is none.
  const Ranges* class_in_bracket() {
    if (sees("\\") && at_ + 1 < pattern_.size())
      if (std::optional<Ranges> ranges = perl_class(pattern_[at_ + 1])) {
        at_ += 2;
        found_ = std::move(*ranges);
        return &found_;
      }
    if (!sees("[:")) return nullptr;
    const std::size_t end = pattern_.find(":]", at_ + 2);
    if (end == pattern_.npos) return nullptr;
    std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
    const bool negated = name.starts_with("^");
    if (negated) name.remove_prefix(1);
    if (std::optional<Ranges> ranges = named_class(name)) {
      at_ = end + 2;
      found_ = negated ? without(*ranges) : std::move(*ranges);
      return &found_;
    }
    throw Wrong{"there is a class [: :] of an unknown name"};
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  Ranges found_;
};

}  // namespace

std::optional<RegexTree> parse_regex(std::string_view pattern, std::string& why) {
  try {
    return Parser(pattern).run();
  } catch (const Wrong& wrong) {
    why = wrong.why;
    return {};
  }
}

}  // namespace kiln::onnx
