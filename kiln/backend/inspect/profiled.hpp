// The backend behind Profile::device() and recordable().
#pragma once
#include "kiln/backend/inspect/profile_log.hpp"
#include "kiln/backend/inspect/recorded.hpp"
#include "kiln/ops/decorator.hpp"

namespace kiln {

class Profiled final : public Decorator {
 public:
  /// No log: those of the thread that runs a kernel (RecordsHere).
  Profiled(Ref<Backend> inner, std::shared_ptr<ProfileLog> log)
      : Decorator(std::move(inner)),
        log_(std::move(log)),
        runs_elsewhere_(dynamic_cast<const RecordsElsewhere*>(inner_.get()) != nullptr) {}

  void run(const op::Op& op, Call call) override;
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override;
  /// The time of a copy is recorded when the data are waited for.
  Ref<PendingRead> start_read(Inputs values) override;
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<Profiled>(inner_->with_core(wrap), log_); }

 private:
  RecordsHere::Logs logs() const { return log_ ? RecordsHere::Logs(&log_, 1) : RecordsHere::logs(); }
  /// The memory in use; nothing where the question would travel to another program.
  MemoryStatistics memory_now() const { return runs_elsewhere_ ? MemoryStatistics{} : inner_->memory(); }
  void add_copy(std::string_view name, const Desc& desc, const ProfileLog::Timing& timing);

  const std::shared_ptr<ProfileLog> log_;
  const bool runs_elsewhere_;
};

}  // namespace kiln
