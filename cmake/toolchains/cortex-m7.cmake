# Debian's gcc-arm-none-eabi with newlib: a microcontroller with a double-precision FPU, and here QEMU's board of one.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m7)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_CXX_FLAGS_INIT "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -ffunction-sections -fdata-sections -fno-exceptions -fno-rtti -fno-threadsafe-statics -Wno-psabi")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(KILN_STARTUP ${CMAKE_CURRENT_LIST_DIR}/cortex-m7/startup.cpp)  # a source of every program
add_link_options(--specs=rdimon.specs -nostartfiles -T ${CMAKE_CURRENT_LIST_DIR}/cortex-m7/mps2-an500.ld -Wl,--gc-sections)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -machine mps2-an500 -display none -monitor none -serial none
  -semihosting-config enable=on,target=native -kernel)
