// The program kiln, as a shell would call it.
#include "cli/commands.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "cli/run_figures.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/text.hpp"
#include "kiln/train/checkpointer.hpp"

#include "../onnx/model_writer.hpp"
#include "../store/formats/samples.hpp"
#include "../store/temporary.hpp"
#include "kiln/onnx/save.hpp"

namespace kiln {
namespace {

struct Said {
  int status;
  std::string out, error;
};
Said kiln_says(const std::vector<std::string>& words) {
  Said said{};
  said.status = cli::run(
      words, [&](std::string_view part) { said.out += part; }, [&](std::string_view part) { said.error += part; });
  return said;
}

TEST(Cli, InspectsAFile) {
  const TemporaryFile file("m.kiln");
  TensorSource source;
  source.tensors.emplace("fc.weight", stored(TensorData::of<float>({2, 2}, {1, 2, 3, NAN})));
  source.tensors.emplace("fc.bias", stored(TensorData::of<std::int64_t>({2}, {-1, 3})));
  source.metadata = {{"epoch", "3"}};
  write_tensors(source, file.path);
  const Said said = kiln_says({"inspect", file.path});
  EXPECT_EQ(said.status, 0) << said.error;
  EXPECT_EQ(said.out.substr(file.path.size()),
            ": kiln record, 2 tensors, 6 elements, 32 bytes\n"
            "tensor     type     shape   stored    least  most  mean  deviation\n"
            "fc.bias    int64    [2]     16 bytes  -1     3     1     2\n"
            "fc.weight  float32  [2, 2]  16 bytes  1      3     2     0.8165     1 NaN or infinite\n"
            "epoch = 3\n");
  EXPECT_EQ(kiln_says({"inspect", file.path, "--quick", "--only", "**.bias"}).out.substr(file.path.size()),
            ": kiln record, 1 tensors, 2 elements, 16 bytes\n"
            "tensor   type   shape  stored\n"
            "fc.bias  int64  [2]    16 bytes\n"
            "epoch = 3\n");
}

TEST(Cli, SaysWhatItLeavesOut) {
  const TemporaryFile file("f8.safetensors"), copy("copy.safetensors");
  const std::string header = R"({"a":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[0,2]},)"
                             R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  write_text(file.path, bytes + header + "\1\2\3");
  const std::string reason = "'a' is of type F8_E5M2 and shape [2]: Kiln has no such type\n";
  EXPECT_EQ(kiln_says({"inspect", file.path, "--quick"}).out.substr(file.path.size()),
            ": safetensors, 1 tensors, 1 elements, 1 bytes\n"
            "tensor  type   shape  stored\n"
            "b       uint8  [1]    1 bytes\n"
            "left out: " +
                reason);
  EXPECT_EQ(kiln_says({"convert", file.path, copy.path}).out, text(copy.path, ": 1 tensors\nleft out: ", reason));
  const Said diff = kiln_says({"diff", file.path, copy.path});
  EXPECT_EQ(diff.status, 1);
  EXPECT_EQ(
      diff.out,
      "a is not compared: that of a is of type F8_E5M2 and shape [2]: Kiln has no such type\n1 tensors are the same\n");
}

TEST(Cli, TakesSelectorsOfNames) {
  const TemporaryFile file("m.safetensors");
  write_tensors(sample(), file.path);
  const auto chosen = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"convert", file.path, file.directory + "/part.npz"});
    const Said said = kiln_says(options);
    return said.status == 0 ? said.out.substr(said.out.rfind(':') + 2) : said.error;
  };
  EXPECT_EQ(chosen({"--only", R"x({"regex": "conv1\\.(bias|none)"})x"}), "1 tensors\n");
  EXPECT_EQ(chosen({"--only", "conv1", "--only", "steps"}), "3 tensors\n");
  EXPECT_EQ(chosen({"--only", "conv1", "--except", R"({"not": "**.bias"})"}), "1 tensors\n");
  EXPECT_NE(
      chosen({"--only", "conv"}).find("--only: 'conv' selects none of the file's tensors (did you mean 'conv1'?)"),
      std::string::npos);
  EXPECT_NE(chosen({"--only", R"({"regx": "a"})"}).find("--only: unknown key 'regx' (did you mean 'regex'?)"),
            std::string::npos);
}

