// A weight that is updated step by step: a master in float with its rounded copy, and a 16-bit weight alone.
"use strict";

{
    const { Figure, define, shown, text } = Play;
    const MOST = 40, WIDTH = 400, LEFT = 24, RIGHT = 376, LINES = [52, 168];

    define("play-master", class extends Figure {
        label = "Steps of a weight in 16 bits";

        build() {
            this.bits = this.choice("type", [["half", 11], ["bfloat16", 8]]);
            this.start = this.choice("weight", [["1", 1], ["0.3", 0.3], ["8", 8]]);
            this.size = this.choice("step", [["0.0001", 1e-4], ["0.0003", 3e-4], ["0.001", 1e-3]]);
            this.count = this.slider("steps", { min: 0, max: MOST, value: 10 });
            this.steps(this.count, (value, direction) => value + direction);
        }

        // The distance of neighbouring 16-bit numbers just below a value.
        spacing(value) {
            return 2 ** (Math.ceil(Math.log2(value)) - this.bits.value);
        }

        // The nearest 16-bit number; of two that are as near, the even one.
        round(value) {
            const unit = 2 ** (Math.floor(Math.log2(value)) + 1 - this.bits.value), below = Math.floor(value / unit), rest = value / unit - below;
            return (below + (rest > 0.5 || rest === 0.5 && below % 2 ? 1 : 0)) * unit;
        }

        update() {
            const size = Math.fround(this.size.value), start = this.round(this.start.value), count = this.count.value;
            const masters = [start], alone = [start];
            for (let i = 0; i < MOST; i++) {
                masters.push(Math.fround(masters[i] - size));
                alone.push(this.round(Math.fround(alone[i] - size)));
            }
            const unit = this.spacing(start), low = Math.min(start - 4.5 * unit, masters[MOST], alone[MOST]);
            const x = value => RIGHT - (start - value) / (start - low) * (RIGHT - LEFT);
            const copy = this.round(masters[count]);
            let markup = text(0, 10, "master in float, and its copy", "start") + text(0, 128, "the 16-bit weight alone", "start");
            for (const y of LINES) {
                markup += `<path d="M${LEFT - 16} ${y}H${RIGHT + 8}" class="wire"></path>`;
                for (let value = start; value >= low; value -= unit) markup += `<path d="M${x(value).toFixed(1)} ${y - 8}v16" class="cell"></path>`;
                markup += text(x(start), y + 20, shown(start, 6));
            }
            const dot = (value, y, style, radius) => `<circle cx="${x(value).toFixed(1)}" cy="${y}" r="${radius}" class="cell ${style}"></circle>`;
            for (let i = 0; i < count; i++) markup += dot(masters[i], LINES[0], "", 2);
            markup += `<path d="M${x(copy).toFixed(1)} ${LINES[0] - 12}v24" class="frame"></path>` + dot(masters[count], LINES[0], "mine", 5);
            markup += `<path d="M${x(alone[count]).toFixed(1)} ${LINES[1] - 12}v24" class="frame"></path>` + dot(alone[count], LINES[1], "mine", 5);
            const ideal = start - count * this.size.value;
            markup += `<path d="M${x(ideal).toFixed(1)} ${LINES[1] - 16}v8" class="line"></path>` + text(x(ideal), LINES[1] - 24, "should be", x(ideal) > 330 ? "end" : "");
            this.draw(WIDTH, 200, markup, `After ${count} steps the master is ${shown(masters[count], 6)}, its copy ${shown(copy, 6)}, and the 16-bit weight alone ${shown(alone[count], 6)}.`);
            const first = start - alone[1], fate = first === 0 ? `less than half of that, ${shown(unit / 2, 3)}, is lost: alone the weight never moves`
                : `here a step of ${shown(this.size.value)} becomes one of ${shown(first, 3)}`;
            this.say(`After ${count} steps: master ${shown(masters[count], 6)}, copy ${shown(copy, 6)}, alone ${shown(alone[count], 6)}. Below ${shown(start, 6)} the 16-bit numbers are ${shown(unit, 3)} apart; ${fate}.`);
        }
    });
}
