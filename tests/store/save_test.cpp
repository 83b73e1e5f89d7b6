// What is on the disk when saving goes wrong: always a whole file, the old one or the new.
#include "kiln/store/save.hpp"
#include "kiln/core/error/trace.hpp"

#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "temporary.hpp"

namespace kiln {
namespace {

TensorFile file_of(float value, std::int64_t count) {
  TensorFile file;
  std::vector<float> values(static_cast<std::size_t>(count), value);
  file.tensors.emplace("values", TensorData::of<float>({count}, values));
  return file;
}

/// The one value that the whole file is made of.
float content(const std::string& path) {
  const TensorFile file = load_tensors(path);
  const auto values = file.tensors.at("values").as<float>();
  for (const float value : values) EXPECT_EQ(value, values[0]);
  return values[0];
}

/// Runs `body` in a child, which then exits with 0; returns its status.
template <class F>
int in_child(F body, useconds_t kill_after = 0) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  if (kill_after) {
    usleep(kill_after);
    kill(child, SIGKILL);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Save, ReplacesAFile) {
  const TemporaryFile file("values.safetensors");
  save_tensors(file_of(1, 10), file.path);
  save_tensors(file_of(2, 10), file.path);
  EXPECT_EQ(content(file.path), 2);
}

TEST(Save, AnExtensionOfAnotherFormatIsRefused) {
  const auto refused = [](const char* name) {
    const TemporaryFile file(name);
    std::string said = "no error";
    try {
      save_tensors(file_of(1, 10), file.path);
    } catch (const ArgumentError& error) { said = std::string(without_calls(error.message())); }
    EXPECT_FALSE(std::filesystem::exists(file.path)) << name;
    return said.substr(0, 6) + said.substr(std::min(said.size(), said.find(name)));
  };
  EXPECT_EQ(refused("m.h5"),
            "save: m.h5: Kiln writes no tensors as .h5, but as .kiln, .gguf, .npy, .safetensors, .npz, .pt, and as "
            "safetensors "
            "where there is no extension");
  EXPECT_EQ(
      refused("M.ONNX"),
      "save: M.ONNX: Kiln writes no tensors as .onnx, but as .kiln, .gguf, .npy, .safetensors, .npz, .pt; onnx::save "
      "(kiln/onnx/save.hpp) writes a network that computes");
  for (const char* name :
       {"m.ckpt", "m.hdf5", "m.keras", "m.pb", "m.pkl", "m.msgpack", "m.json", "m.safetensors.gz", "m.txt"})
    EXPECT_EQ(refused(name).find(text("save: ", name, ": Kiln writes no tensors as .")), 0u) << name;
  // What names no format: safetensors; and what names one in capitals is it.
  for (const auto& [name, format] : {std::pair("weights", "safetensors"),
                                     {"run.3", "safetensors"},
                                     {"best-0.91", "safetensors"},
                                     {"model.v2", "safetensors"},
                                     {"M.SafeTensors", "safetensors"},
                                     {"m.KILN", "kiln record"},
                                     {"m.PT", "pytorch"}}) {
    const TemporaryFile file(name);
    save_tensors(file_of(1, 10), file.path);
    EXPECT_EQ(open_tensors(file.path).format, format) << name;
    EXPECT_EQ(content(file.path), 1);
  }
}

TEST(Save, AFullDiskLeavesTheOldFile) {
  const TemporaryFile file("values.safetensors");
  save_tensors(file_of(1, 10), file.path);
  const TensorFile large = file_of(2, 1 << 20);
  const int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);  // the write fails then, as it does on a full disk
    const rlimit limit{1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      save_tensors(large, file.path);
    } catch (const IoError& error) { _exit(error.message().find(file.path) == std::string_view::npos ? 2 : 1); }
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);  // an IoError that names the file
  EXPECT_EQ(content(file.path), 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.directory), {}), 1);  // nothing else is left
}

TEST(Save, AKilledProcessLeavesAWholeFile) {
  const TemporaryFile file("values.safetensors");
  save_tensors(file_of(1, 1 << 18), file.path);
  const TensorFile first = file_of(2, 1 << 18), second = file_of(3, 1 << 18);
  for (useconds_t round = 1; round <= 20; ++round) {
    in_child(
        [&] {
          for (;;) save_tensors(first, file.path), save_tensors(second, file.path);
        },
        round * 700);
    const float value = content(file.path);
    EXPECT_TRUE(value == 1 || value == 2 || value == 3) << value;
  }
}

struct Config {
  int in = 2, out = 1;
};

TEST(Save, RefusesAModuleWithoutTensors) {
  const TemporaryFile file("nothing.safetensors");
  try {
    save(Config{}, file.path);
    ADD_FAILURE() << "saved";
  } catch (const ArgumentError& error) {
    EXPECT_EQ(std::string_view(error.message()),
              "save: the module has no parameters and no buffers, so that nothing would be saved; configs are saved by "
              "save_config(), plain tensors by save_tensors()");
  }
}

}  // namespace
}  // namespace kiln
