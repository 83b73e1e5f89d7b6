// Stems of English words.
#pragma once
#include <string>

namespace kiln::metric {

/// "relat" for "relational": by the rules of Porter, "An algorithm for suffix stripping", 1980. For words of lower-case
/// letters a to z; any other word is its own stem.
std::string stem(std::string word);

}  // namespace kiln::metric
