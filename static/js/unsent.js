// Edits that could not be saved because the session had ended are filled in again after sign-in.
// A form's fields wait in sessionStorage (this tab only) from its submission until the next page.
// Passwords, files and hidden fields are never kept; a form with data-no-draft keeps nothing.
"use strict";

(() => {
  const KEY = "unsent";
  const SKIPPED = new Set(["password", "file", "hidden", "submit", "button"]);
  const isSignIn = Boolean(document.querySelector("body.plain"));
  const address = () => location.pathname + location.search;
  const formsTo = (action) => [...document.forms].filter((form) => form.getAttribute("action") === action);
  const fieldsOf = (form) =>
    [...form.elements].filter((field) => field.name && !SKIPPED.has(field.type));

  function read() {
    try {
      return JSON.parse(sessionStorage.getItem(KEY));
    } catch {
      return null;
    }
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (isSignIn || form.method !== "post" || form.matches("[data-no-draft], [hx-post]")) return;
    const action = form.getAttribute("action");
    const fields = fieldsOf(form).map((field) => [field.name, field.value, Boolean(field.checked)]);
    const kept = { page: address(), action, index: formsTo(action).indexOf(form), fields };
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  });

  // Sign-in or an expired form: the form was not saved. Return to it afterwards.
  function waitForSignIn(kept) {
    sessionStorage.setItem(KEY, JSON.stringify({ ...kept, failed: true }));
    const next = document.querySelector('input[name="next"]');
    if (next) next.value = kept.page;
    const back = document.querySelector("a[data-unsent]");
    if (back) {
      back.href = kept.page;
      back.textContent = "Back to the form, with your edits";
    }
  }

  function fillIn(kept) {
    const form = formsTo(kept.action)[kept.index];
    if (!form) return;
    const waiting = [...kept.fields];
    for (const field of fieldsOf(form)) {
      const at = waiting.findIndex(([name, value]) =>
        name === field.name && (!/^(checkbox|radio)$/.test(field.type) || value === field.value));
      if (at < 0) continue;
      const [[, value, checked]] = waiting.splice(at, 1);
      if (/^(checkbox|radio)$/.test(field.type)) field.checked = checked;
      else field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    for (let box = form.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    const note = document.createElement("div");
    note.className = "strip warn";
    note.setAttribute("role", "status");
    const text = document.createElement("p");
    text.textContent = "You were signed out before your edits were saved. They are restored here. Check and send them.";
    note.append(text);
    form.before(note);
    note.scrollIntoView({ block: "center" });
  }

  const kept = read();
  if (!kept) return;
  if (isSignIn) {
    waitForSignIn(kept);
    return;
  }
  sessionStorage.removeItem(KEY);
  if (kept.failed && kept.page === address()) window.addEventListener("load", () => fillIn(kept));
})();
