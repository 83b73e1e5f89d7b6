// Mutex: std::mutex where there are threads (mutex.cpp), and nothing where there are none (mutex_serial.cpp).
#pragma once
#include <memory>
#include <mutex>

namespace kiln {

/// Works with std::lock_guard, which exists without threads too.
class Mutex {
 public:
  Mutex();
  ~Mutex();
  void lock();
  void unlock();

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace kiln
