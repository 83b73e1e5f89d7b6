// A device with kernels for ten ops.
#pragma once
#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "kiln/ops/expand.hpp"
#include "kiln/ops/op.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {

/// Ops that are composed of other ops run as these, planned ops too; a request for such an op is an error that fails
/// the test. A primitive that is not among the ten is borrowed from the wrapped backend, and noted; with `strict` the
/// device has no kernel for it.
class FewKernels final : public Forwarding {
 public:
  static constexpr std::array<std::string_view, 10> kTen = {"unary",  "binary",  "where",   "cast",   "reduce",
                                                            "matmul", "reshape", "permute", "expand", "fill"};

  explicit FewKernels(Ref<Backend> inner, bool strict = false) : Forwarding(std::move(inner)), strict_(strict) {}
  std::string name() const override { return "few"; }
  bool has_kernel(const op::Op& op) const override { return is_one(op) || (!strict_ && !is_composite(op)); }
  void run(const op::Op& op, Call call) override {
    require<DeviceError>(has_kernel(op), "few: was asked for ", op, ", of which it said that it has no kernel");
    if (!is_one(op)) {
      const std::lock_guard lock(mutex_);
      borrowed_.insert(std::string(op::name(op)));
    }
    inner_->run(op, call);
  }
  /// The ops besides the ten that ran.
  std::set<std::string> borrowed() const {
    const std::lock_guard lock(mutex_);
    return borrowed_;
  }

 private:
  static bool is_one(const op::Op& op) { return std::ranges::find(kTen, op::name(op)) != kTen.end(); }

  const bool strict_;
  mutable std::mutex mutex_;
  std::set<std::string> borrowed_;
};

}  // namespace kiln::test
