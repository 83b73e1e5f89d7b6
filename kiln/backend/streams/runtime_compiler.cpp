#include "kiln/backend/streams/runtime_compiler.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::streams {
namespace {

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

RuntimeCompiler::RuntimeCompiler(const SharedLibrary& library, const Names& names) : names_(names) {
  const auto find = [&](std::string_view name, auto& function) {
    library.find(text(names.prefix, name).c_str(), function);
  };
  find("Version", get_version_);
  find("GetErrorString", get_error_string_);
  find("CreateProgram", create_program_);
  find("DestroyProgram", destroy_program_);
  find("CompileProgram", compile_program_);
  find("GetProgramLogSize", get_log_size_);
  find("GetProgramLog", get_log_);
  find(text("Get", names.code, "Size"), get_code_size_);
  find(text("Get", names.code), get_code_);
  int major = 0, minor = 0;
  get_version_(&major, &minor);
  version_ = text(names.library, ' ', major, '.', minor, names.build);
}

struct RuntimeCompiler::Destroy {
  const RuntimeCompiler& compiler;
  Program program = nullptr;
  ~Destroy() {
    if (program) compiler.destroy_program_(&program);
  }
};

std::vector<std::byte> RuntimeCompiler::compile(const std::string& kernel, const std::string& source,
                                                std::span<const char* const> options) const {
  Destroy held{*this};
  Result result =
      create_program_(&held.program, source.c_str(), text(kernel, names_.extension).c_str(), 0, nullptr, nullptr);
  require<DeviceError>(result == 0, names_.device, ": kernel ", kernel, ": ", names_.library,
                       " does not start: ", get_error_string_(result));
  result = compile_program_(held.program, static_cast<int>(options.size()), options.data());
  if (result != 0) {
    std::size_t size = 0;
    std::string log;
    if (get_log_size_(held.program, &size) == 0 && size > 1) {
      log.resize(size);
      get_log_(held.program, log.data());
      log.resize(size - 1);  // a final zero
    }
    fail<DeviceError>(names_.device, ": kernel ", kernel, " does not compile: ", get_error_string_(result), "\n", log,
                      numbered(source));
  }
  std::size_t size = 0;
  result = get_code_size_(held.program, &size);
  std::vector<std::byte> code(size);
  if (result == 0) result = get_code_(held.program, reinterpret_cast<char*>(code.data()));
  require<DeviceError>(result == 0 && size > 0, names_.device, ": kernel ", kernel, ": ", names_.library,
                       " gives no code: ", get_error_string_(result));
  return code;
}

}  // namespace kiln::streams
