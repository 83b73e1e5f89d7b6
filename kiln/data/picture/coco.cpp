#include <algorithm>
#include <map>

#include "kiln/core/config/json.hpp"
#include "kiln/core/config/place.hpp"
#include "kiln/core/config/type.hpp"
#include "kiln/core/error/shortage.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/data/table/lines.hpp"

namespace kiln {
namespace {

using config::Place;

const Json* find(const Json::Object& object, std::string_view key) {
  const auto at = std::ranges::find(object, key, &Json::Object::value_type::first);
  return at == object.end() ? nullptr : &at->second;
}

const Json& member(const Json& json, const Place& place, std::string_view key) {
  const Json* const found = find(config::expect<Json::Object>(json, place, "an object"), key);
  require<DataError>(found, place.source, ": '", place.path, "' has no '", key, "'");
  return *found;
}

template <class T>
const T& member(const Json& json, const Place& place, std::string_view key, std::string_view expected) {
  return config::expect<T>(member(json, place, key), place.field(key), expected);
}

std::int64_t whole(const Json& json, const Place& place, std::string_view key) {
  return member<std::int64_t>(json, place, key, "an integer");
}

/// Calls use(element, its place) for each element of a list in the file.
template <class Use>
void for_each(const Json& root, std::string_view file, std::string_view list, Use use) {
  const Place all{file, ""}, place = all.field(list);
  const auto& elements = member<Json::List>(root, all, list, "a list");
  for (std::size_t i = 0; i < elements.size(); ++i) use(elements[i], place.element(i));
}

}  // namespace

CocoPictures::CocoPictures(const std::filesystem::path& directory, const std::string& annotations,
                           const DecodeConfig& config) try
    : config_(config) {
  as_data([&] {
    const Json root = parse_json(read_text_file(annotations), annotations);
    std::map<std::int64_t, std::int64_t> labels;
    std::map<std::int64_t, std::string> names;
    std::map<std::int64_t, std::size_t> images;
    for_each(root, annotations, "categories", [&](const Json& category, const Place& place) {
      names[whole(category, place, "id")] = member<std::string>(category, place, "name", "a string");
    });
    for (const auto& [id, name] : names) {
      labels[id] = std::ssize(classes_);
      classes_.push_back(name);
    }
    for_each(root, annotations, "images", [&](const Json& image, const Place& place) {
      images[whole(image, place, "id")] = files_.size();
      const auto& name = member<std::string>(image, place, "file_name", "a string");
      files_.push_back({(directory / name).string(), {}});
    });
    for_each(root, annotations, "annotations", [&](const Json& annotation, const Place& place) {
      const auto image = images.find(whole(annotation, place, "image_id"));
      const auto label = labels.find(whole(annotation, place, "category_id"));
      require<DataError>(image != images.end() && label != labels.end(), annotations, ": '", place.path,
                         "' is of an image or a category that the file does not have");
      const auto* const crowd = find(std::get<Json::Object>(annotation.is), "iscrowd");
      const auto* const is_crowd = crowd ? std::get_if<std::int64_t>(&crowd->is) : nullptr;
      if (is_crowd && *is_crowd == 1) return;
      const Place at = place.field("bbox");
      const auto& numbers = member<Json::List>(annotation, place, "bbox", "a list");
      require<DataError>(numbers.size() == 4, annotations, ": '", at.path, "' must be left, top, width and height");
      double box[4];
      for (std::size_t i = 0; i < 4; ++i) box[i] = config::read_number(numbers[i], at.element(i), 1e9);
      require<DataError>(box[2] >= 0 && box[3] >= 0, annotations, ": '", at.path, "' has a negative size");
      files_[image->second].boxes.push_back({box[0], box[1], box[2], box[3], label->second});
    });
  });
} catch (...) { rethrow_shortage(annotations); }

BoxedPicture CocoPictures::item(std::int64_t index) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  return {read_picture(file.path, config_), file.boxes};
}

}  // namespace kiln
