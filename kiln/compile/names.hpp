// Names of models and tensors, which may be any bytes, as identifiers of C.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace kiln::compile {

/// Letters, digits and underscores of `name`, other bytes replaced by underscores; at most 48 of them. It is not empty,
/// begins with a letter, is no keyword of C or C++ and differs from all `taken`, to which it is added.
std::string identifier(std::string_view name, std::string_view otherwise, std::set<std::string>& taken);

}  // namespace kiln::compile
