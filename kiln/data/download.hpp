// Downloads a file of which the checksum is known: resumed where an earlier attempt stopped, and in place
// only when it is whole and right.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct Download {
  std::vector<std::string> urls;  // http or https; the next is tried where one fails
  std::string sha256;             // 64 lower-case hexadecimal digits; empty: nobody knows, the size alone counts
  std::int64_t bytes = 0;         // the size of the file; a server that sends more is cut off
  int attempts = 3;               // for each url: an interrupted transfer is taken up again
  int stall_seconds = 30;         // without a byte for so long, a transfer counts as interrupted
};

/// Called now and then with the file's name, the bytes there are and the bytes there will be. What it throws
/// ends the download and comes out of it.
using DownloadProgress = std::function<void(std::string_view name, std::int64_t received, std::int64_t total)>;

/// Puts the file at `target`, whose directory is made if need be; unfinished data stays beside it as
/// `target`.part for the next call. A target that is there already is left alone. Of several processes, one
/// downloads and the others wait. Throws IoError where no url delivered, DataError where what they delivered
/// has another checksum; a sentence for each url.
void download(const Download& file, const std::filesystem::path& target, const DownloadProgress& progress = {});

}  // namespace kiln
