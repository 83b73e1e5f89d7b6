// Pictures with a class for each pixel: COCO's outlines as masks, and batches for segmenters.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kiln/data/picture/annotated.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/vision/transform2d.hpp"

namespace kiln {

/// COCO's pictures with the classes of their pixels: 0 is the background, and the category with the n-th smallest id is n.
/// `annotations` is a file as CocoPictures reads it, whose annotations have a "segmentation": polygons, or runs of pixels
/// as a list or as a string. Later objects lie in front. A pixel is in a polygon if its middle is.
class CocoMasks final : public Dataset<MaskedPicture> {
 public:
  /// Marks pixels of a crowd, whose objects are not told apart, so that losses and metrics can ignore them.
  static constexpr std::uint8_t kCrowd = 255;

  /// Throws DataError if the file has another format, more than 254 categories, or refers to an image or category that it
  /// does not contain; IoError. An item throws DataError where runs do not fit its picture.
  CocoMasks(const std::filesystem::path& directory, const std::string& annotations, const DecodeConfig& config = {});

  std::int64_t size() const override { return std::ssize(files_); }
  /// The background, and the categories.
  const std::vector<std::string>& classes() const { return classes_; }

  /// Numbers of pixels, column after column: so many outside, so many inside, and so on.
  struct Runs {
    std::int64_t height = 0, width = 0;
    std::vector<std::int64_t> counts;
  };
  using Polygon = std::vector<vision::Position>;
  struct Object {
    std::uint8_t number = 0;  // of its pixels
    std::variant<std::vector<Polygon>, Runs> area;
  };

 private:
  struct File {
    std::string path;
    std::vector<Object> objects;
  };
  MaskedPicture item(std::int64_t index) const override;

  DecodeConfig config_;
  std::string annotations_;
  std::vector<std::string> classes_;
  std::vector<File> files_;
};

struct MaskedBatch {
  TensorData images;   // float32 [batch, channels, height, width]
  TensorData classes;  // int64 [batch, height, width]
  std::int64_t items() const { return images.shape()[0]; }
};

/// Stacks pictures as PictureBatcher does, and the first mask of each.
struct MaskedBatcher {
  PictureBatcher pictures = PictureBatcher::image_net();

  /// Throws as PictureBatcher; ShapeError for a picture without a mask of its size.
  MaskedBatch operator()(std::span<const AnnotatedPicture> items) const;
};

}  // namespace kiln
