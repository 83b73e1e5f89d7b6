#include <cstdio>
#include <new>

#include "cli/commands.hpp"

// Where there is not even memory for the words, the sentence is one that needs none.
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
