// A hub on loopback, whose answers are those that Hugging Face's gives.
#include "kiln/data/hub/hub.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "kiln/core/file.hpp"
#include "kiln/core/random.hpp"
#include "kiln/data/sha256.hpp"

#include "tests/data/http_server.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using namespace test;

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567", kOther(40, 'e');
const std::string kToken = "hf_secretSECRET123";

std::string digest_of(const std::string& contents) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(contents)));
  return hash.hex_digest();
}

/// 300,000 bytes that do not repeat.
std::string large_contents() {
  std::string contents;
  for (std::uint64_t i = 0; contents.size() < 300'000; ++i) contents += static_cast<char>(random_word(Key{1}, i));
  return contents;
}

struct Stored {
  std::string contents;
  bool large = false;  // kept on another host, by SHA-256
};

class HubTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("no_proxy", "127.0.0.1", 1);
    for (const char* name : {"HF_TOKEN", "HF_HUB_OFFLINE", "HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE"}) unsetenv(name);
  }

  std::string answer_of(const Request& request) {
    if (override_) {
      const std::string answer = override_(request);
      if (!answer.empty()) return answer;
    }
    if (request.path.starts_with("/api/")) {
      const bool converted = request.path.ends_with("/revision/refs%2Fconvert%2Fparquet");
      if (!converted && !request.path.ends_with("/revision/main"))
        return response("404 Not Found", "{}", 2,
                        "X-Error-Code: RevisionNotFound\r\nX-Error-Message: Invalid rev id\r\n");
      std::string names;
      for (const auto& [name, stored] : converted ? converted_ : files_)
        names += text(names.empty() ? "" : ",", "{\"rfilename\":\"", name, "\"}");
      const std::string body =
          text("{\"id\":\"x\",\"sha\":\"", converted ? kOther : kCommit, "\",\"siblings\":[", names, "]}");
      return response("200 OK", body, std::ssize(body));
    }
    const std::size_t at = request.path.find("/resolve/");
    const std::string commit = request.path.substr(at + 9, 40), name = request.path.substr(at + 50);
    const auto& files = commit == kOther ? converted_ : files_;
    const auto found = files.find(name);
    if (found == files.end())
      return response("404 Not Found", "", 0, "X-Error-Code: EntryNotFound\r\nX-Error-Message: Entry not found\r\n");
    const auto& [contents, large] = found->second;
    if (large)
      return response(
          "302 Found", "", 0,
          text("X-Linked-Etag: \"", digest_of(contents), "\"\r\nX-Linked-Size: ", contents.size(),
               "\r\nX-Repo-Commit: ", commit, "\r\nLocation: ", elsewhere_.url("/" + name), "?Signature=sig123\r\n"));
    const std::string etag = "ETag: \"" + digest_of(contents).substr(0, 40) + "\"\r\n";
    if (request.method == "HEAD") return response("200 OK", "", std::ssize(contents), etag);
    return served(request, contents);
  }

  HubOptions options() const { return {.endpoint = hub_.url(""), .cache = cache(), .stall_seconds = 5}; }
  fs::path cache() const { return directory_ / "hub"; }
  fs::path folder() const { return cache() / "models--org--name"; }
  fs::path fetched(const std::string& path, const HubOptions& options) const {
    return hub_file(HubKind::Model, "org/name", path, options);
  }

  TemporaryDirectory directory_;
  std::map<std::string, Stored> files_{{"config.json", {"{\"a\": 1}"}},
                                       {"sub/tokenizer.json", {"{}"}},
                                       {"model.safetensors", {large_contents(), true}},
                                       {"README.md", {"# words"}}};
  std::map<std::string, Stored> converted_;
  std::function<std::string(const Request&)> override_;
  std::string cut_;  // what the other host sends of a file at first
  HttpServer elsewhere_{[this](const Request& request) {
    const std::string name = request.path.substr(1, request.path.find('?') - 1);
    const std::string& contents = files_.count(name) ? files_.at(name).contents : converted_.at(name).contents;
    if (!cut_.empty()) return response("200 OK", std::exchange(cut_, ""), std::ssize(contents));
    return served(request, contents);
  }};
  HttpServer hub_{[this](const Request& request) { return answer_of(request); }};
};

