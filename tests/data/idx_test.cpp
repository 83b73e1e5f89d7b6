#include "kiln/data/idx.hpp"

#include <array>

#include <gtest/gtest.h>

#include "kiln/data/gzip.hpp"

#include "tests/data/idx_files.hpp"
#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using namespace test;

std::string refusal(const Bytes& file) {
  return raised<DataError>([&] { read_idx(file, "digits.idx"); });
}

TEST(Idx, ReadsShapeAndValuesPlainAndGzipped) {
  const Bytes plain = idx_file({2, 3, 4}, counting(24));
  for (const Bytes& file : {plain, gzipped(plain)}) {
    const IdxArray array = read_idx(file, "digits.idx");
    EXPECT_EQ(array.shape, (Shape{2, 3, 4}));
    EXPECT_EQ(array.values, counting(24));
  }
}

TEST(Idx, ReadsAnArrayWithoutElements) {
  EXPECT_TRUE(read_idx(idx_file({0, 28, 28}, {}), "digits.idx").values.empty());
  EXPECT_TRUE(read_idx(gzipped(idx_file({0}, {})), "digits.idx").values.empty());
}

TEST(Idx, RefusesWhatIsNoIdxFileOfBytes) {
  EXPECT_EQ(refusal({}), "digits.idx: the file ends inside its IDX header");
  EXPECT_EQ(refusal(bytes_of("PNG....")), "digits.idx: this is no IDX file: it does not begin with two zero bytes");
  Bytes floats = idx_file({1}, {0});
  floats[2] = std::byte{0x0d};
  EXPECT_EQ(refusal(floats), "digits.idx: the IDX element type is 13, only 8 (unsigned bytes) can be read");
  EXPECT_EQ(refusal(idx_file({}, {})), "digits.idx: the IDX header claims 0 dimensions, it should have 1 to 8");
  EXPECT_EQ(refusal(idx_file({1, 1, 1, 1, 1, 1, 1, 1, 1}, {0})),
            "digits.idx: the IDX header claims 9 dimensions, it should have 1 to 8");
}

TEST(Idx, RefusesAFileCutOffAnywhere) {
  for (const bool zip : {false, true}) {
    const Bytes whole = zip ? gzipped(idx_file({2, 3}, counting(6))) : idx_file({2, 3}, counting(6));
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_FALSE(refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))).empty())
          << length;
  }
  EXPECT_EQ(refusal(idx_file({2, 3}, counting(5))),
            "digits.idx: the IDX header claims shape [2, 3], the file is too short to hold that");
  EXPECT_EQ(refusal(gzipped(idx_file({2, 3}, counting(5)))),
            "digits.idx: the IDX header claims shape [2, 3], but only 5 of 6 bytes follow");
}

TEST(Idx, RefusesBytesBehindTheEnd) {
  const char* sentence = "digits.idx: bytes follow after the 6 that the IDX header claims";
  EXPECT_EQ(refusal(idx_file({2, 3}, counting(7))), sentence);
  EXPECT_EQ(refusal(gzipped(idx_file({2, 3}, counting(7)))), sentence);
}

TEST(Idx, RefusesSizesThatOverflowOrCannotBeHeld) {
  const auto most = 0xffffffffu;
  EXPECT_NE(refusal(idx_file({most, most, most}, {})).find("more than the 1073741824 bytes"), std::string::npos);
  EXPECT_NE(refusal(idx_file({1u << 31, 1}, {})).find("more than the 1073741824 bytes"), std::string::npos);
  EXPECT_NE(refusal(idx_file({1u << 30}, {})).find("too short"), std::string::npos);
  EXPECT_NE(refusal(gzipped(idx_file({1u << 30}, {}))).find("too short"), std::string::npos);
  EXPECT_EQ(raised<DataError>([] { read_idx(idx_file({3, 3}, counting(9)), "digits.idx", 8); }),
            "digits.idx: the IDX header claims shape [3, 3], more than the 8 bytes that are allowed");
}

TEST(Idx, InflatesNoMoreOfAGzipBombThanItsHeaderClaims) {
  // A hundred megabytes of zeros behind an honest header of four bytes.
  Bytes bomb = idx_file({4}, {1, 2, 3, 4});
  bomb.resize(bomb.size() + 100'000'000);
  EXPECT_EQ(refusal(gzipped(bomb)), "digits.idx: bytes follow after the 4 that the IDX header claims");
}

TEST(Gzip, ReadsMembersInARowAsOne) {
  const Bytes file = joined(joined(gzipped(idx_file({2, 3}, {})), gzipped({})), gzipped(Bytes(6, std::byte{7})));
  EXPECT_EQ(read_idx(file, "digits.idx").values, std::vector<std::uint8_t>(6, 7));
}

TEST(Gzip, RefusesDamage) {
  const Bytes whole = gzipped(idx_file({2, 3}, counting(6)));
  EXPECT_EQ(refusal(joined(whole, bytes_of("junk"))), "digits.idx: 4 stray bytes follow the gzip data");
  Bytes checksum = whole;
  checksum[whole.size() - 8] ^= std::byte{1};
  EXPECT_EQ(refusal(checksum), "digits.idx: the gzip data is damaged: incorrect data check");
  Bytes length = whole;
  length[whole.size() - 1] ^= std::byte{1};
  EXPECT_EQ(refusal(length), "digits.idx: the gzip data is damaged: incorrect length check");
  const Bytes half(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2));
  EXPECT_NE(refusal(half).find("cut off"), std::string::npos);
}

TEST(Gzip, ReadsInPiecesOfAnySize) {
  const Bytes contents = idx_file({10'000}, counting(10'000)), file = gzipped(contents);
  for (const std::size_t piece : {1u, 17u, 4096u, 20'000u}) {
    GzipReader reader(file, "digits.gz");
    Bytes all;
    for (Bytes buffer(piece);;) {
      const std::size_t got = reader.read(buffer);
      all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
      if (got < piece) break;
    }
    EXPECT_EQ(all, contents) << piece;
  }
}

}  // namespace
}  // namespace kiln
