// Replaces pcre2.cpp in a build without it.
#include "kiln/data/text/pattern/engine.hpp"

namespace kiln::tokens {

std::shared_ptr<const Pattern::Engine> make_engine(const View& regex, const std::string&) {
  regex.refuse(
      "is a regular expression, and this Kiln was built without libpcre2, which looks for those; only the patterns of "
      "GPT-2, GPT-4, Llama 3 and Qwen are known without it");
}

}  // namespace kiln::tokens
