// The base of test backends that change only a few functions.
#pragma once
#include "kiln/ops/decorator.hpp"

namespace kiln::test {

/// Forwards everything to the wrapped backend, and is itself the core that decorators wrap.
class Forwarding : public Decorator {
 public:
  explicit Forwarding(Ref<Backend> inner = Device::cpu().handle()) : Decorator(std::move(inner)) {}
  Ref<Backend> with_core(Wrap wrap) override { return wrap(Ref<Backend>(this)); }
};

}  // namespace kiln::test
