// The histograms, matrices and pictures that a run wrote to its figures.jsonl.
#pragma once
#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace kiln::cli {

/// Remembers what it has read: a page of runs that go on asks again and again, and the files grow by the histograms of each epoch.
class RunFigures {
 public:
  /// The figures of a run as the page takes them, a JSON list: the newest matrix and picture of each name, and the newest histograms.
  /// A line that is not finished, or damaged, is left out. May be called from several threads. Throws IoError.
  std::string of(const std::filesystem::path& directory);

 private:
  struct File {
    std::size_t read = 0;  // bytes of finished lines
    std::string last;      // their end, by which a file that was written anew is recognised
    std::map<std::string, std::deque<std::string>> newest{};
  };
  static void read_further(const std::string& path, File& file);
  static void add(const std::string& path, const std::string& line, File& file);

  std::mutex mutex_;
  std::map<std::string, File> files_;
};

}  // namespace kiln::cli
