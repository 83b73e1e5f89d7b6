// Data sets as published by their authors: the addresses of their files, and downloading them.
//
//   const auto directory = find_published(PublishedSet::Cifar10, given);   // a program's --data, or downloaded
//   const Cifar train = Cifar::load(directory, CifarKind::Ten, Split::Train);
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/download.hpp"

namespace kiln {

enum class PublishedSet { FashionMnist, Cifar10, Cifar100, AgNews, DbPedia, CaliforniaHousing, SpeechCommands };

struct PublishedFile {
  std::string url;
  std::int64_t bytes = 0;
  std::string sha256;       // empty if none is published for the whole file
  std::string called = {};  // the file's name if it is not the end of the url

  std::string name() const { return called.empty() ? url.substr(url.rfind('/') + 1) : called; }
};
struct PublishedRow {
  std::string name;  // name of its directory in the cache
  std::vector<PublishedFile> files;
  bool archive = false;  // its only file is a .tar.gz or .tgz, which is unpacked
};

/// The checksums are those used by torchaudio, scikit-learn and other projects that include them, and Zalando's for
/// Fashion-MNIST; of DbPedia, whose archive is fast.ai's copy, only the size is known.
const PublishedRow& published(PublishedSet set);

/// `given` if there is one, else kiln/NAME in the user's cache ($XDG_CACHE_HOME or ~/.cache), after fetch_published().
std::filesystem::path find_published(PublishedSet set, const std::optional<std::filesystem::path>& given,
                                     const DownloadProgress& progress = {});

/// Downloads files that are missing in `directory`, and unpacks an archive into `directory`/unpacked, completely or not
/// at all; the archive is removed then. For a file without a checksum the size is compared, and for an archive also
/// what gzip and tar verify; this is reported on standard error, and `directory`/NAME.sha256 keeps the checksum, which
/// later downloads must match. Returns the directory with the files. Of several processes, one works and the others
/// wait. Throws like download(), and DataError for an archive that is damaged, or has a path outside of it.
std::filesystem::path fetch_published(const PublishedRow& row, const std::filesystem::path& directory,
                                      const DownloadProgress& progress = {});

}  // namespace kiln
