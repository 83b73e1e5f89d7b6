// A conversation as a file: messages one after the other, each behind its length, so that a change may take place within a
// message, or in their order.
#pragma once
#include "tests/fuzz/readers.hpp"

namespace kiln::test {

using Messages = std::vector<FileContents>;

FileContents file_of(const Messages& messages);
/// Bytes that are too few for their length are what is left.
Messages messages_of(std::span<const std::byte> file);

/// Leaves out, doubles, exchanges, cuts or damages messages; their lengths are right again.
void change_messages(FileContents& file, Random& random);

}  // namespace kiln::test
