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
  const unpacking = new DecompressionStream("gzip"), writer = unpacking.writable.getWriter();
  const written = Promise.all([writer.write(bytes), writer.close()]);
  written.catch(() => {});  // the reader fails, too
  const parts = [], reader = unpacking.readable.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
  await written;
  const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// The settings and the arrays of a file, by name.
function readContent(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER || String.fromCharCode(...bytes.subarray(0, MAGIC.length)) !== MAGIC) {
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
  const arrays = {};
  for (const [name, [dtype, shape, place]] of Object.entries(described)) {
    const n = shape.reduce((product, k) => product * k, 1);
    const part = bytes.subarray(first + place, first + place + n * Number(dtype.slice(2)));
    const type = settings.types?.[name];
    arrays[name] = new Numbers(part, type ?? dtype, type ? shape.slice(1) : shape,
      type !== undefined, settings.scales?.[name] ?? 1);
  }
  return { settings, arrays };
}

// The numbers of an array. If they are split, its bytes are first the lowest ones of all numbers, then
// the next ones; `at` joins those of one number, so that a large array costs nothing at the start.
class Numbers {
  constructor(bytes, dtype, shape, isSplit, scale) {
    Object.assign(this, { bytes, dtype, shape, scale });
    this.width = Number(dtype.slice(2));
    this.length = bytes.length / this.width;
    this.isSplit = isSplit && this.width > 1;
    this.isSigned = dtype[1] === "i";
    if (!this.isSplit || dtype[1] === "f") this.view = this.whole();
    if (!Number.isFinite(scale)) throw new Error("the file is damaged");
  }

  // The number at a place, undefined outside.
  at(i) {
    if (!(i >= 0 && i < this.length)) return undefined;
    if (this.view !== undefined) return this.scale * this.view[i];
    if (this.width === 8) return (this.word(i, 0) >>> 0) + 2 ** 32 * this.word(i, 4);
    if (this.width === 2) {
      const value = this.bytes[i] | (this.bytes[this.length + i] << 8);
      return this.scale * (this.isSigned ? (value << 16) >> 16 : value);
    }
    return this.scale * (this.isSigned ? this.word(i, 0) : this.word(i, 0) >>> 0);
  }

  // Four bytes of a number, from the k-th on.
  word(i, k) {
    const { bytes } = this, n = this.isSplit ? this.length : 1;
    const at = this.isSplit ? k * n + i : i * this.width + k;
    return bytes[at] | (bytes[at + n] << 8) | (bytes[at + 2 * n] << 16) | (bytes[at + 3 * n] << 24);
  }

  // All numbers.
  get values() {
    if (this.all === undefined && this.scale === 1) this.all = this.view;
    if (this.all === undefined) {
      this.all = new Float64Array(this.length);
      for (let i = 0; i < this.length; i++) this.all[i] = this.at(i);
    }
    return this.all;
  }

  // All numbers in the memory of the file, if they are not split.
  whole() {
    const { dtype, width, length: n } = this;
    let { bytes } = this;
    if (this.isSplit) {
      const joined = new Uint8Array(bytes.length);
      for (let i = 0; i < n; i++) {
        for (let k = 0; k < width; k++) joined[i * width + k] = bytes[k * n + i];
      }
      bytes = joined;
    }
    if (dtype === "<u8") return bytes;  // bits
    const kind = TYPES[dtype === "<i8" ? "<i4" : dtype];
    if (kind === undefined) throw new Error(`there are no arrays of the type ${dtype}`);
    const view = new kind(bytes.buffer, bytes.byteOffset, bytes.length / kind.BYTES_PER_ELEMENT);
    if (dtype[1] === "f" && !Number.isFinite(sum(view))) throw new Error("the file is damaged");
    return dtype !== "<i8" ? view : Float64Array.from({ length: n }, (_, i) =>
      (view[2 * i] >>> 0) + 2 ** 32 * view[2 * i + 1]);
  }
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

// The numbers of the strings of a table, by a hash table over the bytes of the file; a byte before each
// string says how many bytes a character has. Strings that are added have the next numbers.
class Strings {
  constructor(arrays, name) {
    const bytes = this.bytes = arrays[`${name}.blob`].values;
    const starts = this.starts = arrays[`${name}.starts`].values;
    this.added = new Map();
    this.n = this.starts.length - 1;
    this.slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * this.n + 2)));
    for (let id = 0; id < this.n; id++) {
      const start = starts[id], stop = starts[id + 1], width = bytes[start];
      if (!(start < stop && stop <= bytes.length) || (width !== 1 && width !== 2 && width !== 4)) {
        throw new Error(`the table ${name} is damaged`);
      }
      let hash = 0;
      for (let at = start + 1; at < stop; at += width) {
        hash = hashed(hash, width === 1 ? bytes[at] : this.point(at, width));
      }
      this.slots[this.free(hash)] = id + 1;
    }
  }

  get size() {
    return this.n + this.added.size;
  }

  // The number of a string, undefined if it is not there.
  get(text) {
    const points = Array.from(text, (character) => character.codePointAt(0));
    const id = this.slots[this.free(points.reduce(hashed, 0), points)] - 1;
    return id >= 0 ? id : this.added.get(text);
  }

  add(text) {
    if (this.get(text) === undefined) this.added.set(text, this.size);
  }

  // The first slot that is empty, or has the string that is looked for.
  free(hash, points) {
    const { slots } = this, mask = slots.length - 1;
    let place = (hash ^ (hash >>> 15)) & mask;
    while (slots[place] !== 0 && !(points && this.is(slots[place] - 1, points))) {
      place = (place + 1) & mask;
    }
    return place;
  }

  is(id, points) {
    const start = this.starts[id] + 1, width = this.bytes[start - 1];
    return this.starts[id + 1] - start === width * points.length &&
      points.every((point, k) => this.point(start + k * width, width) === point);
  }

  // The code point at a place.
  point(at, width) {
    let point = 0;
    for (let k = width - 1; k >= 0; k--) point = (point << 8) | this.bytes[at + k];
    return point;
  }
}