TEST(Cli, ConvertsAndCompares) {
  const TemporaryFile file("m.safetensors");
  write_tensors(sample(), file.path);
  const std::string pt = file.directory + "/m.pt", half = file.directory + "/h.kiln";
  EXPECT_EQ(kiln_says({"convert", file.path, pt}).out, text(pt, ": 5 tensors\n"));
  Said said = kiln_says({"diff", file.path, pt});
  EXPECT_EQ(said.out, "5 tensors are the same\n");
  EXPECT_EQ(said.status, 0);

  EXPECT_EQ(kiln_says({"convert", pt, half, "--floats", "float16", "--compress", "--except", "wide", "--rename",
                       R"(^conv(\d)=layer.$1)"})
                .status,
            0);
  said = kiln_says({"diff", half, pt});
  EXPECT_EQ(said.status, 1);
  for (const char* line : {"layer.1.bias is only in a", "wide is only in b", "2 tensors are the same"})
    EXPECT_NE(said.out.find(line), std::string::npos) << said.out;
}

TEST(Cli, ConvertsLayersOfPyTorchs) {
  const TemporaryFile theirs("theirs.pt"), ours("ours.safetensors");
  TensorSource source;
  source.tensors.emplace("lstm.weight_ih_l0", stored(TensorData({4, 1}, DType::F32)));
  source.tensors.emplace("norm.num_batches_tracked", stored(TensorData({}, DType::I64)));
  write_tensors(source, theirs.path);
  EXPECT_EQ(kiln_says({"convert", theirs.path, ours.path, "--pytorch-layers"}).status, 0);
  const TensorSource found = open_tensors(ours.path);
  ASSERT_EQ(found.tensors.size(), 1);
  EXPECT_EQ(found.tensors.begin()->first, "lstm.layers.0.weight_ih");
}

