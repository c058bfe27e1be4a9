//! Renders LaTeX for a terminal: `\frac{\partial L}{\partial w}` becomes `∂L/∂w`.
//!
//! Supports what the book uses. An unknown command is shown by its name.

use std::iter::Peekable;
use std::str::Chars;

/// Commands and the texts that replace them, with and without characters beyond ASCII.
const SYMBOLS: [(&str, &str, &str); 58] = [
    ("cdot", "·", "*"),
    ("times", "×", "x"),
    ("odot", "⊙", "(.)"),
    ("div", "÷", "/"),
    ("pm", "±", "+-"),
    ("le", "≤", "<="),
    ("leq", "≤", "<="),
    ("ge", "≥", ">="),
    ("geq", "≥", ">="),
    ("ne", "≠", "!="),
    ("neq", "≠", "!="),
    ("approx", "≈", "~="),
    ("equiv", "≡", "=="),
    ("in", "∈", "in"),
    ("to", "→", "->"),
    ("rightarrow", "→", "->"),
    ("leftarrow", "←", "<-"),
    ("mapsto", "↦", "->"),
    ("Rightarrow", "⇒", "=>"),
    ("partial", "∂", "d"),
    ("nabla", "∇", "grad "),
    ("infty", "∞", "inf"),
    ("sum", "Σ", "sum"),
    ("prod", "Π", "prod"),
    ("int", "∫", "int"),
    ("dots", "…", "..."),
    ("ldots", "…", "..."),
    ("cdots", "…", "..."),
    ("vdots", "⋮", "..."),
    ("langle", "⟨", "<"),
    ("rangle", "⟩", ">"),
    ("lfloor", "⌊", "floor("),
    ("rfloor", "⌋", ")"),
    ("lceil", "⌈", "ceil("),
    ("rceil", "⌉", ")"),
    ("lvert", "|", "|"),
    ("rvert", "|", "|"),
    ("mid", "|", "|"),
    ("top", "ᵀ", "T"),
    ("alpha", "α", "alpha"),
    ("beta", "β", "beta"),
    ("gamma", "γ", "gamma"),
    ("delta", "δ", "delta"),
    ("Delta", "Δ", "Delta"),
    ("epsilon", "ε", "epsilon"),
    ("varepsilon", "ε", "epsilon"),
    ("eta", "η", "eta"),
    ("theta", "θ", "theta"),
    ("lambda", "λ", "lambda"),
    ("mu", "μ", "mu"),
    ("pi", "π", "pi"),
    ("rho", "ρ", "rho"),
    ("sigma", "σ", "sigma"),
    ("tau", "τ", "tau"),
    ("phi", "φ", "phi"),
    ("omega", "ω", "omega"),
    ("land", "∧", "and"),
    ("lor", "∨", "or"),
];

/// Commands whose text has no blank after it.
const OPENING: [&str; 5] = ["partial", "nabla", "langle", "lfloor", "lceil"];
const CLOSING: [&str; 3] = ["rangle", "rfloor", "rceil"];

/// Commands that only set type or spacing, and have no text.
const SILENT: [&str; 17] = [
    "left",
    "right",
    "bigl",
    "bigr",
    "Bigl",
    "Bigr",
    "biggl",
    "biggr",
    "big",
    "Big",
    "displaystyle",
    "limits",
    "nolimits",
    "!",
    "hline",
    "middle",
    "textstyle",
];

/// `latex` as text, with several rows if it has several.
pub fn text(latex: &str, unicode: bool) -> String {
    let mut reader = Reader { chars: latex.chars().peekable(), unicode };
    // `\partial\,x`: the thin space of print is too wide here.
    let rows = reader.sequence(None).replace("∂ ", "∂");
    let rows = rows.lines().map(squeeze).filter(|row| !row.trim().is_empty());
    rows.collect::<Vec<_>>().join("\n")
}

/// Shortens runs of blanks inside a row to one; those at its start stay, because they indent it.
fn squeeze(row: &str) -> String {
    let indent = row.len() - row.trim_start().len();
    let words: Vec<&str> = row.split_whitespace().collect();
    format!("{}{}", &row[..indent], words.join(" "))
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    unicode: bool,
}

