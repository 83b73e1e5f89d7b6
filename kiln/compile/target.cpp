#include "kiln/compile/target.hpp"

#include <array>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln::compile {
namespace {

constexpr std::int64_t kKilo = 1024, kMega = kKilo * kKilo;

constexpr Target kTargets[] = {
    {"host", "an x86, Arm or RISC-V computer", 0, 0,
     "cc -std=c11 -fno-strict-aliasing -O3 -march=native -ffp-contract=fast", true},
    {"m0", "Cortex-M0, as the micro:bit has it", 16 * kKilo, 256 * kKilo,
     "arm-none-eabi-gcc -std=c11 -fno-strict-aliasing -Os -mcpu=cortex-m0 -mthumb"},
    {"m4", "Cortex-M4F, as Arm's MPS2 with the image AN386 has it", 4 * kMega, 4 * kMega,
     "arm-none-eabi-gcc -std=c11 -fno-strict-aliasing -O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"},
    {"m7", "Cortex-M7, as Arm's MPS2 with the image AN500 has it", 16 * kMega, 4 * kMega,
     "arm-none-eabi-gcc -std=c11 -fno-strict-aliasing -O2 -mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16"},
    {"m33", "Cortex-M33, as Arm's MPS2+ with the image AN505 has it", 4 * kMega, 4 * kMega,
     "arm-none-eabi-gcc -std=c11 -fno-strict-aliasing -O2 -mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16"},
    {"pico", "Raspberry Pi Pico, whose RP2040 has Cortex-M0+", 264 * kKilo, 2 * kMega,
     "arm-none-eabi-gcc -std=c11 -fno-strict-aliasing -O2 -mcpu=cortex-m0plus -mthumb"},
    {"pico2", "Raspberry Pi Pico 2, whose RP2350 has Cortex-M33", 520 * kKilo, 4 * kMega,
     "arm-none-eabi-gcc -std=c11 -fno-strict-aliasing -O2 -mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16"},
    {"rv32", "RISC-V rv32imac, as QEMU's virt board has it", 64 * kMega, 32 * kMega,
     "riscv64-unknown-elf-gcc -std=c11 -fno-strict-aliasing -O2 -march=rv32imac -mabi=ilp32"},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target& target(std::string_view name) {
  std::string all;
  std::vector<std::string_view> names;
  for (const Target& each : kTargets) {
    if (each.name == name) return each;
    names.push_back(each.name);
    all += text(all.empty() ? "" : ", ", each.name);
  }
  fail<ArgumentError>("compile: there is no target '", shown(name), "'", did_you_mean(name, names),
                      "; the targets are ", all);
}

}  // namespace kiln::compile
