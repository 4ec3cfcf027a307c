// Labels sequences of words in a browser or in Node, from a file of sklearn_crcrf's EmpiricalCRF.
//
//     import { Tagger } from "./tagger.js";
//     const tagger = await Tagger.read(await (await fetch("model.tagger")).arrayBuffer());
//     tagger.tag(["Max", "Born"]);            // ["B-PER", "I-PER"]
//     tagger.probabilities(["Max", "Born"]);  // an array of numbers for each word
//     tagger.learn(["Max", "Born"], ["B-PER", "I-PER"]);
//
// The page "Files of taggers" of the documentation describes the file. A file with counts has a tagger
// that learns: then all weights are estimates that are made of counts when a word asks for them.

const MAGIC = "crcrf tagger file\r\n\x1a\n\0\0\0";
const VERSION = 1;
const HEADER = 36;
const ALIGNMENT = 64;
const OUTSIDE = -1;     // the id of a symbol before the first word, or after the last one
const UNKNOWN = -2;     // the id of a symbol that was never counted
const FREQUENT = 0, SELDOM = 1, UNSEEN = 2;  // kinds of words
const FEATURES = ["suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "prefix1", "prefix3",
  "prefix4", "shape", "long_shape", "lower", "simple"];
const WORD = FEATURES.length + 1;  // the slot of the word; before it are the label and the spelling
const TINY = 2.2250738585072014e-308;
const LABEL_PRIOR = 0.1;

// --- files ------------------------------------------------------------------------------------------

const TYPES = {
  "|u1": Uint8Array, "|i1": Int8Array, "<u2": Uint16Array, "<i2": Int16Array, "<u4": Uint32Array,
  "<i4": Int32Array, "<f4": Float32Array, "<f8": Float64Array,
};

async function unpackedBytes(data) {
  const bytes = new Uint8Array(data);
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

// The settings and the arrays of a file, each as { values, shape }, which is made when it is used first.
function readContent(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER || latin1(bytes.subarray(0, MAGIC.length)) !== MAGIC) {
    throw new Error("this is not a file of a tagger");
  }
  const version = view.getUint32(24, true), length = view.getUint32(28, true);
  if (version > VERSION) throw new Error(`the file has version ${version}; this is ${VERSION}`);
  const header = bytes.subarray(HEADER, HEADER + length);
  if (header.length < length || crc32(header) !== view.getUint32(32, true)) {
    throw new Error("the header of the file is damaged");
  }
  const { settings, arrays: described, size } = JSON.parse(new TextDecoder().decode(header));
  const first = Math.ceil((HEADER + length) / ALIGNMENT) * ALIGNMENT;
  if (first + size !== bytes.length) throw new Error("the file is damaged: its size is wrong");
  const arrays = {}, made = {};
  for (const [name, [dtype, shape, place]] of Object.entries(described)) {
    const make = () => {
      const n = shape.reduce((product, k) => product * k, 1);
      const part = bytes.subarray(first + place, first + place + n * Number(dtype.slice(2)));
      const type = settings.types?.[name], scale = settings.scales?.[name];
      const values = type ? typed(joinedBytes(part, Number(type.slice(2))), type) : typed(part, dtype);
      return { values: scale === undefined ? values : scaled(values, scale),
        shape: type ? shape.slice(1) : shape };
    };
    Object.defineProperty(arrays, name, { get: () => (made[name] ??= make()) });
  }
  return { settings, arrays };
}

// The bytes of numbers, given first the lowest byte of all of them, then the next bytes.
function joinedBytes(planes, width) {
  if (width === 1) return planes;
  const n = planes.length / width, out = new Uint8Array(planes.length);
  const plane = (k) => planes.subarray(k * n, k * n + n);
  if (width === 2) {
    const [a, b] = [plane(0), plane(1)], values = new Uint16Array(out.buffer);
    for (let i = 0; i < n; i++) values[i] = a[i] | (b[i] << 8);
    return out;
  }
  const values = new Uint32Array(out.buffer), step = width / 4;
  for (let h = 0; h < step; h++) {
    const [a, b, c, d] = [0, 1, 2, 3].map((k) => plane(4 * h + k));
    for (let i = 0; i < n; i++) {
      values[i * step + h] = a[i] | (b[i] << 8) | (c[i] << 16) | (d[i] << 24);
    }
  }
  return out;
}

