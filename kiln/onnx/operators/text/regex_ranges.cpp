#include "kiln/onnx/operators/text/regex_ranges.hpp"

#include <algorithm>

namespace kiln::onnx {

using Ranges = Regex::Ranges;

Ranges united(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  Ranges out;
  for (const auto& range : ranges) {
    if (!out.empty() && range.first <= out.back().second + 1)
      out.back().second = std::max(out.back().second, range.second);
    else out.push_back(range);
  }
  return out;
}
Ranges without(const Ranges& ranges) {
  Ranges out;
  char32_t from = 0;
  for (const auto& [first, last] : united(ranges)) {
    if (from < first) out.emplace_back(from, first - 1);
    from = last + 1;
  }
  if (from <= kLastLetter) out.emplace_back(from, kLastLetter);
  return out;
}
Ranges in_either_case(Ranges ranges) {
  const std::size_t count = ranges.size();
  for (std::size_t i = 0; i < count; ++i)
    for (const char32_t a : {U'a', U'A'}) {
      const char32_t first = std::max(ranges[i].first, a), last = std::min<char32_t>(ranges[i].second, a + 25);
      if (first <= last) ranges.emplace_back(first ^ 32, last ^ 32);
    }
  return united(std::move(ranges));
}

std::optional<Ranges> named_class(std::string_view name) {
  struct Named {
    std::string_view name;
    Ranges ranges;
  };
  static const std::vector<Named> kAll{{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                                       {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
                                       {"ascii", {{0, 127}}},
                                       {"blank", {{'\t', '\t'}, {' ', ' '}}},
                                       {"cntrl", {{0, 31}, {127, 127}}},
                                       {"digit", {{'0', '9'}}},
                                       {"graph", {{'!', '~'}}},
                                       {"lower", {{'a', 'z'}}},
                                       {"print", {{' ', '~'}}},
                                       {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
                                       {"space", {{'\t', '\r'}, {' ', ' '}}},
                                       {"upper", {{'A', 'Z'}}},
                                       {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                                       {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  for (const Named& each : kAll)
    if (each.name == name) return each.ranges;
  return {};
}

std::optional<Ranges> perl_class(char name) {
  const char small = static_cast<char>(name | 32);
  Ranges ranges;
  if (small == 'd') ranges = {{'0', '9'}};
  else if (small == 's') ranges = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
  else if (small == 'w') ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  else return {};
  return name == small ? ranges : without(ranges);
}

}  // namespace kiln::onnx
