// The figures of "Understanding CRFs". A <figure data-figure="NAME" data-numbers="JSON"> is drawn by the
// function of that name in FIGURES, whenever one of its controls changes. There is no build step, and
// no dependency but the module that reads taggers, whose recursions these are.

import {
  backwardScores, bestPath, bestScores, forwardScores, logSumExp, marginals,
} from "../live/tagger.js";

// --- chains -----------------------------------------------------------------------------------------

// The scores of a sequence: state[t][j] of label j at token t, transition[i][j] of j after i, or
// transition[t - 1][i][j] if they differ between tokens; null is the score of what cannot be.
export class Chain {
  constructor({ state, transition, begin, end }) {
    const n = state[0].length, zeros = new Array(n).fill(0);
    const row = (scores) => Float64Array.from(scores, (score) => score ?? -Infinity);
    const isShared = !Array.isArray(transition[0]?.[0]);
    this.n = n;
    this.T = state.length;
    this.state = state.map(row);
    this.transition = state.map((_, t) =>
      (t === 0 ? null : row((isShared ? transition : transition[t - 1]).flat())));
    [this.begin, this.end] = [row(begin ?? zeros), row(end ?? zeros)];
    this.forward = forwardScores(this.state, this.transition, this.begin);
    this.backward = backwardScores(this.state, this.transition, this.end);
    this.logZ = logSumExp(this.forward[this.T - 1].map((score, j) => score + this.end[j]));
    const scores = [this.state, this.transition, this.begin, this.end];
    this.marginals = marginals(...scores);
    this.path = bestPath(...scores);
  }

  // What token t adds to the score of a labelling.
  scoreAt(path, t) {
    const { n, T } = this, j = path[t];
    const before = t === 0 ? this.begin[j] : this.transition[t][path[t - 1] * n + j];
    return before + this.state[t][j] + (t === T - 1 ? this.end[j] : 0);
  }

  score(path) {
    return path.reduce((sum, _, t) => sum + this.scoreAt(path, t), 0);
  }

  probability(path) {
    return Math.exp(this.score(path) - this.logZ);
  }

  // All labellings, the last token changes first.
  labellings() {
    let found = [[]];
    for (let t = 0; t < this.T; t++) {
      found = found.flatMap((path) => Array.from({ length: this.n }, (_, j) => [...path, j]));
    }
    return found;
  }

  // The probability of label i at token t - 1 and label j at token t.
  pair(t, i, j) {
    const score = this.transition[t][i * this.n + j] + this.state[t][j];
    return Math.exp(this.forward[t - 1][i] + score + this.backward[t][j] - this.logZ);
  }
}

// The segments of labels in IOB2, as [start, end]; an I that follows nothing begins one, too.
export function segmentsOf(labels) {
  const found = [];
  labels.forEach((label, t) => {
    if (label[0] === "B" || (label[0] === "I" && (t === 0 || labels[t - 1] === "O"))) found.push([t, t]);
    if (label !== "O") found[found.length - 1][1] = t + 1;
  });
  return found;
}

// Features of a chain of words: [null, word, label] or [label before, null, label].
export class Features {
  constructor({ X, y, labels, features, sigma }) {
    Object.assign(this, { X, labels, features, sigma });
    this.observed = features.map(([before, word, label]) => X.reduce((sum, words, s) =>
      sum + words.filter((w, t) => y[s][t] === label &&
        (word === null ? t > 0 && y[s][t - 1] === before : w === word)).length, 0));
    this.gold = y.map((of) => of.map((label) => labels.indexOf(label)));
  }

  // The chain of words for these weights.
  chain(words, weights) {
    const n = this.labels.length, number = (label) => this.labels.indexOf(label);
    const state = words.map(() => new Array(n).fill(0));
    const transition = Array.from({ length: n }, () => new Array(n).fill(0));
    this.features.forEach(([before, word, label], k) => {
      if (word === null) transition[number(before)][number(label)] += weights[k];
      else words.forEach((w, t) => { if (w === word) state[t][number(label)] += weights[k]; });
    });
    return new Chain({ state, transition });
  }

