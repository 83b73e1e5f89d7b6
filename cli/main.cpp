#include <cstdio>

#include "cli/commands.hpp"

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const auto to = [](std::FILE* file) {
    return [file](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), file);
      std::fflush(file);
    };
  };
  return kiln::cli::run(words, to(stdout), to(stderr));
}
