// A stream of a device for one thread's work: a scope.
#pragma once
#include "kiln/core/ref.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

/// A stream that a device has given to a thread; its end gives it back.
class OpenStream : public RefCounted {};

/// While this object lives, on this thread: `const DeviceStream own(device);`
///
/// The device runs this thread's work beside that of other threads, in a stream of its own, as far as it has room for
/// both. Otherwise all threads' work runs in one stream, in the order in which they submit it. Results are the same:
/// tensors may go from thread to thread, and what reads one waits for what wrote it. Where the scope ends, the device's
/// first stream waits for it.
///
/// CUDA's devices have several streams; all others have one, and the scope does nothing there. A router's parts are
/// asked one by one. Collectives of ranks run in the first stream. The scope ends in the thread in which it began.
class DeviceStream {
 public:
  /// Throws DeviceError where too many threads have one (15), or the device makes no more.
  explicit DeviceStream(const Device& device);
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  /// Has the thread a stream of its own? False where the device has only one.
  bool is_own() const { return bool(stream_); }

 private:
  const Device device_;
  Ref<OpenStream> stream_;
};

/// Opens a stream for this thread on a device that the function knows; null: it does not know it, or it has only one.
using OpenStreamOf = Ref<OpenStream> (*)(const Device& device);
/// Adds devices with several streams. It is called while the program starts, before there are other threads.
void register_streams(OpenStreamOf open);

}  // namespace kiln
