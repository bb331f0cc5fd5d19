// One example, opened below its row.
function described(facts) {
  const list = make("dl", { class: "facts" });
  for (const [name, text] of facts) list.append(make("dt", {}, name), make("dd", {}, text));
  return list;
}

function checked(checks) {
  return make("ul", { class: "checks" }, ...checks.map(([label, ok]) => make("li", { class: ok ? "passed" : "failed" }, make("span", {}, label))));
}

// A paragraph of somebody's words, with the deciding part marked.
function words(who, text, evidence) {
  const at = evidence ? text.indexOf(evidence) : -1;
  const parts = at < 0 ? [text || "(an empty text)"] : [text.slice(0, at), make("mark", {}, evidence), text.slice(at + evidence.length)];
  return make("p", {}, make("span", { class: "who" }, who), ...parts);
}

// A long text shows its beginning until somebody wants all of it.
function clamped(paragraph, text) {
  if (text.length < 1200) return [paragraph];
  paragraph.classList.add("long");
  const more = button(`all ${number(text.length)} characters`, () => { paragraph.classList.remove("long"); more.remove(); });
  return [paragraph, more];
}

// What an agent says that it retrieved for a reply, best first; nothing where it does not say.
function retrieved(found) {
  if (!found) return [];
  const head = found.length ? `retrieved: ${number(found.length)}` : "retrieved nothing";
  return [make("details", { class: "found" }, make("summary", {}, head), make("ol", {}, ...found.map((text) => make("li", {}, text))))];
}

function exchange(talk, evidence) {
  const kinds = { question: "question", needle: "needed by a question", reset: "reset", filler: "filler", history: "history", opening: "opening" };
  const head = `#${talk.n} ${talk.at}` + (kinds[talk.kind] ? `, ${kinds[talk.kind]}` : "");
  const box = make("div", { class: "talk " + talk.kind }, make("div", { class: "head" }, head), ...clamped(words("you", talk.m, ""), talk.m));
  if (talk.fault) box.append(make("p", { class: "fault" }, "no reply: " + talk.fault));
  else box.append(...clamped(words("agent", talk.r, evidence), evidence ? "" : talk.r), ...retrieved(talk.found));
  return box;
}

function questioned(question) {
  const box = make("div", { class: "talk question" });
  for (const needle of question.needles) {
    box.append(make("div", { class: "head" }, `needle #${needle.n}, ${needle.gap}`), make("p", {}, needle.text));
  }
  box.append(make("div", { class: "head" }, `question #${question.n}`), words("you", question.q, ""), words("agent", question.a, ""), ...retrieved(question.found));
  return box;
}

async function detail(row) {
  const data = await opened(Number(row.id.slice(1)), row.dataset.v);
  const inside = make("div", { class: "inside" }, described(data.facts));
  if (data.checks.length) inside.append(make("h4", {}, "Checks"), checked(data.checks));
  if (data.missing) {
    if (data.questions.length) inside.append(make("h4", {}, "Questions"), ...data.questions.map(questioned));
    inside.append(make("p", { class: "note" }, data.missing));
    return inside;
  }
  if (data.questions.length && byId("z-c" + row.dataset.v)) inside.append(make("p", {}, button("Show on the time line", () => showOnLine(row, data.questions[data.questions.length - 1].n))));
  inside.append(make("h4", {}, "Its own exchanges"));
  if (!data.talk.length) inside.append(make("p", { class: "note" }, "Nothing was said."));
  for (const talk of data.talk) {
    if (talk.gap) inside.append(make("div", { class: "gap" }, `… ${talk.gap} …`));
    inside.append(exchange(talk, data.evidence));
  }
  return inside;
}
