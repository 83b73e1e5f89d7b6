// MNIST, the 70,000 handwritten digits of LeCun, Cortes and Burges (1998): finding, downloading and reading its files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/data/dataset.hpp"
#include "kiln/data/download.hpp"
#include "kiln/data/idx.hpp"
#include "kiln/data/image.hpp"

namespace kiln {

enum class Split { Train, Test };

/// The source from which missing files are downloaded.
inline constexpr std::string_view kMnistMirror = "https://storage.googleapis.com/cvdf-datasets/mnist/";

class Mnist final : public Dataset<Image> {
 public:
  /// Reads `train-images-idx3-ubyte` and `train-labels-idx1-ubyte` (or the two that begin with `t10k`), also with a dot
  /// before `idx`, with or without `.gz`. Throws DataError if a file is missing, damaged or does not fit the other,
  /// IoError if it cannot be read.
  static Mnist load(const std::filesystem::path& directory, Split split);

  /// Reads from the contents of the two files; the names are used in errors.
  static Mnist parse(std::span<const std::byte> images, std::string_view images_name, std::span<const std::byte> labels,
                     std::string_view labels_name);

  std::int64_t size() const override { return images_.shape[0]; }

 private:
  Mnist(IdxArray images, IdxArray labels) : images_(std::move(images)), labels_(std::move(labels)) {}
  Image item(std::int64_t index) const override;

  IdxArray images_;  // [count, height, width]
  IdxArray labels_;  // [count]
};

/// The directory of MNIST: `given` (a program's --data) if there is one, else the environment's KILN_DATA, else
/// kiln/mnist in the user's cache ($XDG_CACHE_HOME or ~/.cache), to which missing files are downloaded.
std::filesystem::path find_mnist(const std::optional<std::filesystem::path>& given,
                                 const DownloadProgress& progress = {});

/// Downloads and verifies those of the four files that are missing in `directory`. Throws like download().
void download_mnist(const std::filesystem::path& directory, const DownloadProgress& progress = {},
                    std::string_view mirror = kMnistMirror);

}  // namespace kiln
