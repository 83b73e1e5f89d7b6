#include "tests/compile/compiled.hpp"

#include <array>
#include <cstdio>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace kiln::compile {

std::string failure_of(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return "popen failed";
  std::string said;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) said.append(part.data(), count);
  return pclose(pipe) == 0 ? "" : "failed: " + command + "\n" + said.substr(0, 4000);
}

bool has_c_compiler() {
  static const bool kHas = failure_of("cc --version").empty();
  return kHas;
}

void write_code(const CompiledCode& code, const std::string& directory) {
  for (const auto& [name, contents] : code.files) write_text(directory + "/" + name, contents);
}

Library::Library(const CompiledCode& code, const Source& source, const std::string& flags)
    : outputs_(source.graph.outputs()) {
  write_code(code, folder_.directory);
  const std::size_t count = source.graph.inputs().size() - source.bound.size() + outputs_.size();
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += text(i ? ", " : "", "p[", i, "]");
  write_text(folder_.directory + "/call.c",
             text("#include \"", code.name, ".h\"\nint call(void** p);\nint call(void** p) { return ", code.name,
                  "_run(", list, "); }\n"));
  const std::string command =
      text("cd ", folder_.directory, " && cc -std=c11 -fno-strict-aliasing ", flags,
           " -Wall -Wextra -Werror -pedantic -fPIC -shared -o program.so ", code.name, ".c call.c -lm");
  const std::string failure = failure_of(command);
  EXPECT_EQ(failure, "") << code.files.at(code.name + ".c").substr(0, 6000);
  if (!failure.empty()) return;
  library_ = dlopen(folder_.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(library_) << dlerror();
  if (library_) call_ = reinterpret_cast<int (*)(void**)>(dlsym(library_, "call"));
}

Library::~Library() {
  if (library_) dlclose(library_);
}

int Library::run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs) const {
  if (!call_) return -1;
  outputs.clear();
  std::vector<void*> pointers;
  for (const TensorData& input : inputs) pointers.push_back(const_cast<std::byte*>(input.bytes().data()));
  outputs.reserve(outputs_.size());
  for (const Desc& desc : outputs_) {
    outputs.emplace_back(desc.shape, desc.dtype);
    for (std::byte& byte : outputs.back().bytes()) byte = std::byte{0x5a};  // what is not written is seen
    pointers.push_back(outputs.back().bytes().data());
  }
  return call_(pointers.data());
}

void expect_same(FunctionRef<Values(const Values&)> function, const Values& inputs, const Tolerance& tolerance,
                 const CompileOptions& options, const std::vector<std::string>& flags) {
  Source source{.graph = capture_graph(function, inputs)};
  const CompiledCode code = compile(source, options);
  std::vector<TensorData> data, outputs;
  for (const Value& input : inputs) data.push_back(input.data());
  const Values expected = source.graph.replay(inputs);
  for (const std::string& each : flags) {
    const Library library(code, source, each);
    for (int round = 0; round < 2; ++round) {  // the second on memory that the first has used
      ASSERT_EQ(library.run(data, outputs), 0);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(difference(outputs[i], expected[i].data(), tolerance), "")
            << "output " << i << ", " << each << "\n"
            << code.files.at(code.name + ".c").substr(0, 12000);
    }
  }
}

}  // namespace kiln::compile
