// The precision that an op was called with: a field of the ops that multiply float32, so that whatever is kept by an op
// (plans, graphs, records, bytes) is kept by its precision too.
#pragma once
#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/float32_precision.hpp"

namespace kiln::op {

/// The op's precision; OfDevice for one that has none, or that multiplies no float32.
Float32Precision::Level precision_of(const Op& op);
/// Whether the op has a precision that nobody has chosen yet.
bool is_unsettled(const Op& op, Inputs in);
/// The op with the precision of the thread's scope, or else of the device.
Op settled(const Op& op, const Device& device);

}  // namespace kiln::op
