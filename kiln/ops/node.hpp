// Node: the data behind a Value. Backends read and fill it; users never see it.
#pragma once
#include "kiln/core/dtype.hpp"
#include "kiln/core/shape.hpp"
#include "kiln/core/spare_memory.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

/// The properties of a result that are known before it is computed.
struct Desc {
  Shape shape;
  DType dtype = DType::F32;
  friend bool operator==(const Desc&, const Desc&) = default;
};

/// Up to three results; most ops have one.
using Descs = InlineList<Desc, 3>;

struct Failure;  // ops/failure.hpp

/// Memory of one backend (filled now or later), shared by a value and its views. Threads may call its functions at any
/// time.
class Storage : public RefCounted {
 public:
  /// Whether there is nothing to wait for. False while an asynchronous device still computes the contents.
  virtual bool ready() const { return true; }
  /// The reason why there will never be contents; null where no error is known. It lives as long as the storage.
  virtual Failure* failure() { return nullptr; }
};

/// A mark for a backend that runs calls later; only that backend gives it a meaning. Threads may read it at any time; a
/// copied node starts with an empty mark.
struct Mark {
  Mark() = default;
  Mark(const Mark&) {}
  std::atomic<std::uint64_t> bits{0};
};

struct Node final : RefCounted {
  Node(Desc desc, Device device) : desc(desc), device(std::move(device)) {}
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }

  Desc desc;
  Device device;
  // For backends with addressable memory: the position of element [i, j, ...], in elements.
  Dims strides;
  std::int64_t offset = 0;
  Ref<Storage> storage;  // empty until the backend has run the call
  Mark mark;             // for a backend that runs calls later
};

void destroy(const Node*);
inline void retain(const Node* node) { node->add_owner(); }
inline void release(const Node* node) {
  if (node->drop_owner()) destroy(node);
}

}  // namespace kiln
