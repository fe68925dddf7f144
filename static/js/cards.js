// Cards that load by themselves: what a placeholder says while its card is fetched, and where that fails.
// htmx fetches them; templates/kit/late_card.html is the placeholder.
"use strict";

const LATE = "[data-card]";

function cardSays(card, text, isWaiting) {
  card.setAttribute("aria-busy", String(isWaiting));
  one("[role=status]", card).textContent = text;
  one(".late-rows", card).hidden = !isWaiting;
  one("[data-again]", card).hidden = isWaiting;
  one("a", card).classList.toggle("only-no-js", isWaiting);
}

function cardFails(card, why) {
  cardSays(card, `${card.dataset.card} could not be loaded: ${why}.`, false);
}

// Trying again does not help.
function cardGivesUp(card, why) {
  cardFails(card, why);
  one("[data-again]", card).hidden = true;
}

function cardIsSignedOut(card) {
  cardGivesUp(card, "you are no longer signed in");
  Object.assign(one("a", card), { href: location.href, textContent: "Sign in" });
}

// After a swap the event is that of what came; the card that asked is in its request.
const whenIsCard = (act) => (event) => {
  const card = event.detail.requestConfig?.elt ?? event.target;
  if (card.matches(LATE)) act(card, event);
};
const STATUS = { 403: "you cannot see it", 404: "you cannot see it", 429: "too many requests were sent", 503: "the server is busy" };
const ON = {
  beforeRequest: (card) => cardSays(card, "Loading…", true),
  responseError: (card, { detail }) => cardFails(card, STATUS[detail.xhr.status] ?? "the server had an error"),
  sendError: (card) => cardFails(card, "the server did not respond"),
  timeout: (card) => cardFails(card, "the server took too long"),
  signedOut: cardIsSignedOut,
  // Who pressed "Try again" goes on in the card that came.
  beforeSwap: (card) => (card.dataset.held = card.contains(document.activeElement) ? "yes" : ""),
  afterSwap: (card, { target }) => {
    one("#said").textContent = `${card.dataset.card}: loaded.`;
    if (!card.dataset.held) return;
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  },
};
for (const [name, act] of Object.entries(ON)) document.addEventListener(`htmx:${name}`, whenIsCard(act));

document.addEventListener("click", (event) => {
  const card = event.target.closest("[data-again]")?.closest(LATE);
  if (!card) return;
  card.tabIndex = -1;
  card.focus({ preventScroll: true });
  htmx.trigger(card, "again");
});

// Who leaves does not wait for cards; a page that comes back from the memory of the browser asks again.
addEventListener("pagehide", () => all(LATE).forEach((card) => htmx.trigger(card, "htmx:abort")));
addEventListener("pageshow", ({ persisted }) => persisted && all(LATE).forEach((card) => htmx.trigger(card, "again")));

if (typeof htmx === "undefined") all(LATE).forEach((card) => cardGivesUp(card, "a script is missing"));
