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
                 ": tensors 'first' and 'second' differ, where the module has one parameter in both places"));
  EXPECT_EQ(loaded(differ, {.allow_mismatched = true}), (std::vector<float>{0, 0}));
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
