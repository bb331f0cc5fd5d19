// One example, opened below its row.
function described(facts) {
  const list = make("dl", { class: "facts" });
  for (const [name, text] of facts) list.append(make("dt", {}, name), make("dd", {}, text));
  return list;
}

function checked(checks) {
  return make("ul", { class: "checks" }, ...checks.map(([label, state]) => make("li", { class: state }, make("span", {}, label))));
}

// How numbered metrics went, a bar for each.
function curve([name, points]) {
  const bars = points.map(() => make("span"));
  points.forEach((value, place) => (bars[place].style.height = `${Math.max(value, .02) * 100}%`));
  const told = `${name.replaceAll("_", " ")}: ${points.map((value) => value.toFixed(2)).join(", ")}`;
  return make("figure", { class: "curve" }, make("div", { class: "bars", "aria-hidden": "true" }, ...bars), make("figcaption", {}, told));
}

// A paragraph of somebody's words, with the deciding part marked.
function words(who, text, evidence) {
  const at = evidence ? text.indexOf(evidence) : -1;
  const parts = at < 0 ? [text || "(an empty text)"] : [text.slice(0, at), make("mark", {}, evidence), text.slice(at + evidence.length)];
  return make("p", {}, make("span", { class: "who" }, who), ...parts);
}

// A long text shows its beginning, and what decided, until somebody wants all of it, which then scrolls in a box.
const SHOWN = 4000, AROUND = 120;
function said(who, text, evidence = "") {
  if (text.length <= SHOWN) return [words(who, text, evidence)];
  const at = evidence ? text.indexOf(evidence) : -1, end = at + evidence.length;
  const parts = [words(who, text.slice(0, SHOWN), end <= SHOWN ? evidence : "")];
  if (end > SHOWN) {
    const from = Math.max(at - AROUND, 0);
    parts.push(words("…", text.slice(from, end + AROUND), evidence));
  }
  const more = button(`show the other ${number(text.length - SHOWN)} characters`, () => {
    const whole = words(who, text, evidence);
    whole.className = "whole";
    whole.tabIndex = 0;
    parts[0].before(whole);
    for (const part of [...parts, more]) part.remove();
    whole.focus();
  });
  return [...parts, more];
}

// What an agent says that it retrieved for a reply, best first, and where the needles are in it; nothing where it does
// not say.
function retrieved(found, needles = []) {
  if (!found) return [];
  const known = needles.filter((needle) => needle.rank !== undefined);
  const there = known.filter((needle) => needle.rank > 0);
  const recall = known.length ? `, ${number(there.length)} of ${number(known.length)} needle${known.length > 1 ? "s" : ""} among it` : "";
  const head = found.length ? `retrieved: ${number(found.length)}${recall}` : "retrieved nothing";
  const items = found.map((text, place) => {
    const here = there.filter((needle) => needle.rank === place + 1).map((needle) => make("b", {}, `needle #${needle.n} `));
    return make("li", here.length ? { class: "needle" } : {}, ...here, text);
  });
  return [make("details", { class: "found" }, make("summary", {}, head), make("ol", {}, ...items))];
}

function exchange(talk, evidence, needles = []) {
  const kinds = { question: "question", needle: "needed by a question", reset: "reset", filler: "filler", history: "history", opening: "opening" };
  const head = `#${talk.n} ${talk.at}` + (kinds[talk.kind] ? `, ${kinds[talk.kind]}` : "");
  const box = make("div", { class: "talk " + talk.kind, "data-n": talk.n }, make("div", { class: "head" }, head), ...said(talk.user, talk.m));
  if (talk.fault) box.append(make("p", { class: "fault" }, "no reply: " + talk.fault));
  else box.append(...said("agent", talk.r, evidence), ...retrieved(talk.found, needles));
  return box;
}

function questioned(question) {
  const box = make("div", { class: "talk question" });
  for (const needle of question.needles) {
    box.append(make("div", { class: "head" }, `needle #${needle.n}, ${needle.gap}`), ...said("you", needle.text));
  }
  box.append(make("div", { class: "head" }, `question #${question.n}`), ...said("you", question.q), ...said("agent", question.a), ...retrieved(question.found, question.needles));
  return box;
}

async function detail(row) {
  const data = await opened(Number(row.id.slice(1)), row.dataset.v);
  const inside = make("div", { class: "inside" }, described(data.facts));
  if (data.checks.length) inside.append(make("h3", {}, "Checks"), checked(data.checks));
  inside.append(...data.curves.map(curve));
  if (data.missing) {
    if (data.questions.length) inside.append(make("h3", {}, "Questions"), ...data.questions.map(questioned));
    inside.append(make("p", { class: "note" }, data.missing));
    return inside;
  }
  if (data.questions.length && byId("z-c" + row.dataset.v)) inside.append(make("p", {}, button("Show on the time line", () => showMark(row.dataset.v, data.questions[data.questions.length - 1].n))));
  inside.append(make("h3", {}, "Its own exchanges"));
  if (!data.talk.length) inside.append(make("p", { class: "note" }, "Nothing was said."));
  for (const talk of data.talk) {
    if (talk.gap) inside.append(make("div", { class: "gap" }, `… ${talk.gap} …`));
    const question = data.questions.find((each) => each.n === talk.n);
    inside.append(exchange(talk, data.evidence, question ? question.needles : []));
  }
  return inside;
}
