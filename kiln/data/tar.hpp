// Tar archives (POSIX.1-1988 "ustar", GNU's and pax's long names) as data sets: shards of samples in the layout of
// WebDataset, where consecutive files that differ only in their extensions are one sample.
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

/// A file of an archive; its bytes refer to the archive.
struct TarEntry {
  std::string name;
  std::span<const std::byte> bytes;
};
/// The archive's files in order; folders and links are left out. Throws DataError if it is damaged or truncated.
std::vector<TarEntry> read_tar(const FileBytes& archive);

/// "0001" with its files: {"jpg", ...}, {"cls", ...}.
struct TarSample {
  std::string key;
  std::map<std::string, std::span<const std::byte>> parts;

  /// The part with that extension. Throws DataError.
  std::span<const std::byte> part(const std::string& ending) const;
};

class TarSamples final : public Dataset<TarSample> {
 public:
  /// The spans of samples are valid as long as the data set. Throws IoError; DataError if an archive is damaged, or a
  /// sample has two parts with the same extension.
  explicit TarSamples(const std::vector<std::string>& shards);
  explicit TarSamples(std::vector<FileBytes> shards);

  std::int64_t size() const override { return std::ssize(samples_); }

 private:
  TarSample item(std::int64_t index) const override { return samples_[static_cast<std::size_t>(index)]; }

  std::vector<FileBytes> shards_;
  std::vector<TarSample> samples_;
};

}  // namespace kiln
