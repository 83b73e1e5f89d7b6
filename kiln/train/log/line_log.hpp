// A text file of lines, from which a resumed run removes those that it will write again.
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

  /// Opens the file, and creates its directory if needed. Of an existing file, it keeps the lines whose first number,
  /// the step, is at most `step`; a new run keeps none. The kept lines are safe: after a kill or with a full disk the
  /// file is unchanged or shortened. Throws IoError.
  void begin(std::int64_t step);
  /// The line is handed to the system when this returns; opens the file on first use. If it throws IoError, nothing of
  /// the line is in the file.
  void write(std::string_view line);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string header_;
  GrowingFile file_;
};

/// A number as JSON, in the fewest digits that read back the same; null for NaN and infinities.
std::string json_number(double number);
/// A quoted JSON string. Bytes that are not UTF-8 become code points of the same number.
std::string json_text(std::string_view text);
/// A name as a component of a path: letters, digits, '-', '_' and '.'; other characters become '_'.
std::string file_name_of(std::string_view name);
/// The current time, "2026-11-23 01:15:00", in the machine's time zone.
std::string time_stamp();

}  // namespace kiln
