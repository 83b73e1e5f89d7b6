#include "kiln/data/sound/sound_folder.hpp"

#include <gtest/gtest.h>

#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;

/// Words of one sample, which tells them apart.
void lay_out(const test::TemporaryDirectory& directory) {
  int number = 0;
  for (const char* const path : {"_background_noise_/hum.wav", "left/a.wav", "left/b.wav", "left/c.WAV", "right/a.wav",
                                 "right/b.wav", "right/notes.txt"}) {
    directory.write(path, "");
    if (std::string_view(path).ends_with("txt")) continue;
    write_wav({{static_cast<float>(number++) / 8}, 1, 16'000}, directory.file(path), WavFormat::Float32);
  }
  directory.write("validation_list.txt", "left/b.wav\n");
  directory.write("testing_list.txt", "right/a.wav\nleft/c.WAV\n");
}

std::vector<std::pair<float, std::int64_t>> listed(const SoundFolder& folder) {
  std::vector<std::pair<float, std::int64_t>> items;
  for (std::int64_t i = 0; i < folder.size(); ++i) {
    const LabelledSound item = folder.get(i);
    items.emplace_back(8 * item.sound.samples.at(0), item.label);
  }
  return items;
}
using Items = std::vector<std::pair<float, std::int64_t>>;

TEST(SoundFolder, HasAClassForEachFolder) {
  const test::TemporaryDirectory directory;
  lay_out(directory);
  const SoundFolder folder(directory.path());
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(listed(folder), (Items{{1, 0}, {2, 0}, {3, 0}, {4, 1}, {5, 1}}));
}

TEST(SpeechCommands, AreSplitByTheirLists) {
  const test::TemporaryDirectory directory;
  lay_out(directory);
  EXPECT_EQ(listed(speech_commands(directory.path(), SpeechPart::Train)), (Items{{1, 0}, {5, 1}}));
  EXPECT_EQ(listed(speech_commands(directory.path(), SpeechPart::Valid)), (Items{{2, 0}}));
  EXPECT_EQ(listed(speech_commands(directory.path(), SpeechPart::Test)), (Items{{3, 0}, {4, 1}}));
  const std::string list = directory.write("testing_list.txt", "left/a.wav\n\nleft/d.wav\n");
  EXPECT_EQ(raised<DataError>([&] { speech_commands(directory.path(), SpeechPart::Test); }),
            list + ":3: names 'left/d.wav', which is not there");
  std::filesystem::remove(list);
  EXPECT_EQ(raised<DataError>([&] { speech_commands(directory.path(), SpeechPart::Test); }),
            "Speech Commands: " + directory.path().string() + " has no file testing_list.txt");
}

TEST(SoundFolder, SaysWhatIsWrong) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(raised<DataError>([&] { SoundFolder folder(directory.path()); }),
            directory.path().string() + " has no folder, which would be a class of sounds");
  directory.write("left/a.txt", "");
  EXPECT_EQ(raised<DataError>([&] { SoundFolder folder(directory.path()); }),
            "the class " + directory.file("left") + " has no sound: no WAV file");
  EXPECT_THROW(SoundFolder(directory / "none"), IoError);
}

}  // namespace
}  // namespace kiln
