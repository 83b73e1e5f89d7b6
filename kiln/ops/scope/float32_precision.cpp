#include "kiln/ops/scope/float32_precision.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {
namespace {

thread_local Float32Precision::Level innermost = Float32Precision::OfDevice;

}  // namespace

Float32Precision::Float32Precision(Level level) : before_(innermost) { innermost = level; }
Float32Precision::~Float32Precision() { innermost = before_; }
Float32Precision::Level Float32Precision::said() { return innermost; }

Float32Precision::Level Float32Precision::of(const Device& device) { return device.backend().float32_precision(); }

void Float32Precision::set(const Device& device, Level level) {
  require<ArgumentError>(level == Highest || level == High,
                         "Float32Precision::set: a device computes with Highest or High precision");
  device.backend().set_float32_precision(level);
}

}  // namespace kiln
