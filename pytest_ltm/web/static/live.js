// The live view: draws what the server pushes. Texts go into the page as text, never as markup.
"use strict";
const SVG = "http://www.w3.org/2000/svg", LINE = 6, NAMED = 16, MOST_NAMED = 60, MOST_SAID = 500;
const at = (id) => document.getElementById(id);
const status_ = at("status"), cards = at("conversations"), said = at("said"), earlier = at("earlier");
const runs = [...document.querySelectorAll("[data-run]")].map((each) => each.dataset.run);
const shown = new Map();  // by the conversation's id: its state, its lines, its element
let opened = decodeURIComponent(location.hash.slice(1)), source = null, clicked = false;
const number = (value) => value.toLocaleString("en");
const inOrder = (one, other) => one.localeCompare(other, "en", { numeric: true });  // 2k before 120k
const make = (name, text = "", kind = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
};

function card(state) {
  const made = make("article", "", "card");
  const head = make("button", "", "head");
  head.type = "button";
  head.append(make("strong"), make("span", "", "note"));
  head.addEventListener("click", () => open_(state.id));
  const bar = make("progress");
  bar.setAttribute("aria-label", `position of ${state.name}`);
  const lines = document.createElementNS(SVG, "svg");
  lines.setAttribute("role", "img");
  lines.setAttribute("preserveAspectRatio", "none");
  const named = make("div", "", "named");
  named.append(make("div", "", "names"), lines);
  made.append(head, bar, make("p", "", "figures"), named, make("p", "", "note more"), make("p", "", "trouble"));
  const after = [...shown.values()].find((each) => inOrder(each.state.id, state.id) > 0);
  cards.insertBefore(made, after?.element ?? null);
  return made;
}

function draw(state) {
  const known = shown.get(state.id) ?? { lines: [], bars: [] };
  for (const [place, ...line] of state.lines) known.lines[place] = line;
  known.state = state;
  known.element ??= card(state);
  if (!shown.has(state.id)) {
    shown.set(state.id, known);
    [...shown.entries()].sort(([a], [b]) => inOrder(a, b)).forEach(([id, each]) => { shown.delete(id); shown.set(id, each); });
  }
  const [head, bar, figures, named, more, trouble] = known.element.children, [names, svg] = named.children;
  head.firstChild.textContent = state.name;
  head.lastChild.textContent = runs.length > 1 ? ` ${state.run}` : "";
  head.setAttribute("aria-pressed", String(state.id === opened));
  known.element.classList.toggle("ended", Boolean(state.ended));
  bar.max = state.target || 1;
  bar.value = state.position;
  const told = [`${number(state.position)} tokens`, `${number(state.exchanges)} exchanges`];
  told.push(state.scored ? `mean score ${(state.sum / state.scored).toFixed(2)} (${number(state.scored)} scored)` : "no score yet");
  if (state.usd !== null) told.push(`$${state.usd.toFixed(4)}`);
  if (state.used !== null) told.push(`${number(state.used)} tokens used`);
  if (state.speed !== null) told.push(`${number(state.speed)} tokens/s`);
  if (state.faults) told.push(`${number(state.faults)} faults`);
  figures.textContent = told.join(" · ");
  const left = state.ended ? "not played" : "to come";
  const scenarios = `${state.n_done} done, ${state.n_open} speaking, ${state.n_waiting} waiting, ${state.n_to} ${left}`;
  svg.setAttribute("aria-label", `${state.name}: of ${state.total} scenarios ${scenarios}`);
  more.textContent = (state.ended === "complete" ? "complete: " : "") + scenarios + (state.total > known.lines.length ? `; the first ${known.lines.length} are drawn` : "");
  trouble.textContent = [state.ended && state.ended !== "complete" ? `ended: ${state.ended}` : "",
    state.trouble && `not read on: ${state.trouble}`, state.fault && `last fault: ${state.fault}`].filter(Boolean).join(" · ");
  bars(known, svg, names, state);
}

