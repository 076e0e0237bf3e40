// The page: summary, tables, map and one finding. Runs in one scope with figures.js.

// Everything that came from the table is set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const { findings, cells, columns, texts, patterns, heat, wrong, record } = data;
const nFindings = data.n_ranked; // rows behind them are there for their wrong cells
const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const collator = new Intl.Collator(undefined, { numeric: true });

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "share") element.style.setProperty("--share", value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
// Text of the table beside other text: its writing direction must not turn its neighbours.
const told = (text, kind) => { const element = make("bdi", kind ? { class: kind } : {}); element.textContent = text; return element; };
const meter = (share, kind) => make("span", { class: kind ? `meter ${kind}` : "meter", share: Math.max(0, Math.min(1, share || 0)), "aria-hidden": "true" }, make("i"));

const short = (value) => value === null ? "–" : Math.abs(value) < 1000 ? value.toFixed(3) : value.toPrecision(4);
const percent = (share) => share === null ? "–" : share > 0 && share < 0.001 ? "<0.1 %" : `${Number((100 * share).toPrecision(share < 0.995 ? 2 : 3))} %`;
const probability = (p) => p === null ? "–" : p >= 0.001 ? String(Number(p.toPrecision(2))) : p.toExponential(0).replace("e-", "e−");
const plural = (n, one, many) => `${whole.format(n)} ${n === 1 ? one : many}`;
function oneIn(rarity) { // as findings are counted: for categories less than their surprise, which only ranks them
  const times = Math.pow(10, rarity);
  if (times < 10) return "not unusual";
  if (times >= data.n_fitted) return `less than 1 in ${whole.format(data.n_fitted)}`; // rows can tell no more
  const digits = Math.pow(10, Math.max(0, Math.floor(Math.log10(times)) - 1));
  return `1 in ${whole.format(Math.round(times / digits) * digits)}`;
}
const nameOf = (i) => data.key !== null ? findings.key[i] : findings.line.length ? `line ${findings.line[i]}` : `row ${findings.row[i]}`;
const cellsOf = (i) => { const list = []; for (let c = findings.start[i]; c < findings.start[i + 1]; c++) list.push(c); return list; };

// ---------------------------------------------------------------------------------------------------------- theme

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
try { chosen = localStorage.getItem("rfod-theme"); } catch { /* files may have no storage */ }
function setTheme() {
  const theme = chosen || (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
}
dark.addEventListener("change", setTheme);
byId("theme").addEventListener("click", () => {
  chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("rfod-theme", chosen); } catch { /* as above */ }
  setTheme();
});
setTheme();

// -------------------------------------------------------------------------------------------------------- summary

function drawSummary() {
  if (data.title) {
    byId("title").textContent = data.title;
    document.title = `${data.title} – outlier report`;
  }
  const tiles = [["Rows judged", data.n_rows], ["Columns", data.n_columns]];
  if (wrong !== null) tiles.push(["Wrong cells", wrong.n_wrong], ["Worth a check", wrong.n_check]);
  if (!data.is_own) tiles.push(["Findings", data.n_findings]);
  if (patterns.length) tiles.push(["Patterns", patterns.length]);
  byId("tiles").append(...tiles.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, whole.format(value)))));
  if (data.is_own) {
    byId("findings-title").textContent = byId("findings-link").textContent = "Most unusual rows";
    byId("findings-lead").textContent = "A ranking by score that claims nothing: unusual is not wrong. One line per row, told by its most surprising cell. Choose a row to see why.";
  }
  for (const sentence of data.words) byId("words").append(make("p", {}, told(sentence)));
  for (const sentence of data.cut) byId("cut").append(make("p", {}, told(sentence)));
  if (data.cut.length && data.n_findings > nFindings) byId("words").append(make("p", { class: "note" }, told(data.cut[0])));
  for (const [name, value] of data.method) byId("method-table").tBodies[0].append(make("tr", {}, make("td", {}, told(name)), make("td", {}, told(value))));
  if (data.left_out.length) {
    byId("left-out").append("Not modelled: ", told(data.left_out.map(([name, why]) => `${name} (${why})`).join(", ")), ".");
  }
}

