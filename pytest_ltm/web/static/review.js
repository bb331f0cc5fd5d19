// Keys of a review: r, w, p and s decide, e goes to the reason, u to the last decision. Nothing else needs a script.
"use strict";
const form = document.getElementById("decide");
const reason = document.getElementById("reason");
const wantReason = (button) => { reason.required = button.value === "skip"; };
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing) return;
  const button = form.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (event.key === "u") document.getElementById("before")?.click();
  else if (event.key === "e" || (event.key === "s" && !reason.value.trim())) reason.focus();
  else if (button) { wantReason(button); form.requestSubmit(button); }
  else return;
  event.preventDefault();
});
form.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=grade]");
  if (button) wantReason(button);
});
form.addEventListener("submit", (event) => {
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
});
addEventListener("pageshow", () => { delete form.dataset.sent; });