  // How often the model expects each feature, and the log-likelihood less the penalty.
  expect(weights) {
    const expected = this.features.map(() => 0), number = (label) => this.labels.indexOf(label);
    let objective = -weights.reduce((sum, w) => sum + w * w, 0) / (2 * this.sigma ** 2);
    this.X.forEach((words, s) => {
      const chain = this.chain(words, weights);
      objective += chain.score(this.gold[s]) - chain.logZ;
      this.features.forEach(([before, word, label], k) => words.forEach((w, t) => {
        if (w === word) expected[k] += chain.marginals[t][number(label)];
        if (word === null && t > 0) expected[k] += chain.pair(t, number(before), number(label));
      }));
    });
    const gradient = this.observed.map((count, k) =>
      count - expected[k] - weights[k] / this.sigma ** 2);
    return { expected, objective, gradient };
  }
}

// Counts of "a b c" labelled 0 0 0 and 0 1 1, and of "d b e" labelled 0 1 0: the probabilities of the
// first two labellings by frequencies, which have the greatest likelihood, and by the closed form.
export function closedForm(zeros, ones, elsewhere) {
  const n = zeros + ones, all = n + elsewhere, [p, q] = [zeros / n, ones / n];
  const of0 = zeros ? p * p * all / zeros : 0, of1 = ones ? q * q * all / (ones + elsewhere) : 0;
  const closed = [of0 / (of0 + of1), of1 / (of0 + of1)];
  const log = (values) => (zeros ? zeros * Math.log(values[0]) : 0) + (ones ? ones * Math.log(values[1]) : 0);
  return { greatest: [p, q], closed, products: [of0, of1], onesOfB: (ones + elsewhere) / all,
    likelihoods: [log([p, q]), log(closed)] };
}

// Chains of "rob" after "rib" with X I B, "rob" with Y O B and "rob" with X I B so many times:
// labels X or Y, then I or O, then B. With factors p(label | label before, letter), and with rates.
export function ribAndRob(rib, rob, odd) {
  const log = (rows) => rows.map((row) => row.map(Math.log)), none = [[1, 1], [1, 1], [1, 1]];
  const x = (rib + odd) / (rib + rob + odd), i = odd / (rob + odd);
  const apart = [[1, 0], [0, 1]], last = [[1, 0], [1, 0]];
  return {
    MEMM: new Chain({ state: log(none), begin: [x, 1 - x].map(Math.log),
      transition: [log(apart), log(last)] }),
    rates: new Chain({ state: log([[x, 1 - x], [i, 1 - i], [1, 0]]),
      transition: [log([[1 / x, 0], [0, 1 / (1 - x)]]), log(last)] }),
  };
}

// --- controls and drawing ---------------------------------------------------------------------------

const SHAPES = new Set(["svg", "g", "rect", "line", "text", "title"]);

function make(name, attributes = {}, ...children) {
  const node = SHAPES.has(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat());
  return node;
}

// A number as it is shown: two decimals, or three digits if it is large or small.
function digits(value) {
  if (value === 0 || !Number.isFinite(value)) return value === -Infinity ? "−∞" : `${value}`;
  const size = Math.abs(value);
  const text = size >= 1000 ? value.toFixed(0) : size >= 0.095 ? value.toFixed(2)
    : size >= 1e-4 ? `${Number(value.toPrecision(2))}` : "0.0000";
  return text.replace("-", "−");
}

// A number in the words below a figure, by a name for who looks for it.
const shown = (name, value) => make("b", { "data-shown": name, "data-value": value }, digits(value));

// The controls of a figure, its drawing and the words below it.
class Board {
  constructor(figure) {
    this.figure = figure;
    this.label = figure.querySelector("figcaption").textContent;
    this.controls = make("div", { class: "controls" });
    this.svg = make("svg", { role: "img" });
    this.words = make("p", { class: "words", role: "status" });
    figure.prepend(this.controls, this.svg, this.words);
  }

  // A number; `change` hears of it before the figure is drawn again.
  slider(name, { min, max, step, value, change }) {
    const output = make("output"), oninput = () => { change?.(input.valueAsNumber); this.redraw(); };
    const input = make("input", { type: "range", min, max, step, value, oninput, "aria-label": name });
    const control = {
      input,
      get value() { return Number(input.value); },
      set value(number) { input.value = number; },
      show: () => { output.value = step === 1 ? input.value : digits(Number(input.value)); },
    };
    (this.sliders ??= []).push(control);
    this.controls.append(make("label", { class: "slider" }, make("span", {}, name), input, output));
    return control;
  }

