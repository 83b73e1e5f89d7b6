#include "kiln/wire/reader.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"

namespace kiln::wire {

void Reader::finish() const {
  if (left()) wrong(left(), " bytes follow its end");
}

std::uint8_t Reader::byte() {
  if (left() == 0) wrong("it ends here, too early");
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::span<const std::byte> Reader::bytes(std::size_t count) {
  if (count > left()) wrong(count, " bytes should follow, there are ", left());
  const auto found = bytes_.subspan(at_, count);
  at_ += count;
  return found;
}

std::uint64_t Reader::whole() {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const std::uint8_t next = byte();
    const std::uint64_t bits = next & 0x7f;
    if (shift > 63 || bits << shift >> shift != bits) wrong("a number over 2^64 - 1");
    value |= bits << shift;
    if (next & 0x80) continue;
    // Each number has a single encoding, so that bytes are equal exactly where values are.
    if (next == 0 && shift > 0) wrong("a number with superfluous digits");
    return value;
  }
}

std::int64_t Reader::integer() {
  const std::uint64_t value = whole();
  return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
}

std::uint64_t Reader::fixed(int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= std::uint64_t{byte()} << 8 * i;
  return value;
}

bool Reader::flag() {
  const std::uint8_t value = byte();
  if (value > 1) wrong("a truth value of ", value);
  return value != 0;
}

std::size_t Reader::length(std::size_t most, std::string_view of) {
  const std::uint64_t count = whole();
  if (count > most) wrong(count, " ", of, ", there can be ", most);
  if (count > left()) wrong(count, " ", of, " should follow, in ", left(), " bytes");
  return static_cast<std::size_t>(count);
}

std::string_view Reader::text(std::size_t most) {
  const auto found = bytes(length(most, "bytes of text"));
  return {reinterpret_cast<const char*>(found.data()), found.size()};
}

Reader::Name& Reader::spelled(std::vector<Name>& known, bool is_op) {
  if (const std::uint64_t number = whole(); number > known.size())
    wrong("name ", number - 1, " of ", known.size(), " that were spelled");
  else if (number > 0) return known[static_cast<std::size_t>(number - 1)];
  if (known.size() == limits_.names) wrong("more than ", limits_.names, " different names");
  Name name;
  name.text = text(limits_.name_bytes);
  if (is_op) name.fingerprint = fixed(8);
  if (std::any_of(known.begin(), known.end(), [&](const Name& other) { return other.text == name.text; }))
    wrong("'", shown(name.text), "' is spelled twice");
  return known.emplace_back(std::move(name));
}

Reader::Nested::Nested(Reader& reader) : reader_(reader) {
  if (reader.depth_ == reader.limits_.nesting) reader.wrong("operations within operations, too deep");
  ++reader_.depth_;
}

}  // namespace kiln::wire
