// Quotas and change sets: count edits, omit unchanged fields, and wait five seconds before apply.
"use strict";

const WAIT_S = 5;
const editForms = () => all("form[data-edits]");
const fieldsOf = (form) => [...form.elements].filter((field) => /^[qrn]\|/.test(field.name));
const isEdited = (field) =>
  field.type === "checkbox" ? field.checked : field.value.trim() !== field.dataset.was;

// --- edits of a table --------------------------------------------------------------------------
function countEdits(form) {
  const rows = new Set();
  for (const field of fieldsOf(form)) {
    const row = field.closest("tr");
    if (field.type === "checkbox") row.classList.toggle("leaving", field.checked);
    if (isEdited(field)) rows.add(row);
  }
  for (const field of fieldsOf(form)) {
    const row = field.closest("tr");
    row.classList.toggle("edited", rows.has(row));
  }
  const fresh = all('[name="new-team"]').filter((field) => field.form === form && field.value).length;
  const count = rows.size + fresh;
  one("[data-count]", form).textContent = count === 1 ? "1 edit." : `${count} edits.`;
  form.classList.toggle("has-edits", count > 0);
  one("[data-review]", form).disabled = count === 0;
  one("[data-reset]", form).disabled = count === 0;
}
for (const form of editForms()) countEdits(form);
document.addEventListener("input", (event) => {
  if (event.target.form?.matches("form[data-edits]")) countEdits(event.target.form);
});
document.addEventListener("reset", (event) => {
  if (event.target.matches("form[data-edits]")) setTimeout(() => countEdits(event.target));
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-edits]")) return;
  // Unchanged fields are not sent: a long table has more fields than the server accepts.
  for (const field of fieldsOf(form)) field.disabled = !isEdited(field);
  leaving = true;
});
addEventListener("pageshow", () => {
  leaving = false;
  for (const form of editForms()) {
    for (const field of fieldsOf(form)) field.disabled = false;
    countEdits(form);
  }
});
let leaving = false;
addEventListener("beforeunload", (event) => {
  if (!leaving && all("tr.edited").length) event.preventDefault();
});

// --- five seconds before apply -------------------------------------------------------------------
let countdown = 0;
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-countdown]") || form.dataset.sure) return;
  event.preventDefault();
  const button = one("[data-start]", form);
  const stop = one("[data-stop]", form);
  const said = one("[data-said]", form);
  let left = WAIT_S;
  const tell = () => (said.textContent = `Applying in ${left} second${left === 1 ? "" : "s"}.`);
  button.hidden = true;
  stop.hidden = false;
  stop.focus();
  tell();
  countdown = setInterval(() => {
    left -= 1;
    if (left > 0) return tell();
    clearInterval(countdown);
    form.dataset.sure = "yes";
    said.textContent = "Sent.";
    stop.hidden = true;
    form.requestSubmit();
  }, 1000);
});
document.addEventListener("click", (event) => {
  const stop = event.target.closest("[data-stop]");
  if (!stop) return;
  clearInterval(countdown);
  const form = stop.form;
  stop.hidden = true;
  one("[data-said]", form).textContent = "Nothing was sent.";
  const button = one("[data-start]", form);
  button.hidden = false;
  button.focus();
});
