#include "kiln/onnx/generate/print.hpp"

namespace kiln::onnx::cpp {
namespace {

// "image [batch, 3, 224, 224]"
std::string shape_remark(const std::string& name, const TypeProto& type) {
  if (type.kind != TypeProto::Kind::Tensor || !type.shape) return name;
  std::string out;
  for (const DimProto& dim : *type.shape)
    out += text(out.empty() ? "" : ", ", dim.value ? text(*dim.value) : dim.param.empty() ? "?" : remark(dim.param));
  return text(name, " [", out, ']');
}

std::string fields_text(const StructType& type) {
  std::string out;
  for (std::size_t i = 0; i < type.fields.size();) {
    const Field& first = type.fields[i];
    const bool opens = !first.group.empty() && (i == 0 || type.fields[i - 1].group != first.group);
    if (opens) out += text("struct ", type_identifier(first.group, "Part"), " {\n");
    const std::string kind = first.is_list ? text("std::vector<", first.type, '>') : first.type;
    std::string line = text(kind, ' ', first.name);
    for (++i; i < type.fields.size() && type.fields[i].type == first.type && !first.is_list &&
              !type.fields[i].is_list && type.fields[i].group == first.group;
         ++i)
      line += text(", ", type.fields[i].name);
    out += indented(line + ";\n", first.group.empty() ? 0 : 2);
    if (!first.group.empty() && (i == type.fields.size() || type.fields[i].group != first.group))
      out += text("};\n", type_identifier(first.group, "Part"), ' ', first.group, ";\n");
  }
  return out;
}

std::string struct_text(const StructType& type, const std::string& about) {
  std::string out = text("struct ", type.name, " {\n", indented(fields_text(type), 2));
  if (type.has_forward)
    out += text(type.fields.empty() ? "" : "\n", about.empty() ? "" : text("  /// ", about, '\n'), "  ", type.result,
                ' ', type.signature, ";\n");
  out += "};\n\n";
  std::string config = text("struct ", type.name, "Config {\n");
  for (const Parameter& parameter : type.parameters) config += text("  ", parameter.type, ' ', parameter.name, ";\n");
  if (!type.parameters.empty()) config += '\n';
  return text(out, config, "  ", type.name, " init(const Device& device) const;\n};\n\n");
}

std::string about_forward(const Structs& structs, const Subject& subject) {
  std::string in, out;
  for (std::size_t i = 0; i < subject.inputs.size(); ++i)
    in += text(i ? ", " : "", shape_remark(structs.inputs[i], subject.inputs[i].type));
  for (std::size_t i = 0; i < subject.outputs.size(); ++i)
    out += text(i ? ", " : "", shape_remark(structs.outputs[i], subject.outputs[i].type));
  return text(in, in.empty() ? "" : " ", "-> ", out);
}

std::string loader(const Structs& structs, const Subject& subject) {
  return text(structs.name, " load_", subject.name, "(const std::string& path, const Device& device)");
}

}  // namespace

std::string header_text(const Structs& structs, const Subject& subject) {
  std::string out =
      text("// What ", remark(subject.file), " computes, as a struct of modules. Written by `kiln import`.\n",
           "#pragma once\n#include <string>\n#include <tuple>\n#include <vector>\n\n#include <kiln/kiln.hpp>\n",
           "#include <kiln/onnx/apply.hpp>\n\nnamespace ", subject.name, " {\n\nusing namespace kiln;\n\n");
  for (const auto& type : structs.types) {
    const bool is_root = type.get() == structs.root->type;
    if (is_root && structs.outputs.size() != 1) {
      out += text("struct ", structs.name, "Outputs {\n");
      for (std::size_t i = 0; i < structs.outputs.size(); ++i)
        out += text("  ", name_of(structs.output_types[i]), ' ', structs.outputs[i], ";\n");
      out += "};\n\n";
    }
    out += struct_text(*type, is_root ? about_forward(structs, subject) : "");
  }
  out += text(
      "/// With the weights of a file that kiln import wrote, as it is to be used; train() is for training it. "
      "Throws\n",
      "/// IoError, DataError or LoadError.\n", loader(structs, subject), ";\n\n}  // namespace ", subject.name, '\n');
  return wrapped(out);
}

std::string source_text(const Structs& structs, const Subject& subject) {
  std::string out =
      text("#include \"", subject.name, ".hpp\"\n\n#include <limits>\n\nnamespace ", subject.name, " {\n\n");
  for (const auto& type : structs.types)
    if (type->has_forward)
      out += text(type->result, ' ', type->name, "::", type->signature, " {\n", indented(type->forward, 2), "}\n\n");
  for (const auto& type : structs.types) {
    const bool device = type->init.find("device") != std::string::npos;
    out += text(type->name, ' ', type->name, "Config::init(const Device&", device ? " device" : "", ") const {\n  ",
                type->name, " made;\n", indented(type->init, 2), "  return made;\n}\n\n");
  }
  if (subject.has_weights)
    out += text(loader(structs, subject), " {\n  ", structs.name, " made = uninitialized(", structs.name,
                "Config{}, device);\n  kiln::load(made, path);\n  return valid(std::move(made));\n}\n\n");
  else out += text(structs.name, " load_", subject.name, "(const std::string&, const Device&) { return {}; }\n\n");
  return wrapped(text(out, "}  // namespace ", subject.name, '\n'));
}

std::string adapter_text(const Structs& structs, const Subject& subject) {
  std::string operands, given;
  for (std::size_t i = 0; i < subject.input_types.size(); ++i) {
    const Type& type = subject.input_types[i];
    const std::string item = text("in[", i, ']');
    operands += text(i ? ", " : "", type.is_tensor() ? text(name_of(type), '(', item, ".value())") : item);
  }
  const bool none = subject.input_types.empty();
  if (none) operands = "Device::best()";
  for (const std::string& output : structs.outputs) given += text(given.empty() ? "" : ", ", "out.", output);
  const std::string call = text("model.forward(", operands, ')');
  return wrapped(text("// Inputs and outputs in the file's order.\nstd::vector<onnx::Datum> run(const ", structs.name,
                      "& model, const std::vector<onnx::Datum>&", none ? "" : " in", ") {\n",
                      structs.outputs.size() == 1
                          ? text("  return {", call, "};\n")
                          : text("  const ", structs.name, "Outputs out = ", call, ";\n  return {", given, "};\n"),
                      "}\n"));
}

std::string test_text(const Structs& structs, const Subject& subject) {
  const auto kinds = [](const std::vector<ValueInfo>& list) {
    static constexpr const char* kNames[] = {"None", "Tensor", "Sequence", "Map", "Optional", "SparseTensor"};
    std::string out;
    for (const ValueInfo& each : list)
      out += text(out.empty() ? "" : ", ", "Kind::", kNames[static_cast<std::size_t>(each.type.kind)]);
    return text('{', out, '}');
  };
  return text(
      "// ", subject.name,
      "_test [DIRECTORY]: does the model give for the inputs in DIRECTORY/test_data_set_<n> the outputs there?\n",
      "#include <cstdio>\n#include <string>\n\n#include <kiln/onnx/backend_test.hpp>\n\n#include \"", subject.name,
      ".hpp\"\n\nnamespace {\n\nusing namespace ", subject.name, ";\n\n", adapter_text(structs, subject),
      "\n}  // namespace\n\nint main(int count, char** words) {\n  using Kind = onnx::TypeProto::Kind;\n",
      "  const std::string directory = count > 1 ? words[1] : DIRECTORY;\n  try {\n    const Device device = "
      "Device::best();\n",
      "    const ", structs.name, " model = load_", subject.name, "(directory + \"/", subject.name,
      ".safetensors\", device);\n", "    const std::string found = onnx::compare_data_sets(\n        directory, ",
      kinds(subject.inputs), ", ", kinds(subject.outputs),
      ",\n        [&](const std::vector<onnx::Datum>& in) { return run(model, in); }, device",
      subject.random ? ", {.shapes_alone = true}" : "", ");\n",
      "    std::puts(found.empty() ? \"passed\" : found.c_str());\n    return found.empty() ? 0 : 1;\n",
      "  } catch (const Error& error) {\n    std::fprintf(stderr, \"%s\\n\", error.what());\n    return 1;\n  }\n}\n");
}

std::string cmake_text(const Subject& subject) {
  const std::string& name = subject.name;
  return text("# The library ", name,
              " and its test: a project of its own, or a part of one that knows Kiln (add_subdirectory).\n",
              "cmake_minimum_required(VERSION 3.25)\nif(NOT DEFINED PROJECT_NAME)\n  project(", name,
              " LANGUAGES CXX)\n  if(NOT CMAKE_BUILD_TYPE)\n    set(CMAKE_BUILD_TYPE Release)\n  endif()\n  "
              "enable_testing()\nendif()\n",
              "if(NOT TARGET kiln::kiln)\n  find_package(kiln REQUIRED)\nendif()\n\nadd_library(", name, ' ', name,
              ".cpp)\n", "target_include_directories(", name,
              " PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\ntarget_link_libraries(", name,
              " PUBLIC kiln::kiln)\n\nadd_executable(", name, "_test ", name, "_test.cpp)\ntarget_link_libraries(",
              name, "_test PRIVATE ", name, ")\ntarget_compile_definitions(", name,
              "_test PRIVATE DIRECTORY=\"${CMAKE_CURRENT_SOURCE_DIR}\")\n", "add_test(NAME ", name, " COMMAND ", name,
              "_test)\n");
}

}  // namespace kiln::onnx::cpp
