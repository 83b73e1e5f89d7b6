#include "kiln/data/download.hpp"

#include <optional>

#include "kiln/core/error/error.hpp"
#include "kiln/data/curl/transfer.hpp"
#include "kiln/data/part_file.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// Completes the partial file from `url` and publishes it, or returns why it failed.
std::optional<TransferFailure> fetch(const std::string& url, const Download& file, PartFile& part,
                                     const fs::path& target, const DownloadProgress& progress) {
  if (part.size() > file.bytes) part.clear();
  const bool resumed = part.size() > 0;
  const std::string name = target.filename().string();
  if (part.size() < file.bytes)
    if (auto failure = transfer(url, file, part, progress, name)) return failure;
  const std::string digest = file.sha256.empty() ? "" : part.sha256();
  if (digest != file.sha256) {
    part.clear();
    // The earlier part may be wrong: try again, from the start.
    return TransferFailure{text("SHA-256 is ", digest, ", expected ", file.sha256), resumed, true};
  }
  part.publish(target);
  return std::nullopt;
}

}  // namespace

void download(const Download& file, const fs::path& target, const DownloadProgress& progress) {
  std::error_code ignored, problem;
  if (fs::exists(target, ignored)) return;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), problem);
  require<IoError>(!problem, "download: ", target.parent_path().string(), " cannot be made: ", problem.message());
  PartFile part(fs::path(target) += ".part");
  if (fs::exists(target, ignored)) return part.remove();  // another process has finished it meanwhile

  std::string failures;
  bool wrong_content = false;
  for (const auto& url : file.urls) {
    std::optional<TransferFailure> failure = TransferFailure{"", true};
    for (int attempt = 0; attempt < file.attempts && failure->again; ++attempt)
      if (failure = fetch(url, file, part, target, progress); !failure) return;
    // The part after a question mark may be a signature that lets anybody read the file.
    failures += text(failures.empty() ? "" : "; ", url.substr(0, url.find('?')), ": ", failure->why);
    wrong_content |= failure->wrong_content;
  }
  if (part.size() == 0) part.remove();
  const std::string sentence = text("download of ", target.string(), ": ", failures);
  if (wrong_content) fail<DataError>(sentence);
  fail<IoError>(sentence);
}

}  // namespace kiln
