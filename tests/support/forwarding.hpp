// What test backends that look at a few things derive from.
#pragma once
#include "kiln/ops/decorator.hpp"

namespace kiln::test {

/// Passes everything on to the backend that it wraps, and is itself what decorators are put around.
class Forwarding : public Decorator {
 public:
  explicit Forwarding(Ref<Backend> inner = Device::cpu().handle()) : Decorator(std::move(inner)) {}
  Ref<Backend> with_core(Wrap wrap) override { return wrap(Ref<Backend>(this)); }
};

}  // namespace kiln::test
