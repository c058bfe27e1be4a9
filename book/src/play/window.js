// The window of a convolution, which the reader drags over the image.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const SIDE = 5, FILTER = 3, OUT = SIDE - FILTER + 1, BIAS = 100, SIZE = 30;
    const FILTER_X = 185, OUT_X = 315, TOP = 20;
    const image = (h, w) => h * SIDE + w + 1, weight = (h, w) => h * FILTER + w + 1;

    define("play-window", class extends Figure {
        label = "The window of a convolution";

        build() {
            this.row = this.slider("oh", { min: 0, max: OUT - 1, value: 1 });
            this.column = this.slider("ow", { min: 0, max: OUT - 1, value: 1 });
            this.onDrag((x, y) => {
                // The window's middle follows the pointer; an element of the output is chosen by itself.
                const inOutput = x >= OUT_X - SIZE / 2;
                const place = (value, start) => Math.floor((value - start) / SIZE) - (inOutput ? 0 : 1);
                this.row.value = place(y, TOP);
                this.column.value = place(x, inOutput ? OUT_X : 0);
            });
        }

        update() {
            const oh = this.row.value, ow = this.column.value;
            let markup = text(SIDE * SIZE / 2, 8, "input") + text(FILTER_X + FILTER * SIZE / 2, 8, "filter") + text(OUT_X + OUT * SIZE / 2, 8, "output");
            const products = [];
            let sum = BIAS;
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
            this.draw(OUT_X + OUT * SIZE, TOP + SIDE * SIZE, markup, `The window lies at row ${oh}, column ${ow}; the output element is ${sum}.`);
            this.say(`output[${oh}, ${ow}] = ${products.join(" + ")} + ${BIAS} = ${sum}`);
        }
    });
}
