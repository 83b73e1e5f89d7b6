#include "kiln/train/metric/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

namespace kiln::metric {
namespace {

using Tokens = std::vector<std::string_view>;
using Runs = std::map<std::vector<std::string_view>, std::int64_t>;

/// How often each n-gram of words occurs.
Runs runs_of(const Tokens& words, std::int64_t n) {
  Runs runs;
  for (auto first = words.begin(); words.end() - first >= n; ++first) ++runs[{first, first + n}];
  return runs;
}

double f_measure(double common, double said, double right) {
  return said + right > 0 ? 2 * common / (said + right) : 0;
}

/// The length of the longest common subsequence of two texts.
std::int64_t common_subsequence(const Tokens& a, const Tokens& b) {
  std::vector<std::int64_t> row(b.size() + 1);
  for (const auto& word : a) {
    std::int64_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::int64_t edit_distance(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  std::vector<std::int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::int64_t{0});
  for (const auto& item : a) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t above = row[j + 1];
      row[j + 1] = std::min({diagonal + (item != b[j]), above + 1, row[j] + 1});
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  Tokens words;
  for (std::size_t begin = text.find_first_not_of(kSpace); begin != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpace, end);
  }
  return words;
}

std::vector<std::string_view> characters_of(std::string_view text) {
  const auto follows = [&](std::size_t i) { return i < text.size() && (text[i] & 0xC0) == 0x80; };
  Tokens characters;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto lead = static_cast<unsigned char>(text[begin]);
    const std::size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    std::size_t end = begin + 1;
    while (end < begin + wanted && follows(end)) ++end;
    if (end - begin < wanted) end = begin + 1;
    characters.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return characters;
}

void CharErrorRate::update(std::string_view said, std::string_view right) {
  const auto reference = characters_of(right);
  edits += static_cast<double>(edit_distance(characters_of(said), reference));
  length += static_cast<double>(reference.size());
}

void WordErrorRate::update(std::string_view said, std::string_view right) {
  const auto reference = words_of(right);
  edits += static_cast<double>(edit_distance(words_of(said), reference));
  length += static_cast<double>(reference.size());
}

void Bleu::update(std::string_view said, std::span<const std::string_view> references) {
  require<ArgumentError>(!references.empty(), "bleu: a text without a reference");
  require<ArgumentError>(n >= 1, "bleu: n is ", n, ", it must be at least 1");
  require<ArgumentError>(!amount || (*amount > 0 && std::isfinite(*amount)), "bleu: amount is ", amount.value_or(0),
                         ", it must be positive and finite");
  require<ArgumentError>(!amount || smoothing == BleuSmoothing::AddK || smoothing == BleuSmoothing::Floor,
                         "bleu: amount is of the smoothings AddK and Floor alone");
  const Tokens words = words_of(said);
  std::vector<Tokens> rights;
  for (const auto reference : references) rights.push_back(words_of(reference));

  const auto distance = [&](const Tokens& right) {
    return std::pair(std::abs(static_cast<std::int64_t>(right.size()) - static_cast<std::int64_t>(words.size())),
                     right.size());
  };
  const auto nearest = std::min_element(rights.begin(), rights.end(),
                                        [&](const Tokens& a, const Tokens& b) { return distance(a) < distance(b); });
  said_length += static_cast<double>(words.size());
  right_length += static_cast<double>(nearest->size());

  for (std::int64_t length = 1; length <= n; ++length) {
    Runs most;  // in any single reference
    for (const auto& right : rights)
      for (const auto& [run, count] : runs_of(right, length)) most[run] = std::max(most[run], count);
    for (const auto& [run, count] : runs_of(words, length)) {
      const auto found = most.find(run);
      matches.add(length - 1, found == most.end() ? 0 : static_cast<double>(std::min(count, found->second)));
      possible.add(length - 1, static_cast<double>(count));
    }
  }
}

double Bleu::value() const {
  mean("bleu", 0, right_length);
  if (matches.total() == 0) return 0;
  double logs = 0, missing = 1;
  for (std::int64_t length = 0; length < n; ++length) {
    const double added = smoothing == BleuSmoothing::AddK && length > 0 ? amount.value_or(1) : 0;
    const double all = possible.at(length) + added;
    double found = matches.at(length) + added;
    if (found == 0 && smoothing == BleuSmoothing::Floor) found = amount.value_or(0.1);
    if (found == 0 && smoothing == BleuSmoothing::Exponential) found = 1 / (missing *= 2);
    if (found == 0 || all == 0) return 0;
    logs += std::log(found / all);
  }
  const double brevity = said_length < right_length ? std::exp(1 - right_length / said_length) : 1;
  return brevity * std::exp(logs / static_cast<double>(n));
}

namespace {

/// A text's characters without white space; and its words, with punctuation at one end split off.
Tokens letters_of(std::string_view text) {
  Tokens letters;
  for (const auto word : words_of(text))
    for (const auto letter : characters_of(word)) letters.push_back(letter);
  return letters;
}
Tokens words_and_marks(std::string_view text) {
  constexpr std::string_view kMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  const auto is_mark = [&](char c) { return kMarks.find(c) != kMarks.npos; };
  Tokens words;
  for (const auto word : words_of(text)) {
    const std::size_t cut = word.size() == 1        ? 0
                            : is_mark(word.back())  ? word.size() - 1
                            : is_mark(word.front()) ? 1
                                                    : 0;
    if (cut > 0) words.push_back(word.substr(0, cut));
    words.push_back(word.substr(cut));
  }
  return words;
}

/// The numbers of n-grams of each order, and how many two texts share.
struct Shared {
  Totals matches{}, said{}, right{};
};
Shared shared_runs(const ChrF& options, std::string_view text, std::string_view reference) {
  Shared counts;
  std::int64_t order = 0;
  const auto count = [&](const Tokens& a, const Tokens& b, std::int64_t n) {
    for (std::int64_t length = 1; length <= n; ++length, ++order) {
      const Runs said = runs_of(a, length), right = runs_of(b, length);
      for (const auto& [run, times] : said) {
        const auto found = right.find(run);
        counts.said.add(order, static_cast<double>(times));
        counts.matches.add(order, found == right.end() ? 0 : static_cast<double>(std::min(times, found->second)));
      }
      for (const auto& [run, times] : right) counts.right.add(order, static_cast<double>(times));
    }
  };
  count(letters_of(text), letters_of(reference), options.n);
  count(words_and_marks(text), words_and_marks(reference), options.words);
  return counts;
}

double mean_f(const ChrF& options, const Totals& matches, const Totals& said, const Totals& right) {
  const double weight = options.beta * options.beta;
  const std::int64_t orders = options.n + options.words;
  double sum = 0;
  for (std::int64_t i = 0; i < orders; ++i)
    if (matches.at(i) > 0) sum += (1 + weight) * matches.at(i) / (weight * right.at(i) + said.at(i));
  return sum / static_cast<double>(orders);
}

}  // namespace

void ChrF::update(std::string_view text, std::span<const std::string_view> references) {
  require<ArgumentError>(!references.empty(), "chrf: a text without a reference");
  require<ArgumentError>(n >= 1 && words >= 0, "chrf: runs of n = ", n, " characters and of words = ", words, " words");
  require<ArgumentError>(beta > 0 && std::isfinite(beta), "chrf: beta is ", beta, ", it must be positive and finite");
  Shared best;
  double most = -1;
  for (const auto reference : references) {
    Shared counts = shared_runs(*this, text, reference);
    if (const double f = mean_f(*this, counts.matches, counts.said, counts.right); f > most) {
      most = f;
      best = std::move(counts);
    }
  }
  matches.merge(best.matches);
  said.merge(best.said);
  right.merge(best.right);
}

double ChrF::value() const {
  mean("chrf", 0, right.total());
  return mean_f(*this, matches, said, right);
}

void RougeN::update(std::string_view said, std::string_view right) {
  require<ArgumentError>(n >= 1, "rouge: n is ", n, ", it must be at least 1");
  const Tokens a = words_of(said), b = words_of(right);
  const Runs runs = runs_of(b, n);
  double common = 0;
  for (const auto& [run, times] : runs_of(a, n))
    if (const auto found = runs.find(run); found != runs.end())
      common += static_cast<double>(std::min(times, found->second));
  const auto total = [&](const Tokens& words) {
    return static_cast<double>(std::max<std::int64_t>(static_cast<std::int64_t>(words.size()) - n + 1, 0));
  };
  sum += f_measure(common, total(a), total(b));
  count += 1;
}

void RougeL::update(std::string_view said, std::string_view right) {
  const Tokens a = words_of(said), b = words_of(right);
  sum += f_measure(static_cast<double>(common_subsequence(a, b)), static_cast<double>(a.size()),
                   static_cast<double>(b.size()));
  count += 1;
}

}  // namespace kiln::metric
