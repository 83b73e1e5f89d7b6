#include "kiln/train/log/line_log.hpp"

#include <charconv>
#include <cmath>
#include <ctime>
#include <system_error>

#include "kiln/core/config/json.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln {
namespace {

/// The first number of a line; -1 if there is none.
std::int64_t step_of(std::string_view line) {
  const std::size_t begin = line.find_first_of("0123456789");
  std::int64_t step = -1;
  if (begin != line.npos) std::from_chars(line.data() + begin, line.data() + line.size(), step);
  return step;
}

std::string lines_up_to(std::int64_t step, std::string_view contents) {
  std::string kept;
  while (!contents.empty()) {
    const std::size_t end = contents.find('\n');
    if (end == contents.npos) break;  // an incomplete line
    const std::string_view line = contents.substr(0, end + 1);
    if (const std::int64_t at = step_of(line); at >= 0 && at <= step) kept += line;
    contents.remove_prefix(end + 1);
  }
  return kept;
}

}  // namespace

LineLog::LineLog(std::filesystem::path path, std::string header) : path_(std::move(path)), header_(std::move(header)) {}

void LineLog::begin(std::int64_t step) {
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  file_.close();
  const std::string header = header_.empty() ? "" : header_ + '\n';
  const bool goes_on = step > 0 && std::filesystem::is_regular_file(path_, ignored);
  if (goes_on) {
    const std::string contents = read_text_file(path_.string()), kept = header + lines_up_to(step, contents);
    if (kept != contents) write_file_atomically(path_.string(), kept);
  }
  file_.open(path_, goes_on);
  if (!goes_on) file_.append(header);
}

void LineLog::write(std::string_view line) {
  if (!file_.is_open()) begin(0);
  file_.append(std::string(line) + '\n');
}

std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return {digits, end};
}

std::string json_text(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const unicode::Decoded letter = unicode::decode(text, at);
    const bool is_broken = byte >= 0x80 && letter.bytes == 1;
    if (byte == '"' || byte == '\\') (out += '\\') += text[at];
    else if (byte < 0x20 || byte == 0x7f || is_broken) ((out += "\\u00") += kHex[byte >> 4]) += kHex[byte & 15];
    else out += text.substr(at, letter.bytes);
    at += letter.bytes;
  }
  return out += '"';
}

std::string file_name_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    out += plain ? c : '_';
  }
  return out.empty() || out[0] == '.' ? "_" + out : out;
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

}  // namespace kiln
