#include "kiln/data/mnist.hpp"

#include <cmath>
#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>

#include "tests/data/idx_files.hpp"
#include "tests/data/raised.hpp"
#include "tests/support/shared_data.hpp"

namespace kiln {
namespace {

using namespace test;

const Bytes& images() {
  static const Bytes file = idx_file({3, 2, 2}, {0, 51, 255, 102, 1, 2, 3, 4, 5, 6, 7, 8});
  return file;
}
const Bytes& labels() {
  static const Bytes file = idx_file({3}, {7, 0, 9});
  return file;
}

std::string refusal(const Bytes& image_file, const Bytes& label_file) {
  return raised<DataError>([&] { Mnist::parse(image_file, "i.idx", label_file, "l.idx"); });
}

TEST(Mnist, GivesPixelsBetweenZeroAndOneWithTheirLabel) {
  const Mnist digits = Mnist::parse(images(), "i.idx", gzipped(labels()), "l.idx");
  EXPECT_EQ(digits.size(), 3);
  const Image image = digits.get(0);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 2);
  EXPECT_EQ(image.label, 7);
  EXPECT_EQ(image.pixels, (std::vector<float>{0, 0.2f, 1, 0.4f}));
  EXPECT_EQ(digits.get(2).label, 9);
  EXPECT_EQ(digits.get(2).pixels[0], 5 / 255.0f);
  EXPECT_EQ(raised<IndexError>([&] { digits.get(3); }), "data set: item 3 of 3 does not exist");
}

TEST(Mnist, RefusesFilesThatDoNotFit) {
  EXPECT_EQ(refusal(labels(), labels()), "i.idx: images should have shape [count, height, width], this is [3]");
  EXPECT_EQ(refusal(images(), images()), "l.idx: labels should have shape [count], this is [3, 2, 2]");
  EXPECT_EQ(refusal(images(), idx_file({2}, {1, 2})), "l.idx: 2 labels for the 3 images of i.idx");
  EXPECT_EQ(refusal(images(), idx_file({3}, {1, 10, 2})), "l.idx: label 1 is 10, a digit is 0 to 9");
  EXPECT_EQ(refusal(idx_file({3, 0, 2}, {}), labels()), "i.idx: shape [3, 0, 2] holds no pixels");
  EXPECT_EQ(refusal(idx_file({0, 2, 2}, {}), idx_file({0}, {})), "i.idx: shape [0, 2, 2] holds no pixels");
}

TEST(Mnist, FindsItsFilesUnderEachOfTheirNames) {
  for (const char* joint : {"-", "."}) {
    for (const bool zip : {false, true}) {
      const TemporaryDirectory directory;
      const std::string ending = text("-ubyte", zip ? ".gz" : "");
      write_file(directory / text("t10k-images", joint, "idx3", ending), zip ? gzipped(images()) : images());
      write_file(directory / text("t10k-labels", joint, "idx1", ending), zip ? gzipped(labels()) : labels());
      EXPECT_EQ(Mnist::load(directory.path(), Split::Test).size(), 3);
      EXPECT_EQ(
          raised<DataError>([&] { Mnist::load(directory.path(), Split::Train); }),
          text("MNIST: ", directory.path().string(), " has no file train-images-idx3-ubyte, with or without .gz"));
    }
  }
}

TEST(Mnist, NamesTheFileThatIsDamaged) {
  const TemporaryDirectory directory;
  write_file(directory / "train-images-idx3-ubyte", images());
  write_file(directory / "train-labels-idx1-ubyte.gz", bytes_of("rubbish"));
  EXPECT_EQ(raised<DataError>([&] { Mnist::load(directory.path(), Split::Train); }),
            text(directory.path().string(),
                 "/train-labels-idx1-ubyte.gz: this is no IDX file: it does not begin with two zero bytes"));
}

/// Sets an environment variable, or removes it, until the end of the test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(const char* value) const { value ? setenv(name_, value, 1) : unsetenv(name_); }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Mnist, IsLookedForWhereTheUserSaysThenInTheCache) {
  const TemporaryDirectory cache;
  std::filesystem::create_directories(cache / "kiln/mnist");
  std::filesystem::create_directories(cache / ".cache/kiln/mnist");
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
    for (const char* place : {"kiln/mnist/", ".cache/kiln/mnist/"}) write_file(cache / text(place, name), {});

  const Environment home("HOME", cache.path().c_str()), no_cache("XDG_CACHE_HOME", nullptr),
      no_data("KILN_DATA", nullptr);
  EXPECT_EQ(find_mnist({}), cache / ".cache/kiln/mnist");
  const Environment xdg("XDG_CACHE_HOME", cache.path().c_str());
  EXPECT_EQ(find_mnist({}), cache / "kiln/mnist");
  const Environment data("KILN_DATA", "/somewhere");
  EXPECT_EQ(find_mnist({}), "/somewhere");
  EXPECT_EQ(find_mnist("/given"), "/given");
}

TEST(Mnist, SaysThatThereIsNowhereToLook) {
  const Environment home("HOME", nullptr), cache("XDG_CACHE_HOME", nullptr), data("KILN_DATA", nullptr);
  EXPECT_NE(raised<DataError>([] { find_mnist({}); }).find("neither --data nor KILN_DATA"), std::string::npos);
}

TEST(Mnist, HasTheCountsAndMomentsThatAreKnownOfIt) {
  const std::string directory = shared_data("KILN_DATA", "mnist");
  if (directory.empty()) GTEST_SKIP() << "KILN_DATA does not name a directory with MNIST";
  const Mnist train = Mnist::load(directory, Split::Train);
  EXPECT_EQ(train.size(), 60'000);
  EXPECT_EQ(Mnist::load(directory, Split::Test).size(), 10'000);
  const std::vector<std::int64_t> first = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(train.get(static_cast<std::int64_t>(i)).label, first[i]);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < train.size(); ++i)
    for (const double pixel : train.get(i).pixels) sum += pixel, squares += pixel * pixel;
  const double count = 60'000.0 * 784, mean = sum / count;
  EXPECT_NEAR(mean, 0.1307, 5e-5);
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean), 0.3081, 5e-5);
}

}  // namespace
}  // namespace kiln
