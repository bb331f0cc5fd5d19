// The conversation as a time line: a lane for each example, x = tokens (or exchanges). A second conversation can be laid
// over it: its marks stand below those of the first in the same lanes.
const SVG = "http://www.w3.org/2000/svg";
const ROW = 22, ROW_OF_TWO = 38, APART = 8, HEAD = 30, FOOT = 26, EDGE = 14;
const line = { sides: [], rows: [], zoom: 1, paper: 0, held: null, marks: new Map(), waiting: 0 };

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

// One of the conversations that are drawn; null where its journal cannot be read.
async function sideOf(key) {
  const data = await unpacked("c" + key);
  if (!data) return null;
  const needles = new Set(data.links.map(([needle]) => needle));
  const between = data.marks.some((mark) => mark[2] === "history") ? "history" : "filler";
  return { key: Number(key), ...data, needles, between, places: new Map(data.marks.map((mark, place) => [mark[0], place])) };
}

// Draws a conversation, and another over it unless `over` is "".
async function showConversation(key, over = byId("over").value) {
  clearTimeout(line.waiting);
  byId("talk").value = String(key);
  byId("over").value = String(over) === String(key) ? "" : String(over);
  const sides = await Promise.all([key, byId("over").value].filter((each) => each !== "").map(sideOf));
  line.sides = sides.filter(Boolean);
  line.rows = [...new Set(line.sides.flatMap((side) => side.lanes.map((lane) => lane.name)))];
  for (const side of line.sides) side.row = side.lanes.map((lane) => line.rows.indexOf(lane.name));
  line.held = null;
  line.zoom = 1;
  byId("reading").replaceChildren();
  byId("recalled").replaceChildren(...line.sides.map(recalled));
  drawLine();
}

// How often what an agent says that it retrieved held the needles that its question depends on.
function recalled(side) {
  const ranks = side.links.map(([, , rank]) => rank).filter((rank) => rank !== null);
  const hits = ranks.filter((rank) => rank > 0).sort((one, other) => one - other);
  const middle = hits.length ? `, at rank ${hits[Math.floor(hits.length / 2)]} in the median` : "";
  const name = INDEX.conversations[side.key].label;
  return ranks.length ? make("p", { class: "note" }, `${name} retrieved ${number(hits.length)} of ${number(ranks.length)} needles for their questions${middle}.`) : "";
}

function lowest() {
  return HEAD + (line.rows.length + 1) * rowHeight();
}

function rowHeight() {
  return line.sides.length > 1 ? ROW_OF_TWO : ROW;
}

function drawLine() {
  byId("lanes").replaceChildren();
  byId("scene").replaceChildren();
  byId("line").classList.toggle("double", line.sides.length > 1);
  line.marks = new Map();
  if (!line.sides.length) {
    byId("scene").append(make("p", { class: "note" }, "The run folder has no readable journal of this conversation."));
    return;
  }
  const room = line.paper || Math.max(byId("scene").clientWidth || 900, 260);
  const width = Math.round(room * line.zoom), height = lowest() + FOOT;
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Time line" });
  drawAxis(svg, scale(0, width), width, height);
  drawLabels();
  line.sides.forEach((side, at) => {
    const x = scale(at, width);
    drawLanes(svg, at, x);
    drawLinks(svg, at, x);
    const marks = side.marks.map((mark, place) => drawMark(at, mark, place, x));
    svg.append(...marks.filter((mark) => !mark.classList.contains("question")), ...marks.filter((mark) => mark.classList.contains("question")));
  });
  svg.addEventListener("click", (event) => { const mark = event.target.closest(".mark"); if (mark) hold(...held(mark)); });
  svg.addEventListener("keydown", moved);
  byId("scene").append(svg);
  const first = line.marks.get(line.held) || line.marks.values().next().value;
  if (first) first.setAttribute("tabindex", "0");
  if (line.held !== null) highlight();
}

// Which mark an element is: the side, and the number of its exchange.
function held(element) {
  return [Number(element.dataset.side), Number(element.dataset.n)];
}

function idOf(at, n) {
  return `${n} ${at}`;
}