function hashed(hash, point) {
  return Math.imul(hash ^ point, 0x9e3779b1);
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
    const part = (which) => arrays[`${name}.${which}`];
    [this.base, this.offset, this.columns] = ["base", "offset", "columns"].map(part);
    this.values = part(hasCounts ? "counts" : "data");
    const n = this.offset.length;
    this.shift = 0;
    while (((n - 1) >> this.shift) + 1 !== this.base.length) {
      if (++this.shift > 30) throw new Error(`the rows of ${name} are damaged`);
    }
  }

  start(row) {
    const start = this.base.at(row >> this.shift) + this.offset.at(row);
    return Math.max(0, Math.min(start, this.columns.length));  // in a damaged file, too
  }
}

// How many bits are set, counted in pairs, in fours, and in bytes, which are added up.
function nBits(word) {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

// The pairs of a group, each of which belongs to some of its members.
class Pairs {
  constructor(arrays, g) {
    [this.first, this.second, this.distance, this.derived] =
      arrays.groups.values.subarray(4 * g, 4 * g + 4);
    this.indptr = arrays[`pairs${g}.indptr`];
    this.seconds = arrays[`pairs${g}.second`];
    this.bits = arrays[`pairs${g}.bits`];
    this.before = [];  // of each member: how many bits are set before each word of 64
  }

  // The place of a pair among those of a member; undefined if it is none of them.
  rowOf(member, pair) {
    const { bits } = this, nWords = bits.shape[1], first = member * nWords, w = pair >> 6;
    if (pair < 0 || w >= nWords) return undefined;
    const half = (pair >> 3) & 4, bit = 1 << (pair & 31), word = bits.word(first + w, half);
    if (!(word & bit)) return undefined;
    if (!this.before[member]) {
      const before = this.before[member] = new Int32Array(nWords);
      for (let k = 0; k + 1 < nWords; k++) {
        before[k + 1] = before[k] + nBits(bits.word(first + k, 0)) + nBits(bits.word(first + k, 4));
      }
    }
    const below = nBits(word & (bit - 1)) + (half ? nBits(bits.word(first + w, 0)) : 0);
    return this.before[member][w] + below;
  }

  // The number of a pair of ids, UNKNOWN if there is none.
  find(first, second) {
    if (first < OUTSIDE || second < OUTSIDE || first + 2 >= this.indptr.length) return UNKNOWN;
    let low = this.indptr.at(first + 1), high = this.indptr.at(first + 2);
    const end = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.seconds.at(middle) < second) low = middle + 1;
      else high = middle;
    }
    return low < end && this.seconds.at(low) === second ? low : UNKNOWN;
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
    this.words = new Strings(arrays, "words");
    this.spellings = FEATURES.map((name) => new Strings(arrays, name));
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
  }

  makeSlots(settings, arrays) {
    const { nSlots, contextFeatures, spellings } = this;
    const names = ["token", ...contextFeatures.map((k) => `token:${FEATURES[k]}`)];
    const symbolRows = arrays.symbol_rows, firstWord = settings.first_word_row;
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
      add(k + 1, [], ([id]) => (id < sizes[k] ? symbolRows.at(begin + id) : -1), k);
      start += sizes[k];
    });
    add(WORD, [[0, 0]], ([id]) => (id >= 0 && id < nWords ? firstWord + id : -1));
    const starts = arrays.single_starts.values, rows = arrays.single_rows;
    const singles = arrays.single_slots.values;
    for (let k = 0; k < singles.length / 4; k++) {
      const [, column, place, slot] = singles.subarray(4 * k, 4 * k + 4);
      add(slot, [[column, place - settings.reach]], ([id]) =>
        (starts[k] + id + 1 < starts[k + 1] ? rows.at(starts[k] + id + 1) : -1));
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
        const row = group.rowOf(member, sequence.pairAt(group, t + shift));
        return row === undefined ? -1 : begin + row;
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
      weights[this.state.columns.at(e)] = this.state.values.at(e);
    }
    return { weights };
  }

  // What the symbols of an edge add to the scores of pairs of labels: [previous, current, gain].
  edgeGains(sequence, number, t) {
    const attribute = sequence.attribute(this.slots[number], t);
    if (attribute === null) return [];
    if (this.learning) return this.estimateEdge(sequence, number, t, attribute);
    return this.entriesOfEdge(attribute.row).map(([i, j, e]) => [i, j, this.edge.values.at(e)]);
  }

  entriesOfEdge(row) {
    const found = [], bits = this.labels.length <= 256 ? 8 : 16;
    if (row < 0) return found;
    for (let e = this.edge.start(row); e < this.edge.start(row + 1); e++) {
      const code = this.edge.columns.at(e);
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
      for (let e = start; e < stop; e++) total += state.values.at(e);
      for (let e = start; e < stop; e++) {
        this.ofLabels[state.columns.at(e)] += state.values.at(e);
        if (total <= this.learning.rare) this.ofRare[state.columns.at(e)] += state.values.at(e);
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
    else if (row >= 0) {
      for (let e = state.start(row), stop = state.start(row + 1); e < stop; e++) {
        counts[state.columns.at(e)] += state.values.at(e);
      }
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
      [j * n + i, this.edge.values.at(e)]));
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
    this.words.add(word);
    spell(word).forEach((symbol, k) => this.spellings[k].add(symbol));
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
    return entry !== undefined && this.edge.values.at(entry[2]) + value >= 0;
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