  select(name, options, value = 0) {
    const input = make("select", { onchange: () => this.redraw(), "aria-label": name },
      options.map((option, k) => make("option", { value: k, selected: k === value }, option)));
    this.controls.append(make("label", {}, `${name} `, input));
    return { input, get index() { return input.selectedIndex; } };
  }

  // One of several; its name when asked for.
  choice(name, options) {
    const group = `${this.figure.dataset.figure}-${name}`, fieldset = make("fieldset", {},
      make("legend", {}, name), options.map((option, k) => make("label", {},
        make("input", { type: "radio", name: group, value: option, checked: k === 0,
          onchange: () => { this.onchoice?.(); this.redraw(); } }), ` ${option}`)));
    this.controls.append(fieldset);
    return { get value() { return fieldset.querySelector(":checked").value; } };
  }

  check(name) {
    const input = make("input", { type: "checkbox", onchange: () => this.redraw() });
    this.controls.append(make("label", {}, input, ` ${name}`));
    return { get value() { return input.checked; } };
  }

  button(name, action) {
    const press = () => { action(); this.redraw(); };
    this.controls.append(make("button", { type: "button", onclick: press }, name));
  }

  // The width of the drawing, in pixels: text is never scaled.
  room() {
    const { paddingLeft, paddingRight } = getComputedStyle(this.figure);
    const width = this.figure.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    return Math.max(260, Math.min(width, 640));
  }

  // draw(width) returns the shapes, their height, and the words below.
  redraw() {
    this.width = this.room();
    const { shapes, height, words } = this.draw(this.width);
    const size = { width: this.width, height, viewBox: `0 0 ${this.width} ${height}` };
    for (const [key, value] of Object.entries(size)) this.svg.setAttribute(key, value);
    this.svg.replaceChildren(...shapes);
    this.words.replaceChildren(...words);
    this.svg.setAttribute("aria-label", `${this.label} ${this.words.textContent}`);
    for (const slider of this.sliders ?? []) slider.show();
  }

  start() {
    this.redraw();
    new ResizeObserver(() => {
      if (this.room() !== this.width) this.redraw();
    }).observe(this.figure);
  }
}

// A lattice: a column of nodes for each token, and lines between neighbours. columns[t] are the labels
// of token t, null for none; node(t, j) is { fill, text, is }, and line(t, i, j) is { weight, text, is } or
// undefined, with classes `is`.
function lattice(width, { heads, columns, node, line }) {
  const step = width / heads.length, size = Math.min(96, step - Math.max(26, step * 0.35));
  const x = (t) => step * (t + 0.5), y = (j) => 58 + 56 * j, lines = [], nodes = [], texts = [];
  heads.forEach((head, t) => {
    nodes.push(make("text", { x: x(t), y: 18, class: "head" }, head));
    columns[t].forEach((label, j) => {
      if (label === null) return;
      const { fill = 0, text = "", is = "" } = node(t, j);
      nodes.push(make("g", { class: `node ${is}`, style: `--p: ${(40 * fill).toFixed(1)}%` },
        make("rect", { x: x(t) - size / 2, y: y(j) - 21, width: size, height: 42, rx: 8 }),
        make("text", { x: x(t), y: y(j) - 3, class: "label" }, label),
        make("text", { x: x(t), y: y(j) + 14 }, text)));
      for (let i = 0; t > 0 && i < columns[t - 1].length; i++) {
        const found = columns[t - 1][i] === null ? undefined : line(t, i, j);
        if (!found) continue;
        const [from, to] = [x(t - 1) + size / 2, x(t) - size / 2];
        lines.push(make("line", { x1: from, y1: y(i), x2: to, y2: y(j), class: `edge ${found.is ?? ""}`,
          style: `stroke-width: ${(1 + 5 * (found.weight ?? 0)).toFixed(2)}` }));
        if (found.text) {
          texts.push(make("text", { x: (from + to) / 2, y: (y(i) + y(j)) / 2 - 5, class: "on-edge" },
            found.text));
        }
      }
    });
  });
  return { shapes: [...lines, ...nodes, ...texts], height: 36 + 56 * Math.max(...columns.map((c) => c.length)) };
}

