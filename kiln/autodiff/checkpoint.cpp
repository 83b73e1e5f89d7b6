#include "kiln/autodiff/checkpoint.hpp"

#include "kiln/ops/record.hpp"

namespace kiln {
namespace {

class Rerun final : public Recompute {
 public:
  explicit Rerun(std::function<Values()> function)
      : function_(std::move(function)),
        autocast_(autocast_dtype()),
        precision_(Float32Precision::said()),
        checkpointing_(checkpointing()) {}

  /// Runs the function without a tape. Results are tracked where a gradient would flow through the function.
  static Values run_first(Ref<Rerun> self) {
    Values results;
    const Probe probe;
    {
      const KeyScope note(self->keys_, KeyScope::Note);
      results = self->function_();
    }
    require<ArgumentError>(results.size() <= 3, "checkpoint: the function has ", results.size(),
                           " results; there may be three");
    for (const Value& result : results) {
      require<ArgumentError>(static_cast<bool>(result.node()), "checkpoint: the function's result is ", result,
                             ", not a tensor");
      self->results_.push_back({result.shape(), result.dtype()});
    }
    if (results.empty() || !probe.found()) return results;
    const Ref<Record> record = make_record(self, self->results_, results[0].device());
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!results[i].tracked() && is_float(results[i].dtype()))  // a tracked result existed before the call
        results[i].attach(record, static_cast<int>(i));
    return results;
  }

  Values run() const override {
    const WithGrad recording;
    const Autocast autocast(autocast_);
    const Float32Precision precision(precision_);
    const Checkpointing strategy(checkpointing_);
    std::vector<Key> keys = keys_;
    const KeyScope repeat(keys, KeyScope::Repeat);
    Values results = function_();
    const auto same = [&](std::size_t i) {
      return results[i].node() && results[i].node()->desc == results_[static_cast<int>(i)];
    };
    bool same_as_before = results.size() == static_cast<std::size_t>(results_.size()) && repeat.used_up();
    for (std::size_t i = 0; same_as_before && i < results.size(); ++i) same_as_before = same(i);
    require<AutodiffError>(same_as_before,
                           "checkpoint: run again, the function gives other results or draws fewer random numbers than "
                           "when it ran first; it must do the same each time");
    return results;
  }

 private:
  std::function<Values()> function_;
  DType autocast_;
  Float32Precision::Level precision_;
  Checkpointing::Strategy checkpointing_;
  std::vector<Key> keys_;
  Descs results_;
};

}  // namespace

Values checkpoint_values(std::function<Values()> function) {
  if (!grad_enabled() || checkpointing() == Checkpointing::Never) return function();
  return Rerun::run_first(make_ref<Rerun>(std::move(function)));
}

}  // namespace kiln
