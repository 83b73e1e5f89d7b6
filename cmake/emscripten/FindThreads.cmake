# Threads::Threads for WebAssembly: all is compiled for threads, and a program has them if it is linked for them (KilnEmscripten.cmake).
if(NOT TARGET Threads::Threads)
  add_library(Threads::Threads INTERFACE IMPORTED GLOBAL)
endif()
set(Threads_FOUND TRUE)
