// What the figures that the reader drives share. A figure is an element of its own, such as <play-descent>, around the
// still figure that stands there on paper and without JavaScript. Its class draws into one SVG, in the style of the still
// figures, and takes its controls from here: they are those of HTML, so keyboard and pointer work alike.
"use strict";

window.Play ??= (() => {
    // An element of HTML. `on` is what a click does.
    function html(tag, attributes = {}, ...children) {
        const element = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes)) {
            if (name === "on") element.addEventListener("click", value);
            else if (value !== false) element.setAttribute(name, value === true ? "" : value);
        }
        element.append(...children);
        return element;
    }

    // A rectangle with a text in its middle, as markup.
    function cell(x, y, width, height, text = "", style = "", extra = "") {
        const label = text === "" ? "" : `<text x="${x + width / 2}" y="${y + height / 2 + 0.5}" class="small">${text}</text>`;
        return `<rect x="${x}" y="${y}" width="${width}" height="${height}" class="cell ${style}" ${extra}></rect>${label}`;
    }

    // A text, as markup; it is small.
    function text(x, y, content, style = "") {
        const [left, top] = [x, y].map(value => Math.round(value * 10) / 10);
        return `<text x="${left}" y="${top}" class="small${style && ` ${style}`}">${content}</text>`;
    }

    // A number with a few digits; what is not finite by its name.
    function shown(value, digits = 4) {
        if (Number.isNaN(value)) return "NaN";
        if (!Number.isFinite(value)) return value > 0 ? "inf" : "−inf";
        if (value === 0) return "0";
        const size = Math.abs(value);
        const short = size >= 1e6 || size < 1e-3 ? value.toExponential(1).replace("e+", "e") : String(Number(value.toPrecision(digits)));
        return short.replace(/-/g, "−");
    }

    let names = 0;

    class Figure extends HTMLElement {
        connectedCallback() {
            if (this.live) return;
            const still = html("div", { class: "still" }, ...this.childNodes);
            this.live = html("div", { class: "live" });
            this.controls = html("div", { class: "controls", role: "group", "aria-label": this.label });
            this.picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
            this.picture.setAttribute("class", "fig");
            this.picture.setAttribute("role", "img");
            this.status = html("p", { class: "status", role: "status" });
            this.live.append(this.controls, html("div", { class: "picture" }, this.picture), this.status);
            this.append(still, this.live);
            // The arrow keys belong to the controls, and do not turn the book's pages.
            this.addEventListener("keydown", event => event.stopPropagation());
            this.build();
            this.update();
            this.classList.add("playing");
        }

        // A slider; its value is `.value`, a number.
        slider(label, { min, max, step = 1, value, show = String }) {
            const input = html("input", { type: "range", min, max, step, value, "aria-label": label });
            const output = html("output");
            const control = {
                input,
                get value() { return Number(input.value); },
                set value(to) { input.value = to; },
                limit(to) { input.max = to; },
                refresh() {
                    output.textContent = show(Number(input.value));
                    input.setAttribute("aria-valuetext", output.textContent);
                },
            };
            input.addEventListener("input", () => this.update());
            (this.sliders ??= []).push(control);
            this.controls.append(html("label", { class: "range" }, html("span", {}, label), input, output));
            return control;
        }

        // A choice among a few; its value is `.value`, one of `options` (name, value).
        choice(label, options, value = options[0][1]) {
            const group = html("fieldset", { class: "choice" }, html("legend", {}, label));
            const name = `play-${++names}`;
            const inputs = options.map(([title, of], index) => {
                const input = html("input", { type: "radio", name, value: index, checked: of === value });
                input.addEventListener("change", () => this.update());
                group.append(html("label", {}, input, title));
                return input;
            });
            this.controls.append(group);
            return { inputs, get value() { return options[inputs.findIndex(input => input.checked)][1]; } };
        }

        button(label, action) {
            const button = html("button", { type: "button", on: () => { action(); this.update(); } }, label);
            this.controls.append(button);
            return button;
        }

        // Buttons to step and to play along a slider; `next(value, direction)` is the value that follows.
        steps(slider, next) {
            const go = direction => {
                this.pause();
                slider.value = next(slider.value, direction);
            };
            const group = html("div", { class: "steps" });
            const add = (label, title, action) => {
                const button = html("button", { type: "button", "aria-label": title, title, on: () => { action(); this.update(); } }, label);
                group.append(button);
                return button;
            };
            add("◀", "Step back", () => go(-1));
            this.playButton = add("▶ play", "Play", () => this.timer ? this.pause() : this.play(slider, next));
            add("▶", "Step on", () => go(1));
            slider.input.addEventListener("input", () => this.pause());
            this.controls.append(group);
        }

        play(slider, next) {
            if (slider.value >= Number(slider.input.max)) slider.value = slider.input.min;
            const pace = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 350;
            this.timer = setInterval(() => {
                slider.value = next(slider.value, 1);
                if (slider.value >= Number(slider.input.max)) this.pause();
                this.update();
            }, pace);
            this.playButton.textContent = "❚❚ pause";
        }

        pause() {
            clearInterval(this.timer);
            this.timer = null;
            if (this.playButton) this.playButton.textContent = "▶ play";
        }

        // Calls `action` with the place in the picture that the pointer touches or drags to.
        onDrag(action) {
            const at = event => {
                const matrix = this.picture.getScreenCTM().inverse();
                const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
                action(point.x, point.y);
                this.update();
            };
            this.picture.classList.add("drag");
            this.picture.addEventListener("pointerdown", event => {
                this.picture.setPointerCapture(event.pointerId);
                at(event);
            });
            this.picture.addEventListener("pointermove", event => { if (event.buttons) at(event); });
        }

        // Draws the picture: its size, its markup, and what it shows in words.
        draw(width, height, markup, description) {
            this.picture.style.setProperty("--w", width);
            this.picture.setAttribute("viewBox", `-1 -1 ${width + 2} ${height + 2}`);
            this.picture.setAttribute("aria-label", description);
            this.picture.innerHTML = markup;
            for (const slider of this.sliders ?? []) slider.refresh();
        }

        say(words) {
            if (this.status.textContent !== words) this.status.textContent = words;
        }
    }

    // Defines an element once, however often a page loads its file: the page for printing has all chapters.
    function define(name, figure) {
        if (!customElements.get(name)) customElements.define(name, figure);
    }

    return { Figure, cell, define, html, shown, text };
})();
