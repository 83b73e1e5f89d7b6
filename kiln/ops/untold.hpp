// Untold: errors that a device found later than it was asked, until somebody is told of them.
#pragma once
#include <vector>

#include "kiln/core/mutex.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/asker.hpp"

namespace kiln {

/// What a device's sync() tells of, where nobody read the value. Threads may ask at any time.
class Untold {
 public:
  /// An error of what `asker` asked for; of nobody's (null) nobody is told. Of several hundred that nobody ever asks for the
  /// first are kept.
  void note(const Ref<Failure>& failure, const Ref<Asker>& asker);
  /// What is kept of an asker's: in doubt what a later error of his comes from.
  Ref<Failure> known_of(const Ref<Asker>& asker);
  /// Throws what this thread's operations came to and no caller has been told of: the first error, whose sentence goes on
  /// with the others. So too what is left of threads that have ended, once no value holds it any more.
  void tell();

 private:
  struct Entry {
    Ref<Failure> failure;
    Ref<Asker> asker;
  };
  static constexpr std::size_t kMost = 512;

  Mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace kiln
