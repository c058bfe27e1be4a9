// The three gradients of a fully connected layer: the reader chooses an element, and sees what it is a sum of.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const G = [[1, 2], [3, -1]], X = [[1, 2, 3], [4, 5, 6]], W = [[1, -1, 2], [3, 1, -2]];
    const SIZE = 34, TOP = 20, PLACES = { grad_output: [12, 0], input: [150, 0], weights: [150, 116], result: [290, 0] };
    const GIVEN = { grad_output: G, input: X, weights: W };
    // For each result: rows and columns, and for an element the factors of each term, as [tensor, row, column].
    const RESULTS = {
        grad_weights: [2, 3, (j, i) => [0, 1].map(b => [["grad_output", b, j], ["input", b, i]])],
        grad_bias: [1, 2, (_, j) => [0, 1].map(b => [["grad_output", b, j]])],
        grad_input: [2, 3, (b, i) => [0, 1].map(j => [["grad_output", b, j], ["weights", j, i]])],
    };

    define("play-dense", class extends Figure {
        label = "Three gradients of a layer";

        build() {
            this.result = this.choice("gradient of", [["weights", "grad_weights"], ["biases", "grad_bias"], ["input", "grad_input"]]);
            this.row = this.slider("row", { min: 0, max: 1, value: 0 });
            this.column = this.slider("column", { min: 0, max: 2, value: 1 });
            this.onDrag((x, y) => {
                this.row.value = Math.floor((y - TOP) / SIZE);
                this.column.value = Math.floor((x - PLACES.result[0]) / SIZE);
            });
        }

        update() {
            const name = this.result.value, [rows, columns, terms] = RESULTS[name];
            this.row.limit(rows - 1);
            this.column.limit(columns - 1);
            const row = this.row.value, column = this.column.value;
            const value = factors => factors.reduce((product, [of, r, c]) => product * GIVEN[of][r][c], 1);
            const sum = list => list.reduce((total, factors) => total + value(factors), 0);
            const own = terms(row, column), read = new Set(own.flat().map(String));
            const table = (title, [left, top], values, style) => text(left + values[0].length * SIZE / 2, top + 8, title)
                + values.map((line, r) => line.map((v, c) => cell(left + c * SIZE, TOP + top + r * SIZE, SIZE, SIZE, String(v).replace("-", "−"), style(r, c))).join("")).join("");
            let markup = Object.entries(GIVEN).map(([of, values]) => table(of, PLACES[of], values, (r, c) => read.has(String([of, r, c])) ? "read" : "")).join("");
            const results = Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => sum(terms(r, c))));
            markup += table(name, PLACES.result, results, (r, c) => r === row && c === column ? "mine" : "");
            this.draw(PLACES.result[0] + 3 * SIZE, TOP + PLACES.weights[1] + 2 * SIZE, markup, `The element in row ${row}, column ${column} of ${name} is ${sum(own)}.`);
            const shown = own.map(factors => factors.map(([of, r, c]) => String(GIVEN[of][r][c]).replace("-", "−")).join(" · "));
            this.say(`${name}[${name === "grad_bias" ? column : `${row}, ${column}`}] = ${shown.join(" + ")} = ${String(sum(own)).replace("-", "−")}. Summed over ${name === "grad_input" ? "the outputs, the columns of grad_output" : "the samples, the rows of grad_output"}.`);
        }
    });
}
