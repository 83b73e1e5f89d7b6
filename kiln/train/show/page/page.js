// Draws what /events sends while a training runs, or what /runs.json says of finished ones. All names and words become
// text, never markup.
"use strict";
const kColours = {train: "#dd3333", step: "#dd8833", valid: "#3366cc", system: "#339933"};
const kOthers = ["#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#e377c2", "#8c564b"];
const kMost = 4000;      // points of a curve
const kCells = 64 * 64;  // of a matrix that is a table
let series = new Map();      // metric -> name of a curve -> [[step, value], ...]
let plots = new Map();       // metric -> {figure, graph}
let dirty = true, all = [Infinity, -Infinity], view = null, grabbed = null, ended = false;
const el = id => document.getElementById(id);
const short = x => x === null || x === undefined ? "" : Number(x.toPrecision(5)).toString();
const make = (tag, text) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
};

function add(split, metric, step, value, run) {
  if (value === null) return;
  all = [Math.min(all[0], step), Math.max(all[1], step)];
  if (!series.has(metric)) series.set(metric, new Map());
  const curves = series.get(metric), name = run === undefined ? split : run + " · " + split;
  if (!curves.has(name)) curves.set(name, []);
  const points = curves.get(name);
  points.push([step, value]);
  if (points.length > kMost) curves.set(name, points.filter((_, i) => i % 2 === 0));
}

// An exponential average, without the bias of its beginning.
function smooth(points, factor) {
  if (!factor) return points;
  let mean = 0, weight = 0;
  return points.map(([x, y]) => {
    mean = factor * mean + (1 - factor) * y;
    weight = factor * weight + (1 - factor);
    return [x, mean / weight];
  });
}

function colourOf(name, index, several) {
  return !several && kColours[name] || kOthers[index % kOthers.length];
}

// One row for each step at which any curve has a value.
function table(curves, factor) {
  const rows = new Map();
  let column = 0;
  for (const points of curves.values()) {
    ++column;
    for (const [x, y] of smooth(points, factor)) {
      if (!rows.has(x)) rows.set(x, [x, ...Array(curves.size).fill(null)]);
      rows.get(x)[column] = y;
    }
  }
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

// All plots look at the same steps: the wheel zooms, dragging goes back and forward, a double click shows all again.
function look(from, to) {
  const most = all[1] - all[0], width = Math.max(to - from, 1);
  from = Math.min(Math.max(from, all[0]), all[1] - width);
  view = width >= most ? null : [from, from + width];
  dirty = true;
}
function watch(figure) {
  const area = figure.querySelector(".curve");
  const share = e => {
    const shown = plots.get(figure.dataset.metric), box = area.getBoundingClientRect();
    const inner = shown && shown.graph ? shown.graph.getArea() : {x: 0, w: box.width};
    return (e.clientX - box.left - inner.x) / inner.w;
  };
  area.addEventListener("wheel", e => {
    e.preventDefault();
    const [a, b] = figure.range, at = a + share(e) * (b - a), f = e.deltaY < 0 ? .8 : 1.25;
    look(at - (at - a) * f, at + (b - at) * f);
  }, {passive: false});
  area.addEventListener("pointerdown", e => { grabbed = {at: share(e), share, range: figure.range}; });
  area.addEventListener("dblclick", () => { view = null; dirty = true; });
}
addEventListener("pointermove", e => {
  if (!grabbed) return;
  const [a, b] = grabbed.range, moved = (grabbed.share(e) - grabbed.at) * (b - a);
  look(a - moved, b - moved);
});
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { grabbed = null; });

function figureOf(metric) {
  if (plots.has(metric)) return plots.get(metric);
  const figure = make("figure"), caption = make("figcaption"), png = make("button", "PNG");
  figure.dataset.metric = metric;
  const curve = make("div");
  curve.className = "curve";
  png.onclick = () => save(pngOf(metric), metric + ".png");
  figure.append(caption, curve);
  caption.append(make("b", metric), make("span"), png);
  el("plots").append(figure);
  plots.set(metric, {figure, graph: null});
  watch(figure);
  return plots.get(metric);
}

// The caption has each curve's name, and its value under the cursor, or else its last one.
function legend(metric, row) {
  const plot = plots.get(metric), curves = series.get(metric), words = plot.figure.querySelector("span");
  words.replaceChildren();
  if (row) words.append(make("span", "step " + short(row[0]) + " "));
  let index = 0;
  for (const [name, points] of curves) {
    const value = row ? row[index + 1] : points[points.length - 1][1];
    const said = make("span", " " + name + (value === null || value === undefined ? "" : " " + short(value)));
    said.style.color = colourOf(name, index++, several());
    words.append(said);
  }
}
const several = () => el("runs").children.length > 0;

