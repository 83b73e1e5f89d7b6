// What a row of the table says is downloaded, unpacked, and left alone when it is there. A server here plays the public one.
#include "kiln/data/published/published.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "kiln/data/sha256.hpp"

#include "tests/data/http_server.hpp"
#include "tests/data/idx_files.hpp"
#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using namespace test;

std::string sha256_of(std::string_view contents) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(contents)));
  return hash.hex_digest();
}

/// A tar archive (POSIX.1-1988) of files.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive;
  for (const auto& [name, contents] : files) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    char size[12];
    std::snprintf(size, sizeof size, "%011zo", contents.size());
    header.replace(124, 11, size);
    header.replace(148, 8, 8, ' ');
    header[156] = '0';
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    header.replace(148, 7, digits, 7);
    archive += header + contents + std::string((512 - contents.size() % 512) % 512, '\0');
  }
  return archive + std::string(1024, '\0');
}
std::string zipped(const std::string& contents) {
  const Bytes bytes = gzipped(bytes_of(contents));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct PublishedTest : testing::Test {
  static void SetUpTestSuite() { setenv("no_proxy", "127.0.0.1", 1); }

  PublishedRow row(const HttpServer& server, const std::string& contents, bool checksum = true) const {
    return {"set", {{server.url("/a.tar.gz"), std::ssize(contents), checksum ? sha256_of(contents) : ""}}, true};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path()))
      if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(directory.path()).string());
    std::ranges::sort(names);
    return names;
  }
  TemporaryDirectory directory;
};

TEST_F(PublishedTest, FilesAreDownloadedOnce) {
  HttpServer server([&](const Request& request) { return served(request, "contents of " + request.path); });
  PublishedRow row{"set", {}};
  for (const char* const name : {"/a.csv", "/b.csv"})
    row.files.push_back({server.url(name), 18, sha256_of(std::string("contents of ") + name)});
  EXPECT_EQ(fetch_published(row, directory.path()), directory.path());
  EXPECT_EQ(read_text_file(directory.file("b.csv")), "contents of /b.csv");
  std::filesystem::remove(directory / "a.csv");
  fetch_published(row, directory.path());
  EXPECT_EQ(server.requests().size(), 3u);
  EXPECT_EQ(files(), (std::vector<std::string>{"a.csv", "b.csv"}));
}

