// Where the guide's digits come from: MNIST's files, or Digits, which Kiln draws itself.
#pragma once
#include <string>

#include "kiln/data/dataset.hpp"
#include "kiln/data/image.hpp"

namespace guide {

struct Source {
  kiln::DatasetPtr<kiln::Image> train, test;
  std::string location;  // opens the same source again
  std::string name;      // what to call it in messages
};

/// `data`: "digits", "mnist" (from KILN_DATA or the cache, downloaded if need be) or a directory with MNIST's files;
/// empty means MNIST where KILN_DATA is set, otherwise Digits. Throws DataError or IoError.
Source open_source(const std::string& data);

}  // namespace guide
