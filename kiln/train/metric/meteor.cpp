#include "kiln/train/metric/meteor.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kiln/data/text/unicode.hpp"
#include "kiln/train/metric/stem.hpp"
#include "kiln/train/metric/words.hpp"

namespace kiln::metric {
namespace {

std::vector<std::string> small_words(std::string_view text) {
  std::vector<std::string> words;
  for (const auto word : words_of(text)) {
    std::string small;
    for (std::size_t at = 0; at < word.size();) {
      const auto decoded = unicode::decode(word, at);
      unicode::append(small, unicode::lower(decoded.point));
      at += decoded.bytes;
    }
    words.push_back(std::move(small));
  }
  return words;
}

constexpr std::ptrdiff_t kNone = -1;

/// Matches unmatched words from the last to the first; each takes the last unmatched word that is equal.
void match(const std::vector<std::string>& said, const std::vector<std::string>& right,
           std::vector<std::ptrdiff_t>& partners, std::vector<bool>& taken) {
  for (std::size_t i = said.size(); i-- > 0;)
    for (std::size_t j = right.size(); partners[i] == kNone && j-- > 0;)
      if (!taken[j] && said[i] == right[j]) {
        partners[i] = static_cast<std::ptrdiff_t>(j);
        taken[j] = true;
      }
}

double score(const Meteor& options, std::vector<std::string> said, std::vector<std::string> right) {
  std::vector<std::ptrdiff_t> partners(said.size(), kNone);
  std::vector<bool> taken(right.size());
  match(said, right, partners, taken);
  for (auto* const words : {&said, &right}) std::ranges::transform(*words, words->begin(), stem);
  match(said, right, partners, taken);

  double matches = 0, pieces = 0;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    if (partners[i] == kNone) continue;
    ++matches;
    pieces += i == 0 || partners[i - 1] == kNone || partners[i - 1] + 1 != partners[i];
  }
  if (matches == 0) return 0;
  const double precision = matches / static_cast<double>(said.size());
  const double recall = matches / static_cast<double>(right.size());
  const double f = precision * recall / (options.alpha * precision + (1 - options.alpha) * recall);
  return f * (1 - options.gamma * std::pow(pieces / matches, options.beta));
}

}  // namespace

void Meteor::update(std::string_view said, std::span<const std::string_view> references) {
  require<ArgumentError>(!references.empty(), "meteor: a text without a reference");
  require<ArgumentError>(alpha >= 0 && alpha <= 1 && gamma >= 0 && gamma <= 1 && beta >= 0 && std::isfinite(beta),
                         "meteor: alpha = ", alpha, " and gamma = ", gamma, " must lie in [0, 1], beta = ", beta,
                         " must not be negative, nor infinite");
  double best = 0;
  for (const auto reference : references)
    best = std::max(best, score(*this, small_words(said), small_words(reference)));
  sum += best;
  count += 1;
}

}  // namespace kiln::metric
