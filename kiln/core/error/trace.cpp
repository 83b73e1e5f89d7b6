#include "kiln/core/error/trace.hpp"

#include <cxxabi.h>
#include <execinfo.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/core/text.hpp"

namespace kiln {
namespace {

using detail::Frame;

/// Whether the file is one of Kiln's sources, in whatever directory they are.
bool is_source(std::string_view file) {
  for (const auto folder : {"core",    "ops",        "wire",   "net",   "picture",      "autodiff", "fusion",
                            "backend", "collective", "tensor", "nn",    "distribution", "vision",   "optim",
                            "data",    "onnx",       "store",  "train", "compile",      "browser",  "rl"})
    if (file.find(text("kiln/", folder, '/')) != file.npos) return true;
  return false;
}

/// Whether a function, by its mangled name, belongs to this namespace.
bool is_in(std::string_view function, std::string_view name_space) {
  if (!function.starts_with("_Z")) return false;
  function.remove_prefix(2);
  while (!function.empty() && (function[0] == 'Z' || function[0] == 'N' || function[0] == 'K' || function[0] == 'V'))
    function.remove_prefix(1);
  return function.starts_with(name_space);
}

/// Whether the frame is Kiln's or belongs to the standard library that Kiln calls through; a sanitizer's wrapper of
/// backtrace() counts too.
bool is_inner(const Frame& frame) {
  if (frame.function.starts_with("__interceptor_") || frame.function.starts_with("___interceptor_")) return true;
  if (is_in(frame.function, "St") || is_in(frame.function, "9__gnu_cxx")) return true;
  return is_in(frame.function, "4kiln") && (frame.file.empty() || is_source(frame.file));
}

/// Whether the frame comes before main().
bool is_start(const Frame& frame) {
  return frame.function == "_start" || frame.function == "__libc_start_main" ||
         frame.function == "__libc_start_call_main" || frame.function == "__libc_start_main_impl" ||
         frame.function == "clone" || frame.function == "clone3" || frame.function == "start_thread";
}

/// "kiln::nn::Linear::forward" for "_ZNK4kiln2nn6Linear7forward...": the demangled name without the parameters.
std::string demangled_name(const std::string& function) {
  int status = 0;
  char* const letters = abi::__cxa_demangle(function.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? letters : function;
  std::free(letters);
  if (status != 0) return name;
  // The parameters are the last parentheses that stand outside of template arguments.
  int angles = 0, depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == '>') ++angles;
    if (name[at] == '<') --angles;
    if (angles > 0) continue;
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return name.substr(0, at);
  }
  return name;
}

std::string line_of(const Frame& frame) {
  if (frame.function.empty() && frame.file.empty()) {
    char address[32];
    std::snprintf(address, sizeof address, "%p", frame.address);
    return text(detail::kCalledFrom, address);
  }
  const std::string name = demangled_name(frame.function);
  if (frame.file.empty()) return text(detail::kCalledFrom, name);
  return text(detail::kCalledFrom, frame.file.substr(frame.file.rfind('/') + 1), ':', frame.line, ' ', name);
}

/// The frames of return addresses, innermost first.
std::vector<Frame> frames_of(std::span<void* const> calls) {
  std::vector<Frame> frames;
  for (void* const next : calls) {
    // The address is that of the next instruction, which may belong to another line or function.
    void* const call = static_cast<char*>(next) - 1;
    detail::read_frames(
        call, [](void* list, Frame frame) { static_cast<std::vector<Frame>*>(list)->push_back(std::move(frame)); },
        &frames);
  }
  return frames;
}

/// Whether the ELF file has debug information. Only headers and the names of sections are read.
bool has_debug_information(const char* path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(ElfW(Shdr)) ||
      header.e_shstrndx >= header.e_shnum)
    return false;
  std::vector<ElfW(Shdr)> sections(header.e_shnum);
  file.seekg(static_cast<std::streamoff>(header.e_shoff));
  file.read(reinterpret_cast<char*>(sections.data()),
            static_cast<std::streamsize>(sections.size() * sizeof(ElfW(Shdr))));
  constexpr std::size_t kMostLetters = 1 << 20;
  if (!file || sections[header.e_shstrndx].sh_size > kMostLetters) return false;
  std::string names(sections[header.e_shstrndx].sh_size, '\0');
  file.seekg(static_cast<std::streamoff>(sections[header.e_shstrndx].sh_offset));
  file.read(names.data(), static_cast<std::streamsize>(names.size()));
  return file && names.find("debug_info") != names.npos;
}

/// Whether the program or one of its libraries has debug information. Without any, no time goes into reading symbols.
bool program_has_lines() {
  static const bool has = dl_iterate_phdr(
                              [](dl_phdr_info* module, std::size_t, void*) {
                                const std::string_view name = module->dlpi_name ? module->dlpi_name : "";
                                if (name.empty()) return int(has_debug_information("/proc/self/exe"));
                                // The kernel's own library has a name, and no file.
                                return int(name.find('/') != name.npos && has_debug_information(module->dlpi_name));
                              },
                              nullptr) != 0;
  return has;
}

// The innermost CalledFrom of the thread.
thread_local const Trace* told_calls = nullptr;
thread_local bool is_told = false;

}  // namespace

CalledFrom::CalledFrom(const Trace* calls)
    : before_calls_(std::exchange(told_calls, calls)), before_is_set_(std::exchange(is_told, true)) {}
CalledFrom::~CalledFrom() {
  told_calls = before_calls_;
  is_told = before_is_set_;
}
Trace CalledFrom::calls() { return !is_told ? Trace::here() : told_calls ? *told_calls : Trace(); }

std::string detail::lines_of_error() {
  if (is_told) return told_calls ? lines_of(*told_calls) : std::string();
  if (!program_has_lines()) return {};
  constexpr std::size_t kMost = 100, kLines = 12;  // a model of many layers calls deeply before an operation is reached
  std::array<void*, kMost> calls;
  const auto depth = static_cast<std::size_t>(backtrace(calls.data(), kMost));
  std::string lines;
  std::size_t count = 0;
  for (const Frame& frame : frames_of({calls.data(), depth})) {
    if (is_start(frame) || count == kLines) break;
    if (frame.file.empty() || is_inner(frame)) continue;
    lines += line_of(frame);
    ++count;
  }
  return lines;
}

Trace Trace::here() {
  Trace trace;
  trace.depth = backtrace(trace.calls.data(), kMost);
  return trace;
}

std::string lines_of(const Trace& trace) {
  std::string lines, all;
  for (const Frame& frame : frames_of({trace.calls.data(), static_cast<std::size_t>(trace.depth)})) {
    if (is_start(frame)) break;
    const std::string line = line_of(frame);
    all += line;
    if (!is_inner(frame)) lines += line;
  }
  return lines.empty() ? all : lines;  // a program in Kiln's own namespace, without debug information
}

}  // namespace kiln
