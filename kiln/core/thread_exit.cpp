// The compiler calls this for a thread_local variable with a destructor, where the C++ library has no threads: the only
// thread ends with the program. A library that defines the function itself, like newlib, overrides it.
extern "C" {
int __cxa_atexit(void (*destroy)(void*), void* object, void* library);

[[gnu::weak]] int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) {
  return __cxa_atexit(destroy, object, library);
}
}
