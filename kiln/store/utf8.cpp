#include "kiln/store/utf8.hpp"

namespace kiln {

// Table 3-7 of the Unicode standard: the range of the second byte depends on the first, later bytes are 80..BF.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    unsigned low = 0x80, high = 0xbf;
    int more = 0;
    if (lead >= 0xc2 && lead <= 0xdf) more = 1;
    else if (lead >= 0xe0 && lead <= 0xef) more = 2;
    else if (lead >= 0xf0 && lead <= 0xf4) more = 3;
    else return false;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
    for (; more > 0; --more, low = 0x80, high = 0xbf) {
      if (i == text.size()) return false;
      const auto next = static_cast<unsigned char>(text[i++]);
      if (next < low || next > high) return false;
    }
  }
  return true;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0 | point >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | point >> 18);
    tail(12), tail(6), tail(0);
  }
}

}  // namespace kiln
