#pragma once

namespace kiln::cpu {

/// Lets values of the processor move to other devices without a copy. A build without run-time type information, which has
/// one device, does nothing.
void register_lending();

}  // namespace kiln::cpu
