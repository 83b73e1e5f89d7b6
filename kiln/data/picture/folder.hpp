// Folders of pictures: one folder per class, files with several labels, pictures with masks, and COCO's boxes.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/data/class_folder.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/picture/picture.hpp"
#include "kiln/picture/decode.hpp"

namespace kiln {

/// Pictures in folders that are named after their classes: `photos/cat/1.jpg`. Each is read on access.
class PictureFolder final : public Dataset<LabelledPicture> {
 public:
  /// Throws like files_by_class().
  explicit PictureFolder(const std::filesystem::path& directory, const DecodeConfig& config = {});

  std::int64_t size() const override { return std::ssize(folder_.files); }
  const std::vector<std::string>& classes() const { return folder_.classes; }
  const std::string& path(std::int64_t index) const { return folder_.files.at(static_cast<std::size_t>(index)).path; }
  /// A line that counts the files in folders of classes which are no PNG or JPEG by their names, and names the first of
  /// them; empty where there is none.
  std::string left_out() const;

 private:
  LabelledPicture item(std::int64_t index) const override;

  DecodeConfig config_;
  ClassFolder folder_;
};

/// A picture, and a class for each of its pixels.
struct MaskedPicture {
  Picture picture, mask;
};
/// Pictures in one folder, and the PNG files of their masks in another, with the same names. A mask with a palette
/// gives the palette's indices, any other its grey values unchanged (Channels::Numbers). Throws DataError if a mask is
/// missing, has another size or is in colour.
DatasetPtr<MaskedPicture> masked_pictures(const std::filesystem::path& pictures, const std::filesystem::path& masks,
                                          const DecodeConfig& config = {});

struct TaggedPicture {
  Picture picture;
  std::vector<std::int64_t> labels;
};
/// Pictures with several labels or none, from a CSV file with a header: the first column is a path relative to the
/// file's folder, the others, one per label, are 0 or 1.
DatasetPtr<TaggedPicture> tagged_pictures(const std::string& table, const DecodeConfig& config = {});

struct Box {
  double left = 0, top = 0, width = 0, height = 0;  // in pixels
  std::int64_t label = 0;
};
struct BoxedPicture {
  Picture picture;
  std::vector<Box> boxes;
};
/// COCO's boxes: `annotations` is a JSON file with the lists "images" (id, file_name), "categories" (id, name) and
/// "annotations" (image_id, category_id, bbox). Labels are numbered by the order of the categories' ids; other contents
/// of the file are ignored, and so are boxes of crowds.
class CocoPictures final : public Dataset<BoxedPicture> {
 public:
  /// Throws DataError if the file has another format, or refers to an image or category that it does not contain;
  /// IoError.
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
