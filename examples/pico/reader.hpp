// The guide's model for a Raspberry Pi Pico: with fewer hidden values, trained here, and written as C for there.
#pragma once
#include <string>

#include "examples/guide/model.hpp"
#include "examples/guide/source.hpp"
#include "kiln/compile/compile.hpp"

namespace pico {

using namespace kiln;

/// The model after `images` pictures in batches of 64; pictures come again where there are fewer.
guide::Model trained(const guide::Source& source, std::int64_t images, std::uint64_t seed);

/// The digit that the model reads.
std::int64_t digit_in(const guide::Model& model, const Image& image);

/// digits.h and digits.c: digits_run(image, chances), from 28 x 28 normalised pixels to ten probabilities. `target` is
/// "pico" or "pico2".
compile::CompiledCode compiled(const guide::Model& model, const std::string& target);

}  // namespace pico
