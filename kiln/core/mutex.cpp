#include "kiln/core/mutex.hpp"

namespace kiln {

struct Mutex::Threads {
  std::mutex mutex;
};

Mutex::Mutex() : threads_(std::make_unique<Threads>()) {}
Mutex::~Mutex() = default;
void Mutex::lock() { threads_->mutex.lock(); }
void Mutex::unlock() { threads_->mutex.unlock(); }

}  // namespace kiln