TEST_F(HubTest, KeepsFilesInTheLayoutThatOthersShare) {
  const fs::path file = fetched("model.safetensors", options());
  EXPECT_EQ(file, folder() / "snapshots" / kCommit / "model.safetensors");
  EXPECT_EQ(read_text_file(file.string()), files_.at("model.safetensors").contents);
  const std::string digest = digest_of(files_.at("model.safetensors").contents);
  EXPECT_EQ(fs::read_symlink(file), fs::path("../../blobs") / digest);
  EXPECT_EQ(read_text_file((folder() / "refs/main").string()), kCommit);
  EXPECT_EQ(fs::read_symlink(fetched("sub/tokenizer.json", options())),
            fs::path("../../../blobs") / digest_of("{}").substr(0, 40));
  EXPECT_EQ(elsewhere_.requests().size(), 1u);
  const std::size_t asked = hub_.requests().size();
  fetched("model.safetensors", options());  // its commit is asked for, its contents are here
  EXPECT_EQ(hub_.requests().size(), asked + 1);
  EXPECT_EQ(elsewhere_.requests().size(), 1u);
  HubOptions exact = options();
  exact.revision = kCommit;
  fetched("model.safetensors", exact);  // a commit never changes
  EXPECT_EQ(hub_.requests().size(), asked + 1);
  EXPECT_EQ(hub_files(HubKind::Model, "org/name", options()),
            (std::vector<std::string>{"README.md", "config.json", "model.safetensors", "sub/tokenizer.json"}));
}

// A cache that huggingface_hub has made, link by link.
TEST_F(HubTest, FindsWhatOthersHaveFetched) {
  directory_.write("hub/models--org--name/refs/main", kOther);
  directory_.write("hub/models--org--name/blobs/abc", "theirs");
  fs::create_directories(folder() / "snapshots" / kOther);
  fs::create_symlink("../../blobs/abc", folder() / "snapshots" / kOther / "config.json");
  HubOptions offline = options();
  offline.offline = true;
  EXPECT_EQ(read_text_file(fetched("config.json", offline).string()), "theirs");
  EXPECT_EQ(hub_files(HubKind::Model, "org/name", offline), (std::vector<std::string>{"config.json"}));
  EXPECT_EQ(raised<IoError>([&] { fetched("other.json", offline); }),
            text("hub: org/name: other.json is not in ", folder().string(),
                 ", and the program is offline (HF_HUB_OFFLINE or HubOptions::offline)"));
  offline.revision = "v2";
  EXPECT_EQ(raised<IoError>([&] { fetched("config.json", offline); }),
            text("hub: org/name at v2 is not in ", folder().string(),
                 ", and the program is offline (HF_HUB_OFFLINE or HubOptions::offline)"));
  EXPECT_EQ(hub_.requests().size(), 0u);
}

TEST_F(HubTest, TakesSettingsFromTheEnvironment) {
  setenv("HF_ENDPOINT", hub_.url("/").c_str(), 1);
  setenv("HF_HOME", directory_.file("home").c_str(), 1);
  setenv("HF_TOKEN", kToken.c_str(), 1);
  EXPECT_EQ(hub_file(HubKind::Model, "org/name", "config.json"),
            directory_ / "home/hub/models--org--name/snapshots" / kCommit / "config.json");
  EXPECT_EQ(hub_.requests().at(0).authorization, "Bearer " + kToken);
  setenv("HF_HUB_CACHE", directory_.file("elsewhere").c_str(), 1);
  setenv("HF_HUB_OFFLINE", "1", 1);
  EXPECT_THROW(hub_file(HubKind::Model, "org/name", "config.json"), IoError);
  setenv("HF_HUB_OFFLINE", "perhaps", 1);
  EXPECT_EQ(raised<ArgumentError>([] { hub_file(HubKind::Model, "org/name", "config.json"); }),
            "HF_HUB_OFFLINE=PERHAPS: it must be 0 or 1");
  SetUpTestSuite();
}

