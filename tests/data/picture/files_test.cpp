// Files of pictures and folders of them; with libpng and libjpeg.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/random.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/picture/decode.hpp"

#include "tests/data/damaged.hpp"
#include "tests/data/picture/figures.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;
using Values = std::vector<std::uint8_t>;

Picture decoded(std::span<const std::uint8_t> file, const DecodeConfig& config = {}) {
  return decode_picture(std::as_bytes(file), "x", config);
}
std::string text_of(std::span<const std::uint8_t> file) { return {file.begin(), file.end()}; }

TEST(Decode, ReadsWhatPillowWrote) {
  const auto list = [](std::span<const std::uint8_t> figures) { return Values(figures.begin(), figures.end()); };
  const Picture png = decoded(test::kPng);
  EXPECT_EQ(png.height, 2);
  EXPECT_EQ(png.width, 3);
  EXPECT_EQ(png.pixels, list(test::kPngPixels));
  EXPECT_EQ(decoded(test::kPalettePng).pixels, list(test::kPalettePixels));
  EXPECT_EQ(decoded(test::kTransparentPng).pixels, (Values{10, 20, 30, 200, 100, 50}));  // whatever shines through
  EXPECT_EQ(decoded(test::kPng16, {.channels = Channels::Grey}).pixels, (Values{0, 0x12}));
  const Picture jpeg = decoded(test::kJpeg);
  ASSERT_EQ(jpeg.pixels.size(), std::size(test::kJpegPixels));
  for (std::size_t i = 0; i < jpeg.pixels.size(); ++i)
    EXPECT_LE(std::abs(jpeg.pixels[i] - test::kJpegPixels[i]), 1) << i;
  const Picture grey = decoded(test::kJpeg, {.channels = Channels::Grey});
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels.size(), 64u);
}

TEST(Decode, SaysWhatIsWrong) {
  const auto refused = [](std::span<const std::uint8_t> file, const DecodeConfig& config = {}) {
    return raised<DataError>([&] { decoded(file, config); });
  };
  EXPECT_EQ(refused({}), "x: is neither a PNG nor a JPEG file");
  EXPECT_EQ(refused(std::span(test::kPng).first(60)).find("x: is a damaged PNG file: "), 0u);
  EXPECT_EQ(refused(std::span(test::kJpeg).first(250)), "x: is a damaged JPEG file: Premature end of JPEG file");
  EXPECT_EQ(refused(std::span(test::kJpeg).first(100)).find("x: is a damaged JPEG file: "), 0u);
  EXPECT_EQ(refused(test::kPng, {.most_pixels = 5}), "x: claims 2 x 3 pixels, more than the 5 that are allowed");
  EXPECT_EQ(refused(test::kJpeg, {.most_pixels = 63}), "x: claims 8 x 8 pixels, more than the 63 that are allowed");
  EXPECT_EQ(refused(test::kPrintersJpeg), "x: has the colours of a printing press, which are not read");
}

TEST(Decode, EndsInDataErrorsWhateverTheBytes) {
  for (const std::span<const std::uint8_t> sound :
       {std::span<const std::uint8_t>(test::kPng), std::span<const std::uint8_t>(test::kJpeg)}) {
    int read = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
      Random random(seed);
      const auto file = test::damaged(Values(sound.begin(), sound.end()), random);
      try {
        const Picture picture = decoded(file, {.most_pixels = 1 << 16});
        require_sound("decoded", picture);
        ++read;
      } catch (const DataError& error) {
        EXPECT_TRUE(error.message().starts_with("x: "));
        ++refused;
      }
    }
    EXPECT_GT(read, 10);
    EXPECT_GT(refused, 4000);
  }
}

TEST(PictureFolder, TakesFoldersForClasses) {
  const test::TemporaryDirectory directory;
  const std::string png = text_of(test::kPng), jpeg = text_of(test::kJpeg);
  directory.write("cats/b.png", png);
  directory.write("cats/a.JPG", jpeg);
  directory.write("cats/more/c.png", png);
  directory.write("cats/notes.txt", "no picture");
  directory.write("ants/z.jpeg", jpeg);
  directory.write("readme.md", "no class");
  const PictureFolder folder(directory.path());
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"ants", "cats"}));
  ASSERT_EQ(folder.size(), 4);
  EXPECT_EQ(folder.get(0).label, 0);
  EXPECT_EQ(folder.get(0).picture.height, 8);
  EXPECT_TRUE(folder.path(1).ends_with("cats/a.JPG"));
  EXPECT_EQ(folder.get(2).picture.height, 2);
  EXPECT_EQ(folder.get(3).label, 1);
  directory.write("cats/b.png", png.substr(0, 50));
  EXPECT_EQ(raised<DataError>([&] { folder.get(2); }).find(directory.file("cats/b.png") + ": is a damaged PNG file"),
            0u);
  std::filesystem::remove(directory / "cats/b.png");
  EXPECT_EQ(raised<IoError>([&] { folder.get(2); }),
            "cannot read " + directory.file("cats/b.png") + ": No such file or directory");
  std::filesystem::create_directories(directory.path() / "dogs");
  EXPECT_EQ(raised<DataError>([&] { PictureFolder(directory.path()); }),
            "the class " + shown(directory.file("dogs")) + " has no picture: no PNG or JPEG file");
  EXPECT_THROW(PictureFolder(directory.path() / "dogs"), DataError);
  EXPECT_THROW(PictureFolder(directory.path() / "none"), IoError);
}

