// What CocoPictures and coco_masks read of COCO's JSON files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/config/config_path.hpp"
#include "kiln/core/config/type.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::coco {

struct File {
  std::vector<std::string> classes;  // by the order of the categories' ids
  std::vector<std::string> images;   // paths
};

/// An annotation; `json` is an object, `place` names it.
struct Annotation {
  std::size_t image = 0;
  std::int64_t label = 0;
  bool is_crowd = false;
  const Json& json;
  const config::ConfigPath& place;
};

/// Reads the lists "images", "categories" and "annotations", and calls use(annotation) for each annotation, once images
/// and classes are known. Throws DataError for a file of another format, or one that refers to an image or a category
/// that it does not contain; IoError.
File read(const std::filesystem::path& directory, const std::string& annotations,
          FunctionRef<void(const File&, const Annotation&)> use);

/// The member of an object. Throws DataError where it has none, or one of another type.
const Json& member(const Json& json, const config::ConfigPath& place, std::string_view key);
template <class T>
const T& member(const Json& json, const config::ConfigPath& place, std::string_view key, std::string_view expected) {
  return config::expect<T>(member(json, place, key), place.field(key), expected);
}

}  // namespace kiln::coco
