// SPDX-License-Identifier: BSD-3-Clause
// The trace: tables, states of maps, lines, as src/history/write.c and states.c write them.

let tables; // what src/history/write.c says of the whole trace
const maps = []; // {…table, times, emptied, states}
const PRINTED = 0, MESSAGE = 1, PROBLEM = 2; // kinds of lines
const lines = {times: [], texts: [], kinds: []};
const problems = []; // lines that say that something is wrong or missing

async function loadTables() {
    tables = JSON.parse(utf8.decode(await inflate(document.querySelector('script.tables'))));
    tables.end = Math.max(1, tables.end);
}

// A number as it was printed: one that a double does not hold is a BigInt.
function readValue(reader, isSigned) {
    reader.pair();
    if (reader.high < 0x200000) {
        const number = reader.high * 0x100000000 + reader.low;
        return !isSigned ? number : reader.low & 1 ? -(number + 1) / 2 : number / 2;
    }
    const number = (BigInt(reader.high) << 32n) | BigInt(reader.low);
    const value = !isSigned ? number : number & 1n ? -(number >> 1n) - 1n : number >> 1n;
    return value > -9007199254740992n && value < 9007199254740992n ? Number(value) : value;
}

// Counts of a histogram from its first row on that is not empty.
class Rows {
    constructor(reader) {
        this.bytes = reader.bytes;
        this.first = reader.number();
        this.count = reader.number();
        this.at = reader.at;
        this.total = 0;
        for (let i = 0; i < this.count; i++) this.total += reader.number();
    }

    counts() {
        const reader = new Reader(this.bytes), counts = new Float64Array(this.count);
        reader.at = this.at;
        for (let i = 0; i < this.count; i++) counts[i] = reader.number();
        return counts;
    }
}

function readCell(reader, map) {
    if (map.kind === 'numbers') return readValue(reader, map.signed);
    if (map.kind === 'stats') return [readValue(reader, map.signed), reader.number(), readValue(reader, map.signed)];
    if (map.kind === 'rows') return new Rows(reader);
    if (map.kind === 'texts') return reader.number();
    return Array.from({length: reader.number()}, () => [reader.number(), readValue(reader, map.signed)]);
}

async function loadMap(map, element) {
    const reader = new Reader(await inflate(element)), count_ = reader.number();
    map.times = reader.numbers(count_);
    map.emptied = reader.numbers(count_);
    const lengths = reader.numbers(count_);
    map.states = []; // by key
    for (let i = 0; i < count_; i++) {
        const end = reader.at + lengths[i], cells = new Map();
        while (reader.at < end) {
            const key = reader.number();
            cells.set(key, readCell(reader, map));
        }
        map.states.push(cells);
    }
    map.name = clean(map.name);
    map.keys = map.keys.map((parts) => parts.map(cleanLines));
    map.texts = map.texts.map(([text]) => cleanLines(text));
    return map;
}

async function loadMaps() {
    const elements = [...document.querySelectorAll('script.states')];
    for (let i = 0; i < tables.maps.length; i++) maps.push(await loadMap(tables.maps[i], elements[i]));
}

const cleanLines = (text) => text.split('\n').map(clean).join('\n').trimEnd();

// ---- values ----

