// What the fuzzers share: which reader is meant, and what may come of a file.
#pragma once
#include "tests/fuzz/readers.hpp"

namespace kiln::test {

/// Those that this program knows; tests/fuzz/CMakeLists.txt links the tables.
std::vector<Reader> known_readers();

/// The one that KILN_FUZZ names. Ends the program where it names none.
const Reader& chosen_reader();

/// Reads the file, which may be refused by an Error. Anything else (another exception, a result that cannot be) is told, and
/// ends the program as a crash does. `why`, if given, becomes the sentence of a refusal.
bool is_taken(const Reader& reader, std::span<const std::byte> file, std::string* why = nullptr);

/// One change or several, of bytes or of what they mean.
void change_file(const Reader& reader, FileContents& file, Random& random);

}  // namespace kiln::test