// The marginals of a chain as a lattice, with a labelling drawn on it.
function probabilities(width, heads, labels, chain, path = chain.path) {
  return lattice(width, {
    heads,
    columns: heads.map(() => labels),
    node: (t, j) => ({ fill: chain.marginals[t][j], text: digits(chain.marginals[t][j]),
      is: path[t] === j ? "chosen" : "" }),
    line: (t, i, j) => ({ weight: chain.pair(t, i, j),
      is: path[t - 1] === i && path[t] === j ? "chosen" : "" }),
  });
}

// Rows of bars: { name, bars: [{ value, text, is }] }; the longest bar has the value `most`.
function bars(width, rows, most, names = 84, top = 0) {
  const shapes = [], scale = (width - names - 96) / most;
  let y = top + 4;
  for (const { name, bars: of } of rows) {
    const height = 20 * of.length;
    shapes.push(make("text", { x: names - 8, y: y + height / 2 + 4, class: "name" }, name));
    of.forEach(({ value, text, is = "" }, k) => {
      const length = Math.max(0.5, Math.min(value, most) * scale);
      shapes.push(make("rect", { x: names, y: y + 20 * k + 2, width: length, height: 16, class: `bar ${is}` }),
        make("text", { x: names + length + 6, y: y + 20 * k + 14, class: "number" }, text ?? digits(value)));
    });
    y += height + 8;
  }
  return { shapes, height: y };
}

const spelled = (labels, path) => path.map((j) => labels[j]).join(" ");

// --- the figures ------------------------------------------------------------------------------------

// Word by word, or with the rates of neighbouring labels, raised to a power.
function tokens(board, { labels, sentences, given, rates }) {
  const sentence = board.select("Sentence", sentences.map((words) => words.join(" ")));
  const power = board.slider("Weight of neighbours", { min: 0, max: 1, step: 0.05, value: 0 });
  board.draw = (width) => {
    const words = sentences[sentence.index];
    const chain = new Chain({ state: words.map((word) => given[word].map(Math.log)),
      transition: rates.map((row) => row.map((rate) => power.value * Math.log(rate))) });
    const text = ["Best labelling: ", make("b", {}, spelled(labels, chain.path)), ", with probability ",
      shown("probability", chain.probability(chain.path)), "."];
    return { ...probabilities(width, words, labels, chain), words: text };
  };
}

// One labelling in three models.
function models(board, { labels, words, models: given, factors, sums, path: first }) {
  const model = board.choice("Model", Object.keys(given));
  const chosen = words.map((word, t) => board.select(word, labels, first[t]));
  board.draw = (width) => {
    const chain = new Chain(given[model.value]), path = chosen.map((select) => select.index);
    const product = path.map((_, t) => digits(Math.exp(chain.scoreAt(path, t)))).join(" · ");
    const text = [`A factor for each word, ${factors[model.value]}: ${product} = `,
      shown("product", Math.exp(chain.score(path))), `. Sum over all ${labels.length ** words.length} `,
      "labellings: ", shown("sum", Math.exp(chain.logZ)), `, ${sums[model.value]}. p(${spelled(labels, path)} | ${
        words.join(" ")}) = `, shown("probability", chain.probability(path)), "."];
    return { ...probabilities(width, words, labels, chain, path), words: text };
  };
}

