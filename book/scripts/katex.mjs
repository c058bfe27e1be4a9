// Makes book/src/katex, the part of KaTeX that the book needs, of its sources. Needs Node and npm.
//
//     node book/scripts/katex.mjs
//
// What goes is what needs a font that the book does not have (\mathbb, the symbols of AMS), stretched signs other than arrows and braces,
// macros that no formula uses, and functions that no book needs (links, pictures, colours, tags). Every formula of the book must give
// what the whole of KaTeX makes of it. A formula that uses a new macro is red in the book, and `.ci/run figures` fails: run this again.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const VERSIONS = ["katex@0.19.1", "esbuild@0.28.2"];
const FONTS = ["Main-Regular", "Math-Italic", "Size1-Regular", "Size2-Regular", "Size3-Regular", "Size4-Regular"];
const STRETCHED = ["xleftarrow", "xrightarrow", "xRightarrow", "overrightarrow", "overbrace", "underbrace"];
const FUNCTIONS = [
    "environments/cd", ...["accentunder", "color", "hbox", "href", "html", "includegraphics", "pmb", "reflectbox", "tag", "vcenter", "verb"]
        .map(name => `functions/${name}`),
];
// Of the sizes of a formula, which the style sheet has for each pair: script's script, script, text.
const SIZES = ["1", "3", "6"];
// Parts of the style sheet that only a dropped font or function needs.
const RULES = /KaTeX_(AMS|Caligraphic|Fraktur|SansSerif|Script|Typewriter)|\.(cd-|halfarrow|cancel|angl|reflectbox|eqn-num|mml-eqn|mtr-glue|katex-tag|katex-sout|fcolorbox\{|textbf|textit|mathbf|boldsymbol)|counter-reset|katex img|fleqn/;

const BOOK = path.resolve(import.meta.dirname, "..");
const OUT = path.join(BOOK, "src/katex");
const WORK = path.resolve(BOOK, "../target/katex");

function formulas() {
    const found = [];
    for (const name of fs.readdirSync(path.join(BOOK, "src")).filter(name => name.endsWith(".md"))) {
        const text = fs.readFileSync(path.join(BOOK, "src", name), "utf8");
        for (const [, tex] of text.matchAll(/^```math\n([^]*?)^```/gm)) found.push([tex.trim(), true]);
        for (const [, tex] of text.matchAll(/\$`([^`]*)`\$/g)) found.push([tex.trim(), false]);
    }
    return found;
}

const words = text => text.match(/\\[a-zA-Z@]+|\\?[^]/g) ?? [];
const isStretched = name => STRETCHED.includes(name.replace(/^\\+/, ""));

/** Macros that are texts, without those that neither a formula nor another macro uses. */
function macros(source, used) {
    const texts = /^defineMacro\(\s*"((?:\\.|[^"\\])*)",\s*("(?:\\.|[^"\\])*"(?:\s*\+\s*"(?:\\.|[^"\\])*")*)\);/gm;
    const all = new Map();
    const rest = source.replace(texts, (_, name, body) => (all.set(JSON.parse(`"${name}"`), words(body.replaceAll("\\\\", "\\"))), ""));
    const needed = new Set([...used, ...words(rest.replace(/\/\/.*/g, "").replaceAll("\\\\", "\\"))]);
    for (const name of needed) for (const word of all.get(name) ?? []) needed.add(word);
    return source.replace(texts, (text, name) => needed.has(JSON.parse(`"${name}"`)) ? text : "");
}

/** The shapes of stretched signs, in the sources that name them. */
const stretched = {
    "stretchy.ts": source => source.replace(/^    "?([\\\w]+)"?: (\[\[[^]*?\][,\s]*[\d.]+, \d+(?:, "\w+")?\]|"[^"]*"),.*\n/gm, (text, name) => isStretched(name) ? text : ""),
    "arrow.ts": source => source.replace(/"\\\\(x|\\\\cd)\w+",/g, text => isStretched(JSON.parse(text.slice(0, -1))) ? text : ""),
    "accent.ts": source => source.replace(/"\\\\(over|Over|wide)\w+",/g, text => isStretched(JSON.parse(text.slice(0, -1))) ? text : ""),
    "horizBrace.ts": source => source.replace(/"\\\\(over|under)bracket",?/g, ""),
    "svgGeometry.ts": source => {
        const kept = /^(left|right)arrow$|^doublerightarrow$|^(left|mid|right)brace(under)?$|^vec$/;
        return source.replace(/^    (\w+): (?:doubleBrushStroke\()?`[^`]*`\)?,\n/gm, (text, name) => kept.test(name) ? text : "");
    },
};

