#include "models/language/vocabulary.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"

namespace kiln::models {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (static_cast<unsigned char>(c) > 127);
}

}  // namespace

Characters::Characters(std::string_view text) : letters_(text) {
  std::ranges::sort(letters_);
  letters_.erase(std::unique(letters_.begin(), letters_.end()), letters_.end());
}

std::vector<std::int64_t> Characters::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  for (const char c : text) {
    const auto place = std::ranges::lower_bound(letters_, c);
    require<DataError>(place != letters_.end() && *place == c, "the character '", shown(std::string_view(&c, 1)),
                       "' is not one of the ", letters_.size(), " that the model has");
    ids.push_back(place - letters_.begin());
  }
  return ids;
}

std::string Characters::decode(std::span<const std::int64_t> ids) const {
  std::string text;
  for (const std::int64_t id : ids) {
    require<IndexError>(id >= 0 && id < size(), "token ", id, " is not one of ", size(), " letters");
    text += letters_[static_cast<std::size_t>(id)];
  }
  return text;
}

Vocabulary::Vocabulary(std::span<const std::vector<std::string>> texts, std::int64_t least, std::int64_t most) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& text : texts)
    for (const std::string& word : text) ++counts[word];
  std::vector<std::pair<std::string, std::int64_t>> found(counts.begin(), counts.end());
  std::erase_if(found, [&](const auto& entry) { return entry.second < least; });
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.second > b.second; });
  if (static_cast<std::int64_t>(found.size()) > most) found.resize(static_cast<std::size_t>(most));
  for (const auto& entry : found) ids_.emplace(entry.first, size());
}

Vocabulary::Vocabulary(std::span<const std::string> words) {
  for (const std::string& word : words)
    require<DataError>(ids_.emplace(word, size()).second, "Vocabulary: the word '", shown(word), "' is there twice");
}

std::vector<std::string> Vocabulary::words() const {
  std::vector<std::string> words(ids_.size());
  for (const auto& [word, id] : ids_) words[static_cast<std::size_t>(id - kUnknown - 1)] = word;
  return words;
}

std::int64_t Vocabulary::id(const std::string& word) const {
  const auto place = ids_.find(word);
  return place == ids_.end() ? kUnknown : place->second;
}

std::vector<std::int64_t> Vocabulary::encode(std::span<const std::string> words) const {
  std::vector<std::int64_t> ids;
  for (const std::string& word : words) ids.push_back(id(word));
  return ids;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    if (is_letter(c) && inside) words.back() += c;
    else if (static_cast<unsigned char>(c) > ' ') words.emplace_back(1, c);
    inside = is_letter(c);
  }
  return words;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

PaddedRows padded(std::span<const std::vector<std::int64_t>> rows, std::int64_t longest, std::int64_t padding,
                  const Device& device) {
  std::vector<std::int64_t> lengths;
  for (const auto& row : rows) lengths.push_back(std::min(static_cast<std::int64_t>(row.size()), longest));
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t width = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count * width), padding);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(rows[i].begin(), lengths[i], ids.begin() + static_cast<std::ptrdiff_t>(i) * width);
  return {Tensor<2, Int>::of(ids, {count, width}, device), Tensor<1, Int>::of(lengths, device)};
}

}  // namespace kiln::models
