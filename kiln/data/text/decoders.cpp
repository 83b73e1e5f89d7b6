// Decoders: tokens to text.
#include <algorithm>
#include <charconv>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/stage_parts.hpp"
#include "kiln/data/text/stages.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

using Tokens = std::vector<Spelling>;

/// Converts tokens "<0xE2>" to their bytes; in a run that is not valid UTF-8, each becomes U+FFFD.
Tokens bytes_joined(const Tokens& tokens) {
  Tokens out;
  std::string run;
  const auto end_run = [&] {
    if (run.empty()) return;
    bool sound = true;
    for (std::size_t at = 0; at < run.size();) {
      const auto [point, bytes] = unicode::decode(run, at);
      sound &= point != unicode::kReplacement || bytes == 3;
      at += bytes;
    }
    if (sound) out.push_back({run});
    else
      for (std::size_t i = 0; i < run.size(); ++i) out.push_back({"\xef\xbf\xbd"});
    run.clear();
  };
  for (const Spelling& token : tokens) {
    unsigned byte = 0;
    const std::string& text = token.text;
    const bool is_byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>') &&
                         std::from_chars(text.data() + 3, text.data() + 5, byte, 16).ptr == text.data() + 5;
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

/// Removes spaces that English text does not have, such as those before punctuation.
std::string cleaned(std::string text, const OutputLimit& limit) {
  constexpr std::pair<std::string_view, std::string_view> kSpaces[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kSpaces) text = replaced(text, from, to, limit);
  return text;
}

/// Removes a character at both ends of tokens, up to `start` and `stop` times.
Join read_strip(const View& json) {
  json.only({"type", "content", "start", "stop"});
  const std::string letter = json.need("content").text();
  if (letter.empty() || unicode::decode(letter, 0).bytes != letter.size())
    json.refuse("has '", shown(letter), "' for one letter");
  return [letter, start = json.need("start").number(), stop = json.need("stop").number()](Tokens tokens,
                                                                                          const OutputLimit&) {
    for (auto& [text, whole] : tokens) {
      std::string_view left = text;
      for (std::int64_t i = 0; i < start && left.starts_with(letter); ++i) left.remove_prefix(letter.size());
      for (std::int64_t i = 0; i < stop && left.ends_with(letter); ++i) left.remove_suffix(letter.size());
      text = std::string(left);
    }
    return tokens;
  };
}

Join read_word_pieces(const View& json) {
  json.only({"type", "prefix", "cleanup"});
  return [prefix = json["prefix"].text_or("##"), clean = json["cleanup"].flag_or(true)](Tokens tokens,
                                                                                        const OutputLimit& limit) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i].text;
      if (i > 0 && token.starts_with(prefix)) token.erase(0, prefix.size());
      else if (i > 0) token.insert(0, 1, ' ');
      if (clean) token = cleaned(std::move(token), limit);
    }
    return tokens;
  };
}

/// Connectionist temporal classification: repeated tokens become one, and pad tokens are dropped.
Join read_ctc(const View& json) {
  json.only({"type", "pad_token", "word_delimiter_token", "cleanup"});
  return [pad = json["pad_token"].text_or("<pad>"), between = json["word_delimiter_token"].text_or("|"),
          clean = json["cleanup"].flag_or(true)](Tokens tokens, const OutputLimit& limit) {
    const auto again = std::ranges::unique(tokens, {}, &Spelling::text);
    tokens.erase(again.begin(), again.end());
    for (auto& [text, whole] : tokens) {
      text = replaced(text, pad, "", limit);
      if (clean) text = replaced(cleaned(std::move(text), limit), between, " ", limit);
    }
    std::erase_if(tokens, [](const Spelling& token) { return token.text.empty(); });
    return tokens;
  };
}

Join spaces_between() {
  return [](Tokens tokens, const OutputLimit&) {
    for (std::size_t i = 1; i < tokens.size(); ++i) tokens[i].text.insert(0, 1, ' ');
    return tokens;
  };
}

Join read_byte_level(const View& json) {
  json.only({"type", "add_prefix_space", "use_regex", "trim_offsets"});  // options of the pre-tokenizer of this type
  return [](Tokens tokens, const OutputLimit&) {
    for (auto& [text, whole] : tokens)
      if (!whole) text = letters_to_bytes(text);
    return tokens;
  };
}

Join read_metaspace(const View& json) {
  json.only({"type", "replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"});
  return [sign = metaspace_of(json), first = prepend_scheme(json) != Prepend::Never](Tokens tokens,
                                                                                     const OutputLimit& limit) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i].text = replaced(tokens[i].text, sign, i == 0 && first ? "" : " ", limit);
    return tokens;
  };
}

Join read_bpe(const View& json) {
  json.only({"type", "suffix"});
  return [suffix = json["suffix"].text_or("</w>")](Tokens tokens, const OutputLimit& limit) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i].text = replaced(tokens[i].text, suffix, i + 1 == tokens.size() ? "" : " ", limit);
    return tokens;
  };
}

Join read_byte_fallback(const View& json) {
  json.only({"type"});
  return [](const Tokens& tokens, const OutputLimit&) { return bytes_joined(tokens); };
}

Join read_fuse(const View& json) {
  json.only({"type"});
  return [](const Tokens& tokens, const OutputLimit&) {
    std::string all;
    for (const Spelling& token : tokens) all += token.text;
    return Tokens{{all}};
  };
}

Join read_replace(const View& json) {
  json.only({"type", "pattern", "content"});
  return [from = Pattern::read(json), to = json.need("content").text()](Tokens tokens, const OutputLimit& limit) {
    std::size_t bytes = 0;
    for (auto& [text, whole] : tokens) {
      text = replaced(text, from, to, limit);
      limit.allow(bytes += text.size());
    }
    return tokens;
  };
}

Join read_sequence(const View& json) { return sequence<Join>(json, "decoders", read_decoder); }

struct Decoder {
  std::string_view type;
  Join (*read)(const View& json);
};
constexpr Decoder kDecoders[] = {
    {"Sequence", read_sequence},    {"WordPiece", read_word_pieces},     {"Strip", read_strip},    {"CTC", read_ctc},
    {"ByteLevel", read_byte_level}, {"Metaspace", read_metaspace},       {"BPEDecoder", read_bpe}, {"Fuse", read_fuse},
    {"Replace", read_replace},      {"ByteFallback", read_byte_fallback}};

}  // namespace

Join read_decoder(const View& json) {
  if (json.is_null()) return spaces_between();
  const std::string type = json.type();
  for (const Decoder& decoder : kDecoders)
    if (type == decoder.type) return decoder.read(json);
  json.refuse("is a decoder '", shown(type), "', which is not supported");
}

}  // namespace kiln::tokens
