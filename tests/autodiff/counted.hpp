// A device that counts what runs on it.
#pragma once
#include <map>
#include <string>

#include "kiln/ops/op.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {

/// Counts what runs on the reference, which runs each operation when it is asked for.
class Counter final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  std::string name() const override { return "counter"; }
  void run(const op::Op& op, Call call) override {
    inner_->run(op, call);
    ++runs[std::string(op::function_name(op))];
    ++all;
  }
  std::map<std::string, int> runs;
  int all = 0;
};

struct Counted {
  Ref<Counter> counter = make_ref<Counter>(Device::parse("reference").handle());
  Device device{counter, true};
};

}  // namespace kiln::test
