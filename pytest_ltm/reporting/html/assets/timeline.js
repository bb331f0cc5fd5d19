// The conversation as a time line: a lane for each example, x = tokens (or exchanges).
const SVG = "http://www.w3.org/2000/svg";
const ROW = 22, HEAD = 30, FOOT = 26, EDGE = 14;
const line = { key: null, data: null, zoom: 1, paper: 0, held: null, marks: new Map() };

function drawn(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function titled(text) {
  const title = drawn("title", {});
  title.textContent = text;
  return title;
}

async function showConversation(key) {
  line.key = Number(key);
  line.data = await unpacked("c" + key);
  line.needles = line.between = null;
  line.held = null;
  line.zoom = 1;
  byId("talk").value = String(key);
  byId("reading").replaceChildren();
  drawLine();
}

function drawLine() {
  byId("lanes").replaceChildren();
  byId("scene").replaceChildren();
  line.marks = new Map();
  if (!line.data) {
    byId("scene").append(make("p", { class: "note" }, "The run folder has no readable journal of this conversation."));
    return;
  }
  const room = line.paper || Math.max(byId("scene").clientWidth || 900, 260);
  const width = Math.round(room * line.zoom);
  const height = HEAD + (line.data.lanes.length + 1) * ROW + FOOT;
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Time line" });
  const x = scale(width);
  drawAxis(svg, x, width, height);
  drawLanes(svg, x);
  drawLinks(svg, x);
  const marks = line.data.marks.map((mark, place) => drawMark(mark, place, x));
  svg.append(...marks.filter((mark) => !mark.classList.contains("question")), ...marks.filter((mark) => mark.classList.contains("question")));
  svg.addEventListener("click", (event) => { const mark = event.target.closest(".mark"); if (mark) hold(Number(mark.dataset.n)); });
  svg.addEventListener("keydown", moved);
  byId("scene").append(svg);
  const first = line.marks.get(line.held) || line.marks.values().next().value;
  if (first) first.setAttribute("tabindex", "0");
  if (line.held !== null) highlight();
}

function scale(width) {
  const marks = line.data.marks;
  const room = width - 2 * EDGE;
  if (byId("across").value === "tokens") return (position) => EDGE + (position / Math.max(line.data.tokens, 1)) * room;
  const starts = marks.map((mark) => mark[3]);
  return (position, place) => {
    const at = place !== undefined ? place : starts.findIndex((start) => start >= position);
    return EDGE + ((at < 0 ? marks.length : at) / Math.max(marks.length, 1)) * room;
  };
}

function rowY(lane) {
  return HEAD + (lane + 1) * ROW + ROW / 2;
}

function tickEvery(total, count) {
  const raw = Math.max(total / count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= raw);
}

function short(tokens) {
  return tokens >= 1e6 ? `${+(tokens / 1e6).toFixed(2)}M` : tokens >= 1e3 ? `${+(tokens / 1e3).toFixed(1)}k` : String(tokens);
}

function drawAxis(svg, x, width, height) {
  const each = tickEvery(line.data.tokens, width / 90);
  for (let tokens = 0; tokens <= line.data.tokens; tokens += each) {
    const at = x(tokens).toFixed(1);
    svg.append(drawn("path", { class: "tick", d: `M${at} ${HEAD - 8}V${height}` }));
    const text = drawn("text", { x: at, y: HEAD - 14, "text-anchor": tokens ? "middle" : "start" });
    text.textContent = tokens ? short(tokens) : "0 tokens";
    svg.append(text);
  }
  drawJumps(svg, x, height);
}

// Every jump is a line; its length in time stands below it where there is room.
function drawJumps(svg, x, height) {
  let free = 0;
  for (const [position, time, to] of line.data.jumps) {
    const at = x(position);
    svg.append(drawn("path", { class: "jump", d: `M${at.toFixed(1)} ${HEAD - 8}V${height - FOOT + 4}` }, titled(`time jump ${time}, to ${to}`)));
    const half = time.length * 3.2;
    if (at - half < free) continue;
    const text = drawn("text", { class: "time", x: at.toFixed(1), y: height - 8, "text-anchor": "middle" }, titled(`to ${to}`));
    text.prepend(time);
    svg.append(text);
    free = at + half + 8;
  }
}

function laneLabel(text, shade, title) {
  const name = make("span", {}, text);
  return make("div", { title }, make("i", { class: shade }), name);
}

function drawLanes(svg, x) {
  byId("lanes").append(laneLabel(between(), "hx", `${between()} and opening message`));
  line.data.lanes.forEach((lane, row) => {
    const score = lane.score === null ? "no score" : lane.score.toFixed(2);
    byId("lanes").append(laneLabel(lane.name, lane.shade, `${lane.name}: ${score}`));
    if (lane.from === null) return;
    const end = lane.to === null ? line.data.tokens : lane.to;
    svg.append(drawn("path", { class: "lane", d: `M${x(lane.from).toFixed(1)} ${rowY(row)}H${x(end).toFixed(1)}` }));
  });
}

function drawLinks(svg, x) {
  const places = new Map(line.data.marks.map((mark, place) => [mark[0], place]));
  for (const [needle, question] of line.data.links) {
    const from = line.data.marks[places.get(needle)], to = line.data.marks[places.get(question)];
    if (!from || !to) continue;
    const left = x(from[3], places.get(needle)), right = x(to[3], places.get(question)), y = rowY(to[1]);
    const rise = Math.min(9, 2 + (right - left) / 20);
    const path = `M${left.toFixed(1)} ${rowY(from[1])}C${left.toFixed(1)} ${y - rise * 1.3} ${right.toFixed(1)} ${y - rise * 1.3} ${right.toFixed(1)} ${y}`;
    svg.append(drawn("path", { class: "link", d: path, "data-needle": needle, "data-question": question }));
  }
}

function shape(kind, left, right, y) {
  if (kind === "question") return drawn("path", { d: `M${left - 5.5} ${y}l5.5 -5.5l5.5 5.5l-5.5 5.5z` });
  if (kind === "say" || kind === "ask" || kind === "needle") return drawn("circle", { cx: left, cy: y, r: kind === "needle" ? 4 : 3 });
  return drawn("rect", { x: left, y: y - 5, width: Math.max(right - left - 0.6, 1.5), height: 10, rx: 1 });
}

// What stands between the examples: the history of a data set, or filler.
function between() {
  if (!line.between) line.between = line.data.marks.some((mark) => mark[2] === "history") ? "history" : "filler";
  return line.between;
}

function kindOf(mark) {
  if (!line.needles) line.needles = new Set(line.data.links.map(([needle]) => needle));
  return mark[2] !== "question" && line.needles.has(mark[0]) ? "needle" : mark[2];
}

function drawMark(mark, place, x) {
  const [n, lane, , start, messageTokens, replyTokens, now] = mark;
  const kind = kindOf(mark);
  const left = +x(start, place).toFixed(1), right = +x(start + messageTokens + replyTokens, place + 1).toFixed(1), y = rowY(lane);
  const owner = line.data.lanes[lane];
  const label = `#${n} ${owner ? owner.name : between()}, ${kind}, at ${number(start)} tokens, ${now}`;
  const ghost = drawn("rect", { class: "ghost", x: left - 6, y: y - 10, width: 12, height: 20 });
  const classes = `mark ${kind}` + (kind === "question" && owner ? ` ${owner.shade}` : "");
  const element = drawn("g", { class: classes, role: "button", tabindex: "-1", "data-n": n, "aria-label": label }, shape(kind, left, right, y), titled(label));
  if (kind !== "filler" && kind !== "history") element.prepend(ghost);
  line.marks.set(n, element);
  return element;
}

// Keyboard: left and right through the conversation, up and down to the nearest mark of the next row.
function moved(event) {
  const mark = event.target.closest(".mark");
  if (!mark) return;
  const n = Number(mark.dataset.n);
  const moves = { ArrowRight: () => beside(n, 1), ArrowLeft: () => beside(n, -1), ArrowDown: () => across(n, 1), ArrowUp: () => across(n, -1), Home: () => line.data.marks[0][0], End: () => line.data.marks.at(-1)[0], Enter: () => n, " ": () => n };
  if (!moves[event.key]) return;
  event.preventDefault();
  const found = moves[event.key]();
  if (found === null) return;
  hold(found).then(() => line.marks.get(found).focus());
}

function placeOf(n) {
  return line.data.marks.findIndex((mark) => mark[0] === n);
}

function beside(n, by) {
  const mark = line.data.marks[placeOf(n) + by];
  return mark ? mark[0] : null;
}

function across(n, by) {
  const here = line.data.marks[placeOf(n)];
  for (let lane = here[1] + by; lane >= -1 && lane < line.data.lanes.length; lane += by) {
    const row = line.data.marks.filter((mark) => mark[1] === lane);
    if (row.length) return row.reduce((best, mark) => (Math.abs(mark[3] - here[3]) < Math.abs(best[3] - here[3]) ? mark : best))[0];
  }
  return null;
}

async function hold(n) {
  line.held = n;
  highlight();
  await read(n);
}

function highlight() {
  const here = line.data.marks[placeOf(line.held)];
  for (const [n, element] of line.marks) {
    element.classList.toggle("held", n === line.held);
    element.setAttribute("tabindex", n === line.held ? "0" : "-1");
  }
  document.querySelectorAll("#scene .link").forEach((link) => link.classList.toggle("held", Number(link.dataset.needle) === line.held || Number(link.dataset.question) === line.held));
  [...byId("lanes").children].forEach((label, row) => label.classList.toggle("held", row === here[1] + 1));
}

async function read(n) {
  const [, lane, kind, start, , , now] = line.data.marks[placeOf(n)];
  const owner = line.data.lanes[lane];
  const box = byId("reading");
  if (!owner) {
    const [m, r, fault, found] = line.data.texts[n];
    box.replaceChildren(exchange({ n, at: `at ${number(start)} tokens, ${now}`, kind, m, r, fault, found }, ""), steps(n, null));
    return;
  }
  const data = await opened(owner.k, line.key);
  if (line.held !== n) return;
  if (!data) return box.replaceChildren(make("h3", {}, owner.name), make("p", { class: "note" }, "This example is not listed here."), steps(n, null));
  const talk = data.talk.find((each) => each.n === n);
  const head = make("h3", {}, owner.name);
  const parts = [head, exchange(talk, data.evidence)];
  const question = data.questions.find((each) => each.n === n);
  if (question) parts.push(depends(question), described(data.facts.filter(([name]) => name === "score" || name === "why")));
  box.replaceChildren(...parts, steps(n, owner));
}

function depends(question) {
  const list = make("div", { class: "steps" });
  for (const needle of question.needles) list.append(button(`needle #${needle.n}, ${needle.gap}`, () => hold(needle.n)));
  return list;
}

function steps(n, owner) {
  const box = make("div", { class: "steps" });
  const before = beside(n, -1), after = beside(n, 1);
  if (before !== null) box.append(button("← previous", () => hold(before)));
  if (after !== null) box.append(button("next →", () => hold(after)));
  if (owner) {
    const own = line.data.marks.filter((mark) => mark[1] === line.data.marks[placeOf(n)][1]).map((mark) => mark[0]);
    const at = own.indexOf(n);
    if (at > 0) box.append(button("previous of this example", () => hold(own[at - 1])));
    if (at < own.length - 1) box.append(button("next of this example", () => hold(own[at + 1])));
    box.append(make("a", { href: "#e" + owner.k }, "all of " + owner.name));
  }
  return box;
}

function zoom(factor) {
  const scene = byId("scene");
  const middle = (scene.scrollLeft + scene.clientWidth / 2) / scene.scrollWidth;
  line.zoom = factor ? Math.min(Math.max(line.zoom * factor, 1), 64) : 1;
  drawLine();
  scene.scrollLeft = middle * scene.scrollWidth - scene.clientWidth / 2;
}

async function showMark(conversation, n) {
  await showConversation(conversation);
  await hold(n);
  byId("line").scrollIntoView({ block: "center" });
  line.marks.get(n).focus({ preventScroll: true });
}

function startLine() {
  byId("talk").addEventListener("input", () => showConversation(byId("talk").value));
  byId("across").addEventListener("input", drawLine);
  byId("closer").addEventListener("click", () => zoom(2));
  byId("farther").addEventListener("click", () => zoom(0.5));
  byId("whole").addEventListener("click", () => zoom(0));
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawLine(); } });
  if (INDEX.conversations.length) return showConversation(byId("talk").value);
}
