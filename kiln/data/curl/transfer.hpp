// One attempt to download the missing part of a file; download.hpp repeats it as needed.
#pragma once
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

/// Appends the data of `url` to `part`, or returns why it failed. Throws what `progress` throws.
std::optional<TransferFailure> transfer(const std::string& url, const Download& file, PartFile& part,
                                        const DownloadProgress& progress, std::string_view name);

}  // namespace kiln
