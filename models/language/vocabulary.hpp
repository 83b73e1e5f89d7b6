// Converts texts to numbers.
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

/// The bytes of a text, numbered in the order of their codes.
class Characters {
 public:
  explicit Characters(std::string_view text);
  std::int64_t size() const { return static_cast<std::int64_t>(letters_.size()); }
  /// Throws DataError for a character that the text did not have.
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// Throws IndexError.
  std::string decode(std::span<const std::int64_t> ids) const;

 private:
  std::string letters_;
};

/// Words with the most frequent ones first, after two ids for padding and for unknown words.
class Vocabulary {
 public:
  static constexpr std::int64_t kPadding = 0, kUnknown = 1;
  /// Takes the `most` most frequent words of those that occur `least` times or more.
  Vocabulary(std::span<const std::vector<std::string>> texts, std::int64_t least, std::int64_t most);
  /// words() of another one. Throws DataError for a word that is there twice.
  explicit Vocabulary(std::span<const std::string> words);
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()) + 2; }
  /// In the order of their ids, which begin with 2.
  std::vector<std::string> words() const;
  std::int64_t id(const std::string& word) const;
  std::vector<std::int64_t> encode(std::span<const std::string> words) const;

 private:
  std::map<std::string, std::int64_t> ids_;
};

/// Returns runs of letters and digits; any other character that is not a space is a word of its own. Bytes above 127
/// are letters.
std::vector<std::string> words_of(std::string_view text);
std::string lower_case(std::string_view text);

/// Rows of any length, cut off at `longest` and padded to the same length.
struct PaddedRows {
  Tensor<2, Int> ids;      // [rows, longest row], with padding after shorter rows
  Tensor<1, Int> lengths;  // [rows]
};
PaddedRows padded(std::span<const std::vector<std::int64_t>> rows, std::int64_t longest, std::int64_t padding,
                  const Device& device);

}  // namespace kiln::models
