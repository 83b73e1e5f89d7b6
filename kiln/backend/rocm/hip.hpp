// HIP, AMD's driver and compiler, opened on first use. Names and numbers are those of AMD's "HIP Runtime API Reference", and
// the same in ROCm 5.2 and 6.
#pragma once
#include <span>
#include <string>

#include "kiln/backend/streams/compiler.hpp"
#include "kiln/backend/streams/stream.hpp"

namespace kiln::rocm {

using namespace streams;  // HIP is one of the drivers that it is written for

// hipDeviceAttribute_t
inline constexpr int kCooperativeLaunch = 10, kIntegrated = 16, kMultiprocessorCount = 63,
                     kMaxSharedMemoryPerBlock = 74, kWarpSize = 87;

/// The installed driver, initialised. Throws DeviceError if there is none, or it does not work.
const DriverApi& driver_api();

/// The number of devices. Throws DeviceError like driver_api().
int device_count();

/// "gfx90a:sramecc+:xnack-": what HIPRTC compiles for.
std::string architecture_of(const Stream& stream);
/// Finds that name in a hipDeviceProp_t, whose layout differs between versions of ROCm; it lies beyond the device's own
/// name, the first 256 bytes. Empty if there is none.
std::string architecture_in(std::span<const char> properties);

/// HIPRTC, the compiler; or the file that KILN_HIPRTC names. Throws DeviceError if there is none.
const RuntimeCompiler& hiprtc();
Compiler compiler_for(const std::string& architecture, gpu::CodeCache cache = gpu::CodeCache::named("rocm"));

}  // namespace kiln::rocm
