// The scratch memory of one thread for one piece of work.
#pragma once
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::integer {

/// Blocks of scratch memory; their contents are undefined at first.
class Scratch {
 public:
  template <class T>
  T* take(std::int64_t count) {
    if (count == 0) return nullptr;
    blocks_.push_back(make_ref<Memory>(static_cast<std::size_t>(count) * sizeof(T)));
    return reinterpret_cast<T*>(blocks_.back()->bytes());
  }

 private:
  std::vector<Ref<Memory>> blocks_;
};

}  // namespace kiln::cpu::integer
