// The devices that tests of operations run on.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "kiln/ops/device.hpp"

namespace kiln::test {

/// The processor itself, without decorators.
Ref<Backend> plain_cpu();

/// "few", "late" or "queued": a backend of this folder over the processor. "lowered:pairs": a simulated GPU whose
/// kernels are lowered by that rule; "printed:simulated:webgpu" and "refusing:odd": printed.hpp, refusing.hpp. "hosted:cpu":
/// a remote device, whose server is in this program; "alternating:cpu+queued": a router whose parts take turns. "fused few":
/// the same behind a Fusion. "profiled few" and "verified few": that inside a Profile or a Verify. "plain simulated": a device
/// without its decorators. Any other name: the device of that name.
Device device_named(const std::string& name);

/// "cpu" and "reference", or those that KILN_TEST_DEVICES names: "fused few,verified queued".
const std::vector<std::pair<std::string, Device>>& devices_under_test();

}  // namespace kiln::test
