// A sum that is kept in half precision, addition by addition, beside the exact one.
"use strict";

{
    const { Figure, define, shown, text } = Play;
    const MOST = 4500, WIDTH = 440, HEIGHT = 220, LEFT = 40, RIGHT = 430, TOP = 16, BOTTOM = 190;

    // Distance from a positive half to the next one.
    const spacing = value => 2 ** (Math.max(-14, Math.floor(Math.log2(value))) - 10);

    // The half nearest to a positive number; of two that are as near, the even one.
    function half(value) {
        if (value === 0) return 0;
        const unit = spacing(value), units = value / unit, below = Math.floor(units), rest = units - below;
        return (below + (rest > 0.5 || rest === 0.5 && below % 2 ? 1 : 0)) * unit;
    }

    define("play-halfsum", class extends Figure {
        label = "A sum in half precision";

        build() {
            this.term = this.choice("add", [["0.01", 0.01], ["0.1", 0.1], ["1", 1]]);
            this.count = this.slider("additions", { min: 0, max: MOST, value: 1600 });
            this.steps(this.count, (value, direction) => value + 25 * direction);
        }

        update() {
            const term = half(this.term.value);
            if (this.added !== term) {
                this.added = term;
                this.sums = [0];
                for (let i = 0; i < MOST; i++) this.sums.push(half(this.sums[i] + term));
                this.stall = this.sums.findIndex((sum, i) => i > 0 && sum === this.sums[i - 1]) - 1;
            }
            const count = this.count.value, sum = this.sums[count], top = MOST * term;
            const x = i => LEFT + i / MOST * (RIGHT - LEFT), y = value => BOTTOM - value / top * (BOTTOM - TOP);
            const points = [];
            // A straight piece needs only its ends.
            for (let i = 0; i <= MOST; i += 25) {
                const bends = this.sums[i + 25] - this.sums[i] !== this.sums[i] - this.sums[i - 25];
                if (bends) points.push(`${x(i).toFixed(1)} ${y(this.sums[i]).toFixed(1)}`);
            }
            let grid = "";
            // Each power of two, where the spacing of halves doubles.
            for (let power = 2 ** Math.floor(Math.log2(top)), lines = 0; lines < 3; power /= 2, lines++) {
                grid += `<path d="M${LEFT} ${y(power)} H${RIGHT}" class="cell"></path>` + text(LEFT - 5, y(power), power, "end");
            }
            this.draw(WIDTH, HEIGHT, `${grid}<path d="M${x(0)} ${y(0)} L${x(MOST)} ${y(top)}" class="wire"></path>
                <path d="M${points.join(" L")}" class="frame"></path><path d="M${x(count)} ${TOP - 8} V${BOTTOM}" class="line"></path>
                <circle cx="${x(count)}" cy="${y(sum)}" r="5" class="cell mine"></circle>
                ${text(LEFT, BOTTOM + 14, 0)}${text(x(2000), BOTTOM + 14, 2000)}${text(x(3000), BOTTOM + 14, "additions")}${text(x(4000), BOTTOM + 14, 4000)}
                ${text(x(3300), y(3300 * term) - 16, "exact", "end")}${text(RIGHT, y(this.sums[MOST]) + 14, "in half", "end")}`,
                `The sum of ${count} terms in half is ${shown(sum)}, the exact sum ${shown(count * term)}.`);
            const next = this.sums[Math.min(count + 1, MOST)] - sum;
            const step = sum === 0 ? "" : ` Halves near it are ${shown(spacing(sum))} apart: the next addition of ${this.term.value} adds ${count < MOST ? shown(next) : shown(half(sum + term) - sum)}.`;
            const stalled = this.stall >= 0 && count >= this.stall ? ` The sum has been ${shown(sum)} since addition ${this.stall}.` : "";
            this.say(`After ${count} additions: ${shown(sum)} in half, ${shown(count * term)} exactly.${step}${stalled}`);
        }
    });
}