// The scores of a sentence by sliders, and all its labellings.
function partition(board, { labels, words, state, transition, sliders }) {
  const places = sliders.map(([name, where, i, j]) => {
    const value = (where === "state" ? state : transition)[i][j];
    return [board.slider(name, { min: -3, max: 3, step: "any", value }), where, i, j];
  });
  const added = board.slider(`All scores of “${words[0]}” +`, { min: -3, max: 3, step: 0.1, value: 0 });
  board.draw = (width) => {
    const scores = { state: state.map((row) => [...row]), transition: transition.map((row) => [...row]) };
    for (const [slider, where, i, j] of places) scores[where][i][j] = slider.value;
    scores.state[0] = scores.state[0].map((score) => score + added.value);
    const chain = new Chain(scores), rows = chain.labellings().map((path) => {
      const p = chain.probability(path), product = digits(Math.exp(chain.score(path)));
      const is = spelled(labels, path) === spelled(labels, chain.path) ? "first" : "second";
      return { name: spelled(labels, path), bars: [{ value: p, text: `${product} → ${digits(p)}`, is }] };
    });
    const text = ["Z = ", shown("Z", Math.exp(chain.logZ)), ", log Z = ", shown("logZ", chain.logZ),
      `. The best labelling has exp(score) = ${digits(Math.exp(chain.score(chain.path)))} and probability `,
      shown("probability", chain.probability(chain.path)), "."];
    return { ...bars(width, rows, 1, 52), words: text };
  };
}

// Forward, backward, both, or Viterbi, node by node.
function steps(board, { labels, words, state, transition }) {
  const chain = new Chain({ state, transition }), n = labels.length, { T } = chain, { exp } = Math;
  const { best, from } = bestScores(chain.state, chain.transition, chain.begin);
  const pass = board.choice("Pass", ["Forward", "Backward", "Both", "Viterbi"]);
  const step = board.slider("Step", { min: 1, max: T * n, step: 1, value: 1 });
  board.button("Back", () => { step.value -= 1; });
  board.button("Next", () => { step.value += 1; });
  board.onchoice = () => {
    step.input.max = pass.value === "Viterbi" ? T * n + T : T * n;
    step.value = 1;
  };
  const tables = { Forward: chain.forward, Backward: chain.backward, Viterbi: best };
  const psi = (t, i, j) => exp(chain.transition[t][i * n + j]);
  const at = (k) => {
    const t = Math.floor(k / n);
    return [pass.value === "Backward" ? T - 1 - t : t, k % n];
  };
  const terms = (values, sign) => `${values.map((factors) => factors.map(digits).join(" · ")).join(sign)}`;
  const all = labels.map((_, j) => j);
  const sentence = (t, j, value) => {
    const name = `(${words[t]}, ${labels[j]}) = `, own = exp(chain.state[t][j]);
    const result = [shown("value", value), "."];
    if (pass.value === "Both") {
      return [`p${name}${digits(exp(chain.forward[t][j]))} · ${digits(exp(chain.backward[t][j]))} / ${
        digits(exp(chain.logZ))} = `, ...result];
    }
    if (pass.value === "Backward") {
      if (t === T - 1) return [`β${name}`, ...result];
      return [`β${name}${terms(all.map((k) =>
        [psi(t + 1, j, k), exp(chain.state[t + 1][k]), exp(chain.backward[t + 1][k])]), " + ")} = `, ...result];
    }
    const letter = pass.value === "Forward" ? "α" : "δ", table = tables[pass.value];
    if (t === 0) return [`${letter}${name}`, ...result];
    const inside = terms(all.map((i) => [exp(table[t - 1][i]), psi(t, i, j)]), letter === "α" ? " + " : ", ");
    const back = letter === "α" ? [] : [` It comes from ${labels[from[t][j]]}.`];
    return [`${letter}${name}${letter === "α" ? "(" : "max("}${inside}) · ${digits(own)} = `, ...result, ...back];
  };
  board.draw = (width) => {
    const last = step.value - 1, isBack = last >= T * n, [t0, j0] = isBack ? [-1, -1] : at(last);
    const reached = (t) => isBack && T - 1 - t <= last - T * n;
    const value = (t, j) => (pass.value === "Both" ? chain.marginals[t][j] : exp(tables[pass.value][t][j]));
    const drawn = lattice(width, {
      heads: words,
      columns: words.map(() => labels),
      node: (t, j) => {
        const k = n * (pass.value === "Backward" ? T - 1 - t : t) + j;
        if (k > last) return {};
        const fill = pass.value === "Both" ? value(t, j) : 0.2;
        const isChosen = (t === t0 && j === j0) || (reached(t) && chain.path[t] === j);
        return { fill, text: digits(value(t, j)), is: isChosen ? "chosen" : "" };
      },
      line: (t, i, j) => {
        if (pass.value === "Both") return { weight: chain.pair(t, i, j) };
        const isUsed = pass.value === "Backward" ? t === t0 + 1 && i === j0 : t === t0 && j === j0;
        const isBest = pass.value === "Viterbi" && from[t][j] === i && n * t + j <= last;
        const isPath = reached(t - 1) && chain.path[t] === j && chain.path[t - 1] === i;
        return { is: isPath || (isUsed && (isBest || pass.value !== "Viterbi")) ? "chosen"
          : isBest ? "kept" : "", weight: isPath ? 0.6 : isUsed ? 0.3 : 0 };
      },
    });
    let text = isBack ? [] : sentence(t0, j0, value(t0, j0));
    if (isBack) {
      const ends = chain.path.slice(T - 1 - (last - T * n));
      text = [`Back along the lines that were kept: ${spelled(labels, ends)}. exp(score) of the best labelling: `,
        shown("value", exp(chain.score(chain.path))), ", probability ",
        shown("probability", chain.probability(chain.path)), "."];
    } else if (pass.value === "Forward" && last === T * n - 1) {
      text.push(" The last column sums to Z = ", shown("Z", exp(chain.logZ)), ".");
    }
    return { ...drawn, words: text };
  };
}

