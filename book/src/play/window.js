// The window of a convolution, which the reader drags over the image. With the attribute `weight` it is the gradient of the filter:
// the gradient of the output lies on the image, at the weight's place.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const SIDE = 5, FILTER = 3, OUT = SIDE - FILTER + 1, SIZE = 30;
    const FILTER_X = 185, OUT_X = 315, TOP = 20;
    const image = (h, w) => h * SIDE + w + 1, weight = (h, w) => h * FILTER + w + 1;

    define("play-window", class extends Figure {
        label = "The window of a convolution";

        build() {
            const backward = this.hasAttribute("weight");
            this.names = backward ? ["input", "grad_output", "grad_weights", "fh", "fw", 0] : ["input", "filter", "output", "oh", "ow", 100];
            this.row = this.slider(this.names[3], { min: 0, max: OUT - 1, value: backward ? 0 : 1 });
            this.column = this.slider(this.names[4], { min: 0, max: OUT - 1, value: backward ? 2 : 1 });
            this.onDrag((x, y) => {
                // The window's middle follows the pointer; an element of the result is chosen by itself.
                const inResult = x >= OUT_X - SIZE / 2;
                const place = (value, start) => Math.floor((value - start) / SIZE) - (inResult ? 0 : 1);
                this.row.value = place(y, TOP);
                this.column.value = place(x, inResult ? OUT_X : 0);
            });
        }

        update() {
            const oh = this.row.value, ow = this.column.value;
            const [input, filter, result, , , bias] = this.names;
            let markup = text(SIDE * SIZE / 2, 8, input) + text(FILTER_X + FILTER * SIZE / 2, 8, filter) + text(OUT_X + OUT * SIZE / 2, 8, result);
            const products = [];
            let sum = bias;
            for (let h = 0; h < SIDE; h++) {
                for (let w = 0; w < SIDE; w++) {
                    const [fh, fw] = [h - oh, w - ow];
                    const read = fh >= 0 && fh < FILTER && fw >= 0 && fw < FILTER;
                    markup += cell(w * SIZE, TOP + h * SIZE, SIZE, SIZE, image(h, w), read ? "read" : "");
                    if (!read) continue;
                    products.push(`${image(h, w)}·${weight(fh, fw)}`);
                    sum += image(h, w) * weight(fh, fw);
                    markup += cell(FILTER_X + fw * SIZE, TOP + fh * SIZE, SIZE, SIZE, weight(fh, fw), "read");
                }
            }
            markup += `<rect x="${ow * SIZE}" y="${TOP + oh * SIZE}" width="${FILTER * SIZE}" height="${FILTER * SIZE}" class="frame"></rect>`;
            for (let h = 0; h < OUT; h++) {
                for (let w = 0; w < OUT; w++) {
                    const own = h === oh && w === ow;
                    markup += cell(OUT_X + w * SIZE, TOP + h * SIZE, SIZE, SIZE, own ? sum : "", own ? "mine" : "");
                }
            }
            this.draw(OUT_X + OUT * SIZE, TOP + SIDE * SIZE, markup, `The window lies at row ${oh}, column ${ow}; the element of ${result} is ${sum}.`);
            this.say(`${result}[${oh}, ${ow}] = ${products.join(" + ")}${bias ? ` + ${bias}` : ""} = ${sum}`);
        }
    });
}
