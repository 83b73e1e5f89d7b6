#include "mutation.hpp"

#include <string_view>

namespace kiln {
namespace {

// What parsers stumble over: signs, limits, brackets that do not close, halves of characters.
constexpr std::string_view kTokens[] = {"{", "}", "[", "]", "\"", ",", ":", "-1", "0", "1e9", "9223372036854775807",
                                        "18446744073709551616", "\\u", "\\ud800", "\xff", "\xc3", "null",
                                        "__metadata__", "\"shape\"", "\"dtype\":\"F64\"", "data_offsets", "4294967296",
                                        "\\",
                                        // and of binary formats: counts, pickles' opcodes, names of what could run
                                        "\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\x7f", "PK\x01\x02",
                                        "cos\nsystem\n", "R", "(", "\x85", "\x94", "h\x01", "}q\x01s"};

void put(std::vector<std::byte>& bytes, std::size_t at, std::string_view token) {
  const auto* first = reinterpret_cast<const std::byte*>(token.data());
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), first, first + token.size());
}

}  // namespace

void damage(std::vector<std::byte>& bytes, Random& random) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto at = static_cast<std::size_t>(random.below(size));
  switch (random.below(6)) {
    case 0: bytes[at] ^= std::byte(1u << random.below(8)); break;
    case 1: bytes[at] = std::byte(random.below(256)); break;
    case 2: bytes.resize(at + 1); break;
    case 3: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
    case 4: put(bytes, at, kTokens[random.below(std::ssize(kTokens))]); break;
    case 5: {  // a digit of the header for another: shapes and offsets that lie
      for (std::size_t i = at; i < bytes.size(); ++i) {
        if (bytes[i] < std::byte{'0'} || bytes[i] > std::byte{'9'}) continue;
        bytes[i] = std::byte('0' + random.below(10));
        break;
      }
    }
  }
}

}  // namespace kiln
