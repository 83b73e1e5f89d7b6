// NVIDIA's driver and management library of a machine with two GPUs, as far as Kiln asks them. CUDA counts them in another order
// than the bus has them; the first does not say how much it works.
#include <cstring>

namespace {

constexpr int kSuccess = 0, kInvalid = 2, kNotSupported = 3;
struct Gpu {
  char bus[16];
  unsigned use, degrees;
  bool tells_use;
};
Gpu gpus[] = {{"0000:81:00.0", 0, 40, false}, {"0000:01:00.0", 87, 61, true}};
bool started = false;

}  // namespace

extern "C" {

struct Utilization {
  unsigned gpu, memory;
};

int cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal > 1) return 101;  // CUDA_ERROR_INVALID_DEVICE
  *device = 10 + ordinal;
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* bus, int length, int device) {
  std::strncpy(bus, gpus[device - 10].bus, static_cast<unsigned>(length));
  return kSuccess;
}

int nvmlInit_v2() {
  started = true;
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  for (Gpu& gpu : gpus)
    if (started && std::strcmp(gpu.bus, bus) == 0) {
      *handle = &gpu;
      return kSuccess;
    }
  return kInvalid;
}
int nvmlDeviceGetUtilizationRates(void* handle, Utilization* utilization) {
  const Gpu& gpu = *static_cast<Gpu*>(handle);
  if (!gpu.tells_use) return kNotSupported;
  *utilization = {gpu.use, 5};
  return kSuccess;
}
int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* degrees) {
  if (sensor != 0) return kInvalid;
  *degrees = static_cast<Gpu*>(handle)->degrees;
  return kSuccess;
}
}