function typed(bytes, dtype) {
  if (dtype === "<u8") return bytes;  // bits
  const kind = TYPES[dtype === "<i8" ? "<i4" : dtype];
  if (kind === undefined) throw new Error(`there are no arrays of the type ${dtype}`);
  const values = new kind(bytes.buffer, bytes.byteOffset, bytes.length / kind.BYTES_PER_ELEMENT);
  if (dtype !== "<i8") return values;
  const numbers = new Float64Array(values.length / 2);
  for (let i = 0; i < numbers.length; i++) {
    numbers[i] = (values[2 * i] >>> 0) + 2 ** 32 * values[2 * i + 1];
  }
  return numbers;
}

function scaled(values, scale) {
  const out = new Float64Array(values.length);
  for (let i = 0; i < out.length; i++) out[i] = values[i] * scale;
  return out;
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function latin1(bytes) {
  return new TextDecoder("utf-16le", { ignoreBOM: true }).decode(new Uint16Array(bytes));
}

// The number of each string of a table. A byte before each one says how many bytes a character has.
function readStrings(arrays, name) {
  const blob = arrays[`${name}.blob`].values, starts = arrays[`${name}.starts`].values;
  const found = new Map(), bytes = latin1(blob);
  for (let i = 0; i + 1 < starts.length; i++) {
    const width = blob[starts[i]];
    if (width === 1) {
      found.set(bytes.slice(starts[i] + 1, starts[i + 1]), i);
      continue;
    }
    if (width !== 2 && width !== 4) throw new Error(`the table ${name} is damaged`);
    let text = "";
    for (let at = starts[i] + 1; at < starts[i + 1]; at += width) {
      let point = 0;
      for (let k = width - 1; k >= 0; k--) point = point * 256 + blob[at + k];
      text += width === 4 ? String.fromCodePoint(point) : String.fromCharCode(point);
    }
    found.set(text, i);
  }
  return found;
}

// --- the spelling of words --------------------------------------------------------------------------

const ENDINGS = ["ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies"];
const UPPER = /^[\p{Uppercase}\p{Lt}]$/u, LOWER = /^\p{Lowercase}$/u, LETTER = /^\p{L}$/u;
const MARK = /^\p{M}$/u;
// Decimal digits, and the characters that are digits by their Numeric_Type.
const DIGIT = new RegExp("^[\\p{Nd}\\u{b2}-\\u{b3}\\u{b9}\\u{1369}-\\u{1371}\\u{19da}\\u{2070}" +
  "\\u{2074}-\\u{2079}\\u{2080}-\\u{2089}\\u{2460}-\\u{2468}\\u{2474}-\\u{247c}" +
  "\\u{2488}-\\u{2490}\\u{24ea}\\u{24f5}-\\u{24fd}\\u{24ff}\\u{2776}-\\u{277e}" +
  "\\u{2780}-\\u{2788}\\u{278a}-\\u{2792}\\u{10a40}-\\u{10a43}\\u{10e60}-\\u{10e68}" +
  "\\u{11052}-\\u{1105a}\\u{1f100}-\\u{1f10a}]$", "u");

function classOf(character) {
  if (UPPER.test(character)) return "X";
  if (LOWER.test(character)) return "x";
  if (LETTER.test(character)) return "c";
  if (DIGIT.test(character)) return "d";
  return MARK.test(character) ? "" : character;
}

// The symbols of FEATURES of a word.
export function spell(word) {
  const characters = Array.from(word), [first = ""] = characters;
  const lower = word.toLowerCase(), marked = Array.from(`^${lower}`);
  const classes = characters.map(classOf).join("");
  const flags = /^\p{Uppercase}$/u.test(first) || DIGIT.test(first) ? ["capital_or_digit"] : [];
  if (word.includes("-")) flags.push("hyphen");
  for (const ending of ENDINGS) if (word.endsWith(ending)) flags.push(`-${ending}`);
  return [
    ...[1, 2, 3, 4, 5].map((k) => marked.slice(-k).join("")),
    ...[1, 3, 4].map((k) => characters.slice(0, k).join("")),
    Array.from(classes.replace(/([Xxcd])\1+/g, "$1")).slice(0, 8).join(""),
    Array.from(classes).slice(0, 12).join(""),
    lower,
    flags.join("+") || "none",
  ];
}

// --- rows of weights, and of counts -----------------------------------------------------------------

// Sparse rows: columns and values of row r are those from start(r) to start(r + 1).
// Of files with counts, values are counts, else weights.
class Rows {
  constructor(arrays, name, hasCounts) {
    const part = (which) => arrays[`${name}.${which}`].values;
    [this.base, this.offset, this.columns] = ["base", "offset", "columns"].map(part);
    this.values = part(hasCounts ? "counts" : "data");
    const n = this.offset.length;
    this.shift = 0;
    while (((n - 1) >> this.shift) + 1 !== this.base.length) {
      if (++this.shift > 30) throw new Error(`the rows of ${name} are damaged`);
    }
  }

  start(row) {
    return this.base[row >> this.shift] + this.offset[row];
  }
}

// The pairs of a group, each of which belongs to some of its members.
class Pairs {
  constructor(arrays, g) {
    [this.first, this.second, this.distance, this.derived] =
      arrays.groups.values.subarray(4 * g, 4 * g + 4);
    this.indptr = arrays[`pairs${g}.indptr`].values;
    this.seconds = arrays[`pairs${g}.second`].values;
    const { values, shape: [nMembers, nWords] } = arrays[`pairs${g}.bits`];
    this.rows = Array.from({ length: nMembers }, (_, m) => {
      const rows = new Int32Array(this.seconds.length), start = 8 * m * nWords;
      for (let i = 0, n = 0; i < rows.length; i++) {
        rows[i] = (values[start + (i >> 3)] >> (i & 7)) & 1 ? n++ : -1;
      }
      return rows;
    });
  }

  // The number of a pair of ids, UNKNOWN if there is none.
  find(first, second) {
    if (first < OUTSIDE || second < OUTSIDE || first + 2 >= this.indptr.length) return UNKNOWN;
    let low = this.indptr[first + 1], high = this.indptr[first + 2];
    const end = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.seconds[middle] < second) low = middle + 1;
      else high = middle;
    }
    return low < end && this.seconds[low] === second ? low : UNKNOWN;
  }
}

