// The version of Kiln: CMake, packages and programs read it here. While the first number is 0, the second one changes
// with what programs must be compiled again for.
#pragma once

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0
#define KILN_VERSION "0.1.0"
