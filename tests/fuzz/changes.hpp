// Changes that leave the structure of a file whole: numbers at the ends of their types, parts that are left out, doubled or
// put elsewhere.
#pragma once
#include "tests/fuzz/readers.hpp"

namespace kiln::test {

/// A number at which something goes wrong: 0, -1, the ends of 16, 31, 32, 62 and 63 bits, ...
std::int64_t extreme(Random& random);
double extreme_real(Random& random);

/// One of so many.
std::size_t one_of(std::size_t count, Random& random);

/// Of a JSON text; one that is none stays as it is.
void change_json(FileContents& file, Random& random);
/// Of a safetensors file's header, whose length is mended.
void change_safetensors(FileContents& file, Random& random);
/// Of a Parquet file's footer, which is Thrift's compact protocol.
void change_parquet(FileContents& file, Random& random);
/// Of an ONNX model, which is protobuf: attributes, sizes, types, inputs, tensors.
void change_onnx(FileContents& file, Random& random);

}  // namespace kiln::test
