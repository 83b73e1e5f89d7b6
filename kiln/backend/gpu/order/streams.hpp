// Streams: what a driver offers whose device has several streams of work, and on which of them a thread's work runs. Each
// has a number; 0 is the first, on which threads work that asked for none of their own.
#pragma once
#include <atomic>

namespace kiln::gpu {

class Driver;

/// The most streams of a device at a time, with the first.
inline constexpr int kMostStreams = 16;

/// The streams of a device beside its first. Work runs in order within a stream; between two of them nothing is ordered
/// but by wait_for_stream().
class Streams {
 public:
  virtual ~Streams() = default;
  /// Makes the stream of that number, from 1 on, if it is not there: threads may work on it from here on. It stays.
  /// Throws DeviceError or MemoryError.
  virtual void open_stream(int number) = 0;
  /// Work submitted to stream `number` from here on runs after all that was submitted to `other` by now. Where that fails
  /// it throws, and later reads from the device throw the same: what should have waited may be wrong.
  virtual void wait_for_stream(int number, int other) = 0;
};

/// The number of the stream on which this thread's work for a device runs.
int stream_of(const Driver& driver);

/// While this object lives, this thread's work for a device runs on that stream. One that ends in another thread than it
/// began in leaves the first thread on that stream.
class OnStream {
 public:
  OnStream(const Driver& driver, int number);
  ~OnStream();
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  friend int stream_of(const Driver& driver);
  struct Entry;
  Entry* const entry_;
};

}  // namespace kiln::gpu
