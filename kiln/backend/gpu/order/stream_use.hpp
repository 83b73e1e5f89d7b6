// StreamUse: memory that this thread's stream uses though another wrote it. StreamAlone: work that may read any.
#pragma once
#include <span>
#include <vector>

#include "kiln/backend/gpu/memory.hpp"
#include "kiln/ops/value.hpp"

namespace kiln::gpu {

/// While this object lives, work that is submitted to this thread's stream may read these memories: the stream has waited
/// for those that wrote them, and at the end they know that it has used them. Values must be in a GPU's memory; numbers
/// among them are left out.
class StreamUse {
 public:
  explicit StreamUse(Inputs values);
  explicit StreamUse(Memory& memory) { begin(memory); }
  ~StreamUse();
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;

 private:
  void begin(Memory& memory);

  std::vector<Ref<Memory>> foreign_;  // the memory of other streams
};

/// While this object lives, this thread's stream runs alone: a kernel of a user's own may read tensors that are none of its
/// operands.
class StreamAlone {
 public:
  explicit StreamAlone(StreamOrder& order);
  ~StreamAlone();
  StreamAlone(const StreamAlone&) = delete;
  StreamAlone& operator=(const StreamAlone&) = delete;

 private:
  StreamOrder& order_;
};

/// The results were written by what this thread submitted. Called before other threads see them.
void note_written(Storage& storage);

}  // namespace kiln::gpu
