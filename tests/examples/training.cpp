// The examples of training, as programs.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kiln/collective/mpi_ranks.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/text.hpp"
#include "kiln/store/record.hpp"
#include "kiln/store/save.hpp"

#include "output_of.hpp"
#include "tests/support/mpirun.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// What a program says that ends with an error.
std::string refused(const std::string& program) {
  return output_of(text("(", program, ") 2>&1; test $? -eq 1 || echo ended otherwise"));
}

TEST(CustomLoop, GoesOnToTheSameBitsAfterBeingKilled) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-custom-loop-", ::getpid());
  const std::string whole = (folder / "whole").string(), parts = (folder / "parts").string();
  const std::string said = output_of(text(CUSTOM_LOOP_PROGRAM, ' ', whole));
  EXPECT_NE(said.find("epoch 3: loss "), std::string::npos) << said;
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(CUSTOM_LOOP_PROGRAM, CUSTOM_LOOP_PROGRAM, parts.c_str(), nullptr);
    ::_exit(127);
  }
  // In the middle of the first epoch, which has 80 steps.
  bool ended = false;
  while (!ended && !fs::exists(folder / "parts/checkpoint/step-40.kiln")) {
    ::usleep(500);
    ended = ::waitpid(child, nullptr, WNOHANG) == child;
  }
  ASSERT_FALSE(ended);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(fs::exists(folder / "parts/checkpoint/step-240.kiln"));
  const std::string resumed = output_of(text(CUSTOM_LOOP_PROGRAM, ' ', parts));
  EXPECT_EQ(resumed.substr(resumed.find("epoch 3")), said.substr(said.find("epoch 3")));
  // All that the checkpoint holds but by which run it was written.
  const auto contents = [&](const char* name) {
    const TensorSource record = open_tensors((folder / name / "checkpoint/step-240.kiln").string());
    std::map<std::string, std::vector<std::byte>> all;
    for (const auto& [path, tensor] : record.tensors) {
      const TensorData data = tensor.read();
      all[path].assign(data.bytes().begin(), data.bytes().end());
    }
    for (const auto& [key, value] : record.metadata) {
      const auto bytes = std::as_bytes(std::span(value));
      if (key != "checkpoint") all[key].assign(bytes.begin(), bytes.end());
    }
    return all;
  };
  const auto whole_contents = contents("whole");
  EXPECT_GT(whole_contents.size(), 10u);
  EXPECT_EQ(contents("parts"), whole_contents);
  fs::remove_all(folder);
}

TEST(DataParallel, PrintsTheSameNumbersOnAnyNumberOfRanks) {
  const std::string one = output_of(DATA_PARALLEL_PROGRAM), two = output_of(DATA_PARALLEL_PROGRAM " --threads 2");
  const auto numbers = [](const std::string& said) { return said.substr(said.find("ranks: ")); };
  EXPECT_EQ(numbers(two), numbers(one));
  EXPECT_EQ(two.substr(two.find("ranks: ") - 2, 1), "2");
  if (has_mpi()) {
    const std::string processes = output_of(mpirun(2) + DATA_PARALLEL_PROGRAM);
    EXPECT_EQ(numbers(processes), numbers(one));
    EXPECT_EQ(processes.substr(processes.find("ranks: ") - 2, 1), "2");
  }
  const std::size_t at = one.rfind("accuracy ");
  ASSERT_NE(at, std::string::npos) << one;
  EXPECT_GT(std::stod(one.substr(at + 9)), 0.8) << one;
}

TEST(CustomMetric, IsLoggedAsAnyOther) {
  const std::string said = output_of(CUSTOM_METRIC_PROGRAM);
  EXPECT_NE(said.find("epoch 3/3, step 240, valid: loss "), std::string::npos) << said;
  EXPECT_NE(said.find(", confident_mistakes 0.0"), std::string::npos) << said;
}

/// Districts whose price is a plane of what is known of them.
std::string districts(int count) {
  std::string table =
      "longitude,latitude,housing_median_age,total_rooms,total_bedrooms,population,households,median_income,"
      "median_house_value,ocean_proximity\n";
  for (int i = 0; i < count; ++i) {
    const int age = 1 + i * 7 % 50, income = 1 + i * 13 % 11;
    table += text("-122.", i % 9, ",37.", i % 7, ',', age, ".0,", 500 + i * 31 % 400, ',', i % 5 ? "90.0" : "",
                  ",300,100,", income, ',', 20'000 * income + 500 * age, ',', i % 2 ? "INLAND" : "NEAR BAY", '\n');
  }
  return table;
}

TEST(Regression, TrainsAndGoesOnWhereItWas) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-housing-", ::getpid());
  fs::create_directories(folder);
  const std::string table = (folder / "housing.csv").string();
  write_file_atomically(table, std::string_view(districts(400)));
  const std::string program = text(REGRESSION_PROGRAM, " --plain --batch 40 --epochs 20 --data ", table, " --run ");
  const std::string said = output_of(program + (folder / "run").string());
  EXPECT_NE(said.find("least squares: off by "), std::string::npos) << said;
  EXPECT_NE(said.find("epoch 20/20, step 160, valid: loss "), std::string::npos) << said;
  EXPECT_TRUE(fs::exists(folder / "run/valid/epoch-20/r2.log"));
  // What has been done is not done again, and ends in the same model.
  const std::string again = output_of(program + (folder / "run").string());
  EXPECT_EQ(again.find("valid: loss"), std::string::npos) << again;
  EXPECT_EQ(again.substr(again.find("network: ")), said.substr(said.find("network: ")));
  fs::remove_all(folder);
}

