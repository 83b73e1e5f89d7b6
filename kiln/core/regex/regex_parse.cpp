// Compiles patterns to programs by recursive descent; each part of the pattern becomes an independent sequence of
// steps.
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/regex/regex.hpp"

namespace kiln {
namespace {

using Instruction = Regex::Instruction;
using Instructions = Regex::Instructions;
using Letters = Regex::Letters;
constexpr std::size_t kMostSteps = 20'000;
constexpr int kMostNested = 100, kMostRepeats = 1000;

Letters range(unsigned char first, unsigned char last) {
  Letters letters;
  for (int letter = first; letter <= last; ++letter) letters.set(static_cast<std::size_t>(letter));
  return letters;
}

class Parser {
 public:
  Parser(std::string_view pattern, std::vector<Letters>& sets) : pattern_(pattern), sets_(sets) {}

  Instructions whole() {
    Instructions steps = alternatives();
    if (at_ < pattern_.size()) wrong("a ) that closes nothing");
    return steps;
  }
  std::size_t groups() const { return groups_; }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail<ArgumentError>("the pattern '", shown(pattern_), "' has ", parts..., " at character ", at_ + 1);
  }
  bool ends() const { return at_ == pattern_.size(); }
  bool next_is(char letter) const { return !ends() && pattern_[at_] == letter; }
  bool take(char letter) {
    if (!next_is(letter)) return false;
    ++at_;
    return true;
  }

  Instructions alternatives() {
    if (++depth_ > kMostNested) wrong("more than ", kMostNested, " nested groups");
    Instructions steps = sequence();
    while (take('|')) {
      const Instructions other = sequence();
      const auto first = static_cast<std::int32_t>(steps.size()), second = static_cast<std::int32_t>(other.size());
      steps.insert(steps.begin(), {Instruction::Kind::Split, 1, first + 2});
      steps.push_back({Instruction::Kind::Jump, second + 1});
      append(steps, other);
    }
    --depth_;
    return steps;
  }

  Instructions sequence() {
    Instructions steps;
    while (!ends() && !next_is('|') && !next_is(')')) append(steps, repeated(piece()));
    return steps;
  }

  Instructions repeated(Instructions piece) {
    while (!ends()) {
      int least = 0, most = -1;  // -1: any number
      if (take('*')) {
      } else if (take('+')) {
        least = 1;
      } else if (take('?')) {
        most = 1;
      } else if (next_is('{')) {
        ++at_;
        least = number();
        most = take(',') ? (next_is('}') ? -1 : number()) : least;
        if (!take('}') || (most >= 0 && most < least)) wrong("a repetition that is not like {2}, {2,} or {2,5}");
      } else {
        break;
      }
      piece = times(piece, least, most, take('?'));
    }
    return piece;
  }

  Instructions times(const Instructions& piece, int least, int most, bool lazy) {
    const auto size = static_cast<std::int32_t>(piece.size());
    const auto split = [&](std::int32_t in, std::int32_t out) {
      return lazy ? Instruction{Instruction::Kind::Split, out, in} : Instruction{Instruction::Kind::Split, in, out};
    };
    Instructions steps;
    for (int i = 0; i < least; ++i) append(steps, piece);
    if (most < 0) {
      steps.push_back(split(1, size + 2));
      append(steps, piece);
      steps.push_back({Instruction::Kind::Jump, -size - 1});
    }
    for (int left = most - least; left > 0; --left) {
      steps.push_back(split(1, left * (size + 1)));
      append(steps, piece);
    }
    return steps;
  }

  int number() {
    int value = 0;
    if (ends() || pattern_[at_] < '0' || pattern_[at_] > '9') wrong("no number");
    for (; !ends() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_) {
      value = 10 * value + (pattern_[at_] - '0');
      if (value > kMostRepeats) wrong("more than ", kMostRepeats, " repetitions");
    }
    return value;
  }

  Instructions piece() {
    const char letter = pattern_[at_++];
    if (letter == '(') return group();
    if (letter == '^') return {{Instruction::Kind::Begin}};
    if (letter == '$') return {{Instruction::Kind::End}};
    if (letter == '.') return one_of(Letters().set());
    if (letter == '[') return one_of(set());
    if (letter == '\\') return one_of(escaped());
    if (letter == '*' || letter == '+' || letter == '?' || letter == '{') {
      --at_;
      wrong("nothing to repeat");
    }
    return one_of(range(static_cast<unsigned char>(letter), static_cast<unsigned char>(letter)));
  }

  Instructions group() {
    bool counted = true;
    if (take('?')) {
      if (!take(':')) wrong("an unknown kind of group");
      counted = false;
    }
    const auto place = static_cast<std::int32_t>(2 * groups_);
    if (counted) ++groups_;
    Instructions steps = alternatives();
    if (!take(')')) wrong("a ( that is not closed");
    if (!counted) return steps;
    steps.insert(steps.begin(), {Instruction::Kind::Save, place});
    steps.push_back({Instruction::Kind::Save, place + 1});
    return steps;
  }

  Letters escaped() {
    if (ends()) wrong("a \\ at the end");
    const char letter = pattern_[at_++];
    const Letters digits = range('0', '9'), word = digits | range('a', 'z') | range('A', 'Z') | range('_', '_');
    const Letters space = range('\t', '\r') | range(' ', ' ');
    switch (letter) {
      case 'd': return digits;
      case 'D': return ~digits;
      case 'w': return word;
      case 'W': return ~word;
      case 's': return space;
      case 'S': return ~space;
      case 'n': return range('\n', '\n');
      case 't': return range('\t', '\t');
      default: break;
    }
    const Letters itself = range(static_cast<unsigned char>(letter), static_cast<unsigned char>(letter));
    if ((word & itself).any()) {
      --at_;
      wrong("an unknown escape, \\", shown(std::string(1, letter)), ",");
    }
    return itself;
  }

  Letters set() {
    const bool inverted = take('^');
    Letters letters;
    for (bool first = true; !next_is(']') || first; first = false) {
      if (ends()) wrong("a [ that is not closed");
      const char letter = pattern_[at_++];
      if (letter == '\\') {
        letters |= escaped();
      } else if (next_is('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        ++at_;
        const auto low = static_cast<unsigned char>(letter), high = static_cast<unsigned char>(pattern_[at_++]);
        if (high < low) wrong("a range that ends before it begins");
        letters |= range(low, high);
      } else {
        letters.set(static_cast<unsigned char>(letter));
      }
    }
    ++at_;
    return inverted ? ~letters : letters;
  }

  Instructions one_of(const Letters& letters) {
    sets_.push_back(letters);
    return {{.kind = Instruction::Kind::Letter, .letters = static_cast<std::int32_t>(sets_.size() - 1)}};
  }

  void append(Instructions& steps, const Instructions& more) const {
    if (steps.size() + more.size() > kMostSteps) wrong("too many repetitions");
    steps.insert(steps.end(), more.begin(), more.end());
  }

  std::string_view pattern_;
  std::vector<Letters>& sets_;
  std::size_t at_ = 0, groups_ = 1;
  int depth_ = 0;
};

}  // namespace

Regex::Regex(std::string_view pattern) {
  or_memory_error("a regular expression", [&] {
    pattern_ = pattern;
    Parser parser(pattern_, sets_);
    steps_ = parser.whole();
    groups_ = parser.groups();
  });
}

}  // namespace kiln
