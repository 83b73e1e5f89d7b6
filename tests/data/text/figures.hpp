// Tokenizers, and what Hugging Face's library makes of texts with them, as tokenizer_figures.py and unigram_figures.py wrote it.
// A missing or damaged file is an IoError or ConfigError.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/core/config/config.hpp"
#include "tests/support/figures.hpp"

namespace kiln::test {

struct Encoded {
  std::string text;
  std::vector<std::int64_t> ids;
  std::string decoded;
};

struct NormalForms {
  std::string text, c, d, kc, kd;
};

/// tokenizer_figures.json; maps are by the names of tokenizers.
struct TokenizerFigures {
  std::string made_with;  // the libraries and their versions
  std::vector<std::string> training;
  std::map<std::string, std::vector<Encoded>> encoded;
};

/// unigram_figures.json.
struct UnigramFigures {
  std::string made_with;
  std::vector<std::string> samples;  // of Shakespeare and news
  std::map<std::string, std::vector<Encoded>> encoded;
  std::vector<NormalForms> normal_forms;
  std::map<std::string, std::vector<std::vector<std::int64_t>>> ids_of_samples;
};

inline const TokenizerFigures& tokenizer_figures() {
  static const auto figures = load_config<TokenizerFigures>(KILN_TEXTS "/tokenizer_figures.json");
  return figures;
}
inline const UnigramFigures& unigram_figures() {
  static const auto figures = load_config<UnigramFigures>(KILN_TEXTS "/unigram_figures.json");
  return figures;
}

/// The text of the tokenizer's file.
inline std::string tokenizer_json(const std::string& name) {
  return read_text_file(KILN_TEXTS "/tokenizers/" + name + ".json");
}

inline const std::vector<Encoded>& encoded_by(const std::string& name) {
  return entry_of(tokenizer_figures().encoded, name);
}

}  // namespace kiln::test
