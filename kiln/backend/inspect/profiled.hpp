// The backend behind Profile::device().
#pragma once
#include "kiln/backend/inspect/profile_log.hpp"
#include "kiln/ops/decorator.hpp"

namespace kiln {

class Profiled final : public Decorator {
 public:
  Profiled(Ref<Backend> inner, std::shared_ptr<ProfileLog> log) : Decorator(std::move(inner)), log_(std::move(log)) {}

  void run(const op::Op& op, Call call) override;
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override;
  /// The time of a copy is recorded when the data are waited for.
  Ref<PendingRead> start_read(Inputs values) override;
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<Profiled>(inner_->with_core(wrap), log_); }

 private:
  const std::shared_ptr<ProfileLog> log_;
};

}  // namespace kiln
