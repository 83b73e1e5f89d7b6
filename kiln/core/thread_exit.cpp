// What the compiler calls for a thread_local variable with a destructor, where the C++ library has no threads: its only
// thread ends with the program. A library that has the function itself, as newlib's does, is not asked.
extern "C" {
int __cxa_atexit(void (*destroy)(void*), void* object, void* library);

[[gnu::weak]] int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) {
  return __cxa_atexit(destroy, object, library);
}
}
