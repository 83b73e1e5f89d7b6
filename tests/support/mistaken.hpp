// A device with a deliberate error, for tests of tests.
#pragma once
#include <functional>
#include <utility>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {

/// The processor with one error: where `wrong(op)`, the first result is a little too large.
class Mistaken final : public Forwarding {
 public:
  explicit Mistaken(std::function<bool(const op::Op&)> wrong) : wrong_(std::move(wrong)) {}
  std::string name() const override { return "mistaken"; }
  void run(const op::Op& op, Call call) override {
    inner_->run(op, call);
    if (!wrong_(op)) return;
    inner_->sync();
    Value result(make_ref<Node>(call.out[0].node()->desc, Device(inner_)));
    alias(result, call.out[0]);
    const Value larger = kiln::mul(result, 1.001);
    inner_->sync();
    alias(call.out[0], larger);
  }

 private:
  static void alias(Value& to, const Value& from) {
    to.node()->strides = from.node()->strides;
    to.node()->offset = from.node()->offset;
    to.node()->storage = from.node()->storage;
  }
  std::function<bool(const op::Op&)> wrong_;
};

}  // namespace kiln::test
