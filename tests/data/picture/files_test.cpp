// Files of pictures and folders of them; with libpng and libjpeg.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/random.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/data/png.hpp"
#include "kiln/picture/decode.hpp"
#include "kiln/store/format/source.hpp"

#include "tests/data/damaged.hpp"
#include "tests/data/picture/figures.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/support/peak_memory.hpp"

namespace kiln {
namespace {

using test::raised;
using Values = std::vector<std::uint8_t>;

Picture decoded(std::span<const std::uint8_t> file, const DecodeConfig& config = {}) {
  return decode_picture(std::as_bytes(file), "x", config);
}
Values list(std::span<const std::uint8_t> figures) { return {figures.begin(), figures.end()}; }
std::string text_of(std::span<const std::uint8_t> file) { return {file.begin(), file.end()}; }

TEST(Decode, ReadsWhatPillowWrote) {
  const Picture png = decoded(test::pillow("png"));
  EXPECT_EQ(png.height, 2);
  EXPECT_EQ(png.width, 3);
  EXPECT_EQ(png.pixels, list(test::pillow("png_pixels")));
  EXPECT_EQ(decoded(test::pillow("palette_png")).pixels, list(test::pillow("palette_pixels")));
  EXPECT_EQ(decoded(test::pillow("transparent_png")).pixels,
            (Values{10, 20, 30, 200, 100, 50}));  // whatever shines through
  EXPECT_EQ(decoded(test::pillow("png_16"), {.channels = Channels::Grey}).pixels, (Values{0, 0x12}));
  const Picture jpeg = decoded(test::pillow("jpeg"));
  ASSERT_EQ(jpeg.pixels.size(), test::pillow("jpeg_pixels").size());
  for (std::size_t i = 0; i < jpeg.pixels.size(); ++i)
    EXPECT_LE(std::abs(jpeg.pixels[i] - test::pillow("jpeg_pixels")[i]), 1) << i;
  const Picture grey = decoded(test::pillow("jpeg"), {.channels = Channels::Grey});
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels.size(), 64u);
}

/// Of a kind that the stored pictures are of, by its name.
int tolerance(std::string_view name) {
  return name.starts_with("png") ? 0 : name.find("cmyk") != std::string_view::npos ? 2 : 1;
}

/// "" where `picture` is what Pillow makes of the file, else what is wrong.
std::string difference(const Picture& picture, const TensorData& right, int tolerance) {
  const auto numbers = right.as<std::uint8_t>();
  if (picture.height != right.shape()[0] || picture.width != right.shape()[1] ||
      numbers.size() != picture.pixels.size())
    return text("has another shape: ", picture.height, " x ", picture.width, " x ", picture.channels);
  int most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) most = std::max(most, std::abs(picture.pixels[i] - numbers[i]));
  return most > tolerance ? text("differs by ", most) : "";
}

// picture_files.py makes them: all types, depths, filters and orders of PNG, with gamma, profiles and transparency; JPEG with
// all samplings, colours, markers and orders of scans. Whatever has no numbers is to be refused.
TEST(Decode, ReadsEachKindOfFileAsPillowDoes) {
  const TensorSource stored = open_tensors(KILN_PICTURES);
  int read = 0, refused = 0;
  for (const auto& [key, tensor] : stored.tensors) {
    if (!key.ends_with("/file")) continue;
    const std::string name = key.substr(0, key.size() - 5);
    const TensorData data = tensor.read();
    for (const auto& [channels, part] :
         {std::pair(Channels::Colour, "/colour"), {Channels::Grey, "/grey"}, {Channels::Numbers, "/numbers"}}) {
      const auto right = stored.tensors.find(name + part);
      try {
        const Picture picture = decoded(data.as<std::uint8_t>(), {.channels = channels});
        ++read;
        if (right == stored.tensors.end()) ADD_FAILURE() << name << part << " is read, and should be refused";
        else EXPECT_EQ(difference(picture, right->second.read(), tolerance(name)), "") << name << part;
      } catch (const DataError& error) {
        ++refused;
        EXPECT_TRUE(right == stored.tensors.end()) << name << part << ": " << error.message();
      }
    }
  }
  EXPECT_GT(read, 250);
  EXPECT_GT(refused, 80);
}

TEST(Decode, SaysWhichNumbersPixelsDoNotHave) {
  const auto refused = [](std::span<const std::uint8_t> file) {
    return raised<DataError>([&] { decoded(file, {.channels = Channels::Numbers}); });
  };
  EXPECT_EQ(refused(test::pillow("png")), "x: its pixels have colours, not one number each");
  EXPECT_EQ(refused(test::pillow("png_16")), "x: holds the number 4660, but numbers of pixels are at most 255");
  EXPECT_EQ(refused(test::pillow("jpeg")), "x: is a JPEG file, whose compression changes the numbers of pixels");
}