// --- sums over all labellings -----------------------------------------------------------------------

export function logSumExp(values) {
  const top = Math.max(...values);
  if (top === -Infinity) return top;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - top);
  return top + Math.log(sum);
}

// The scores of all labellings up to each token that end there in each label, summed in logarithms.
// transition[t][i * n + j] is the score of label i at token t - 1 before label j at token t.
export function forwardScores(state, transition, begin) {
  const n = begin.length, work = new Float64Array(n);
  const forward = state.map((row) => Float64Array.from(row));
  for (let t = 0; t < state.length; t++) {
    for (let j = 0; j < n; j++) {
      if (t === 0) {
        forward[0][j] += begin[j];
        continue;
      }
      for (let i = 0; i < n; i++) work[i] = forward[t - 1][i] + transition[t][i * n + j];
      forward[t][j] += logSumExp(work);
    }
  }
  return forward;
}

// The scores of all labellings of what follows each token, given each label of it.
export function backwardScores(state, transition, end) {
  const T = state.length, n = end.length, work = new Float64Array(n);
  const backward = state.map(() => new Float64Array(n));
  for (let t = T - 1; t >= 0; t--) {
    for (let i = 0; i < n; i++) {
      if (t === T - 1) {
        backward[t][i] = end[i];
        continue;
      }
      for (let j = 0; j < n; j++) {
        work[j] = transition[t + 1][i * n + j] + state[t + 1][j] + backward[t + 1][j];
      }
      backward[t][i] = logSumExp(work);
    }
  }
  return backward;
}

// The probabilities of the labels of each token, by the forward-backward algorithm.
export function marginals(state, transition, begin, end) {
  const forward = forwardScores(state, transition, begin);
  const backward = backwardScores(state, transition, end);
  return forward.map((row, t) => {
    const scores = row.map((score, j) => score + backward[t][j]), logZ = logSumExp(scores);
    return Array.from(scores, (score) => Math.exp(score - logZ));
  });
}

// The score of the best labelling up to each token that ends there in each label, and the label before
// it; of equal ones the lowest.
export function bestScores(state, transition, begin) {
  const n = begin.length;
  const best = state.map((row) => Float64Array.from(row));
  const from = state.map(() => new Int32Array(n));
  for (let j = 0; j < n && best.length; j++) best[0][j] += begin[j];
  for (let t = 1; t < best.length; t++) {
    for (let j = 0; j < n; j++) {
      let top = 0;
      for (let i = 1; i < n; i++) {
        if (best[t - 1][i] + transition[t][i * n + j] >
            best[t - 1][top] + transition[t][top * n + j]) top = i;
      }
      from[t][j] = top;
      best[t][j] += best[t - 1][top] + transition[t][top * n + j];
    }
  }
  return { best, from };
}