TEST(Cli, DiffNamesWhatDiffers) {
  const TemporaryFile a("a.npz"), b("b.npz");
  TensorSource source = sample();
  write_tensors(source, a.path);
  source.tensors.at("conv1.bias") = stored(TensorData::of<F16>({2}, {F16(0.5f), F16(-7.5f)}));
  source.tensors.at("steps") = stored(TensorData({2}, DType::I64));
  write_tensors(source, b.path);
  const Said said = kiln_says({"diff", a.path, b.path});
  EXPECT_EQ(said.status, 1);
  EXPECT_NE(said.out.find("[1]: -7, expected -7.5"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("steps has shape [1] and [2]"), std::string::npos) << said.out;
  EXPECT_EQ(kiln_says({"diff", a.path, a.path, "--absolute", "1"}).status, 0);
}

TEST(Cli, WritesShards) {
  const TemporaryFile file("m.pt");
  write_tensors(sample(), file.path);
  const std::string to = file.directory + "/out.safetensors";
  EXPECT_EQ(kiln_says({"convert", file.path, to, "--shards", "20"}).status, 0);
  EXPECT_EQ(kiln_says({"diff", file.path, to + ".index.json"}).status, 0);
}

TEST(Cli, PlotsASchedule) {
  const TemporaryFile file("rate.json");
  const auto plotted = [&](std::string_view json) {
    write_text(file.path, json);
    return kiln_says({"plot-schedule", file.path, "--steps", "5", "--width", "5", "--height", "5"});
  };
  const std::string line = R"({"LinearRate": {"initial": 4, "final": 0, "steps": 4}})";
  EXPECT_EQ(plotted(line).error, "");
  EXPECT_EQ(plotted(line).out, "4 |*\n  | *\n  |  *\n  |   *\n0 |    *\n  +-----\n   0   4 step\n");
  EXPECT_EQ(plotted(R"({"Sequential": {"milestones": [9], "parts": [)" + line + "," + line + "]}}").out,
            plotted(line).out);
  const auto complaint = [&](std::string_view json) { return plotted(json).error.substr(file.path.size() + 6); };
  EXPECT_TRUE(complaint(R"({"LinearRat": {}})").starts_with(": the config must be one of \"Constant\""));
  EXPECT_TRUE(complaint(R"({"LinearRat": {}})").ends_with("got \"LinearRat\" (did you mean 'LinearRate'?)\n"));
  EXPECT_EQ(complaint(R"({"LinearRate": {"steps": "x"}})"), ": 'LinearRate.steps' must be an integer, got \"x\"\n");
  EXPECT_EQ(complaint(R"({"LinearRate": {"steps": 4, "pace": 1}})"), ": unknown key 'LinearRate.pace'\n");
  EXPECT_EQ(complaint(R"({"Lambda": {}})"), ": 'Lambda': JSON holds no functions\n");
  EXPECT_EQ(plotted("[]").status, 2);
}

// y = relu(x w), with a free batch.
std::string write_onnx(const std::string& path) {
  const Value w = from_data(TensorData::of<float>({2, 1}, {1, -1}), Device::cpu());
  onnx::save([w](const Values& in) { return Values{relu(matmul(in[0], w))}; }, {ones({3, 2}, Device::cpu())}, path,
             {.inputs = {"x"}, .outputs = {"y"}, .free = {{"batch", 0, 0}}});
  return path;
}
void write_tensor(const std::string& path, const TensorData& data) {
  TensorSource source;
  source.tensors.emplace("array", stored(data));
  write_tensors(source, path);
}

TEST(Cli, SaysWhatAnOnnxFileHolds) {
  const TemporaryFile file("m.onnx");
  EXPECT_EQ(kiln_says({"onnx", write_onnx(file.path)}).out,
            file.path +
                ": ONNX, ai.onnx 23, by kiln\n"
                "2 nodes, 2 parameters (8 bytes), 4 FLOPs where free sizes are 1\n"
                "input   x  float [batch, 2]\n"
                "output  y  float [batch, 1]\n"
                "operator  nodes\n"
                "MatMul    1\n"
                "Relu      1\n");
  const std::string eight = kiln_says({"onnx", file.path, "--size", "batch=8"}).out;
  EXPECT_NE(eight.find(", 32 FLOPs where batch is 8\n"), std::string::npos) << eight;  // 8 rows of 2 products and sums
  EXPECT_EQ(kiln_says({"onnx"}).status, 2);
  EXPECT_EQ(kiln_says({"onnx", "/none.onnx"}).error, "kiln: cannot read /none.onnx: No such file or directory\n");
}

TEST(Cli, CountsWeightsThatAreConstants) {
  using namespace onnx::test;
  const Message constant =
      Message().text(1, "value").message(5, tensor("", {2, 3}, std::vector<float>(6, 1))).number(20, 4);
  const TemporaryFile file("m.onnx");
  std::ofstream(file.path, std::ios::binary)
      << model(graph({{node("Constant", {}, {"w"}, {constant}), node("MatMul", {"x", "w"}, {"y"})},
                      {},
                      {value("x", {"n", "2"})},
                      {value("y", {"n", "3"})}}));
  const std::string said = kiln_says({"onnx", file.path}).out;
  EXPECT_NE(said.find("2 nodes, 6 parameters (24 bytes)"), std::string::npos) << said;
}

TEST(Cli, RunsAnOnnxFileAndCompares) {
  const TemporaryFile file("m.onnx");
  write_onnx(file.path);
  const std::string x = file.directory + "/x.npy", y = file.directory + "/y.npy";
  write_tensor(x, TensorData::of<float>({2, 2}, {3, 1, 1, 3}));
  write_tensor(y, TensorData::of<float>({2, 1}, {2, 0}));
  Said said = kiln_says({"run", file.path, "--input", x, "--compare", "y=" + y, "--repeat", "2"});
  EXPECT_EQ(said.status, 0) << said.error;
  for (const char* part : {"y       float  [2, 1]  0      2     1     1", "y is the same as ", "2 runs: "})
    EXPECT_NE(said.out.find(part), std::string::npos) << said.out;
  write_tensor(y, TensorData::of<float>({2, 1}, {2, 0.5}));
  said = kiln_says({"run", file.path, "--input", "x=" + x, "--compare", y});
  EXPECT_EQ(said.status, 1);
  EXPECT_NE(said.out.find("[1, 0]: 0, expected 0.5"), std::string::npos) << said.out;
  EXPECT_EQ(kiln_says({"run", file.path, "--size", "batch=4", "--output", y}).status, 0);
  EXPECT_NE(kiln_says({"inspect", y, "--quick"}).out.find("[4, 1]"), std::string::npos);
  EXPECT_EQ(kiln_says({"run", file.path, "--size", "batch"}).error,
            "kiln: run: --size takes 'name=number', got 'batch'\n");
  EXPECT_EQ(kiln_says({"run", file.path, "--input", x, "--input", x}).error,
            text("kiln: run: the model has 1 inputs, and no place for '", x, "'\n"));
}

TEST(Cli, SaysWhichSizesWereMadeUpWhereAModelDoesNotRun) {
  using namespace onnx::test;
  const TemporaryFile file("m.onnx");
  std::ofstream(file.path, std::ios::binary) << model(graph({{node("MatMul", {"x", "w"}, {"y"})},
                                                             {tensor("w", {3, 1}, std::vector<float>{1, 2, 3})},
                                                             {value("x", {"n", "features"})},
                                                             {value("y", {"n", "1"})}}));
  const std::string end = "; what --size does not say is 1 where inputs are made up: ";
  const Said said = kiln_says({"run", file.path});
  EXPECT_EQ(said.status, 2);
  EXPECT_NE(said.error.find(end + "features, n\n"), std::string::npos) << said.error;
  EXPECT_NE(kiln_says({"run", file.path, "--size", "features=2"}).error.find(end + "n\n"), std::string::npos);
  EXPECT_EQ(kiln_says({"run", file.path, "--size", "features=3"}).status, 0);
}

TEST(Cli, SendsFromOneCommandToTheOther) {
  const TemporaryFile model("m.onnx"), tensors("t.npy");
  write_onnx(model.path);
  write_tensor(tensors.path, TensorData::of<float>({1}, {1}));
  EXPECT_EQ(kiln_says({"inspect", model.path}).error,
            text("kiln: inspect: ", model.path,
                 " is a model, not a file of tensors: kiln onnx says what an .onnx file holds\n"));
  EXPECT_EQ(kiln_says({"onnx", tensors.path}).error,
            text("kiln: onnx: ", tensors.path,
                 " is a file of tensors (npy), not an ONNX model: kiln inspect says what it holds\n"));
}

TEST(Cli, WritesAnOnnxFileAsCpp) {
  const TemporaryFile file("m.onnx");
  write_onnx(file.path);
  const std::string to = file.directory + "/code";
  const Said said = kiln_says({"import", file.path, "-o", to, "--name", "line", "--size", "batch=2"});
  EXPECT_EQ(said.status, 0) << said.error;
  for (const char* name : {"line.hpp", "line.cpp", "line_test.cpp", "CMakeLists.txt", "line.safetensors"})
    EXPECT_NE(said.out.find(to + "/" + name + "\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("the test has what the model gave for random inputs"), std::string::npos) << said.out;
  EXPECT_NE(read_text_file(to + "/line.hpp").find("Tensor<2> forward(const Tensor<2>& x) const;"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(to + "/test_data_set_0/output_0.pb"));
  EXPECT_EQ(kiln_says({"import", "/none.onnx"}).status, 2);
  EXPECT_EQ(kiln_says({"import", file.path, "-o", to, "--size", "batch"}).error,
            "kiln: import: --size takes 'name=number', got 'batch'\n");
}

TEST(Cli, OverwritesNoCodeThatHasBeenChanged) {
  const TemporaryFile file("m.onnx");
  write_onnx(file.path);
  const std::string to = file.directory + "/code", source = to + "/line.cpp", weights = to + "/line.safetensors",
                    data = to + "/test_data_set_0/output_0.pb";
  const std::vector<std::string> command = {"import", file.path, "-o", to, "--name", "line", "--size", "batch=2"};
  ASSERT_EQ(kiln_says(command).status, 0);
  const std::string written = read_text_file(source), numbers = read_text_file(weights);
  EXPECT_EQ(kiln_says(command).status, 0) << "what is the same may be written again";

  for (const std::string& path : {source, weights, data}) {
    const std::string before = read_text_file(path);
    write_file_atomically(path, before + "// mine");
    std::filesystem::remove(to + "/line.hpp");
    EXPECT_EQ(kiln_says(command).error,
              "kiln: import: what exists is not what would be written, so that changes would be lost: " + path +
                  "; --force overwrites it, -o names another directory\n");
    EXPECT_EQ(read_text_file(path), before + "// mine");
    EXPECT_FALSE(std::filesystem::exists(to + "/line.hpp")) << "nothing is written where something is refused";
    std::vector<std::string> forced = command;
    forced.push_back("--force");
    EXPECT_EQ(kiln_says(forced).status, 0);
    EXPECT_EQ(read_text_file(path), before);
  }
}

TEST(Cli, MakesUpInputsByShape) {
  using namespace onnx::test;
  const TemporaryFile file("m.onnx");
  // Rows of a table; the sizes have no names.
  write_text(file.path, model(graph({{node("Gather", {"table", "ids"}, {"y"})},
                                     {tensor("table", {5, 1}, std::vector<float>{0, 1, 2, 3, 4})},
                                     {value("ids", {"", "2"}, onnx::Element::Int64)},
                                     {value("y", {"", "2", "1"})}})));
  const std::string y = file.directory + "/y.npy";
  EXPECT_EQ(kiln_says({"run", file.path, "--size", "ids[0]=100", "--output", y}).error, "");
  const TensorData rows = open_tensors(y).tensors.begin()->second.read();
  EXPECT_EQ(rows.shape(), (Shape{100, 2, 1}));
  std::vector<double> numbers = rows.to_vector<double>();
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  EXPECT_EQ(numbers, (std::vector<double>{0, 1, 2, 3, 4}));  // all rows are asked for, and none behind them
}

TEST(Cli, RunsTheStandardsTests) {
  const TemporaryFile file("model.onnx");
  write_onnx(file.path);
  Said said = kiln_says({"onnx", "test", file.directory});
  EXPECT_EQ(said.status, 1);
  EXPECT_EQ(said.out, text("failed ", file.directory, ": there is no test_data_set_0\npassed 0 of 1\n"));
  // relu(3 - 1) = 2 and relu(1 - 3) = 0.
  const std::string set = file.directory + "/test_data_set_0/";
  std::filesystem::create_directories(set);
  const auto write_set = [&](float second) {
    using onnx::test::tensor;
    write_text(set + "input_0.pb", tensor("x", {2, 2}, std::vector<float>{3, 1, 1, 3}).bytes());
    write_text(set + "output_0.pb", tensor("y", {2, 1}, std::vector<float>{2, second}).bytes());
  };
  write_set(0);
  said = kiln_says({"onnx", "test", file.directory});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.out, text("passed ", file.directory, "\npassed 1 of 1\n"));
  write_set(0.5f);
  said = kiln_says({"onnx", "test", "--plain", file.directory});
  EXPECT_EQ(said.status, 1);
  EXPECT_TRUE(said.out.starts_with(text("failed ", file.directory, ": output 0: "))) << said.out;
  EXPECT_TRUE(said.out.ends_with("\npassed 0 of 1\n")) << said.out;
  {
    using namespace onnx::test;
    write_text(file.path, model(graph({{node("Frobnicate", {"x"}, {"y"})}, {}, {value("x", {})}, {value("y", {})}})));
  }
  said = kiln_says({"onnx", "test", file.directory});
  EXPECT_EQ(said.status, 1);
  EXPECT_EQ(said.out,
            text("unsupported ", file.directory, ": ai.onnx 17 Frobnicate (node 'Frobnicate_node')\npassed 0 of 1\n"));
}

TEST(Cli, PrintsEachTestAsItComes) {
  const TemporaryFile file("model.onnx");
  write_onnx(file.path);
  std::vector<std::string> parts;
  cli::run(
      std::vector<std::string>{"onnx", "test", file.directory},
      [&](std::string_view part) { parts.emplace_back(part); }, [](std::string_view) {});
  ASSERT_GE(parts.size(), 2u);
  EXPECT_TRUE(parts[0].starts_with("failed ") && parts[0].ends_with("test_data_set_0\n")) << parts[0];
  EXPECT_EQ(parts[1], "passed 0 of 1\n");
}

TEST(Cli, WrongInputIsASentenceAndAStatus) {
  EXPECT_EQ(kiln_says({"inspect", "/none.pt"}).error, "kiln: cannot read /none.pt: No such file or directory\n");
  EXPECT_EQ(kiln_says({"inspect", "/none.pt"}).status, 2);
  EXPECT_EQ(kiln_says({}).status, 2);
  EXPECT_EQ(kiln_says({"inspekt"}).status, 2);
  EXPECT_EQ(kiln_says({"completion", "ksh"}).error,
            "kiln: completion: no script for 'ksh': there are bash, zsh and fish\n");
  const Said help = kiln_says({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* command : {"inspect", "convert", "diff", "onnx", "import", "compile", "run", "host", "plot-schedule",
                              "runs", "completion"})
    EXPECT_NE(help.out.find(command), std::string::npos);
}

TEST(Cli, CompletesCommandsAndTheirOptions) {
  const std::string bash = kiln_says({"completion", "bash"}).out;
  EXPECT_NE(
      bash.find("1:*) words='inspect convert diff onnx import compile run host plot-schedule runs new completion'"),
      std::string::npos)
      << bash;
  EXPECT_NE(bash.find("diff) words='--help --relative --absolute'"), std::string::npos) << bash;
  EXPECT_NE(bash.find("onnx) words='test --help --size'"), std::string::npos) << bash;
  const TemporaryFile script("kiln.bash");
  write_text(script.path,
             bash +
                 "COMP_WORDS=(kiln diff --rel); COMP_CWORD=2; _kiln; [[ ${COMPREPLY[*]} == --relative ]] && "
                 "COMP_WORDS=(kiln in); COMP_CWORD=1 && _kiln && [[ ${COMPREPLY[*]} == inspect ]]\n");
  EXPECT_EQ(std::system(text("bash ", script.path).c_str()), 0);
  EXPECT_TRUE(kiln_says({"completion", "zsh"}).out.starts_with("autoload"));
  EXPECT_NE(kiln_says({"completion", "fish"}).out.find("'__fish_seen_subcommand_from inspect' -l quick"),
            std::string::npos);
}

TEST(Cli, SaysToAPageWhatRunsHave) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / text("kiln-cli-runs-page-", ::getpid());
  const auto write = [&](const std::string& name, const std::string& contents) {
    fs::create_directories((root / name).parent_path());
    write_file_atomically((root / name).string(), std::string_view(contents));
  };
  write("a<b>/experiment.log", "2026-11-23 01:16:00 ends after step 20: all 2 epochs are done\n");
  write("a<b>/config.json", R"({"o": {"beta": 0.9}, "name": "\"x\""})");
  write("a<b>/valid/epoch-1/loss.log", "10 0.5\n20 0.25\n");
  write("a<b>/figures.jsonl",
        "{\"step\":1,\"event\":\"matrix\",\"epoch\":0,\"name\":\"valid m\",\"content\":{\"rows\":1}}\n"
        "damaged\n{\"step\":2,\"event\":\"matrix\",\"epoch\":0,\"name\":\"valid m\",\"content\":{\"rows\":2}}\n"
        "{\"step\":3,\"event\":\"histogram\",\"name\":\"w\",\"content\":{}}\n{\"step\":4,\"eve");
  write("b/experiment.log", "2026-11-23 01:15:00 begins: 3 parameters\n");
  const auto json = [&](const std::vector<std::string>& where) {
    cli::RunsOptions options;
    options.directory = root.string();
    options.where = where;
    cli::RunFigures figures;
    std::string written = cli::runs_json(options, figures);
    EXPECT_NO_THROW(parse_json(written, "runs"));
    std::erase_if(written, [](char c) { return c == '\n' || c == ' '; });
    return written;
  };
  EXPECT_EQ(json({}), R"([{"name":"a<b>","state":"all2epochsaredone","parameters":{"name":"\"x\"","o.beta":"0.9"},)"
                      R"("curves":[["loss","valid",[[10,0.5],[20,0.25]]]],)"
                      R"("shown":[["histogram","w",3,{}],["matrix","validm",2,{"rows":2}]]},)"
                      R"({"name":"b","state":"runs,orwaskilled","parameters":{},"curves":[],"shown":[]}])");
  EXPECT_TRUE(json({"valid/loss<0.3"}).find("\"b\"") == std::string::npos);
  EXPECT_EQ(kiln_says({"runs", (root / "none").string(), "--web", "0"}).status, 2);
  fs::remove_all(root);
}