TEST_F(PublishedTest, ArchivesAreUnpackedWholeAndOnce) {
  const std::string archive =
      zipped(tar_of({{"./left/a.wav", "one"}, {"left/b.wav", ""}, {"list.txt", std::string(2000, 'x')}}));
  HttpServer server([&](const Request& request) { return served(request, archive); });
  std::vector<std::int64_t> received;
  const auto unpacked =
      fetch_published(row(server, archive), directory.path(),
                      [&](std::string_view, std::int64_t bytes, std::int64_t) { received.push_back(bytes); });
  EXPECT_EQ(unpacked, directory / "unpacked");
  EXPECT_EQ(files(), (std::vector<std::string>{"unpacked/left/a.wav", "unpacked/left/b.wav", "unpacked/list.txt"}));
  EXPECT_EQ(read_text_file((unpacked / "left/a.wav").string()), "one");
  EXPECT_EQ(received.back(), std::ssize(archive));
  EXPECT_EQ(fetch_published(row(server, archive), directory.path()), unpacked);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(PublishedTest, WhatIsWrongLeavesNothingUnpacked) {
  const std::string archive = zipped(tar_of({{"a", "one"}}));
  const auto refused = [&](const std::string& contents, const PublishedRow& row) {
    (void)contents;
    return raised<DataError>([&] { fetch_published(row, directory.path()); });
  };
  const std::string path = directory.file("a.tar.gz");
  {
    HttpServer server([&](const Request& request) { return served(request, archive); });
    PublishedRow other = row(server, archive);
    other.files[0].sha256 = std::string(64, '0');
    EXPECT_NE(refused(archive, other).find("SHA-256 is " + sha256_of(archive)), std::string::npos);
  }
  for (const auto& [contents, sentence] :
       {std::pair(std::string("no archive"), path + ": is no .tar.gz file"),
        std::pair(zipped(tar_of({{"../outside", "x"}})),
                  path + ": has a file '../outside' that would be outside of the directory"),
        std::pair(zipped(tar_of({{"/tmp/outside", "x"}})),
                  path + ": has a file '/tmp/outside' that would be outside of the directory"),
        std::pair(zipped(tar_of({})), path + ": holds no files"),
        std::pair(zipped("x"),
                  path + ".tar: is not a tar file, or cut off: 1 bytes are left where a header should be")}) {
    HttpServer server([&](const Request& request) { return served(request, contents); });
    EXPECT_EQ(refused(contents, row(server, contents, false)), sentence);
    EXPECT_FALSE(std::filesystem::exists(directory / "unpacked"));
    std::filesystem::remove(path);
  }
  // And then what is right.
  HttpServer server([&](const Request& request) { return served(request, archive); });
  EXPECT_TRUE(std::filesystem::exists(fetch_published(row(server, archive, false), directory.path()) / "a"));
}

TEST_F(PublishedTest, AChecksumThatNobodyKnowsIsTheFirstOnes) {
  const std::string first = zipped(tar_of({{"a", "one"}})), other = zipped(tar_of({{"a", "two"}}));
  ASSERT_EQ(first.size(), other.size());
  std::string sent = first;
  HttpServer server([&](const Request& request) { return served(request, sent); });
  const PublishedRow row = this->row(server, first, false);
  testing::internal::CaptureStderr();
  const auto unpacked = fetch_published(row, directory.path());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kiln: a.tar.gz: its publisher says no checksum of it. Its size is right; its SHA-256 is " +
                sha256_of(first) + ", which later downloads are compared with\n");
  const std::string record = directory.file("a.tar.gz.sha256");
  EXPECT_EQ(read_text_file(record), sha256_of(first) + "  a.tar.gz\n");

  std::filesystem::remove_all(unpacked);
  sent = other;
  const std::string said = raised<DataError>([&] { fetch_published(row, directory.path()); });
  EXPECT_NE(said.find("SHA-256 is " + sha256_of(other) + ", expected " + sha256_of(first)), said.npos) << said;
  EXPECT_TRUE(said.ends_with(", as it was at the first download, says " + record)) << said;
  EXPECT_FALSE(std::filesystem::exists(unpacked));

  sent = first;
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_text_file((fetch_published(row, directory.path()) / "a").string()), "one");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  std::filesystem::remove_all(unpacked);
  directory.write("a.tar.gz.sha256", "nothing");
  EXPECT_EQ(raised<DataError>([&] { fetch_published(row, directory.path()); }),
            record + ": has no SHA-256: without this file the next download counts as the first");
}

TEST_F(PublishedTest, AFileOfAnotherSizeIsNoneWhereNothingElseIsKnown) {
  const std::string archive = zipped(tar_of({{"a", "one"}}));
  HttpServer server([&](const Request& request) { return served(request, archive.substr(0, archive.size() - 1)); });
  EXPECT_THROW(fetch_published(row(server, archive, false), directory.path()), IoError);
}

TEST(Published, RowsAreComplete) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(PublishedSet::SpeechCommands); ++i) {
    const PublishedRow& row = published(static_cast<PublishedSet>(i));
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_TRUE(!row.files.empty() && (!row.archive || row.files.size() == 1)) << row.name;
    for (const PublishedFile& file : row.files) {
      EXPECT_TRUE(file.url.starts_with("http") && file.bytes > 1000) << file.url;
      EXPECT_TRUE(file.sha256.size() == 64 || row.name == "dbpedia") << file.url;
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos);
      EXPECT_EQ(row.archive, file.name().ends_with(".tgz") || file.name().ends_with(".tar.gz"));
    }
  }
  EXPECT_EQ(find_published(PublishedSet::Cifar10, "/given"), "/given");
}

}  // namespace
}  // namespace kiln
