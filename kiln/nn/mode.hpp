// Whether a module is being trained.
#pragma once
#include <cstdint>
#include <string>

namespace kiln::nn {

/// A mode of modules that behave differently in training: dropout is active, batch norm uses the batch's own
/// statistics. It is independent of the device; train(model) and valid(model) set it throughout a model.
enum class Mode : std::uint8_t { Train, Valid };

inline void append(std::string& out, Mode mode) { out += mode == Mode::Train ? "train" : "valid"; }

}  // namespace kiln::nn
