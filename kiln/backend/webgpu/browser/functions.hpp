// Functions of WebGPU whose commands the browser runs.
#pragma once
#include "kiln/backend/webgpu/functions.hpp"

namespace kiln::webgpu::browser {

Functions functions();

}  // namespace kiln::webgpu::browser
