// A parameter that a model has in several places, to and from files.
#include <gtest/gtest.h>

#include "kiln/nn/param.hpp"
#include "kiln/store/save.hpp"

#include "formats/samples.hpp"
#include "temporary.hpp"

namespace kiln {
namespace {

struct Tied {
  nn::Param<2> first, second;
};

TEST(TiedParameters, AreReadByTheNameOfAnyOfTheirPlaces) {
  const TemporaryFile file("theirs.safetensors");
  const auto loaded = [&](const TensorFile& theirs, const LoadOptions& options = {}) {
    save_tensors(theirs, file.path);
    const nn::Param<2> zero(Tensor<2>::zeros({2, 1}, Device::cpu()));
    Tied tied{zero, zero};
    EXPECT_EQ(load(tied, file.path, options).complete(), !options.allow_mismatched);
    EXPECT_EQ(tied.first.identity(), tied.second.identity());
    return tied.second.to_vector();
  };
  const TensorData right = TensorData::of<float>({2, 1}, {1, 2}), other = TensorData::of<float>({2, 1}, {1, 3});
  const std::vector<float> numbers = {1, 2};
  EXPECT_EQ(loaded({.tensors = {{"first", right}}, .metadata = {}}), numbers);
  EXPECT_EQ(loaded({.tensors = {{"second", right}}, .metadata = {}}), numbers);
  EXPECT_EQ(loaded({.tensors = {{"first", right}, {"second", right}}, .metadata = {}}), numbers);  // as PyTorch has it
  const TensorFile differ{.tensors = {{"first", right}, {"second", other}}, .metadata = {}};
  EXPECT_EQ(error_of([&] { loaded(differ); }),
            text("LoadError: ", file.path,
                 ": tensors 'first' and 'second' differ, where the module has one parameter in both places "
                 "(LoadOptions::rename and ::except can leave one out)"));
  EXPECT_EQ(loaded(differ, {.rename = {{"^second$", "aside"}}, .except = "aside"}), numbers);
  EXPECT_EQ(loaded(differ, {.rename = {{"^first$", "aside"}}, .except = "aside"}), (std::vector<float>{1, 3}));
  EXPECT_EQ(loaded(differ, {.allow_mismatched = true}), (std::vector<float>{0, 0}));
}

TEST(TiedParameters, FillAModelInWhichTheyAreTwo) {
  const TemporaryFile file("tied.safetensors");
  const nn::Param<2> one(Tensor<2>::of({{1, 2}}, Device::cpu()));
  save(Tied{one, one}, file.path);
  const auto untied = [] {
    return Tied{nn::Param<2>(Tensor<2>::zeros({1, 2}, Device::cpu())),
                nn::Param<2>(Tensor<2>::zeros({1, 2}, Device::cpu()))};
  };
  Tied two = untied();
  EXPECT_EQ(error_of([&] { load(two, file.path); }),
            text("LoadError: ", file.path,
                 ": 'second' is missing (if it is tied to 'first' in the file, LoadOptions::aliases says so)"));
  EXPECT_TRUE(load(two, file.path, {.aliases = {{"second", "first"}}}).complete());
  EXPECT_EQ(two.first.to_vector(), (std::vector<float>{1, 2}));
  EXPECT_EQ(two.second.to_vector(), (std::vector<float>{1, 2}));
  EXPECT_NE(two.first.identity(), two.second.identity());

  // A tensor that no part takes is another thing by another name.
  save_tensors({.tensors = {{"other", TensorData::of<float>({1, 2}, {1, 2})}}, .metadata = {}}, file.path);
  EXPECT_EQ(error_of([&] { load(two, file.path, {.allow_unexpected = true}); }),
            text("LoadError: ", file.path, ": does not fit the module:\n  'first' is missing\n  'second' is missing"));

  // What is there is not replaced.
  save_tensors(
      {.tensors = {{"first", TensorData::of<float>({1, 2}, {1, 2})}, {"second", TensorData::of<float>({1, 2}, {3, 4})}},
       .metadata = {}},
      file.path);
  two = untied();
  load(two, file.path, {.aliases = {{"second", "first"}}});
  EXPECT_EQ(two.second.to_vector(), (std::vector<float>{3, 4}));
}

TEST(TiedParameters, StandInEachOfTheirPlacesInFilesOfPyTorchs) {
  const TemporaryFile file("tied.pt"), once("tied.safetensors");
  const nn::Param<2> one(Tensor<2>::ones({2, 500}, Device::cpu()));
  save(Tied{one, one}, file.path);
  save(Tied{one, one}, once.path);
  const TensorSource source = open_tensors(file.path);
  EXPECT_EQ(source.tensors.size(), 2);
  EXPECT_EQ(open_tensors(once.path).tensors.size(), 1);
  const TensorData first = source.tensors.at("first").read(), second = source.tensors.at("second").read();
  EXPECT_EQ(first.bytes().data(), second.bytes().data());
  EXPECT_EQ(second.to_vector<float>(), std::vector<float>(1000, 1));
}

TEST(TiedParameters, AreSelectedByEachOfTheirPlaces) {
  const TemporaryFile file("tied.safetensors");
  const nn::Param<2> one(Tensor<2>::ones({2, 2}, Device::cpu()));
  save(Tied{one, one}, file.path);
  const nn::Param<2> zero(Tensor<2>::zeros({2, 2}, Device::cpu()));
  Tied tied{zero, zero};
  EXPECT_EQ(load(tied, file.path, {.only = "second"}).loaded, std::vector<std::string>{"first"});
  EXPECT_EQ(tied.second.to_vector(), std::vector<float>(4, 1));
}

}  // namespace
}  // namespace kiln
