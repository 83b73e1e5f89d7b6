#include "kiln/onnx/operators/text/regex.hpp"

#include <algorithm>

#include "kiln/onnx/operators/text/regex_tree.hpp"

namespace kiln::onnx {
namespace {

using State = Regex::State;
using Kind = State::Kind;

bool is_word(char32_t letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_';
}

/// States from the last to the first: each is told where its match goes on.
class Program {
 public:
  static constexpr std::size_t kMost = 1 << 14;
  std::vector<State> states{{.kind = Kind::Match}};
  std::vector<Regex::Ranges> ranges;

  bool too_large() const { return steps_ > kMost; }

  /// The first state of `tree` followed by state `next`.
  std::uint32_t add(const RegexTree& tree, std::uint32_t next) {
    if (++steps_ > kMost) return next;
    switch (tree.kind) {
      case RegexTree::Kind::Letter:
        ranges.push_back(tree.ranges);
        return state({.kind = Kind::Letter, .next = next, .other = static_cast<std::uint32_t>(ranges.size() - 1)});
      case RegexTree::Kind::Assert: return state({.kind = Kind::Assert, .place = tree.place, .next = next});
      case RegexTree::Kind::Sequence:
        for (std::size_t i = tree.parts.size(); i-- > 0;) next = add(tree.parts[i], next);
        return next;
      case RegexTree::Kind::Choice: {
        std::uint32_t first = add(tree.parts.back(), next);
        for (std::size_t i = tree.parts.size() - 1; i-- > 0;)
          first = state({.kind = Kind::Split, .next = add(tree.parts[i], next), .other = first});
        return first;
      }
      case RegexTree::Kind::Repeat: return repeated(tree, next);
    }
    return next;
  }

 private:
  std::uint32_t state(State made) {
    states.push_back(made);
    return static_cast<std::uint32_t>(states.size() - 1);
  }
  std::uint32_t repeated(const RegexTree& tree, std::uint32_t next) {
    const RegexTree& part = tree.parts[0];
    if (tree.most < 0) {
      const std::uint32_t loop = state({.kind = Kind::Split, .other = next});
      states[loop].next = add(part, loop);
      next = loop;
    } else {
      const std::uint32_t end = next;
      for (int i = tree.least; i < tree.most && !too_large(); ++i)
        next = state({.kind = Kind::Split, .next = add(part, next), .other = end});
    }
    for (int i = 0; i < tree.least && !too_large(); ++i) next = add(part, next);
    return next;
  }

  std::size_t steps_ = 0;  // nothing is copied without end, parts without states neither
};

/// The states that a match may be in, each once.
class States {
 public:
  explicit States(std::size_t count) : known_(count, 0) {}
  void clear() { list.clear(), ++round_; }
  bool insert(std::uint32_t state) {
    if (known_[state] == round_) return false;
    known_[state] = round_;
    list.push_back(state);
    return true;
  }
  std::vector<std::uint32_t> list;

 private:
  std::vector<std::size_t> known_;  // the round that a state was inserted in
  std::size_t round_ = 1;
};

bool holds(Regex::Place place, bool begins, bool ends, char32_t before, char32_t after) {
  switch (place) {
    case Regex::Place::Begin: return begins;
    case Regex::Place::End: return ends;
    case Regex::Place::LineBegin: return begins || before == '\n';
    case Regex::Place::LineEnd: return ends || after == '\n';
    default: break;
  }
  const bool boundary = (!begins && is_word(before)) != (!ends && is_word(after));
  return boundary == (place == Regex::Place::Boundary);
}

bool contains(const Regex::Ranges& ranges, char32_t letter) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), letter,
                                      [](char32_t x, const auto& range) { return x < range.first; });
  return after != ranges.begin() && letter <= std::prev(after)->second;
}

}  // namespace

char32_t next_letter(std::string_view word, std::size_t& at) {
  constexpr char32_t kUnknown = 0xfffd;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(word[i]); };
  const unsigned lead = byte(at++);
  if (lead < 0x80) return lead;
  const std::size_t more = lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xc2 ? 1 : 0;
  if (more == 0 || lead >= 0xf5 || at + more > word.size()) return kUnknown;
  char32_t letter = lead & (0x3fu >> more);
  for (std::size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xc0u) != 0x80) return kUnknown;
    letter = letter << 6 | (byte(at + i) & 0x3fu);
  }
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (letter < kLeast[more] || letter > 0x10ffff || (letter >= 0xd800 && letter < 0xe000)) return kUnknown;
  at += more;
  return letter;
}

std::optional<Regex> Regex::parse(std::string_view pattern, std::string& why) {
  const std::optional<RegexTree> tree = parse_regex(pattern, why);
  if (!tree) return {};
  Program program;
  Regex regex;
  regex.first_ = program.add(*tree, 0);
  if (program.too_large()) {
    why = "it makes too many states";
    return {};
  }
  regex.states_ = std::move(program.states);
  regex.ranges_ = std::move(program.ranges);
  return regex;
}

bool Regex::matches(std::string_view word) const {
  States now(states_.size()), then(states_.size());
  std::vector<std::uint32_t> open{first_};
  char32_t before = 0;
  for (std::size_t at = 0;;) {
    const bool begins = at == 0, ends = at == word.size();
    const char32_t letter = ends ? 0 : next_letter(word, at);
    // All that can be reached from `open` without a letter.
    now.clear();
    while (!open.empty()) {
      const std::uint32_t state = open.back();
      open.pop_back();
      if (!now.insert(state)) continue;
      const State& s = states_[state];
      if (s.kind == Kind::Split) open.insert(open.end(), {s.next, s.other});
      else if (s.kind == Kind::Assert && holds(s.place, begins, ends, before, letter)) open.push_back(s.next);
    }
    const auto is_match = [&](std::uint32_t state) { return states_[state].kind == Kind::Match; };
    if (ends) return std::any_of(now.list.begin(), now.list.end(), is_match);
    then.clear();
    for (const std::uint32_t state : now.list) {
      const State& s = states_[state];
      if (s.kind == Kind::Letter && contains(ranges_[s.other], letter)) then.insert(s.next);
    }
    if (then.list.empty()) return false;
    open = then.list;
    before = letter;
  }
}

}  // namespace kiln::onnx