// The best path, by the algorithm of Viterbi; of equal ones that of the lowest labels.
export function bestPath(state, transition, begin, end) {
  const T = state.length, n = begin.length, { best, from } = bestScores(state, transition, begin);
  const path = new Array(T);
  for (let t = T - 1; t >= 0; t--) {
    if (t < T - 1) {
      path[t] = from[t + 1][path[t + 1]];
      continue;
    }
    path[t] = 0;
    for (let j = 1; j < n; j++) {
      if (best[t][j] + end[j] > best[t][path[t]] + end[path[t]]) path[t] = j;
    }
  }
  return path;
}

// --- taggers ----------------------------------------------------------------------------------------

// The words of a sequence: their ids in each column, and what was found for them so far.
class Sequence {
  constructor(tagger, words) {
    if (!Array.isArray(words) || words.some((word) => typeof word !== "string")) {
      throw new TypeError("words must be an array of strings");
    }
    this.tagger = tagger;
    this.words = words;
    this.spelling = words.map((word) => tagger.spellingIds(word));
    const ids = words.map((word) => tagger.words.get(word) ?? UNKNOWN);
    this.columns = [ids, ...tagger.contextFeatures.map((k) => this.spelling.map((row) => row[k]))];
    this.found = words.map(() => new Map());
  }

  // The id of a column at a place, which may be outside.
  idAt(column, place) {
    const group = this.tagger.derivedGroups.get(column);
    if (group !== undefined) return this.pairAt(group, place);
    return place >= 0 && place < this.words.length ? this.columns[column][place] : OUTSIDE;
  }

  pairAt(group, place) {
    const { first, second, distance } = group;
    return group.find(this.idAt(first, place), this.idAt(second, place + distance));
  }

  // The ids of the symbols of a slot at a token, and the row of the file, -1 if it has none; null if
  // one of the symbols was never counted.
  attribute(slot, t) {
    const ids = slot.feature === undefined
      ? slot.places.map(([column, offset]) => this.idAt(column, t + offset))
      : [this.spelling[t][slot.feature]];
    if (ids.includes(UNKNOWN)) return null;
    return { key: `${slot.number}:${ids}`, row: slot.row(ids, this, t), table: slot.table };
  }

  // What a slot says of a token: its weights by label, and where there are counts the estimated
  // probabilities of the labels, and those of the prior.
  evidence(number, t) {
    const found = this.found[t];
    if (!found.has(number)) found.set(number, this.tagger.evidence(this, number, t));
    return found.get(number);
  }
}

export class Tagger {
  // Read a file, an ArrayBuffer or Uint8Array, which may be compressed.
  static async read(data) {
    return new Tagger(await unpackedBytes(data));
  }

  // Of the bytes of a file that is not compressed.
  constructor(bytes) {
    const { settings, arrays } = readContent(bytes);
    if (settings.kind !== "counted" || settings.columns.length !== 1 || settings.input) {
      throw new Error("this module reads taggers of EmpiricalCRF of words alone");
    }
    if (settings.limits) throw new Error("this module reads taggers without constraints");
    if (arrays["trigrams.score"]) throw new Error("this module reads chains of order 1");
    this.labels = settings.labels;
    this.words = readStrings(arrays, "words");
    this.spellings = FEATURES.map((name) => readStrings(arrays, name));
    this.learning = settings.learning;  // undefined for a file without counts
    this.exponents = arrays.exponents.values;
    this.nSlots = arrays.exponents.shape[1];
    this.edgeExponent = settings.edge_exponent;
    this.kinds = arrays.kinds.values;
    [this.transition, this.begin, this.end] = ["transition", "begin", "end"]
      .map((name) => Float64Array.from(arrays[name].values));
    this.state = new Rows(arrays, "state", this.learning);
    this.edge = new Rows(arrays, "edge", this.learning);
    this.contextFeatures = Array.from(arrays.context_features.values);
    this.makeSlots(settings, arrays);
    if (this.learning) this.readCounts(arrays);
    const all = [this.state.values, this.edge.values, this.exponents, this.transition];
    if (!all.every((values) => Number.isFinite(sum(values)))) throw new Error("the file is damaged");
  }

