// Strings. They live on the host.
#include <algorithm>
#include <map>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/operators/text/full_match.hpp"

namespace kiln::onnx {
namespace {

Results string_concat(Call& c) {
  const Shape shape = broadcast("StringConcat", c[0].shape(), c[1].shape());
  const auto spread = [&](int i) { return Datum(expand(c[i], shape), c.datum(i).string_list()).strings(); };
  c.check_room(numel(shape), 2 * sizeof(std::string));
  // The bytes are counted before they are made: a file may double its strings many times.
  std::int64_t bytes = 0;
  for (const int i : {0, 1}) {
    std::int64_t longest = 0;
    for (const std::string& word : c.datum(i).strings())
      longest = std::max(longest, static_cast<std::int64_t>(word.size()));
    bytes += longest;
  }
  c.check_room(numel(shape), bytes);
  Strings words = spread(0);
  const Strings second = spread(1);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] += second[i];
  return Datum::of_strings(shape, std::move(words), c.device());
}

// Letters of ASCII and of the Latin, Greek and Cyrillic alphabets, which stand in pairs; others stay.
std::string in_case(const std::string& word, bool upper) {
  std::string out;
  for (std::size_t i = 0; i < word.size();) {
    const auto lead = static_cast<unsigned char>(word[i]);
    unsigned code = lead;
    const bool two = lead >= 0xc2 && lead <= 0xdf && i + 1 < word.size() && (word[i + 1] & 0xc0) == 0x80;
    if (two) code = (lead & 0x1fu) << 6 | (static_cast<unsigned char>(word[i + 1]) & 0x3fu);
    if (lead >= 0x80 && !two) {
      out += word[i++];
      continue;
    }
    const auto between = [&](unsigned low, unsigned high) { return code >= low && code <= high; };
    if (upper) {
      if (between('a', 'z') || (between(0xe0, 0xfe) && code != 0xf7) || between(0x430, 0x44f) ||
          (between(0x3b1, 0x3c9) && code != 0x3c2))
        code -= 32;
      else if (between(0x450, 0x45f)) code -= 80;
      else if ((between(0x100, 0x137) || between(0x14a, 0x177) || between(0x460, 0x4ff)) && code % 2) --code;
    } else {
      if (between('A', 'Z') || (between(0xc0, 0xde) && code != 0xd7) || between(0x410, 0x42f) || between(0x391, 0x3a9))
        code += 32;
      else if (between(0x400, 0x40f)) code += 80;
      else if ((between(0x100, 0x137) || between(0x14a, 0x177) || between(0x460, 0x4ff)) && code % 2 == 0) ++code;
    }
    if (code < 0x80) out += static_cast<char>(code);
    else out += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    i += two ? 2 : 1;
  }
  return out;
}

Results string_normalizer(Call& c) {
  const Value& x = c[0];
  const bool row = x.rank() == 2;
  c.check(x.rank() == 1 || (row && x.dim(0) == 1), "strings of shape ", x.shape(), ", not [n] or [1, n]");
  const std::string action = c.word("case_change_action", "NONE", {"NONE", "LOWER", "UPPER"});
  const bool exact = c.i("is_case_sensitive", 0) != 0;
  Strings stop = c.strings("stopwords"), kept;
  if (!exact)
    for (std::string& word : stop) word = in_case(word, false);
  for (const std::string& word : c.datum(0).strings())
    if (std::find(stop.begin(), stop.end(), exact ? word : in_case(word, false)) == stop.end())
      kept.push_back(action == "NONE" ? word : in_case(word, action == "UPPER"));
  if (kept.empty()) kept.emplace_back();
  const auto count = static_cast<std::int64_t>(kept.size());
  return Datum::of_strings(row ? Shape{1, count} : Shape{count}, std::move(kept), c.device());
}

Strings split_word(const std::string& word, const std::string& delimiter, std::int64_t most) {
  Strings parts;
  std::size_t from = 0;
  const bool blank = delimiter.empty();
  constexpr const char* kBlanks = " \t\n\r\v\f";
  if (blank) from = std::min(word.find_first_not_of(kBlanks), word.size());
  if (blank && from == word.size()) return parts;
  for (;;) {
    const std::size_t at = blank ? word.find_first_of(kBlanks, from) : word.find(delimiter, from);
    const bool done = at == word.npos || (most >= 0 && static_cast<std::int64_t>(parts.size()) >= most);
    if (done) {
      std::string rest = word.substr(from);
      if (blank) rest.erase(rest.find_last_not_of(kBlanks) + 1);
      parts.push_back(std::move(rest));
      return parts;
    }
    parts.push_back(word.substr(from, at - from));
    from = blank ? word.find_first_not_of(kBlanks, at) : at + delimiter.size();
    if (from == word.npos) return parts;
  }
}

Results string_split(Call& c) {
  const std::string delimiter = c.s("delimiter", "");
  const std::int64_t most = c.i("maxsplit", -1);
  std::vector<Strings> all;
  std::size_t widest = 0;
  Ints counts;
  for (const std::string& word : c.datum(0).strings()) {
    all.push_back(split_word(word, delimiter, most));
    widest = std::max(widest, all.back().size());
    counts.push_back(static_cast<std::int64_t>(all.back().size()));
  }
  c.check_room(static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(widest * sizeof(std::string)));
  Strings parts;
  for (Strings& list : all) {
    list.resize(widest);
    parts.insert(parts.end(), list.begin(), list.end());
  }
  Shape shape = c[0].shape();
  const Value numbers = from_data(TensorData::of<std::int64_t>(shape, counts), c.device());
  shape.push_back(static_cast<std::int64_t>(widest));
  return {Datum::of_strings(shape, std::move(parts), c.device()), numbers};
}

Results regex_full_match(Call& c) {
  const std::string pattern = c.s("pattern", "");
  const std::vector<std::uint8_t> matches = full_matches(c.node.op, pattern, c.datum(0).strings());
  return cast(from_data(TensorData::of<std::uint8_t>(c[0].shape(), matches), c.device()), DType::Bool);
}

// The n-grams of the pool with their places in it, and how many there are, those that occur twice included. Words are
// strings, whichever kind they are.
std::pair<std::map<Strings, std::size_t>, std::size_t> grams_of(const Call& c, const Ints& starts) {
  Strings pool = c.strings("pool_strings");
  for (const std::int64_t number : c.ints("pool_int64s")) pool.push_back(std::to_string(number));
  std::map<Strings, std::size_t> grams;
  std::size_t gram = 0;
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const std::int64_t end = n + 1 < starts.size() ? starts[n + 1] : std::ssize(pool);
    const auto length = static_cast<std::int64_t>(n) + 1;
    c.check(starts[n] >= 0 && end >= starts[n] && end <= std::ssize(pool), "ngram_counts does not fit a pool of ",
            pool.size());
    for (std::int64_t at = starts[n]; at + length <= end; at += length)
      grams.emplace(Strings(pool.begin() + at, pool.begin() + at + length), gram++);
  }
  return {std::move(grams), gram};
}

