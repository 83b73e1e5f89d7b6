// What stands around the statements of a kernel: functions, parameters, shared memory, the entry point.
#include <algorithm>

#include "kiln/backend/gpu/kernel/print/body.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {
namespace {

using Syntax = expr::Dialect::Syntax;

std::string function_of(const Kernel& kernel) { return "kiln_" + kernel.name; }

// ---- CUDA and HIP ----

std::string parameters_of_cuda(const Kernel& kernel, const Body& body) {
  std::string out;
  // A buffer that is both read and written may alias the memory of another parameter.
  const bool alone =
      std::ranges::none_of(kernel.parameters, [](const Parameter& each) { return each.kind == Parameter::Kind::Both; });
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    if (i) out += ", ";
    const bool number = parameter.kind == Parameter::Kind::Number;
    if (parameter.count)
      // The compiler may copy a table into each thread's own memory if it has no __grid_constant__.
      out += text("const ", body.target().dialect == &expr::kHip ? "" : "__grid_constant__ ", "KilnTable<",
                  number ? std::string(body.type(parameter.dtype)) : body.pointer(parameter), ", ", parameter.count,
                  "> p", i);
    else if (number) out += text(body.type(parameter.dtype), " p", i);
    else out += text(body.pointer(parameter), " ", alone ? "__restrict__ " : "", "p", i);
  }
  return out;
}

std::string locals_of_c(const Kernel& kernel, const Body& body) {
  std::string out;
  for (std::size_t i = 0; i < kernel.locals.size(); ++i) {
    const Kernel::Array& local = kernel.locals[i];
    out += text("  ", body.type(local.dtype), " l", i, local.count == 1 ? "" : text("[", local.count, "]"), ";\n");
  }
  return out;
}

KernelText cuda(const Kernel& kernel, Body& body) {
  const std::string statements = body.print();
  std::string out = std::string(body.target().dialect->preamble) + body.library();
  // Several elements that are loaded or stored at once.
  out += "template <class T, int N> struct alignas(sizeof(T) * N) KilnPack { T at[N]; };\n";
  if (std::ranges::any_of(kernel.parameters, [](const Parameter& each) { return each.count > 0; }))
    out += "template <class T, int N> struct KilnTable { T at[N]; };\n";
  out += text("extern \"C\" __global__ void __launch_bounds__(", kernel.threads,
              kernel.least_blocks ? text(", ", kernel.least_blocks) : "", ") ", function_of(kernel), "(",
              parameters_of_cuda(kernel, body), ") {\n");
  const std::vector<std::int64_t> offsets = kernel.shared_offsets();
  if (offsets.back()) out += "  extern __shared__ __align__(16) unsigned char shared[];\n";
  for (std::size_t i = 0; i < kernel.shared.size(); ++i) {
    const std::string_view type = body.stored(kernel.shared[i].dtype);
    out += text("  ", type, "* const m", i, " = (", type, "*)(shared + ", offsets[i], ");\n");
  }
  return {out + locals_of_c(kernel, body) + statements + "}\n", function_of(kernel), offsets.back()};
}

// ---- languages whose kernels get buffers as bindings ----

void require_no_tables(const Kernel& kernel, const Target& target) {
  require<ArgumentError>(std::ranges::none_of(kernel.parameters, [](const Parameter& each) { return each.count > 0; }),
                         kernel.name, ": ", target.name(), " has no tables");
}

/// Calls `number(i, index)` for each parameter that is a number, and `buffer(i, index)` for each other; indices count each
/// kind by itself. Returns how many numbers there are.
template <class Number, class Buffer> int each_parameter(const Kernel& kernel, Number&& number, Buffer&& buffer) {
  int numbers = 0, buffers = 0;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    if (kernel.parameters[i].kind == Parameter::Kind::Number) number(i, numbers++);
    else buffer(i, buffers++);
  return numbers;
}

/// The vectors of four words of a uniform block.
int vectors_of(const Parameter& parameter) { return (parameter.uniform + 3) / 4; }

constexpr std::string_view kGlslExtensions =
    "#extension GL_EXT_control_flow_attributes : require\n#extension GL_KHR_shader_subgroup_shuffle : enable\n"
    "#extension GL_EXT_shader_subgroup_extended_types_int64 : enable\n"
    "#extension GL_EXT_shader_atomic_int64 : enable\n";

constexpr std::string_view kMatrixExtensions =
    "#extension GL_KHR_memory_scope_semantics : require\n#extension GL_NV_cooperative_matrix : require\n";

/// An address, as a pair of words, moved by so many elements of that size, forwards or backwards.
constexpr std::string_view kMoved =
    "uvec2 kiln_moved(uvec2 at, int by, int size) {\n"
    "  int high, low;\n"
    "  imulExtended(by, size, high, low);\n"
    "  uint carry, lower = uaddCarry(at.x, uint(low), carry);\n"
    "  return uvec2(lower, at.y + uint(high) + carry);\n"
    "}\n";

