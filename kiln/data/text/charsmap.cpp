#include "kiln/data/text/charsmap.hpp"

#include <array>

#include "kiln/data/text/normal.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::tokens {
namespace {

/// Decodes base64 (RFC 4648).
std::string from_base64(const View& json) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int, 256> values;
  values.fill(-1);
  for (std::size_t i = 0; i < kLetters.size(); ++i)
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<int>(i);
  std::string_view text = json.text();
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) json.refuse("is no base64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// The end of the character at `at` with its combining marks (Unicode Standard Annex 29, as far as it matters for less
/// than six bytes).
std::size_t cluster_end(std::string_view text, std::size_t at) {
  const auto first = unicode::decode(text, at);
  at += first.bytes;
  if (first.point == '\r' && text.substr(at).starts_with('\n')) return at + 1;
  constexpr char32_t kNonJoiner = 0x200c, kJoiner = 0x200d;
  const auto extends = [](char32_t point) {
    return unicode::is_extending(point) || point == kNonJoiner || point == kJoiner;
  };
  if (unicode::is_control(first.point) && !extends(first.point)) return at;
  while (at < text.size()) {
    const auto next = unicode::decode(text, at);
    if (!extends(next.point)) break;
    at += next.bytes;
  }
  return at;
}

}  // namespace

Charsmap::Charsmap(const View& base64) {
  const std::string bytes = from_base64(base64);
  const std::size_t size = bytes.size() < 4 ? 0 : number_at(bytes, 0);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - 4) base64.refuse("is no table of replacements");
  for (std::size_t at = 4; at < 4 + size; at += 4) tree_.push_back(number_at(bytes, at));
  replacements_ = bytes.substr(4 + size) + '\0';
}

bool Charsmap::replace(std::string_view piece, std::string& out) const {
  const auto offset = [](std::uint32_t unit) { return unit >> 10 << ((unit & 0x200u) >> 6); };
  std::uint32_t node = offset(tree_[0]);
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= tree_.size()) return false;
    const std::uint32_t unit = tree_[node];
    if ((unit & 0x800000ffu) != byte) return false;
    node ^= offset(unit);
    if (!(unit >> 8 & 1)) continue;
    const std::uint32_t at = node < tree_.size() ? tree_[node] & 0x7fffffffu : ~0u;
    if (at >= replacements_.size()) return false;
    out += replacements_.data() + at;
    return true;
  }
  return false;
}

std::string Charsmap::rewritten(std::string_view text, const OutputLimit& limit) const {
  constexpr std::size_t kWhole = 6;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    limit.allow(out.size());
    const std::size_t end = cluster_end(text, at);
    if (end - at < kWhole && replace(text.substr(at, end - at), out)) {
      at = end;
      continue;
    }
    while (at < end) {
      const std::string_view point = text.substr(at, unicode::decode(text, at).bytes);
      if (!replace(point, out)) out += point;
      at += point.size();
    }
  }
  return out;
}

}  // namespace kiln::tokens
