// A module that breaks off in each way that WebAssembly has, in its first thread or in another (faults.mjs).
#include <emscripten/threading.h>

#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "kiln/browser/function.hpp"
#include "kiln/core/parallel.hpp"

namespace {

using namespace kiln;

volatile int never = -1;

/// Uses up the stack of calls, and no memory of the module, whose own stack may overflow into what others have.
int deeper(int depth) {
  if (depth == never) return 0;
  return deeper(depth + 1) * deeper(depth + 2);
}

void fault(const std::string& kind) {
  if (kind == "unreachable") __builtin_trap();
  if (kind == "overflow") (void)deeper(0);
  if (kind == "address") *reinterpret_cast<volatile char*>(0xfffffff0) = 1;
  if (kind == "abort") std::abort();
  if (kind == "terminate") std::thread([] { throw std::runtime_error("nobody catches it"); }).join();
}

void here(const std::string& kind) { fault(kind); }
void in_a_thread(const std::string& kind) {
  std::thread([&] { fault(kind); }).join();
}
/// While the first thread holds a lock and objects that have to be destroyed.
void in_a_team(const std::string& kind) {
  std::mutex mutex;
  const std::lock_guard lock(mutex);
  const Threads two(2);
  parallel_for(200, 1, [&](std::int64_t, std::int64_t) {
    if (!emscripten_is_main_runtime_thread()) fault(kind);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
}
/// No call waits for that thread.
void beside(const std::string& kind) {
  std::thread([kind] { fault(kind); }).detach();
}
double sound(double x) { return x + 1; }

constexpr std::array kFunctions{
    browser::function<here>("here"),           browser::function<in_a_thread>("in_a_thread"),
    browser::function<in_a_team>("in_a_team"), browser::function<beside>("beside"),
    browser::function<sound>("sound"),
};

}  // namespace

int main() { browser::offer(kFunctions); }