/// What a training that ended is told where more epochs are asked for, and another who looks on.
void expect_goes_on(const std::string& program, const std::string& run) {
  const std::string more = output_of(program + " --web 0 --epochs 4 --run " + run);
  EXPECT_NE(more.find("going on from " + run + "/checkpoint/step-"), std::string::npos) << more;
  EXPECT_NE(more.find("epoch 4/4"), std::string::npos) << more;
  const std::string other = output_of(text("(", program, " --plain --epochs 5 --seed 9 --run ", run, ") 2>&1; true"));
  for (const char* const part : {"belongs to another configuration: 'learner.seed' is 1 there and 9 here",
                                 "; go on with what it was, or begin anew in another directory"})
    EXPECT_NE(other.find(part), std::string::npos) << other;
}

TEST(TextClassification, LearnsAndGoesOnWhereItWas) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-texts-", ::getpid());
  fs::create_directories(folder);
  const char* const words[] = {"treaty minister", "match goal", "shares profit", "planet software"};
  std::string table;
  for (int i = 0; i < 200; ++i)
    table +=
        text('"', 1 + i % 4, "\",\"Number ", i * 37 % 11, "\",\"The ", words[i % 4], " of day ", i * 13 % 29, "\"\n");
  const std::string file = (folder / "news.csv").string();
  write_file_atomically(file, std::string_view(table));
  const std::string program =
      text(TEXT_CLASSIFICATION_PROGRAM, " --plain --batch 16 --epochs 3 --data ", file, " --run ");
  const std::string said = output_of(program + (folder / "run").string());
  EXPECT_GT(number_after(said, "right about "), 90);  // by chance it would be 25
  EXPECT_TRUE(fs::exists(folder / "run/valid/epoch-3/f1.log"));
  const std::string again = output_of(program + (folder / "run").string());
  EXPECT_EQ(again.find("valid: loss"), std::string::npos) << again;
  EXPECT_EQ(number_after(again, "right about "), number_after(said, "right about "));
  expect_goes_on(text(TEXT_CLASSIFICATION_PROGRAM, " --batch 16 --data ", file), (folder / "run").string());
  fs::remove_all(folder);
}

/// Records in the form of DbPedia's files: class from 1, title, text. Two words of a text tell its class.
std::string articles(int count, int classes) {
  std::string table;
  for (int i = 0; i < count; ++i)
    table += text(1 + i % classes, ",\"Article ", i * 37 % 11, "\",\" The \"\"subject", i % classes, "\"\" of region",
                  i % classes, " since ", i * 13 % 29, ".\"\n");
  return table;
}

TEST(TextClassification, TunesAModelOfDbPediaByAdaptersAlone) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-adapters-", ::getpid());
  fs::create_directories(folder / "dbpedia_csv");
  for (const char* const part : {"train.csv", "test.csv"})
    write_file_atomically((folder / "dbpedia_csv" / part).string(), std::string_view(articles(560, 14)));
  write_file_atomically((folder / "news.csv").string(), std::string_view(articles(200, 4)));
  const std::string program = text("cd ", folder.string(), " && ", TEXT_CLASSIFICATION_PROGRAM, " --plain --batch 16 ");
  const std::string learned = output_of(
      program + "--model.width 32 --epochs 4 --set DbPedia --data dbpedia_csv --sample 500 --save encyclopedia");
  EXPECT_GT(number_after(learned, "right about "), 80) << learned;  // by chance it would be 7
  EXPECT_NE(learned.find("of 50 texts"), learned.npos) << learned;

  // Other classes: a head for them is learned too. The classes it knows: nothing but the adapters.
  const std::string from = program + "--from encyclopedia --lora 2 --epochs 2 --rate 1e-2 ";
  const std::string news = output_of(from + "--data news.csv --save news");
  const std::string again = output_of(from + "--set DbPedia --data dbpedia_csv --sample 100 --save again");
  const int rank = 2, width = 32, adapters = 4 * rank * (width + width), head = 4 * width + 4;
  EXPECT_EQ(number_after(news, "trains "), adapters + head) << news;
  EXPECT_EQ(number_after(again, "trains "), adapters) << again;
  EXPECT_GT(number_after(news, "right about "), 80) << news;  // by chance it would be 25
  const auto names = [&](const char* name) {
    std::vector<std::string> all;
    for (const auto& [path, tensor] : open_tensors((folder / name / "adapters.safetensors").string()).tensors)
      all.push_back(path);
    return all;
  };
  EXPECT_EQ(names("again").size(), 8u);
  EXPECT_EQ(names("news").size(), 10u);
  for (const std::string& name : names("again"))
    EXPECT_EQ(name.find("adapters.lora.parts.encoder.blocks.0.attention."), 0u) << name;
  for (const std::string& said : {news, again})
    EXPECT_LT(number_after(said, "with the adapters merged, scores differ by "), 1e-4) << said;
  fs::remove_all(folder);
}