TEST(PictureFolder, ReadsMasksTagsAndBoxes) {
  const test::TemporaryDirectory directory;
  const std::string png = text_of(test::kPng);
  directory.write("in/a.png", png);
  directory.write("masks/other.png", png);
  EXPECT_THROW(masked_pictures(directory.path() / "in", directory.path() / "masks"), DataError);
  directory.write("masks/a.png", png);
  const auto masked = masked_pictures(directory.path() / "in", directory.path() / "masks");
  ASSERT_EQ(masked->size(), 1);
  EXPECT_EQ(masked->get(0).mask.channels, 1);
  directory.write("masks/a.png", text_of(test::kPng16));
  EXPECT_NE(raised<DataError>([&] { masked->get(0); }).find("is 1 x 2 pixels, its picture 2 x 3"), std::string::npos);

  const std::string tags = directory.write("tags.csv", "file,red,round,soft\nin/a.png,1,0,true\nin/a.png,0,0,2\n");
  const auto tagged = tagged_pictures(tags);
  ASSERT_EQ(tagged->size(), 2);
  EXPECT_EQ(tagged->get(0).labels, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(raised<DataError>([&] { tagged->get(1); }), tags + ":3: column 'soft': '2' is neither true nor false");

  const std::string head =
      R"({"images": [{"id": 7, "file_name": "a.png"}, {"id": 9, "file_name": "b.png"}], "categories":
      [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}], "info": 1, "annotations": [)";
  const std::string boxes =
      directory.write("coco.json", head + R"({"image_id": 7, "category_id": 18, "bbox": [1, 0.5, 2, 1], "area": 2},
      {"image_id": 7, "category_id": 3, "bbox": [0, 0, 1, 1], "iscrowd": 1}]})");
  const CocoPictures coco(directory.path() / "in", boxes);
  EXPECT_EQ(coco.classes(), (std::vector<std::string>{"car", "dog"}));
  ASSERT_EQ(coco.size(), 2);
  const BoxedPicture item = coco.get(0);
  ASSERT_EQ(item.boxes.size(), 1u);
  EXPECT_EQ(item.boxes[0].label, 1);
  EXPECT_EQ(item.boxes[0].top, 0.5);
  const auto refused = [&](const std::string& annotation) {
    directory.write("coco.json", head + annotation + "]}");
    return raised<DataError>([&] { CocoPictures(directory.path(), boxes); }).substr(boxes.size());
  };
  EXPECT_EQ(refused(R"({"image_id": 8, "category_id": 3, "bbox": [0, 0, 1, 1]})"),
            ": 'annotations[0]' is of an image or a category that the file does not have");
  EXPECT_EQ(refused(R"({"image_id": 7, "category_id": 3, "bbox": [0, 0, 1]})"),
            ": 'annotations[0].bbox' must be left, top, width and height");
  EXPECT_EQ(refused(R"({"image_id": 7, "category_id": 3, "bbox": [0, 0, -1, 1]})"),
            ": 'annotations[0].bbox' has a negative size");
  EXPECT_EQ(refused(R"({"image_id": 7, "category_id": 3})"), ": 'annotations[0]' has no 'bbox'");
  EXPECT_EQ(refused("{").find(": parse error at line 2"), 0u);
}

TEST(CocoPictures, EndInErrorsWhateverTheBytes) {
  const std::string sound = R"({"images": [{"id": 7, "file_name": "a.png"}], "categories": [{"id": 3, "name": "car"}],
      "annotations": [{"image_id": 7, "category_id": 3, "bbox": [0, 0.5, 1e2, 1], "iscrowd": 0}]})";
  const test::TemporaryDirectory directory;
  const std::string path = text("/dev/shm/kiln-damaged-", ::getpid(), ".json");
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    std::ofstream(path, std::ios::trunc) << test::damaged(sound, random);
    try {
      const CocoPictures pictures(directory.path(), path);
      EXPECT_LE(pictures.size(), 1);
      ++read;
    } catch (const DataError& error) {
      EXPECT_TRUE(error.message().starts_with(path)) << error.message();
      ++refused;
    }
  }
  std::filesystem::remove(path);
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace kiln
