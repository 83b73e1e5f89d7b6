// Choices: which of several kernels that do the same is the quickest on a device. With KILN_AUTOTUNE=1 it is
// measured once for each kind of work, and kept; otherwise the first one is taken, without waiting. What is known is read
// first: a text file that KILN_CHOICES names, which can be shipped with a program, then the user's cache.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "kiln/backend/gpu/code_cache.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::gpu {

class Choices {
 public:
  /// The milliseconds that the device takes for what work() submits.
  using Clock = std::function<double(FunctionRef<void()> work)>;

  /// `device`: its name, its driver and that driver's version. The file's lines are "key = choice".
  Choices(std::string device, Clock clock, CodeCache cache, std::optional<std::string> file);
  /// Takes the settings of the environment, and a clock that waits for `synchronize`.
  static std::unique_ptr<Choices> of(std::string device, std::function<void()> synchronize);

  /// The number of the way to take of those called `names`: the one that is known for the question, which says the kind of
  /// work in words, or else the quickest where that is to be measured, or else the first. run(i) submits one, and returns
  /// false if it cannot. Reads the disk: callers keep the answer (Gpu::made). Thread-safe.
  int choose(const std::string& question, std::span<const std::string> names, FunctionRef<bool(int)> run);
  /// Do the settings ask for measuring, or name a file of choices? Otherwise only work that is known to gain by it is
  /// looked up in the cache.
  bool asks() const { return asks_; }

 private:
  std::optional<int> known(const std::string& key, std::span<const std::string> names) const;
  void keep(const std::string& key, const std::string& name);
  void read_file();

  const std::string device_;
  const Clock clock_;
  const CodeCache cache_;
  std::optional<std::string> file_;
  const bool measures_, asks_, logs_;
  std::recursive_mutex mutex_;                               // what is measured may have parts that ask
  std::map<std::string, std::string, std::less<>> shipped_;  // what the file says
};

}  // namespace kiln::gpu
