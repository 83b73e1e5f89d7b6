// Converts texts to tokens and back, by Hugging Face's tokenizer.json, by GPT-2's and BERT's files, or by training.
//
//   const Tokenizer tokenizer = Tokenizer::load("tokenizer.json");
//   const std::vector<std::int64_t> ids = tokenizer.encode("Hello, world");
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/data/dataset.hpp"

namespace kiln {

/// A value: copies share their contents, and several threads may use it at once.
class Tokenizer {
 public:
  /// Reads a tokenizer.json: models BPE, Unigram, WordPiece and WordLevel with their normalizers, pre-tokenizers,
  /// post-processors and decoders; regular expressions need libpcre2. Throws IoError, or DataError for an invalid file
  /// or an unsupported option: every field is either used, or rejected by name.
  static Tokenizer load(const std::string& path);
  static Tokenizer from_json(const Json& json, std::string_view source);
  /// GPT-2's `vocab.json` and `merges.txt`.
  static Tokenizer gpt2(const std::string& vocabulary, const std::string& merges);
  /// BERT's `vocab.txt`, a token per line.
  static Tokenizer bert(const std::string& vocabulary, bool lowercase = true);
  /// Each code point of the texts is a token, in order; others are left out.
  static Tokenizer characters(std::string_view texts);
  /// Each byte is a token, with the byte as its id: 256 tokens, by which any text can be encoded. (token() shows them
  /// as GPT-2 does.)
  static Tokenizer bytes();

  /// `special`: adds the tokens that the model needs around a text ([CLS], <s>). Truncates and pads as the file's
  /// `truncation` and `padding` say. Bytes that are not UTF-8 become U+FFFD; byte-level tokens preserve even these.
  /// Throws DataError if the stages produce far more text than any tokenizer needs, or a pattern backtracks too much.
  std::vector<std::int64_t> encode(std::string_view text, bool special = true) const;
  /// Returns this tokenizer without padding, for code that makes batches and their masks.
  Tokenizer without_padding() const;
  /// The id of the padding; none without padding.
  std::optional<std::int64_t> padding() const;
  /// Byte-level tokens give exactly their bytes, which need not be UTF-8 if a character is incomplete. Throws
  /// IndexError for an id that is no token.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special = true) const;

  /// The number of tokens, including special ones.
  std::int64_t size() const;
  /// Throws DataError if the tokenizer has no such token.
  std::int64_t id(std::string_view token) const;
  bool has(std::string_view token) const;
  /// The token as it is in the file. Throws IndexError.
  const std::string& token(std::int64_t id) const;

  /// The tokenizer as a tokenizer.json, which other libraries can read as well.
  const Json& json() const;
  void save(const std::string& path) const;

 private:
  struct Stages;
  explicit Tokenizer(std::shared_ptr<const Stages> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Stages> parts_;
};

struct BytePairTraining {
  std::int64_t vocabulary = 30'000;  // the most tokens, including the 256 bytes and the special ones
  std::int64_t least = 2;            // the fewest occurrences of a pair
  std::vector<std::string> special = {"<|endoftext|>"};
};
/// Byte-level byte-pair encoding by GPT-2's rules, trained on texts: the most frequent pair is merged first; of equally
/// frequent ones the one with the older tokens. The same texts give the same tokenizer. Throws ArgumentError.
Tokenizer train_byte_pairs(const DatasetPtr<std::string>& texts, const BytePairTraining& config = {});

struct WordTraining {
  std::int64_t vocabulary = 30'000;  // the most tokens, including the special ones
  std::int64_t least = 1;            // the fewest occurrences of a word
  std::vector<std::string> special = {
      "<unk>"};  // the first of them stands for unknown words; without any, these are left out
  bool lowercase = false;
};
/// Words, numbers and runs of other characters (\w+|[^\w\s]+) as tokens, the most frequent first; equally frequent ones
/// are sorted by their bytes. The same texts give the same tokenizer. decode() puts a space between tokens. Throws
/// ArgumentError.
Tokenizer train_words(const DatasetPtr<std::string>& texts, const WordTraining& config = {});

}  // namespace kiln
