// What a microcontroller does before main(), for the board that QEMU calls mps2-an500. Output, the heap and the exit status
// are newlib's semihosting: whoever runs the program does them.
#include <cstdint>
#include <cstdlib>

extern "C" {

extern char kiln_stack_top[];
void initialise_monitor_handles();
void __libc_init_array();
int main();
void* __dso_handle = nullptr;  // what destructors of this program are registered under

// thread_local, of the one thread that there is: its variables lie where the linker puts them.
extern char kiln_thread_begin[];
struct ThreadLocal {
  std::uint32_t module, offset;
};
void* __tls_get_addr(const ThreadLocal* variable) { return kiln_thread_begin + variable->offset; }

// Atomics of eight bytes, for which the processor has no instructions: there is one thread, and no interrupts.
unsigned long long __atomic_load_8(const volatile void* at, int) {
  return *static_cast<const volatile std::uint64_t*>(at);
}
void __atomic_store_8(volatile void* at, unsigned long long value, int) {
  *static_cast<volatile std::uint64_t*>(at) = value;
}
unsigned long long __atomic_fetch_add_8(volatile void* at, unsigned long long value, int) {
  auto* const number = static_cast<volatile std::uint64_t*>(at);
  const std::uint64_t before = *number;
  *number = before + value;
  return before;
}

void _init() {}  // which newlib calls before constructors,
void _fini() {}  // and after destructors

namespace {

// An instruction or an address that the processor does not have, and whatever else is unexpected.
[[noreturn]] void fault() { std::_Exit(3); }

}  // namespace

[[noreturn]] void reset() {
  // Full access to the coprocessors 10 and 11, which are the floating-point unit (Armv7-M Architecture Reference Manual,
  // B3.2.20).
  volatile std::uint32_t& cpacr = *reinterpret_cast<volatile std::uint32_t*>(0xE000ED88);
  cpacr = cpacr | 0xFu << 20;
  asm volatile("dsb\n isb" : : : "memory");
  initialise_monitor_handles();
  __libc_init_array();
  std::exit(main());
}

// The processor takes its stack and where to begin from here (the same manual, B1.5.3). QEMU has already put all sections
// into their places, and zeros into what has none.
[[gnu::section(".vectors"), gnu::used]] const void* const vectors[16] = {
    kiln_stack_top,
    reinterpret_cast<const void*>(reset),
    reinterpret_cast<const void*>(fault),  // NMI
    reinterpret_cast<const void*>(fault),  // hard fault
    reinterpret_cast<const void*>(fault),  // memory management
    reinterpret_cast<const void*>(fault),  // bus
    reinterpret_cast<const void*>(fault),  // usage
};
}
