// Tar archives (POSIX.1-1988 "ustar", GNU's and pax's long names) as data sets: shards of samples in the layout of WebDataset,
// where files that follow each other and differ in their endings are one sample.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/mapped_file.hpp"
#include "kiln/data/dataset.hpp"

namespace kiln {

/// A file of an archive; its bytes lie in that.
struct TarEntry {
  std::string name;
  std::span<const std::byte> bytes;
};
/// The archive's files in their order; folders and links are left out. Throws DataError where it is damaged or cut off.
std::vector<TarEntry> read_tar(const FileBytes& archive);

/// "0001" with its files: {"jpg", ...}, {"cls", ...}.
struct TarSample {
  std::string key;
  std::map<std::string, std::span<const std::byte>> parts;

  /// The part of that ending. Throws DataError.
  std::span<const std::byte> part(const std::string& ending) const;
};

class TarSamples final : public Dataset<TarSample> {
 public:
  /// The spans of samples live as long as the data set. Throws IoError; DataError where an archive is damaged, or a sample has
  /// two parts of an ending.
  explicit TarSamples(const std::vector<std::string>& shards);
  explicit TarSamples(std::vector<FileBytes> shards);

  std::int64_t size() const override { return std::ssize(samples_); }

 private:
  TarSample item(std::int64_t index) const override { return samples_[static_cast<std::size_t>(index)]; }

  std::vector<FileBytes> shards_;
  std::vector<TarSample> samples_;
};

}  // namespace kiln
