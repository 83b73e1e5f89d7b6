// Calls of a page's functions where the browser has no JSPI: in a thread of the module, which may wait for the GPU while the
// first one, where JavaScript runs, hears its answers.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "kiln/backend/webgpu/browser/imports.hpp"

namespace kiln::webgpu::browser {
namespace {

/// One thread for all calls, as they come one at a time.
class Caller {
 public:
  void call(std::function<void()> next) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(next);
    if (!started_) std::thread([this] { run(); }).detach();
    started_ = true;
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return next_ != nullptr; });
      const std::function<void()> next = std::exchange(next_, nullptr);
      lock.unlock();
      next();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> next_;
  bool started_ = false;
};

}  // namespace
}  // namespace kiln::webgpu::browser

/// kiln_call in that thread; kiln_webgpu_called tells its status.
extern "C" [[gnu::used, clang::export_name("kiln_webgpu_call")]] void kiln_webgpu_call(const char* name,
                                                                                       const void* arguments,
                                                                                       std::size_t bytes,
                                                                                       void* answer) {
  using kiln::webgpu::browser::Caller;
  static auto& caller = *new Caller();
  caller.call([=] {
    kiln::webgpu::browser::kiln_webgpu_called(
        kiln::webgpu::browser::kiln_webgpu_guarded(name, arguments, bytes, answer));
  });
}
