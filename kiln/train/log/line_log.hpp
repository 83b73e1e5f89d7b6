// A text file that grows by lines, of which a resumed training takes back those that it will write again.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/train/events.hpp"
#include "kiln/train/log/growing_file.hpp"

namespace kiln {

class LineLog {
 public:
  /// `header` is the first line; empty for none.
  explicit LineLog(std::filesystem::path path, std::string header = "");

  /// Opens the file, whose directory is made if need be. Of a file that is there, the lines stay whose first number, the
  /// step, is at most `step`; none of a training that begins. They are never away: whatever happens meanwhile, a kill or a
  /// full disk, the file is as it was, or cut. Throws IoError.
  void begin(std::int64_t step);
  /// The line is on its way to the disk when this returns; opens the file if that has not been done. Throws IoError, and then
  /// nothing of the line is there.
  void write(std::string_view line);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string header_;
  GrowingFile file_;
};

/// A number as JSON has it, as short as reads back the same; null for NaN and infinities.
std::string json_number(double number);
/// Quoted. What is no UTF-8 becomes, byte by byte, the code point of its number.
std::string json_text(std::string_view text);
/// A name as a part of a path: letters, digits, '-', '_' and '.', others as '_'.
std::string file_name_of(std::string_view name);
/// "2026-11-23 01:15:00", of now, in the machine's time zone.
std::string time_stamp();

}  // namespace kiln