TEST(Cli, LeavesOutARunThatIsDeletedWhileItIsRead) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / text("kiln-cli-runs-gone-", ::getpid());
  const auto write = [&](const std::string& name, std::string_view contents) {
    fs::create_directories((root / name).parent_path());
    write_file_atomically((root / name).string(), contents);
  };
  for (const std::string run : {"goes", "stays"}) {
    write(run + "/experiment.log", "2026-11-23 01:15:00 begins: 3 parameters\n");
    write(run + "/valid/epoch-2/loss.log", "20 0.25\n");
  }
  write("goes/figures.jsonl", "");
  // Whoever reads this curve waits until the run is no more.
  fs::create_directories(root / "goes/valid/epoch-1");
  const std::string pipe = (root / "goes/valid/epoch-1/loss.log").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread deleting([&] {
    std::ofstream curve(pipe);
    fs::remove_all(root / "goes");
    curve << "10 0.5\n";
  });
  cli::RunsOptions options;
  options.directory = root.string();
  cli::RunFigures figures;
  std::string written;
  EXPECT_NO_THROW(written = cli::runs_json(options, figures));
  deleting.join();
  EXPECT_NE(written.find("\"stays\""), std::string::npos) << written;
  EXPECT_EQ(written.find("\"goes\""), std::string::npos) << written;
  fs::remove_all(root);
}