// ---------------------------------------------------------------------------------------------------- wrong cells

const MOST_PATTERNS = 8;
const WRONG_LINES = 25;
const wrongState = { sort: null, down: true, pattern: null, query: "", least: 0.5, page: 0 };
let wrongShown = [];
const likely = (p) => p >= 0.995 ? "over 0.99" : p.toFixed(2);
const rightText = (k) => wrong.repair[k] === null ? "" : ` (right with probability ${likely(wrong.repair[k])})`;
const observedText = (k) => wrong.observed[k] === null ? "missing" : wrong.observed[k];
const wrongHeadings = [
  { name: data.key !== null ? data.key : findings.line.length ? "Line" : "Row", of: (k) => data.key !== null ? findings.key[wrong.finding[k]] : findings.row[wrong.finding[k]] },
  { name: "Column", of: (k) => wrong.column[k] },
  { name: "Observed", of: observedText },
  { name: "Suggested", of: (k) => wrong.suggested[k] },
  { name: "Probability", of: (k) => wrong.probability[k], number: true },
  { name: "Why", of: null },
];
function wrongLine(k) {
  const i = wrong.finding[k];
  const cell = (label, kind, ...children) => make("td", { "data-label": label, class: kind }, ...children);
  const open = make("button", { type: "button", class: "open", onclick: (event) => { event.stopPropagation(); openDetail(i); } }, told(nameOf(i)));
  return make("tr", { onclick: () => openDetail(i) },
    cell(wrongHeadings[0].name, "value", open),
    cell("Column", "value", told(wrong.column[k])),
    cell("Observed", "value observed", told(observedText(k))),
    cell("Suggested", "value suggested", wrong.suggested[k] === null ? "–" : make("span", { title: rightText(k).trim() }, told(wrong.suggested[k]))),
    cell("Probability", "number", make("span", { class: "surprise" }, meter(wrong.probability[k], wrong.probability[k] >= wrong.limit ? "hot" : null), likely(wrong.probability[k]))),
    cell("Why", "reason", told(wrong.because[k])));
}
function drawWrong() {
  const words = wrongState.query.toLowerCase().split(/\s+/).filter(Boolean);
  const all = wrongState.pattern === null ? wrong.column.map((_, k) => k) : wrong.patterns[wrongState.pattern].cells;
  wrongShown = all.filter((k) => {
    if (wrong.probability[k] < wrongState.least) return false;
    const text = [nameOf(wrong.finding[k]), wrong.column[k], observedText(k), wrong.suggested[k], wrong.because[k]].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (wrongState.sort !== null) {
    const { of } = wrongHeadings[wrongState.sort];
    wrongShown = [...wrongShown].sort((a, b) => compare(of(a), of(b), wrongState.down) || a - b);
  }
  const nPages = Math.max(1, Math.ceil(wrongShown.length / WRONG_LINES));
  wrongState.page = Math.max(0, Math.min(wrongState.page, nPages - 1));
  const lines = wrongShown.slice(wrongState.page * WRONG_LINES, (wrongState.page + 1) * WRONG_LINES).map(wrongLine);
  byId("wrong-table").tBodies[0].replaceChildren(...(lines.length ? lines : [make("tr", {}, make("td", { class: "empty", colspan: wrongHeadings.length }, "No cell is like this."))]));
  [...byId("wrong-table").tHead.rows[0].cells].forEach((head, number) => { if (head.hasAttribute("aria-sort")) head.setAttribute("aria-sort", wrongState.sort !== number ? "none" : wrongState.down ? "descending" : "ascending"); });
  byId("wrong-count").textContent = wrongShown.length === wrong.column.length ? plural(wrongShown.length, "cell", "cells") : `${whole.format(wrongShown.length)} of ${plural(wrong.column.length, "cell", "cells")}`;
  byId("wrong-page").textContent = `${whole.format(wrongState.page + 1)} / ${whole.format(nPages)}`;
  byId("wrong-back").disabled = wrongState.page === 0;
  byId("wrong-next").disabled = wrongState.page >= nPages - 1;
  const clear = byId("wrong-clear");
  clear.hidden = wrongState.pattern === null;
  if (wrongState.pattern !== null) clear.replaceChildren("✕ ", told(wrong.patterns[wrongState.pattern].sentence));
  [...byId("wrong-patterns").querySelectorAll("button")].forEach((button, number) => button.setAttribute("aria-pressed", String(wrongState.pattern === number)));
}
function changeWrong(change) {
  Object.assign(wrongState, { page: 0 }, change);
  drawWrong();
}
function startWrong() {
  const none = wrong === null || !wrong.column.length;
  byId("wrong").hidden = byId("wrong-link").hidden = none;
  if (none) return;
  wrongHeadings.forEach((heading, number) => {
    const inside = heading.of === null ? make("span", {}, heading.name) : make("button", { type: "button", onclick: () => changeWrong({ sort: number, down: wrongState.sort === number ? !wrongState.down : Boolean(heading.number) }) }, number === 0 && data.key !== null ? told(heading.name) : heading.name);
    byId("wrong-table").tHead.rows[0].append(make("th", { scope: "col", class: heading.number ? "number" : null, "aria-sort": heading.of === null ? null : "none" }, inside));
  });
  listPatterns(byId("wrong-patterns"), byId("wrong-pattern-count"), byId("wrong-pattern-more"), wrong.patterns.map((pattern) => ({ ...pattern, n: pattern.cells.length })), (number) => changeWrong({ pattern: wrongState.pattern === number ? null : number }));
  byId("wrong-search").addEventListener("input", (event) => changeWrong({ query: event.target.value }));
  byId("wrong-least").addEventListener("change", (event) => changeWrong({ least: Number(event.target.value) }));
  byId("wrong-clear").addEventListener("click", () => changeWrong({ pattern: null }));
  byId("wrong-back").addEventListener("click", () => changeWrong({ page: wrongState.page - 1 }));
  byId("wrong-next").addEventListener("click", () => changeWrong({ page: wrongState.page + 1 }));
  drawWrong();
}

// ------------------------------------------------------------------------------------------------------- patterns

function listPatterns(list, count, more, entries, choose) {
  const most = Math.max(1, ...entries.map((entry) => entry.n));
  entries.forEach((entry, number) => {
    const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => choose(number) },
      make("span", { class: "count" }, whole.format(entry.n)), make("span", {}, told(entry.sentence), make("small", {}, entry.n > 1 ? "for example: " : null, told(entry.example))), meter(entry.n / most));
    list.append(make("li", { hidden: number >= MOST_PATTERNS }, button));
  });
  const pager = more.parentElement.parentElement;
  pager.hidden = entries.length <= MOST_PATTERNS;
  count.textContent = `${MOST_PATTERNS} of ${plural(entries.length, "pattern", "patterns")}`;
  more.addEventListener("click", () => {
    for (const item of list.children) item.hidden = false;
    pager.hidden = true;
  });
}
function drawPatterns() {
  byId("patterns").hidden = byId("patterns-link").hidden = !patterns.length;
  listPatterns(byId("pattern-list"), byId("pattern-count"), byId("pattern-more"), patterns.map((pattern) => ({ ...pattern, n: pattern.n_findings })), (number) => choosePattern(state.pattern === number ? null : number));
}
function choosePattern(number) {
  state.pattern = number;
  changed();
  if (number !== null) byId("findings").scrollIntoView();
}

