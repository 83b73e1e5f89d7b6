#include "kiln/ops/scope/device_stream.hpp"

#include <vector>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/failure.hpp"

namespace kiln {
namespace {

std::vector<OpenStreamOf>& openers() {
  static std::vector<OpenStreamOf> all;
  return all;
}

}  // namespace

void register_streams(OpenStreamOf open) { openers().push_back(open); }

// Operations that this thread has asked for, and that are not submitted yet, go to the stream that they were asked on.
DeviceStream::DeviceStream(const Device& device) : device_(device) {
  device.backend().flush();
  for (const OpenStreamOf open : openers())
    if ((stream_ = open(device))) return;
}

DeviceStream::~DeviceStream() {
  if (stream_)
    without_errors([&] { device_.backend().flush(); });  // the errors of operations are kept with their results
}

}  // namespace kiln
