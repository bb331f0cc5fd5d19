// A person's page: Ctrl+Enter sends, a draft outlives the tab, a closed page is a break, and what comes next comes by itself.
"use strict";
const sitting = document.getElementById("sitting");
const { link, state, message } = sitting.dataset;
const answer = document.getElementById("answer");
const reply = document.getElementById("reply");
const draft = `ltm-draft ${link} ${message}`;
let leaving = false;
try {  // those of messages that are answered
  for (const key of Object.keys(localStorage)) if (key.startsWith(`ltm-draft ${link} `) && key !== draft) localStorage.removeItem(key);
} catch { /* no storage, no drafts */ }
for (const form of document.forms) form.addEventListener("submit", (event) => {
  if (leaving) return event.preventDefault();
  leaving = true;
});
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
if (answer) {
  try {
    reply.value ||= localStorage.getItem(draft) ?? "";
    reply.addEventListener("input", () => localStorage.setItem(draft, reply.value));
  } catch { /* no storage, no drafts */ }
  reply.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); answer.requestSubmit(); }
  });
  const tell = (what) => navigator.sendBeacon(`/sit/${link}/${what}`, new URLSearchParams(new FormData(document.getElementById("pause"))));
  addEventListener("pagehide", () => { if (!leaving) tell("pause"); });
  tell("go-on");  // the page that was here before may have told of a break only after this one was sent
  reply.addEventListener("input", () => tell("go-on"), { once: true });
}
setInterval(async () => {
  if (leaving || document.hidden || reply?.value) return;
  try {
    const found = await (await fetch(`/sit/${link}/state`, { cache: "no-store" })).json();
    if (found.state !== state && !leaving) { leaving = true; location.reload(); }
  } catch { /* the server is away: the page stays as it is */ }
}, 700);