// ------------------------------------------------------------------------------------------------ table of findings

const state = { sort: null, down: true, column: -1, query: "", pattern: null, page: 0, size: 25 };
let shown = []; // numbers of findings in the order of the table
let haystacks = null;

const shownCell = (i) => {
  if (state.column < 0) return findings.start[i] < findings.start[i + 1] ? findings.start[i] : -1;
  return cellsOf(i).find((c) => cells.column[c] === state.column) ?? -1;
};
const valueKey = (position, text) => (c) => c < 0 ? null : position[c] ?? texts[text[c]];
const headings = [
  { name: data.key !== null ? data.key : findings.line.length ? "Line" : "Row", of: (i) => data.key !== null ? findings.key[i] : findings.row[i] },
  { name: "Column", of: (i, c) => c < 0 ? null : columns[cells.column[c]].name },
  { name: "Observed", of: (i, c) => valueKey(cells.at, cells.observed)(c) },
  { name: "Expected", of: (i, c) => valueKey(cells.centre, cells.expected)(c) },
  { name: "Surprise", of: (i, c) => c < 0 ? null : cells.surprise[c], number: true },
  { name: "Row score", of: (i) => findings.score[i], number: true },
  ...(data.is_own ? [] : [{ name: "p-value", of: (i) => findings.p[i], number: true }]),
];

