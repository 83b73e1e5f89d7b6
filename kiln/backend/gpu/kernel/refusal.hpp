// What a device's limits forbid in a kernel, as a sentence: asked once, after lowering and before the kernel is compiled.
#pragma once
#include <optional>
#include <string>

#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {

struct Refusal {
  enum class Reason : std::uint8_t {
    Type,   // an element type, computed, passed, loaded, stored or updated: no kernel for these operands will do
    Limit,  // sizes, and what threads do together: kernels of another shape may do
  };
  Reason reason = Reason::Limit;
  std::string sentence;  // names the device, the kernel, the place in it and the limit
};

/// Nothing if a device with these capabilities can run the kernel.
std::optional<Refusal> refusal_of(const Kernel& kernel, const Capabilities& device, std::string_view name);

/// Thrown where a refused kernel is asked for.
class Refused final : public DeviceError {
 public:
  explicit Refused(const Refusal& refusal) : DeviceError(refusal.sentence), reason_(refusal.reason) {}
  Refusal::Reason reason() const { return reason_; }

 private:
  Refusal::Reason reason_;
};

}  // namespace kiln::gpu