TEST_F(HubTest, GivesTheTokenToTheHubAlone) {
  HubOptions with_token = options();
  with_token.token = kToken;
  fetched("model.safetensors", with_token);
  fetched("config.json", with_token);
  for (const Request& request : hub_.requests()) EXPECT_EQ(request.authorization, "Bearer " + kToken) << request.path;
  ASSERT_EQ(elsewhere_.requests().size(), 1u);
  EXPECT_EQ(elsewhere_.requests()[0].authorization, "");
  // A hub that redirects the contents themselves, after it said that they are here.
  files_["late.json"] = {"late"};
  override_ = [&](const Request& request) {
    return request.method == "GET" && request.path.ends_with("late.json")
               ? response("302 Found", "", 0, text("Location: ", elsewhere_.url("/late.json"), "\r\n"))
               : "";
  };
  EXPECT_NE(raised<IoError>([&] { fetched("late.json", with_token); }).find("the server answered 302"),
            std::string::npos);
  // A host whose name begins with the hub's.
  override_ = [&](const Request& request) {
    return request.path.ends_with("late.json")
               ? response("302 Found", "", 0,
                          text("X-Linked-Etag: \"", digest_of("late"),
                               "\"\r\nX-Linked-Size: 4\r\nLocation: ", hub_.url(""), "@127.0.0.1:1/late.json\r\n"))
               : "";
  };
  const std::string sentence = raised<IoError>([&] { fetched("late.json", with_token); });
  EXPECT_EQ(sentence.find(kToken), std::string::npos);
  EXPECT_EQ(elsewhere_.requests().size(), 1u);
}

TEST_F(HubTest, NeverSaysTheToken) {
  HubOptions with_token = options();
  with_token.token = kToken;
  override_ = [&](const Request&) {
    return response("403 Forbidden", "", 0, text("X-Error-Message: token ", kToken, " is gated\r\n"));
  };
  EXPECT_EQ(
      raised<IoError>([&] { fetched("config.json", with_token); }),
      "hub: org/name at main: the hub answered 403 (token *** is gated): the token of HF_TOKEN or HubOptions::token "
      "may not read it, or its terms were not accepted");
  with_token.token = "hf_a\nX-Evil: 1";
  EXPECT_EQ(raised<ArgumentError>([&] { fetched("config.json", with_token); }),
            "hub: the token has spaces, ends of lines or other characters that no token has");
  HubOptions strange = options();
  strange.endpoint = "https://user:secret@host";
  EXPECT_EQ(raised<ArgumentError>([&] { fetched("config.json", strange); }),
            "hub: the endpoint 'host' is no address like https://huggingface.co");
}

TEST_F(HubTest, SaysWhatTheHubAnswered) {
  const auto answered = [&](const std::string& status, const std::string& headers) {
    override_ = [=](const Request&) { return response(status, "", 0, headers); };
    return raised<IoError>([&] { fetched("config.json", options()); });
  };
  EXPECT_EQ(
      answered("401 Unauthorized", "X-Error-Message: Repository not found\r\n"),
      "hub: org/name at main: the hub answered 401 (Repository not found): there is no such repository, or it needs a "
      "token: set HF_TOKEN to one that may read it");
  EXPECT_EQ(
      answered("429 Too Many Requests", "Retry-After: 300\r\n"),
      "hub: org/name at main: the hub answered 429: too many requests; try again after 300 s, and what has arrived is "
      "kept");
  EXPECT_EQ(
      answered("429 Too Many Requests", ""),
      "hub: org/name at main: the hub answered 429: too many requests; try again later, and what has arrived is kept");
  EXPECT_EQ(answered("503 Service Unavailable", ""), "hub: org/name at main: the hub answered 503");
  override_ = nullptr;
  EXPECT_EQ(
      raised<IoError>([&] { fetched("none.json", options()); }),
      "hub: org/name: none.json: the hub answered 404 (Entry not found): it has no such repository, revision or file");
  HubOptions unknown = options();
  unknown.revision = "v9";
  EXPECT_EQ(raised<IoError>([&] { fetched("config.json", unknown); }),
            "hub: org/name at v9: the hub answered 404 (Invalid rev id): it has no such repository, revision or file");
  HubOptions closed = options();
  closed.endpoint = "http://127.0.0.1:1";
  const std::string sentence = raised<IoError>([&] { fetched("config.json", closed); });
  EXPECT_TRUE(sentence.starts_with("hub: org/name at main: http://127.0.0.1:1/api/models/org/name/revision/main: "))
      << sentence;
  EXPECT_TRUE(sentence.ends_with("; HF_HUB_OFFLINE=1 uses what is in the cache")) << sentence;
}

