#include "kiln/data/text/stages.hpp"

#include <charconv>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/stage_parts.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

using Texts = std::vector<std::string>;

/// Each piece cut by a function of kiln/data/text/split.hpp.
template <class Cut>
Split each(Cut cut) {
  return [cut](const Texts& pieces, bool) {
    Texts smaller;
    for (const std::string& piece : pieces)
      for (const std::string_view part : cut(piece)) smaller.emplace_back(part);
    return smaller;
  };
}

enum class Prepend { Always, First, Never };

/// Where "▁" is put that stands for the space before a text; older files say so by another key.
Prepend prepend_scheme(const View& json) {
  const View scheme = json["prepend_scheme"];
  if (scheme.is_null()) return json["add_prefix_space"].flag_or(true) ? Prepend::Always : Prepend::Never;
  if (scheme.text() == "always") return Prepend::Always;
  if (scheme.text() == "first") return Prepend::First;
  if (scheme.text() == "never") return Prepend::Never;
  scheme.refuse("is '", shown(scheme.text()), "', not always, first or never");
}

std::string metaspace_of(const View& json) {
  const std::string sign = json.need("replacement").text();
  if (sign.empty() || unicode::decode(sign, 0).bytes != sign.size())
    json.refuse("replaces spaces by '", shown(sign), "'");
  return sign;
}

/// Spaces as signs that belong to the words behind them.
Split metaspace(const View& json) {
  return [sign = metaspace_of(json), scheme = prepend_scheme(json), cut = json["split"].flag_or(true)](Texts pieces,
                                                                                                       bool first) {
    Texts words;
    for (std::string& piece : pieces) {
      piece = replaced(piece, " ", sign);
      const bool before = scheme == Prepend::Always || (scheme == Prepend::First && first);
      first = false;
      if (before && !piece.empty() && !piece.starts_with(sign)) piece.insert(0, sign);
      for (std::size_t at = 0; cut && !piece.empty();) {
        const std::size_t next = piece.find(sign, at + 1);
        if (next == std::string::npos) {
          piece.erase(0, at);
          break;
        }
        words.push_back(piece.substr(at, next - at));
        at = next;
      }
      words.push_back(std::move(piece));
    }
    return words;
  };
}

}  // namespace

Split read_pre_tokenizer(const View& json) {
  if (json.is_null()) return [](Texts pieces, bool) { return pieces; };
  const std::string type = json.type();
  if (type == "Metaspace") return metaspace(json);
  if (type == "Sequence") return sequence<Split>(json, "pretokenizers", read_pre_tokenizer);
  if (type == "BertPreTokenizer") return each(split_bert);
  if (type == "Whitespace") return each(split_words);
  if (type == "WhitespaceSplit") return each(split_spaces);
  if (type == "ByteLevel") {
    const bool space = json["add_prefix_space"].flag_or(true), cut = json["use_regex"].flag_or(true);
    return [space, cut](Texts pieces, bool) {
      Texts words;
      for (std::string& piece : pieces) {
        if (space && !piece.starts_with(' ')) piece.insert(0, 1, ' ');
        for (const std::string_view word : cut ? split_gpt2(piece) : Pieces{piece})
          words.push_back(bytes_to_letters(word));
      }
      return words;
    };
  }
  if (type == "Split") {
    const View pattern = json.need("pattern")["Regex"];
    const std::string regex = pattern.text_or(""), behaviour = json.need("behavior").text();
    constexpr std::string_view kBegin = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})",
                               kEnd = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    if (behaviour == "Isolated" && !json["invert"].flag_or(false)) {
      if (regex == kiln::text(kBegin, "{1,3}", kEnd))
        return each([](std::string_view text) { return split_gpt4(text, 3); });
      if (regex == kiln::text(kBegin, kEnd)) return each([](std::string_view text) { return split_gpt4(text, 1); });
    }
    json.refuse("cuts by the pattern '", shown(regex),
                "', which is not known here; those of GPT-4, Llama 3 and Qwen are");
  }
  json.refuse("is a pre-tokenizer '", shown(type), "', which is not known here");
}

