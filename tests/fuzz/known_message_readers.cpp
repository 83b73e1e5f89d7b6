#include "tests/fuzz/message_readers.hpp"
#include "tests/fuzz/target.hpp"

namespace kiln::test {

std::vector<Reader> known_readers() {
  std::vector<Reader> all;
  for (const auto table : {net_readers, remote_readers})
    for (const Reader& reader : table()) all.push_back(reader);
  return all;
}

}  // namespace kiln::test
