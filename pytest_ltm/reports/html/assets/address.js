// What is shown stands in the address, so that a link shows the same to everybody: #ex=NODE_ID&q=WORDS&in=COLUMN...
const KEPT = { q: "search", in: "by-series", outcome: "by-outcome", one: "one", other: "other" };

function address() {
  return new URLSearchParams(/^#\w+=/.test(location.hash) ? location.hash.slice(1) : "");
}

function remember(changed) {
  const said = address();
  for (const [name, value] of Object.entries(changed)) value ? said.set(name, value) : said.delete(name);
  history.replaceState(null, "", "#" + said);
}

// A choice among the columns is told by the column's name: numbers move when other runs are added.
function valueOf(control) {
  return control.tagName === "SELECT" && control.value && control.id !== "by-outcome" ? INDEX.series[control.value] : control.value;
}

function choose(control, said) {
  const at = INDEX.series.indexOf(said);
  control.value = control.tagName !== "SELECT" || control.id === "by-outcome" ? said : at < 0 ? control.value : String(at);
}

function exampleNamed(id) {
  return exampleRows().find((row) => row.dataset.i === id) || null;
}

// Opens the example that the address names, whatever the filters hide.
function followAddress() {
  const old = /^#e\d+$/.test(location.hash) ? byId(location.hash.slice(1)) : null;
  if (old) remember({ ex: old.dataset.i, say: "" });
  const row = old || exampleNamed(address().get("ex"));
  if (!row) return;
  if (row.hidden) {
    for (const name of ["q", "in", "outcome"]) byId(KEPT[name]).value = "";
    remember({ q: "", in: "", outcome: "" });
    filterRows();
    show(row, true);
  }
  go(row, address().get("say"));
}

// Opens an example; `say`: the number of the exchange to look at. The example has the focus at once, so that the next
// key counts from it, and who has gone on meanwhile is not called back.
function go(row, say = null) {
  const opener = row.querySelector("button");
  opener.focus({ preventScroll: true });
  return unfold(row).then(() => {
    if (document.activeElement !== opener) return;
    const sought = say && openRow(row) && [...openRow(row).querySelectorAll(".talk[data-n]")].find((each) => each.dataset.n === say);
    document.querySelectorAll(".talk.sought").forEach((each) => each.classList.remove("sought"));
    if (sought) sought.classList.add("sought");
    (sought || row).scrollIntoView({ block: sought ? "center" : "start" });
  });
}

// A button that copies the address of what is told; what is empty is left out.
function copyLink(told) {
  const link = location.href.split("#")[0] + "#" + new URLSearchParams(Object.entries(told).filter(([, value]) => value));
  const copy = button("copy link", () => navigator.clipboard.writeText(link).then(
    () => { copy.textContent = "copied"; },
    () => { copy.replaceWith(make("input", { readonly: "", value: link, "aria-label": "link to this" })); }
  ));
  return copy;
}

// j and k go through the examples that are listed, n to the next that failed, / searches; ? says so.
const KEYS = { j: () => step(1), k: () => step(-1), n: () => step(1, "failed"), "/": () => byId("find").focus(), "?": () => { const help = byId("keys"); help.open ? help.close() : help.showModal(); } };

function step(by, outcome) {
  const rows = exampleRows().filter((row) => !row.hidden && (!outcome || row.dataset.o === outcome));
  const all = exampleRows();
  const here = all.indexOf(document.activeElement.closest("tr:not(.detail)")) < 0 ? all.indexOf(exampleNamed(address().get("ex"))) : all.indexOf(document.activeElement.closest("tr"));
  const next = by > 0 ? rows.find((row) => all.indexOf(row) > here) : rows.reverse().find((row) => all.indexOf(row) < here);
  if (!next) return;
  const open = here >= 0 ? all[here] : null;
  if (open) fold(open);
  remember({ ex: next.dataset.i, say: "" });
  go(next);
}

function startAddress() {
  const said = address();
  for (const [name, id] of Object.entries(KEPT)) {
    if (said.get(name)) choose(byId(id), said.get(name));
    byId(id).addEventListener("input", () => remember({ [name]: valueOf(byId(id)) }));
  }
  filterRows();
  compare();
  addEventListener("hashchange", followAddress);
  addEventListener("keydown", (event) => {
    const writes = /^(?:INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (writes || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  byId("close").addEventListener("click", () => byId("keys").close());
  followAddress();
  followBeside();
}
