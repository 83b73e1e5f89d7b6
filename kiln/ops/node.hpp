// Node: the data behind a Value. Backends read and fill it; users never see it.
#pragma once
#include "kiln/core/dtype.hpp"
#include "kiln/core/shape.hpp"
#include "kiln/core/spare_memory.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

/// What identifies a result before it is computed.
struct Desc {
  Shape shape;
  DType dtype = DType::F32;
  friend bool operator==(const Desc&, const Desc&) = default;
};

/// Up to three results; most ops have one.
using Descs = InlineList<Desc, 3>;

struct Failure;  // ops/failure.hpp

/// Memory (or a promise of it) of one backend; shared by a value and its views. Threads may ask at any time.
class Storage : public RefCounted {
 public:
  /// Is nothing left to wait for? False while a device that runs by itself still makes the contents.
  virtual bool ready() const { return true; }
  /// Why there are no contents and never will be; null where nothing is known to have gone wrong. Stays with the storage.
  virtual Failure* failure() { return nullptr; }
};

/// Where a backend that runs calls later has noted a value: its own business. Threads may look at it at any time; a
/// copy of the value is another value.
struct Mark {
  Mark() = default;
  Mark(const Mark&) {}
  std::atomic<std::uint64_t> bits{0};
};

struct Node final : RefCounted {
  Node(Desc desc, Device device) : desc(desc), device(std::move(device)) {}
  static void* operator new(std::size_t size) { return take_spare(size); }
  static void operator delete(void* memory, std::size_t size) { give_spare(memory, size); }

  Desc desc;
  Device device;
  // For backends with addressable memory: where element [i, j, ...] lies, in elements.
  Dims strides;
  std::int64_t offset = 0;
  Ref<Storage> storage;  // empty until the backend has run the call
  Mark mark;             // of a backend that runs calls later
};

void destroy(const Node*);
inline void retain(const Node* node) { node->add_owner(); }
inline void release(const Node* node) {
  if (node->drop_owner()) destroy(node);
}

}  // namespace kiln
