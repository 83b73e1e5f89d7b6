// NVIDIA's driver, opened on first use. Functions that exist in two versions are found by the name of the second.
#pragma once
#include <string>

#include "kiln/backend/streams/stream.hpp"
#include "kiln/core/system/shared_library.hpp"

namespace kiln::cuda {

using namespace streams;  // CUDA is one of the drivers that it is written for

// CUdevice_attribute
inline constexpr int kMultiprocessorCount = 16, kIntegrated = 18, kComputeCapabilityMajor = 75,
                     kComputeCapabilityMinor = 76, kCooperativeLaunch = 95, kMaxSharedMemoryPerBlockOptin = 97;

/// The installed driver, initialised. Throws DeviceError if there is none, or it does not work.
const DriverApi& driver_api();

/// The number of devices. Throws DeviceError like driver_api().
int device_count();

/// "sm_90"
std::string architecture_of(const Stream& stream);

}  // namespace kiln::cuda
