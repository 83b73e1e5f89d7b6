#include "kiln/data/text/unigram.hpp"

#include <algorithm>
#include <limits>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln {
namespace {

std::uint64_t behind(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

}  // namespace

void Unigram::add(const std::string& token, double score) {
  const std::int64_t id = std::ssize(scores_);
  least_ = scores_.empty() ? score : std::min(least_, score);
  scores_.push_back(score);
  ids.insert_or_assign(token, id);
  if (token.empty()) return;
  std::uint32_t node = 0;
  for (const char byte : token) {
    const auto [next, is_new] = nodes_.try_emplace(behind(node, byte), static_cast<std::uint32_t>(ends_.size()));
    if (is_new) ends_.push_back(kNone);
    node = next->second;
  }
  ends_[node] = id;
}

void Unigram::encode(std::string_view word, std::vector<std::int64_t>& tokens) const {
  constexpr double kUnknownPenalty = 10;  // SentencePiece's value, below the least likely token
  struct Best {
    double score = 0;
    std::int64_t begin = kNone, id = kNone;  // the last token of the best way to here
  };
  std::vector<Best> best(word.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t end, double score, std::int64_t id) {
    Best& there = best[end];
    score += best[begin].score;
    if (there.begin == kNone || score > there.score) there = {score, static_cast<std::int64_t>(begin), id};
  };
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t letter = unicode::decode(word, at).bytes;
    bool alone = false;
    std::uint32_t node = 0;
    for (std::size_t end = at; end < word.size();) {
      const auto next = nodes_.find(behind(node, word[end]));
      if (next == nodes_.end()) break;
      node = next->second;
      ++end;
      if (ends_[node] == kNone) continue;
      offer(at, end, scores_[static_cast<std::size_t>(ends_[node])], ends_[node]);
      alone |= end == at + letter;
    }
    if (!alone) offer(at, at + letter, least_ - kUnknownPenalty, kNone);
    at += letter;
  }

  std::vector<Best> path;
  for (std::size_t end = word.size(); end > 0; end = static_cast<std::size_t>(path.back().begin))
    path.push_back(best[end]);
  std::size_t unknown_from = word.size();
  bool in_unknown = false;
  for (std::size_t i = path.size(); i-- > 0;) {
    const bool known = path[i].id != kNone && path[i].id != unknown;
    const auto begin = static_cast<std::size_t>(path[i].begin);
    const std::size_t end = i == 0 ? word.size() : static_cast<std::size_t>(path[i - 1].begin);
    if (!known && !in_unknown) unknown_from = begin;
    in_unknown = !known;
    if (known) tokens.push_back(path[i].id);
    else if (i == 0 || (path[i - 1].id != kNone && path[i - 1].id != unknown))
      append_unknown(word.substr(unknown_from, end - unknown_from), tokens);
  }
}

void Unigram::append_unknown(std::string_view letters, std::vector<std::int64_t>& tokens) const {
  if (const auto whole = ids.find(letters); whole != ids.end()) return tokens.push_back(whole->second);
  if (byte_fallback) {
    std::vector<std::int64_t> bytes;
    for (const char byte : letters)
      if (const auto known = ids.find(byte_token(byte)); known != ids.end()) bytes.push_back(known->second);
    if (bytes.size() == letters.size()) return void(tokens.insert(tokens.end(), bytes.begin(), bytes.end()));
  }
  require<DataError>(unknown.has_value(), "tokenizer: no token has the characters '", shown(letters),
                     "', and there is no unknown token");
  tokens.push_back(*unknown);
}

}  // namespace kiln