function drawHeadings() {
  const row = make("tr");
  headings.forEach((heading, number) => {
    const name = number === 0 && data.key !== null ? told(heading.name) : heading.name;
    const button = make("button", { type: "button", onclick: () => {
      state.down = state.sort === number ? !state.down : Boolean(heading.number) && number !== 6;
      state.sort = number;
      changed();
    } }, name);
    row.append(make("th", { scope: "col", class: heading.number ? "number" : null, "aria-sort": "none" }, button));
  });
  byId("finding-table").tHead.append(row);
}

function compare(a, b, down) {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // what is missing comes last
  if (typeof a === "number" && typeof b === "number") return down ? b - a : a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return down ? collator.compare(b, a) : collator.compare(a, b);
}

function haystack(i) {
  const parts = [nameOf(i)];
  for (const c of cellsOf(i)) parts.push(columns[cells.column[c]].name, texts[cells.observed[c]], texts[cells.expected[c]]);
  return parts.join("\n").toLowerCase();
}

function select() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length && haystacks === null) haystacks = Array.from({ length: nFindings }, (_, i) => haystack(i));
  const candidates = state.pattern === null ? Array.from({ length: nFindings }, (_, i) => i) : patterns[state.pattern].findings;
  shown = candidates.filter((i) => (state.column < 0 || shownCell(i) >= 0) && words.every((word) => haystacks[i].includes(word)));
  if (state.sort !== null) {
    const of = headings[state.sort].of;
    const keys = new Map(shown.map((i) => [i, of(i, shownCell(i)) ?? null]));
    shown.sort((a, b) => compare(keys.get(a), keys.get(b), state.down) || a - b);
  }
}

const range = (c) => cells.low[c] === cells.high[c] ? texts[cells.low[c]] : `${texts[cells.low[c]]} to ${texts[cells.high[c]]}`;
function expectedText(c) {
  const parts = [told(texts[cells.expected[c]])];
  if (cells.low[c] !== null && (cells.low[c] !== cells.high[c] || cells.low[c] !== cells.expected[c])) parts.push(make("small", {}, told(range(c))));
  return parts;
}

function line(i) {
  const c = shownCell(i);
  const rest = cellsOf(i).length - 1;
  const cell = (label, kind, ...children) => make("td", { "data-label": label, class: kind }, ...children);
  const open = make("button", { type: "button", class: "open", onclick: (event) => { event.stopPropagation(); openDetail(i); } }, told(nameOf(i)));
  const row = make("tr", { onclick: () => openDetail(i) }, cell(headings[0].name, "value", open));
  if (c < 0) row.append(cell("Column", "value", "–"), cell("Observed", "value", "–"), cell("Expected", "value", "–"), cell("Surprise", "number", "–"));
  else {
    row.append(
      cell("Column", "value", told(columns[cells.column[c]].name), rest > 0 ? make("small", {}, `and ${plural(rest, "more cell", "more cells")}`) : null),
      cell("Observed", "value observed", told(texts[cells.observed[c]])),
      cell("Expected", "value", make("span", {}, ...expectedText(c))),
      cell("Surprise", "number", make("span", { class: "surprise", title: oneIn(cells.rarity[c]) }, meter(cells.surprise[c] / 6, "hot"), cells.surprise[c] === null ? "–" : cells.surprise[c].toFixed(1))),
    );
  }
  row.append(cell("Row score", "number", short(findings.score[i])));
  if (!data.is_own) row.append(cell("p-value", "number", probability(findings.p[i])));
  return row;
}

