#include "kiln/data/mnist.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/core/user_folders.hpp"
#include "kiln/data/published/published.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

struct Archive {
  std::string_view name;
  std::int64_t bytes;
  std::string_view sha256;
};
// The files as published by their authors.
constexpr Archive kArchives[] = {
    {"train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {"train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {"t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {"t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
};

/// The file `stem` (train-images) with `rank` dimensions by one of its usual names; empty if there is none.
fs::path find_file(const fs::path& directory, const std::string& stem, int rank) {
  for (const char joint : {'-', '.'}) {
    for (const std::string_view ending : {"", ".gz"}) {
      const fs::path path = directory / text(stem, joint, "idx", rank, "-ubyte", ending);
      std::error_code ignored;
      if (fs::is_regular_file(path, ignored)) return path;
    }
  }
  return {};
}

fs::path need_file(const fs::path& directory, const std::string& stem, int rank) {
  const fs::path path = find_file(directory, stem, rank);
  require<DataError>(!path.empty(), "MNIST: ", directory.string(), " has no file ", stem, "-idx", rank,
                     "-ubyte, with or without .gz");
  return path;
}

}  // namespace

Mnist Mnist::load(const fs::path& directory, Split split) try {
  const std::string stem = split == Split::Train ? "train" : "t10k";
  const fs::path images = need_file(directory, stem + "-images", 3), labels = need_file(directory, stem + "-labels", 1);
  return parse(read_file(images), images.string(), read_file(labels), labels.string());
} catch (...) { rethrow_as_memory_error("MNIST"); }

Mnist Mnist::parse(std::span<const std::byte> images_file, std::string_view images_name,
                   std::span<const std::byte> labels_file, std::string_view labels_name) try {
  IdxArray images = read_idx(images_file, images_name), labels = read_idx(labels_file, labels_name);
  require<DataError>(images.shape.size() == 3, images_name,
                     ": images should have shape [count, height, width], this is ", images.shape);
  require<DataError>(numel(images.shape) > 0, images_name, ": shape ", images.shape, " holds no pixels");
  require<DataError>(labels.shape.size() == 1, labels_name, ": labels should have shape [count], this is ",
                     labels.shape);
  require<DataError>(images.shape[0] == labels.shape[0], labels_name, ": ", labels.shape[0], " labels for the ",
                     images.shape[0], " images of ", images_name);
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(), [](int label) { return label > 9; });
  if (wrong != labels.values.end())
    fail<DataError>(labels_name, ": label ", wrong - labels.values.begin(), " is ", int{*wrong}, ", a digit is 0 to 9");
  return Mnist(std::move(images), std::move(labels));
} catch (...) { rethrow_as_memory_error(images_name); }

Image Mnist::item(std::int64_t index) const {
  const std::int64_t height = images_.shape[1], width = images_.shape[2];
  const auto size = static_cast<std::size_t>(height * width), at = static_cast<std::size_t>(index);
  const auto bytes = std::span(images_.values).subspan(at * size, size);
  std::vector<float> pixels(size);
  std::transform(bytes.begin(), bytes.end(), pixels.begin(),
                 [](int byte) { return static_cast<float>(byte) / 255.0f; });
  return {.pixels = std::move(pixels), .height = height, .width = width, .label = labels_.values[at]};
}

fs::path find_mnist(const std::optional<fs::path>& given, const DownloadProgress& progress) {
  if (given) return *given;
  if (const char* const directory = setting("KILN_DATA")) return directory;
  const auto cache = cache_directory("mnist");
  require<DataError>(cache.has_value(),
                     "MNIST: no directory to look in: neither --data nor KILN_DATA, XDG_CACHE_HOME or HOME is set");
  download_mnist(*cache, progress);
  return *cache;
}

void download_mnist(const fs::path& directory, const DownloadProgress& progress, std::string_view mirror) {
  for (const auto& archive : kArchives) {
    const std::string name(archive.name);
    const auto idx = name.find("-idx");
    if (!find_file(directory, name.substr(0, idx), name[idx + 4] - '0').empty()) continue;
    download({.urls = {std::string(mirror) + name}, .sha256 = std::string(archive.sha256), .bytes = archive.bytes},
             directory / name, progress);
  }
}

}  // namespace kiln