  makeSlots(settings, arrays) {
    const { nSlots, contextFeatures, spellings } = this;
    const names = ["token", ...contextFeatures.map((k) => `token:${FEATURES[k]}`)];
    const symbolRows = arrays.symbol_rows.values, firstWord = settings.first_word_row;
    const nWords = this.words.size, sizes = spellings.map((table) => table.size);
    this.slots = [];
    const add = (number, places, row, feature) => {
      const name = feature === undefined
        ? places.map(([column, k]) => `${names[column]}[${k > 0 ? "+" : ""}${k}]`).join("|")
        : `token:${FEATURES[feature]}[0]`;
      this.slots[number] = { number, name, places, row, feature };
    };
    add(0, [], () => 0);
    this.slots[0].name = "label";
    let start = 0;
    FEATURES.forEach((_, k) => {
      const begin = start;
      add(k + 1, [], ([id]) => (id < sizes[k] ? symbolRows[begin + id] : -1), k);
      start += sizes[k];
    });
    add(WORD, [[0, 0]], ([id]) => (id >= 0 && id < nWords ? firstWord + id : -1));
    const starts = arrays.single_starts.values, rows = arrays.single_rows.values;
    const singles = arrays.single_slots.values;
    for (let k = 0; k < singles.length / 4; k++) {
      const [, column, place, slot] = singles.subarray(4 * k, 4 * k + 4);
      const table = rows.subarray(starts[k], starts[k + 1]);
      add(slot, [[column, place - settings.reach]], ([id]) => table[id + 1] ?? -1);
    }
    const groups = Array.from({ length: arrays.groups.shape[0] }, (_, g) => new Pairs(arrays, g));
    this.derivedGroups = new Map(groups.filter((g) => g.derived >= 0).map((g) => [g.derived, g]));
    const placesOf = (column, offset) => {
      const group = this.derivedGroups.get(column);
      if (group === undefined) return [[column, offset]];
      return [...placesOf(group.first, offset), ...placesOf(group.second, offset + group.distance)];
    };
    const pairs = arrays.pair_slots.values;
    for (let k = 0; k < pairs.length / 5; k++) {
      const [g, member, place, slot, begin] = pairs.subarray(5 * k, 5 * k + 5);
      const group = groups[g], shift = place - settings.reach;
      const places = [...placesOf(group.first, shift),
        ...placesOf(group.second, shift + group.distance)];
      add(slot, places, (_, sequence, t) => {
        const row = group.rows[member][sequence.pairAt(group, t + shift)] ?? -1;
        return row < 0 ? -1 : begin + row;
      });
    }
    this.nWithEdges = nSlots + settings.n_edge_slots;
    if (Object.keys(this.slots).length !== this.nWithEdges) {
      throw new Error("the file is damaged: a slot is missing");
    }
    // Spelling features that only estimate the labels of edges alone.
    (this.learning?.given ?? []).forEach(([, feature], k) => {
      add(this.nWithEdges + k, [], ([id]) => (id < sizes[feature] ? id : -1), feature);
      this.slots[this.nWithEdges + k].table = arrays[`given${k}.counts`].values;
    });
  }

  // The number of the symbol of each spelling feature of a word.
  spellingIds(word) {
    return spell(word).map((symbol, k) => this.spellings[k].get(symbol) ?? UNKNOWN);
  }

  // --- labels ---------------------------------------------------------------------------------------

  // The labels of the best path.
  tag(words) {
    return bestPath(...this.scores(words)).map((j) => this.labels[j]);
  }

  // For each word the probabilities of all labels, in the order of `labels`.
  probabilities(words) {
    return words.length ? marginals(...this.scores(words)) : [];
  }

  // Scores of labels for each token, of pairs of labels in a row, and of first and last labels.
  scores(words) {
    const sequence = words instanceof Sequence ? words : new Sequence(this, words);
    const n = this.labels.length, state = [], transition = [];
    sequence.words.forEach((_, t) => {
      const scores = new Float64Array(n), kind = this.kindOf(sequence, t);
      for (let s = 0; s < this.nSlots; s++) {
        const exponent = this.exponents[kind * this.nSlots + s];
        const weights = exponent === 0 ? null : sequence.evidence(s, t)?.weights;
        for (let j = 0; weights && j < n; j++) scores[j] += exponent * weights[j];
      }
      state.push(scores);
      transition.push(t === 0 ? null : this.transitionAt(sequence, t));
    });
    return [state, transition, this.begin, this.end];
  }

  // The scores of the pairs of labels into a token.
  transitionAt(sequence, t) {
    const n = this.labels.length, scores = Float64Array.from(this.transition);
    for (let s = this.nSlots; s < this.nWithEdges; s++) {
      for (const [i, j, gain] of this.edgeGains(sequence, s, t)) {
        scores[i * n + j] += this.edgeExponent * gain;
      }
    }
    return scores;
  }

