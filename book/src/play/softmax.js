// The softmax of four logits in float, with the number that is subtracted in the reader's hand.
"use strict";

{
    const { Figure, cell, define, shown, text } = Play;
    const LOGITS = [2, 1, -1, 0.5], NAMES = ["class 0", "class 1", "class 2", "class 3"];
    const ROW = 34, WIDTH = 440, BAR = 55;
    const float = Math.fround;

    define("play-softmax", class extends Figure {
        label = "Softmax in float";

        build() {
            const range = { min: -120, max: 120, step: 0.5 };
            this.logits = LOGITS.map((value, c) => this.slider(`logit of ${NAMES[c]}`, { ...range, value }));
            this.subtract = this.choice("subtract", [["the largest logit", "largest"], ["nothing", "zero"], ["max(0, largest)", "from zero"], ["m of your choice", "own"]]);
            this.own = this.slider("m", { ...range, value: 0 });
            this.target = this.choice("right class", NAMES.map((_, c) => [String(c), c]));
        }

        update() {
            const z = this.logits.map(slider => slider.value), largest = Math.max(...z);
            const m = { largest, zero: 0, "from zero": Math.max(0, largest), own: this.own.value }[this.subtract.value];
            this.own.input.disabled = this.subtract.value !== "own";
            const powers = z.map(value => float(Math.exp(float(value - m))));
            const sum = powers.reduce((a, b) => float(a + b), 0);
            const probs = powers.map(power => float(power / sum));
            const right = this.target.value;
            let markup = ["z − m", "exp", "probs", "probs − labels"].map((title, i) => text([105, 180, 260, 372][i], 8, title)).join("");
            const bars = probs.map((p, c) => p - (c === right ? 1 : 0));
            z.forEach((value, c) => {
                const y = 20 + c * ROW, middle = y + ROW / 2;
                const bad = number => Number.isFinite(number) ? "" : "wrong";
                markup += text(0, middle, NAMES[c], "start") + text(105, middle, shown(value - m));
                markup += cell(146, y + 4, 68, ROW - 8, shown(powers[c]), bad(powers[c])) + cell(224, y + 4, 72, ROW - 8, shown(probs[c], 3), bad(probs[c]));
                const length = Number.isFinite(bars[c]) ? bars[c] * BAR : 0;
                markup += `<rect x="${372 + Math.min(0, length)}" y="${y + 7}" width="${Math.abs(length)}" height="${ROW - 14}" class="cell mine"></rect>`;
                markup += text(length > 0 || !Number.isFinite(bars[c]) ? 366 : 378, middle, shown(bars[c], 2), length > 0 || !Number.isFinite(bars[c]) ? "end" : "start");
            });
            const bottom = 20 + 4 * ROW;
            markup += `<path d="M372 18 V${bottom}" class="wire"></path>` + text(0, bottom + 14, "sum", "start") + cell(146, bottom + 3, 68, 24, shown(sum), Number.isFinite(sum) && sum > 0 ? "" : "wrong");
            const loss = -Math.log(Math.max(probs[right], 1e-10));
            markup += text(224, bottom + 14, `loss ${shown(loss, 3)}`, "start");
            this.draw(WIDTH, bottom + 30, markup, `Four logits, their exponentials, probabilities and gradients; the loss is ${shown(loss, 3)}.`);
            this.say(this.verdict(powers, sum, probs));
        }

        verdict(powers, sum, probs) {
            if (powers.includes(Infinity)) return "An exponential is above 3.4 · 10³⁸, the largest float: infinity. Infinity divided by infinity is NaN.";
            if (sum === Infinity) return "Every exponential is a float, but their sum is not: infinity. All probabilities become 0.";
            if (sum === 0) return "All exponentials are below the smallest float and round to 0: 0 / 0 is NaN.";
            const zeros = probs.filter(p => p === 0).length;
            return `The probabilities add up to 1, the gradients to 0.${zeros ? ` ${zeros} so small that it rounds to 0, which is correct.` : ""}`;
        }
    });
}
