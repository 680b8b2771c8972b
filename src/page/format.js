// SPDX-License-Identifier: BSD-3-Clause
// Names, times and values as text. What was recorded is untrusted: it only ever becomes the text of a node or of a canvas,
// and characters that are not seen or that turn the direction of what follows are written as their numbers.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;

function clean(text) {
    return String(text).replace(HIDDEN, (character) => '\\u' + character.codePointAt(0).toString(16).padStart(4, '0'));
}

const NO_NAMES = {};
for (const tracepoint of tables.tracepoints) {
    tracepoint.name = clean(tracepoint.name);
    tracepoint.group = clean(tracepoint.group);
    for (const argument of tracepoint.arguments) {
        argument.name = clean(argument.name);
        argument.values = tables.enumerations[argument.values] || NO_NAMES;
    }
}
tables.owners = ['', ...tables.owners.map(clean)];
for (const type of tables.types) {
    type.letter = clean(type.letter);
    type.name = clean(type.name);
}
for (const thread of tables.threads) {
    thread.label = (tables.spdk ? 'lcore ' : '') + thread.id + (thread.name ? ' ' + clean(thread.name) : '');
}

const typeName = (type) => tables.types[type].name || tables.types[type].letter;

// number: as in the tables of objects, 1 more than it is, 0 if the beginning is not in the recording
function objectLabel(type, number, id) {
    return tables.types[type].letter + (number ? number - 1 : '@' + id.toString(16));
}

const chunkObjectType = (chunk, object) => tables.tracks[chunk.tracks[object]].type;
const chunkObjectLabel = (chunk, object) =>
    objectLabel(chunkObjectType(chunk, object), chunk.numbers[object], wordOf(chunk.ids, object));

const commas = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
const count = (number, word) => commas(number) + ' ' + word + (number === 1 ? '' : 's');

// A duration, exact to the nanosecond, in microseconds as listings have them.
function micros(nanoseconds) {
    const whole = Math.round(nanoseconds);
    return commas(Math.floor(whole / 1000)) + '.' + String(whole % 1000).padStart(3, '0');
}

// A duration for people, with three digits.
function brief(nanoseconds) {
    const [unit, name] = nanoseconds < 1e3 ? [1, 'ns'] : nanoseconds < 1e6 ? [1e3, 'µs'] : nanoseconds < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
    const value = nanoseconds / unit;
    return (value >= 100 || unit === 1 ? Math.round(value) : value.toPrecision(3).replace(/\.?0+$/, '')) + ' ' + name;
}

// A time since the start, exact: 1.234 567 890 s, without the last zeros of `digits` groups.
function exact(nanoseconds, digits = 3) {
    if (nanoseconds < 0) return '−' + exact(-nanoseconds, digits);
    const whole = Math.round(nanoseconds);
    const seconds = Math.floor(whole / 1e9);
    const rest = String(whole - seconds * 1e9).padStart(9, '0');
    return commas(seconds) + '.' + [rest.slice(0, 3), rest.slice(3, 6), rest.slice(6)].slice(0, digits).join('\u202f') + ' s';
}

// The time of day, exact; '' if it is not known.
function wall(nanoseconds) {
    if (tables.realtime === '0') return '';
    const time = BigInt(tables.start) + BigInt(tables.realtime) + BigInt(Math.round(nanoseconds));
    const date = new Date(Number(time / 1000000n));
    if (isNaN(date)) return '';
    return date.toLocaleDateString('sv') + ' ' + date.toLocaleTimeString('sv') + '.' + String(time % 1000000000n).padStart(9, '0');
}

const real = new DataView(new ArrayBuffer(8));

// The value of an argument as a listing has it.
function valueText(argument, value) {
    if (argument.kind === STRING) return clean(value);
    const signed = BigInt.asIntN(64, value);
    if (argument.values !== NO_NAMES && Object.hasOwn(argument.values, signed)) return clean(argument.values[signed]);
    if (argument.kind === POINTER) return '0x' + value.toString(16);
    if (argument.kind === BOOL) return value ? 'true' : 'false';
    if (argument.kind === SIGNED) return String(signed);
    if (argument.kind !== REAL) return String(value);
    real.setBigUint64(0, value);
    return String(real.getFloat64(0));
}

function argumentsText(chunk, event) {
    const tracepoint = tables.tracepoints[chunk.tracepoints[event]];
    const texts = tracepoint.arguments.map((argument, i) => argument.name + '=' + valueText(argument, chunk.value(event, i)));
    const size = chunk.size(event);
    if (size) texts.unshift('size=' + size);
    return texts.join(' ');
}

function relatedText(chunk, event) {
    const related = chunk.related.get(event);
    return related ? related.map((object) => chunkObjectLabel(chunk, object)).join(' ') : '';
}

// ---- colours: one for each tracepoint, neighbours of an object differ ----

const HUES = [212, 28, 140, 350, 268, 52, 184, 322, 96, 12, 236, 160];
const colours = [];

function makeColours(dark) {
    const met = new Map();
    tables.tracepoints.forEach((tracepoint, index) => {
        const nth = met.get(tracepoint.object) || 0;
        met.set(tracepoint.object, nth + 1);
        const hue = HUES[(nth + 5 * Math.max(0, tracepoint.object)) % HUES.length];
        const shade = Math.floor(nth / HUES.length) % 3;
        colours[index] = `hsl(${hue} ${dark ? 48 : 62}% ${(dark ? 58 : 70) - 7 * shade}%)`;
    });
}

// ---- elements ----

// An element with a class, a text, and children: never markup.
function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
        if (name === 'text') element.textContent = value;
        else if (name === 'on') for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
        else if (name in element && name !== 'list') element[name] = value;
        else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
}

// A table: heads with ':' at their end are of numbers.
function makeTable(caption, heads, rows) {
    const isNumber = heads.map((head) => head.endsWith(':'));
    const cell = (tag, value, i) => {
        const element = make(tag, {className: isNumber[i] ? 'number' : ''});
        element.append(value instanceof Node ? value : String(value));
        if (tag === 'th') element.scope = 'col';
        return element;
    };
    const head = make('tr', {}, ...heads.map((text, i) => cell('th', text.replace(/:$/, ''), i)));
    const body = make('tbody', {}, ...rows.map((row) => {
        const line = make('tr', {className: row.className || ''}, ...row.map((value, i) => cell('td', value, i)));
        return line;
    }));
    return make('table', {}, make('caption', {text: caption}), make('thead', {}, head), body);
}

function swatch(tracepoint) {
    const element = make('span', {className: 'swatch'});
    element.style.background = colours[tracepoint];
    return element;
}
