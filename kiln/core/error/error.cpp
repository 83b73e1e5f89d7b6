// Raising by exception; a build without exceptions links error_handler.cpp in its place.
#include "kiln/core/error/error.hpp"

namespace kiln {

void raise(ErrorKind kind, const std::string& message) {
  switch (kind) {
    case ErrorKind::Shape: throw ShapeError(message);
    case ErrorKind::DType: throw DTypeError(message);
    case ErrorKind::Index: throw IndexError(message);
    case ErrorKind::Argument: throw ArgumentError(message);
    case ErrorKind::Device: throw DeviceError(message);
    case ErrorKind::Autodiff: throw AutodiffError(message);
    case ErrorKind::Memory: throw MemoryError(message);
    case ErrorKind::Data: throw DataError(message);
    case ErrorKind::Load: throw LoadError(message);
    case ErrorKind::Config: throw ConfigError(message);
    case ErrorKind::Io: throw IoError(message);
    case ErrorKind::Verify: throw VerifyError(message);
  }
  throw Error(kind, message);
}

}  // namespace kiln