  kindOf(sequence, t) {
    if (!this.learning) return this.kinds[sequence.columns[0][t]] ?? UNSEEN;
    const seen = this.countsOf(sequence.attribute(this.slots[WORD], t)).total;
    return seen <= 0 ? UNSEEN : seen <= this.learning.seldom ? SELDOM : FREQUENT;
  }

  evidence(sequence, number, t) {
    const attribute = sequence.attribute(this.slots[number], t);
    if (this.learning) return this.estimate(sequence, number, t, attribute);
    if (attribute === null || attribute.row < 0) return null;
    if (number === WORD && this.kindOf(sequence, t) === UNSEEN) return null;
    const weights = new Float64Array(this.labels.length), { row } = attribute;
    for (let e = this.state.start(row); e < this.state.start(row + 1); e++) {
      weights[this.state.columns[e]] = this.state.values[e];
    }
    return { weights };
  }

  // What the symbols of an edge add to the scores of pairs of labels: [previous, current, gain].
  edgeGains(sequence, number, t) {
    const attribute = sequence.attribute(this.slots[number], t);
    if (attribute === null) return [];
    if (this.learning) return this.estimateEdge(sequence, number, t, attribute);
    return this.entriesOfEdge(attribute.row).map(([i, j, e]) => [i, j, this.edge.values[e]]);
  }

  entriesOfEdge(row) {
    const found = [], bits = this.labels.length <= 256 ? 8 : 16;
    if (row < 0) return found;
    for (let e = this.edge.start(row); e < this.edge.start(row + 1); e++) {
      const code = this.edge.columns[e];
      found.push([code & ((1 << bits) - 1), code >> bits, e]);
    }
    return found;
  }

  // --- estimates, for files with counts ---------------------------------------------------------------

  readCounts(arrays) {
    const n = this.labels.length, { state } = this;
    this.changes = new Map();  // what was learned: by attribute, by label or pair of labels
    this.pairs = Float64Array.from(arrays["pairs.counts"].values);
    this.first = Float64Array.from(arrays["first.counts"].values);
    this.last = Float64Array.from(arrays["last.counts"].values);
    this.ofLabels = new Float64Array(n);
    this.ofRare = new Float64Array(n);
    const first = this.slots[WORD].row([0]);
    for (let id = 0; id < this.words.size; id++) {
      const start = state.start(first + id), stop = state.start(first + id + 1);
      let total = 0;
      for (let e = start; e < stop; e++) total += state.values[e];
      for (let e = start; e < stop; e++) {
        this.ofLabels[state.columns[e]] += state.values[e];
        if (total <= this.learning.rare) this.ofRare[state.columns[e]] += state.values[e];
      }
    }
    this.estimateLabels();
  }

  // Estimate what all tokens share.
  estimateLabels() {
    const { strength, transition, boundary } = this.learning;
    const n = this.labels.length, total = sum(this.ofLabels) + LABEL_PRIOR * n;
    this.prior = this.ofLabels.map((count) => (count + LABEL_PRIOR) / total);
    const base = this.ofRare.map((count, j) => count + this.prior[j]), ofAll = sum(base);
    this.base = base.map((value) => value / ofAll);
    this.rates = smoothedRates(this.pairs, this.prior, strength);
    this.transition = this.rates.map((rate) => transition * Math.log(rate));
    [this.begin, this.end] = [this.first, this.last].map((counts) =>
      boundaryRates(counts, this.prior, strength).map((rate) => boundary * Math.log(rate)));
  }

  // The counts of an attribute by label, and their sum.
  countsOf(attribute) {
    const counts = new Float64Array(this.labels.length);
    if (attribute === null) return { counts, total: 0 };
    const { key, row, table } = attribute, { state } = this, n = counts.length;
    if (table && row >= 0) counts.set(table.subarray(n * row, n * row + n));
    else for (let e = row < 0 ? 0 : state.start(row); row >= 0 && e < state.start(row + 1); e++) {
      counts[state.columns[e]] += state.values[e];
    }
    for (const [j, change] of this.changes.get(key) ?? []) counts[j] += change;
    return { counts, total: sum(counts) };
  }

  // The estimate (c + k q) / (n + k) of each label, for a count c of n, where q is the prior and k its
  // strength; the weight is log(1 + c / (k q)), what the estimate is above the prior.
  estimate(sequence, number, t, attribute) {
    const { strength, slots, given } = this.learning;
    const [factor, above] = slots[number] ?? [given[number - this.nWithEdges][0], -1];
    if (number === 0) {
      const least = Math.min(...this.base);
      return { weights: this.base.map((p) => Math.log(p / least)), prior: this.base.map(() => 1),
        probability: this.base };
    }
    let prior = this.prior;
    if (number === WORD) prior = this.spelled(sequence, t);
    else if (above >= 0) prior = sequence.evidence(above, t).probability;
    else if (number < WORD) prior = this.base;
    const { counts, total } = this.countsOf(attribute), k = factor * strength;
    return {
      weights: counts.map((c, j) => Math.log1p(c / (k * prior[j]))), prior, total,
      probability: counts.map((c, j) => (c + k * prior[j]) / (total + k)),
    };
  }

