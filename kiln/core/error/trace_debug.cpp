// Reads addresses with libbacktrace, which comes with g++: functions, files and lines, inlined calls among them.
#include <backtrace.h>

#include <cstdint>
#include <mutex>

#include "kiln/core/error/trace.hpp"

namespace kiln::detail {
namespace {

struct Reader {
  void (*each)(void* list, Frame frame);
  void* list;
  void* address;
  int found = 0;

  void add(const char* function, const char* file, int line) {
    ++found;
    each(list, {function ? function : "", file ? file : "", line, address});
  }
};

void ignore(void*, const char*, int) {}

backtrace_state* state() {
  static backtrace_state* const made = backtrace_create_state(nullptr, 1, ignore, nullptr);
  return made;
}

}  // namespace

void read_frames(void* address, void (*each)(void* list, Frame frame), void* list) {
  // One thread at a time: two threads would each read all debug information when the first errors come.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Reader reader{each, list, address};
  const auto pc = reinterpret_cast<std::uintptr_t>(address);
  backtrace_pcinfo(
      state(), pc,
      [](void* data, std::uintptr_t, const char* file, int line, const char* function) {
        if (file || function) static_cast<Reader*>(data)->add(function, file, line);
        return 0;
      },
      ignore, &reader);
  if (reader.found) return;
  backtrace_syminfo(
      state(), pc,
      [](void* data, std::uintptr_t, const char* name, std::uintptr_t, std::uintptr_t) {
        static_cast<Reader*>(data)->add(name, nullptr, 0);
      },
      ignore, &reader);
  if (!reader.found) reader.add(nullptr, nullptr, 0);
}

}  // namespace kiln::detail
