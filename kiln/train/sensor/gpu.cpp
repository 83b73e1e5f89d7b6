#include "kiln/train/sensor/gpu.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "kiln/core/system/shared_library.hpp"

namespace kiln::sensor {
namespace {

/// The part of NVIDIA's libraries that is used, declared here so that the build needs nothing of theirs. Names and
/// numbers are those of the references "NVML API" and "CUDA Driver API".
struct Nvidia {
  using Result = int;  // nvmlReturn_t, CUresult: 0 is success
  struct Utilization {
    unsigned gpu, memory;  // percent
  };
  static constexpr int kGpuSensor = 0;  // NVML_TEMPERATURE_GPU

  Result (*init)();
  Result (*handle_by_bus)(const char* bus, void** handle);
  Result (*utilization)(void* handle, Utilization* utilization);
  Result (*temperature)(void* handle, int sensor, unsigned* degrees);
  Result (*device_get)(int* device, int ordinal);
  Result (*bus_of)(char* bus, int length, int device);
  bool ready = false;

  Nvidia() {
    OptionalLibrary management("libnvidia-ml", {"libnvidia-ml.so.1"}, "libnvidia-ml1");
    if (!management.problem().empty()) return;
    management.find("nvmlInit_v2", init);
    management.find("nvmlDeviceGetHandleByPciBusId_v2", handle_by_bus);
    management.find("nvmlDeviceGetUtilizationRates", utilization);
    management.find("nvmlDeviceGetTemperature", temperature);
    OptionalLibrary driver("libcuda", {"libcuda.so.1"}, "libcuda1");
    driver.find("cuDeviceGet", device_get);
    driver.find("cuDeviceGetPCIBusId", bus_of);
    ready = management.problem().empty() && driver.problem().empty() && init() == 0;
  }
};

/// 1 for "cuda:1"; none for any other name.
std::optional<int> number_of(std::string_view name) {
  constexpr std::string_view kName = "cuda";
  if (!name.starts_with(kName)) return std::nullopt;
  name.remove_prefix(kName.size());
  if (name.empty()) return 0;
  int number = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (name[0] != ':' || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

GpuState gpu_state(const Device& device) {
  const auto number = number_of(device.name());
  if (!number) return {};
  static const Nvidia nvidia;
  // The two libraries number devices differently, and the environment may hide some from CUDA: both know the bus
  // address.
  int ordinal = 0;
  char bus[32] = {};
  void* handle = nullptr;
  if (!nvidia.ready || nvidia.device_get(&ordinal, *number) != 0 || nvidia.bus_of(bus, sizeof bus, ordinal) != 0 ||
      nvidia.handle_by_bus(bus, &handle) != 0)
    return {};
  GpuState state;
  if (Nvidia::Utilization use{}; nvidia.utilization(handle, &use) == 0) state.use = use.gpu;
  if (unsigned degrees = 0; nvidia.temperature(handle, Nvidia::kGpuSensor, &degrees) == 0) state.degrees = degrees;
  return state;
}

}  // namespace kiln::sensor
