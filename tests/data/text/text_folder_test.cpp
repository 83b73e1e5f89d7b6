#include "kiln/data/text/text_folder.hpp"

#include <gtest/gtest.h>

#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

TEST(TextFolder, HasAClassForEachFolder) {
  const test::TemporaryDirectory directory;
  directory.write("good/2.txt", "fine\n");
  directory.write("good/more/1.TXT", "well\0done");
  directory.write("bad/1.txt", "");
  directory.write("bad/1.md", "no text");
  directory.write("read.txt", "no class");
  const TextFolder folder(directory.path());
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"bad", "good"}));
  ASSERT_EQ(folder.size(), 3);
  EXPECT_EQ(folder.get(0).text, "");
  EXPECT_EQ(folder.get(1).text, "fine\n");
  EXPECT_EQ(folder.get(2).text, "well");
  EXPECT_EQ(folder.get(0).label, 0);
  EXPECT_EQ(folder.get(2).label, 1);
  EXPECT_EQ(test::raised<DataError>([&] { TextFolder(directory.path(), 3).get(1); }),
            directory.file("good/2.txt") + ": has 5 bytes, more than the 3 that are allowed");
  std::filesystem::remove(directory / "bad/1.txt");
  EXPECT_THROW(folder.get(0), IoError);
  EXPECT_EQ(test::raised<DataError>([&] { TextFolder again(directory.path()); }),
            "the class " + directory.file("bad") + " has no text: no .txt file");
}

}  // namespace
}  // namespace kiln