TEST_F(HubTest, TrustsNoAnswer) {
  const auto listed = [&](const std::string& body) {
    override_ = [=](const Request&) { return response("200 OK", body, std::ssize(body)); };
    try {
      hub_files(HubKind::Model, "org/name", options());
    } catch (const Error& error) { return std::string(error.what()); }
    return std::string();
  };
  EXPECT_EQ(listed("{}"),
            text("DataError: hub: org/name at main: the hub's answer has no commit: is ", hub_.url(""), " a hub?"));
  EXPECT_TRUE(listed("<html>").starts_with("ConfigError: http://127.0.0.1"));
  const std::string sha = "{\"sha\":\"" + kCommit + "\"";
  EXPECT_EQ(listed(sha + "}"), "DataError: hub: org/name at main: the hub's answer has no list of files");
  EXPECT_EQ(listed("{\"sha\":\"../../..\"}"),
            text("DataError: hub: org/name at main: the hub's answer has no commit: is ", hub_.url(""), " a hub?"));
  for (const std::string name : {"../x", "/etc/x", "a//b", "a/../b", "", "a\\\\b", "a\\u0000b"})
    EXPECT_TRUE(listed(sha + ",\"siblings\":[{\"rfilename\":\"" + name + "\"}]}")
                    .starts_with("DataError: hub: org/name at main: the hub names a file that cannot be: "))
        << name;
  const auto headed = [&](const std::string& status, const std::string& headers) {
    override_ = [=](const Request& request) {
      return request.method == "HEAD" ? response(status, "", 0, headers) : std::string();
    };
    try {
      fetched("config.json", options());
    } catch (const Error& error) { return std::string(error.what()); }
    return std::string();
  };
  EXPECT_EQ(headed("200 OK", "ETag: \"../../x\"\r\n"),
            "DataError: hub: org/name: config.json: the hub names its contents '../../x', which is no ETag");
  EXPECT_EQ(headed("200 OK", ""),
            "DataError: hub: org/name: config.json: the hub names its contents '', which is no ETag");
  override_ = [](const Request& request) {
    return request.method == "HEAD" ? response("200 OK", "", -1, "ETag: \"abc\"\r\n") : std::string();
  };
  EXPECT_EQ(raised<IoError>([&] { fetched("config.json", options()); }),
            "hub: org/name: config.json: the hub does not say how large the file is");
  EXPECT_EQ(headed("302 Found", "Location: //other/x\r\n"),
            "IoError: hub: org/name: config.json: the hub redirects to //other/x, which is no address");
  EXPECT_EQ(headed("302 Found", "Location: /again\r\n"),
            "IoError: hub: org/name: config.json: the hub redirects more than 5 times");
  EXPECT_EQ(raised<ArgumentError>([&] { fetched("../x", options()); }),
            "hub: org/name: '../x' is no path in a repository");
  for (const char* name : {"", "a/b/c", "../x", "a--b/c", "org/na me"})
    EXPECT_THROW(hub_files(HubKind::Model, name, options()), ArgumentError) << name;
  HubOptions strange = options();
  strange.revision = "../main";
  EXPECT_EQ(raised<ArgumentError>([&] { fetched("x", strange); }), "hub: org/name: the revision '../main' cannot be");
  EXPECT_FALSE(fs::exists(cache() / ".." / "x"));
}

