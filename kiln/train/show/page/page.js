// The page shows what /events sends while a training runs, or what /runs.json says of finished ones.

function rows(list) {
  const head = ["", "last", "least", "greatest"];
  el("rows").replaceChildren();
  for (const cells of [head, ...list.map(r => [r[0] + " " + r[1], r[6] === undefined ? short(r[2]) : r[6],
                                               r[5] ? short(r[3]) : "", r[5] ? short(r[4]) : ""])]) {
    const tr = el("rows").insertRow();
    for (const cell of cells) tr.insertCell().textContent = cell;
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
