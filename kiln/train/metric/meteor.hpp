// METEOR: the similarity of a text's words to those of another.
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>

#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The mean over texts of METEOR (Banerjee, Lavie, "METEOR: an automatic metric for MT evaluation with improved
/// correlation with human judgments", 2005), from 0 to 1: words are matched if they are equal, then if their stems are
/// (English, stem.hpp); the harmonic mean of precision and recall, weighted by alpha, is reduced by the number of
/// chunks of matches. The best of several references counts. Synonyms, the paper's third stage, need WordNet's data and
/// are left out, so figures are somewhat lower than with them. Case is ignored.
struct Meteor {
  double alpha = 0.9, beta = 3, gamma = 0.5;
  Total sum{}, count{};

  /// Throws ArgumentError if there is no reference.
  void update(std::string_view said, std::span<const std::string_view> references);
  void update(std::string_view said, std::initializer_list<std::string_view> references) {
    update(said, std::span(references.begin(), references.size()));
  }
  double value() const { return mean("meteor", sum, count); }
};

}  // namespace kiln::metric
