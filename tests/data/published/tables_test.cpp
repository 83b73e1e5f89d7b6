#include "kiln/data/published/tables.hpp"

#include <gtest/gtest.h>

#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;

TEST(AgNews, ReadsTitlesAndTexts) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write(
      "train.csv", "\"3\",\"Shares, up\",\"The \"\"market\"\"\"\n\"1\",\"a\",\"b\"\n\"5\",\"a\",\"b\"\n");
  const auto news = ag_news(directory.path(), Split::Train);
  ASSERT_EQ(news->size(), 3);
  EXPECT_EQ(news->get(0).text, "Shares, up The \"market\"");
  EXPECT_EQ(ag_news_classes().at(static_cast<std::size_t>(news->get(0).label)), "Business");
  EXPECT_EQ(news->get(1).label, 0);
  EXPECT_EQ(raised<DataError>([&] { news->get(2); }), path + ": has the class 5, not 1 to 4");
  EXPECT_EQ(raised<DataError>([&] { ag_news(directory.path(), Split::Test); }),
            directory.path().string() + " has no file test.csv");
}

TEST(DbPedia, ReadsWhatItsArchiveHolds) {
  const test::TemporaryDirectory directory;
  directory.write("dbpedia_csv/test.csv",
                  "14,\"A book\",\" is a book.\"\n1,\"E. D. Abbott Ltd\",\" was a coachbuilder.\"\n");
  const auto articles = dbpedia(directory.path(), Split::Test);
  EXPECT_EQ(dbpedia_classes().at(static_cast<std::size_t>(articles->get(0).label)), "WrittenWork");
  EXPECT_EQ(articles->get(1).text, "E. D. Abbott Ltd  was a coachbuilder.");
  EXPECT_EQ(dbpedia_classes().size(), 14u);
}

TEST(LabelledArticles, ReadOneFile) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write("mine.csv", "2,a,b\n3,c,d\n");
  const auto articles = labelled_articles(path, 2);
  EXPECT_EQ(articles->get(0).text, "a b");
  EXPECT_EQ(articles->get(0).label, 1);
  EXPECT_EQ(raised<DataError>([&] { articles->get(1); }), path + ": has the class 3, not 1 to 2");
}

TEST(CaliforniaHousing, ReadsDistricts) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write("CaliforniaHousing/cal_housing.data",
                                           "-122.230000,37.880000,41.000000,880.000000,129.000000,322.000000,126."
                                           "000000,8.325200,452600.000000\n1,2,3,4,5,6,7,8,x\n");
  const auto districts = california_housing(directory.path());
  ASSERT_EQ(districts->size(), 2);
  const CaliforniaDistrict first = districts->get(0);
  EXPECT_EQ(first.longitude, -122.23);
  EXPECT_EQ(first.bedrooms, 129);
  EXPECT_EQ(first.median_income, 8.3252);
  EXPECT_EQ(first.median_value, 452600);
  EXPECT_EQ(raised<DataError>([&] { districts->get(1); }), path + ":2: column 9: 'x' is no number");
}

}  // namespace
}  // namespace kiln
