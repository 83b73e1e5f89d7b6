// The parts of a router on which the layers of a model are: model parallelism.
//
//   const Device device = Device::router({Device::cuda(0), Device::cuda(1)}).autodiff();
//   model = place(std::move(model), device, {{"encoder", 0}, {"decoder", 1}});
#pragma once
#include "kiln/nn/module/selector.hpp"

namespace kiln {

/// Tensors of a model, and the part of a router on which they are to be.
struct Placement {
  Selector which;
  int part;
};

namespace nn {
void place_on(const Device& router, const ModuleRef& model, std::span<const Placement> placements);
}

/// The model on a router, with each parameter, buffer and constant on the part of the first placement that selects it.
/// Operations with them run there; what they give moves on by itself. The parts stay when numbers are loaded into the
/// model or it is trained. Throws ArgumentError if a tensor is selected by none, if a placement selects no parameter,
/// or if there is no such part; DeviceError for a device that is no router.
template <Module M>
[[nodiscard("place() moves no model: it returns one")]] M place(M model, const Device& router,
                                                                const std::vector<Placement>& placements) {
  nn::place_on(router, model, placements);
  return model;
}

}  // namespace kiln
