// Data sets as their authors publish them: where their files are, and how they come here.
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
  std::string sha256;       // empty where nobody says it of the whole file
  std::string called = {};  // where that is not the end of its address

  std::string name() const { return called.empty() ? url.substr(url.rfind('/') + 1) : called; }
};
struct PublishedRow {
  std::string name;  // of its directory in the cache
  std::vector<PublishedFile> files;
  bool archive = false;  // its one file is a .tar.gz or .tgz, which is unpacked
};

/// The checksums are those that torchaudio, scikit-learn and other projects that carry them compare, and Zalando's of
/// Fashion-MNIST; of DbPedia, whose archive is fast.ai's copy, only the size is known.
const PublishedRow& published(PublishedSet set);

/// `given` if there is one, else kiln/NAME in the user's cache ($XDG_CACHE_HOME or ~/.cache), with fetch_published().
std::filesystem::path find_published(PublishedSet set, const std::optional<std::filesystem::path>& given,
                                     const DownloadProgress& progress = {});

/// Downloads what `directory` lacks, and unpacks an archive into `directory`/unpacked, whole or not at all; the archive goes
/// then. Of a file without a checksum the size is compared, and of an archive what gzip and tar say of it; standard error tells
/// so, and `directory`/NAME.sha256 keeps its checksum, which later downloads must have. Returns the directory that holds the
/// files. Of several processes, one works and the others wait. Throws as download() does, and DataError for an archive that is
/// damaged, or has a file outside of it.
std::filesystem::path fetch_published(const PublishedRow& row, const std::filesystem::path& directory,
                                      const DownloadProgress& progress = {});

}  // namespace kiln