  // The probabilities of labels given the spelling of a word: a product of co-occurrence rates.
  spelled(sequence, t) {
    const scores = new Float64Array(this.labels.length);
    this.learning.spelling.forEach((exponent, s) => {
      sequence.evidence(s, t).weights.forEach((weight, j) => { scores[j] += exponent * weight; });
    });
    const logZ = logSumExp(scores);
    return scores.map((score) => Math.exp(score - logZ));
  }

  estimateEdge(sequence, number, t, { key, row }) {
    const [factor, exponent, before, here] = this.learning.edges[number - this.nSlots];
    const n = this.labels.length, k = factor * this.learning.strength;
    const counts = new Map(this.entriesOfEdge(row).map(([i, j, e]) =>
      [j * n + i, this.edge.values[e]]));
    for (const [code, change] of this.changes.get(key) ?? []) {
      counts.set(code, (counts.get(code) ?? 0) + change);
    }
    const previous = sequence.evidence(before, t - 1), current = sequence.evidence(here, t);
    return Array.from(counts, ([code, count]) => {
      const i = code % n, j = (code - i) / n;
      const prior = this.rates[i * n + j] * previous.probability[i] * current.probability[j];
      return [i, j, exponent * Math.log1p(count / (k * prior))];
    });
  }

  // --- learning ---------------------------------------------------------------------------------------

  // Learn a labelled sequence at once, as `partial_fit` of the estimator does.
  learn(words, labels) {
    this.change(words, labels, 1);
  }

  // Forget a sequence that was learned, or was in the training data.
  forget(words, labels) {
    this.change(words, labels, -1);
  }

  change(words, labels, sign) {
    if (!this.learning) throw new Error("the file has no counts, so its tagger cannot learn");
    const y = labels.map((label) => this.labels.indexOf(label));
    if (y.length !== words.length) throw new Error("there must be one label for each word");
    if (y.includes(-1)) throw new Error(`the label ${labels[y.indexOf(-1)]} is not known`);
    if (sign > 0) words.forEach((word) => this.number(word));
    if (!this.add(new Sequence(this, words), y, sign)) {
      this.add(new Sequence(this, words), y, -sign);
      throw new Error("these words were never learned with these labels");
    }
    this.estimateLabels();
  }

  // Give the next ids to a new word and to its spelling.
  number(word) {
    if (!this.words.has(word)) this.words.set(word, this.words.size);
    spell(word).forEach((symbol, k) => {
      if (!this.spellings[k].has(symbol)) this.spellings[k].set(symbol, this.spellings[k].size);
    });
  }

  // Add the counts of a labelled sequence, times a sign; false if a count falls below zero.
  add(sequence, y, sign) {
    const n = this.labels.length, word = this.slots[WORD];
    const places = sequence.words.map((_, t) => t);
    const different = places.filter((t) => sequence.words.indexOf(sequence.words[t]) === t);
    const before = different.map((t) => this.countsOf(sequence.attribute(word, t)));
    let isThere = true;
    for (const t of places) {
      this.ofLabels[y[t]] += sign;
      if (t === 0) this.first[y[t]] += sign;
      else this.pairs[y[t - 1] * n + y[t]] += sign;
      if (t === places.length - 1) this.last[y[t]] += sign;
      for (const slot of this.slots.slice(WORD)) {
        const isEdge = slot.number >= this.nSlots && slot.number < this.nWithEdges;
        if (isEdge && t === 0) continue;
        const attribute = sequence.attribute(slot, t);
        const code = isEdge ? y[t] * n + y[t - 1] : y[t];
        isThere = attribute !== null && this.addTo(attribute, code, sign, isEdge) && isThere;
      }
    }
    different.forEach((t, k) => {
      this.addSpelling(sequence.spelling[t], before[k], -1);
      this.addSpelling(sequence.spelling[t], this.countsOf(sequence.attribute(word, t)), 1);
    });
    return isThere;
  }

