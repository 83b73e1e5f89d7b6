#include <cstdio>
#include <new>

#include "cli/commands.hpp"

// If there is no memory even for the arguments, a constant message is printed.
int main(int count, char** arguments) try {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const auto to = [](std::FILE* file) {
    return [file](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), file);
      std::fflush(file);
    };
  };
  return kiln::cli::run(words, to(stdout), to(stderr));
} catch (const std::bad_alloc&) {
  std::fputs("kiln: the system gives no more memory\n", stderr);
  return 2;
}
