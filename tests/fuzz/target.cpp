#include "tests/fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/store/formats/mutation.hpp"

namespace kiln::test {

const Reader& chosen_reader() {
  static const Reader chosen = [] {
    const char* const said = std::getenv("KILN_FUZZ");
    std::string names;
    for (const Reader& reader : known_readers()) {
      if (said && reader.name == said) return reader;
      names += kiln::text(' ', reader.name);
    }
    std::fprintf(stderr, "KILN_FUZZ names the reader, one of%s\n", names.c_str());
    std::exit(2);
  }();
  return chosen;
}

bool is_taken(const Reader& reader, std::span<const std::byte> file, std::string* why) {
  const char* problem = nullptr;
  try {
    reader.read(file);
    return true;
  } catch (const Error& error) {
    // A sentence with its kind, which a terminal can show.
    if (error.message().empty()) problem = "an error without a sentence";
    for (const char letter : error.message())
      if (static_cast<unsigned char>(letter) < ' ' && letter != '\n') problem = "a sentence with control characters";
    if (why) *why = error.what();
    if (!problem) return false;
  } catch (const std::exception& other) {
    std::fprintf(stderr, "%s: %s\n", std::string(reader.name).c_str(), other.what());
    problem = "an exception that is no Error";
  }
  std::fprintf(stderr, "%s: %s\n", std::string(reader.name).c_str(), problem);
  std::abort();
}

void change_file(const Reader& reader, FileContents& file, Random& random) {
  for (std::int64_t left = 1 + random.below(random.below(4) ? 2 : 6); left > 0; --left) {
    if (file.empty()) return;
    if (reader.change && random.below(4)) reader.change(file, random);
    else damage(file, random);
  }
  if (reader.mend && random.below(4)) reader.mend(file);
}

}  // namespace kiln::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const kiln::test::FileContents exact(bytes.begin(), bytes.end());  // so that a sanitizer sees the end where it is
  (void)kiln::test::is_taken(kiln::test::chosen_reader(), exact);
  return 0;
}
