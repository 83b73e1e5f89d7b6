// Node: the data behind a Value. Backends read and fill it; users never see it.
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln {

/// What identifies a result before it is computed.
struct Desc {
  Shape shape;
  DType dtype = DType::F32;
  friend bool operator==(const Desc&, const Desc&) = default;
};

/// Up to three results; most ops have one.
using Descs = InlineList<Desc, 3>;

/// Memory (or a promise of it) of one backend; shared by a value and its views.
class Storage : public RefCounted {};

struct Node : RefCounted {
  Node(Desc desc, Device device) : desc(desc), device(std::move(device)) {}

  Desc desc;
  Device device;
  // For backends with addressable memory: where element [i, j, ...] lies, in elements.
  Dims strides;
  std::int64_t offset = 0;
  Ref<Storage> storage;    // empty until the backend has run the call
  std::uint64_t mark = 0;  // where a backend that runs calls later has noted this value; its own business
};

}  // namespace kiln
