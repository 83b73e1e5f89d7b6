// Downloads a file with a known checksum: resumes an earlier attempt, and puts the file in place only when it is
// complete and correct.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct Download {
  std::vector<std::string> urls;       // http or https; if one fails, the next is tried
  std::string sha256;                  // 64 lower-case hexadecimal digits; empty: unknown, only the size is checked
  std::int64_t bytes = 0;              // the size of the file; larger responses are aborted
  int attempts = 3;                    // per url: an interrupted transfer is resumed
  int stall_seconds = 30;              // after this time without data, a transfer counts as interrupted
  std::vector<std::string> headers{};  // lines of the request; with any, redirections are not followed
};

/// Called regularly with the file's name, the bytes received and the bytes in total. An exception ends the download and
/// is passed on.
using DownloadProgress = std::function<void(std::string_view name, std::int64_t received, std::int64_t total)>;

/// Puts the file at `target`, whose directory is created if needed; unfinished data stay next to it as `target`.part
/// for the next call. An existing target is not changed. Of several processes, one downloads and the others wait.
/// Throws IoError if no url delivered the file, DataError if its checksum was wrong; the message has a sentence for
/// each url.
void download(const Download& file, const std::filesystem::path& target, const DownloadProgress& progress = {});

}  // namespace kiln
