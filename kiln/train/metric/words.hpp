// Metrics of texts against references. Texts are UTF-8; words are separated by white space.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The fewest insertions, deletions and substitutions that turn one into the other (Levenshtein 1966).
std::int64_t edit_distance(std::span<const std::string_view> a, std::span<const std::string_view> b);
std::vector<std::string_view> words_of(std::string_view text);
/// Code points; a byte that is not UTF-8 is one by itself.
std::vector<std::string_view> characters_of(std::string_view text);

/// The edits of all texts, divided by the number of characters of the references.
struct CharErrorRate {
  Total edits{}, length{};
  void update(std::string_view said, std::string_view right);
  double value() const { return mean("char error rate", edits, length); }
};

/// The edits of words, divided by the number of words of the references.
struct WordErrorRate {
  Total edits{}, length{};
  void update(std::string_view said, std::string_view right);
  double value() const { return mean("word error rate", edits, length); }
};

/// The treatment of n-grams of which no text has one (Chen, Cherry, "A systematic comparison of smoothing techniques
/// for sentence-level BLEU", 2014): the result is 0; k is added to matches and possible ones of n-grams of two and more
/// words; a small number stands for 0 matches; or the k-th such length counts as 1/2^k matches.
enum class BleuSmoothing { None, AddK, Floor, Exponential };

/// The BLEU of a corpus, not a mean over sentences (Papineni, Roukos, Ward, Zhu, "BLEU: a method for automatic
/// evaluation of machine translation", 2002), from 0 to 1. Of several references the one with the
/// nearest length counts; of two such, the shorter.
struct Bleu {
  std::int64_t n = 4;  // the longest n-gram
  BleuSmoothing smoothing = BleuSmoothing::None;
  std::optional<double> amount{};  // the k of AddK, otherwise 1; the number of Floor, otherwise 0.1
  Totals matches{}, possible{};    // for n-grams of 1, 2, ... words
  Total said_length{}, right_length{};

  /// Throws ArgumentError if there is no reference.
  void update(std::string_view said, std::span<const std::string_view> references);
  void update(std::string_view said, std::initializer_list<std::string_view> references) {
    update(said, std::span(references.begin(), references.size()));
  }
  /// Without a match of any length it is 0, whatever the smoothing.
  double value() const;
};

/// chrF of a corpus (Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015), from 0 to 1: the
/// mean over n-grams of 1 to `n` characters, without white space, of an F measure in which recall is weighted by
/// beta^2; with `words` = 2 chrF++, which adds n-grams of words, where punctuation is a word. Of several references the
/// most similar one counts.
struct ChrF {
  std::int64_t n = 6, words = 0;
  double beta = 2;
  Totals matches{}, said{}, right{};  // n-grams of 1, 2, ... characters, then of words

  /// Throws ArgumentError if there is no reference.
  void update(std::string_view text, std::span<const std::string_view> references);
  void update(std::string_view text, std::initializer_list<std::string_view> references) {
    update(text, std::span(references.begin(), references.size()));
  }
  double value() const;
};

/// The mean over texts of ROUGE-N: the F measure of the n-grams of `n` words that both texts have (Lin, "ROUGE: a
/// package for automatic evaluation of summaries", 2004).
struct RougeN {
  std::int64_t n = 1;
  Total sum{}, count{};
  void update(std::string_view said, std::string_view right);
  double value() const { return mean("rouge", sum, count); }
};

/// The mean over texts of ROUGE-L: the F measure of their longest common subsequence of words.
struct RougeL {
  Total sum{}, count{};
  void update(std::string_view said, std::string_view right);
  double value() const { return mean("rouge", sum, count); }
};

}  // namespace kiln::metric
