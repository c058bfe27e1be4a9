// Puts the link that skips to the text before everything else that the Tab key reaches, and gives it a target; and keeps
// together what a line break would tear: an option behind its hyphens, and in tables a number and its unit.
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

    for (const code of document.querySelectorAll("main :not(pre) > code")) {
        if (!/(^|\s)-/.test(code.textContent)) continue;
        code.replaceChildren(...code.textContent.split(/(\s+)/).map(word => {
            if (!word.startsWith("-")) return word;
            const option = document.createElement("span");
            option.className = "option";
            option.textContent = word;
            return option;
        }));
    }

    const QUANTITY = /([\d½]) (?=(?:µs|ms|s|min|h|[KMG]i?B|bytes|[KMGT]?FLOP\/s|[MGT]B\/s|· 10)(?!\w))/g;
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        if (texts.currentNode.parentElement.closest("td"))
            texts.currentNode.data = texts.currentNode.data.replace(QUANTITY, "$1\u00a0").replace("· 10", "·\u00a010");
    }
});
