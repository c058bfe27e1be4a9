// Renders the book's maths with KaTeX, which head.hbs loads.
//
//   display   a fenced code block with the language `math`
//   inline    a code span between dollar signs:  $`x_i`$
//
// Markdown leaves the inside of code alone, so no underscore or backslash of a formula is ever
// taken for markup. GitHub renders the same two forms.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    if (typeof katex === "undefined") return; // without KaTeX the formulas stay readable as TeX

    function render(tex, display) {
        const element = document.createElement(display ? "div" : "span");
        element.className = display ? "math-display" : "math-inline";
        katex.render(tex.trim(), element, { displayMode: display, throwOnError: false });
        return element;
    }

    for (const code of document.querySelectorAll("pre > code.language-math")) {
        code.parentElement.replaceWith(render(code.textContent, true));
    }

    for (const code of document.querySelectorAll("code")) {
        const before = code.previousSibling;
        const after = code.nextSibling;
        const isMath = before?.nodeType === Node.TEXT_NODE && before.data.endsWith("$")
            && after?.nodeType === Node.TEXT_NODE && after.data.startsWith("$");
        if (!isMath) continue;
        before.data = before.data.slice(0, -1);
        after.data = after.data.slice(1);
        code.replaceWith(render(code.textContent, false));
    }
});
