#include "kiln/core/regex.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

using Step = Regex::Step;
using Steps = Regex::Steps;
using Letters = Regex::Letters;
constexpr std::size_t kMostSteps = 20'000;
constexpr int kMostNested = 100, kMostRepeats = 1000;

Letters range(unsigned char first, unsigned char last) {
  Letters letters;
  for (int letter = first; letter <= last; ++letter) letters.set(static_cast<std::size_t>(letter));
  return letters;
}

// Recursive descent; each piece of the pattern becomes steps that stand on their own.
class Parser {
 public:
  Parser(std::string_view pattern, std::vector<Letters>& sets) : pattern_(pattern), sets_(sets) {}

  Steps whole() {
    Steps steps = alternatives();
    if (at_ < pattern_.size()) wrong("a ) that closes nothing");
    return steps;
  }
  std::size_t groups() const { return groups_; }

 private:
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail<ArgumentError>("the pattern '", shown(pattern_), "' has ", parts..., " at letter ", at_ + 1);
  }
  bool ends() const { return at_ == pattern_.size(); }
  bool next_is(char letter) const { return !ends() && pattern_[at_] == letter; }
  bool take(char letter) {
    if (!next_is(letter)) return false;
    ++at_;
    return true;
  }

  Steps alternatives() {
    if (++depth_ > kMostNested) wrong("more than ", kMostNested, " groups in each other");
    Steps steps = sequence();
    while (take('|')) {
      const Steps other = sequence();
      const auto first = static_cast<std::int32_t>(steps.size()), second = static_cast<std::int32_t>(other.size());
      steps.insert(steps.begin(), {Step::Kind::Split, 1, first + 2});
      steps.push_back({Step::Kind::Jump, second + 1});
      append(steps, other);
    }
    --depth_;
    return steps;
  }

  Steps sequence() {
    Steps steps;
    while (!ends() && !next_is('|') && !next_is(')')) append(steps, repeated(piece()));
    return steps;
  }

  Steps repeated(Steps piece) {
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

  Steps times(const Steps& piece, int least, int most, bool lazy) {
    const auto size = static_cast<std::int32_t>(piece.size());
    const auto split = [&](std::int32_t in, std::int32_t out) {
      return lazy ? Step{Step::Kind::Split, out, in} : Step{Step::Kind::Split, in, out};
    };
    Steps steps;
    for (int i = 0; i < least; ++i) append(steps, piece);
    if (most < 0) {
      steps.push_back(split(1, size + 2));
      append(steps, piece);
      steps.push_back({Step::Kind::Jump, -size - 1});
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
    for (; !ends() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_)
      if ((value = 10 * value + (pattern_[at_] - '0')) > kMostRepeats)
        wrong("more than ", kMostRepeats, " repetitions");
    return value;
  }

  Steps piece() {
    const char letter = pattern_[at_++];
    if (letter == '(') return group();
    if (letter == '^') return {{Step::Kind::Begin}};
    if (letter == '$') return {{Step::Kind::End}};
    if (letter == '.') return one_of(Letters().set());
    if (letter == '[') return one_of(set());
    if (letter == '\\') return one_of(escaped());
    if (letter == '*' || letter == '+' || letter == '?' || letter == '{') {
      --at_;
      wrong("nothing to repeat");
    }
    return one_of(range(static_cast<unsigned char>(letter), static_cast<unsigned char>(letter)));
  }

  Steps group() {
    bool counted = true;
    if (take('?')) {
      if (!take(':')) wrong("a group of a kind that there is none of");
      counted = false;
    }
    const auto place = static_cast<std::int32_t>(2 * groups_);
    if (counted) ++groups_;
    Steps steps = alternatives();
    if (!take(')')) wrong("a ( that is not closed");
    if (!counted) return steps;
    steps.insert(steps.begin(), {Step::Kind::Save, place});
    steps.push_back({Step::Kind::Save, place + 1});
    return steps;
  }

  Letters escaped() {
    if (ends()) wrong("a \\ and nothing behind it");
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
      wrong("an escape that there is none of, \\", shown(std::string(1, letter)), ",");
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

  Steps one_of(const Letters& letters) {
    sets_.push_back(letters);
    return {{.kind = Step::Kind::Letter, .letters = static_cast<std::int32_t>(sets_.size() - 1)}};
  }

  void append(Steps& steps, const Steps& more) const {
    if (steps.size() + more.size() > kMostSteps) wrong("more repetitions than can be told apart");
    steps.insert(steps.end(), more.begin(), more.end());
  }

  std::string_view pattern_;
  std::vector<Letters>& sets_;
  std::size_t at_ = 0, groups_ = 1;
  int depth_ = 0;
};

// The threads of the machine, those preferred first, and where each met the places it saved.
struct Thread {
  std::size_t step;
  std::vector<std::size_t> places;
};

class Threads {
 public:
  Threads(const Steps& steps, std::size_t length) : steps_(&steps), length_(length), met_(steps.size() + 1, false) {}

  /// Follows all that needs no letter. A thread that comes to a step where one is already has lost.
  void add(Thread begin, std::size_t at) {
    std::vector<Thread> open;
    open.push_back(std::move(begin));
    while (!open.empty()) {
      Thread thread = std::move(open.back());
      open.pop_back();
      if (met_[thread.step]) continue;
      met_[thread.step] = true;
      if (thread.step == steps_->size()) {
        list.push_back(std::move(thread));
        continue;
      }
      const Step& step = (*steps_)[thread.step];
      const auto go = [&](std::int32_t by) {
        thread.step = static_cast<std::size_t>(static_cast<std::int64_t>(thread.step) + by);
        open.push_back(thread);
      };
      switch (step.kind) {
        case Step::Kind::Letter: list.push_back(std::move(thread)); break;
        case Step::Kind::Jump: go(step.to); break;
        case Step::Kind::Split: {
          Thread other = thread;
          other.step = static_cast<std::size_t>(static_cast<std::int64_t>(other.step) + step.other);
          open.push_back(std::move(other));
          go(step.to);
          break;
        }
        case Step::Kind::Save:
          thread.places[static_cast<std::size_t>(step.to)] = at;
          go(1);
          break;
        case Step::Kind::Begin:
          if (at == 0) go(1);
          break;
        case Step::Kind::End:
          if (at == length_) go(1);
          break;
      }
    }
  }
  void clear() {
    list.clear();
    met_.assign(met_.size(), false);
  }

  std::vector<Thread> list;

 private:
  const Steps* steps_;
  std::size_t length_;
  std::vector<bool> met_;
};

}  // namespace

Regex::Regex(std::string_view pattern) : pattern_(pattern) {
  Parser parser(pattern_, sets_);
  steps_ = parser.whole();
  groups_ = parser.groups();
}

std::optional<std::vector<std::string_view>> Regex::run(std::string_view text, std::size_t from, bool whole) const {
  constexpr auto kNowhere = std::string_view::npos;
  Threads now(steps_, text.size()), next(steps_, text.size());
  std::optional<std::vector<std::size_t>> found;
  for (std::size_t at = from;; ++at) {
    if (!found && (at == from || !whole)) {
      std::vector<std::size_t> places(2 * groups_, kNowhere);
      places[0] = at;
      now.add({0, std::move(places)}, at);
    }
    next.clear();
    for (Thread& thread : now.list) {
      if (thread.step == steps_.size()) {
        if (whole && at != text.size()) continue;
        found = std::move(thread.places);
        (*found)[1] = at;
        break;  // threads behind it are worse
      }
      const Letters& letters = sets_[static_cast<std::size_t>(steps_[thread.step].letters)];
      if (at < text.size() && letters.test(static_cast<unsigned char>(text[at]))) {
        ++thread.step;
        next.add(std::move(thread), at + 1);
      }
    }
    std::swap(now, next);
    if (at >= text.size() || (now.list.empty() && (found || whole))) break;
  }
  if (!found) return std::nullopt;
  std::vector<std::string_view> groups;
  for (std::size_t i = 0; i < groups_; ++i) {
    const std::size_t begin = (*found)[2 * i], end = (*found)[2 * i + 1];
    groups.push_back(begin == kNowhere || end == kNowhere ? std::string_view() : text.substr(begin, end - begin));
  }
  return groups;
}

std::optional<std::vector<std::string_view>> Regex::match(std::string_view text) const { return run(text, 0, true); }
std::optional<std::vector<std::string_view>> Regex::search(std::string_view text) const { return run(text, 0, false); }

std::string Regex::replace(std::string_view text, std::string_view with) const {
  std::string result;
  std::size_t at = 0;
  while (at <= text.size()) {
    const auto found = run(text, at, false);
    if (!found) break;
    const auto begin = static_cast<std::size_t>((*found)[0].data() - text.data());
    result += text.substr(at, begin - at);
    for (std::size_t i = 0; i < with.size(); ++i) {
      const char next = with[i] == '$' && i + 1 < with.size() ? with[i + 1] : '\0';
      if (next >= '0' && next <= '9') {
        const auto group = static_cast<std::size_t>(next - '0');
        if (group < found->size()) result += (*found)[group];
        ++i;
      } else {
        result += with[i];
        if (next == '$') ++i;
      }
    }
    at = begin + (*found)[0].size();
    if (!(*found)[0].empty()) continue;
    if (at < text.size()) result += text[at];  // past a place without letters
    ++at;
  }
  if (at < text.size()) result += text.substr(at);
  return result;
}

}  // namespace kiln