function drawFindings(size = state.size) {
  const nPages = Math.max(1, Math.ceil(shown.length / size));
  state.page = Math.min(state.page, nPages - 1);
  const body = byId("finding-table").tBodies[0];
  const lines = shown.slice(state.page * size, (state.page + 1) * size).map(line);
  body.replaceChildren(...(lines.length ? lines : [make("tr", {}, make("td", { class: "empty", colspan: headings.length }, "No finding is like this."))]));
  [...byId("finding-table").tHead.rows[0].cells].forEach((head, number) => head.setAttribute("aria-sort", state.sort !== number ? "none" : state.down ? "descending" : "ascending"));
  byId("count").textContent = shown.length === nFindings ? plural(nFindings, "row", "rows") : `${whole.format(shown.length)} of ${plural(nFindings, "row", "rows")}`;
  byId("page").textContent = `${whole.format(state.page + 1)} / ${whole.format(nPages)}`;
  byId("first").disabled = byId("back").disabled = state.page === 0;
  byId("next").disabled = byId("last").disabled = state.page >= nPages - 1;
  const clear = byId("clear");
  clear.hidden = state.pattern === null;
  if (state.pattern !== null) clear.replaceChildren("✕ ", told(patterns[state.pattern].sentence));
  [...byId("pattern-list").querySelectorAll("button")].forEach((button, number) => button.setAttribute("aria-pressed", String(state.pattern === number)));
}
function changed() {
  state.page = 0;
  select();
  drawFindings();
}
function turn(page) {
  state.page = Math.max(0, page);
  drawFindings();
}

function listenToFindings() {
  const counts = columns.map((column, j) => [j, column.n_cells]).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const choice = (value, text) => { const option = make("option", { value }); option.textContent = text; return option; };
  byId("column").append(choice("-1", "all"), ...counts.map(([j, n]) => choice(String(j), `${columns[j].name} (${whole.format(n)})`)));
  byId("column").addEventListener("change", (event) => { state.column = Number(event.target.value); changed(); });
  byId("size").addEventListener("change", (event) => { state.size = Number(event.target.value); changed(); });
  let waiting = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { state.query = event.target.value; changed(); }, 120);
  });
  byId("clear").addEventListener("click", () => choosePattern(null));
  byId("first").addEventListener("click", () => turn(0));
  byId("back").addEventListener("click", () => turn(state.page - 1));
  byId("next").addEventListener("click", () => turn(state.page + 1));
  byId("last").addEventListener("click", () => turn(Infinity));
  for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("beforeprint", () => { state.page = 0; drawFindings(Math.max(100, state.size)); });
  window.addEventListener("afterprint", () => drawFindings());
}

// ------------------------------------------------------------------------------------------------------------ map

// Long names often differ at their end.
const middle = (text, most) => text.length <= most ? text : `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}`;
const heatShare = (surprise) => Math.max(0, Math.min(1, (surprise - 1) / 4));
function drawHeat() {
  byId("map").hidden = heat.n_rows === 0;
  document.querySelectorAll(".scale i").forEach((step, number) => step.style.setProperty("--share", String(number / 4)));
  const head = make("tr", {}, make("th", {}));
  for (const j of heat.columns) {
    const label = make("span", { title: columns[j].name });
    label.textContent = middle(columns[j].name, 26);
    head.append(make("th", { scope: "col" }, label));
  }
  byId("heat").tHead.append(head);
  const rows = document.createDocumentFragment();
  heat.values.forEach((values, i) => {
    const open = make("button", { type: "button", title: nameOf(i), onclick: () => openDetail(i) }, told(nameOf(i)));
    const row = make("tr", {}, make("th", { scope: "row" }, open));
    values.forEach((value, k) => {
      row.append(make("td", { share: heatShare(value), title: `${nameOf(i)}, ${columns[heat.columns[k]].name}: surprise ${(value ?? 0).toFixed(1)}`, onclick: () => openDetail(i) }));
    });
    rows.append(row);
  });
  byId("heat").tBodies[0].append(rows);
}

