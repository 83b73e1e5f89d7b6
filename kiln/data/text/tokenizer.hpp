// Texts to tokens and back, as Hugging Face's tokenizer.json says, or GPT-2's and BERT's files, or what was trained here.
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

/// A value: copies share what they are made of, and several threads may use it at once.
class Tokenizer {
 public:
  /// A tokenizer.json: models BPE, Unigram, WordPiece and WordLevel with the normalizers, pre-tokenizers, post-processors and decoders
  /// that go with them; regular expressions by libpcre2. Throws IoError, or DataError for what is no such file, or says what is
  /// not known here: every field of it counts, or is refused by name.
  static Tokenizer load(const std::string& path);
  static Tokenizer from_json(const Json& json, std::string_view source);
  /// GPT-2's `vocab.json` and `merges.txt`.
  static Tokenizer gpt2(const std::string& vocabulary, const std::string& merges);
  /// BERT's `vocab.txt`, a token a line.
  static Tokenizer bert(const std::string& vocabulary, bool lowercase = true);
  /// Each code point of the texts is a token, in their order; others are left out.
  static Tokenizer characters(std::string_view texts);
  /// Each byte is a token, whose id it is: 256 of them, by which any text can be said. (token() shows them as GPT-2 does.)
  static Tokenizer bytes();

  /// `special`: with the tokens that the model wants around a text ([CLS], <s>). Cut and filled up as the file's `truncation` and
  /// `padding` say. A text that is no UTF-8 has U+FFFD where it is none; with byte-level tokens even that comes back as it was.
  /// Throws DataError where the stages make far more of the text than any tokenizer needs, or a pattern tries too many ways.
  std::vector<std::int64_t> encode(std::string_view text, bool special = true) const;
  /// The same, for whoever makes batches and their masks: nothing is filled up.
  Tokenizer without_padding() const;
  /// The id that texts are filled up with; nothing where they are not.
  std::optional<std::int64_t> padding() const;
  /// Of byte-level tokens exactly the bytes, which need not be UTF-8 where a letter is cut. Throws IndexError for an id that is
  /// no token.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special = true) const;

  /// Tokens, special ones included.
  std::int64_t size() const;
  /// Throws DataError where the tokenizer has no such token.
  std::int64_t id(std::string_view token) const;
  bool has(std::string_view token) const;
  /// As it stands in the file. Throws IndexError.
  const std::string& token(std::int64_t id) const;

  /// As a tokenizer.json, which other libraries read as well.
  const Json& json() const;
  void save(const std::string& path) const;

 private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

struct BytePairTraining {
  std::int64_t vocabulary = 30'000;  // tokens at most, the 256 bytes and the special ones among them
  std::int64_t least = 2;            // times that a pair occurs
  std::vector<std::string> special = {"<|endoftext|>"};
};
/// Byte-level byte pairs by GPT-2's rules, trained on texts: the most frequent pair is joined first, of equally frequent ones the
/// one whose tokens are older. The same texts give the same tokenizer. Throws ArgumentError.
Tokenizer train_byte_pairs(const DatasetPtr<std::string>& texts, const BytePairTraining& config = {});

struct WordTraining {
  std::int64_t vocabulary = 30'000;  // tokens at most, the special ones among them
  std::int64_t least = 1;            // times that a word occurs
  std::vector<std::string> special = {
      "<unk>"};  // the first of them stands for words that are none; or those are left out
  bool lowercase = false;
};
/// Words, numbers and runs of other signs (\w+|[^\w\s]+) as tokens, the most frequent first, of equally frequent ones by their
/// bytes. The same texts give the same tokenizer. decode() has a space between any two. Throws ArgumentError.
Tokenizer train_words(const DatasetPtr<std::string>& texts, const WordTraining& config = {});

}  // namespace kiln
