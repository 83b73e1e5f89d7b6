// Names of models and tensors, which may be any bytes, as identifiers of C.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace kiln::compile {

/// The name of a macro: a to z as A to Z.
std::string upper(std::string name);

/// Letters, digits and underscores of `name`, other bytes replaced by underscores; at most 48 of them. It is not empty,
/// begins with a letter but not with "kiln", as the program's own names do, is no keyword of C or C++, and differs by more
/// than case from all names whose upper() is `taken`, to which its own is added.
std::string identifier(std::string_view name, std::string_view otherwise, std::set<std::string>& taken);

}  // namespace kiln::compile
