// SPDX-License-Identifier: BSD-3-Clause
// Names and values of a recording as text.

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

function swatch(tracepoint) {
    const element = make('span', {className: 'swatch'});
    element.style.background = colours[tracepoint];
    return element;
}
