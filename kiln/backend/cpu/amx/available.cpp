// Whether the processor and the system support AMX. oneDNN is not asked: some virtual machines hide the leaf of CPUID
// that describes tiles, but can multiply them.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "kiln/backend/cpu/amx/amx.hpp"

namespace kiln::cpu::amx {
namespace {

constexpr bool has_all(unsigned bits, std::initializer_list<int> wanted) {
  for (const int bit : wanted)
    if (!(bits >> bit & 1)) return false;
  return true;
}

/// The instructions that vectors.cpp and pack.cpp are compiled for. (Intel's manual, volume 2, CPUID, leaf 7.)
bool processor_has_vectors() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr int kAvx512f = 16, kAvx512bw = 30, kAvx512vl = 31, kAvx512Bf16 = 5;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !has_all(ebx, {kAvx512f, kAvx512bw, kAvx512vl})) return false;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && has_all(eax, {kAvx512Bf16});
}
/// The instructions that tiles.cpp is compiled for.
bool processor_has_tiles() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr int kAmxBf16 = 22, kAmxTile = 24;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && has_all(edx, {kAmxBf16, kAmxTile});
}

/// The parts of a processor's state, by their bits (volume 1, chapter 13).
constexpr std::initializer_list<int> kVectorState = {1, 2, 5, 6, 7};  // SSE, AVX, the three parts of AVX-512
constexpr std::initializer_list<int> kTileState = {17, 18};

/// Whether the system saves these parts when it switches threads.
bool system_saves(std::initializer_list<int> state) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr int kOsXsave = 27;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !has_all(ecx, {kOsXsave})) return false;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return has_all(low, state);
}

/// Linux must be asked for the memory that a thread's tiles need, once for all threads. (Linux's
/// Documentation/arch/x86/xstate.rst)
bool system_permits_tiles() {
  constexpr long kArchReqXcompPerm = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}

/// The instructions that integer/tiles_amx.cpp is compiled for.
bool processor_has_bytes() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr int kAmxTile = 24, kAmxInt8 = 25;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && has_all(edx, {kAmxTile, kAmxInt8});
}

}  // namespace

bool has_bytes() {
  static const bool has = processor_has_bytes() && system_saves(kTileState) && system_permits_tiles();
  return has;
}

bool has_tiles() {
  static const bool has = available() && processor_has_tiles() && system_saves(kTileState) && system_permits_tiles();
  return has;
}

bool available() {
  static const bool is = processor_has_vectors() && system_saves(kVectorState);
  return is;
}

bool reports_tiles() {
  static const bool does = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(0x1d, 1, &eax, &ebx, &ecx, &edx) && (eax | ebx | ecx | edx) != 0;
  }();
  return does;
}

}  // namespace kiln::cpu::amx
