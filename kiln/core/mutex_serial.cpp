// Without threads there is nothing to lock.
#include "kiln/core/mutex.hpp"

namespace kiln {

struct Mutex::Threads {};

Mutex::Mutex() = default;
Mutex::~Mutex() = default;
void Mutex::lock() {}
void Mutex::unlock() {}

}  // namespace kiln
