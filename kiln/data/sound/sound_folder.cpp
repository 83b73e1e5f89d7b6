#include "kiln/data/sound/sound_folder.hpp"

#include <set>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/table/lines.hpp"

namespace kiln {

namespace fs = std::filesystem;

LabelledSound SoundFolder::item(std::int64_t index) const {
  const ClassFolder::File& file = folder_.files[static_cast<std::size_t>(index)];
  return {read_wav(file.path), file.label};
}

SoundFolder speech_commands(const fs::path& directory, SpeechPart part) try {
  ClassFolder all = files_by_class(directory, {".wav"}, "sound: no WAV file");
  std::set<std::string> known, valid, test;
  for (const auto& file : all.files) known.insert(file.path);
  const auto read_list = [&](const char* name, std::set<std::string>& paths) {
    const fs::path list = directory / name;
    std::error_code ignored;
    require<DataError>(fs::is_regular_file(list, ignored), "Speech Commands: ", shown(directory.string()),
                       " has no file ", name);
    const TextLines lines(list.string());
    for (std::int64_t i = 0; i < lines.size(); ++i) {
      const std::string line = lines.get(i);
      if (line.empty()) continue;
      const std::string path = (directory / line).string();
      require<DataError>(known.contains(path), list.string(), ":", i + 1, ": names '", shown(line),
                         "', which is not there");
      paths.insert(path);
    }
  };
  read_list("validation_list.txt", valid);
  read_list("testing_list.txt", test);
  std::erase_if(all.files, [&](const ClassFolder::File& file) {
    const bool in_valid = valid.contains(file.path), in_test = test.contains(file.path);
    return part == SpeechPart::Valid ? !in_valid : part == SpeechPart::Test ? !in_test : in_valid || in_test;
  });
  return SoundFolder(std::move(all));
} catch (...) { rethrow_as_memory_error("speech commands"); }

}  // namespace kiln
