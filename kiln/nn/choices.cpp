// Instantiates the types that configs choose from, each once.
#include "kiln/nn/activation/choice.hpp"
#include "kiln/nn/norm/norm.hpp"

namespace kiln::nn {

template class OneOf<KILN_ACTIVATIONS>;
template class OneOf<KILN_NORMALIZATIONS>;
template class OneOf<LayerNorm, RmsNorm>;
template void each_part<Activation>(void*, PartType::Visit);
template void each_part<Normalization>(void*, PartType::Visit);
template void each_part<SequenceNorm>(void*, PartType::Visit);

}  // namespace kiln::nn
