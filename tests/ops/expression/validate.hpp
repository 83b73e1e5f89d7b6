// What printed text is held to: files, and compilers of shaders where the machine has them.
#pragma once
#include <string>

namespace kiln::expr {

/// What the language's own compiler says of the text: nothing if it takes it, "no validator" where there is none.
/// GLSL: glslangValidator (Debian's glslang-tools). WGSL: the command in KILN_WGSL_VALIDATOR, which is given a file, or
/// tint (of Dawn), or naga (of wgpu); validate_wgsl.mjs is such a command for Node and npm's package webgpu.
std::string complaints_of_glslang(const std::string& text);
std::string complaints_of_wgsl(const std::string& text);
/// MSL: a C++ compiler, with declarations of Metal's library in a folder. Apple's own compiler is not asked.
std::string complaints_of_metal(const std::string& text, const std::string& declarations);
inline constexpr const char* kNoValidator = "no validator";

/// Expects the lines of the file of that name in stored/, in their order; a text that grows with the table of rows may
/// have others between them. KILN_STORE_TEXT=1 writes the file.
void expect_stored(const std::string& name, const std::string& text, bool grows = false);

/// Where arguments of one call write statements of a kernel, the compiler chooses which does first: clang makes the same
/// kernel in another order.
#ifdef __clang__
inline constexpr bool kOrderIsThatOfStoredTexts = false;
#else
inline constexpr bool kOrderIsThatOfStoredTexts = true;
#endif
inline constexpr const char* kOtherOrder = "the stored text is in the order of g++'s arguments";

}  // namespace kiln::expr
