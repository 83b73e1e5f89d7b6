// The readers against damaged files: whatever the bytes, the result is a data set that holds together or a
// DataError. Run under the address sanitizer, this also shows that nothing is read out of bounds.
#include <array>
#include <string_view>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/data/idx.hpp"
#include "kiln/data/mnist.hpp"

#include "tests/data/idx_files.hpp"

namespace kiln {
namespace {

using namespace test;

std::size_t place(const Bytes& file, Random& random) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(file.size()) + 1));
}

void flip_bits(Bytes& file, Random& random) {
  for (std::int64_t flips = 1 + random.below(4); flips > 0; --flips) {
    const std::size_t at = place(file, random);
    if (at < file.size()) file[at] ^= static_cast<std::byte>(1 << random.below(8));
  }
}

void truncate(Bytes& file, Random& random) { file.resize(place(file, random)); }

/// Four bytes, mostly where lengths stand, become a number at the edge of something.
void overwrite_length(Bytes& file, Random& random) {
  constexpr std::array<std::uint32_t, 10> kNumbers = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,
                                                      0xfffffffe, 0x00010000, 0x40000000, 0x00000100, 0x0000ffff};
  const std::uint32_t number = kNumbers[static_cast<std::size_t>(random.below(kNumbers.size()))];
  std::size_t at = random.below(4) ? static_cast<std::size_t>(random.below(20)) : place(file, random);
  for (int shift = 24; shift >= 0; shift -= 8, ++at)
    if (at < file.size()) file[at] = static_cast<std::byte>(number >> shift);
}

void repeat_chunk(Bytes& file, Random& random) {
  std::size_t from = place(file, random), to = place(file, random);
  if (from > to) std::swap(from, to);
  const Bytes chunk(file.begin() + static_cast<std::ptrdiff_t>(from), file.begin() + static_cast<std::ptrdiff_t>(to));
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(place(file, random)), chunk.begin(), chunk.end());
}

void replace_bytes(Bytes& file, Random& random) {
  for (std::int64_t count = 1 + random.below(8); count > 0; --count) {
    const std::size_t at = place(file, random);
    if (at < file.size()) file[at] = static_cast<std::byte>(random.below(256));
  }
}

Bytes mutated(Bytes file, Random& random) {
  constexpr std::array kMutations = {flip_bits, truncate, overwrite_length, repeat_chunk, replace_bytes};
  for (std::int64_t count = 1 + random.below(3); count > 0; --count)
    kMutations[static_cast<std::size_t>(random.below(kMutations.size()))](file, random);
  return file;
}

struct Tally {
  int read = 0, refused = 0;
};

/// Gives `read` 5,000 mutations of each file. Anything but success or a DataError escapes and fails the test.
template <class F>
Tally fuzz(std::initializer_list<Bytes> files, std::uint64_t seed, F read) {
  Tally tally;
  for (const Bytes& file : files) {
    for (std::uint64_t i = 0; i < 5000; ++i) {
      Random random(Key{seed}.split(i));
      const Bytes bytes = mutated(file, random);
      try {
        read(bytes);
        ++tally.read;
      } catch (const DataError& error) {
        EXPECT_TRUE(error.message().starts_with("fuzzed"));
        ++tally.refused;
      }
    }
  }
  return tally;
}

TEST(Fuzz, IdxFilesAreReadOrRefused) {
  const Bytes plain = idx_file({5, 4, 3}, counting(60)), zipped = gzipped(plain);
  // Inside valid gzip, too, so that damage to the IDX file gets past zlib's checks.
  const auto tally = fuzz({plain, zipped, joined(zipped, gzipped({}))}, 1, [](const Bytes& bytes) {
    const IdxArray array = read_idx(bytes, "fuzzed");
    EXPECT_EQ(static_cast<std::int64_t>(array.values.size()), numel(array.shape));
  });
  const auto inside = fuzz({plain}, 2, [](const Bytes& bytes) { read_idx(gzipped(bytes), "fuzzed"); });
  EXPECT_EQ(tally.read + tally.refused + inside.read + inside.refused, 20'000);
  // Neither all nor nothing: the mutations reach both outcomes.
  EXPECT_GT(tally.read, 100);
  EXPECT_GT(tally.refused, 10'000);
  EXPECT_GT(inside.read, 100);
}

TEST(Fuzz, MnistFilesAreReadOrRefused) {
  const Bytes images = idx_file({5, 4, 3}, counting(60)), labels = idx_file({5}, {0, 9, 4, 1, 7});
  const auto touch = [](const Mnist& digits) {
    for (std::int64_t i = 0; i < digits.size(); ++i) {
      const Image image = digits.get(i);
      EXPECT_EQ(static_cast<std::int64_t>(image.pixels.size()), image.height * image.width);
      EXPECT_TRUE(image.label >= 0 && image.label <= 9);
    }
  };
  const auto by_images = fuzz({images, gzipped(images)}, 3, [&](const Bytes& bytes) {
    touch(Mnist::parse(bytes, "fuzzed images", labels, "fuzzed labels"));
  });
  const auto by_labels = fuzz({labels, gzipped(labels)}, 4, [&](const Bytes& bytes) {
    touch(Mnist::parse(images, "fuzzed images", bytes, "fuzzed labels"));
  });
  EXPECT_GT(by_images.read, 100);
  EXPECT_GT(by_labels.read, 100);
}

}  // namespace
}  // namespace kiln
