#include "tests/fuzz/target.hpp"

namespace kiln::test {

std::vector<Reader> known_readers() {
  std::vector<Reader> all;
  for (const auto table : {store_readers, config_readers, table_readers, data_readers, onnx_readers, train_readers})
    for (const Reader& reader : table()) all.push_back(reader);
  return all;
}

}  // namespace kiln::test
