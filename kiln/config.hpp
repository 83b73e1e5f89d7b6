// Includes configs: structs to and from JSON, and options of the command line.
#pragma once
#include "kiln/core/config/arguments.hpp"
#include "kiln/core/config/config.hpp"
#include "kiln/core/config/json.hpp"
