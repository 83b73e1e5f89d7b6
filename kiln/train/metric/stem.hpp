// English words without their endings.
#pragma once
#include <string>

namespace kiln::metric {

/// "relat" of "relational": by the rules of Porter, "An algorithm for suffix stripping", 1980. Of small letters a to z; any other
/// word is its own stem.
std::string stem(std::string word);

}  // namespace kiln::metric
