#include "kiln/nn/gradients.hpp"

#include "kiln/ops/record.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::nn {

void require_trainable(std::string_view function, const std::string& path, const Value& param) {
  const Device device = param.device();
  require<AutodiffError>(device.is_autodiff(), function, ": parameter '", path, "' was made on the plain device ",
                         device, "; make the model on device.autodiff()");
  require<AutodiffError>(param.tracked() && param.tape()->is_leaf(), function, ": parameter '", path,
                         "' was assigned a tensor that is no parameter; write nn::Param(tensor)");
}

void require_any(std::string_view function, std::int64_t params, std::int64_t trained) {
  require<AutodiffError>(params > 0, function, ": the model has no parameters");
  require<AutodiffError>(trained > 0, function, ": all parameters of the model are frozen");
}

void require_loss(std::string_view function, const Value& loss) {
  require<AutodiffError>(grad_enabled(), function, ": NoGrad is on, so nothing is recorded");
  require<AutodiffError>(loss.tracked(), function, ": the loss does not depend on the model's parameters");
}

void require_any(std::string_view function, const GradientsParams& grads) {
  require<AutodiffError>(!grads.by_path.empty(), function,
                         ": the loss does not depend on the model's parameters, though on others");
}

}  // namespace kiln::nn