function changed(file, source, used) {
    const name = path.basename(file);
    if (name === "fontMetricsData.js") {
        const all = Function(source.replace("export default", "return"))();
        return `export default ${JSON.stringify(Object.fromEntries(FONTS.map(font => [font, all[font]])))}`;
    }
    if (name === "symbols.ts") return source.replace(/^defineSymbol\(\w+, ams, .*\);.*$/gm, "");
    if (name === "functions.ts") return FUNCTIONS.reduce((text, name) => text.replace(`import "./${name}";`, ""), source);
    if (name === "macros.ts") return macros(source, used);
    return stretched[name]?.(source);
}

fs.mkdirSync(WORK, { recursive: true });
execFileSync("npm", ["install", "--silent", "--no-save", "--prefix", WORK, ...VERSIONS], { stdio: "inherit" });
const load = createRequire(path.join(WORK, "index.js"));
const katex = path.join(WORK, "node_modules/katex");
const all = formulas();
const used = new Set(all.flatMap(([tex]) => words(tex)));

await load("esbuild").build({
    entryPoints: [path.join(katex, "katex.ts")],
    outfile: path.join(OUT, "katex.min.js"),
    bundle: true,
    minify: true,
    charset: "utf8",
    target: "es2020",
    format: "iife",
    globalName: "katex",
    footer: { js: "katex=katex.default;" },
    define: { __VERSION__: JSON.stringify(load("katex/package.json").version) },
    plugins: [{
        name: "part",
        setup: build => build.onLoad({ filter: /katex.(src|katex).*\.(ts|js)$/ }, ({ path: file }) => {
            const contents = changed(file, fs.readFileSync(file, "utf8"), used);
            return contents === undefined ? undefined : { contents, loader: file.endsWith(".ts") ? "ts" : "js" };
        }),
    }],
});

const sheet = fs.readFileSync(path.join(katex, "dist/katex.min.css"), "utf8");
const rules = sheet.match(/[^{}]+\{[^{}]*\}/g).filter(rule => {
    const font = rule.match(/url\(fonts\/KaTeX_([\w-]+)\.woff2/);
    const sizes = rule.match(/\.reset-size(\d+)\.size(\d+)/);
    if (rule.startsWith("@font-face")) return FONTS.includes(font[1]);
    return sizes ? sizes.slice(1).every(size => SIZES.includes(size)) : !RULES.test(rule);
});
fs.writeFileSync(path.join(OUT, "katex.min.css"), rules.join("\n").replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, "") + "\n");
fs.mkdirSync(path.join(OUT, "fonts"), { recursive: true });
for (const font of FONTS) fs.copyFileSync(path.join(katex, `dist/fonts/KaTeX_${font}.woff2`), path.join(OUT, `fonts/KaTeX_${font}.woff2`));
fs.copyFileSync(path.join(katex, "LICENSE"), path.join(OUT, "LICENSE"));

const part = Function(`${fs.readFileSync(path.join(OUT, "katex.min.js"), "utf8")};return katex`)();
for (const [tex, displayMode] of all) {
    const [expected, got] = [load("katex"), part].map(katex => katex.renderToString(tex, { displayMode, throwOnError: false, strict: "ignore" }));
    if (expected !== got) throw new Error(`not as the whole of KaTeX shows it: ${tex}`);
}
console.log(`${all.length} formulas are as the whole of KaTeX shows them`);
