// COCO's outlines and runs as masks, batches of masks, and what damaged files are told. Strings of runs are those of
// pycocotools 2.0.11.
#include <algorithm>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "kiln/core/random.hpp"
#include "kiln/data/picture/masked.hpp"
#include "kiln/data/png.hpp"
#include "tests/data/damaged.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::raised;

/// A folder with a grey picture, and a file that says what is on it.
class CocoMasksTest : public testing::Test {
 protected:
  CocoMasks masks_of(const std::string& annotations, std::int64_t height, std::int64_t width) {
    write_picture(blank(height, width, 3), (directory_.path() / "a.png").string());
    return CocoMasks(directory_.path(), write(annotations));
  }
  std::string write(const std::string& annotations) {
    return directory_.write("instances.json",
                            R"({"images": [{"id": 7, "file_name": "a.png"}, {"id": 9, "file_name": "b.png"}],
        "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}], "annotations": [)" +
                                annotations + "]}");
  }
  static std::string annotation(int category, const std::string& segmentation, int crowd = 0) {
    return text(R"({"image_id": 7, "category_id": )", category, R"(, "iscrowd": )", crowd, R"(, "segmentation": )",
                segmentation, "}");
  }
  std::string refused(const std::string& segmentation) {
    const std::string path = write(annotation(3, segmentation));
    return raised<DataError>([&] { CocoMasks(directory_.path(), path); }).substr(path.size());
  }
  test::TemporaryDirectory directory_;
};

/// A line of digits for each row.
std::vector<std::string> rows_of(const Picture& mask) {
  std::vector<std::string> rows;
  for (std::int64_t y = 0; y < mask.height; ++y) {
    std::string& row = rows.emplace_back();
    for (std::int64_t x = 0; x < mask.width; ++x)
      row += *mask.at(y, x) == 255 ? '#' : static_cast<char>('0' + *mask.at(y, x));
  }
  return rows;
}

TEST_F(CocoMasksTest, AreTheInsidesOfPolygonsTheLaterInFront) {
  const CocoMasks masks = masks_of(annotation(18, "[[1, 1, 5, 1, 5, 4, 1, 4], [6.6, 0, 9, 0, 9, 2.5, 6.6, 2.5]]") +
                                       "," + annotation(3, "[[3, 2, 7, 2, 7, 5, 3, 5]]") + "," + annotation(3, "[]"),
                                   5, 8);
  EXPECT_EQ(masks.classes(), (std::vector<std::string>{"background", "car", "dog"}));
  ASSERT_EQ(masks.size(), 2);
  EXPECT_EQ(rows_of(masks.get(0).mask),
            (std::vector<std::string>{"00000002", "02222002", "02211110", "02211110", "00011110"}));
}

TEST_F(CocoMasksTest, OfACrowdAreRunsDownTheColumns) {
  const CocoMasks masks =
      masks_of(annotation(3, R"({"counts": [4, 1, 6, 3, 2, 3, 2, 3, 2, 3, 6], "size": [5, 7]})", 1), 5, 7);
  const std::vector<std::string> right = {"0000000", "00####0", "00####0", "00####0", "#000000"};
  EXPECT_EQ(rows_of(masks.get(0).mask), right);
  EXPECT_EQ(rows_of(masks_of(annotation(3, R"({"counts": "4162L000004", "size": [5, 7]})", 1), 5, 7).get(0).mask),
            right);
}

TEST_F(CocoMasksTest, ReadRunsThatAStringSpells) {
  const CocoMasks spelled = masks_of(
      annotation(3, R"({"size": [40, 60], "counts": "X>5Q14L4M2N2N2O0O2N2O000O2O000O2O0000000O2O000000000001N100000001)"
                    R"(N10001N10001N2N101N2N2N3L4Lb4"})"),
      40, 60);
  const Picture mask = spelled.get(0).mask;
  for (std::int64_t y = 0; y < 40; ++y)
    for (std::int64_t x = 0; x < 60; ++x) {
      const double inside =
          static_cast<double>((y - 18) * (y - 18)) / 200 + static_cast<double>((x - 33) * (x - 33)) / 500;
      EXPECT_EQ(*mask.at(y, x), inside < 1 ? 1 : 0) << y << ' ' << x;
    }
}

