// Curves: what they are made of, how they are drawn and looked at, and their files. The page's scripts are one, in the order of
// embed.cmake. All names and words become text, never markup.
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
