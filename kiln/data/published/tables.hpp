// Published data sets that are tables: news, encyclopedia articles and districts. Pictures and sounds have their own
// readers: Mnist::load (also for Fashion-MNIST, which has the same layout), Cifar::load, speech_commands.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/data/dataset.hpp"
#include "kiln/data/mnist.hpp"
#include "kiln/data/text/text_folder.hpp"

namespace kiln {

/// The class names: "World", "Sports", "Business", "Sci/Tech"; and DbPedia's 14, "Company" to "WrittenWork".
const std::vector<std::string>& ag_news_classes();
const std::vector<std::string>& dbpedia_classes();

/// Titles and texts joined by a space, from Zhang, Zhao, LeCun, "Character-level convolutional networks for text
/// classification", 2015. Reads `train.csv` or `test.csv` of the directory, or of the folder `dbpedia_csv` in it.
/// Throws IoError, DataError; errors in a row are thrown when it is read.
DatasetPtr<LabelledText> ag_news(const std::filesystem::path& directory, Split split);
DatasetPtr<LabelledText> dbpedia(const std::filesystem::path& directory, Split split);
/// One CSV file of that form: class (1 to `classes`), title, text, without a header. Throws as those do.
DatasetPtr<LabelledText> labelled_articles(const std::string& path, std::int64_t classes);

/// Districts of California in 1990 (Pace, Barry, "Sparse spatial autoregressions", 1997).
struct CaliforniaDistrict {
  double longitude = 0, latitude = 0, median_age = 0, rooms = 0, bedrooms = 0, population = 0, households = 0;
  double median_income = 0;  // in 10,000 dollars
  double median_value = 0;   // value of a house, in dollars
};
/// Reads `cal_housing.data` of the directory, or of the folder `CaliforniaHousing` in it.
DatasetPtr<CaliforniaDistrict> california_housing(const std::filesystem::path& directory);

}  // namespace kiln
