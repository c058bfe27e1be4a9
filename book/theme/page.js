// Puts the link that skips to the text before everything else that the Tab key reaches, and gives it a target.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const main = document.querySelector("main");
    if (!main) return;
    main.id = "content-start";
    main.tabIndex = -1;
    const link = document.createElement("a");
    link.className = "skip-link";
    link.href = "#content-start";
    link.textContent = "Skip to the text";
    document.body.prepend(link);
});
