// The places of the records of a text file, each read from the file on access: a table need not fit into memory.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/mapped_file.hpp"

namespace kiln {

class Records {
 public:
  /// `begins`: the first byte of each record, ascending.
  Records(FileBytes file, std::vector<std::uint64_t> begins) : file_(std::move(file)), begins_(std::move(begins)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()); }
  /// The bytes from the record's first to that of the next.
  std::string_view at(std::int64_t index) const;
  /// The name of a record in error messages: "news.csv:17", the line where it begins.
  std::string place(std::int64_t index) const;
  const std::string& name() const { return file_.name; }

 private:
  FileBytes file_;
  std::vector<std::uint64_t> begins_;
};

/// The bytes as text.
std::string_view text_of(const FileBytes& file);
/// The place at which a text begins, after a byte order mark, which some programs write before UTF-8.
std::size_t behind_byte_order_mark(std::string_view text);
/// "news.csv:17" for byte `at` of the text.
std::string place_in(std::string_view name, std::string_view text, std::size_t at);

}  // namespace kiln