// The state that a map had at a time: its number, -1 before the first.
function stateAt(map, time) {
    let low = 0, high = map.times.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (map.times[middle] <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

// What counters had before: {from, before}, the time since when what a state has was counted, and the state that is taken
// off, or null.
function sinceWhen(map, index) {
    const emptied = map.emptied[index] - 1, last = index ? map.times[index - 1] : -1;
    if (emptied >= last) return {from: Math.max(0, emptied), before: null};
    return {from: Math.max(0, last), before: index ? map.states[index - 1] : null};
}

// What a value is ordered and drawn by.
function numberOf(map, value) {
    if (value === undefined) return 0;
    return map.kind === 'numbers' ? Number(value) : map.kind === 'stats' ? Number(value[0]) : map.kind === 'rows' ? value.total
        : map.kind === 'series' ? (value.length ? Number(value[value.length - 1][1]) : 0) : 0;
}

// How much a counter grew in a state, and in how many seconds.
function growth(map, index, key) {
    const {from, before} = sinceWhen(map, index);
    const value = numberOf(map, map.states[index].get(key)), was = before ? numberOf(map, before.get(key)) : 0;
    return {by: value >= was ? value - was : value, seconds: (map.times[index] - from) / 1e9};
}

function rateOf(map, index, key) {
    const {by, seconds} = growth(map, index, key);
    return seconds > 0 ? by / seconds : 0;
}

// Counts of all rows of a key: in the whole state, or what came to it since the one before.
function rowsOf(map, index, key, isGrowth) {
    const counts = new Float64Array(map.rows.length);
    const add = (rows, sign) => rows && rows.counts().forEach((value, i) => (counts[rows.first + i] += sign * value));
    add(map.states[index]?.get(key), 1);
    const before = isGrowth && map.adds ? sinceWhen(map, index).before?.get(key) : null;
    if (before && before.total <= (map.states[index].get(key)?.total ?? 0)) add(before, -1);
    return counts.map((value) => Math.max(0, value));
}

// The row that has a quantile, -1 without values.
function quantileRow(counts, share) {
    const total = counts.reduce((sum, value) => sum + value, 0);
    let sum = 0;
    for (let row = 0; row < counts.length && total; row++) {
        sum += counts[row];
        if (sum >= share * total && counts[row]) return row;
    }
    return -1;
}

// ---- lines ----

const COLOUR = /\u001b\[[0-9;]*m/g;

function addLine(time, text, kind = PRINTED) {
    lines.times.push(time);
    lines.texts.push(clean(text.replace(/\t/g, '        ')));
    lines.kinds.push(kind);
}

function addMessage(time, text) {
    const plain = text.replace(COLOUR, '');
    const isProblem = /\b(ERROR|WARNING)\b|^Lost /m.test(plain);
    if (isProblem) problems.push({time, text: plain});
    for (const line of plain.split('\n')) addLine(time, line, isProblem ? PROBLEM : MESSAGE);
}

// A line that is JSON: what it says, or a message. What printf() wrote without an end of line goes on in the next.
const open = {time: 0, text: ''};

function addText(time, text) {
    const parts = text.split('\n');
    if (!open.text) open.time = time;
    parts[0] = open.text + parts[0];
    open.text = parts.pop();
    parts.forEach((part, i) => addLine(i ? time : open.time, part));
    if (parts.length) open.time = time;
}

function addJson(time, text) {
    let line;
    try {
        line = JSON.parse(text);
    } catch { // of a command that the script ran
        return addLine(time, text);
    }
    const {type, data} = line;
    if (['printf', 'time', 'cat', 'join', 'syscall'].includes(type)) return addText(time, String(data));
    if (type === 'value') return addLine(time, typeof data === 'string' ? data : JSON.stringify(data));
    if (type === 'attached_probes') return addMessage(time, `Attached ${data.probes} probes`);
    if (type === 'lost_events') return addMessage(time, `Lost ${data.events} events${data.probe ? ' of ' + data.probe : ''}${data.reason ? ': ' + data.reason : ''}`);
    if (/error|warn/.test(type)) return addMessage(time, `${/warn/.test(type) ? 'WARNING' : 'ERROR'}: ${line.msg ?? line.message ?? JSON.stringify(line)}`);
    return addLine(time, text);
}

// By their time: what was reported is there before events that came earlier are handled.
function sortLines() {
    if (lines.times.every((time, i) => !i || lines.times[i - 1] <= time)) return;
    const order = lines.times.map((_, i) => i).sort((a, b) => lines.times[a] - lines.times[b] || a - b);
    for (const name of ['times', 'texts', 'kinds']) lines[name] = order.map((i) => lines[name][i]);
}

async function loadLines() {
    for (const element of document.querySelectorAll('script.lines')) {
        const reader = new Reader(await inflate(element)), count_ = reader.number();
        const times = reader.numbers(count_), kinds = reader.indexes(count_), lengths = reader.indexes(count_);
        for (let i = 0; i < count_; i++) {
            const text = utf8.decode(reader.text(lengths[i]));
            if (kinds[i]) addMessage(times[i], text);
            else if (tables.json) addJson(times[i], text);
            else addLine(times[i], text);
        }
    }
    if (open.text) addLine(open.time, open.text);
    sortLines();
}
