// Profiles of kernels that another program runs: the one that runs them records them for whoever asks (a server for its
// client), and the one that asks shows them in its own Profile.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kiln/backend/inspect/profile.hpp"

namespace kiln {

/// A core whose kernels run in another program. A Profile of it measures only the copies here, and asks for the rest.
class RecordsElsewhere {
 public:
  virtual ~RecordsElsewhere() = default;
  /// Begins to record there, and returns the number of the recording.
  virtual std::uint64_t start_recording() = 0;
  /// The rows so far. Throws the device's errors.
  virtual std::vector<ProfileRow> recorded(std::uint64_t recording) = 0;
  /// Never throws: a program that has gone records nothing.
  virtual void stop_recording(std::uint64_t recording) noexcept = 0;
};

/// Returns the device so that its kernels are recorded in the logs of the thread that runs them (RecordsHere). It costs a
/// look at a variable of the thread for each kernel while there are none.
Device recordable(const Device& device);

/// While this object lives, the kernels that this thread runs on recordable devices are recorded in these logs.
class RecordsHere {
 public:
  using Logs = std::span<const std::shared_ptr<ProfileLog>>;
  explicit RecordsHere(Logs logs);
  ~RecordsHere();
  RecordsHere(const RecordsHere&) = delete;
  RecordsHere& operator=(const RecordsHere&) = delete;
  /// Those of the innermost object.
  static Logs logs();

 private:
  const Logs outer_;
};

}  // namespace kiln
