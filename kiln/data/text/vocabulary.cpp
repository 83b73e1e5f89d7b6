#include "kiln/data/text/vocabulary.hpp"

#include <queue>
#include <tuple>

#include "kiln/data/text/unicode.hpp"

namespace kiln {

std::string byte_token(char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto number = static_cast<unsigned char>(byte);
  return {'<', '0', 'x', kDigits[number >> 4], kDigits[number & 15], '>'};
}

void BytePairs::add_merge(std::int64_t a, std::int64_t b, std::int64_t joined) {
  merges_.insert_or_assign({a, b}, Merge{static_cast<std::int64_t>(merges_.size()), joined});
}

void BytePairs::encode(std::string_view word, std::vector<std::int64_t>& tokens) const {
  if (whole_words) {
    if (const auto whole = ids.find(word); whole != ids.end()) return tokens.push_back(whole->second);
  }
  std::vector<std::int64_t> letters;
  bool waits = false;  // an unknown character, which others may join
  std::string spelt;
  for (std::size_t at = 0; at < word.size();) {
    std::string_view letter = word.substr(at, unicode::decode(word, at).bytes);
    const bool first = at == 0;
    at += letter.size();
    if (!prefix.empty() || !suffix.empty()) {
      spelt = first ? "" : prefix;
      spelt += letter;
      if (at == word.size()) spelt += suffix;
      letter = spelt;
    }
    if (const auto known = ids.find(letter); known != ids.end()) {
      if (std::exchange(waits, false)) letters.push_back(*unknown);
      letters.push_back(known->second);
      continue;
    }
    if (byte_fallback) {
      std::vector<std::int64_t> bytes;
      for (const char byte : letter) {
        if (const auto known = ids.find(byte_token(byte)); known != ids.end()) bytes.push_back(known->second);
      }
      if (bytes.size() == letter.size()) {
        letters.insert(letters.end(), bytes.begin(), bytes.end());
        continue;
      }
    }
    if (!unknown) continue;
    if (waits && !fuse_unknown) letters.push_back(*unknown);
    waits = true;
  }
  if (waits) letters.push_back(*unknown);
  join(letters);
  tokens.insert(tokens.end(), letters.begin(), letters.end());
}

void BytePairs::join(std::vector<std::int64_t>& letters) const {
  constexpr std::int64_t kGone = -1;
  struct Neighbours {
    std::int64_t before, after;
  };
  const auto count = std::ssize(letters);
  std::vector<Neighbours> neighbours;
  for (std::int64_t i = 0; i < count; ++i) neighbours.push_back({i - 1, i + 1});
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };

  // The earliest merge comes first, of equal ones the leftmost; candidates that became invalid meanwhile are detected
  // later.
  using Candidate = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // rank, place, resulting token
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](std::int64_t left) {
    if (left < 0 || neighbours[at(left)].after >= count) return;
    const auto merge = merges_.find({letters[at(left)], letters[at(neighbours[at(left)].after)]});
    if (merge != merges_.end()) queue.emplace(merge->second.rank, left, merge->second.joined);
  };
  for (std::int64_t i = 0; i + 1 < count; ++i) consider(i);
  while (!queue.empty()) {
    const auto [rank, left, joined] = queue.top();
    queue.pop();
    const std::int64_t right = neighbours[at(left)].after;
    if (letters[at(left)] == kGone || right >= count) continue;
    const auto merge = merges_.find({letters[at(left)], letters[at(right)]});
    if (merge == merges_.end() || merge->second.rank != rank) continue;
    letters[at(left)] = joined;
    letters[at(right)] = kGone;
    const std::int64_t after = neighbours[at(right)].after;
    neighbours[at(left)].after = after;
    if (after < count) neighbours[at(after)].before = left;
    consider(neighbours[at(left)].before);
    consider(left);
  }
  std::erase(letters, kGone);
}

WordPieces::WordPieces(const TokenIds& vocabulary, std::string_view prefix) : ids(vocabulary) {
  for (const auto& [token, id] : ids) {
    add(kFirst, token, id);
    if (token.starts_with(prefix)) add(kLater, std::string_view(token).substr(prefix.size()), id);
  }
}

void WordPieces::add(std::uint32_t root, std::string_view token, std::int64_t id) {
  if (token.empty()) return;
  std::uint32_t node = root;
  for (const char byte : token) {
    const auto key = std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
    const auto [next, is_new] = nodes_.try_emplace(key, static_cast<std::uint32_t>(ends_.size()));
    if (is_new) ends_.push_back(kNone);
    node = next->second;
  }
  ends_[node] = id;
}

void WordPieces::encode(std::string_view word, std::vector<std::int64_t>& tokens) const {
  std::size_t points = 0;
  for (std::size_t at = 0; at < word.size() && points <= longest; ++points) at += unicode::decode(word, at).bytes;
  if (points > longest) return tokens.push_back(unknown);
  const std::size_t before = tokens.size();
  for (std::size_t begin = 0; begin < word.size();) {
    std::uint32_t node = begin == 0 ? kFirst : kLater;
    std::int64_t token = kNone;
    std::size_t behind = begin;
    for (std::size_t at = begin; at < word.size();) {
      const auto next = nodes_.find(std::uint64_t{node} << 8 | static_cast<unsigned char>(word[at]));
      if (next == nodes_.end()) break;
      node = next->second;
      ++at;
      if (ends_[node] != kNone) token = ends_[node], behind = at;
    }
    if (token == kNone) {
      tokens.resize(before);
      return tokens.push_back(unknown);
    }
    tokens.push_back(token);
    begin = behind;
  }
}

void WordLevel::encode(std::string_view word, std::vector<std::int64_t>& tokens) const {
  if (const auto known = ids.find(word); known != ids.end()) tokens.push_back(known->second);
  else if (unknown) tokens.push_back(*unknown);
}

}  // namespace kiln