function bars(known, svg, names, state) {
  const tall = known.lines.length <= MOST_NAMED ? NAMED : LINE;
  const width = Math.max(state.target, state.position, 1);
  svg.setAttribute("viewBox", `0 0 ${width} ${Math.max(known.lines.length * tall, 1)}`);
  svg.style.height = `${Math.max(known.lines.length * tall, tall)}px`;
  if (tall === NAMED) known.lines.forEach(([name], place) => { (names.children[place] ?? names.appendChild(make("div"))).textContent = name; });
  const rescaled = known.width !== width;
  known.width = width;
  known.lines.forEach(([name, kind, begin, end, score], place) => {
    if (kind === "to come") return;
    const bar = known.bars[place] ??= svg.appendChild(document.createElementNS(SVG, "rect"));
    const look = kind === "done" ? (score === null ? "unscored" : `h${Math.round(score * 10)}`) : kind;
    const until = end ?? state.position;
    if (bar.dataset.is === `${look} ${until}` && !rescaled) return;
    bar.dataset.is = `${look} ${until}`;
    bar.setAttribute("class", look);
    bar.setAttribute("x", begin);
    bar.setAttribute("y", place * tall);
    bar.setAttribute("height", tall - 1);
    bar.setAttribute("width", Math.max(until - begin, width / 200));
    (bar.firstChild ?? bar.appendChild(document.createElementNS(SVG, "title"))).textContent = `${name}: ${kind}${score === null ? "" : `, ${score.toFixed(2)}`}`;
  });
}

function exchange([place, by, position, message, reply, fault]) {
  const made = make("div", "", "exchange");
  made.dataset.number = place;
  made.append(make("p", `${number(position)} tokens · ${by || "opening"}`, "note"), make("div", message, "message"));
  if (fault) made.append(make("div", `fault: ${fault}`, "trouble"));
  made.append(reply === null ? make("div", "…", "reply note") : make("div", reply, "reply"));
  return made;
}

function speak(rows) {
  for (const row of rows) {
    const before = said.querySelector(`[data-number="${row[0]}"]`);
    if (before) before.replaceWith(exchange(row));
    else said.append(exchange(row));
  }
  if (at("follow").checked) {
    while (said.children.length > MOST_SAID) said.firstChild.remove();
    said.scrollTop = said.scrollHeight;
  }
  earlier.hidden = !(Number(said.firstChild?.dataset.number) > 0);
}

earlier.addEventListener("click", async () => {
  at("follow").checked = false;
  const [run, ...rest] = opened.split("/");
  const first = said.firstChild.dataset.number;
  try {
    const got = await fetch(`/live/${encodeURIComponent(run)}/${encodeURIComponent(rest.join("/"))}/${first}`);
    const found = await got.json();
    const height = said.scrollHeight;
    said.prepend(...found.map(exchange));
    said.scrollTop += said.scrollHeight - height;
    earlier.hidden = !found.length || found[0][0] === 0;
  } catch { status_.textContent = "The server cannot be reached."; }
});

function open_(id) {
  opened = opened === id ? "" : id;
  history.replaceState(null, "", `${location.pathname}${location.search}${opened ? `#${encodeURIComponent(opened)}` : ""}`);
  clicked = Boolean(opened);
  follow();
}

function follow() {
  source?.close();
  const asked = new URLSearchParams(runs.map((run) => ["run", run]));
  if (opened) asked.set("open", opened);
  source = new EventSource(`/live/events?${asked}`);
  const on = (name, then) => source.addEventListener(name, (event) => then(JSON.parse(event.data)));
  on("begin", () => {  // the server begins anew: so does the page
    said.replaceChildren();
    earlier.hidden = true;
    at("transcript").hidden = !opened;
    at("whose").textContent = opened.split("/").slice(1).join("/").replaceAll("~", "-");
    for (const { state, element } of shown.values()) element.firstChild.setAttribute("aria-pressed", String(state.id === opened));
    status_.textContent = "This page follows the run's journal; it does not affect the run.";
  });
  on("conversations", (states) => states.forEach(draw));
  on("said", (rows) => {
    speak(rows);
    if (clicked) at("transcript").scrollIntoView();
    clicked = false;
  });
  on("runs", (states) => states.forEach((state) => {
    const [line] = [...document.querySelectorAll("[data-run]")].filter((each) => each.dataset.run === state.id);
    const told = state.gone ? "was deleted" : state.over ? state.verdict || "finished" : "";
    line.querySelector(".state").textContent = [state.budget, told].filter(Boolean).join(" · ");
    line.querySelector("a").hidden = !state.over || state.gone;
  }));
  on("over", (leaving) => {
    source.close();
    if (leaving) for (const link of document.querySelectorAll("[data-run] a, nav a")) link.hidden = true;
    status_.textContent = leaving ? "The server of this page has ended. ltm serve shows runs and their reports." : "Finished.";
  });
  source.onerror = () => {
    status_.textContent = source.readyState === EventSource.CLOSED
      ? "The server has stopped or was restarted. The run continues without it: open the link that ltm serve prints."
      : "The server cannot be reached. The run continues without it; this page keeps trying.";
  };
}
follow();