// Weights by gradient steps, and the counts that they lead to.
function gradient(board, numbers) {
  const model = new Features(numbers), { features } = model, start = features.map(() => 0);
  const names = features.map(([before, word, label]) => (word === null ? `${before} → ${label}` : `${word}: ${label}`));
  let weights = start;
  const climb = (n) => () => {
    for (let k = 0; k < n; k++) {
      const up = model.expect(weights).gradient;
      weights = weights.map((w, f) => w + rate.value * up[f]);
    }
  };
  const chosen = board.select("Feature", names);
  const weight = board.slider("Its weight", { min: -5, max: 5, step: "any", value: 0,
    change: (value) => { weights = weights.map((w, k) => (k === chosen.index ? value : w)); } });
  const rate = board.slider("Step size", { min: 0.05, max: 1, step: 0.05, value: 0.5 });
  board.button("One step", climb(1));
  board.button("20 steps", climb(20));
  board.button("Back to zero", () => { weights = start; });
  board.draw = (width) => {
    weight.value = weights[chosen.index];
    const { expected, objective, gradient: up } = model.expect(weights);
    const rows = features.map((_, k) => ({ name: names[k], bars: [
      { value: model.observed[k], is: "second", text: `${model.observed[k]} observed` },
      { value: expected[k], is: "first", text: `${digits(expected[k])}, w ${digits(weights[k])}` },
    ] }));
    const text = [`${names[chosen.index]}: expected `, shown("expected", expected[chosen.index]),
      ", gradient ", shown("gradient", up[chosen.index]), ". Objective of all: ", shown("objective", objective),
      ", largest entry of its gradient: ", shown("largest", Math.max(...up.map(Math.abs))), "."];
    return { ...bars(width, rows, 4, 74), words: text };
  };
}

// The closed form beside the greatest likelihood.
function counting(board, { counts }) {
  const names = ["a b c → 0 0 0", "a b c → 0 1 1", "d b e → 0 1 0"];
  const [zeros, ones, elsewhere] = names.map((name, k) =>
    board.slider(name, { min: k < 2 ? 1 : 0, max: 12, step: 1, value: counts[k] }));
  board.draw = (width) => {
    const { greatest, closed, products, onesOfB, likelihoods } =
      closedForm(zeros.value, ones.value, elsewhere.value);
    const rows = ["0 0 0", "0 1 1"].map((name, k) => ({ name, bars: [
      { value: greatest[k], is: "second", text: `${digits(greatest[k])} greatest` },
      { value: closed[k], is: "first", text: `${digits(closed[k])} closed form` },
    ] }));
    const text = ["“b” is 1 in ", shown("inside", greatest[1]), " of “a b c”, and in ",
      shown("everywhere", onesOfB), " of all sentences. The products are ", shown("first", products[0]), " and ",
      shown("second", products[1]), ". Log-likelihood: ", shown("greatest", likelihoods[0]), " at most, ",
      shown("closed", likelihoods[1]), " by the closed form."];
    return { ...bars(width, rows, 1, 52), words: text };
  };
}

