// Sounds in folders that are named after their classes, and Speech Commands, which has that layout.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/data/class_folder.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/sound/wav.hpp"

namespace kiln {

/// Each WAV file is a sound, read on access.
class SoundFolder final : public Dataset<LabelledSound> {
 public:
  /// Throws like files_by_class().
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

/// Speech Commands, words of one second (Warden, "Speech Commands: a dataset for limited-vocabulary speech
/// recognition", 2018): folders by word, with `validation_list.txt` and `testing_list.txt`, which list the files not
/// used for training, as "left/a.wav". Throws DataError if a list is missing, or contains a file that does not exist;
/// IoError.
SoundFolder speech_commands(const std::filesystem::path& directory, SpeechPart part);

}  // namespace kiln
