#include "kiln/train/metric/stem.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace kiln::metric {
namespace {

bool is_consonant(std::string_view word, std::size_t i) {
  if (std::string_view("aeiou").find(word[i]) != std::string_view::npos) return false;
  return word[i] != 'y' || i == 0 || !is_consonant(word, i - 1);
}

/// The number m of [C](VC)^m[V]: how often vowels are followed by consonants.
int measure(std::string_view stem) {
  int times = 0;
  for (std::size_t i = 1; i < stem.size(); ++i) times += !is_consonant(stem, i - 1) && is_consonant(stem, i);
  return times;
}

bool has_vowel(std::string_view stem) {
  for (std::size_t i = 0; i < stem.size(); ++i)
    if (!is_consonant(stem, i)) return true;
  return false;
}

bool ends_double(std::string_view word) {
  const std::size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && is_consonant(word, n - 1);
}

/// Does it end with consonant, vowel, consonant, where the last is not w, x or y: "hop", not "snow"?
bool ends_short(std::string_view word) {
  const std::size_t n = word.size();
  return n >= 3 && is_consonant(word, n - 3) && !is_consonant(word, n - 2) && is_consonant(word, n - 1) &&
         std::string_view("wxy").find(word[n - 1]) == std::string_view::npos;
}

struct SuffixRule {
  std::string_view from, to;
};

/// The part before an ending.
std::string_view before(const std::string& word, std::string_view ending) {
  return std::string_view(word).substr(0, word.size() - ending.size());
}

/// Replaces the longest ending that the word has, if the part before it fulfils the condition.
template <class Condition>
void replace(std::string& word, std::span<const SuffixRule> endings, Condition condition) {
  const SuffixRule* longest = nullptr;
  for (const SuffixRule& ending : endings)
    if (word.ends_with(ending.from) && (!longest || ending.from.size() > longest->from.size())) longest = &ending;
  if (!longest || !condition(before(word, longest->from), longest->from)) return;
  word = std::string(before(word, longest->from)) + std::string(longest->to);
}

/// Removes plurals, "-ed", "-ing", and replaces a final y.
void first_step(std::string& word) {
  static constexpr SuffixRule kPlurals[] = {{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}};
  replace(word, kPlurals, [](std::string_view, std::string_view) { return true; });
  if (word.ends_with("eed")) {
    if (measure(before(word, "eed")) > 0) word.pop_back();
  } else if (const std::string_view ending = word.ends_with("ed")    ? "ed"
                                             : word.ends_with("ing") ? "ing"
                                                                     : "";
             !ending.empty() && has_vowel(before(word, ending))) {
    word.resize(word.size() - ending.size());
    if (word.ends_with("at") || word.ends_with("bl") || word.ends_with("iz")) word += 'e';
    else if (ends_double(word) && std::string_view("lsz").find(word.back()) == std::string_view::npos) word.pop_back();
    else if (measure(word) == 1 && ends_short(word)) word += 'e';
  }
  if (word.ends_with('y') && has_vowel(before(word, "y"))) word.back() = 'i';
}

}  // namespace

std::string stem(std::string word) {
  if (word.empty() || !std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; })) return word;
  static constexpr SuffixRule kSecond[] = {
      {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
      {"abli", "able"},   {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
      {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
      {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"}};
  static constexpr SuffixRule kThird[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                                          {"ical", "ic"},  {"ful", ""},   {"ness", ""}};
  static constexpr SuffixRule kFourth[] = {{"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},    {"ic", ""},
                                           {"able", ""}, {"ible", ""}, {"ant", ""},  {"ement", ""}, {"ment", ""},
                                           {"ent", ""},  {"ion", ""},  {"ou", ""},   {"ism", ""},   {"ate", ""},
                                           {"iti", ""},  {"ous", ""},  {"ive", ""},  {"ize", ""}};
  const auto stays = [](std::string_view stem, std::string_view) { return measure(stem) > 0; };
  first_step(word);
  replace(word, kSecond, stays);
  replace(word, kThird, stays);
  replace(word, kFourth, [](std::string_view stem, std::string_view ending) {
    return measure(stem) > 1 && (ending != "ion" || stem.ends_with('s') || stem.ends_with('t'));
  });
  if (word.ends_with('e')) {
    const std::string_view stem = before(word, "e");
    if (measure(stem) > 1 || (measure(stem) == 1 && !ends_short(stem))) word.pop_back();
  }
  if (word.ends_with("ll") && measure(before(word, "l")) > 1) word.pop_back();
  return word;
}

}  // namespace kiln::metric
