#include "kiln/backend/vulkan/glsl.hpp"

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#include <glslang/build_info.h>

#include <mutex>

#include "kiln/backend/vulkan/matrices.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::vulkan {
namespace {

/// Its shader and its program, which are deleted together.
class Compilation {
 public:
  explicit Compilation(const std::string& kernel, const std::string& text) : kernel_(kernel), text_(text) {
    input_.language = GLSLANG_SOURCE_GLSL;
    input_.stage = GLSLANG_STAGE_COMPUTE;
    input_.client = GLSLANG_CLIENT_VULKAN;
    input_.client_version = GLSLANG_TARGET_VULKAN_1_2;
    input_.target_language = GLSLANG_TARGET_SPV;
    input_.target_language_version = GLSLANG_TARGET_SPV_1_5;
    input_.code = text_.c_str();
    input_.default_version = 450;
    input_.default_profile = GLSLANG_NO_PROFILE;
    input_.messages = GLSLANG_MSG_DEFAULT_BIT;
    input_.resource = glslang_default_resource();
    shader_ = glslang_shader_create(&input_);
    program_ = glslang_program_create();
  }
  ~Compilation() {
    glslang_program_delete(program_);
    glslang_shader_delete(shader_);
  }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  std::vector<std::uint32_t> run() {
    // What it says is asked for afterwards: the words before do not last.
    const bool parsed = glslang_shader_preprocess(shader_, &input_) && glslang_shader_parse(shader_, &input_);
    demand(parsed, glslang_shader_get_info_log(shader_));
    glslang_program_add_shader(program_, shader_);
    const bool linked = glslang_program_link(program_, GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT);
    demand(linked, glslang_program_get_info_log(program_));
    glslang_program_SPIRV_generate(program_, GLSLANG_STAGE_COMPUTE);
    std::vector<std::uint32_t> words(glslang_program_SPIRV_get_size(program_));
    demand(!words.empty(), glslang_program_SPIRV_get_messages(program_));
    glslang_program_SPIRV_get(program_, words.data());
    return with_khr_matrices(words);
  }

 private:
  void demand(bool done, const char* said) const {
    if (!done)
      fail<DeviceError>("kernel ", kernel_, " is refused by glslang: ", said ? said : "without a word", "\nIts text:\n",
                        text_);
  }

  const std::string& kernel_;
  const std::string& text_;
  glslang_input_t input_{};
  glslang_shader_t* shader_ = nullptr;
  glslang_program_t* program_ = nullptr;
};

}  // namespace

std::vector<std::uint32_t> spirv_of(const std::string& kernel, const std::string& text) {
  static std::once_flag once;
  std::call_once(once, [] { glslang_initialize_process(); });
  return Compilation(kernel, text).run();
}

std::string glslang_version() {
  return text("glslang ", GLSLANG_VERSION_MAJOR, ".", GLSLANG_VERSION_MINOR, ".", GLSLANG_VERSION_PATCH);
}

}  // namespace kiln::vulkan
