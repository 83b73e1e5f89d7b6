// Arrow's structs, made by hand.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kiln/data/arrow/abi.hpp"

namespace kiln::test {

/// An array and its schema, with the children within. It counts how often each was released.
struct Made {
  std::string format, name;
  std::int64_t length = 0, nulls = 0, offset = 0;
  std::vector<const void*> buffers{};
  std::vector<Made> children{};
  std::vector<Made> dictionary{};

  int schemas_released = 0, arrays_released = 0;
  ArrowSchema schema{};
  ArrowArray array{};
  std::vector<ArrowSchema*> schemas{};
  std::vector<ArrowArray*> arrays{};

  /// Fills the structs, which refer to this object from then on.
  void fill() {
    for (Made& child : children) {
      child.fill();
      schemas.push_back(&child.schema);
      arrays.push_back(&child.array);
    }
    for (Made& words : dictionary) words.fill();
    schema = {.format = format.c_str(),
              .name = name.c_str(),
              .metadata = nullptr,
              .flags = ARROW_FLAG_NULLABLE,
              .n_children = std::ssize(children),
              .children = schemas.data(),
              .dictionary = dictionary.empty() ? nullptr : &dictionary[0].schema,
              .release =
                  [](ArrowSchema* s) {
                    ++static_cast<Made*>(s->private_data)->schemas_released;
                    s->release = nullptr;
                  },
              .private_data = this};
    array = {.length = length,
             .null_count = nulls,
             .offset = offset,
             .n_buffers = std::ssize(buffers),
             .n_children = std::ssize(children),
             .buffers = buffers.data(),
             .children = arrays.data(),
             .dictionary = dictionary.empty() ? nullptr : &dictionary[0].array,
             .release =
                 [](ArrowArray* a) {
                   ++static_cast<Made*>(a->private_data)->arrays_released;
                   a->release = nullptr;
                 },
             .private_data = this};
  }
};

}  // namespace kiln::test
