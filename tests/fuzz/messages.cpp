#include "tests/fuzz/messages.hpp"

#include <algorithm>
#include <cstring>

#include "tests/fuzz/changes.hpp"
#include "tests/store/formats/mutation.hpp"

namespace kiln::test {

FileContents file_of(const Messages& messages) {
  FileContents file;
  for (const FileContents& message : messages) {
    const auto length = static_cast<std::uint32_t>(message.size());
    const auto bytes = std::as_bytes(std::span(&length, 1));
    file.insert(file.end(), bytes.begin(), bytes.end());
    file.insert(file.end(), message.begin(), message.end());
  }
  return file;
}

Messages messages_of(std::span<const std::byte> file) {
  Messages messages;
  std::uint32_t length = 0;
  while (file.size() >= sizeof length) {
    std::memcpy(&length, file.data(), sizeof length);
    file = file.subspan(sizeof length);
    const auto bytes = file.first(std::min<std::size_t>(length, file.size()));
    messages.emplace_back(bytes.begin(), bytes.end());
    file = file.subspan(bytes.size());
  }
  return messages;
}

void change_messages(FileContents& file, Random& random) {
  Messages messages = messages_of(file);
  if (messages.empty()) return;
  const auto place = [&] { return static_cast<std::ptrdiff_t>(random.below(std::ssize(messages))); };
  const std::ptrdiff_t at = place();
  FileContents& message = messages[static_cast<std::size_t>(at)];
  switch (random.below(8)) {
    case 0: messages.erase(messages.begin() + at); break;
    case 1: messages.insert(messages.begin() + place(), FileContents(message)); break;
    case 2: std::iter_swap(messages.begin() + at, messages.begin() + place()); break;
    case 3: message.resize(static_cast<std::size_t>(random.below(std::ssize(message) + 1))); break;
    case 4: {  // another message's bytes within this one
      const FileContents other = messages[static_cast<std::size_t>(place())];
      message.insert(message.begin() + random.below(std::ssize(message) + 1), other.begin(), other.end());
      break;
    }
    default:
      if (!message.empty()) damage(message, random);
  }
  file = file_of(messages);
}

}  // namespace kiln::test
