// One attempt to download the missing part of a file; download.hpp repeats it as needed.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/data/download.hpp"

namespace kiln {

class PartFile;

/// Why an attempt failed; `again` if another one at the same url may succeed.
struct TransferFailure {
  std::string why;
  bool again = false, wrong_content = false;
};

/// The protocols that the server of `url` may redirect to: from https to https alone, as nobody on the way can change
/// the file then.
inline const char* redirect_protocols(std::string_view url) {
  constexpr std::string_view kSecure = "https:";
  for (std::size_t i = 0; i < kSecure.size(); ++i)
    if (i >= url.size() || (url[i] >= 'A' && url[i] <= 'Z' ? url[i] + ('a' - 'A') : url[i]) != kSecure[i])
      return "http,https";
  return "https";
}

/// Appends the data of `url` to `part`, or returns why it failed. Throws what `progress` throws.
std::optional<TransferFailure> transfer(const std::string& url, const Download& file, PartFile& part,
                                        const DownloadProgress& progress, std::string_view name);

}  // namespace kiln