TEST(Decode, SaysWhatIsWrong) {
  const auto refused = [](std::span<const std::uint8_t> file, const DecodeConfig& config = {}) {
    return raised<DataError>([&] { decoded(file, config); });
  };
  EXPECT_EQ(refused({}), "x: is neither a PNG nor a JPEG file");
  EXPECT_EQ(refused(test::pillow("png").first(60)).find("x: is a damaged PNG file: "), 0u);
  EXPECT_EQ(refused(test::pillow("jpeg").first(250)), "x: is a damaged JPEG file: Premature end of JPEG file");
  EXPECT_EQ(refused(test::pillow("jpeg").first(100)).find("x: is a damaged JPEG file: "), 0u);
  EXPECT_EQ(refused(test::pillow("png"), {.most_pixels = 5}),
            "x: claims 2 x 3 pixels, more than the 5 that are allowed (DecodeConfig::most_pixels)");
  EXPECT_EQ(refused(test::pillow("jpeg"), {.most_pixels = 63}),
            "x: claims 8 x 8 pixels, more than the 63 that are allowed (DecodeConfig::most_pixels)");
}

// A file of a few bytes is refused before there is any memory for what it claims.
TEST(Decode, MakesNothingForWhatCannotBeInAFile) {
  const auto sized = [](std::span<const std::uint8_t> file, std::size_t at, std::initializer_list<std::uint8_t> size) {
    Values bytes(file.begin(), file.end());
    std::ranges::copy(size, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return bytes;
  };
  // 16,000 x 16,000, with the checksum that fits.
  const Values png = [&] {
    Values bytes = sized(test::pillow("png"), 16, {0, 0, 0x3e, 0x80, 0, 0, 0x3e, 0x80});
    std::uint32_t crc = 0xffffffff;
    for (std::size_t i = 12; i < 29; ++i) {
      crc ^= bytes[i];
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) bytes[29 + i] = static_cast<std::uint8_t>(~crc >> (24 - 8 * i));
    return bytes;
  }();
  const auto refused = [](const Values& file, const DecodeConfig& config = {}) {
    return raised<DataError>([&] { decoded(file, config); });
  };
  EXPECT_EQ(refused(png), text("x: claims 16000 x 16000 pixels in ", png.size(), " bytes, which is more than the 1024 ",
                               "pixels a byte that are allowed (DecodeConfig::pixels_per_byte)"));
  EXPECT_EQ(refused(png, {.pixels_per_byte = 1 << 28}).find("x: is a damaged PNG file: 16000 x 16000 pixels are "), 0u);
  const std::span<const std::uint8_t> jpeg_file = test::pillow("jpeg");
  const auto frame = std::ranges::search(jpeg_file, std::array<std::uint8_t, 2>{0xff, 0xc0});
  ASSERT_FALSE(frame.empty());
  const Values jpeg = sized(test::pillow("jpeg"), static_cast<std::size_t>(frame.begin() - jpeg_file.begin()) + 5,
                            {0x3e, 0x80, 0x3e, 0x80});
  EXPECT_NE(refused(jpeg).find("DecodeConfig::pixels_per_byte"), std::string::npos);
}

// Black: twelve megabytes out of twelve thousand bytes.
TEST(Decode, TakesThreeBytesAPixel) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("black.png");
  write_picture(blank(2048, 2048, 3), path);
  const std::int64_t peak = test::peak_memory([&] { read_picture(path); });
  EXPECT_GE(peak, test::kSanitized ? 0 : 3 * 2048 * 2048 / 2);
  EXPECT_LT(peak, 4 * 2048 * 2048);
}

TEST(Decode, EndsInDataErrorsWhateverTheBytes) {
  for (const std::span<const std::uint8_t> sound : {test::pillow("png"), test::pillow("jpeg")}) {
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
  const std::string png = text_of(test::pillow("png")), jpeg = text_of(test::pillow("jpeg"));
  directory.write("cats/b.png", png);
  directory.write("cats/a.JPG", jpeg);
  directory.write("cats/more/c.png", png);
  directory.write("cats/notes.txt", "no picture");
  directory.write("ants/z.jpeg", jpeg);
  directory.write("readme.md", "no class");
  const PictureFolder folder(directory.path());
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"ants", "cats"}));
  ASSERT_EQ(folder.size(), 4);
  EXPECT_EQ(folder.left_out(),
            "1 file is no PNG or JPEG by the name, and left out: " + shown(directory.file("cats/notes.txt")) + "\n");
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
  const std::string png = text_of(test::pillow("png"));
  directory.write("in/a.png", png);
  directory.write("masks/other.png", png);
  EXPECT_THROW(masked_pictures(directory.path() / "in", directory.path() / "masks"), DataError);
  directory.write("masks/a.png", text_of(test::pillow("palette_png")));
  const auto masked = masked_pictures(directory.path() / "in", directory.path() / "masks");
  ASSERT_EQ(masked->size(), 1);
  EXPECT_EQ(masked->get(0).mask.pixels, list(test::pillow("palette_numbers")));
  directory.write("masks/a.png", png);
  EXPECT_EQ(raised<DataError>([&] { masked->get(0); }),
            directory.file("masks/a.png") + ": its pixels have colours, not one number each");
  directory.write("masks/a.png", text_of(test::pillow("mask")));
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
