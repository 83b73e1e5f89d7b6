// A WebDashboard's page in a browser: it draws, goes on drawing, and its buttons are heard.
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/data/image.hpp"
#include "kiln/train/show/runs_page.hpp"
#include "kiln/train/show/web.hpp"
#include "tests/train/show/browser.hpp"

namespace kiln {
namespace {

class Page : public testing::Test {
 protected:
  Page() : program_(test::Browser::program()) {}
  void SetUp() override {
    if (!program_) GTEST_SKIP() << "there is no Chromium here (Debian: chromium); KILN_CHROMIUM names one";
    web_.on(begin_);
  }

  void learn(std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from + 1; i <= to; ++i)
      web_.on(training::Step{.at = {.epoch = 0, .batch = i, .step = i},
                             .loss = 1.0 / static_cast<double>(i),
                             .rates = {0.1},
                             .items = 8,
                             .seconds = 0.01});
  }
  void measure(std::int64_t step, double accuracy) {
    web_.on(training::Evaluation{.at = {.step = step}, .split = "valid", .readings = {{"accuracy", accuracy}}});
  }

  const std::optional<std::string> program_;
  training::Begin begin_{.batches = 100, .epochs = 2, .parameters = 3};
  WebDashboard web_;
};

std::string text_of(const std::string& id) { return "document.getElementById('" + id + "').textContent"; }

/// How many of a plot's pixels have about this colour, in any of the figure's canvases.
std::string pixels(const std::string& metric, int red, int green, int blue) {
  return text("[...document.querySelectorAll('figure[data-metric=", metric,
              "] canvas')].reduce((n,c)=>{if(!c.width)return n;const d=c.getContext('2d').getImageData(0,0,c.width,"
              "c.height).data;for(let i=0;i<d.length;i+=4)if(d[i+3]>40&&Math.abs(d[i]-",
              red, ")<30&&Math.abs(d[i+1]-", green, ")<30&&Math.abs(d[i+2]-", blue, ")<30)n++;return n;},0)");
}
/// A plot as it looks.
std::string look_of(const std::string& metric) {
  return "[...document.querySelectorAll('figure[data-metric=" + metric + "] canvas')].map(c=>c.toDataURL()).join()";
}
std::int64_t whole(const Json& json) {
  const auto* const number = std::get_if<std::int64_t>(&json.is);
  EXPECT_TRUE(number);
  return number ? *number : 0;
}

TEST_F(Page, DrawsCurvesAndGoesOn) {
  learn(0, 20);
  test::Browser browser(*program_, web_.address());
  ASSERT_TRUE(browser.becomes(text_of("state") + ".startsWith('epoch 1/2, step 20')"));
  const std::string steps = pixels("loss", 0xdd, 0x88, 0x33), marks = pixels("accuracy", 0x33, 0x66, 0xcc);
  EXPECT_TRUE(browser.becomes(steps + " > 100")) << whole(browser.evaluate(steps));
  EXPECT_TRUE(
      browser.becomes("document.querySelectorAll('#plots figure[data-metric=loss], #plots "
                      "figure[data-metric=rate]').length === 2"));  // loss and rate

  // What happens afterwards is there without anybody asking for it.
  EXPECT_EQ(whole(browser.evaluate(marks)), 0);
  browser.evaluate("window.before = " + look_of("loss") + "; 1");
  learn(20, 60);
  measure(40, 0.5);
  measure(60, 0.75);
  ASSERT_TRUE(browser.becomes(text_of("state") + ".startsWith('epoch 1/2, step 60')"));
  EXPECT_TRUE(browser.becomes(marks + " > 100"));
  EXPECT_TRUE(browser.becomes(look_of("loss") + " !== before"));
  EXPECT_TRUE(browser.becomes(text_of("rows") + ".includes('valid accuracy0.750.50.75')"));
  EXPECT_TRUE(browser.becomes(text_of("machine") + ".includes('GiB')"));
  EXPECT_TRUE(browser.becomes("document.getElementById('bar').value > 0.29"));

  // Words are words, whatever they say, and nothing comes from elsewhere.
  web_.on(training::Message{"<img src=x onerror='document.title=1'> at 61 °C"});
  EXPECT_TRUE(
      browser.becomes(text_of("said") + ".includes('<img src=x onerror=\\'document.title=1\\'> at 61 \\u00b0C')"));
  EXPECT_TRUE(browser.becomes("document.images.length === 0 && document.title === 'Training'"));
  EXPECT_TRUE(browser.becomes("performance.getEntriesByType('resource').every(e => e.name.startsWith('" +
                              web_.address() + "'))"));
}

TEST_F(Page, ZoomsAndGoesBackThroughTheSteps) {
  learn(0, 60);
  test::Browser browser(*program_, web_.address());
  const std::string canvas = "document.querySelector('figure[data-metric=loss]')",
                    area = "document.querySelector('figure[data-metric=loss] .curve')";
  ASSERT_TRUE(browser.becomes("!!" + canvas + " && " + canvas + ".range[1] === 60"));
  const auto wheel = [&](int delta) {
    browser.evaluate(text("(()=>{const c=", area,
                          ",b=c.getBoundingClientRect();c.dispatchEvent(new WheelEvent('wheel',", "{deltaY:", delta,
                          ",clientX:b.right-11,clientY:b.top+9}));return 1;})()"));
  };
  for (int i = 0; i < 4; ++i) {
    wheel(-100);
    EXPECT_TRUE(browser.becomes(text(canvas, ".range[1] - ", canvas, ".range[0] < ", 60 * std::pow(0.8, i))));
  }
  EXPECT_TRUE(browser.becomes(canvas + ".range[1] > 59"));  // around the pointer
  browser.evaluate(text(
      "(()=>{const f=", canvas, ",c=", area, ",e=(t,x)=>c.dispatchEvent(new PointerEvent(t,{clientX:x,bubbles:true}));",
      "window.was=f.range;e('pointerdown',100);e('pointermove',150);e('pointerup',150);return 1;})()"));
  EXPECT_TRUE(browser.becomes(text(canvas, ".range[0] < was[0] && ", canvas, ".range[1] < was[1]")));
  EXPECT_TRUE(
      browser.becomes(text("document.querySelector('figure[data-metric=rate]').range[0] === ", canvas, ".range[0]")));
  browser.evaluate(area + ".dispatchEvent(new MouseEvent('dblclick')), 1");
  EXPECT_TRUE(browser.becomes(text(canvas, ".range[0] === 1 && ", canvas, ".range[1] === 60")));
}

TEST_F(Page, HasButtonsThatAreHeard) {
  learn(0, 3);
  test::Browser browser(*program_, web_.address());
  ASSERT_TRUE(browser.becomes(text_of("state") + ".includes('step 3')"));
  browser.evaluate("document.getElementById('save').click()");
  EXPECT_TRUE(browser.becomes(text_of("said") + ".includes('saves after this step')"));
  EXPECT_TRUE(begin_.control.take_save());
  EXPECT_FALSE(begin_.control.should_stop());
  browser.evaluate("document.getElementById('stop').click()");
  EXPECT_TRUE(browser.becomes(text_of("said") + ".includes('stops after this step')"));
  EXPECT_EQ(begin_.control.reason(), "stopped by the web page");

  web_.on(training::RunEnd{.at = {.step = 3}, .reason = begin_.control.reason()});
  EXPECT_TRUE(browser.becomes(text_of("state") + " === 'done: stopped by the web page'"));
  EXPECT_TRUE(browser.becomes("document.getElementById('stop').disabled && document.getElementById('save').disabled"));
}

TEST_F(Page, HasTicksValuesSmoothingAndALogScale) {
  learn(0, 64);
  test::Browser browser(*program_, web_.address());
  const std::string figure = "document.querySelector('figure[data-metric=loss]')";
  ASSERT_TRUE(browser.becomes(figure + "?.querySelectorAll('.dygraph-axis-label-x').length > 2"));
  EXPECT_TRUE(browser.becomes(figure + ".querySelectorAll('.dygraph-axis-label-y').length > 2"));
  // Under the cursor: the value of that step, 1 / step.
  browser.evaluate(text("(()=>{const f=", figure,
                        ",c=f.querySelectorAll('canvas')[1]||f.querySelector('canvas'),"
                        "b=c.getBoundingClientRect();for(const d of f.querySelectorAll('canvas'))d.dispatchEvent(new "
                        "MouseEvent('mousemove',{clientX:b.right-1,clientY:b.top+20,bubbles:true}));return 1;})()"));
  EXPECT_TRUE(browser.becomes(figure + ".querySelector('figcaption').textContent.includes('step 64') && " + figure +
                              ".querySelector('figcaption').textContent.includes('0.015625')"));
  const auto input = [&](const std::string& id, const std::string& change) {
    browser.evaluate("window.before = " + look_of("loss") + "; 1");
    browser.evaluate(text("(()=>{const e=document.getElementById('", id, "');", change, ";return 1;})()"));
    EXPECT_TRUE(browser.becomes(look_of("loss") + " !== before")) << id;
  };
  input("log", "e.click()");
  input("smoothing", "e.value=0.9;e.dispatchEvent(new Event('input'))");
  // An average of 1, 1/2 and 1/3 by hand.
  EXPECT_TRUE(browser.becomes("Math.abs(smooth([[1,1],[2,1/2],[3,1/3]],.5)[2][1]-(1/8+1/8+1/6)/.875)<1e-9"));
  EXPECT_TRUE(browser.becomes("csvOf().startsWith('metric,curve,step,value\\nloss,step,1,1\\nloss,step,2,0.5\\n')"));
  EXPECT_TRUE(browser.becomes("pngOf('loss').startsWith('data:image/png;base64,')"));
}

TEST_F(Page, ShowsFiguresAndMakesScriptOfNoName) {
  const std::string hostile = "</script><img src=x onerror=document.title=1>\"'";
  test::Browser browser(*program_, web_.address());
  ASSERT_TRUE(browser.becomes(text_of("state") + ".startsWith('epoch')"));
  Matrix matrix{2, 2, {3, 1, 0, 4}, {"cat", hostile}};
  web_.on(training::Evaluation{
      .at = {.step = 5}, .split = "valid", .readings = {{.name = hostile, .value = 0.75, .matrix = matrix}}});
  web_.on(training::Distribution{{.step = 5}, "weights/" + hostile, histogram_of(std::vector<float>{0, 1, 1, 2}, 2)});
  web_.on(training::Drawing{{.step = 5}, hostile, png_of(image_of(matrix))});
  EXPECT_TRUE(browser.becomes("document.querySelector('#matrices td')?.textContent === '3'"));
  EXPECT_TRUE(browser.becomes("document.querySelectorAll('#matrices th')[2].textContent.startsWith('</script>')"));
  EXPECT_TRUE(browser.becomes("document.querySelector('#histograms canvas')?.width > 0"));
  // A matrix of many classes is a picture.
  Matrix many{100, 100, std::vector<double>(10'000), {}};
  many.cells[1] = 3;
  web_.on(training::Evaluation{
      .at = {.step = 5}, .split = "valid", .readings = {{.name = "many", .value = 0, .matrix = many}}});
  EXPECT_TRUE(browser.becomes("document.querySelector('#matrices canvas')?.width === 100"));
  EXPECT_TRUE(
      browser.becomes("document.querySelector('#matrices canvas').getContext('2d').getImageData(0,0,3,1).data.join()"
                      " === '0,0,0,0,51,102,204,204,0,0,0,0'"));
  EXPECT_TRUE(browser.becomes("document.querySelector('#pictures img')?.naturalWidth > 0"));
  EXPECT_TRUE(browser.becomes("document.images.length === 1 && document.title === 'Training'"));
  EXPECT_TRUE(browser.becomes("document.querySelector('#plots figure').textContent.includes('</script>')"));
}

TEST_F(Page, FitsANarrowScreen) {
  learn(0, 20);
  test::Browser browser(*program_, web_.address());
  ASSERT_TRUE(browser.becomes(text_of("state") + ".includes('step 20')"));
  browser.evaluate("document.body.style.width='340px',1");
  EXPECT_TRUE(browser.becomes("document.getElementById('plots').scrollWidth <= 342"));
}

TEST(RunsPage, ShowsRunsBesideEachOther) {
  const auto program = test::Browser::program();
  if (!program) GTEST_SKIP() << "there is no Chromium here (Debian: chromium); KILN_CHROMIUM names one";
  const RunsPage page(
      [] {
        return std::string(
            R"([{"name":"a<b>","state":"all 2 epochs are done","parameters":{"rate":"0.1"},)"
            R"("curves":[["loss","valid",[[1,1],[2,0.5]]]],"shown":[["__proto__","x",1,{}],["histogram","no",1,{}]]},)"
            R"({"name":"c","state":"runs, or was killed","parameters":{"rate":"0.2"},)"
            R"("curves":[["loss","valid",[[1,2],[3,0.25]]]],"shown":[["histogram","w",1,{"edges":[0,1],"counts":[3]}]]}])");
      },
      {});
  test::Browser browser(*program, page.address());
  ASSERT_TRUE(browser.becomes(text_of("state") + " === '2 runs'"));
  EXPECT_TRUE(browser.becomes("series.get('loss').size === 2"));
  EXPECT_TRUE(browser.becomes(
      "document.querySelector('figure[data-metric=loss]').textContent.includes('a<b> \u00b7 valid 0.5')"));
  EXPECT_TRUE(browser.becomes("document.querySelector('#parameters table').textContent.includes('rate0.10.2')"));
  EXPECT_TRUE(browser.becomes(text_of("said") + ".includes('a<b>: all 2 epochs are done')"));
  EXPECT_TRUE(browser.becomes(text_of("said") + ".includes('cannot show the histogram a<b> \u00b7 no: ')"));
  browser.evaluate("document.querySelector('#runs input').click(),1");
  EXPECT_TRUE(browser.becomes("series.get('loss').size === 1 && series.get('loss').has('c \u00b7 valid')"));
}

TEST(RunsPage, SaysWhatIsWrongWithTheRuns) {
  const auto program = test::Browser::program();
  if (!program) GTEST_SKIP() << "there is no Chromium here (Debian: chromium); KILN_CHROMIUM names one";
  const RunsPage page([]() -> std::string { fail<DataError>("no run is left"); }, {});
  test::Browser browser(*program, page.address());
  EXPECT_TRUE(browser.becomes(text_of("state") + ".startsWith('the runs cannot be shown: no run is left')"));
}

TEST_F(Page, SaysThatTheProgramHasGone) {
  auto web = std::make_unique<WebDashboard>();
  web->on(begin_);
  test::Browser browser(*program_, web->address());
  ASSERT_TRUE(browser.becomes(text_of("state") + ".startsWith('epoch 1/2')"));
  web.reset();
  EXPECT_TRUE(browser.becomes(text_of("state") + " === 'the program does not answer'"));
}

}  // namespace
}  // namespace kiln
