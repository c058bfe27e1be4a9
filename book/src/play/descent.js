// Steps down a parabola, with the learning rate that the reader chooses.
"use strict";

{
    const { Figure, define, shown, text } = Play;
    const START = 0.8, WIDTH = 440, HEIGHT = 210, FLOOR = 175;

    define("play-descent", class extends Figure {
        label = "Gradient descent on a parabola";

        build() {
            this.rate = this.slider("learning rate", { min: 0, max: 2.5, step: 0.05, value: 0.5, show: value => value.toFixed(2) });
            this.count = this.slider("steps", { min: 0, max: 20, value: 4 });
            this.steps(this.count, (value, direction) => value + direction);
        }

        update() {
            const rate = this.rate.value, steps = this.count.value;
            // Distances to the target; the picture shows those up to 1.1.
            const at = Array.from({ length: steps + 1 }, (_, step) => START * (1 - rate) ** step);
            const x = distance => WIDTH / 2 + distance * 195, y = distance => FLOOR - distance * distance * 125;
            const curve = Array.from({ length: 89 }, (_, i) => (i - 44) / 40).map(d => `${x(d).toFixed(1)} ${y(d).toFixed(1)}`);
            const inside = at.filter(distance => Math.abs(distance) <= 1.1);
            const left = at.length > inside.length;
            const path = (left ? [...inside, 1.1 * Math.sign(at[inside.length])] : inside).map(d => `${x(d).toFixed(1)} ${y(d).toFixed(1)}`);
            const dots = inside.map((d, step) => `<circle cx="${x(d).toFixed(1)}" cy="${y(d).toFixed(1)}" r="${step === steps ? 6 : 4}" class="cell mine"></circle>`);
            this.draw(WIDTH, HEIGHT, `<path d="M${curve.join(" L")}" class="cell"></path>
                <path d="M${path.join(" L")}" class="frame"></path>${dots.join("")}
                <path d="M${WIDTH / 2} ${FLOOR} V${FLOOR + 10}" class="cell"></path>
                ${text(WIDTH / 2, FLOOR + 20, "target")}${text(x(START) - 4, y(START) - 14, "w")}`,
                `A parabola with ${steps} steps from the same weight; the last is ${shown(at.at(-1))} from the target.`);
            const factor = shown(Math.round((1 - rate) * 100) / 100);
            const what = rate === 0 ? "Nothing moves."
                : rate < 1 ? "The weight comes closer, on the same side."
                : rate === 1 ? "A single step arrives."
                : rate < 2 ? "The weight jumps to the other side each time, and comes closer."
                : rate === 2 ? "The weight jumps to and fro, and never comes closer."
                : "Each step leads further away: the training diverges.";
            this.say(`Each step multiplies the distance by 1 − ${rate.toFixed(2)} = ${factor}. After ${steps} steps it is ${shown(at.at(-1))}, from ${START}. ${what}`);
        }
    });
}
