// Reads the JSON of a safetensors header: objects, arrays, strings and whole numbers, nothing else. It never
// recurses and keeps no tree, so a hostile header costs no more than its own length.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// A place in the text that moves on as it is read. What does not fit is a DataError naming the file and the byte.
class HeaderJson {
 public:
  HeaderJson(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// Skips white space; true and moves on where `mark` stands there.
  bool consume(char mark);
  void expect(char mark);
  /// Calls item() for each entry up to `close`, having read `open`; entries are separated by commas.
  template <class F> void each(char open, char close, F&& item) {
    expect(open);
    if (consume(close)) return;
    do item();
    while (consume(','));
    expect(close);
  }
  /// A string with its escapes resolved; UTF-8.
  std::string string();
  /// A string and the colon behind it.
  std::string key();
  /// [0, 2^63)
  std::int64_t number();
  /// Only white space may be left.
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

/// `text` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

}  // namespace kiln
