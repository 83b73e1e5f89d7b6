#include "kiln/data/download.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "kiln/data/mnist.hpp"
#include "kiln/data/sha256.hpp"

#include "kiln/data/curl/transfer.hpp"

#include "tests/data/http_server.hpp"
#include "tests/data/idx_files.hpp"
#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using namespace test;

/// 200,000 bytes that do not repeat: more than one piece of libcurl's.
std::string some_contents() {
  std::string contents;
  Random random(1);
  while (contents.size() < 200'000) contents += static_cast<char>(random.below(256));
  return contents;
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DownloadTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("no_proxy", "127.0.0.1", 1); }

  std::string sha256() const {
    Sha256 hash;
    hash.update(std::as_bytes(std::span(contents)));
    return hash.hex_digest();
  }
  Download file(std::vector<std::string> urls) const {
    return {.urls = std::move(urls),
            .sha256 = sha256(),
            .bytes = static_cast<std::int64_t>(contents.size()),
            .stall_seconds = 5};
  }
  Download file(const HttpServer& server) const { return file({server.url("/f.gz")}); }

  const std::string contents = some_contents();
  TemporaryDirectory directory;
  const std::filesystem::path target = directory / "new/f.gz", part = directory / "new/f.gz.part";
};

TEST(Transfer, IsRedirectedFromHttpsToHttpsAlone) {
  EXPECT_STREQ(redirect_protocols("https://host/f"), "https");
  EXPECT_STREQ(redirect_protocols("HTTPS://host/f"), "https");
  EXPECT_STREQ(redirect_protocols("http://host/f"), "http,https");
  EXPECT_STREQ(redirect_protocols("http"), "http,https");
}

