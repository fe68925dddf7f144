// Behavior of every page: menus, theme, drawer, copying, shortcuts. No framework; htmx fetches fragments.
"use strict";

const root = document.documentElement;
const one = (selector, from = document) => from.querySelector(selector);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];

// --- toasts --------------------------------------------------------------------------------------
function toast(text, kind = "ok") {
  const box = document.createElement("div");
  box.className = `toast ${kind}`;
  box.textContent = text;
  one("#toasts").append(box);
  setTimeout(() => box.remove(), 6000);
}

// --- menus: <details class="menu"> closes on Escape, on a click elsewhere, and when another opens --
document.addEventListener("click", (event) => {
  for (const menu of all("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = all("details.menu[open]").pop();
  if (menu) {
    menu.open = false;
    one("summary", menu).focus();
    return;
  }
  if (one("#nav[data-open]")) closeNav();
  else if (keysAreOn() && !event.target.closest("input, textarea, select, dialog")) follow("[data-clear-filters]");
});

// The current entry of the navigation and the current tab are in sight, also where they scroll.
function showCurrent() {
  one(".nav-link[aria-current]")?.scrollIntoView({ block: "nearest" });
  const tab = one(".tab[aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 48; // with the end of the one before
}
showCurrent();

// On a phone, a click outside the navigation panel closes it.
document.addEventListener("click", (event) => {
  if (one("#nav[data-open]") && !event.target.closest("#nav, #menu-button")) closeNav();
});

function closeNav() {
  const nav = one("#nav");
  if (!nav || !nav.hasAttribute("data-open")) return;
  nav.removeAttribute("data-open");
  const button = one("#menu-button");
  button.setAttribute("aria-expanded", "false");
  button.focus();
}

// --- theme ---------------------------------------------------------------------------------------
function announceTheme() {
  document.dispatchEvent(new CustomEvent("themechange"));
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announceTheme);

function setTheme(theme, url) {
  root.dataset.theme = theme;
  for (const button of all("[data-theme-set]")) {
    button.setAttribute("aria-pressed", String(button.dataset.themeSet === theme));
  }
  announceTheme();
  save(url, { theme });
}

async function save(url, values) {
  const token = one('meta[name="csrf-token"]')?.content ?? "";
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "X-CSRFToken": token },
      body: new URLSearchParams(values),
    });
    if (!answer.ok) toast("Not saved. The setting applies until you leave this page.", "danger");
  } catch {
    toast("Not saved: the server did not respond.", "danger");
  }
}

// --- the Explain drawer: one dialog, filled by a fragment -----------------------------------------
function explain(url) {
  const drawer = one("#drawer");
  one("#drawer-body").replaceChildren();
  one("#drawer-page").href = url;
  if (!drawer.open) drawer.showModal();
  const wait = setTimeout(() => {
    one("#drawer-body").textContent = "Reading the inputs of this number…";
  }, 300);
  htmx.ajax("GET", url, { target: "#drawer-body", swap: "innerHTML" }).finally(() => clearTimeout(wait));
}
document.addEventListener("htmx:responseError", (event) => {
  const { xhr, target } = event.detail;
  if (target?.id !== "drawer-body") return;
  target.textContent =
    xhr.status === 404 ? "This number does not exist, or you cannot see it." : "The explanation could not be loaded. Close it and try again.";
});
document.addEventListener("htmx:sendError", (event) => {
  if (event.detail.target?.id === "drawer-body") event.detail.target.textContent = "The server did not respond.";
});

// --- signed out: the answer to a fragment is the sign-in page, from another address ------------------
let saidSignedOut = false;
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, pathInfo, elt } = event.detail;
  const asked = new URL(pathInfo.finalRequestPath, location.href);
  if (!xhr.responseURL || new URL(xhr.responseURL).pathname === asked.pathname) return;
  event.preventDefault();
  htmx.trigger(elt, "htmx:signedOut");
  if (!saidSignedOut) toast("You are no longer signed in. Reload this page to sign in.", "danger");
  saidSignedOut = true;
});