TEST(Cli, ReadsOnlyWhatIsNewInFigures) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / text("kiln-cli-figures-", ::getpid());
  fs::create_directories(root);
  const std::string file = (root / "figures.jsonl").string();
  const auto line = [](int step, int count) {
    return text(R"({"step":)", step, R"(,"event":"histogram","name":"w","content":{"n":)", count, "}}\n");
  };
  cli::RunFigures figures;
  const auto shown = [&](const std::string& contents) {
    write_file_atomically(file, std::string_view(contents));
    std::string written = figures.of(root);
    std::erase_if(written, [](char c) { return c == '\n' || c == ' '; });
    return written;
  };
  const auto entry = [](int step, int count) { return text(R"(["histogram","w",)", step, R"(,{"n":)", count, "}]"); };

  EXPECT_EQ(figures.of(root), "[]");
  const std::string filler(300, ' ');  // more than what a file is recognised by
  const std::string one = line(1, 5), three = line(3, 7);
  EXPECT_EQ(shown(one + filler + '\n' + line(2, 6) + three.substr(0, 20)),
            text('[', entry(1, 5), ',', entry(2, 6), ']'));
  // A first line that changes is not seen, since it is not read again; the one that was not finished is.
  EXPECT_EQ(shown(line(1, 9) + filler + '\n' + line(2, 6) + three),
            text('[', entry(1, 5), ',', entry(2, 6), ',', entry(3, 7), ']'));
  EXPECT_EQ(shown(line(4, 8)), text('[', entry(4, 8), ']'));                                 // a shorter one
  EXPECT_EQ(shown(line(5, 8) + line(6, 8)), text('[', entry(5, 8), ',', entry(6, 8), ']'));  // another one
  EXPECT_EQ(shown(""), "[]");
  std::string many;
  for (int step = 0; step < 40; ++step) many += line(step, 1);
  const std::string newest = shown(many);
  EXPECT_TRUE(newest.starts_with('[' + entry(8, 1)) && newest.ends_with(entry(39, 1) + ']')) << newest;
  fs::remove_all(root);
  EXPECT_EQ(figures.of(root), "[]");
}

