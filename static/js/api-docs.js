// Adds what Swagger UI lacks: the theme, heading levels without gaps, landmarks, accessible names.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const theme = root.dataset.theme;
    root.classList.toggle("dark-mode", theme === "dark" || (theme === "system" && dark.matches));
  };
  dark.addEventListener("change", follow);
  follow();

  // Swagger UI has h1 and h3 but no h2, and only its operations are a landmark.
  const named = { ".information-container": "About", ".scheme-container": "Sign-in", ".models": "Schemas" };
  const mend = () => {
    for (const [selector, label] of Object.entries(named)) {
      const part = document.querySelector(`#swagger-ui ${selector}:not([aria-label])`);
      part?.setAttribute("role", "region");
      part?.setAttribute("aria-label", label);
    }
    for (const one of document.querySelectorAll("#swagger-ui pre:not([tabindex])")) {
      one.tabIndex = 0; // it scrolls sideways
    }
    for (const one of document.querySelectorAll("#swagger-ui select:not([aria-label])")) {
      const row = one.closest("[data-param-name]");
      one.setAttribute("aria-label", row ? row.dataset.paramName : "Response format");
    }
    for (const one of document.querySelectorAll("#swagger-ui :is(h3, h4, h5, h6):not([aria-level])")) {
      one.setAttribute("role", "heading");
      one.setAttribute("aria-level", Number(one.tagName[1]) - 1);
    }
  };
  new MutationObserver(mend).observe(root, { childList: true, subtree: true });
})();
