// The simulated GPU, to which a test adds a library.
#pragma once
#include "tests/backend/gpu/family/device.hpp"
#include "tests/support/backends/forwarding_driver.hpp"
