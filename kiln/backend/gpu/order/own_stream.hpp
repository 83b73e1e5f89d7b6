// A stream of a GPU for one thread: what DeviceStream (kiln/ops/scope/device_stream.hpp) gets.
#pragma once
#include "kiln/ops/scope/device_stream.hpp"

namespace kiln::gpu {

/// Gives this thread a stream of its own on a GPU that has several; null for other devices. register_streams() takes it.
Ref<OpenStream> open_stream(const Device& device);

}  // namespace kiln::gpu
