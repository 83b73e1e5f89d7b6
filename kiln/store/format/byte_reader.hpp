// Reads numbers and pieces of a file's bytes one after another. Reading beyond the end is a DataError.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "kiln/core/error/error.hpp"
#include "kiln/core/mapped_file.hpp"

namespace kiln {

class ByteReader {
 public:
  /// `what` is the part of the file that errors name: "model.gguf: header, byte 24: ...". The file must outlive the
  /// reader.
  ByteReader(const FileBytes& file, std::string_view what, std::size_t begin = 0)
      : file_(file), what_(what), at_(begin) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return file_.bytes.size() - at_; }

  /// Returns the next `count` bytes.
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > left()) wrong("the file ends ", left(), " bytes from here, where ", count, " should follow");
    const auto piece = file_.bytes.subspan(at_, static_cast<std::size_t>(count));
    at_ += piece.size();
    return piece;
  }
  std::string_view text(std::uint64_t count) {
    const auto piece = take(count);
    return {reinterpret_cast<const char*>(piece.data()), piece.size()};
  }
  /// Returns the text up to the next newline, which is read as well.
  std::string_view line() {
    const auto rest = file_.bytes.subspan(at_);
    const auto end = std::find(rest.begin(), rest.end(), std::byte{'\n'});
    if (end == rest.end()) wrong("a line without an end");
    const std::string_view found = text(static_cast<std::uint64_t>(end - rest.begin()));
    ++at_;
    return found;
  }
  /// Reads the next number, which is little-endian.
  template <class T>
  requires std::is_arithmetic_v<T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  requires std::is_arithmetic_v<T> T big_endian() {
    std::byte bytes[sizeof(T)];
    const auto piece = take(sizeof(T));
    std::reverse_copy(piece.begin(), piece.end(), bytes);
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail<DataError>(file_.name, ": ", what_, ", byte ", at_, ": ", parts...);
  }

 private:
  const FileBytes& file_;
  std::string_view what_;
  std::size_t at_;
};

/// Appends a number as it is in memory, which is little-endian.
template <class T>
void append_number(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace kiln