TEST(Cli, ListsRuns) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / text("kiln-cli-runs-", ::getpid());
  const auto write = [&](const std::string& name, const std::string& contents) {
    fs::create_directories((root / name).parent_path());
    write_file_atomically((root / name).string(), std::string_view(contents));
  };
  write("a/experiment.log",
        "2026-11-23 01:15:00 begins\n2026-11-23 01:16:00 ends after step 20: all 2 epochs are done\n");
  write("a/config.json", R"({"rate": 0.1, "seed": 1, "optimizer": {"beta1": 0.9}})");
  write("a/valid/epoch-1/accuracy.log", "10 0.5\n");
  write("a/valid/epoch-2/accuracy.log", "20 0.75\n");
  write("a/valid/epoch-nan/accuracy.log", "30 0.25\n");  // no epoch
  write("b/experiment.log", "2026-11-23 01:15:00 begins: 3 parameters\n");
  write("b/config.json", R"({"rate": 0.01, "seed": 1, "optimizer": {"beta1": 0.9}})");
  write("b/valid/epoch-1/accuracy.log", "10 0.8\n11 0.");  // killed as it wrote
  write("notes/readme.md", "no run");
  const std::string directory = root.string();
  write("c/experiment.log", "2026-11-23 01:15:00 ends after step 3");  // killed as it wrote
  const std::string cut = kiln_says({"runs", directory}).out;
  const std::string of_c = cut.substr(cut.find("\nc ") + 1);
  EXPECT_EQ(of_c.substr(of_c.find("runs, ")), "runs, or was killed\n") << cut;
  fs::remove_all(root / "c");
  EXPECT_EQ(kiln_says({"runs", directory}).out,
            "run  steps  rate  valid/accuracy  state\n"
            "a    20     0.1   0.75            all 2 epochs are done\n"
            "b    10     0.01  0.8             runs, or was killed\n");
  EXPECT_EQ(kiln_says({"runs", (root / "a/").string()}).out,
            "run  steps  valid/accuracy  state\na    20     0.75            all 2 epochs are done\n");
  EXPECT_EQ(kiln_says({"runs", directory, "--where", "valid/accuracy>0.77"}).out,
            "run  steps  valid/accuracy  state\nb    10     0.8             runs, or was killed\n");
  EXPECT_EQ(kiln_says({"runs", directory, "--where", "rate=0.10", "--where", "optimizer.beta1!=0.8"}).out,
            "run  steps  valid/accuracy  state\na    20     0.75            all 2 epochs are done\n");
  EXPECT_EQ(kiln_says({"runs", directory, "--where", "rate>1"}).out, "no run fulfils these conditions\n");
  const std::string sorted = kiln_says({"runs", directory, "--sort", "valid/accuracy", "--plot", "valid/accuracy"}).out;
  EXPECT_LT(sorted.find("\na "), sorted.find("\nb "));
  EXPECT_NE(sorted.find("\nvalid/accuracy\n"), std::string::npos);
  const auto complaint = [](const std::vector<std::string>& words) {
    const Said said = kiln_says(words);
    EXPECT_EQ(said.status, 2);
    return said.error;
  };
  EXPECT_NE(complaint({"runs", directory, "--sort", "valid/acuracy"})
                .find("runs: no run has a metric 'valid/acuracy' (did you mean 'valid/accuracy'?)"),
            std::string::npos);
  EXPECT_NE(complaint({"runs", directory, "--plot", "loss"})
                .find("runs: no run has a metric 'loss'; there are valid/accuracy"),
            std::string::npos);
  EXPECT_NE(complaint({"runs", directory, "--metric", "loss"}).find("no run has a metric 'loss'"), std::string::npos);
  EXPECT_TRUE(sorted.ends_with("\n           ━ b  ━ a; --colours tells them apart\n") ||
              sorted.ends_with("\n           ━ a  ━ b; --colours tells them apart\n"))
      << sorted;
  for (const char* const spelt : {"--colours", "--colors"}) {
    const std::string coloured = kiln_says({"runs", directory, "--plot", "valid/accuracy", spelt}).out;
    EXPECT_TRUE(coloured.ends_with("\x1b[31m━ a\x1b[0m  \x1b[34m━ b\x1b[0m\n")) << coloured;
    EXPECT_NE(coloured.find("\x1b[31m⠁"), coloured.find("\x1b[34m"));
  }
  EXPECT_NE(complaint({"runs", directory, "--where", "rate"}).find("runs: 'rate' is not a condition"),
            std::string::npos);
  EXPECT_NE(complaint({"runs", directory, "--where", "rate<x"}).find("compares with something that is not a number"),
            std::string::npos);
  EXPECT_NE(complaint({"runs", (root / "notes").string()}).find("has no run"), std::string::npos);
  EXPECT_NE(complaint({"runs", (root / "none").string()}).find("cannot read"), std::string::npos);
  fs::remove_all(root);
}

