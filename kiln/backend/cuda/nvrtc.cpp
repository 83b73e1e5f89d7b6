#include "kiln/backend/cuda/nvrtc.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

constexpr std::string_view kPurpose = "compiles kernels",
                           kRemedy =
                               "install NVIDIA's CUDA toolkit (Debian: libnvrtc12), or the Python package "
                               "nvidia-cuda-nvrtc-cu12 and let KILN_NVRTC name its libnvrtc.so.12";

SharedLibrary open_library() {
  if (const char* const file = setting("KILN_NVRTC")) return SharedLibrary("cuda", kPurpose, {file}, kRemedy);
  return SharedLibrary("cuda", kPurpose, {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, kRemedy);
}

std::string numbered(std::string_view text) {
  std::string out;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += kiln::text("\n", line, ": ", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

const Nvrtc& Nvrtc::get() {
  static const Nvrtc opened(open_library());
  return opened;
}

Nvrtc::Nvrtc(const SharedLibrary& library) {
  library.find("nvrtcVersion", get_version_);
  library.find("nvrtcGetErrorString", get_error_string_);
  library.find("nvrtcCreateProgram", create_program_);
  library.find("nvrtcDestroyProgram", destroy_program_);
  library.find("nvrtcCompileProgram", compile_program_);
  library.find("nvrtcGetProgramLogSize", get_log_size_);
  library.find("nvrtcGetProgramLog", get_log_);
  library.find("nvrtcGetCUBINSize", get_cubin_size_);
  library.find("nvrtcGetCUBIN", get_cubin_);
  int major = 0, minor = 0;
  get_version_(&major, &minor);
  version_ = text(major, '.', minor);
}

struct Nvrtc::Destroy {
  const Nvrtc& nvrtc;
  Program program = nullptr;
  ~Destroy() {
    if (program) nvrtc.destroy_program_(&program);
  }
};

std::vector<std::byte> Nvrtc::compile(const std::string& kernel, const std::string& source,
                                      std::span<const char* const> options) const {
  Destroy held{*this};
  Result result = create_program_(&held.program, source.c_str(), (kernel + ".cu").c_str(), 0, nullptr, nullptr);
  require<DeviceError>(result == 0, "cuda: kernel ", kernel, ": NVRTC does not start: ", get_error_string_(result));
  result = compile_program_(held.program, static_cast<int>(options.size()), options.data());
  if (result != 0) {
    std::size_t size = 0;
    std::string log;
    if (get_log_size_(held.program, &size) == 0 && size > 1) {
      log.resize(size);
      get_log_(held.program, log.data());
      log.resize(size - 1);  // a final zero
    }
    fail<DeviceError>("cuda: kernel ", kernel, " does not compile: ", get_error_string_(result), "\n", log,
                      numbered(source));
  }
  std::size_t size = 0;
  result = get_cubin_size_(held.program, &size);
  std::vector<std::byte> cubin(size);
  if (result == 0) result = get_cubin_(held.program, reinterpret_cast<char*>(cubin.data()));
  require<DeviceError>(result == 0 && size > 0, "cuda: kernel ", kernel,
                       ": NVRTC gives no code: ", get_error_string_(result));
  return cubin;
}

}  // namespace kiln::cuda
