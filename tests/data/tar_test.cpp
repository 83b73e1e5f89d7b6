#include "kiln/data/tar.hpp"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"

#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;

/// A header and contents as POSIX.1-1988 lays them out.
std::string entry(const std::string& name, const std::string& contents, char kind = '0',
                  const std::string& prefix = "") {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  const auto octal = [](std::size_t number, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*zo", digits, number);
    return std::string(text);
  };
  put(0, name), put(100, "0000644"), put(124, octal(contents.size(), 11)), put(148, "        ");
  header[156] = kind;
  put(257, "ustar"), put(263, "00"), put(345, prefix);
  std::size_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + '\0');
  return header + contents + std::string((512 - contents.size() % 512) % 512, '\0');
}
const std::string kEnd(1024, '\0');

FileBytes archive_of(std::string_view text, const std::string& name = "t.tar") {
  return {std::as_bytes(std::span(text)), name, nullptr};
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Tar, ListsFiles) {
  const std::string long_name(150, 'n');
  const std::string archive = entry("dir/", "", '5') + entry("dir/a.txt", "hello") + entry("empty", "") +
                              entry("b", std::string(513, 'x'), '\0', "deep/er") + entry("link", "", '2') +
                              entry("././@LongLink", long_name + '\0', 'L') + entry("cut", "1") +
                              entry("pax", "19 mtime=123456789\n15 path=\xc3\xa9.txt\n", 'x') + entry("short", "2") +
                              kEnd;
  const auto entries = read_tar(archive_of(archive));
  std::vector<std::string> names;
  for (const auto& [name, bytes] : entries) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"dir/a.txt", "empty", "deep/er/b", long_name, "\xc3\xa9.txt"}));
  EXPECT_EQ(text_of(entries[0].bytes), "hello");
  EXPECT_EQ(entries[2].bytes.size(), 513u);
  EXPECT_EQ(text_of(entries[4].bytes), "2");
  EXPECT_TRUE(read_tar(archive_of("")).empty());
}

TEST(Tar, PutsSamplesTogether) {
  const std::string first = entry("d/1.jpg", "j") + entry("d/1.cls", "3") + entry("d/.hidden", "") + entry("note", "") +
                            entry("d/2.seg.png", "s") + kEnd,
                    second = entry("d/2.cls", "4");
  const TarSamples samples({archive_of(first), archive_of(second)});
  ASSERT_EQ(samples.size(), 3);
  EXPECT_EQ(samples.get(0).key, "d/1");
  EXPECT_EQ(text_of(samples.get(0).part("cls")), "3");
  EXPECT_EQ(text_of(samples.get(1).part("seg.png")), "s");
  EXPECT_EQ(raised<DataError>([&] { samples.get(1).part("cls"); }), "sample 'd/2' has no part 'cls'");
  const std::string twice = entry("1.a", "") + entry("1.a", "");
  EXPECT_EQ(raised<DataError>([&] { TarSamples({archive_of(twice)}); }), "t.tar: sample '1' has two parts 'a'");
}

TEST(Tar, RefusesDamage) {
  const std::string sound = entry("a.txt", "hello") + entry("b.txt", "world") + kEnd;
  const auto refused = [](const std::string& archive) {
    return raised<DataError>([&] { read_tar(archive_of(archive)); });
  };
  EXPECT_EQ(refused("short"), "t.tar: is not a tar file, or cut off: 5 bytes are left where a header should be");
  EXPECT_EQ(refused(std::string(600, 'x')),
            "t.tar: is not a tar file, or damaged: the header at byte 0 has a wrong checksum");
  EXPECT_EQ(refused(sound.substr(0, 514)), "t.tar: is damaged or cut off: the file at byte 0 does not end in it");
  int read = 0, rejected = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    std::string archive = sound;
    for (std::int64_t changes = 1 + random.below(2); changes > 0; --changes)
      archive[static_cast<std::size_t>(random.below(1600))] = static_cast<char>(random.below(256));
    if (random.below(4) == 0) archive.resize(static_cast<std::size_t>(random.below(std::ssize(archive))));
    try {
      for (const auto& [name, bytes] : read_tar(archive_of(archive))) EXPECT_LE(text_of(bytes).size(), archive.size());
      ++read;
    } catch (const DataError&) { ++rejected; }
  }
  EXPECT_GT(read, 1000);
  EXPECT_GT(rejected, 1000);
}

}  // namespace
}  // namespace kiln