TEST(Cli, GuessesCommands) {
  const Said said = kiln_says({"inspct", "x"});
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.error.find("kiln: there is no command 'inspct' (did you mean 'inspect'?); the commands are inspect, "),
            0u)
      << said.error;
  EXPECT_EQ(kiln_says({"frobnicate"}).error.find("kiln: there is no command 'frobnicate'; the commands are "), 0u);
}

TEST(Cli, SaysDefaultsInEveryHelp) {
  const auto helps = [](const std::vector<std::string>& words, const std::string& option, const std::string& value) {
    std::vector<std::string> asked = words;
    asked.emplace_back("--help");
    const std::string out = kiln_says(asked).out;
    const std::size_t at = out.find(option + ' '), end = out.find("\n  -", at);
    ASSERT_NE(at, std::string::npos) << out;
    const std::string line = out.substr(at, end - at);  // CLI11 writes "=0" before 2.2, and "[0]" since
    EXPECT_TRUE(line.find('[' + value + ']') != line.npos || line.find('=' + value + ' ') != line.npos ||
                line.find('=' + value + '\n') != line.npos)
        << out;
  };
  helps({"diff"}, "--relative", "0");
  helps({"diff"}, "--absolute", "0");
  helps({"plot-schedule"}, "--steps", "1000");
  helps({"plot-schedule"}, "--width", "72");
  helps({"runs"}, "--height", "12");
  helps({"run"}, "--relative", "0.001");
  helps({"run"}, "--repeat", "0");
  helps({"run"}, "--device", "cpu");
  helps({"onnx", "test"}, "--device", "cpu");
  helps({"convert"}, "--shards", "0");
  for (const char* const spelt : {"--quantise", "--quantize"})
    EXPECT_NE(kiln_says({"convert", "a", "b", spelt, "q7"}).error.find("q7"), std::string::npos);
}

