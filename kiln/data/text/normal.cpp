#include "kiln/data/text/normal.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <span>
#include <unordered_map>
#include <vector>

#include "kiln/data/text/unicode.hpp"

namespace kiln::unicode {
namespace {

struct Class {
  char32_t first, last;
  int value;
};
struct Composition {
  char32_t a, b, both;
};
#include "kiln/data/text/normal_tables.inc"

using Decompositions = std::unordered_map<char32_t, std::span<const char32_t>>;

Decompositions read_table(std::span<const char32_t> table) {
  Decompositions found;
  for (std::size_t at = 0; at < table.size(); at += 2 + table[at + 1])
    found.emplace(table[at], table.subspan(at + 2, table[at + 1]));
  return found;
}

int value_of(std::span<const Class> table, char32_t point) {
  const auto behind = std::ranges::upper_bound(table, point, {}, &Class::first);
  if (behind == table.begin()) return 0;
  const Class& run = *std::prev(behind);
  return point <= run.last ? run.value : 0;
}
int class_of(char32_t point) { return value_of(kClasses, point); }

// Hangul syllables are numbered by their parts (The Unicode Standard, 3.12).
constexpr char32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

void decompose(char32_t point, bool compatible, std::vector<char32_t>& out) {
  if (point < 0xa0) return out.push_back(point);
  if (point >= kSyllables && point < kSyllables + kSyllableCount) {
    const char32_t number = point - kSyllables;
    out.push_back(kLeads + number / (kVowelCount * kTailCount));
    out.push_back(kVowels + number / kTailCount % kVowelCount);
    if (number % kTailCount != 0) out.push_back(kTails + number % kTailCount);
    return;
  }
  static const Decompositions canonical = read_table(kCanonical), other = read_table(kCompatible);
  if (compatible)
    if (const auto found = other.find(point); found != other.end())
      return void(out.insert(out.end(), found->second.begin(), found->second.end()));
  if (const auto found = canonical.find(point); found != canonical.end())
    return void(out.insert(out.end(), found->second.begin(), found->second.end()));
  out.push_back(point);
}

/// Sorts combining marks after a letter by their classes, stably.
void order_marks(std::vector<char32_t>& points) {
  struct Mark {
    int own;
    std::size_t place;
    char32_t point;
    auto operator<=>(const Mark&) const = default;
  };
  std::vector<Mark> marks;
  const auto put_back = [&](std::size_t end) {
    std::ranges::sort(marks);
    for (std::size_t i = 0; i < marks.size(); ++i) points[end - marks.size() + i] = marks[i].point;
    marks.clear();
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (const int own = class_of(points[i])) marks.push_back({own, i, points[i]});
    else put_back(i);
  }
  put_back(points.size());
}

/// The composition of two code points; 0 if there is none.
char32_t composed(char32_t a, char32_t b) {
  if (a >= kLeads && a < kLeads + kLeadCount && b >= kVowels && b < kVowels + kVowelCount)
    return kSyllables + ((a - kLeads) * kVowelCount + b - kVowels) * kTailCount;
  if (a >= kSyllables && a < kSyllables + kSyllableCount && (a - kSyllables) % kTailCount == 0 && b > kTails &&
      b < kTails + kTailCount)
    return a + b - kTails;
  const auto key = [](char32_t x, char32_t y) { return std::uint64_t{x} << 32 | y; };
  static const auto pairs = [&] {
    std::unordered_map<std::uint64_t, char32_t> all;
    for (const auto& [x, y, both] : kCompositions) all.emplace(key(x, y), both);
    return all;
  }();
  const auto found = pairs.find(key(a, b));
  return found == pairs.end() ? 0 : found->second;
}

void compose(std::vector<char32_t>& points) {
  std::size_t kept = 0, letter = 0;
  bool has_letter = false;
  int last = 0;  // the class of the last mark kept after the letter; 0: none
  for (const char32_t point : points) {
    const int own = class_of(point);
    const bool reaches = has_letter && (kept == letter + 1 || (last != 0 && last < own));
    if (const char32_t both = reaches ? composed(points[letter], point) : 0) {
      points[letter] = both;
      continue;
    }
    if (own == 0) {
      letter = kept;
      has_letter = true;
    }
    last = own;
    points[kept++] = point;
  }
  points.resize(kept);
}

}  // namespace

std::string normalized(std::string_view text, NormalForm form) {
  std::vector<char32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = decode(text, at);
    decompose(point, form == NormalForm::KC || form == NormalForm::KD, points);
    at += bytes;
  }
  order_marks(points);
  if (form == NormalForm::C || form == NormalForm::KC) compose(points);
  std::string out;
  for (const char32_t point : points) append(out, point);
  return out;
}

bool is_combining(char32_t point) { return value_of(kCombining, point) != 0; }
bool is_extending(char32_t point) { return value_of(kExtending, point) != 0; }

}  // namespace kiln::unicode
