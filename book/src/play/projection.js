// The gradient of LayerNorm as a projection in three dimensions, beside the diagonal of the Jacobian.
"use strict";

{
    const { Figure, define, shown, text } = Play;
    const WIDTH = 440, HEIGHT = 320, UNIT = 42, PITCH = 0.45;
    const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
    const cross = ([a, b, c], [d, e, f]) => [b * f - c * e, c * d - a * f, a * e - b * d];

    define("play-projection", class extends Figure {
        label = "The gradient of LayerNorm in three dimensions";

        build() {
            this.g = [1, 3, -1].map((value, i) => this.slider(`g${"₁₂₃"[i]}`, { min: -3, max: 3, step: 0.25, value, show: shown }));
            this.row = this.slider("direction of x̂", { min: 0, max: 360, step: 5, value: 30, show: value => `${value}°` });
            this.turn = this.slider("turn the picture", { min: 0, max: 360, step: 5, value: 240, show: value => `${value}°` });
            this.onDrag(x => { this.turn.value = Math.round(x / WIDTH * 72) * 5; });
        }

        update() {
            const g = this.g.map(slider => slider.value), angle = this.row.value * Math.PI / 180;
            const [c, s] = [Math.cos(angle), Math.sin(angle)];
            // Mean 0 and standard deviation 1: a circle around (1, 1, 1).
            const x = [c * Math.sqrt(1.5) + s * Math.sqrt(0.5), -c * Math.sqrt(1.5) + s * Math.sqrt(0.5), -2 * s * Math.sqrt(0.5)];
            const mean = dot(g, [1, 1, 1]) / 3, along = dot(g, x) / 3;
            const right = g.map((value, i) => value - mean - x[i] * along);
            const diagonal = g.map((value, i) => value * (1 - 1 / 3 - x[i] * x[i] / 3));
            const free = cross(x, [1, 1, 1]).map(value => value / 3);
            const end = (v, name, style) => this.arrow(v, name, style);
            const middle = this.place([0, 0, 0]);
            const line = (v, style, name) => {
                const [a, b] = [this.place(v.map(value => -2 * value)), this.place(v.map(value => 2 * value))];
                return `<path d="M${a} L${b}" class="${style}"></path>${text(b[0], b[1] - 9, name)}`;
            };
            const [tip, foot] = [this.place(g), this.place(right)];
            this.draw(WIDTH, HEIGHT, `${line([1, 1, 1], "wire pad", "(1, 1, 1)")}${line(x, "wire pad", "x̂")}${line(free, "wire", "free")}
                <path d="M${tip} L${foot}" class="line"></path>
                ${end(g, "g", "frame")}${end(diagonal, "diagonal", "frame bad")}${end(right, "dx", "frame good")}
                <circle cx="${middle[0]}" cy="${middle[1]}" r="3" class="head"></circle>`,
                `The gradient g, its projection onto the line that is orthogonal to (1, 1, 1) and to the row, and the result of the diagonal.`);
            const row = vector => vector.map(value => shown(Math.round(value * 100) / 100)).join(", ");
            const sum = vector => shown(Math.round(dot(vector, [1, 1, 1]) * 100) / 100), off = vector => shown(Math.round(dot(vector, x) * 100) / 100);
            this.say(`x̂ = (${row(x)}). Right: dx = (${row(right)}), with the sum ${sum(right)} and dx · x̂ = ${off(right)}. Diagonal only: (${row(diagonal)}), with the sum ${sum(diagonal)} and ${off(diagonal)}.`);
        }

        // Where a point of space lies in the picture.
        place([a, b, c]) {
            const turn = this.turn.value * Math.PI / 180;
            const across = a * Math.cos(turn) - b * Math.sin(turn), depth = a * Math.sin(turn) + b * Math.cos(turn);
            return [WIDTH / 2 + UNIT * across, HEIGHT / 2 - UNIT * (c * Math.cos(PITCH) - depth * Math.sin(PITCH))].map(value => Math.round(value * 10) / 10);
        }

        arrow(vector, name, style) {
            const [x0, y0] = this.place([0, 0, 0]), [x, y] = this.place(vector), length = Math.hypot(x - x0, y - y0);
            if (length < 1) return "";
            const [dx, dy] = [(x - x0) / length, (y - y0) / length];
            const corner = side => `${(x - 9 * dx + side * 4 * dy).toFixed(1)} ${(y - 9 * dy - side * 4 * dx).toFixed(1)}`;
            return `<path d="M${x0} ${y0} L${x} ${y} M${corner(1)} L${x} ${y} L${corner(-1)}" class="${style}"></path>${text(x + 12 * dx + (dx < 0 ? -14 : 14), y + 12 * dy, name, "halo")}`;
        }
    });
}