  addTo({ key, row, table }, code, weight, isEdge) {
    if (!this.changes.has(key)) this.changes.set(key, new Map());
    const changed = this.changes.get(key), value = (changed.get(code) ?? 0) + weight;
    changed.set(code, value);
    if (value >= 0) return true;
    if (!isEdge) return this.countsOf({ key, row, table }).counts[code] >= 0;
    const n = this.labels.length;
    const entry = this.entriesOfEdge(row).find(([i, j]) => j * n + i === code);
    return entry !== undefined && this.edge.values[entry[2]] + value >= 0;
  }

  // Rare words stand in for unknown ones: their spelling counts.
  addSpelling(ids, { counts, total }, sign) {
    if (total <= 0 || total > this.learning.rare) return;
    counts.forEach((count, j) => {
      if (count === 0) return;
      this.ofRare[j] += sign * count;
      ids.forEach((id, k) => this.addTo({ key: `${k + 1}:${id}`, row: -1 }, j, sign * count));
    });
  }

  // --- reasons ----------------------------------------------------------------------------------------

  // What speaks for the labels of a word: a list of { name, exponent, factors }, where `factors` are by
  // how much the evidence multiplies the probability of each label. With counts there are `rates`, too,
  // co-occurrence rates p(label | evidence) / p(label), of which factors are powers. Without counts,
  // the factors of a piece of evidence are known up to one that all labels share.
  explain(words, t) {
    const sequence = new Sequence(this, words), kind = this.kindOf(sequence, t), n = this.labels.length;
    const found = [];
    for (let s = 0; s < this.nSlots; s++) {
      const exponent = this.exponents[kind * this.nSlots + s], evidence = sequence.evidence(s, t);
      if (exponent === 0 || !evidence || evidence.total === 0) continue;
      const { weights, probability, prior } = evidence;
      const rates = probability && Array.from(probability, (p, j) => p / prior[j]);
      const factors = Array.from(weights, (w, j) => (rates ? rates[j] : Math.exp(w)) ** exponent);
      found.push({ name: this.nameOf(sequence, s, t), exponent, rates, factors });
    }
    const [state, transition, begin, end] = this.scores(sequence);
    const path = bestPath(state, transition, begin, end);
    const towards = (name, score) => found.push({ name, exponent: 1, rates: undefined,
      factors: Array.from({ length: n }, (_, j) => Math.exp(score(j))) });
    if (t > 0) {
      const i = path[t - 1];
      towards(`after ${this.labels[i]}`, (j) => transition[t][i * n + j]);
    }
    if (t + 1 < path.length) {
      const k = path[t + 1];
      towards(`before ${this.labels[k]}`, (j) => transition[t + 1][j * n + k]);
    }
    return found;
  }

  nameOf(sequence, number, t) {
    const { name, places, feature } = this.slots[number];
    if (number === 0) return "any rare word";
    if (feature !== undefined) return `${FEATURES[feature]} = ${spell(sequence.words[t])[feature]}`;
    const symbols = places.map(([column, k]) => {
      const word = sequence.words[t + k];
      if (word === undefined) return t + k < 0 ? "(start)" : "(end)";
      return column === 0 ? word : spell(word)[this.contextFeatures[column - 1]];
    });
    return name.split("|").map((place, k) => `${place} = ${symbols[k]}`).join(", ");
  }
}

// Rates p(i, j) / (p(i) p(j)) with Witten-Bell smoothing towards 1, in both directions.
function smoothedRates(counts, prior, strength) {
  const n = prior.length, total = sum(counts);
  const after = Array.from(prior, (_, i) => counts.subarray(i * n, i * n + n));
  const before = after.map((_, j) => Float64Array.from({ length: n }, (_, i) => counts[i * n + j]));
  const rates = (rows, others) => {
    const p = others.map((row, j) => (sum(row) + prior[j]) / (total + 1));
    return rows.map((row) => {
      const kept = 0.5 * strength * row.filter((count) => count > 0).length + TINY, all = sum(row) + kept;
      return row.map((count, j) => (count / p[j] + kept) / all);
    });
  };
  const [forward, backward] = [rates(after, before), rates(before, after)];
  return Float64Array.from(counts, (_, k) => {
    const i = Math.floor(k / n), j = k % n;
    return 0.5 * (forward[i][j] + backward[j][i]);
  });
}

// Rates of labels with one end of a sequence, smoothed towards 1.
function boundaryRates(counts, prior, strength) {
  const kept = 0.5 * strength + TINY, total = sum(counts);
  return counts.map((count, j) => (count / prior[j] + kept) / (total + kept));
}

function sum(values) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}