TEST_F(CocoMasksTest, SayWhatIsWrongWithAFile) {
  EXPECT_EQ(refused("[[1, 2, 3, 4]]"),
            ": 'annotations[0].segmentation[0]' has 4 numbers; a polygon has x and y of three corners or more");
  EXPECT_EQ(refused("[[1, 2, 3, 4, 5, 6, 7]]"),
            ": 'annotations[0].segmentation[0]' has 7 numbers; a polygon has x and y of three corners or more");
  EXPECT_EQ(refused(R"([[1, 2, 3, 4, 5, "6"]])"), ": 'annotations[0].segmentation[0][5]' must be a number, got \"6\"");
  EXPECT_EQ(refused("[1]"), ": 'annotations[0].segmentation[0]' must be a list of numbers, got 1");
  EXPECT_EQ(refused("3"), ": 'annotations[0].segmentation' must be an object, got 3");
  EXPECT_EQ(refused(R"({"size": [2, 2]})"), ": 'annotations[0].segmentation' has no 'counts'");
  EXPECT_EQ(refused(R"({"size": [2], "counts": [4]})"),
            ": 'annotations[0].segmentation.size' must be height and width");
  EXPECT_EQ(refused(R"({"size": [2, 2], "counts": [1, 4]})"),
            ": 'annotations[0].segmentation.counts' has runs that do not fit 2 x 2 pixels");
  EXPECT_EQ(refused(R"({"size": [2, 2], "counts": [1, 1]})"),
            ": 'annotations[0].segmentation.counts' lacks 2 of 2 x 2 pixels");
  EXPECT_EQ(refused(R"({"size": [2, 2], "counts": "5"})"),
            ": 'annotations[0].segmentation.counts' has runs that do not fit 2 x 2 pixels");
  EXPECT_EQ(refused(R"({"size": [2, 2], "counts": "Q"})"),
            ": 'annotations[0].segmentation.counts' ends within a number, or has one that is too large");
  EXPECT_EQ(refused(R"({"size": [2, 2], "counts": "\u007f"})"),
            ": 'annotations[0].segmentation.counts' has a letter that spells no runs");
  const std::string none = write(R"({"image_id": 7, "category_id": 3})");
  EXPECT_EQ(raised<DataError>([&] { CocoMasks(directory_.path(), none); }).substr(none.size()),
            ": 'annotations[0]' has no 'segmentation'");
  const CocoMasks other = masks_of(annotation(3, R"({"size": [5, 7], "counts": [35]})"), 4, 7);
  EXPECT_NE(raised<DataError>([&] { other.get(0); }).find(": has runs of 5 x 7 pixels for "), std::string::npos);
}

TEST_F(CocoMasksTest, EndInErrorsWhateverTheBytes) {
  const std::string sound = R"({"images": [{"id": 7, "file_name": "a.png"}], "categories": [{"id": 3, "name": "car"}],
      "annotations": [{"image_id": 7, "category_id": 3, "segmentation": [[1, 2, 3.5, 4, 5, 6]]},
      {"image_id": 7, "category_id": 3, "iscrowd": 1, "segmentation": {"size": [5, 7], "counts": "4162L000004"}}]})";
  write_picture(blank(5, 7, 3), (directory_.path() / "a.png").string());
  const std::string path = text("/dev/shm/kiln-damaged-masks-", ::getpid(), ".json");
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    std::ofstream(path, std::ios::trunc) << test::damaged(sound, random);
    try {
      const CocoMasks masks(directory_.path(), path);
      for (std::int64_t i = 0; i < masks.size(); ++i) EXPECT_EQ(masks.get(i).mask.height, 5);
      ++read;
    } catch (const DataError&) { ++refused; } catch (const IoError&) {  // another file's name
      ++refused;
    }
  }
  std::filesystem::remove(path);
  EXPECT_GT(read, 20);
  EXPECT_GT(refused, 5000);
}

TEST(MaskedBatcher, StacksPicturesAndTheirClasses) {
  AnnotatedPicture item{.picture = blank(2, 2, 3), .masks = {blank(2, 2, 1)}};
  item.masks[0].pixels = {0, 3, 255, 1};
  item.picture.pixels[0] = 255;
  const AnnotatedPicture both[] = {item, item};
  const MaskedBatch batch = MaskedBatcher{.pictures = {}}(both);
  EXPECT_EQ(batch.images.shape(), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(batch.images.to_vector<float>()[0], 1);
  EXPECT_EQ(batch.classes.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(batch.classes.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 3, 255, 1, 0, 3, 255, 1}));
  EXPECT_EQ(sentence_of([&] { return MaskedBatcher{}({}); }),
            "ShapeError: picture batch: a batch needs at least one picture");
  item.masks[0] = blank(3, 2, 1);
  EXPECT_EQ(sentence_of([&] { return MaskedBatcher{}(std::span(&item, 1)); }),
            "ShapeError: masked batch: a mask of 3 x 2 pixels and 1 channels for a picture of 2 x 2");
  item.masks.clear();
  EXPECT_EQ(sentence_of([&] { return MaskedBatcher{}(std::span(&item, 1)); }),
            "ShapeError: masked batch: a picture has no mask");
}

}  // namespace
}  // namespace kiln
