#include <cstdio>

#include "cli/commands.hpp"

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  std::string out, error;
  const int status = kiln::cli::run(words, out, error);
  std::fputs(out.c_str(), stdout);
  std::fputs(error.c_str(), stderr);
  return status;
}