// --- click handlers -------------------------------------------------------------------------------
const onClick = {
  explain: (element) => explain(element.getAttribute("href")),
  themeSet: (element) => setTheme(element.dataset.themeSet, element.dataset.url),
  densitySet: (element) => {
    root.dataset.density = element.dataset.densitySet;
    for (const button of all("[data-density-set]")) button.setAttribute("aria-pressed", String(button === element));
    save(element.dataset.url, { density: element.dataset.densitySet });
  },
  close: (element) => element.closest("dialog").close(),
  opens: (element) => {
    element.closest("details.menu")?.removeAttribute("open");
    one(element.dataset.opens).showModal();
  },
  copy: (element) => copy(one(element.dataset.copy)?.textContent.trim() ?? ""),
  copyText: (element) => copy(element.dataset.copyText || location.href),
  tableFor: (element) => {
    const chart = one(`#${element.dataset.tableFor}`);
    const table = one(`#${element.dataset.tableFor}-table`);
    const toTable = table.hidden;
    table.hidden = !toTable;
    chart.hidden = toTable;
    element.setAttribute("aria-pressed", String(toTable));
    if (!toTable) announceTheme();
  },
  nav: (element) => {
    const nav = one("#nav");
    const opens = nav.toggleAttribute("data-open");
    element.setAttribute("aria-expanded", String(opens));
    if (opens) one("a", nav).focus();
    if (opens) showCurrent();
  },
  reload: () => location.reload(),
  print: () => print(),
  // Check the boxes of the same group whose value begins so, and no others.
  check: (element) => {
    for (const box of all("input[type=checkbox]", element.closest("fieldset"))) {
      box.checked = box.value.startsWith(element.dataset.check);
    }
  },
};
const CLICKABLE = Object.keys(onClick).map((key) => `[data-${key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}]`);
document.addEventListener("click", (event) => {
  const element = event.target.closest(CLICKABLE.join(","));
  if (!element) return;
  const name = Object.keys(onClick).find((key) => key in element.dataset);
  // Links that a script handles keep their href, for new tabs and when htmx did not load.
  const isLink = element.tagName === "A";
  if (isLink && (event.metaKey || event.ctrlKey || event.shiftKey || typeof htmx === "undefined")) return;
  if (isLink || element.tagName === "BUTTON") event.preventDefault();
  onClick[name](element);
});

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("The browser blocked copying. Select the text instead.", "danger");
  }
}

// A click on the backdrop closes a dialog; forms that only change the view submit on change.
document.addEventListener("click", (event) => {
  if (event.target instanceof HTMLDialogElement) event.target.close();
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});

// --- fresher data: the chip polls the server; the page is not replaced ----------------------------
document.addEventListener("htmx:afterSwap", (event) => {
  const chip = one("#freshness");
  const button = one("#new-data");
  if (!chip || !button || !event.detail.elt.closest?.("#freshness-box")) return;
  const page = document.body.dataset.until;
  if (page && chip.dataset.until && chip.dataset.until !== page) button.hidden = false;
});

// --- wide tables: a fade at the edge and a hint above the table ----------------------------------------
function watchWidth(box) {
  const hint = document.createElement("p");
  hint.className = "scroll-hint";
  hint.setAttribute("aria-hidden", "true");
  hint.textContent = "Scroll sideways for more →";
  box.before(hint);
  const look = () => {
    const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.toggleAttribute("data-goes-on", rest > 2);
    hint.classList.toggle("shown", box.scrollWidth - box.clientWidth > 2);
  };
  box.addEventListener("scroll", look, { passive: true });
  const observer = new ResizeObserver(look);
  observer.observe(box);
  if (box.firstElementChild) observer.observe(box.firstElementChild);
}
const watchWidths = (from) => all(".table-wrap, .calendar", from).forEach(watchWidth);
watchWidths(document);
document.addEventListener("htmx:afterSwap", (event) => watchWidths(event.target)); // what came, also instead of the target

