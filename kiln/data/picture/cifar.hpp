// CIFAR-10 and CIFAR-100, 60,000 pictures of 32 x 32 pixels (Krizhevsky, "Learning multiple layers of features from
// tiny images", 2009), in their binary format.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/core/mapped_file.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/mnist.hpp"
#include "kiln/data/picture/picture.hpp"

namespace kiln {

enum class CifarKind { Ten, Hundred };

class Cifar final : public Dataset<LabelledPicture> {
 public:
  /// Reads `data_batch_1.bin` to `data_batch_5.bin` or `test_batch.bin` of CIFAR-10, `train.bin` or `test.bin` of
  /// CIFAR-100 (whose labels are the 100 fine ones), in the directory or in the folder of their archive. Throws
  /// DataError if a file is missing or damaged.
  static Cifar load(const std::filesystem::path& directory, CifarKind kind, Split split);
  /// Reads from the contents of files.
  Cifar(std::vector<FileBytes> files, CifarKind kind);

  std::int64_t size() const override { return size_; }

 private:
  LabelledPicture item(std::int64_t index) const override;

  std::vector<FileBytes> files_;
  std::size_t labels_;  // bytes before a picture, the last of which is the label used
  std::int64_t size_ = 0;
};

}  // namespace kiln
