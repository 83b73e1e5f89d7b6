// Histograms, matrices and pictures.
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