/// What numbers are made from: two words of an argument.
std::string number_of_glsl(const Body& body, DType dtype, const std::string& words) {
  switch (expr::computed_in(dtype)) {
    case DType::F64: return text("packDouble2x32(", words, ")");
    case DType::F32: return text("uintBitsToFloat(", words, ".x)");
    case DType::I64: return text("int64_t(packUint2x32(", words, "))");
    case DType::U64: return text("packUint2x32(", words, ")");
    default: return text(body.type(dtype), "(", words, ".x)");
  }
}

std::string shared_of_glsl(const Kernel& kernel, const Body& body) {
  std::string out;
  for (std::size_t i = 0; i < kernel.shared.size(); ++i) out += body.shared_array(i);
  return out;
}

KernelText glsl(const Kernel& kernel, Body& body) {
  require_no_tables(kernel, body.target());
  const std::string statements = body.print();
  std::string out(body.target().dialect->preamble), numbers;
  out += text(kGlslExtensions, body.library(), "layout(local_size_x = ", kernel.threads, ") in;\n");
  const int count = each_parameter(
      kernel,
      [&](std::size_t i, int index) {
        const DType dtype = kernel.parameters[i].dtype;
        numbers += text("  ", body.type(dtype), " p", i, " = ",
                        number_of_glsl(body, dtype, text("kiln_numbers[", index, "]")), ";\n");
      },
      [&](std::size_t i, int index) {
        const Parameter& parameter = kernel.parameters[i];
        if (parameter.uniform)
          out += text("layout(std140, set = 0, binding = ", index, ") uniform U", i, " { uvec4 p", i, "[",
                      vectors_of(parameter), "]; };\n");
        else
          out += text("layout(std430, set = 0, binding = ", index, ") ",
                      parameter.kind == Parameter::Kind::Input ? "readonly " : "coherent ", "buffer B", i, " { ",
                      body.stored(parameter.dtype), " p", i, "[]; };\n");
      });
  if (count) out += text("layout(push_constant) uniform Numbers { uvec2 kiln_numbers[", count, "]; };\n");
  out += shared_of_glsl(kernel, body);
  return {text(out, "void main() {\n", numbers, locals_of_c(kernel, body), statements, "}\n"), "main",
          kernel.shared_offsets().back()};
}

KernelText glsl_with_references(const Kernel& kernel, Body& body) {
  const std::string statements = body.print();
  const std::vector<std::size_t> words = kernel.words();
  const std::size_t bytes = argument_bytes(kernel);
  std::string out(body.target().dialect->preamble), arguments;
  out += text("#extension GL_EXT_buffer_reference : require\n#extension GL_EXT_buffer_reference_uvec2 : require\n",
              kGlslExtensions, kernel.matrices.empty() ? "" : kMatrixExtensions, body.target().has_words ? kMoved : "",
              body.library(), "layout(local_size_x = ", kernel.threads, ") in;\n");
  if (bytes > kPushedBytes)
    out +=
        "layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer KilnGiven { uvec2 at[]; };\n"
        "layout(push_constant) uniform KilnWhere { KilnGiven kiln_where; };\n#define kiln_given kiln_where.at\n";
  else if (bytes)
    out += text("layout(push_constant) uniform KilnGiven { uvec2 kiln_given[", (bytes + 7) / 8, "]; };\n");
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    if (parameter.uniform) continue;
    const std::string given = text("kiln_given[", words[i], "]");
    if (parameter.kind == Parameter::Kind::Number) {
      if (!parameter.count)
        arguments +=
            text("  ", body.type(parameter.dtype), " p", i, " = ", number_of_glsl(body, parameter.dtype, given), ";\n");
      continue;
    }
    const std::string type = reference_type(static_cast<std::uint16_t>(i));
    out += text("layout(buffer_reference, std430, buffer_reference_align = ", size_of(parameter.dtype), ") ",
                access_of_glsl(parameter), "buffer ", type, " { ", body.stored(parameter.dtype), " at[]; };\n");
    if (!parameter.count) arguments += text("  ", type, " p", i, " = ", type, "(", given, ");\n");
  }
  for (const std::string& type : body.word_types()) out += type;
  return {text(out, body.matrix_declarations(), shared_of_glsl(kernel, body), "void main() {\n", arguments,
               locals_of_c(kernel, body), body.matrix_variables(), statements, "}\n"),
          "main", kernel.shared_offsets().back()};
}