// -------------------------------------------------------------------------------------------------------- columns

const verdicts = { predictable: "predictable", partly: "partly", blind: "blind", constant: "constant" };
const columnState = { sort: null, down: true, query: "", all: false };
const MOST_COLUMNS = 40;
const checked = columns.some((column) => column.self_check !== null);
const columnHeadings = [
  { name: "Column", of: (column) => column.name },
  { name: "Kind", of: (column) => column.kind },
  { name: "Missing", of: (column) => column.missing, number: true },
  { name: "Values", of: (column) => column.n_distinct, number: true },
  { name: "Told by others", of: (column) => column.fitness, number: true },
  { name: "Mostly from", of: null },
  ...(wrong !== null ? [{ name: "Wrong cells", of: (column) => column.n_suspects, number: true }] : []),
  ...(checked ? [{ name: "Planted errors found", of: (column) => column.self_check, number: true }] : []),
  ...(data.is_own ? [] : [{ name: "Findings", of: (column) => column.n_cells, number: true }]),
];
function drawColumnHeadings() {
  const row = make("tr");
  columnHeadings.forEach((heading, number) => {
    const inside = heading.of === null ? make("span", {}, heading.name) : make("button", { type: "button", onclick: () => {
      columnState.down = columnState.sort === number ? !columnState.down : Boolean(heading.number);
      columnState.sort = number;
      drawColumns();
    } }, heading.name);
    row.append(make("th", { scope: "col", class: heading.number ? "number" : null, "aria-sort": heading.of === null ? null : "none" }, inside));
  });
  byId("column-table").tHead.append(row);
}
function columnLine(column) {
  const cell = (label, kind, ...children) => make("td", { "data-label": label, class: kind }, ...children);
  const predictors = make("div", { class: "predictors" });
  for (const [j, share] of column.predictors.slice(0, 3)) predictors.append(meter(share), make("span", { class: "number" }, share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`), told(columns[j].name));
  return make("tr", {},
    cell("Column", "value", told(column.name), column.hidden ? make("small", {}, "values hidden") : null),
    cell("Kind", null, column.kind),
    cell("Missing", "number", column.missing ? percent(column.missing) : "none"),
    cell("Values", "number", whole.format(column.n_distinct)),
    cell("Told by others", "number", make("span", {}, make("span", { class: `verdict ${column.verdict}` }, verdicts[column.verdict]), column.fitness === null ? null : make("small", {}, `${column.measure} ${column.fitness.toFixed(2)}`))),
    cell("Mostly from", null, predictors.childElementCount ? predictors : "–"),
    ...(wrong !== null ? [cell("Wrong cells", "number", column.n_suspects === null ? "–" : whole.format(column.n_suspects))] : []),
    ...(checked ? [cell("Planted errors found", "number", percent(column.self_check))] : []),
    ...(data.is_own ? [] : [cell("Findings", "number", whole.format(column.n_cells))]));
}
function drawColumns() {
  const query = columnState.query.toLowerCase();
  let list = columns.filter((column) => column.name.toLowerCase().includes(query));
  if (columnState.sort !== null) {
    const { of } = columnHeadings[columnState.sort];
    const sign = columnState.down ? -1 : 1;
    list = [...list].sort((a, b) => {
      const [x, y] = [of(a), of(b)];
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
      return sign * (typeof x === "number" ? x - y : collator.compare(x, y));
    });
  }
  const most = columnState.all ? list.length : MOST_COLUMNS;
  byId("column-table").tBodies[0].replaceChildren(...list.slice(0, most).map(columnLine));
  [...byId("column-table").tHead.rows[0].cells].forEach((head, number) => {
    if (head.hasAttribute("aria-sort")) head.setAttribute("aria-sort", columnState.sort !== number ? "none" : columnState.down ? "descending" : "ascending");
  });
  byId("column-count").textContent = list.length > most ? `${most} of ${plural(list.length, "column", "columns")}` : plural(list.length, "column", "columns");
  byId("column-more").hidden = list.length <= most;
}
function listenToColumns() {
  byId("column-search").addEventListener("input", (event) => { columnState.query = event.target.value; drawColumns(); });
  byId("column-more").addEventListener("click", () => { columnState.all = true; drawColumns(); });
}

// -------------------------------------------------------------------------------------------------- one finding

const detail = byId("detail");
let opened = -1;
const drawer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    drawer.unobserve(entry.target);
    drawFigure(entry.target);
  }
}, { root: detail, rootMargin: "200px" });

function facts(c) {
  const line = make("p", {}, "observed ", told(texts[cells.observed[c]], "observed-word"), ", expected ", told(texts[cells.expected[c]], "expected-word"));
  if (cells.low[c] !== null) line.append(", nine times in ten ", told(range(c)));
  if (cells.suggestion[c] !== null) line.append("; meant is perhaps ", told(texts[cells.suggestion[c]], "expected-word"));
  return line;
}
function article(c, mended) {
  const column = columns[cells.column[c]];
  const surprise = cells.surprise[c];
  const head = make("header", {}, make("h3", {}, told(column.name)), make("span", {}, surprise === null ? "" : `surprise ${surprise.toFixed(1)}: ${oneIn(cells.rarity[c])}`));
  const sentence = cells.sentence[c] !== null ? make("p", {}, told(cells.sentence[c])) : column.hidden ? make("p", {}, "The values of this column are hidden.") : facts(c);
  const figure = make("figure", { "data-cell": c });
  const parts = [head, sentence];
  if (mended && !cells.blamed[c]) parts.push(make("p", { class: "note" }, "Ordinary once the cells to blame are replaced."));
  if (column.values) { parts.push(figure); drawer.observe(figure); }
  return make("article", {}, ...parts);
}
function wrongNote(k) {
  const sure = wrong.probability[k] >= wrong.limit ? "Wrong" : "Worth a check";
  const note = make("p", { class: "wrong-note" }, make("strong", {}, `${sure} (probability ${likely(wrong.probability[k])}): `), told(wrong.column[k]), " is ", told(observedText(k), "observed-word"));
  if (wrong.suggested[k] !== null) note.append(", suggested ", told(wrong.suggested[k], "suggested-word"), rightText(k));
  note.append(make("br"), told(wrong.because[k]));
  return note;
}
// All columns of the row; cells that are wrong, or surprising, are marked.
function recordOf(i) {
  if (record.values[i] === undefined) return [];
  const marked = new Set(cellsOf(i).filter((c) => cells.blamed[c]).map((c) => columns[cells.column[c]].name));
  if (wrong !== null) wrong.finding.forEach((place, k) => { if (place === i) marked.add(wrong.column[k]); });
  const lines = record.columns.map((name, j) => {
    const value = record.values[i][j];
    return make("tr", {}, make("td", {}, told(name)), make("td", { class: marked.has(name) ? "observed" : null }, value === null ? "missing" : told(texts[value])));
  });
  return [make("h3", { class: "record-title" }, "The whole record"), make("table", { class: "plain record" }, make("tbody", {}, ...lines))];
}
function openDetail(i) {
  opened = i;
  byId("detail-title").replaceChildren(told(nameOf(i)));
  const place = shown.indexOf(i);
  byId("detail-back").disabled = place <= 0;
  byId("detail-next").disabled = place < 0 || place >= shown.length - 1;
  const list = cellsOf(i);
  byId("detail-body").replaceChildren(
    make("p", { class: "facts" }, `Row score ${short(findings.score[i])}, ${data.is_own ? "" : `p-value ${probability(findings.p[i])}, `}${data.key !== null || i >= nFindings ? `row ${findings.row[i]}` : `rank ${whole.format(i + 1)} of ${whole.format(nFindings)}`}`),
    ...(wrong === null ? [] : wrong.finding.flatMap((place, k) => place === i ? [wrongNote(k)] : [])),
    ...(findings.remedy[i] ? [make("p", { class: "remedy" }, told(findings.remedy[i]))] : []),
    ...list.map((c) => article(c, findings.mended[i] === 1)),
    ...recordOf(i));
  byId("detail-link").href = addressOf(i);
  setAddress(addressOf(i));
  if (!detail.open) detail.showModal();
  detail.scrollTop = 0;
  byId("detail-title").focus();
}
function step(by) {
  const place = shown.indexOf(opened);
  if (place >= 0 && shown[place + by] !== undefined) openDetail(shown[place + by]);
}
function listenToDetail() {
  byId("detail-close").addEventListener("click", () => detail.close());
  detail.addEventListener("close", () => setAddress(location.pathname + location.search));
  byId("detail-back").addEventListener("click", () => step(-1));
  byId("detail-next").addEventListener("click", () => step(1));
  detail.addEventListener("click", (event) => { if (event.target === detail) detail.close(); });
  detail.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") step(1);
    if (event.key === "ArrowLeft") step(-1);
  });
}

// ------------------------------------------------------------------------------------- links, and copies as CSV

// A finding has the address #row-17, by the number of its row.
const addressOf = (i) => `#row-${findings.row[i]}`;
function openAddress() {
  const i = /^#row-\d+$/.test(location.hash) ? findings.row.findIndex((row) => `#row-${row}` === location.hash) : -1;
  if (i >= 0 && !(detail.open && opened === i)) openDetail(i);
}
function setAddress(address) {
  try { history.replaceState(null, "", address); } catch { /* a page without a history has no address to change */ }
}
// A spreadsheet would run text that begins like a formula.
const field = (value) => {
  if (value === null || value === undefined) return "";
  const text = typeof value === "number" ? String(value) : String(value).replace(/^(?=[=+\-@\t\r])/, "'");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvOf = (lines) => lines.map((line) => line.map(field).join(",") + "\r\n").join("");
function placeHeads() {
  return [...(data.key !== null ? [data.key] : []), ...(findings.line.length ? ["line"] : []), "row"];
}
const placeOf = (i) => [...(data.key !== null ? [findings.key[i]] : []), ...(findings.line.length ? [findings.line[i]] : []), findings.row[i]];
function wrongCsv() {
  const head = [...placeHeads(), "column", "observed", "suggested", "probability", "reason"];
  return csvOf([head, ...wrongShown.map((k) => [...placeOf(wrong.finding[k]), wrong.column[k], wrong.observed[k], wrong.suggested[k], wrong.probability[k], wrong.because[k]])]);
}
function findingsCsv() {
  const head = [...placeHeads(), "row score", ...(data.is_own ? [] : ["p-value"]), "column", "observed", "expected", "surprise"];
  return csvOf([head, ...shown.map((i) => {
    const c = shownCell(i);
    const cell = c < 0 ? ["", "", "", ""] : [columns[cells.column[c]].name, texts[cells.observed[c]], texts[cells.expected[c]], cells.surprise[c]];
    return [...placeOf(i), findings.score[i], ...(data.is_own ? [] : [findings.p[i]]), ...cell];
  })]);
}
// By the event rather than the clipboard's interface, which asks for a permission and is not there in every file.
function copy(button, csv) {
  const put = (event) => {
    event.clipboardData.setData("text/plain", csv);
    event.clipboardData.setData("text/csv", csv);
    event.preventDefault();
  };
  document.addEventListener("copy", put);
  const done = document.execCommand("copy");
  document.removeEventListener("copy", put);
  button.textContent = done ? "Copied" : "Not copied";
  setTimeout(() => { button.textContent = "Copy as CSV"; }, 2000);
}
function startCopies() {
  byId("copy").addEventListener("click", (event) => copy(event.currentTarget, findingsCsv()));
  byId("wrong-copy").addEventListener("click", (event) => copy(event.currentTarget, wrongCsv()));
}

drawSummary();
startWrong();
drawPatterns();
drawHeadings();
listenToFindings();
changed();
drawHeat();
drawColumnHeadings();
listenToColumns();
drawColumns();
listenToDetail();
startCopies();
window.addEventListener("hashchange", openAddress);
openAddress();
