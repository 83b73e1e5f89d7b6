#include "kiln/data/text/added.hpp"

#include <algorithm>

#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

constexpr std::size_t kLongestAdded = 4096;  // bytes of a token

std::uint64_t behind(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

/// The code point that ends before a byte of UTF-8.
char32_t point_before(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  do --begin;
  while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80);
  return unicode::decode(text, begin).point;
}

}  // namespace

std::vector<AddedToken> read_added(const View& json) {
  std::vector<AddedToken> added;
  if (json.is_null()) return added;
  for (std::size_t i = 0; i < json.list().size(); ++i) {
    const View token = json.element(i);
    token.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const bool special = token["special"].flag_or(false);
    AddedToken& one = added.emplace_back(AddedToken{.text = token.need("content").text(),
                                                    .id = token.need("id").number(),
                                                    .special = special,
                                                    .single_word = token["single_word"].flag_or(false),
                                                    .strip_left = token["lstrip"].flag_or(false),
                                                    .strip_right = token["rstrip"].flag_or(false),
                                                    .normalized = token["normalized"].flag_or(!special)});
    if (one.text.empty()) token.refuse("is an empty token");
    if (one.text.size() > kLongestAdded)
      token.refuse("is a token of ", one.text.size(), " bytes, more than the ", kLongestAdded, " that are supported");
  }
  return added;
}

AddedTokens::AddedTokens(const View& json, const std::vector<AddedToken>& tokens, bool normalized,
                         const Rewrite& normalize) {
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    const std::string text = normalized ? normalize(token.text, OutputLimit(token.text.size())) : token.text;
    if (text.empty()) json.refuse("has the token '", shown(token.text), "', which the normalizer reduces to nothing");
    if (text.size() > kLongestAdded)
      json.refuse("has the token '", shown(token.text), "', which the normalizer extends to ", text.size(),
                  " bytes, more than the ", kLongestAdded, " that are supported");
    std::uint32_t node = 0;
    for (const char byte : text) {
      const auto [next, is_new] = nodes_.try_emplace(behind(node, byte), static_cast<std::uint32_t>(ends_.size()));
      if (is_new) ends_.push_back(kNone);
      node = next->second;
    }
    begins_[static_cast<unsigned char>(text.front())] = true;
    if (ends_[node] != kNone) continue;
    ends_[node] = std::ssize(tokens_);
    tokens_.push_back(token);
  }
}

AddedTokens::FoundToken AddedTokens::next(std::string_view text, std::size_t from) const {
  for (; from < text.size(); ++from) {
    if (!begins_[static_cast<unsigned char>(text[from])]) continue;
    FoundToken found{nullptr, from, from};
    std::uint32_t node = 0;
    for (std::size_t end = from; end < text.size();) {
      const auto next = nodes_.find(behind(node, text[end]));
      if (next == nodes_.end()) break;
      node = next->second;
      ++end;
      if (ends_[node] != kNone) found = {&tokens_[static_cast<std::size_t>(ends_[node])], from, end};
    }
    if (found.token) return found;
  }
  return {nullptr, text.size(), text.size()};
}

void AddedTokens::each(std::string_view text, const std::function<void(std::string_view)>& part,
                       const std::function<void(std::int64_t)>& token) const {
  std::size_t done = 0;
  for (std::size_t from = 0; from < text.size();) {
    auto [added, begin, end] = next(text, from);
    if (!added) break;
    from = end;
    if (added->single_word && ((begin > 0 && unicode::is_word(point_before(text, begin))) ||
                               (end < text.size() && unicode::is_word(unicode::decode(text, end).point))))
      continue;
    if (added->strip_left)
      while (begin > done && unicode::is_space(point_before(text, begin))) {
        do --begin;
        while (begin > done && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80);
      }
    if (added->strip_right)
      while (end < text.size()) {
        const auto [point, bytes] = unicode::decode(text, end);
        if (!unicode::is_space(point)) break;
        end += bytes;
      }
    if (begin > done) part(text.substr(done, begin - done));
    token(added->id);
    done = std::max(done, end);
  }
  if (done < text.size()) part(text.substr(done));
}

}  // namespace kiln::tokens
