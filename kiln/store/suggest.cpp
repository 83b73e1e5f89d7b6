#include "kiln/store/suggest.hpp"

#include <algorithm>
#include <vector>

namespace kiln {
namespace {

constexpr std::size_t kMostNames = 512, kLongestName = 256;

/// Levenshtein's distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view suggest(std::string_view wanted, std::span<const std::string_view> names) {
  if (names.size() > kMostNames || wanted.size() > kLongestName) return {};
  std::size_t smallest = std::max<std::size_t>(2, wanted.size() / 4) + 1;
  std::string_view best;
  for (const std::string_view name : names) {
    const std::size_t gap = name.size() > wanted.size() ? name.size() - wanted.size() : wanted.size() - name.size();
    if (gap >= smallest) continue;  // the distance is no less
    const std::size_t off = distance(wanted, name);
    if (off < smallest) {
      smallest = off;
      best = name;
    }
  }
  return best;
}

}  // namespace kiln
