#include "kiln/data/picture/masked.hpp"

#include <algorithm>
#include <numeric>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/size.hpp"
#include "kiln/data/picture/coco_file.hpp"
#include "kiln/vision/polygon.hpp"

namespace kiln {
namespace {

using config::ConfigPath;

constexpr std::int64_t kLongestSide = 1 << 20;

std::int64_t side_of(const Json& json, const ConfigPath& place) {
  return static_cast<std::int64_t>(config::read_integer(json, place, 0, kLongestSide));
}

/// Runs that a string spells (COCO's own library): five bits a letter, the lowest first, with a sign; from the fourth
/// on a run is the difference from that before the last.
std::vector<std::int64_t> spelled(std::string_view letters, const ConfigPath& place) {
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at < letters.size();) {
    std::int64_t number = 0;
    for (int shift = 0;; shift += 5) {
      require<DataError>(at < letters.size() && shift < 40, place.source, ": '", place.path,
                         "' ends within a number, or has one that is too large");
      const int letter = letters[at++] - 48;
      require<DataError>(letter >= 0 && letter < 64, place.source, ": '", place.path,
                         "' has a letter that spells no runs");
      number |= std::int64_t{letter & 31} << shift;
      if (letter & 32) continue;
      if (letter & 16) number -= std::int64_t{32} << shift;
      break;
    }
    if (counts.size() > 2) number += counts[counts.size() - 2];
    counts.push_back(number);
  }
  return counts;
}

CocoMasks::Runs runs_of(const Json& json, const ConfigPath& place) {
  const ConfigPath sizes = place.field("size"), at = place.field("counts");
  const auto& size = coco::member<Json::List>(json, place, "size", "a list");
  require<DataError>(size.size() == 2, place.source, ": '", sizes.path, "' must be height and width");
  CocoMasks::Runs runs{side_of(size[0], sizes.element(0)), side_of(size[1], sizes.element(1)), {}};
  const Json& counts = coco::member(json, place, "counts");
  if (const auto* const letters = std::get_if<std::string>(&counts.is)) {
    runs.counts = spelled(*letters, at);
  } else {
    const auto& list = config::expect<Json::List>(counts, at, "a list or a string");
    for (std::size_t i = 0; i < list.size(); ++i)
      runs.counts.push_back(static_cast<std::int64_t>(
          config::read_integer(list[i], at.element(i), 0, std::uint64_t{kLongestSide} * kLongestSide)));
  }
  std::int64_t left = runs.height * runs.width;
  for (const std::int64_t count : runs.counts) {
    require<DataError>(count >= 0 && count <= left, place.source, ": '", at.path, "' has runs that do not fit ",
                       runs.height, " x ", runs.width, " pixels");
    left -= count;
  }
  require<DataError>(left == 0, place.source, ": '", at.path, "' lacks ", left, " of ", runs.height, " x ", runs.width,
                     " pixels");
  return runs;
}

std::vector<CocoMasks::Polygon> polygons_of(const Json::List& list, const ConfigPath& place) {
  std::vector<CocoMasks::Polygon> polygons;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ConfigPath at = place.element(i);
    const auto& numbers = config::expect<Json::List>(list[i], at, "a list of numbers");
    require<DataError>(numbers.size() >= 6 && numbers.size() % 2 == 0, at.source, ": '", at.path, "' has ",
                       numbers.size(), " numbers; a polygon has x and y of three corners or more");
    CocoMasks::Polygon& polygon = polygons.emplace_back();
    for (std::size_t j = 0; j < numbers.size(); j += 2)
      polygon.push_back({config::read_number(numbers[j], at.element(j), 1e9),
                         config::read_number(numbers[j + 1], at.element(j + 1), 1e9)});
  }
  return polygons;
}

void paint(Picture& mask, const CocoMasks::Runs& runs, std::uint8_t number) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < runs.counts.size(); ++i)
    for (const std::int64_t end = place + runs.counts[i]; place < end; ++place)
      if (i % 2 == 1) *mask.at(place % runs.height, place / runs.height) = number;
}

}  // namespace

CocoMasks::CocoMasks(const std::filesystem::path& directory, const std::string& annotations,
                     const DecodeConfig& config) try
    : config_(config), annotations_(annotations), classes_{"background"} {
  std::vector<std::vector<Object>> objects;
  const coco::File file =
      coco::read(directory, annotations, [&](const coco::File& known, const coco::Annotation& annotation) {
        require<DataError>(known.classes.size() < kCrowd, annotations, ": has ", known.classes.size(),
                           " categories; a mask holds 254 at most");
        objects.resize(known.images.size());
        const Json& area = coco::member(annotation.json, annotation.place, "segmentation");
        const ConfigPath at = annotation.place.field("segmentation");
        Object object{annotation.is_crowd ? kCrowd : static_cast<std::uint8_t>(annotation.label + 1), {}};
        if (const auto* const list = std::get_if<Json::List>(&area.is)) object.area = polygons_of(*list, at);
        else object.area = runs_of(area, at);
        objects[annotation.image].push_back(std::move(object));
      });
  classes_.insert(classes_.end(), file.classes.begin(), file.classes.end());
  objects.resize(file.images.size());
  for (std::size_t i = 0; i < objects.size(); ++i) files_.push_back({file.images[i], std::move(objects[i])});
} catch (...) { rethrow_as_memory_error(annotations); }

MaskedPicture CocoMasks::item(std::int64_t index) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  MaskedPicture result{read_picture(file.path, config_), {}};
  result.mask = blank(result.picture.height, result.picture.width, 1);
  for (const auto& [number, area] : file.objects) {
    if (const auto* const runs = std::get_if<Runs>(&area)) {
      require<DataError>(runs->height == result.mask.height && runs->width == result.mask.width, annotations_,
                         ": has runs of ", runs->height, " x ", runs->width, " pixels for ", shown(file.path),
                         ", which has ", result.mask.height, " x ", result.mask.width);
      paint(result.mask, *runs, number);
    } else {
      for (const Polygon& polygon : std::get<std::vector<Polygon>>(area))
        vision::fill_polygon(result.mask, polygon, {number, number, number});
    }
  }
  return result;
}

MaskedBatch MaskedBatcher::operator()(std::span<const AnnotatedPicture> items) const {
  std::vector<LabelledPicture> all;
  for (const AnnotatedPicture& item : items) all.push_back({item.picture, 0});
  MaskedBatch batch{pictures(all).images, {}};
  const Shape shape = batch.images.shape();
  batch.classes = TensorData({shape[0], shape[2], shape[3]}, DType::I64);
  auto out = batch.classes.as<std::int64_t>().begin();
  for (const auto& [picture, boxes, masks, keypoints] : items) {
    require<ShapeError>(!masks.empty(), "masked batch: a picture has no mask");
    const Picture& mask = masks.front();
    require_sound("masked batch", mask);
    require<ShapeError>(mask.channels == 1 && mask.height == picture.height && mask.width == picture.width,
                        "masked batch: a mask of ", mask.height, " x ", mask.width, " pixels and ", mask.channels,
                        " channels for a picture of ", picture.height, " x ", picture.width);
    out = std::ranges::copy(mask.pixels, out).out;
  }
  return batch;
}

}  // namespace kiln