TEST(Cli, InspectsADirectoryOfCheckpoints) {
  namespace fs = std::filesystem;
  const fs::path root =
      fs::temp_directory_path() / text("kiln-cli-a-long-name-", std::string(90, 'x'), '-', ::getpid());
  std::int64_t number = 3;
  RecordedObjects all;
  all.add("number", number);
  {
    Checkpointer checkpoints(root / "checkpoint", {.last = 2});
    for (std::int64_t step = 1; step <= 3; ++step) {
      const training::Position at{.step = step, .seconds = 2.5};
      checkpoints.observe({at, "valid", {{"loss", 0.5}}});
      checkpoints.save(all, at);
    }
    checkpoints.finish();
  }
  for (const fs::path& asked : {root, root / "checkpoint"}) {
    const Said said = kiln_says({"inspect", asked.string()});
    EXPECT_EQ(said.status, 0) << said.error;
    EXPECT_EQ(said.out.find((root / "checkpoint").string() + ": checkpoints of a training; name one of them, as " +
                            (root / "checkpoint/step-3.kiln").string() + "\n"),
              0u)
        << said.out;
    for (const char* const word : {"valid loss", "step-2.kiln", "step-3.kiln", "2.5", "0.5"})
      EXPECT_NE(said.out.find(word), std::string::npos) << said.out;
  }
  // A name is shown as it is, however long.
  const std::string file = (root / "checkpoint/step-3.kiln").string();
  EXPECT_EQ(kiln_says({"inspect", file}).out.find(file + ": "), 0u);
  fs::remove_all(root);
}

}  // namespace
}  // namespace kiln
