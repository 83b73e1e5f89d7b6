// Emscripten's header, in place of which native tests of kiln/net/browser have this: tasks run in a thread of the queue's own.
#pragma once
#include <pthread.h>

#include <functional>

#include "tests/support/backends/worker.hpp"

namespace emscripten {

class ProxyingQueue {
 public:
  bool proxyAsync(pthread_t, std::function<void()> task) {
    worker_.add(std::move(task));
    return true;
  }

 private:
  kiln::test::Worker worker_;
};

}  // namespace emscripten
