#include "kiln/data/published/published.hpp"

#include <cstdio>
#include <fstream>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/user_folders.hpp"
#include "kiln/data/gzip.hpp"
#include "kiln/data/part_file.hpp"
#include "kiln/data/sha256.hpp"
#include "kiln/data/tar.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

const std::string kFashion = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
const std::string kNews = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/";
const std::string kToronto = "https://www.cs.toronto.edu/~kriz/";

// The rows are in the order of PublishedSet.
const std::vector<PublishedRow> kRows = {
    {"fashion-mnist",
     {{kFashion + "train-images-idx3-ubyte.gz", 26421880,
       "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
      {kFashion + "train-labels-idx1-ubyte.gz", 29515,
       "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
      {kFashion + "t10k-images-idx3-ubyte.gz", 4422102,
       "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
      {kFashion + "t10k-labels-idx1-ubyte.gz", 5148,
       "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"}}},
    {"cifar-10",
     {{kToronto + "cifar-10-binary.tar.gz", 170052171,
       "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}},
     true},
    {"cifar-100",
     {{kToronto + "cifar-100-binary.tar.gz", 168513733,
       "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"}},
     true},
    {"ag-news",
     {{kNews + "train.csv", 29470338, "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e"},
      {kNews + "test.csv", 1857427, "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699"}}},
    {"dbpedia", {{"https://s3.amazonaws.com/fast-ai-nlp/dbpedia_csv.tgz", 68341743, ""}}, true},
    {"california-housing",
     {{"https://ndownloader.figshare.com/files/5976036", 441963,
       "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681", "cal_housing.tgz"}},
     true},
    {"speech-commands",
     {{"https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.02.tar.gz", 2428923189,
       "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58"}},
     true},
};

/// Decompresses the archive to a file next to it, since read_tar() needs all of it.
std::string inflated(const fs::path& archive) {
  const FileBytes file = map_file(archive.string());
  require<DataError>(is_gzip(file.bytes), archive.string(), ": is no .tar.gz file");
  const std::string tar = (fs::path(archive) += ".tar").string();
  write_file_atomically(tar, [&](FileReplacement& out) {
    GzipReader reader(file.bytes, file.name);
    std::vector<std::byte> piece(std::size_t{1} << 20);
    while (const std::size_t count = reader.read(piece)) out.write(std::span(piece).first(count));
  });
  return tar;
}

void write_entry(const TarEntry& entry, const fs::path& directory, const fs::path& archive) {
  const fs::path name = fs::path(entry.name).lexically_normal();
  require<DataError>(!name.empty() && name.is_relative() && *name.begin() != "..", archive.string(), ": has a file '",
                     shown(entry.name), "' that would be outside of the directory");
  std::error_code problem;
  fs::create_directories((directory / name).parent_path(), problem);
  std::ofstream out(directory / name, std::ios::binary);
  out.write(reinterpret_cast<const char*>(entry.bytes.data()), std::ssize(entry.bytes));
  require<IoError>(out.flush().good(), "cannot write ", (directory / name).string());
}

void unpack(const fs::path& archive, const fs::path& target) {
  std::error_code ignored, problem;
  const fs::path unfinished = fs::path(target) += ".part";
  fs::remove_all(unfinished, ignored);
  const std::string tar = inflated(archive);
  {
    const FileBytes file = map_file(tar);
    const std::vector<TarEntry> entries = read_tar(file);
    require<DataError>(!entries.empty(), archive.string(), ": holds no files");
    for (const TarEntry& entry : entries) write_entry(entry, unfinished, archive);
  }
  fs::rename(unfinished, target, problem);
  require<IoError>(!problem, "cannot put ", target.string(), " in place: ", problem.message());
  fs::remove(tar, ignored);
  fs::remove(archive, ignored);
}

fs::path record_of(const fs::path& path) { return fs::path(path) += ".sha256"; }

/// The checksum of an earlier download, in the format of sha256sum; empty if there was none.
std::string recorded_sha256(const fs::path& path) {
  const fs::path record = record_of(path);
  std::error_code ignored;
  if (!fs::exists(record, ignored)) return {};
  const std::string digest = read_text_file(record.string()).substr(0, 64);
  require<DataError>(digest.size() == 64 && digest.find_first_not_of("0123456789abcdef") == digest.npos,
                     record.string(), ": has no SHA-256: without this file the next download counts as the first");
  return digest;
}

std::string sha256_of(const fs::path& path) {
  Sha256 hash;
  hash.update(map_file(path.string()).bytes);
  return hash.hex_digest();
}

/// Downloads the file, and lets `use` check it. If its checksum is not published, that of the first usable download is
/// kept for later ones, and this is reported: whether that download was correct is unknown.
void fetch(const PublishedFile& file, const fs::path& path, const DownloadProgress& progress,
           const std::function<void()>& use) {
  std::error_code ignored;
  if (!file.sha256.empty() || fs::exists(path, ignored)) {
    download({.urls = {file.url}, .sha256 = file.sha256, .bytes = file.bytes}, path, progress);
    return use();
  }
  const std::string known = recorded_sha256(path);
  try {
    download({.urls = {file.url}, .sha256 = known, .bytes = file.bytes}, path, progress);
  } catch (const DataError& error) {
    fail<DataError>(error.message(), ", as it was at the first download, says ", record_of(path).string());
  }
  const std::string digest = sha256_of(path);
  use();
  if (!known.empty()) return;
  const std::string record = digest + "  " + path.filename().string() + "\n";
  write_file_atomically(record_of(path).string(),
                        [&](FileReplacement& out) { out.write(std::as_bytes(std::span(record))); });
  std::fprintf(stderr,
               "kiln: %s: its publisher says no checksum of it. Its size is right; its SHA-256 is %s, which later "
               "downloads are compared with\n",
               path.filename().c_str(), digest.c_str());
}

}  // namespace

const PublishedRow& published(PublishedSet set) { return kRows.at(static_cast<std::size_t>(set)); }

fs::path fetch_published(const PublishedRow& row, const fs::path& directory, const DownloadProgress& progress) {
  const fs::path unpacked = directory / "unpacked";
  std::error_code ignored, problem;
  if (row.archive && fs::exists(unpacked, ignored)) return unpacked;
  for (const PublishedFile& file : row.files) {
    const fs::path path = directory / file.name();
    if (!row.archive) {
      fetch(file, path, progress, [] {});
      continue;
    }
    fs::create_directories(directory, problem);
    require<IoError>(!problem, "download: ", directory.string(), " cannot be made: ", problem.message());
    PartFile lock(directory / "unpacking.lock");
    if (fs::exists(unpacked, ignored)) break;  // another process has done it meanwhile
    fetch(file, path, progress, [&] { unpack(path, unpacked); });
    lock.remove();
  }
  return row.archive ? unpacked : directory;
}

fs::path find_published(PublishedSet set, const std::optional<fs::path>& given, const DownloadProgress& progress) {
  if (given) return *given;
  const PublishedRow& row = published(set);
  const auto cache = cache_directory(row.name);
  require<DataError>(cache.has_value(), row.name, ": no directory to look in: neither --data nor XDG_CACHE_HOME or ",
                     "HOME is set");
  return fetch_published(row, *cache, progress);
}

}  // namespace kiln
