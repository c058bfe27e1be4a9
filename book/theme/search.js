// Makes the book's search fit a workbook:
//
//   - hints, answers and solutions are not found: whoever searches for a word should not meet the answer
//   - names are found without their underscores and parentheses: "syncthreads" finds __syncthreads()
//   - formulas in the lines below a result are readable, not TeX
//
// mdBook builds the index and loads it at the first search. This changes what it has loaded.
"use strict";

(() => {
    if (typeof elasticlunr === "undefined") return;

    const HIDDEN = new Set(["Hints", "Exercises", "The solution", "Solution"]);
    const SYMBOLS = {
        cdot: "·", times: "×", odot: "⊙", le: "≤", ge: "≥", ne: "≠", approx: "≈", sum: "Σ", partial: "∂", infty: "∞",
        pm: "±", dots: "…", ldots: "…", rightarrow: "→", leftarrow: "←", varepsilon: "ε", eta: "η", gamma: "γ", beta: "β",
        mu: "μ", sigma: "σ", lambda: "λ", delta: "δ", ell: "ℓ", max: "max", min: "min", log: "log", ln: "ln", bmod: "mod",
        lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉", sqrt: "√", langle: "⟨", rangle: "⟩", mathsf: "", mathbf: "", mathrm: "",
    };

    // TeX as plain text: "\frac{a}{b}" becomes "a/b", "\text{input}[i]" becomes "input[i]".
    function plainTex(tex) {
        let before;
        do {
            before = tex;
            tex = tex
                .replace(/\\(?:begin|end)\s*\{[^{}]*\}(?:\{[|c]*\})?/g, " ")
                .replace(/\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, "$1/$2")
                .replace(/\\(?:under|over)(?:brace|set|line)\s*\{([^{}]*)\}/g, "$1")
                .replace(/\\(?:text|texttt|boxed|hat|tilde|mathsf|mathbf|mathrm)\s*\{([^{}]*)\}/g, "$1")
                .replace(/\\(?:hat|tilde)\s+(\w)/g, "$1")
                .replace(/([_^])\s*\{([^{}]*)\}/g, "$1$2");
        } while (tex !== before);
        return tex
            .replace(/\\xrightarrow\s*\{[^{}]*\}/g, "→")
            .replace(/\\([a-zA-Z]+)/g, (_, name) => SYMBOLS[name] ?? "")
            .replace(/\\[,;:! ]/g, " ")
            .replace(/\\_/g, "_")
            .replace(/\\\\(?:\[[^\]]*\])?/g, " ");
    }

    // The text of a section with its formulas made readable; code stays as it is.
    function readable(body) {
        return body
            .replace(/\$\s*([^$\n]*?)\$/g, (_, tex) => plainTex(tex).replace(/[{}&]/g, ""))
            .replace(/[^\s]*\\[a-zA-Z,;!\\][^\n]*?(?=(?:\. |\n|$| [A-Z][a-z]+ [a-z]+ ))/g, tex => plainTex(tex).replace(/[{}&]/g, ""))
            .replace(/ {2,}/g, " ");
    }

    // The names inside of words such as "__syncthreads();" or "atomicAdd(&dX[j],", in the form that the index has.
    function names(body) {
        const found = new Set();
        for (const word of body.split(/\s+/)) {
            if (/^[a-zA-Z]+[.,:;]?$/.test(word)) continue;
            for (const name of word.match(/[a-zA-Z]\w*[a-zA-Z0-9]/g) ?? [])
                if (name.length > 2) found.add(elasticlunr.stemmer(name.toLowerCase()));
        }
        return found;
    }

    const load = elasticlunr.Index.load;
    elasticlunr.Index.load = function (data) {
        const index = load.call(this, data);
        const hidden = new Set();
        for (const [ref, doc] of Object.entries(index.documentStore.docs)) {
            if (HIDDEN.has(doc.title)) {
                hidden.add(ref);
                continue;
            }
            for (const field of ["title", "body"])
                for (const name of names(doc[field]))
                    if (!index.index[field].hasToken(name) || !(ref in index.index[field].getDocs(name)))
                        index.index[field].addToken(name, { ref, tf: 1 });
            doc.body = readable(doc.body);
        }
        const search = index.search;
        index.search = (...query) => search.apply(index, query).filter(result => !hidden.has(result.ref));
        return index;
    };
})();
