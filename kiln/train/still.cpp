#include "kiln/train/still.hpp"

namespace kiln::training {

void make_still(const nn::ModuleRef& model) {
  nn::set_mode(model, nn::Mode::Valid);
  visit_params(model, [](const std::string&, nn::AnyLeaf& param) { param.set_frozen(true); });
}

}  // namespace kiln::training