namespace {

/// "<0xE2>" tokens as the bytes that they stand for; a run that is no UTF-8 is a U+FFFD for each.
Texts bytes_joined(const Texts& tokens) {
  Texts out;
  std::string run;
  const auto end_run = [&] {
    if (run.empty()) return;
    bool sound = true;
    for (std::size_t at = 0; at < run.size();) {
      const auto [point, bytes] = unicode::decode(run, at);
      sound &= point != unicode::kReplacement || bytes == 3;
      at += bytes;
    }
    if (sound) out.push_back(run);
    else
      for (std::size_t i = 0; i < run.size(); ++i) out.push_back("\xef\xbf\xbd");
    run.clear();
  };
  for (const std::string& token : tokens) {
    unsigned byte = 0;
    const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
                         std::from_chars(token.data() + 3, token.data() + 5, byte, 16).ptr == token.data() + 5;
    if (is_byte) {
      run += static_cast<char>(byte);
    } else {
      end_run();
      out.push_back(token);
    }
  }
  end_run();
  return out;
}

Texts word_pieces_joined(Texts tokens, const std::string& prefix, bool clean) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string& token = tokens[i];
    if (i > 0 && token.starts_with(prefix)) token.erase(0, prefix.size());
    else if (i > 0) token.insert(0, 1, ' ');
    if (!clean) continue;
    for (const auto& [from, to] :
         std::initializer_list<std::pair<std::string_view, std::string_view>>{{" .", "."},
                                                                              {" ?", "?"},
                                                                              {" !", "!"},
                                                                              {" ,", ","},
                                                                              {" ' ", "'"},
                                                                              {" n't", "n't"},
                                                                              {" 'm", "'m"},
                                                                              {" do not", " don't"},
                                                                              {" 's", "'s"},
                                                                              {" 've", "'ve"},
                                                                              {" 're", "'re"}})
      token = replaced(token, from, to);
  }
  return tokens;
}

Texts stripped(Texts tokens, const std::string& what, std::int64_t start, std::int64_t stop) {
  for (std::string& token : tokens) {
    for (std::int64_t i = 0; i < start && !what.empty() && token.starts_with(what); ++i) token.erase(0, what.size());
    for (std::int64_t i = 0; i < stop && !what.empty() && token.ends_with(what); ++i)
      token.resize(token.size() - what.size());
  }
  return tokens;
}

}  // namespace

Join read_decoder(const View& json) {
  if (json.is_null()) {
    return [](Texts tokens) {
      for (std::size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
      return tokens;
    };
  }
  const std::string type = json.type();
  if (type == "Sequence") return sequence<Join>(json, "decoders", read_decoder);
  if (type == "ByteLevel") {
    return [](Texts tokens) {
      for (std::string& token : tokens) token = letters_to_bytes(token);
      return tokens;
    };
  }
  if (type == "Metaspace") {
    return [sign = metaspace_of(json), first = prepend_scheme(json) != Prepend::Never](Texts tokens) {
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = replaced(tokens[i], sign, i == 0 && first ? "" : " ");
      return tokens;
    };
  }
  if (type == "WordPiece")
    return [prefix = json["prefix"].text_or("##"), clean = json["cleanup"].flag_or(true)](Texts tokens) {
      return word_pieces_joined(std::move(tokens), prefix, clean);
    };
  if (type == "ByteFallback") return [](const Texts& tokens) { return bytes_joined(tokens); };
  if (type == "Fuse") {
    return [](const Texts& tokens) {
      std::string all;
      for (const std::string& token : tokens) all += token;
      return Texts{all};
    };
  }
  if (type == "Replace")
    return [from = plain_pattern(json), to = json.need("content").text()](Texts tokens) {
      for (std::string& token : tokens) token = replaced(token, from, to);
      return tokens;
    };
  if (type == "Strip")
    return [what = json.need("content").text(), start = json.need("start").number(),
            stop = json.need("stop").number()](Texts tokens) { return stripped(std::move(tokens), what, start, stop); };
  json.refuse("is a decoder '", shown(type), "', which is not known here");
}

}  // namespace kiln::tokens
