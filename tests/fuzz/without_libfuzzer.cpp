// What libFuzzer's main does, without looking at which branches an input takes:
//
//   KILN_FUZZ=gguf fuzz [-runs=N] [-seed=S] [-from=I] [-write=FILE] [FOLDER...]
//
// Input number i is the same for a seed, whatever was before it: a sound file, of the reader's own or in the folders, changed.
// One that ends the program is written to crash-READER-NUMBER, and its number said; `-from=I -runs=1` repeats it.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#include "kiln/core/file.hpp"
#include "tests/fuzz/target.hpp"

namespace kiln::test {
namespace {

constexpr std::size_t kLongest = 1 << 20;
constexpr unsigned kPatience = 60;  // seconds for an input: one that takes longer is a hang

// For the handler of signals, which may not allocate.
char crash_name[200];
const std::byte* current = nullptr;
std::size_t current_size = 0;

void keep_crash(int signal) {
  const int file = ::open(crash_name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file >= 0 && ::write(file, current, current_size) >= 0) ::close(file);
  for (const char* part : {signal == SIGALRM ? "a hang: " : "a crash: ", static_cast<const char*>(crash_name), "\n"})
    if (::write(STDERR_FILENO, part, std::char_traits<char>::length(part)) < 0) break;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

#if defined(__SANITIZE_ADDRESS__)
// A sanitizer tells of what it finds, and then of its end; and maps all the memory that there could be.
void watch() {
  __sanitizer_set_death_callback([] { keep_crash(SIGABRT); });
  for (const int signal : {SIGABRT, SIGALRM}) std::signal(signal, keep_crash);
}
#else
void watch() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(signal, keep_crash);
  const rlimit most{std::size_t{6} << 30, std::size_t{6} << 30};
  ::setrlimit(RLIMIT_AS, &most);
}
#endif

struct Options {
  std::int64_t runs = 1000, seed = 1, from = 0;
  std::string write;
  std::vector<std::string> folders;
};

Options options_of(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    const auto number = [&](std::string_view name, std::int64_t& value) {
      if (!word.starts_with(name)) return false;
      const std::string_view digits = word.substr(name.size());
      return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
    };
    if (number("-runs=", options.runs) || number("-seed=", options.seed) || number("-from=", options.from)) continue;
    if (word.starts_with("-write=")) options.write = word.substr(7);
    else if (!word.starts_with('-')) options.folders.emplace_back(word);
    else {
      std::fprintf(stderr, "fuzz [-runs=N] [-seed=S] [-from=I] [-write=FILE] [FOLDER...], not %s\n", arguments[i]);
      std::exit(2);
    }
  }
  return options;
}

int run(const Options& options) {
  const Reader& reader = chosen_reader();
  std::vector<FileContents> sound = reader.sound();
  const std::int64_t own = std::ssize(sound);
  for (const std::string& folder : options.folders) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.file_size() <= kLongest) paths.push_back(entry.path().string());
    std::ranges::sort(paths);
    for (const std::string& path : paths) sound.push_back(read_file(path));
  }
  std::int64_t taken = 0;
  for (std::int64_t i = options.from; i < options.from + options.runs; ++i) {
    Random random(Key{static_cast<std::uint64_t>(options.seed)}.split(static_cast<std::uint64_t>(i)));
    FileContents file = sound[static_cast<std::size_t>(i) % sound.size()];
    if (i >= std::ssize(sound)) change_file(reader, file, random);
    if (file.size() > kLongest) file.resize(kLongest);
    file.shrink_to_fit();  // so that a sanitizer sees the end where it is
    if (!options.write.empty()) write_file_atomically(options.write, file);
    current = file.data();
    current_size = file.size();
    std::snprintf(crash_name, sizeof crash_name, "crash-%s-%lld", std::string(reader.name).c_str(),
                  static_cast<long long>(i));
    ::alarm(kPatience);
    std::string why;
    const bool was_taken = is_taken(reader, file, &why);
    ::alarm(0);
    taken += was_taken;
    if (i < own && !was_taken) {
      std::fprintf(stderr, "%s: sound file %lld is refused: %s\n", std::string(reader.name).c_str(),
                   static_cast<long long>(i), why.c_str());
      return 1;
    }
  }
  std::printf("%s: %lld files, of which %lld were read\n", std::string(reader.name).c_str(),
              static_cast<long long>(options.runs), static_cast<long long>(taken));
  return 0;
}

}  // namespace
}  // namespace kiln::test

int main(int count, char** arguments) {
  kiln::test::watch();
  return kiln::test::run(kiln::test::options_of(count, arguments));
}
