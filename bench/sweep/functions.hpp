// The functions that a sweep calls, by name; bench/peers/torch_sweep.py has the same in PyTorch.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "kiln/ops/functions.hpp"

namespace bench {

using namespace kiln;
using Function = std::function<Values(const Values& x)>;

const std::map<std::string, Function>& functions();

}  // namespace bench