function scale(at, width) {
  const room = width - 2 * EDGE, marks = line.sides[at].marks;
  if (byId("across").value === "tokens") {
    const most = Math.max(...line.sides.map((side) => side.tokens), 1);
    return (position) => EDGE + (position / most) * room;
  }
  const most = Math.max(...line.sides.map((side) => side.marks.length), 1);
  const starts = marks.map((mark) => mark[3]);
  return (position, place) => {
    const found = place !== undefined ? place : starts.findIndex((start) => start >= position);
    return EDGE + ((found < 0 ? marks.length : found) / most) * room;
  };
}

function rowOf(at, lane) {
  return lane < 0 ? -1 : line.sides[at].row[lane];
}

function rowY(at, lane) {
  const middle = HEAD + (rowOf(at, lane) + 1.5) * rowHeight();
  return line.sides.length > 1 ? middle + (at ? APART : -APART) : middle;
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
  const most = Math.max(...line.sides.map((side) => side.tokens));
  const each = tickEvery(most, width / 90);
  for (let tokens = 0; tokens <= most; tokens += each) {
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
  for (const [position, time, to] of line.sides[0].jumps) {
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

function laneLabel(text, shades, title) {
  return make("div", { title }, ...shades.map((shade) => make("i", { class: shade })), make("span", {}, text));
}

function drawLabels() {
  const between = [...new Set(line.sides.map((side) => side.between))].join(", ");
  byId("lanes").append(laneLabel(between, line.sides.map(() => "hx"), `${between} and opening message`));
  for (const name of line.rows) {
    const lanes = line.sides.map((side) => side.lanes.find((lane) => lane.name === name));
    const scores = lanes.map((lane) => (!lane ? "not there" : lane.score === null ? "no score" : lane.score.toFixed(2)));
    byId("lanes").append(laneLabel(name, lanes.map((lane) => (lane ? lane.shade : "hx")), `${name}: ${scores.join(" and ")}`));
  }
}

function drawLanes(svg, at, x) {
  const side = line.sides[at];
  side.lanes.forEach((lane, number) => {
    if (lane.from === null) return;
    const end = lane.to === null ? side.tokens : lane.to;
    svg.append(drawn("path", { class: "lane", d: `M${x(lane.from).toFixed(1)} ${rowY(at, number)}H${x(end).toFixed(1)}` }));
  });
}

function drawLinks(svg, at, x) {
  const { links, marks, places } = line.sides[at];
  for (const [needle, question, rank] of links) {
    const from = marks[places.get(needle)], to = marks[places.get(question)];
    if (!from || !to) continue;
    const left = x(from[3], places.get(needle)), right = x(to[3], places.get(question)), y = rowY(at, to[1]);
    const rise = Math.min(9, 2 + (right - left) / 20);
    const path = `M${left.toFixed(1)} ${rowY(at, from[1])}C${left.toFixed(1)} ${y - rise * 1.3} ${right.toFixed(1)} ${y - rise * 1.3} ${right.toFixed(1)} ${y}`;
    svg.append(drawn("path", { class: rank === 0 ? "link missed" : "link", d: path, "data-needle": idOf(at, needle), "data-question": idOf(at, question) }));
  }
}

function shape(kind, left, right, y) {
  if (kind === "question") return drawn("path", { d: `M${left - 5.5} ${y}l5.5 -5.5l5.5 5.5l-5.5 5.5z` });
  if (kind === "say" || kind === "ask" || kind === "needle") return drawn("circle", { cx: left, cy: y, r: kind === "needle" ? 4 : 3 });
  return drawn("rect", { x: left, y: y - 5, width: Math.max(right - left - 0.6, 1.5), height: 10, rx: 1 });
}

function kindOf(side, mark) {
  return mark[2] !== "question" && side.needles.has(mark[0]) ? "needle" : mark[2];
}

function drawMark(at, mark, place, x) {
  const [n, lane, , start, messageTokens, replyTokens, now] = mark;
  const side = line.sides[at], kind = kindOf(side, mark), owner = side.lanes[lane];
  const left = +x(start, place).toFixed(1), right = +x(start + messageTokens + replyTokens, place + 1).toFixed(1), y = rowY(at, lane);
  const whose = line.sides.length > 1 ? `, ${INDEX.conversations[side.key].label}` : "";
  const label = `#${n} ${owner ? owner.name : side.between}, ${kind}, at ${number(start)} tokens, ${now}${whose}`;
  const classes = `mark ${kind}` + (kind === "question" && owner ? ` ${owner.shade}` : "") + (at ? " over" : "");
  const element = drawn("g", { class: classes, role: "button", tabindex: "-1", "data-n": n, "data-side": at, "aria-label": label }, shape(kind, left, right, y), titled(label));
  if (kind !== "filler" && kind !== "history") element.prepend(drawn("rect", { class: "ghost", x: left - 6, y: y - 10, width: 12, height: 20 }));
  line.marks.set(idOf(at, n), element);
  return element;
}

// Keyboard: left and right through the conversation, up and down to the nearest mark of the next row.
function moved(event) {
  const mark = event.target.closest(".mark");
  if (!mark) return;
  const [at, n] = held(mark), side = line.sides[at];
  const moves = { ArrowRight: () => beside(at, n, 1), ArrowLeft: () => beside(at, n, -1), ArrowDown: () => across(at, n, 1), ArrowUp: () => across(at, n, -1), Home: () => [at, side.marks[0][0]], End: () => [at, side.marks.at(-1)[0]], Enter: () => [at, n], " ": () => [at, n] };
  if (!moves[event.key]) return;
  event.preventDefault();
  const found = moves[event.key]();
  if (found) hold(...found).then(() => line.marks.get(idOf(...found)).focus());
}

function beside(at, n, by) {
  const mark = line.sides[at].marks[line.sides[at].places.get(n) + by];
  return mark ? [at, mark[0]] : null;
}

// The nearest mark above or below: the sides of a row follow each other.
function across(at, n, by) {
  const count = line.sides.length, here = line.sides[at].marks[line.sides[at].places.get(n)];
  for (let row = (rowOf(at, here[1]) + 1) * count + at + by; row >= 0 && row < (line.rows.length + 1) * count; row += by) {
    const other = row % count;
    const marks = line.sides[other].marks.filter((mark) => rowOf(other, mark[1]) === Math.floor(row / count) - 1);
    if (marks.length) return [other, marks.reduce((best, mark) => (Math.abs(mark[3] - here[3]) < Math.abs(best[3] - here[3]) ? mark : best))[0]];
  }
  return null;
}

async function hold(at, n) {
  line.held = idOf(at, n);
  const name = (side) => (side ? INDEX.conversations[side.key].label : "");
  clearTimeout(line.waiting);  // browsers refuse an address that changes at every repetition of a key
  line.waiting = setTimeout(() => remember({ line: name(line.sides[0]), over: name(line.sides[1]), mark: at ? line.held : String(n) }), 200);
  highlight();
  await read(at, n);
}

function highlight() {
  const [at, n] = held(line.marks.get(line.held));
  const here = line.sides[at].marks[line.sides[at].places.get(n)];
  for (const [id, element] of line.marks) {
    element.classList.toggle("held", id === line.held);
    element.setAttribute("tabindex", id === line.held ? "0" : "-1");
  }
  document.querySelectorAll("#scene .link").forEach((link) => link.classList.toggle("held", link.dataset.needle === line.held || link.dataset.question === line.held));
  [...byId("lanes").children].forEach((label, row) => label.classList.toggle("held", row === rowOf(at, here[1]) + 1));
}

// The exchanges of an example, or of no example, in order.
function ofLane(at, lane) {
  return line.sides[at].marks.filter((mark) => mark[1] === lane).map((mark) => mark[0]);
}

// What stands at the same place of the same example on the other side; null where there is none.
function counterpart(at, n) {
  const side = line.sides[at], other = line.sides[1 - at], lane = side.marks[side.places.get(n)][1];
  if (!other || lane < 0) return null;
  const there = other.lanes.findIndex((each) => each.name === side.lanes[lane].name);
  const found = there < 0 ? undefined : ofLane(1 - at, there)[ofLane(at, lane).indexOf(n)];
  return found === undefined ? null : [1 - at, found];
}

async function read(at, n) {
  const other = counterpart(at, n);
  const both = other ? [[at, n], other].sort() : [[at, n]];
  const parts = await Promise.all(both.map((each) => spoken(...each)));
  if (line.held !== idOf(at, n)) return;
  const side = line.sides[at], owner = side.lanes[side.marks[side.places.get(n)][1]];
  const head = owner ? [make("h3", {}, owner.name)] : [];
  const box = both.length > 1 ? [make("div", { class: "two" }, ...parts.map((part, place) => make("div", {}, make("div", { class: "side" }, INDEX.conversations[line.sides[both[place][0]].key].label), ...part)))] : parts[0];
  byId("reading").replaceChildren(...head, ...box, steps(at, n, owner));
}

// What was said at a mark, and what became of it.
async function spoken(at, n) {
  const side = line.sides[at], [, lane, kind, start, , , now] = side.marks[side.places.get(n)], owner = side.lanes[lane];
  if (!owner) {
    const [m, r, fault, found] = side.texts[n];
    return [exchange({ n, at: `at ${number(start)} tokens, ${now}`, kind, m, r, fault, found }, "")];
  }
  const data = await opened(owner.k, side.key);
  if (!data) return [make("p", { class: "note" }, "This example is not listed here.")];
  const question = data.questions.find((each) => each.n === n);
  const talk = exchange(data.talk.find((each) => each.n === n), data.evidence, question ? question.needles : []);
  if (!question) return [talk];
  return [talk, depends(at, question), described(data.facts.filter(([name]) => name === "score" || name === "why"))];
}

function depends(at, question) {
  const list = make("div", { class: "steps" });
  for (const needle of question.needles) list.append(button(`needle #${needle.n}, ${needle.gap}`, () => hold(at, needle.n)));
  return list;
}

function steps(at, n, owner) {
  const box = make("div", { class: "steps" });
  const before = beside(at, n, -1), after = beside(at, n, 1);
  if (before) box.append(button("← previous", () => hold(...before)));
  if (after) box.append(button("next →", () => hold(...after)));
  if (!owner) return box;
  const own = ofLane(at, line.sides[at].lanes.indexOf(owner)), place = own.indexOf(n);
  if (place > 0) box.append(button("previous of this example", () => hold(at, own[place - 1])));
  if (place < own.length - 1) box.append(button("next of this example", () => hold(at, own[place + 1])));
  box.append(make("a", { href: "#e" + owner.k }, "all of " + owner.name));
  return box;
}

function zoom(factor) {
  const scene = byId("scene");
  const middle = (scene.scrollLeft + scene.clientWidth / 2) / scene.scrollWidth;
  line.zoom = factor ? Math.min(Math.max(line.zoom * factor, 1), 64) : 1;
  drawLine();
  scene.scrollLeft = middle * scene.scrollWidth - scene.clientWidth / 2;
}

async function showMark(conversation, n, over = "", at = 0) {
  await showConversation(conversation, over);
  if (!line.marks.has(idOf(at, n))) return;
  await hold(at, n);
  byId("line").scrollIntoView({ block: "center" });
  line.marks.get(line.held).focus({ preventScroll: true });
}

function conversationNamed(label) {
  const key = INDEX.conversations.findIndex((each) => each.label === label);
  return key < 0 || !byId("z-c" + key) ? "" : String(key);
}

// Shows the conversations and the mark that the address names.
function followLine() {
  const said = address(), key = conversationNamed(said.get("line")), over = conversationNamed(said.get("over"));
  if (!key) return false;
  const [n, at = 0] = (said.get("mark") || "").split(" ").map(Number);
  if (said.get("mark") && !said.get("ex") && !said.get("beside")) showMark(key, n, over, at);
  else showConversation(key, over);
  return true;
}

function startLine() {
  const choose = () => {
    const label = (control) => (control.value ? INDEX.conversations[control.value].label : "");
    showConversation(byId("talk").value).then(() => remember({ line: label(byId("talk")), over: label(byId("over")), mark: "" }));
  };
  for (const id of ["talk", "over"]) byId(id).addEventListener("input", choose);
  byId("across").addEventListener("input", drawLine);
  byId("closer").addEventListener("click", () => zoom(2));
  byId("farther").addEventListener("click", () => zoom(0.5));
  byId("whole").addEventListener("click", () => zoom(0));
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawLine(); } });
  addEventListener("hashchange", followLine);
  if (INDEX.conversations.length && !followLine()) showConversation(byId("talk").value, "");
}