TEST_F(DownloadTest, PutsTheWholeFileInPlaceAndReportsProgress) {
  HttpServer server([&](const Request& request) { return served(request, contents); });
  std::vector<std::int64_t> received;
  download(file(server), target, [&](std::string_view name, std::int64_t bytes, std::int64_t total) {
    EXPECT_EQ(name, "f.gz");
    EXPECT_EQ(total, 200'000);
    received.push_back(bytes);
  });
  EXPECT_EQ(contents_of(target), contents);
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_TRUE(std::is_sorted(received.begin(), received.end()));
  EXPECT_EQ(received.back(), 200'000);
  EXPECT_EQ(server.requests().at(0).path, "/f.gz");

  download(file(server), target);  // it is there: nothing is asked
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(DownloadTest, ResumesWhereAnEarlierAttemptStopped) {
  std::filesystem::create_directories(target.parent_path());
  write_file(part, bytes_of(contents.substr(0, 70'000)));
  HttpServer server([&](const Request& request) { return served(request, contents); });
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].range, "bytes=70000-");
}

TEST_F(DownloadTest, OnlyVerifiesAPartThatIsWhole) {
  std::filesystem::create_directories(target.parent_path());
  write_file(part, bytes_of(contents));
  HttpServer server([&](const Request& request) { return served(request, contents); });
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(DownloadTest, TakesUpAnInterruptedTransfer) {
  // The first answer breaks off after 50,000 bytes, the second 60,000 bytes later.
  int answers = 0;
  HttpServer server([&](const Request& request) {
    const std::string whole = served(request, contents);
    const std::size_t head = whole.find("\r\n\r\n") + 4;
    ++answers;
    return answers < 3 ? whole.substr(0, head + (answers == 1 ? 50'000 : 60'000)) : whole;
  });
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
  ASSERT_EQ(server.requests().size(), 3u);
  EXPECT_EQ(server.requests()[1].range, "bytes=50000-");
  EXPECT_EQ(server.requests()[2].range, "bytes=110000-");
}

TEST_F(DownloadTest, KeepsThePartOfATransferThatKeepsBreakingOff) {
  HttpServer server([&](const Request& request) {
    const std::string whole = served(request, contents);
    return whole.substr(0, whole.find("\r\n\r\n") + 4 + 10'000);
  });
  const std::string sentence = raised<IoError>([&] { download(file(server), target); });
  EXPECT_NE(sentence.find(target.string() + ": " + server.url("/f.gz") + ": "), std::string::npos) << sentence;
  EXPECT_EQ(server.requests().size(), 3u);
  EXPECT_EQ(contents_of(part), contents.substr(0, 30'000));
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(DownloadTest, StartsAnewWhereTheServerIgnoresTheRange) {
  std::filesystem::create_directories(target.parent_path());
  write_file(part, bytes_of(contents.substr(0, 70'000)));
  HttpServer server([&](const Request&) { return response("200 OK", contents, 200'000); });
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(DownloadTest, StartsAnewWhereTheServerSendsAnotherRange) {
  std::filesystem::create_directories(target.parent_path());
  write_file(part, bytes_of(contents.substr(0, 70'000)));
  HttpServer server([&](const Request& request) {
    if (request.range.empty()) return served(request, contents);
    return response("206 Partial Content", contents.substr(60'000), 140'000,
                    "Content-Range: bytes 60000-199999/200000\r\n");
  });
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(DownloadTest, StartsAnewWhereThePartBelongsToAnotherFile) {
  std::filesystem::create_directories(target.parent_path());
  write_file(part, bytes_of(std::string(70'000, 'x')));
  HttpServer server([&](const Request& request) { return served(request, contents); });
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
  EXPECT_EQ(server.requests().size(), 2u);

  std::filesystem::remove(target);
  write_file(part, bytes_of(std::string(300'000, 'x')));
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
}

TEST_F(DownloadTest, RefusesAWrongChecksum) {
  std::string other = contents;
  other[123] ^= 1;
  HttpServer server([&](const Request& request) { return served(request, other); });
  const std::string sentence = raised<DataError>([&] { download(file(server), target); });
  EXPECT_NE(sentence.find(", expected " + sha256()), std::string::npos) << sentence;
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(DownloadTest, CutsOffAServerThatSendsTooMuch) {
  const std::string endless(5'000'000, 'x');
  HttpServer server([&](const Request&) { return response("200 OK", endless, -1); });
  EXPECT_EQ(raised<DataError>([&] { download(file(server), target); }),
            text("download of ", target.string(), ": ", server.url("/f.gz"),
                 ": the server sends more than the 200000 bytes of the file"));
  EXPECT_FALSE(std::filesystem::exists(part));
}

TEST_F(DownloadTest, SaysWhatTheServerAnswered) {
  HttpServer server([&](const Request&) { return response("404 Not Found", "no such file", 12); });
  EXPECT_EQ(raised<IoError>([&] { download(file(server), target); }),
            text("download of ", target.string(), ": ", server.url("/f.gz"), ": the server answered 404"));
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(DownloadTest, TriesTheNextUrl) {
  HttpServer server([&](const Request& request) {
    return request.path == "/b.gz" ? served(request, contents) : response("503 Service Unavailable", "", 0);
  });
  download(file({server.url("/a.gz"), "http://127.0.0.1:1/closed.gz", "gopher://127.0.0.1/", server.url("/b.gz")}),
           target);
  EXPECT_EQ(contents_of(target), contents);
}

TEST_F(DownloadTest, FollowsARedirection) {
  HttpServer server([&](const Request& request) {
    return request.path == "/f.gz" ? response("302 Found", "moved", 5, "Location: /elsewhere\r\n")
                                   : served(request, contents);
  });
  download(file(server), target);
  EXPECT_EQ(contents_of(target), contents);
}

TEST_F(DownloadTest, EndsWithWhatTheProgressThrows) {
  HttpServer server([&](const Request& request) { return served(request, contents); });
  const auto cancel = [](std::string_view, std::int64_t, std::int64_t) { throw std::runtime_error("cancelled"); };
  EXPECT_THROW(download(file(server), target, cancel), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(DownloadTest, LetsOneOfSeveralCallersDownload) {
  HttpServer server([&](const Request& request) { return served(request, contents); });
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i) callers.emplace_back([&] { download(file(server), target); });
  }
  EXPECT_EQ(contents_of(target), contents);
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(DownloadTest, ReportsADirectoryThatCannotBeMade) {
  write_file(directory / "new", {});
  EXPECT_NE(raised<IoError>([&] { download(file({"http://127.0.0.1:1/"}), target); }).find("cannot be made"),
            std::string::npos);
}

TEST_F(DownloadTest, FetchesOnlyTheMnistFilesThatAreMissing) {
  for (const char* name : {"train-images-idx3-ubyte", "train-labels.idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz"})
    write_file(directory / name, {});
  HttpServer server([&](const Request&) { return response("404 Not Found", "", 0); });
  EXPECT_NE(raised<IoError>([&] {
              download_mnist(directory.path(), {}, server.url("/mnist/"));
            }).find("t10k-labels-idx1-ubyte.gz: the server answered 404"),
            std::string::npos);
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].path, "/mnist/t10k-labels-idx1-ubyte.gz");
}

}  // namespace
}  // namespace kiln
