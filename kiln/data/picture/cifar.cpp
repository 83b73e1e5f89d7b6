#include "kiln/data/picture/cifar.hpp"

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kSide = 32, kArea = kSide * kSide;

}  // namespace

Cifar Cifar::load(const fs::path& directory, CifarKind kind, Split split) try {
  const bool ten = kind == CifarKind::Ten;
  std::vector<std::string> names = {ten ? "test_batch.bin" : split == Split::Test ? "test.bin" : "train.bin"};
  if (ten && split == Split::Train) {
    names.clear();
    for (int i = 1; i <= 5; ++i) names.push_back(text("data_batch_", i, ".bin"));
  }
  std::vector<FileBytes> files;
  for (const std::string& name : names) {
    fs::path path = directory / name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) path = directory / (ten ? "cifar-10-batches-bin" : "cifar-100-binary") / name;
    require<DataError>(fs::exists(path, ignored), "CIFAR: ", shown(directory.string()), " has no file ", name);
    files.push_back(map_file(path.string()));
  }
  return Cifar(std::move(files), kind);
} catch (...) { rethrow_as_memory_error("CIFAR"); }

Cifar::Cifar(std::vector<FileBytes> files, CifarKind kind) try
    : files_(std::move(files)), labels_(kind == CifarKind::Ten ? 1 : 2) {
  const std::size_t record = labels_ + 3 * kArea;
  const int classes = kind == CifarKind::Ten ? 10 : 100;
  for (const FileBytes& file : files_) {
    require<DataError>(!file.bytes.empty() && file.bytes.size() % record == 0, file.name, ": ", file.bytes.size(),
                       " bytes are no pictures of ", record, " bytes each");
    for (std::size_t at = labels_ - 1; at < file.bytes.size(); at += record) {
      const int label = std::to_integer<int>(file.bytes[at]);
      require<DataError>(label < classes, file.name, ": the label of picture ", at / record, " is ", label,
                         ", not 0 to ", classes - 1);
    }
    size_ += static_cast<std::int64_t>(file.bytes.size() / record);
  }
} catch (...) { rethrow_as_memory_error("CIFAR"); }

LabelledPicture Cifar::item(std::int64_t index) const {
  const std::size_t record = labels_ + 3 * kArea;
  auto at = static_cast<std::size_t>(index) * record;
  auto file = files_.begin();
  while (at >= file->bytes.size()) at -= file++->bytes.size();
  LabelledPicture item{blank(kSide, kSide, 3), std::to_integer<std::int64_t>(file->bytes[at + labels_ - 1])};
  const auto planes = file->bytes.subspan(at + labels_, 3 * kArea);  // all red, all green, all blue
  for (std::size_t i = 0; i < kArea; ++i)
    for (std::size_t channel = 0; channel < 3; ++channel)
      item.picture.pixels[3 * i + channel] = std::to_integer<std::uint8_t>(planes[channel * kArea + i]);
  return item;
}

}  // namespace kiln