// --- keep the scroll target below the page header, whatever its height -------------------------
const pageHead = one(".top");
if (pageHead) {
  let was = 0;
  new ResizeObserver(() => {
    const height = getComputedStyle(pageHead).position === "sticky" ? pageHead.offsetHeight + 8 : 0;
    if (height === was) return;
    root.style.scrollPaddingTop = `${height}px`;
    if (!was && location.hash.length > 1) document.getElementById(location.hash.slice(1))?.scrollIntoView();
    was = height;
  }).observe(pageHead);
}

// --- keys ------------------------------------------------------------------------------------------
const KEYS_OFF = "gpu-ledger.keys";
const keysAreOn = () => localStorage.getItem(KEYS_OFF) !== "off";
const follow = (selector) => {
  const link = one(selector);
  if (!link) return false;
  link.click();
  return true;
};
let rowIndex = -1;
function step(by) {
  const rows = all("main tbody tr[data-href]");
  if (!rows.length) return;
  rows[rowIndex]?.removeAttribute("data-at");
  rowIndex = Math.min(rows.length - 1, Math.max(0, rowIndex + by));
  const row = rows[rowIndex];
  row.setAttribute("data-at", "");
  row.scrollIntoView({ block: "nearest" });
  one("a", row)?.focus({ preventScroll: true });
}
const atRow = () => one("main tr[data-at]");
const SINGLE = {
  "?": () => one("#keys").showModal(),
  "/": () => openPalette(),
  j: () => step(1),
  k: () => step(-1),
  e: () => one("[data-explain]", atRow() ?? one("main"))?.click(),
  d: () => follow('[data-preset="today"]'),
  w: () => follow('[data-preset="last-7-days"]'),
  m: () => follow('[data-preset="month-to-date"]'),
  p: () => follow('[data-preset="last-month"]'),
  x: () => follow("[data-compare-next]"),
  ArrowLeft: () => follow('[data-step="back"]'),
  ArrowRight: () => follow('[data-step="forward"]'),
};
const SCROLLS = ".table-wrap, .calendar, pre"; // arrows move what is in these sideways
let pending = "";
let pendingTimer = 0;
document.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.metaKey || event.ctrlKey || event.altKey || !keysAreOn()) return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog, .js-plotly-plot")) return;
  if (pending === "g") {
    pending = "";
    clearTimeout(pendingTimer);
    if (follow(`[data-go="${CSS.escape(event.key)}"]`)) event.preventDefault();
    return;
  }
  if (event.key === "g") {
    pending = "g";
    pendingTimer = setTimeout(() => (pending = ""), 1200);
    return;
  }
  if (event.key === "Enter" && atRow() && event.target === document.body) {
    location.assign(atRow().dataset.href);
    return;
  }
  const act = SINGLE[event.key];
  if (!act) return;
  if (event.key.startsWith("Arrow") && event.target.closest(SCROLLS)) return;
  if (act() !== false) event.preventDefault();
});

function openPalette() {
  const palette = one("#palette");
  if (!palette || palette.open) return;
  palette.showModal();
  const input = one("input", palette);
  input.value = "";
  input.focus();
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
one("#palette")?.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const items = all("#palette a");
  if (!items.length) return;
  event.preventDefault();
  const now = items.indexOf(document.activeElement);
  const next = event.key === "ArrowDown" ? now + 1 : now - 1;
  if (next < 0) one("#palette input").focus();
  else items[Math.min(next, items.length - 1)].focus();
});
one("#palette form")?.addEventListener("submit", (event) => {
  event.preventDefault();
  one("#palette a")?.click();
});

const keysSwitch = one("#keys-switch");
if (keysSwitch) {
  keysSwitch.checked = keysAreOn();
  keysSwitch.addEventListener("change", () => localStorage.setItem(KEYS_OFF, keysSwitch.checked ? "on" : "off"));
}
