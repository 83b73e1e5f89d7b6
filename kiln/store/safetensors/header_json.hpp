// Parses the JSON of a safetensors header: objects, arrays, strings and integers, nothing else. It never recurses and
// builds no tree, so that a hostile header costs no more than its own length.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// A position in the text that advances as it is read. Malformed text is a DataError that names the file and the byte.
class HeaderJson {
 public:
  HeaderJson(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// Skips white space. If `mark` follows, skips that too and returns true.
  bool consume(char mark);
  void expect(char mark);
  /// Reads `open`, calls item() for each entry, and reads `close`; entries are separated by commas.
  template <class F> void each(char open, char close, F&& item) {
    expect(open);
    if (consume(close)) return;
    do item();
    while (consume(','));
    expect(close);
  }
  /// Returns a UTF-8 string, with its escapes resolved.
  std::string string();
  /// Reads a string and the colon after it.
  std::string key();
  /// Reads an integer in [0, 2^63).
  std::int64_t number();
  /// Checks that only white space is left.
  void finish();

  template <class... Parts> [[noreturn]] void wrong(const Parts&... parts) const {
    fail<DataError>(file_, ": header, byte ", at_, ": ", parts...);
  }

 private:
  void skip_space();
  std::uint32_t four_hex_digits();
  void escape(std::string& out);

  std::string_view text_, file_;
  std::size_t at_ = 0;
};

/// Appends `text` as a JSON string, with its quotes.
void append_json_string(std::string& out, std::string_view text);

}  // namespace kiln
