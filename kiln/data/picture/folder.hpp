// Folders of pictures: one folder for each class, files with several labels, pictures with masks, and COCO's boxes.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/data/class_folder.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/picture/picture.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln {

/// Pictures in folders that are their classes: `photos/cat/1.jpg`. Each is read when asked for.
class PictureFolder final : public Dataset<LabelledPicture> {
 public:
  /// Throws as files_by_class() does.
  explicit PictureFolder(const std::filesystem::path& directory, const DecodeConfig& config = {});

  std::int64_t size() const override { return std::ssize(folder_.files); }
  const std::vector<std::string>& classes() const { return folder_.classes; }
  const std::string& path(std::int64_t index) const { return folder_.files.at(static_cast<std::size_t>(index)).path; }

 private:
  LabelledPicture item(std::int64_t index) const override;

  DecodeConfig config_;
  ClassFolder folder_;
};

/// A picture and a number for each of its pixels, which is its class.
struct MaskedPicture {
  Picture picture, mask;
};
/// Pictures of one folder, and the PNG files of their masks in another, by the same names; a mask that has a palette gives the
/// places in it, any other its greys as they stand (Channels::Numbers). Throws DataError where a mask is missing, of another
/// size or of colours.
DatasetPtr<MaskedPicture> masked_pictures(const std::filesystem::path& pictures, const std::filesystem::path& masks,
                                          const DecodeConfig& config = {});

struct TaggedPicture {
  Picture picture;
  std::vector<std::int64_t> labels;
};
/// Pictures of several labels or none: a CSV file with a header, whose first column is a path from the file's folder, and whose
/// others, one for each label, are 0 or 1.
DatasetPtr<TaggedPicture> tagged_pictures(const std::string& table, const DecodeConfig& config = {});

struct Box {
  double left = 0, top = 0, width = 0, height = 0;  // in pixels
  std::int64_t label = 0;
};
struct BoxedPicture {
  Picture picture;
  std::vector<Box> boxes;
};
/// COCO's boxes: `annotations` is a JSON file of lists "images" (id, file_name), "categories" (id, name) and "annotations"
/// (image_id, category_id, bbox). Labels are numbered in the order of categories' ids; what else the file holds is left out, and
/// so are boxes that stand for crowds.
class CocoPictures final : public Dataset<BoxedPicture> {
 public:
  /// Throws DataError where the file is no such, or names an image or category that it does not have; IoError.
  CocoPictures(const std::filesystem::path& directory, const std::string& annotations, const DecodeConfig& config = {});

  std::int64_t size() const override { return std::ssize(files_); }
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  struct File {
    std::string path;
    std::vector<Box> boxes;
  };
  BoxedPicture item(std::int64_t index) const override;

  DecodeConfig config_;
  std::vector<std::string> classes_;
  std::vector<File> files_;
};

}  // namespace kiln
