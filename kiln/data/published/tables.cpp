#include "kiln/data/published/tables.hpp"

#include "kiln/core/error/shown.hpp"
#include "kiln/data/table/csv.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// The file in the directory, or in the folder that its archive contains.
std::string found(const fs::path& directory, const std::string& folder, const std::string& name) {
  std::error_code ignored;
  for (const fs::path& path : {directory / name, directory / folder / name})
    if (fs::is_regular_file(path, ignored)) return path.string();
  fail<DataError>(shown(directory.string()), " has no file ", name);
}

struct Article {
  std::int64_t label = 0;
  std::string title, text;
};

}  // namespace

DatasetPtr<LabelledText> labelled_articles(const std::string& path, std::int64_t classes) {
  return mapped(csv_rows<Article>(CsvFile(path, {.header = false})), [path, classes](const Article& article) {
    require<DataError>(article.label >= 1 && article.label <= classes, path, ": has the class ", article.label,
                       ", not 1 to ", classes);
    return LabelledText{article.title + " " + article.text, article.label - 1};
  });
}

const std::vector<std::string>& ag_news_classes() {
  static const std::vector<std::string> classes = {"World", "Sports", "Business", "Sci/Tech"};
  return classes;
}

const std::vector<std::string>& dbpedia_classes() {
  static const std::vector<std::string> classes = {"Company",      "EducationalInstitution",
                                                   "Artist",       "Athlete",
                                                   "OfficeHolder", "MeanOfTransportation",
                                                   "Building",     "NaturalPlace",
                                                   "Village",      "Animal",
                                                   "Plant",        "Album",
                                                   "Film",         "WrittenWork"};
  return classes;
}

DatasetPtr<LabelledText> ag_news(const fs::path& directory, Split split) {
  return labelled_articles(found(directory, "ag_news_csv", split == Split::Train ? "train.csv" : "test.csv"),
                           std::ssize(ag_news_classes()));
}

DatasetPtr<LabelledText> dbpedia(const fs::path& directory, Split split) {
  return labelled_articles(found(directory, "dbpedia_csv", split == Split::Train ? "train.csv" : "test.csv"),
                           std::ssize(dbpedia_classes()));
}

DatasetPtr<CaliforniaDistrict> california_housing(const fs::path& directory) {
  return csv_rows<CaliforniaDistrict>(
      CsvFile(found(directory, "CaliforniaHousing", "cal_housing.data"), {.header = false}));
}

}  // namespace kiln