TEST(TextClassification, SaysWhatIsMissing) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-no-adapters-", ::getpid());
  fs::create_directories(folder / "from");
  const std::string program = text("cd ", folder.string(), " && ", TEXT_CLASSIFICATION_PROGRAM, " --plain ");
  EXPECT_EQ(
      refused(program + "--lora 4"),
      "ArgumentError: --lora trains adapters of a model that has learned: name its folder, which --save wrote, by "
      "--from\n");
  write_file_atomically((folder / "from/words.txt").string(), std::string_view("a\nb\n"));
  write_file_atomically((folder / "from/model.json").string(), std::string_view("{\"vocabulary\": 7, \"classes\": 4}"));
  EXPECT_EQ(refused(program + "--from from"),
            "DataError: from/words.txt: holds 2 words, but from/model.json says that the model has 5\n");
  write_file_atomically((folder / "few.csv").string(), std::string_view(articles(4, 4)));
  EXPECT_EQ(refused(program + "--data few.csv"), "DataError: few.csv: holds 4 texts, too few to hold a fifth out\n");
  EXPECT_EQ(refused(program + "--data few.csv --sample 9"),
            "ArgumentError: --sample 9 must be at least 10: a tenth is measured on\n");
  fs::remove_all(folder);
}

TEST(ImageFolder, LearnsPicturesThatItDraws) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-pictures-", ::getpid());
  fs::create_directories(folder);
  const auto learn = [&](const std::string& options) {
    return output_of(text("cd ", folder.string(), " && ", IMAGE_FOLDER_PROGRAM,
                          " --plain --side 16 --width 8 --digits 400 --epochs 8 --batch 16 --rate 1e-2 ", options));
  };
  fs::create_directories(folder / "digits/mine");
  const std::string said = learn("--workers 2"), same = learn("--workers 0 --data digits-400");
  EXPECT_NE(said.find("400 pictures of 10 classes"), std::string::npos) << said;
  EXPECT_TRUE(fs::exists(folder / "digits-400/7"));
  EXPECT_TRUE(fs::exists(folder / "digits/mine"));
  EXPECT_GT(number_after(said, "right about "), 50);  // by chance it would be 10
  EXPECT_EQ(number_after(same, "right about "), number_after(said, "right about "));
  fs::remove_all(folder);
}

TEST(ImageFolder, NamesThePictureThatIsNone) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-no-pictures-", ::getpid());
  for (int i = 0; i < 10; ++i) {
    fs::create_directories(folder / "photos" / text(i % 2));
    write_file_atomically((folder / "photos" / text(i % 2) / text(i, ".png")).string(), std::string_view("no picture"));
  }
  const std::string program = text("cd ", folder.string(), " && ", IMAGE_FOLDER_PROGRAM, " --plain --workers 2 ");
  const std::string said = refused(program + "--data photos"), few = refused(program + "--digits 9");
  EXPECT_NE(said.find(".png: is neither a PNG nor a JPEG file (item "), said.npos) << said;
  EXPECT_EQ(few, "ArgumentError: --digits 9 must be at least 10\n");
  fs::create_directories(folder / "photos/empty");
  EXPECT_EQ(refused(program + "--data photos"),
            "DataError: the class photos/empty has no picture: no PNG or JPEG file\n");
  fs::remove_all(folder);
}

TEST(Regression, SaysThatItDiverged) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-diverged-", ::getpid());
  fs::create_directories(folder);
  const std::string table = (folder / "housing.csv").string();
  write_file_atomically(table, std::string_view(districts(400)));
  const std::string said =
      refused(text(REGRESSION_PROGRAM, " --plain --batch 320 --epochs 2 --rate 1e30 --data ", table));
  EXPECT_NE(said.find("DataError: training: after step 1 not finite: the loss of validation is "), said.npos) << said;
  EXPECT_EQ(said.find("items_per_second nan"), said.npos) << said;
  fs::remove_all(folder);
}

TEST(Examples, ServeAPageWhereAsked) {
  const std::string said = output_of(text(CUSTOM_METRIC_PROGRAM, " --epochs 1 --web 0"));
  EXPECT_NE(said.find("http://127.0.0.1:"), std::string::npos) << said;
}

}  // namespace
}  // namespace kiln
