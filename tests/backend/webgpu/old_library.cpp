// A library that says it is a wgpu-native that nobody tried.
#include <cstdint>

extern "C" std::uint32_t wgpuGetVersion() { return 24u << 24 | 3u << 16 | 2u << 8 | 1u; }
extern "C" void wgpuDevicePoll() {}
