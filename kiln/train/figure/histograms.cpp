#include "kiln/train/figure/histograms.hpp"

#include <utility>

#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/train/positive.hpp"

namespace kiln {

void HistogramConfig::check() const {
  training::require_positive("histograms", "every", std::optional(every));
  require<ArgumentError>(buckets >= 1 && buckets <= 10000, "histograms: buckets is ", buckets,
                         ", it must be 1 to 10000");
  require<ArgumentError>(weights || gradients, "histograms: neither of weights nor of gradients");
}

namespace training {

void report_distributions(const HistogramConfig& config, const TrainingRun& run, const nn::ModuleView& model,
                          const GradientsParams& grads) {
  const NoGrad pause;
  Position at = run.at;
  ++at.step;  // the step under way
  const nn::Paths paths = selected_params(model, config.which);
  const auto report = [&](std::string_view kind, const std::string& path, const Value& value) {
    run.notify(Distribution{at, text(kind, '/', path), histogram_of(value.data().to_vector<float>(), config.buckets)});
  };
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
    if (param.is_frozen() || !paths.contains(path)) return;
    if (config.weights) report("weights", path, param.value());
    if (const Value* const grad = config.gradients ? grads.find(path) : nullptr) report("gradients", path, *grad);
  });
}

}  // namespace training
}  // namespace kiln
