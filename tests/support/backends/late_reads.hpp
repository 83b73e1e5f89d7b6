// A device whose reads arrive late.
#pragma once
#include "tests/support/backends/late_read.hpp"
#include "tests/support/backends/worker.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {

/// Computes at once, but the data of a read arrive on another thread.
class LateReads final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  std::string name() const override { return "late"; }
  TensorData download(const Value& value) override { return std::move(start_read({&value, 1})->wait()[0]); }
  Ref<PendingRead> start_read(Inputs values) override {
    auto read = make_ref<LateRead>();
    reader.add([this, read, kept = std::vector<Value>(values.begin(), values.end())]() mutable {
      read->arrive([&] {
        std::vector<TensorData> data;
        for (const Value& value : kept) data.push_back(inner_->download(value));
        kept.clear();  // the notified thread may be the last owner of this device
        return data;
      });
    });
    return read;
  }

  Worker reader;
};

}  // namespace kiln::test
