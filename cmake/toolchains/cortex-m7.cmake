# Debian's gcc-arm-none-eabi with newlib: a microcontroller with a double-precision FPU.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m7)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_CXX_FLAGS_INIT "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -fno-exceptions -fno-rtti -fno-threadsafe-statics")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
