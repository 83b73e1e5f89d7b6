// A compiler as a library: NVIDIA's NVRTC, or AMD's HIPRTC, which took over its functions. Names and numbers are those
// of NVRTC's reference.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/system/shared_library.hpp"

namespace kiln::streams {

class RuntimeCompiler {
 public:
  /// The names of a maker's library.
  struct Names {
    std::string_view device;     // "cuda"
    std::string_view library;    // "NVRTC"
    std::string_view prefix;     // of its functions: "nvrtc"
    std::string_view code;       // what they call the code in "nvrtcGetCUBIN"
    std::string_view extension;  // of a source file: ".cu"
    std::string build{};         // tells builds apart of which the version says the same; may be empty
  };
  /// Throws DeviceError if the library lacks a function.
  RuntimeCompiler(const SharedLibrary& library, const Names& names);

  /// "NVRTC 12.9", and the build
  const std::string& version() const { return version_; }
  /// The machine code of the only kernel in `text`. Throws DeviceError with the kernel's name, the compiler's message
  /// and the text with line numbers.
  std::vector<std::byte> compile(const std::string& kernel, const std::string& text,
                                 std::span<const char* const> options) const;
  const Names& names() const { return names_; }

 private:
  using Program = struct _nvrtcProgram*;
  using Result = int;  // nvrtcResult; 0 is success
  struct Destroy;

  Result (*get_version_)(int* major, int* minor);
  const char* (*get_error_string_)(Result result);
  Result (*create_program_)(Program* program, const char* source, const char* name, int headers,
                            const char* const* contents, const char* const* include_names);
  Result (*destroy_program_)(Program* program);
  Result (*compile_program_)(Program program, int options, const char* const* texts);
  Result (*get_log_size_)(Program program, std::size_t* size);
  Result (*get_log_)(Program program, char* log);
  Result (*get_code_size_)(Program program, std::size_t* size);
  Result (*get_code_)(Program program, char* code);
  const Names names_;
  std::string version_;
};

}  // namespace kiln::streams
