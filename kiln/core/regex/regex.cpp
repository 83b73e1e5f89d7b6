#include "kiln/core/regex/regex.hpp"

#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

using Instruction = Regex::Instruction;
using Instructions = Regex::Instructions;
using Letters = Regex::Letters;

constexpr std::string_view kWhat = "a regular expression";

// A thread of the machine: its step and the positions that it saved. Preferred threads come first in the list.
struct Thread {
  std::size_t step;
  std::vector<std::size_t> places;
};

class Threads {
 public:
  Threads(const Instructions& steps, std::size_t length)
      : steps_(&steps), length_(length), met_(steps.size() + 1, false) {}

  /// Follows all steps that read no letter. A thread that reaches a step that is already occupied is dropped.
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
      const Instruction& step = (*steps_)[thread.step];
      const auto go = [&](std::int32_t by) {
        thread.step = static_cast<std::size_t>(static_cast<std::int64_t>(thread.step) + by);
        open.push_back(thread);
      };
      switch (step.kind) {
        case Instruction::Kind::Letter: list.push_back(std::move(thread)); break;
        case Instruction::Kind::Jump: go(step.to); break;
        case Instruction::Kind::Split: {
          Thread other = thread;
          other.step = static_cast<std::size_t>(static_cast<std::int64_t>(other.step) + step.other);
          open.push_back(std::move(other));
          go(step.to);
          break;
        }
        case Instruction::Kind::Save:
          thread.places[static_cast<std::size_t>(step.to)] = at;
          go(1);
          break;
        case Instruction::Kind::Begin:
          if (at == 0) go(1);
          break;
        case Instruction::Kind::End:
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
  const Instructions* steps_;
  std::size_t length_;
  std::vector<bool> met_;
};

std::string regex_of_glob(std::string_view glob) {
  std::string regex;
  int braces = 0;
  for (std::size_t at = 0; at < glob.size(); ++at) {
    const std::string_view rest = glob.substr(at);
    const bool begins = at == 0 || glob[at - 1] == '.';
    if (begins && rest.starts_with("**.")) {
      regex += "(?:[^.]+\\.)*";
      at += 2;
    } else if (begins && rest == "**") {
      regex += ".+";
      break;
    } else if (rest[0] == '*') {
      regex += "[^.]*";
    } else if (rest[0] == '?') {
      regex += "[^.]";
    } else if (rest[0] == '[' && rest.find(']', 2) != std::string_view::npos) {
      const std::size_t end = rest.find(']', 2);
      regex += rest[1] == '!' ? text("[^.", rest.substr(2, end - 1)) : std::string(rest.substr(0, end + 1));
      at += end;
    } else if (rest[0] == '{') {
      regex += "(?:";
      ++braces;
    } else if (rest[0] == '}' && braces > 0) {
      regex += ')';
      --braces;
    } else if (rest[0] == ',' && braces > 0) {
      regex += '|';
    } else {
      if (std::string_view("\\.^$|()[]{}*+?").find(rest[0]) != std::string_view::npos) regex += '\\';
      regex += rest[0];
    }
  }
  require<ArgumentError>(braces == 0, "the pattern '", shown(glob), "' has a { that is not closed");
  return regex + "(?:\\..*)?";
}

}  // namespace

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
        break;  // the remaining threads are less preferred
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

std::optional<std::vector<std::string_view>> Regex::match(std::string_view text) const {
  return or_memory_error(kWhat, [&] { return run(text, 0, true); });
}
std::optional<std::vector<std::string_view>> Regex::search(std::string_view text) const {
  return or_memory_error(kWhat, [&] { return run(text, 0, false); });
}

std::string Regex::replace(std::string_view text, std::string_view with) const {
  return or_memory_error(kWhat, [&] {
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
      if (at < text.size()) result += text[at];  // moves past a position with an empty match
      ++at;
    }
    if (at < text.size()) result += text.substr(at);
    return result;
  });
}

Regex Regex::glob(std::string_view glob) {
  return or_memory_error(kWhat, [&] { return Regex(regex_of_glob(glob)); });
}

}  // namespace kiln