function draw(metric, curves) {
  const plot = figureOf(metric), factor = Number(el("smoothing").value), log = el("log").checked;
  const rows = table(curves, factor);
  if (!rows.length) return;
  let range = view || [rows[0][0], rows[rows.length - 1][0]];
  if (range[1] === range[0]) range = [range[0], range[0] + 1];
  plot.figure.range = range;
  plot.rows = rows;
  if (typeof Dygraph === "undefined") return legend(metric);
  let index = 0;
  const positive = rows.some(r => r.slice(1).some(y => y > 0));
  const options = {
    file: rows, labels: ["step", ...[...curves.keys()].map((_, i) => "c" + i)],
    colors: [...curves.keys()].map(name => colourOf(name, index++, several())), dateWindow: range,
    logscale: log && positive,
  };
  if (plot.graph && plot.count === curves.size) {
    plot.graph.updateOptions(options);
  } else {
    if (plot.graph) plot.graph.destroy();
    plot.count = curves.size;
    delete options.file;
    const style = getComputedStyle(document.body), faint = style.getPropertyValue("--faint");
    plot.graph = new Dygraph(plot.figure.querySelector(".curve"), rows, {
      ...options, connectSeparatedPoints: true, legend: "never", interactionModel: {}, strokeWidth: 1.5,
      axisLineColor: faint, gridLineColor: faint, drawPoints: rows.length < 60, pointSize: 2, axisLabelFontSize: 11,
      axes: {y: {axisLabelWidth: 58, axisLabelFormatter: short}, x: {axisLabelFormatter: short}},
      highlightCallback: (_, x, points, row) => legend(metric, plot.rows[row]),
      unhighlightCallback: () => legend(metric),
    });
  }
  if (!plot.figure.matches(":hover")) legend(metric);
}

