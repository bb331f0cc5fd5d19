// An example beside the same example of another column: needles and questions once, both replies, what decided.
let alike = null;

// The rows of the same example in other columns.
function others(row) {
  if (!alike) {
    alike = new Map();
    for (const each of exampleRows()) alike.set(keyOf(each), [...(alike.get(keyOf(each)) || []), each]);
  }
  return alike.get(keyOf(row)).filter((each) => each !== row);
}

// The example of the baseline, else of the best other agent at the same memory span: of controls only where there is
// nobody else, and of two that are as good rather one under test.
const UNDER_TEST = 0, CONTROL = 2;
function partner(row) {
  const [span, , baseline] = INDEX.columns[row.dataset.c];
  const worth = (each) => {
    const [at, kind] = INDEX.columns[each.dataset.c];
    return [at === span, Number(each.dataset.c) === baseline, kind !== CONTROL, scoreOf(each) ?? -1, kind === UNDER_TEST];
  };
  const better = (one, other) => worth(other).map((value, at) => value - worth(one)[at]).find(Boolean) || 0;
  return others(row).sort(better)[0] || null;
}

// A band across all sides: what is equal stands once, what is empty nowhere.
function band(sides, shown) {
  if (sides.every((side) => !side.length)) return [];
  const equal = sides.every((side) => String(side) === String(sides[0]));
  return equal ? [make("div", { class: "both" }, ...shown(sides[0], 0))] : sides.map((side, at) => make("div", {}, ...shown(side, at)));
}

function verdict(row) {
  return [make("div", { class: "side" }, row.cells[4].firstElementChild.cloneNode(true), " " + INDEX.series[row.dataset.c]), make("p", { class: "why" }, row.cells[5].textContent)];
}

function talked(kind, who, texts) {
  return texts.map((text) => make("div", { class: "talk " + kind }, ...said(who, text)));
}

// A reply, below how far back its needles lie.
function replied(question, agent, evidence) {
  const gaps = question.needles.map((needle) => make("div", { class: "head" }, `needle #${needle.n}: ${needle.gap}`));
  const head = `${gaps.length} needles, the last ${gaps.length ? question.needles.at(-1).gap : ""}`;
  const few = gaps.length < 4 ? gaps : [make("details", { class: "found" }, make("summary", {}, head), ...gaps)];
  return [...few, make("div", { class: "talk reply" }, ...said(agent, question.a, evidence), ...retrieved(question.found, question.needles))];
}

function questionsOf(data, agents) {
  const seen = data.map(() => new Set());
  const most = Math.max(...data.map((each) => each.questions.length));
  return Array.from({ length: most }, (_, at) => {
    const asked = data.map((each) => each.questions[at]);
    const needles = asked.map((question, side) => (question ? question.needles : []).map((each) => each.text).filter((text) => !seen[side].has(text) && seen[side].add(text)));
    return [
      ...band(needles, (texts) => talked("needle", "needle", texts)),
      ...band(asked.map((question) => (question ? [question.q] : [])), (texts) => talked("question", "question", texts)),
      ...asked.map((question, side) => make("div", {}, ...(question ? replied(question, agents[side], data[side].evidence) : []))),
    ];
  }).flat();
}

async function sideBySide(rows) {
  const data = await Promise.all(rows.map((row) => opened(Number(row.id.slice(1)), row.dataset.v)));
  const box = make("div", { class: rows.length > 1 ? "two" : "two one" }, ...rows.map((row) => make("div", {}, ...verdict(row))));
  box.append(...band(data.map((each) => each.facts.filter(([name]) => name === "expected").flat()), ([name, text]) => (name ? [described([[name, text]])] : [])));
  if (new Set(rows.map((row) => row.dataset.d)).size > 1) box.append(make("p", { class: "note both" }, "They were asked with different texts."));
  box.append(...questionsOf(data, rows.map((row) => row.cells[2].textContent)));
  if (data.every((each) => !each.questions.length)) {
    box.append(...data.map((each) => make("div", {}, ...each.talk.map((talk) => exchange(talk, each.evidence)), make("p", { class: "note" }, each.missing || (each.talk.length ? "" : "Nothing was said.")))));
  }
  return box;
}
