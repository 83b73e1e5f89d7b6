// NVRTC, NVIDIA's compiler of CUDA C++ as a library. Names and numbers are those of its reference.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/shared_library.hpp"

namespace kiln::cuda {

class Nvrtc {
 public:
  /// The installed library, or the file that KILN_NVRTC names. Throws DeviceError if there is none.
  static const Nvrtc& get();
  explicit Nvrtc(const SharedLibrary& library);

  /// "12.9"
  const std::string& version() const { return version_; }
  /// The machine code of the only kernel in `text`. Throws DeviceError with the kernel's name, the compiler's message
  /// and the text with line numbers.
  std::vector<std::byte> compile(const std::string& kernel, const std::string& text,
                                 std::span<const char* const> options) const;

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
  Result (*get_cubin_size_)(Program program, std::size_t* size);
  Result (*get_cubin_)(Program program, char* cubin);
  std::string version_;
};

}  // namespace kiln::cuda