impl Reader<'_> {
    /// Reads up to `end` or the end of the text.
    fn sequence(&mut self, end: Option<char>) -> String {
        let mut out = String::new();
        while let Some(c) = self.chars.next() {
            match c {
                _ if Some(c) == end => break,
                '{' => out.push_str(&self.sequence(Some('}'))),
                '\\' => self.command(&mut out),
                '_' => self.script(&mut out, "_"),
                '^' => self.script(&mut out, "^"),
                // Columns of an aligned formula.
                '&' => {}
                '~' => out.push(' '),
                c if c.is_whitespace() => {
                    if !out.ends_with([' ', '\n']) && !out.is_empty() {
                        out.push(' ');
                    }
                }
                c => out.push(c),
            }
        }
        out
    }

    /// The argument of a command: `{...}`, another command, or one character.
    fn argument(&mut self) -> String {
        while self.chars.peek().is_some_and(|c| c.is_whitespace()) {
            self.chars.next();
        }
        match self.chars.next() {
            Some('{') => self.sequence(Some('}')).trim().to_owned(),
            Some('\\') => {
                let mut out = String::new();
                self.command(&mut out);
                out
            }
            Some(c) => c.into(),
            None => String::new(),
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(char::is_ascii_alphabetic) {
            name.push(c);
        }
        if name.is_empty() {
            name.extend(self.chars.next());
        }
        name
    }

    fn command(&mut self, out: &mut String) {
        let name = self.name();
        match name.as_str() {
            "\\" => {
                // `\\[2pt]`: the distance to the next row.
                if self.chars.next_if_eq(&'[').is_some() {
                    self.sequence(Some(']'));
                }
                out.push('\n');
            }
            "begin" | "end" => {
                self.argument();
            }
            "quad" | "qquad" => out.push_str("  "),
            "," | ";" | ":" | " " => out.push(' '),
            "frac" | "dfrac" | "tfrac" => {
                let (over, under) = (self.argument(), self.argument());
                out.extend([atom(&over).as_str(), "/", &atom(&under)]);
            }
            "sqrt" => {
                let root = if self.unicode { "√" } else { "sqrt" };
                let argument = self.argument();
                out.extend([root, "(", &argument, ")"]);
            }
            "tilde" | "hat" | "bar" | "vec" | "dot" => {
                let argument = self.argument();
                out.push_str(&self.accented(&argument, &name));
            }
            "text" | "mathrm" | "mathbf" | "mathsf" | "mathit" | "mathbb" | "mathcal"
            | "operatorname" | "texttt" | "boxed" | "underbrace" | "mathtt" => {
                out.push_str(&self.argument());
            }
            name if SILENT.contains(&name) => {}
            name => match SYMBOLS.iter().find(|symbol| symbol.0 == name) {
                Some((_, unicode, ascii)) => {
                    if CLOSING.contains(&name) {
                        out.truncate(out.trim_end_matches(' ').len());
                    }
                    out.push_str(if self.unicode { unicode } else { ascii });
                    if OPENING.contains(&name) {
                        self.chars.next_if_eq(&' ');
                    }
                }
                None => out.push_str(name),
            },
        }
    }

    fn accented(&self, argument: &str, accent: &str) -> String {
        let mark = match accent {
            "tilde" => '\u{303}',
            "hat" => '\u{302}',
            "bar" => '\u{304}',
            "vec" => '\u{20d7}',
            _ => '\u{307}',
        };
        if self.unicode && argument.chars().count() == 1 {
            format!("{argument}{mark}")
        } else {
            format!("{accent}({argument})")
        }
    }

    /// Writes a subscript or superscript; the limits of a sum follow it in square brackets.
    fn script(&mut self, out: &mut String, kind: &str) {
        let argument = self.argument();
        if ["Σ", "Π", "sum", "prod", "max", "min"].iter().any(|big| out.ends_with(big))
            && kind == "_"
        {
            let limit = match self.chars.next_if_eq(&'^') {
                Some(_) => format!("{argument}..{}", self.argument()),
                None => argument,
            };
            out.extend(["[", &limit, "]"]);
            return;
        }
        let small = if kind == "_" { subscript } else { superscript };
        match argument.chars().map(small).collect::<Option<String>>() {
            Some(scripted) if self.unicode => out.push_str(&scripted),
            _ if argument.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                out.extend([kind, &argument]);
            }
            _ => out.extend([kind, "(", &argument, ")"]),
        }
    }
}

/// Puts `text` in brackets, unless it is a single symbol.
fn atom(text: &str) -> String {
    let single = text.chars().all(|c| c.is_alphanumeric() || "_∂[].²³₀₁₂".contains(c));
    let indexed = text.ends_with(']') && !text.contains(" + ") && !text.contains(" - ");
    if single || indexed { text.to_owned() } else { format!("({text})") }
}

fn subscript(c: char) -> Option<char> {
    let index = "0123456789+-=()ij".chars().position(|d| d == c)?;
    "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ᵢⱼ".chars().nth(index)
}

fn superscript(c: char) -> Option<char> {
    let index = "0123456789+-=()nTᵀ".chars().position(|d| d == c)?;
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿᵀᵀ".chars().nth(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_of_the_book() {
        for (latex, unicode, ascii) in [
            (r"\varepsilon = 10^{-3}", "ε = 10⁻³", "epsilon = 10^(-3)"),
            (r"0 \le h - fh < H_{out}", "0 ≤ h - fh < H_out", "0 <= h - fh < H_out"),
            (
                r"\frac{\partial L}{\partial\, \text{input}[b,c]}",
                "∂L/∂input[b,c]",
                "dL/d input[b,c]",
            ),
            (
                r"\sum_{k,\,fh} \tilde g[k] \cdot \text{grad\_input}",
                "Σ[k, fh] g̃[k] · grad_input",
                "sum[k, fh] tilde(g)[k] * grad_input",
            ),
            (r"\sum_{oh=0}^{2} x_i^2", "Σ[oh=0..2] xᵢ²", "sum[oh=0..2] x_i^2"),
            (r"\sqrt{\sigma^2 + \epsilon}", "√(σ² + ε)", "sqrt(sigma^2 + epsilon)"),
            (r"A^\top B_{k+1}", "Aᵀ B_(k+1)", "A^T B_(k+1)"),
            (r"\left( \frac{a}{b} \right)", "( a/b )", "( a/b )"),
            (r"\max(0, x)", "max(0, x)", "max(0, x)"),
            (r"\langle g, x \rangle", "⟨g, x⟩", "<g, x>"),
        ] {
            assert_eq!((text(latex, true), text(latex, false)), (unicode.into(), ascii.into()));
        }
    }

    #[test]
    fn rows_are_lines() {
        let latex = "\\begin{aligned}\n&a = \\\\\n&\\quad b + c \\\\[2pt]\n&d\n\\end{aligned}";
        assert_eq!(text(latex, true), "a =\n  b + c\nd");
    }

    #[test]
    fn broken_formulas_are_no_trouble() {
        for latex in ["", "\\", "{", "}", "\\frac{a", "x_", "x^{", "\\begin", "\\\\[", "_^_^"] {
            text(latex, true);
        }
    }
}
