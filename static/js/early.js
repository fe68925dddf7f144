// Runs before the page is drawn: says that scripts work, so that what needs them is shown.
"use strict";
document.documentElement.classList.add("js");
