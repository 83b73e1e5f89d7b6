// Sounds in folders that are their classes, and Speech Commands, which lie so.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/data/class_folder.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/sound/wav.hpp"

namespace kiln {

/// Each WAV file is a sound, read when asked for.
class SoundFolder final : public Dataset<LabelledSound> {
 public:
  /// Throws as files_by_class() does.
  explicit SoundFolder(const std::filesystem::path& directory)
      : SoundFolder(files_by_class(directory, {".wav"}, "sound: no WAV file")) {}
  explicit SoundFolder(ClassFolder folder) : folder_(std::move(folder)) {}

  std::int64_t size() const override { return std::ssize(folder_.files); }
  const std::vector<std::string>& classes() const { return folder_.classes; }

 private:
  LabelledSound item(std::int64_t index) const override;

  ClassFolder folder_;
};

enum class SpeechPart { Train, Valid, Test };

/// Speech Commands, words of a second (Warden, "Speech Commands: a dataset for limited-vocabulary speech recognition", 2018):
/// folders by word, of which `validation_list.txt` and `testing_list.txt` name the files that are not learned from, as
/// "left/a.wav". Throws DataError where a list is missing, or names a file that is not there; IoError.
SoundFolder speech_commands(const std::filesystem::path& directory, SpeechPart part);

}  // namespace kiln
