// One attempt to get what a part lacks of a file; download.hpp makes as many as it takes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "kiln/data/download.hpp"

namespace kiln {

class PartFile;

/// How an attempt went wrong; `again` where another one at the same url may go better.
struct TransferFailure {
  std::string why;
  bool again = false, wrong_content = false;
};

/// Appends to `part` what `url` has of the file, or says why not. Throws what `progress` throws.
std::optional<TransferFailure> transfer(const std::string& url, const Download& file, PartFile& part,
                                        const DownloadProgress& progress, std::string_view name);

}  // namespace kiln