Results tf_idf(Call& c) {
  const std::string mode = c.word("mode", "", {"TF", "IDF", "TFIDF"});
  const Ints starts = c.ints("ngram_counts"), indexes = c.ints("ngram_indexes");
  const std::vector<float> weights = c.floats("weights");
  const std::int64_t skips = c.i("max_skip_count", 0), shortest = c.i("min_gram_length", 1),
                     longest = c.i("max_gram_length", 1);
  c.check(shortest >= 1 && longest >= shortest && skips >= 0 && !indexes.empty(), "n-grams of ", shortest, " to ",
          longest, " elements with up to ", skips, " skipped");
  Strings words;
  if (c.datum(0).is_string()) words = c.datum(0).strings();
  else
    for (const std::int64_t number : c.ints(0)) words.push_back(std::to_string(number));
  const auto [grams, gram] = grams_of(c, starts);
  c.check(gram <= indexes.size() && (weights.empty() || weights.size() >= gram), gram, " n-grams, ", indexes.size(),
          " indexes and ", weights.size(), " weights");
  const std::int64_t columns = *std::max_element(indexes.begin(), indexes.end()) + 1;
  c.check(columns >= 1 && columns <= 1 << 24 && *std::min_element(indexes.begin(), indexes.end()) >= 0,
          "an index is negative or huge");
  const Value& x = c[0];
  c.check(x.rank() == 1 || x.rank() == 2, "x has the shape ", x.shape());
  const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1, width = x.rank() == 2 ? x.dim(1) : x.dim(0);
  c.check_room(rows, columns * static_cast<std::int64_t>(sizeof(float)));
  TensorData out(x.rank() == 2 ? Shape{rows, columns} : Shape{columns}, DType::F32);
  const auto counts = out.as<float>();
  std::vector<float> weight_of(static_cast<std::size_t>(columns), 1);
  for (std::size_t i = 0; i < gram && !weights.empty(); ++i)
    weight_of[static_cast<std::size_t>(indexes[i])] = weights[i];
  // Longer than those of the pool, or than a row, none is found.
  const std::int64_t longest_found = std::min(longest, static_cast<std::int64_t>(starts.size()));
  const std::int64_t most_skips = std::min(skips, width);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t length = shortest; length <= longest_found; ++length)
      for (std::int64_t skip = 0; skip <= (length == 1 ? 0 : most_skips); ++skip)
        for (std::int64_t from = 0; from + (length - 1) * (skip + 1) < width; ++from) {
          Strings key;
          for (std::int64_t k = 0; k < length; ++k)
            key.push_back(words[static_cast<std::size_t>(row * width + from + k * (skip + 1))]);
          const auto found = grams.find(key);
          if (found != grams.end()) ++counts[static_cast<std::size_t>(row * columns + indexes[found->second])];
        }
    for (std::int64_t i = 0; i < columns && mode != "TF"; ++i) {
      float& count = counts[static_cast<std::size_t>(row * columns + i)];
      if (mode == "IDF") count = count > 0 ? 1.0f : 0.0f;
      count *= weight_of[static_cast<std::size_t>(i)];
    }
  }
  return from_data(std::move(out), c.device());
}

constexpr OperatorRow kTextRows[] = {
    {"RegexFullMatch", 20, regex_full_match},         {"StringConcat", 20, string_concat},
    {"StringNormalizer", 10, string_normalizer},      {"StringSplit", 20, string_split},
    {"TfIdfVectorizer", 9, tf_idf, {.folds = false}},
};

}  // namespace

std::span<const OperatorRow> text_rows() { return kTextRows; }

}  // namespace kiln::onnx
