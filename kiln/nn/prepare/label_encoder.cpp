#include "kiln/nn/prepare/label_encoder.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::nn {
namespace {

LabelEncoder encoder_of(const std::vector<std::uint8_t>& bytes, const LabelEncoderConfig& config,
                        const Device& device) {
  const TensorData data = TensorData::of<std::uint8_t>({config.classes, config.bytes}, bytes);
  return {Buffer<2, Int>(from_data(data, device))};
}

/// Returns ": 'cat', 'dog'" with at most ten names.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::string all;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) all += text(i ? ", '" : ": '", shown(names[i]), "'");
  return names.size() > kMost ? text(all, " and ", names.size() - kMost, " more") : all;
}

}  // namespace

std::vector<std::string> LabelEncoder::names() const {
  require<ArgumentError>(!letters.empty(), "LabelEncoder: has no names: fit() or init() a LabelEncoderConfig");
  const auto bytes = letters.value().data().to_vector<std::uint8_t>();
  const auto width = static_cast<std::size_t>(letters.shape()[1]);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    std::string& name = names.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                           bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
    name.erase(std::min(name.find('\0'), name.size()));
    require<ArgumentError>(!name.empty(), "LabelEncoder: class ", names.size() - 1,
                           " has no name: fit() a LabelEncoderConfig, or load a saved encoder");
  }
  return names;
}

Tensor<1, Int> LabelEncoder::encode(std::span<const std::string> words, const Device& device) const {
  const std::vector<std::string> known = names();
  std::map<std::string_view, std::int64_t> numbers;
  for (std::size_t i = 0; i < known.size(); ++i) numbers.emplace(known[i], static_cast<std::int64_t>(i));
  std::vector<std::int64_t> encoded;
  for (const std::string& word : words) {
    const auto found = numbers.find(word);
    if (found == numbers.end()) {
      const std::vector<std::string_view> all(known.begin(), known.end());
      const std::string nearest = did_you_mean(word, all);
      fail<DataError>("LabelEncoder: '", shown(word), "' is none of the ", known.size(), " classes",
                      nearest.empty() ? listed(known) : nearest);
    }
    encoded.push_back(found->second);
  }
  return Tensor<1, Int>::of(encoded, device);
}

std::vector<std::string> LabelEncoder::decode(const Tensor<1, Int>& numbers) const {
  const std::vector<std::string> known = names();
  std::vector<std::string> words;
  for (const std::int64_t number : numbers.to_vector<std::int64_t>()) {
    require<DataError>(number >= 0 && number < std::ssize(known), "LabelEncoder: there is no class ", number, " of ",
                       known.size());
    words.push_back(known[static_cast<std::size_t>(number)]);
  }
  return words;
}

LabelEncoder LabelEncoderConfig::init(const Device& device) const {
  require<ArgumentError>(classes > 0 && bytes > 0, "LabelEncoderConfig: classes = ", classes, " and bytes = ", bytes,
                         " must be positive");
  const std::int64_t size = multiply_sizes("LabelEncoderConfig", classes, bytes);
  return encoder_of(std::vector<std::uint8_t>(static_cast<std::size_t>(size)), *this, device);
}

LabelEncoder LabelEncoderConfig::fit(std::span<const std::string> words, const Device& device) const {
  (void)init(device);  // checks
  const std::set<std::string_view> distinct(words.begin(), words.end());
  require<DataError>(std::ssize(distinct) == classes, "LabelEncoderConfig: there are ", distinct.size(),
                     " distinct words for classes = ", classes);
  std::vector<std::uint8_t> letters(static_cast<std::size_t>(classes * bytes));
  std::size_t row = 0;
  for (const std::string_view word : distinct) {
    require<DataError>(!word.empty() && word.find('\0') == word.npos, "LabelEncoderConfig: '", shown(word),
                       "' cannot be the name of a class: it is empty or contains a zero byte");
    require<DataError>(std::ssize(word) <= bytes, "LabelEncoderConfig: '", shown(word), "' has ", word.size(),
                       " bytes, more than bytes = ", bytes);
    std::copy(word.begin(), word.end(), letters.begin() + static_cast<std::ptrdiff_t>(row++) * bytes);
  }
  return encoder_of(letters, *this, device);
}

}  // namespace kiln::nn