// "rob" after "rib": factors that are normalised from left to right, and rates.
function bias(board, { counts }) {
  const names = ["rib → X I B", "rob → Y O B", "rob → X I B"];
  const model = board.choice("Factors", ["p(label | label before, letter)", "co-occurrence rates"]);
  const sliders = names.map((name, k) => board.slider(name, { min: 1, max: 20, step: 1, value: counts[k] }));
  const columns = [["X", "Y"], ["I", "O"], ["B", null]];
  board.draw = (width) => {
    const { MEMM, rates } = ribAndRob(...sliders.map((slider) => slider.value));
    const isRates = model.value === "co-occurrence rates", chain = isRates ? rates : MEMM;
    const chosen = chain.path, last = (path) => path.map((j, t) => columns[t][j]).join(" ");
    const drawn = lattice(width, {
      heads: ["r", "o", "b"],
      columns,
      node: (t, j) => ({ fill: chain.marginals[t][j], is: chosen[t] === j ? "chosen" : "",
        text: isRates || t === 0 ? digits(Math.exp(chain.state[t][j] + (t === 0 ? chain.begin[j] : 0))) : "" }),
      line: (t, i, j) => {
        const factor = Math.exp(chain.transition[t][2 * i + j]);
        return factor > 0 ? { text: digits(factor), is: chosen[t - 1] === i && chosen[t] === j ? "chosen" : "",
          weight: chain.pair(t, i, j) } : undefined;
      },
    });
    const rob = sliders[1].value, odd = sliders[2].value;
    const text = ["p(X I B | rob) = ", shown("XIB", chain.probability([0, 0, 0])), ", p(Y O B | rob) = ",
      shown("YOB", chain.probability([1, 1, 0])), `, best: ${last(chosen)}. In the data Y O B has `,
      shown("share", rob / (rob + odd)), " of all “rob”."];
    return { ...drawn, words: text };
  };
}

// Constraints and known labels, and what they do to segments.
function segments(board, { labels, words, state, transition }) {
  const [notFirst, notAfter] = [board.check("I-P cannot come first"), board.check("I-P cannot follow O")];
  const known = words.map((word) => board.select(word, ["any label", ...labels]));
  const [inside, outside] = [labels.indexOf("I-P"), labels.indexOf("O")];
  const free = new Chain({ state, transition });
  board.draw = (width) => {
    const scores = { state: state.map((row, t) => row.map((score, j) =>
      (known[t].index > 0 && known[t].index !== j + 1 ? null : score))),
    transition: transition.map((row) => [...row]), begin: labels.map(() => 0) };
    if (notFirst.value) scores.begin[inside] = null;
    if (notAfter.value) scores.transition[outside][inside] = null;
    const chain = new Chain(scores), found = new Map();
    if (chain.logZ === -Infinity) {
      return { shapes: [], height: 20, words: ["No labelling is left: these labels break a constraint."] };
    }
    for (const path of chain.labellings()) {
      for (const span of segmentsOf(path.map((j) => labels[j]))) {
        const name = words.slice(...span).join(" ");
        found.set(name, (found.get(name) ?? 0) + chain.probability(path));
      }
    }
    const drawn = probabilities(width, words, labels, chain);
    const rows = words.flatMap((_, s) => words.slice(s).map((__, k) => words.slice(s, s + k + 1).join(" ")))
      .map((name) => ({ name, bars: [{ value: found.get(name) ?? 0, is: "first" }] }));
    const below = bars(width, rows, 1, 104, drawn.height + 10);
    const text = [`Best labelling: ${spelled(labels, chain.path)}, with probability `,
      shown("probability", chain.probability(chain.path)), ". The labellings that are left had ",
      shown("left", Math.exp(chain.logZ - free.logZ)), " of the probability before."];
    return { shapes: [...drawn.shapes, ...below.shapes], height: below.height, words: text };
  };
}

const FIGURES = { tokens, models, partition, steps, gradient, counting, bias, segments };

if (typeof document !== "undefined") {
  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    const board = new Board(figure);
    FIGURES[figure.dataset.figure](board, JSON.parse(figure.dataset.numbers));
    board.start();
  }
}