TEST_F(HubTest, ResumesWhatWasCut) {
  const std::string& contents = files_.at("model.safetensors").contents;
  cut_ = contents.substr(0, 100'000);
  HubOptions once = options();
  once.attempts = 1;
  const std::string sentence = raised<IoError>([&] { fetched("model.safetensors", once); });
  EXPECT_EQ(sentence.find("sig123"), std::string::npos) << sentence;  // a signature lets anybody read the file
  const fs::path part = folder() / "blobs" / (digest_of(contents) + ".part");
  EXPECT_EQ(fs::file_size(part), 100'000u);
  EXPECT_FALSE(fs::exists(folder() / "snapshots" / kCommit / "model.safetensors"));
  EXPECT_EQ(read_text_file(fetched("model.safetensors", once).string()), contents);
  EXPECT_EQ(elsewhere_.requests().back().range, "bytes=100000-");
  EXPECT_FALSE(fs::exists(part));
}

TEST_F(HubTest, RefusesOtherContentsThanTheHubSays) {
  override_ = [&](const Request& request) {
    return request.path.ends_with("model.safetensors")
               ? response("302 Found", "", 0,
                          text("X-Linked-Etag: \"", std::string(64, 'a'), "\"\r\nX-Linked-Size: 300000\r\nLocation: ",
                               elsewhere_.url("/model.safetensors"), "\r\n"))
               : "";
  };
  const std::string sentence = raised<DataError>([&] { fetched("model.safetensors", options()); });
  EXPECT_NE(sentence.find("SHA-256 is " + digest_of(files_.at("model.safetensors").contents)), std::string::npos)
      << sentence;
  EXPECT_FALSE(fs::exists(folder() / "blobs" / std::string(64, 'a')));
  EXPECT_FALSE(fs::exists(folder() / "snapshots" / kCommit / "model.safetensors"));
}

TEST_F(HubTest, SaysThatTheDiskIsFull) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{64 * 1024, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string sentence = raised<IoError>([&] { fetched("model.safetensors", options()); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(sentence.find("the file cannot be written: File too large"), std::string::npos) << sentence;
  fetched("model.safetensors", options());
  EXPECT_EQ(elsewhere_.requests().back().range, "bytes=65536-");
}

TEST_F(HubTest, FetchesAModel) {
  const fs::path folder = from_hub("org/name", "main", options());
  EXPECT_TRUE(fs::exists(folder / "config.json"));
  EXPECT_TRUE(fs::exists(folder / "model.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "README.md"));
  files_.erase("model.safetensors");
  EXPECT_EQ(raised<DataError>([&] { from_hub("org/name", "main", options()); }),
            "hub: org/name has no weights as .safetensors or .bin: hub_file() fetches other files by their names");
}

struct Labelled {
  std::int64_t label = 0;
};

TEST_F(HubTest, ReadsTheSplitOfADataSet) {
  const Stored rows{read_text_file(KILN_PARQUET "/plain.parquet"), true};
  files_ = {{"data/train-00000-of-00002.parquet", rows},
            {"data/train-00001-of-00002.parquet", rows},
            {"data/test-00000-of-00001.parquet", rows},
            {"README.md", {"words"}}};
  const auto train = hub_dataset<Labelled>("org/data", "train", options());
  ASSERT_EQ(train->size(), 140);
  EXPECT_EQ(train->get(73).label, 3);
  EXPECT_EQ(elsewhere_.requests().size(), 1u);  // both have the same contents
  EXPECT_EQ(hub_.requests().at(0).path, "/api/datasets/org/data/revision/main");
  EXPECT_EQ(hub_.requests().at(1).path, "/datasets/org/data/resolve/" + kCommit + "/data/train-00000-of-00002.parquet");
  HubOptions offline = options();
  offline.offline = true;
  EXPECT_EQ(hub_dataset<Labelled>("org/data", "train", offline)->size(), 140);

  // Files whose names do not count them, one of which has not arrived.
  files_ = {{"train/0.parquet", rows}, {"train/1.parquet", rows}};
  hub_dataset<Labelled>("org/parts", "train", options());
  const fs::path parts = cache() / "datasets--org--parts";
  fs::remove(parts / "snapshots" / kCommit / "train/1.parquet");
  EXPECT_EQ(raised<IoError>([&] { hub_split("org/parts", "train", offline); }),
            text("hub: org/parts: train/1.parquet is not in ", parts.string(),
                 ", and the program is offline (HF_HUB_OFFLINE or HubOptions::offline)"));
  fs::remove(parts / "lists" / kCommit);
  EXPECT_EQ(raised<IoError>([&] { hub_split("org/parts", "train", offline); }),
            "hub: org/parts: the cache does not say whether it has all files of 'train', whose names do not count "
            "them: read it once without HF_HUB_OFFLINE or HubOptions::offline");

  files_ = {{"data.csv", {"a,b"}}};
  converted_ = {{"one/train/0000.parquet", rows}, {"two/train/0000.parquet", rows}, {"one/test/0000.parquet", rows}};
  EXPECT_EQ(hub_dataset<Labelled>("org/csv", "test", options())->size(), 70);
  EXPECT_EQ(raised<DataError>([&] { hub_dataset<Labelled>("org/csv", "train", options()); }),
            "hub: org/csv: has Parquet files of 'train' in one/train and in two/train: select one of them");
  HubOptions one = options();
  one.config = "two";
  EXPECT_EQ(hub_dataset<Labelled>("org/csv", "train", one)->size(), 70);
  EXPECT_EQ(raised<DataError>([&] { hub_dataset<Labelled>("org/csv", "valid", options()); }),
            "hub: org/csv: has no Parquet files of 'valid'");
}

}  // namespace
}  // namespace kiln
