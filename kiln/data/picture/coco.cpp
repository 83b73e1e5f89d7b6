#include "kiln/core/error/memory_error.hpp"
#include "kiln/data/picture/coco_file.hpp"
#include "kiln/data/picture/folder.hpp"

namespace kiln {

CocoPictures::CocoPictures(const std::filesystem::path& directory, const std::string& annotations,
                           const DecodeConfig& config) try
    : config_(config) {
  std::vector<std::vector<Box>> boxes;
  const coco::File file =
      coco::read(directory, annotations, [&](const coco::File& known, const coco::Annotation& annotation) {
        boxes.resize(known.images.size());
        if (annotation.is_crowd) return;
        const config::ConfigPath at = annotation.place.field("bbox");
        const auto& numbers = coco::member<Json::List>(annotation.json, annotation.place, "bbox", "a list");
        require<DataError>(numbers.size() == 4, annotations, ": '", at.path, "' must be left, top, width and height");
        double box[4];
        for (std::size_t i = 0; i < 4; ++i) box[i] = config::read_number(numbers[i], at.element(i), 1e9);
        require<DataError>(box[2] >= 0 && box[3] >= 0, annotations, ": '", at.path, "' has a negative size");
        boxes[annotation.image].push_back({box[0], box[1], box[2], box[3], annotation.label});
      });
  classes_ = file.classes;
  boxes.resize(file.images.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) files_.push_back({file.images[i], std::move(boxes[i])});
} catch (...) { rethrow_as_memory_error(annotations); }

BoxedPicture CocoPictures::item(std::int64_t index) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  return {read_picture(file.path, config_), file.boxes};
}

}  // namespace kiln
