#include "kiln/data/picture/coco_file.hpp"

#include <algorithm>
#include <map>

#include "kiln/core/error/error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/table/lines.hpp"

namespace kiln::coco {
namespace {

using config::ConfigPath;

const Json* find(const Json::Object& object, std::string_view key) {
  const auto at = std::ranges::find(object, key, &Json::Object::value_type::first);
  return at == object.end() ? nullptr : &at->second;
}

std::int64_t whole(const Json& json, const ConfigPath& place, std::string_view key) {
  return member<std::int64_t>(json, place, key, "an integer");
}

bool is_crowd(const Json& annotation) {
  const auto* const crowd = find(std::get<Json::Object>(annotation.is), "iscrowd");
  const auto* const number = crowd ? std::get_if<std::int64_t>(&crowd->is) : nullptr;
  return number && *number == 1;
}

/// Calls use(element, its place) for each element of a list in the file.
template <class Use>
void for_each(const Json& root, std::string_view file, std::string_view list, Use use) {
  const ConfigPath all{file, ""}, place = all.field(list);
  const auto& elements = member<Json::List>(root, all, list, "a list");
  for (std::size_t i = 0; i < elements.size(); ++i) use(elements[i], place.element(i));
}

}  // namespace

const Json& member(const Json& json, const ConfigPath& place, std::string_view key) {
  const Json* const found = find(config::expect<Json::Object>(json, place, "an object"), key);
  require<DataError>(found, place.source, ": '", place.path, "' has no '", key, "'");
  return *found;
}

File read(const std::filesystem::path& directory, const std::string& annotations,
          FunctionRef<void(const File&, const Annotation&)> use) {
  File file;
  as_data([&] {
    const Json root = parse_json(read_text_file(annotations), annotations);
    std::map<std::int64_t, std::int64_t> labels;
    std::map<std::int64_t, std::string> names;
    std::map<std::int64_t, std::size_t> images;
    for_each(root, annotations, "categories", [&](const Json& category, const ConfigPath& place) {
      names[whole(category, place, "id")] = member<std::string>(category, place, "name", "a string");
    });
    for (const auto& [id, name] : names) {
      labels[id] = std::ssize(file.classes);
      file.classes.push_back(name);
    }
    for_each(root, annotations, "images", [&](const Json& image, const ConfigPath& place) {
      images[whole(image, place, "id")] = file.images.size();
      file.images.push_back((directory / member<std::string>(image, place, "file_name", "a string")).string());
    });
    for_each(root, annotations, "annotations", [&](const Json& annotation, const ConfigPath& place) {
      const auto image = images.find(whole(annotation, place, "image_id"));
      const auto label = labels.find(whole(annotation, place, "category_id"));
      require<DataError>(image != images.end() && label != labels.end(), annotations, ": '", place.path,
                         "' is of an image or a category that the file does not have");
      use(file, {image->second, label->second, is_crowd(annotation), annotation, place});
    });
  });
  return file;
}

}  // namespace kiln::coco
