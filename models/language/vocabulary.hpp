// Texts as numbers.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/tensor/tensor.hpp"

namespace kiln::models {

/// A text's bytes, numbered in the order of their codes.
class Characters {
 public:
  explicit Characters(std::string_view text);
  std::int64_t size() const { return static_cast<std::int64_t>(letters_.size()); }
  /// Throws DataError for a letter that the text did not have.
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// Throws IndexError.
  std::string decode(std::span<const std::int64_t> ids) const;

 private:
  std::string letters_;
};

/// Words, the most frequent ones first, behind two that stand for others.
class Vocabulary {
 public:
  static constexpr std::int64_t kPadding = 0, kUnknown = 1;
  /// Of the words that occur `least` times or more, the `most` most frequent.
  Vocabulary(std::span<const std::vector<std::string>> texts, std::int64_t least, std::int64_t most);
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()) + 2; }
  std::int64_t id(const std::string& word) const;
  std::vector<std::int64_t> encode(std::span<const std::string> words) const;

 private:
  std::map<std::string, std::int64_t> ids_;
};

/// Runs of letters and digits; what else is no space is a word of one letter. Bytes above 127 are letters.
std::vector<std::string> words_of(std::string_view text);
std::string lower_case(std::string_view text);

/// Rows of any lengths, cut off at `longest`, side by side.
struct PaddedRows {
  Tensor<2, Int> ids;      // [rows, longest row], padding behind the shorter
  Tensor<1, Int> lengths;  // [rows]
};
PaddedRows padded(std::span<const std::vector<std::int64_t>> rows, std::int64_t longest, std::int64_t padding,
                  const Device& device);

}  // namespace kiln::models
