// The figures of one cell: values of its column in training, what was expected, what stands there.

function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
const cut = (text, width) => { const most = Math.max(4, Math.floor(width / 7)); return text.length <= most ? text : text.slice(0, most - 1) + "…"; };

function drawFigure(figure) {
  const c = Number(figure.dataset.cell);
  const { values } = columns[cells.column[c]];
  const width = Math.max(260, Math.round(figure.clientWidth));
  const parts = values.names ? drawCategories(c, values, width) : drawNumbers(c, values, width);
  figure.replaceChildren(...parts);
}

function drawNumbers(c, values, width) {
  const [left, right, top, height] = [6, 6, 40, 84];
  const bottom = top + height;
  const at = cells.at[c], centre = cells.centre[c];
  const from = cells.from[c], to = cells.to[c];
  let [low, high] = [values.low, values.high];
  const span = high - low;
  for (const value of [at, centre, from, to]) {
    if (value === null) continue;
    low = Math.min(low, Math.max(value, values.low - span / 2));
    high = Math.max(high, Math.min(value, values.high + span / 2));
  }
  const x = (value) => left + (width - left - right) * Math.max(0, Math.min(1, (value - low) / (high - low)));
  const svg = draw("svg", { viewBox: `0 0 ${width} ${bottom + 22}`, role: "img", "aria-label": `Distribution of ${columns[cells.column[c]].name} in training; expected ${texts[cells.expected[c]]}, observed ${texts[cells.observed[c]]}` });
  const most = Math.max(1, ...values.counts);
  const step = span / values.counts.length;
  if (from !== null) svg.append(draw("rect", { class: "band", x: x(from) - 1, y: top, width: x(to) - x(from) + 2, height }));
  values.counts.forEach((count, k) => {
    if (!count) return;
    const begin = x(values.low + k * step), end = x(values.low + (k + 1) * step), tall = Math.max(1, (height - 4) * count / most);
    svg.append(draw("rect", { class: "bars", x: begin + 0.5, y: bottom - tall, width: Math.max(1, end - begin - 1), height: tall }));
  });
  svg.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: bottom, y2: bottom }));
  let free = -Infinity;
  for (const [tick, text] of values.ticks) {
    const middle = x(tick), half = text.length * 3.6;
    const anchor = middle - half < 0 ? "start" : middle + half > width ? "end" : "middle";
    const begin = anchor === "start" ? middle : anchor === "end" ? middle - 2 * half : middle - half;
    svg.append(draw("line", { class: "axis", x1: middle, x2: middle, y1: bottom, y2: bottom + 4 }));
    if (begin < free) continue;
    free = begin + 2 * half + 10;
    svg.append(draw("text", { x: middle, y: bottom + 17, "text-anchor": anchor }, text));
  }
  const mark = (value, text, kind, y) => {
    const where = x(value), beyond = value > high ? " →" : value < low ? "← " : "";
    const label = cut(text, width * 0.6);
    const whole = value < low ? beyond + label : label + beyond;
    const half = whole.length * 3.6;
    const anchor = where - half < 0 ? "start" : where + half > width ? "end" : "middle";
    svg.append(draw("line", { class: kind, x1: where, x2: where, y1: y + 4, y2: bottom }));
    svg.append(draw("text", { class: `${kind}-text`, x: where, y, "text-anchor": anchor }, whole));
  };
  if (centre !== null) mark(centre, `expected ${texts[cells.expected[c]]}`, "expected", 30);
  if (at !== null) mark(at, texts[cells.observed[c]], "observed", 13);
  const notes = ["Bars: values in training."];
  if (from !== null) notes.push("Shaded: where nine of ten are expected.");
  if (values.beyond) notes.push(`${plural(values.beyond, "value lies", "values lie")} beyond the bars.`);
  return [svg, make("figcaption", {}, notes.join(" "))];
}

function drawCategories(c, values, width) {
  const observed = texts[cells.observed[c]], expected = texts[cells.expected[c]];
  const likely = new Map((cells.likely[c] || []).map(([text, share]) => [texts[text], share]));
  const rows = values.names.map((name, k) => ({ name, share: values.counts[k] / values.total }));
  for (const name of [...likely.keys()].reverse()) {
    if (!values.names.includes(name)) rows.unshift({ name, share: 0 });
  }
  if (!rows.some((row) => row.name === observed) && cells.kind[c] !== "missing") rows.unshift({ name: observed, share: null });
  if (values.n_others) rows.push({ name: plural(values.n_others, "other", "others"), share: values.others / values.total, others: true });
  const longest = Math.max(...rows.map((row) => row.name.length));
  const labels = Math.min(190, width * 0.4, 7.4 * longest + 6), gap = 22, left = labels + 8, room = width - left - (likely.size ? 138 : 60);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${rows.length * gap + 4}`, role: "img", "aria-label": `Categories in training; expected ${expected}, observed ${observed}` });
  const most = Math.max(0.01, ...rows.map((row) => row.share || 0), ...likely.values());
  rows.forEach(({ name, share, others }, k) => {
    const y = k * gap + 3, isObserved = !others && name === observed;
    const chance = others ? undefined : likely.get(name) ?? (name === expected && !likely.size ? share : undefined);
    const kind = isObserved ? "observed-text" : name === expected && !others ? "expected-text" : "";
    svg.append(draw("text", { class: kind, x: labels, y: y + 12, "text-anchor": "end" }, cut(name, labels)));
    const long = Math.max(share ? 2 : 0, room * (share || 0) / most);
    svg.append(draw("rect", { class: isObserved ? "observed-bar" : "bars", x: left, y: y + 2, width: long, height: 12, rx: 2 }));
    let end = long;
    if (chance !== undefined) {
      const wide = Math.max(3, room * chance / most);
      svg.append(draw("rect", { class: "expected", x: left, y, width: wide, height: 16, rx: 2 }));
      end = Math.max(end, wide);
    }
    const often = share === null ? "never seen" : percent(share);
    svg.append(draw("text", { class: kind, x: left + end + 6, y: y + 12 }, chance === undefined || !likely.size ? often : `${often}, here ${percent(chance)}`));
  });
  return [svg, make("figcaption", {}, likely.size ? "Bars: how often in training. Dashed: how likely in this row." : "Bars: how often in training. Dashed: expected.")];
}
