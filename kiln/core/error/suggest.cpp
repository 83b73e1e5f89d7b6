#include "kiln/core/error/suggest.hpp"

#include <algorithm>
#include <vector>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/text.hpp"

namespace kiln {
namespace {

// Longer names are no typing errors, and the table grows with the square of the length. A search among more names than
// this, perhaps those of a hostile file, would take long.
constexpr std::size_t kLongest = 256, kMostNames = 512;

std::size_t distance(std::string_view a, std::string_view b) {
  // Three rows of the table: for the letter before the last, the last letter, and the current one.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> names) {
  std::string_view nearest;
  if (wrong.size() > kLongest || names.size() > kMostNames) return nearest;
  std::size_t best = std::max<std::size_t>(wrong.size() / 3, 1) + 1;
  for (const auto name : names) {
    const std::size_t gap = name.size() > wrong.size() ? name.size() - wrong.size() : wrong.size() - name.size();
    if (gap >= best || name.size() > kLongest) continue;  // the difference takes at least that many edits
    const std::size_t edits = distance(wrong, name);
    // A name that shares no letter is no suggestion.
    if (edits < best && edits < name.size()) nearest = name, best = edits;
  }
  return nearest;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names) {
  const auto name = nearest_name(wrong, names);
  return name.empty() ? "" : text(" (did you mean '", shown(name), "'?)");
}

}  // namespace kiln
