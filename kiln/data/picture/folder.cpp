#include "kiln/data/picture/folder.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/table/csv.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

/// What lies in a directory, by name; hidden files count for none.
std::vector<fs::path> listed(const fs::path& directory) {
  std::error_code problem;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(directory, problem), end; !problem && at != end; at.increment(problem))
    if (!at->path().filename().string().starts_with('.')) paths.push_back(at->path());
  require<IoError>(!problem, "cannot read the directory ", shown(directory.string()), ": ", problem.message());
  std::ranges::sort(paths);
  return paths;
}

void add_pictures(const fs::path& directory, std::vector<std::string>& found) {
  for (const fs::path& path : listed(directory)) {
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(path, ignored))) add_pictures(path, found);
    else if (is_picture(path)) found.push_back(path.string());
  }
}

}  // namespace

PictureFolder::PictureFolder(const fs::path& directory, const DecodeConfig& config) : config_(config) {
  for (const fs::path& path : listed(directory)) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) continue;
    std::vector<std::string> found;
    add_pictures(path, found);
    require<DataError>(!found.empty(), "the class ", shown(path.string()), " has no picture: no PNG or JPEG file");
    for (std::string& file : found) files_.push_back({std::move(file), std::ssize(classes_)});
    classes_.push_back(path.filename().string());
  }
  require<DataError>(!classes_.empty(), shown(directory.string()),
                     " has no folder, which would be a class of pictures");
}

LabelledPicture PictureFolder::item(std::int64_t index) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  return {read_picture(file.path, config_), file.label};
}

DatasetPtr<MaskedPicture> masked_pictures(const fs::path& pictures, const fs::path& masks, const DecodeConfig& config) {
  struct Paths {
    std::string picture, mask;
  };
  std::vector<Paths> all;
  for (const fs::path& path : listed(pictures)) {
    if (!is_picture(path)) continue;
    const fs::path mask = masks / path.filename().replace_extension(".png");
    std::error_code ignored;
    require<DataError>(fs::is_regular_file(mask, ignored), shown(path.string()), " has no mask ", shown(mask.string()));
    all.push_back({path.string(), mask.string()});
  }
  return mapped(in_memory(std::move(all)), [config](const Paths& paths) {
    MaskedPicture item{read_picture(paths.picture, config),
                       read_picture(paths.mask, {Channels::Grey, config.most_pixels})};
    require<DataError>(item.picture.height == item.mask.height && item.picture.width == item.mask.width,
                       shown(paths.mask), ": is ", item.mask.height, " x ", item.mask.width, " pixels, its picture ",
                       item.picture.height, " x ", item.picture.width);
    return item;
  });
}

DatasetPtr<TaggedPicture> tagged_pictures(const std::string& table, const DecodeConfig& config) {
  auto file = std::make_shared<const CsvFile>(table);
  require<DataError>(file->width() >= 2, file->name(), ": has no column for a label behind that of the files");
  const fs::path directory = fs::path(table).parent_path();
  std::vector<std::int64_t> all(static_cast<std::size_t>(file->size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return mapped(in_memory(std::move(all)), [file, directory, config](std::int64_t index) {
    const std::vector<std::string> record = file->get(index);
    TaggedPicture item;
    for (std::size_t column = 1; column < record.size(); ++column) {
      bool has = false;
      if (const std::string problem = csv::read_cell(record[column], has); !problem.empty())
        csv::fail_cell(*file, index, column, record[column], problem);
      if (has) item.labels.push_back(static_cast<std::int64_t>(column) - 1);
    }
    item.picture = read_picture((directory / record[0]).string(), config);
    return item;
  });
}

}  // namespace kiln
