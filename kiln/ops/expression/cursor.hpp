// A position in a text being parsed: symbols, words and numbers, one after the other.
#pragma once
#include <algorithm>
#include <cctype>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln::expr {

/// The cursor skips blanks, and comments, which begin with //.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { skip(); }

  bool at_end() const { return at_ >= text_.size(); }
  bool is_at(std::string_view symbol) const { return text_.substr(at_).starts_with(symbol); }
  bool is_at_digit() const { return !at_end() && std::isdigit(static_cast<unsigned char>(text_[at_])); }
  bool is_at_letter() const { return !at_end() && std::isalpha(static_cast<unsigned char>(text_[at_])); }

  bool take(std::string_view symbol) {
    if (!is_at(symbol)) return false;
    at_ += symbol.size();
    skip();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) wrong("expected '", symbol, "'");
  }
  std::string_view take_word() {
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    skip();
    return word;
  }
  std::string_view peek_word() {
    const std::size_t at = at_;
    const std::string_view word = take_word();
    at_ = at;
    return word;
  }
  bool take_keyword(std::string_view keyword) { return peek_word() == keyword && !take_word().empty(); }
  /// Reads a number: decimal, or hexadecimal digits after 0x.
  std::string_view take_number() {
    const std::size_t begin = at_;
    const bool hex = is_at("0x");
    if (hex) at_ += 2;
    while (!at_end()) {
      const char c = text_[at_];
      const bool exponent = !hex && (c == 'e' || c == 'E');
      if (!std::isxdigit(static_cast<unsigned char>(c)) && c != '.') break;
      if (!hex && std::isalpha(static_cast<unsigned char>(c)) && !exponent) break;
      ++at_;
      if (exponent && !at_end() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    }
    if (is_at_letter()) wrong("a constant has a suffix");
    const std::string_view number = text_.substr(begin, at_ - begin);
    skip();
    return number;
  }
  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    // The error quotes the line: one of a library, or the whole expression.
    const std::size_t begin = at_ == 0 ? 0 : text_.rfind('\n', at_ - 1) + 1;
    const std::string_view line = text_.substr(begin, text_.find('\n', begin) - begin);
    fail<ArgumentError>("expression '", line, "': ", text(parts...), " at character ", at_ - begin + 1);
  }

 private:
  void skip() {
    for (;;) {
      while (!at_end() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (text_.substr(at_, 2) != "//") return;
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace kiln::expr
