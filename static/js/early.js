// Runs before the first paint: marks that scripts work, so that controls that need them are shown.
"use strict";
document.documentElement.classList.add("js");