function csvOf() {
  const cell = word => /[",\n\r]/.test(word) ? '"' + word.replaceAll('"', '""') + '"' : word;
  let csv = "metric,curve,step,value\n";
  for (const [metric, curves] of series)
    for (const [name, points] of curves)
      for (const [x, y] of points) csv += [cell(metric), cell(name), x, y].join(",") + "\n";
  return csv;
}
// The curves as dygraphs drew them, with the names and the labels of the axes.
function pngOf(metric) {
  const plot = plots.get(metric), canvas = make("canvas"), scale = devicePixelRatio || 1;
  const area = plot.figure.querySelector(".curve"), box = area.getBoundingClientRect(), head = 24;
  canvas.width = box.width * scale;
  canvas.height = (box.height + head) * scale;
  const g = canvas.getContext("2d"), style = getComputedStyle(document.body);
  g.scale(scale, scale);
  g.fillStyle = style.backgroundColor;
  g.fillRect(0, 0, box.width, box.height + head);
  for (const drawn of area.querySelectorAll("canvas")) g.drawImage(drawn, 0, head, box.width, box.height);
  g.font = "11px sans-serif";
  g.textBaseline = "middle";
  g.fillStyle = style.color;
  for (const label of area.querySelectorAll(".dygraph-axis-label")) {
    const at = label.getBoundingClientRect(), right = label.classList.contains("dygraph-axis-label-y");
    g.textAlign = right ? "right" : "center";
    g.fillText(label.textContent, (right ? at.right : (at.left + at.right) / 2) - box.left,
               (at.top + at.bottom) / 2 - box.top + head);
  }
  g.textAlign = "left";
  g.fillText(metric, 4, 12);
  let x = 12 + g.measureText(metric).width, index = 0;
  for (const name of series.get(metric).keys()) {
    g.fillStyle = colourOf(name, index++, several());
    g.fillText(name, x, 12);
    x += g.measureText(name).width + 12;
  }
  return canvas.toDataURL("image/png");
}
function save(address, name) {
  const link = make("a");
  link.href = address;
  link.download = name.replace(/[^\w.-]/g, "_");
  link.click();
}

function rows(list) {
  const head = ["", "last", "least", "greatest"];
  el("rows").replaceChildren();
  for (const cells of [head, ...list.map(r => [r[0] + " " + r[1], r[6] === undefined ? short(r[2]) : r[6],
                                               r[5] ? short(r[3]) : "", r[5] ? short(r[4]) : ""])]) {
    const tr = el("rows").insertRow();
    for (const cell of cells) tr.insertCell().textContent = cell;
  }
}

// A figure of a section, by the name of what it shows.
function shownIn(section, name) {
  for (const figure of el(section).children) if (figure.dataset.name === name) return figure;
  const figure = make("figure");
  figure.dataset.name = name;
  figure.past = [];
  el(section).append(figure);
  return figure;
}
function bars(canvas, {edges, counts}) {
  const scale = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * scale;
  canvas.height = h * scale;
  const g = canvas.getContext("2d"), most = Math.max(...counts, 1), style = getComputedStyle(document.body);
  g.scale(scale, scale);
  g.fillStyle = kColours.valid;
  counts.forEach((count, i) => {
    const x = i / counts.length * w, high = count / most * (h - 16);
    g.fillRect(x, h - 14 - high, w / counts.length - 1, high);
  });
  g.fillStyle = style.color;
  g.font = "11px sans-serif";
  if (edges.length) g.fillText(short(edges[0]), 0, h - 2);
  g.textAlign = "right";
  if (edges.length) g.fillText(short(edges[edges.length - 1]), w, h - 2);
  g.fillText(String(most), w, 10);
}
// The newest histogram, and a slider through the earlier ones.
function histogram(name, step, content) {
  const figure = shownIn("histograms", name), past = figure.past;
  if (!past.length) {
    const slider = make("input"), canvas = make("canvas");
    canvas.className = "bars";
    slider.type = "range";
    slider.min = 0;
    slider.oninput = () => figure.show(Number(slider.value));
    figure.append(make("figcaption"), canvas, slider);
    figure.show = index => {
      figure.querySelector("figcaption").textContent = name + ", step " + past[index].step;
      bars(canvas, past[index].content);
    };
  }
  const slider = figure.querySelector("input"), newest = Number(slider.value) >= past.length - 1;
  past.push({step, content});
  if (past.length > 64) figure.past.splice(0, past.length, ...past.filter((_, i) => i % 2));
  slider.max = past.length - 1;
  if (newest) slider.value = past.length - 1;
  figure.show(Math.min(Number(slider.value), past.length - 1));
}
// The colours of a matrix, a pixel for each cell: a browser needs minutes for a table of a million cells.
function shades(rows, columns, cells) {
  const canvas = make("canvas");
  canvas.className = "shades";
  canvas.width = columns;
  canvas.height = rows;
  const g = canvas.getContext("2d"), image = g.createImageData(columns, rows);
  for (let row = 0; row < rows; ++row) {
    const own = cells.slice(row * columns, (row + 1) * columns), sum = own.reduce((a, b) => a + b, 0);
    own.forEach((count, column) => image.data.set([51, 102, 204, sum ? 204 * count / sum : 0], 4 * (row * columns + column)));
  }
  g.putImageData(image, 0, 0);
  return canvas;
}
function cellsOf(rows, columns, cells, names) {
  const grid = make("table");
  const head = grid.insertRow(), title = i => names[i] === undefined ? String(i) : names[i];
  head.append(make("th", "actual \\ predicted"));
  for (let column = 0; column < columns; ++column) head.append(make("th", title(column)));
  for (let row = 0; row < rows; ++row) {
    const tr = grid.insertRow(), own = cells.slice(row * columns, (row + 1) * columns);
    const sum = own.reduce((a, b) => a + b, 0);
    tr.append(make("th", title(row)));
    for (const count of own) {
      const cell = tr.insertCell();
      cell.textContent = short(count);
      cell.style.background = "rgba(51,102,204," + (sum ? count / sum * .8 : 0) + ")";
      cell.title = sum ? short(100 * count / sum) + " %" : "";
    }
  }
  return grid;
}
function matrix(name, step, {rows, columns, cells, names}) {
  const figure = shownIn("matrices", name), box = make("div");
  box.className = "matrix";
  box.append(rows * columns > kCells ? shades(rows, columns, cells) : cellsOf(rows, columns, cells, names));
  figure.replaceChildren(make("figcaption", name + ", step " + step), box);
}
function picture(name, step, {png}) {
  const figure = shownIn("pictures", name), image = make("img");
  image.src = "data:image/png;base64," + png;
  image.alt = name;
  figure.replaceChildren(make("figcaption", name + ", step " + step), image);
}
const kFigures = new Map(Object.entries({histogram, matrix, picture}));
// A figure that a damaged file of a run describes is left out, and the log says so.
function show([kind, name, step, content], run) {
  const shown = run === undefined ? name : run + " · " + name;
  try {
    kFigures.get(kind)?.(shown, step, content);
  } catch (error) {
    el("said").append("cannot show the " + kind + " " + shown + ": " + error.message + "\n");
  }
}

function parameters(configurations) {
  const keys = [...new Set(configurations.flatMap(([, config]) => Object.keys(config)))];
  el("parameters").hidden = !keys.length;
  const grid = el("parameters").querySelector("table");
  grid.replaceChildren();
  if (configurations.length > 1) {
    const head = grid.insertRow();
    head.append(make("th"));
    for (const [name] of configurations) head.append(make("th", name));
  }
  for (const key of keys) {
    const tr = grid.insertRow();
    tr.append(make("th", key));
    for (const [, config] of configurations) tr.insertCell().textContent = config[key] === undefined ? "" : config[key];
  }
}

function clear() {
  for (const {graph} of plots.values()) if (graph) graph.destroy();
  series = new Map();
  plots = new Map();
  all = [Infinity, -Infinity];
  for (const id of ["plots", "matrices", "histograms", "pictures", "said"]) el(id).replaceChildren();
}

function live() {
  const source = new EventSource("events");
  source.addEventListener("news", message => {
    const news = JSON.parse(message.data);
    if (news.all) {
      clear();
      parameters([["", news.parameters || {}]]);
    }
    for (const [split, metric, step, value] of [...news.points, ...news.system]) add(split, metric, step, value);
    news.shown.forEach(each => show(each));
    ended = !!news.ended;
    el("state").textContent =
        ended ? "done: " + news.ended : "epoch " + news.epoch + ", step " + news.step + (news.left ? ", " + news.left + " left" : "");
    el("bar").value = ended ? 1 : news.share || news.epochShare || 0;
    el("speed").textContent = news.speed ? short(news.speed) + " items/s" : "";
    el("machine").textContent = news.machine;
    rows(news.rows);
    for (const line of news.said) el("said").append(line + "\n");
    if (news.said.length) el("said").scrollTop = 1e9;
    el("stop").disabled = el("save").disabled = ended;
    dirty = true;
  });
  source.onerror = () => {
    if (ended) source.close();
    else el("state").textContent = "the program does not answer";
  };
  for (const what of ["stop", "save"]) el(what).onclick = () => fetch(what, {method: "POST"});
}

// Runs beside each other; the boxes say which.
function compare(runs) {
  document.querySelector("h1").textContent = document.title = "Runs";
  for (const id of ["bar", "save", "stop"]) el(id).hidden = true;
  const redraw = () => {
    clear();
    const chosen = runs.filter((_, i) => el("runs").children[i].querySelector("input").checked);
    for (const run of chosen) {
      for (const [metric, split, points] of run.curves)
        for (const [step, value] of points) add(split, metric, step, value, run.name);
      for (const each of run.shown) show(each, run.name);
      el("said").append(run.name + ": " + run.state + "\n");
    }
    parameters(chosen.map(run => [run.name, run.parameters]));
    dirty = true;
  };
  for (const run of runs) {
    const label = make("label"), box = make("input");
    box.type = "checkbox";
    box.checked = true;
    box.onchange = redraw;
    label.append(box, make("span", run.name));
    el("runs").append(label);
  }
  el("state").textContent = runs.length + (runs.length === 1 ? " run" : " runs");
  redraw();
}

el("missing").hidden = typeof Dygraph !== "undefined";
document.querySelector("footer").hidden = !el("missing").hidden;
el("smoothing").oninput = () => { el("smoothed").textContent = el("smoothing").value; dirty = true; };
el("log").onchange = () => { dirty = true; };
el("all").onclick = () => { view = null; dirty = true; };
el("csv").onclick = () => save(URL.createObjectURL(new Blob([csvOf()], {type: "text/csv"})), "curves.csv");
addEventListener("resize", () => { dirty = true; });
setInterval(() => {
  if (!dirty || document.hidden) return;
  dirty = false;
  for (const [metric, curves] of series) draw(metric, curves);
}, 200);
// A program that trains has no runs.json. One that compares runs says what is wrong with them, such as a file that cannot be
// read.
const fails = error => { el("state").textContent = "the runs cannot be shown: " + error.message; };
fetch("runs.json").then(answer => {
  if (answer.ok) return answer.json().then(compare).catch(fails);
  if (answer.status === 404) return live();
  return answer.text().then(text => fails({message: text}));
}, live);
