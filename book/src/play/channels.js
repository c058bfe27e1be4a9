// The sectors that a warp reads in puzzle 29 for one product, by the order of the threads and the number of channels.
"use strict";

{
    const { Figure, cell, define, text } = Play;
    const SECTOR = 16, BOX = 48, ACROSS = 9, WIDTH = 440; // halves of a sector; its drawn width; sectors side by side

    // The halves that each sector of these addresses is used for, in order of the addresses.
    function sectors(addresses) {
        const used = new Map();
        for (const address of addresses) {
            const sector = Math.floor(address / SECTOR);
            if (!used.has(sector)) used.set(sector, new Set());
            used.get(sector).add(address % SECTOR);
        }
        return [...used.entries()].sort(([a], [b]) => a - b).map(([, halves]) => halves);
    }

    define("play-channels", class extends Figure {
        label = "Sectors of a warp's loads";

        build() {
            this.order = this.choice("threads run through", [["the channels first", "channel"], ["the columns first", "column"]]);
            this.channels = this.slider("C = K", { min: 3, max: 7, value: 7, show: power => String(2 ** power) });
        }

        update() {
            const channels = 2 ** this.channels.value, byChannel = this.order.value === "channel";
            // Lane i has the channel c and the pixel w of the input's gradient; all read k = 0 of the same weight (kh, kw).
            const lanes = Array.from({ length: 32 }, (_, i) => byChannel ? { c: i % channels, w: Math.floor(i / channels) } : { c: 0, w: i });
            const weights = sectors(lanes.map(({ c }) => c)), gradients = sectors(lanes.map(({ w }) => w * channels));
            let y = 14, markup = "";
            for (const [title, all] of [["grad_output[n, oh, ow, k]", gradients], ["weights[k, kh, kw, c]", weights]]) {
                markup += text(0, y, `${title}: ${all.length} ${all.length > 1 ? "sectors" : "sector"}`, "start");
                all.forEach((halves, i) => {
                    const x = i % ACROSS * (BOX + 1), top = y + 12 + Math.floor(i / ACROSS) * 18;
                    markup += cell(x, top, BOX, 14, "", "read");
                    for (const half of halves) markup += `<rect x="${x + half * BOX / SECTOR}" y="${top}" width="${BOX / SECTOR}" height="14" class="solid"></rect>`;
                });
                y += 12 + Math.ceil(all.length / ACROSS) * 18 + 18;
            }
            const count = gradients.length + weights.length;
            const useful = new Set(lanes.map(({ w }) => w)).size + new Set(lanes.map(({ c }) => c)).size;
            this.draw(WIDTH, y - 14, markup, `A warp's loads for one product touch ${count} sectors, and use ${2 * useful} of ${32 * count} bytes.`);
            this.say(`For each product a warp reads ${count} sectors: ${32 * count} bytes, of which it uses ${2 * useful}. Orange is used, blue is fetched besides.${count > 6 ? " The specification allows 6." : ""}`);
        }
    });
}