KernelText wgsl(const Kernel& kernel, Body& body) {
  require_no_tables(kernel, body.target());
  const std::string statements = body.print();
  std::string out = std::string(body.target().dialect->preamble) + body.library();
  // In shared memory an element of fewer bytes has a word of its own.
  const auto array_of = [&](DType dtype, bool updated) {
    require<DTypeError>(size_of(dtype) <= 4, kernel.name, ": WGSL has no elements of ", dtype);
    return updated ? text("atomic<", body.stored(dtype), ">") : std::string(body.stored(dtype));
  };
  std::string numbers;
  int buffers = 0;
  const int count = each_parameter(
      kernel,
      [&](std::size_t i, int index) {
        const DType dtype = kernel.parameters[i].dtype;
        require<DTypeError>(size_of(dtype) <= 4, kernel.name, ": WGSL has no numbers of ", dtype);
        const std::string word = text("kiln_numbers[", index / 2, index % 2 ? "].z" : "].x");
        numbers += text("  let p", i, ": ", body.type(dtype), " = ",
                        is_float(dtype) ? "bitcast<f32>" : body.type(dtype), "(", word, ");\n");
      },
      [&](std::size_t i, int index) {
        const Parameter& parameter = kernel.parameters[i];
        const std::string binding = text("@group(0) @binding(", index, ") var<");
        buffers = index + 1;
        if (parameter.uniform) {
          out += text(binding, "uniform> p", i, ": array<vec4<u32>, ", vectors_of(parameter), ">;\n");
          return;
        }
        require<DTypeError>(size_of(parameter.dtype) >= 4, kernel.name, ": WGSL has no buffers of ", parameter.dtype);
        // Tensors may share the memory of one binding, and a dispatch may not read and write one in two ways.
        out += text(binding, "storage, read_write> p", i, ": array<",
                    array_of(parameter.dtype, body.updates(static_cast<std::uint16_t>(i))), ">;\n");
      });
  if (count)
    out +=
        text("@group(0) @binding(", buffers, ") var<uniform> kiln_numbers: array<vec4<u32>, ", (count + 1) / 2, ">;\n");
  for (std::size_t i = 0; i < kernel.shared.size(); ++i)
    out += text("var<workgroup> m", i, ": array<",
                array_of(kernel.shared[i].dtype, body.updates_shared(static_cast<std::uint16_t>(i))), ", ",
                kernel.shared[i].count, ">;\n");
  out += text("@compute @workgroup_size(", kernel.threads, ")\nfn ", function_of(kernel),
              "(@builtin(local_invocation_id) kiln_thread: vec3<u32>, @builtin(workgroup_id) kiln_block: vec3<u32>, "
              "@builtin(num_workgroups) kiln_blocks: vec3<u32>) {\n");
  for (std::size_t i = 0; i < kernel.locals.size(); ++i) {
    const Kernel::Array& local = kernel.locals[i];
    out += local.count == 1 ? text("  var l", i, ": ", body.type(local.dtype), ";\n")
                            : text("  var l", i, ": array<", body.type(local.dtype), ", ", local.count, ">;\n");
  }
  return {text(out, numbers, statements, "}\n"), function_of(kernel), kernel.shared_offsets().back()};
}

KernelText metal(const Kernel& kernel, Body& body) {
  require_no_tables(kernel, body.target());
  const std::string statements = body.print();
  std::string out = std::string(body.target().dialect->preamble) + body.library(), parameters, numbers;
  int buffers = 0;
  const int count = each_parameter(
      kernel,
      [&](std::size_t i, int index) {
        const DType dtype = kernel.parameters[i].dtype;
        const std::string word = text("kiln_numbers[", index, "]");
        numbers += text(
            "  const ", body.type(dtype), " p", i, " = ",
            dtype == DType::F32 ? text("as_type<float>((uint)", word, ")") : text("(", body.type(dtype), ")", word),
            ";\n");
      },
      [&](std::size_t i, int index) {
        parameters += text(kernel.parameters[i].uniform ? "constant " : "device ", body.pointer(kernel.parameters[i]),
                           " p", i, " [[buffer(", index, ")]], ");
        ++buffers;
      });
  if (count) parameters += text("constant ulong* kiln_numbers [[buffer(", buffers, ")]], ");
  out +=
      text("kernel void ", function_of(kernel), "(", parameters,
           "uint3 kiln_thread [[thread_position_in_threadgroup]], uint3 kiln_block [[threadgroup_position_in_grid]], "
           "uint3 kiln_blocks [[threadgroups_per_grid]]) {\n");
  for (std::size_t i = 0; i < kernel.shared.size(); ++i)
    out += text("  threadgroup ", body.stored(kernel.shared[i].dtype), " m", i, "[", kernel.shared[i].count, "];\n");
  return {text(out, numbers, locals_of_c(kernel, body), statements, "}\n"), function_of(kernel),
          kernel.shared_offsets().back()};
}

}  // namespace

std::size_t argument_bytes(const Kernel& kernel) {
  std::size_t bytes = kernel.words().back() * 8;
  for (const Parameter& each : kernel.parameters) bytes += std::size_t{each.uniform} * 4;
  return bytes;
}

KernelText print(const Kernel& kernel, const Target& target) {
  Body body(kernel, target);
  if (target.has_pointers) return cuda(kernel, body);
  switch (target.dialect->syntax) {
    case Syntax::Glsl: return target.has_references ? glsl_with_references(kernel, body) : glsl(kernel, body);
    case Syntax::Wgsl: return wgsl(kernel, body);
    case Syntax::Cpp: break;
  }
  return metal(kernel, body);
}

}  // namespace kiln::gpu
