#include "kiln/data/picture/folder.hpp"

#include <algorithm>
#include <string_view>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/table/csv.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view> kPictures = {".png", ".jpg", ".jpeg"};

}  // namespace

PictureFolder::PictureFolder(const fs::path& directory, const DecodeConfig& config) try
    : config_(config), folder_(files_by_class(directory, kPictures, "picture: no PNG or JPEG file")) {
} catch (...) { rethrow_as_memory_error("a folder of pictures"); }

std::string PictureFolder::left_out() const {
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, folder_.left_out.size()); ++i)
    names += (names.empty() ? "" : ", ") + shown(folder_.left_out[i]);
  if (names.empty()) return "";
  return text(folder_.left_out.size(), folder_.left_out.size() == 1 ? " file is" : " files are",
              " no PNG or JPEG by the name, and left out: ", names,
              folder_.left_out.size() > kNamed ? ", ...\n" : "\n");
}

LabelledPicture PictureFolder::item(std::int64_t index) const {
  const ClassFolder::File& file = folder_.files[static_cast<std::size_t>(index)];
  return {read_picture(file.path, config_), file.label};
}

DatasetPtr<MaskedPicture> masked_pictures(const fs::path& pictures, const fs::path& masks,
                                          const DecodeConfig& config) try {
  struct Paths {
    std::string picture, mask;
  };
  std::vector<Paths> all;
  for (const fs::path& path : listed(pictures)) {
    if (!has_ending(path, kPictures)) continue;
    const fs::path mask = masks / path.filename().replace_extension(".png");
    std::error_code ignored;
    require<DataError>(fs::is_regular_file(mask, ignored), shown(path.string()), " has no mask ", shown(mask.string()));
    all.push_back({path.string(), mask.string()});
  }
  return mapped(in_memory(std::move(all)), [config](const Paths& paths) {
    DecodeConfig numbers = config;
    numbers.channels = Channels::Numbers;
    MaskedPicture item{read_picture(paths.picture, config), read_picture(paths.mask, numbers)};
    require<DataError>(item.picture.height == item.mask.height && item.picture.width == item.mask.width,
                       shown(paths.mask), ": is ", item.mask.height, " x ", item.mask.width, " pixels, its picture ",
                       item.picture.height, " x ", item.picture.width);
    return item;
  });
} catch (...) { rethrow_as_memory_error("a folder of pictures"); }

DatasetPtr<TaggedPicture> tagged_pictures(const std::string& table, const DecodeConfig& config) try {
  auto file = std::make_shared<const CsvFile>(table);
  require<DataError>(file->width() >= 2, file->name(), ": has no column for labels after that of the files");
  const fs::path directory = fs::path(table).parent_path();
  std::vector<std::int64_t> all(static_cast<std::size_t>(file->size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return mapped(in_memory(std::move(all)), [file, directory, config](std::int64_t index) {
    const std::vector<std::string> record = file->get(index);
    TaggedPicture item;
    for (std::size_t column = 1; column < record.size(); ++column) {
      bool has = false;
      if (const std::string problem = csv::read_cell(record[column], has, file->is_missing(record[column]));
          !problem.empty())
        csv::fail_cell(*file, index, column, record[column], problem);
      if (has) item.labels.push_back(static_cast<std::int64_t>(column) - 1);
    }
    item.picture = read_picture((directory / record[0]).string(), config);
    return item;
  });
} catch (...) { rethrow_as_memory_error(table); }

}  // namespace kiln
