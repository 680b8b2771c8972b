// SPDX-License-Identifier: BSD-3-Clause
// The recording: its tables, and its chunks, which are decoded when they are needed. Of a small recording all are kept,
// of a large one those that were needed last.

const UNSIGNED = 1, SIGNED = 2, POINTER = 3, STRING = 4, REAL = 5, BOOL = 6; // kinds of arguments: reader/reader.h
const BEGINS = 1, ENDS = 2;
const KEPT_EVENTS = 3e6;
const TOTAL = 2 ** 30; // PAGE_TOTAL in src/export/html/page.h

const tables = JSON.parse(document.getElementById('tables').textContent);
const chunkElements = document.getElementsByClassName('chunk');
const chunks = tables.chunks.map(([events, from, to], index) => ({index, events, from, to, chunk: null, loading: null, used: 0}));
const crossing = {count: 0}; // steps that go on from chunk to chunk
const lines = {times: [], texts: []}; // of another output
const sums = {series: [], threads: [], heats: []};
let uses = 0;

// The chunk if it is decoded.
function chunkNow(index) {
    const entry = chunks[index];
    entry.used = ++uses;
    return entry.chunk;
}

async function chunkLoad(index) {
    const entry = chunks[index];
    entry.used = ++uses;
    if (entry.chunk) return entry.chunk;
    entry.loading ||= inflate(chunkElements[index]).then((bytes) => {
        entry.chunk = new Chunk(bytes, index, tables);
        entry.loading = null;
        forgetSome();
        return entry.chunk;
    });
    return entry.loading;
}

function forgetSome() {
    const kept = chunks.filter((entry) => entry.chunk).sort((a, b) => b.used - a.used);
    let events = 0;
    for (const entry of kept) if ((events += entry.events) > KEPT_EVENTS) entry.chunk = null;
}

// Indexes of the chunks with events between two times: [first, behind the last].
function chunksBetween(from, to) {
    let first = 0, end = chunks.length;
    while (first < end && chunks[first].to < from) first++;
    while (end > first && chunks[end - 1].from > to) end--;
    return [first, end];
}

// How many events there are about between two times.
function eventsBetween(from, to) {
    let events = 0;
    const [first, end] = chunksBetween(from, to);
    for (let i = first; i < end; i++) {
        const chunk = chunks[i], width = chunk.to - chunk.from;
        const covered = Math.min(to, chunk.to) - Math.max(from, chunk.from);
        events += width > 0 ? chunk.events * Math.max(0, covered) / width : chunk.events;
    }
    return events;
}

// Index of the first of ascending numbers that is not less.
function lowerBound(numbers, value, from = 0, to = numbers.length) {
    while (from < to) {
        const middle = (from + to) >> 1;
        if (numbers[middle] < value) from = middle + 1;
        else to = middle;
    }
    return from;
}

async function loadCrossing() {
    const names = ['end', 'length', 'tracepoint', 'track', 'lane', 'serial', 'number'];
    const parts = [];
    for (const element of document.getElementsByClassName('crossing')) {
        const reader = new Reader(await inflate(element));
        const count = reader.number();
        const part = {count};
        for (const name of names) part[name] = reader.numbers(count);
        part.id = reader.column(count);
        parts.push(part);
        crossing.count += count;
    }
    for (const name of names) {
        crossing[name] = new Float64Array(crossing.count);
        let at = 0;
        for (const part of parts) {
            crossing[name].set(part[name], at);
            at += part.count;
        }
    }
    crossing.from = crossing.end.map((end, i) => end - crossing.length[i]);
    crossing.id = [];
    for (const part of parts) for (let i = 0; i < part.count; i++) crossing.id.push(wordOf(part.id, i));
    crossing.byTrack = grouped(tables.tracks.length, crossing.count, (i) => crossing.track[i]);
    crossing.bySerial = new Map();
    for (let i = 0; i < crossing.count; i++) {
        const of = crossing.bySerial.get(crossing.serial[i]);
        if (of) of.push(i);
        else crossing.bySerial.set(crossing.serial[i], [i]);
    }
}

async function loadLines() {
    for (const element of document.getElementsByClassName('lines')) {
        const reader = new Reader(await inflate(element));
        const count = reader.number();
        const times = reader.numbers(count), lengths = reader.indexes(count);
        for (let i = 0; i < count; i++) {
            lines.times.push(times[i]);
            lines.texts.push(utf8.decode(reader.text(lengths[i])));
        }
    }
}

async function loadSums() {
    const reader = new Reader(await inflate(document.getElementsByClassName('sums')[0]));
    for (const [track, tracepoint] of tables.series)
        sums.series.push({track, tracepoint, values: reader.numbers(tables.instants)});
    tables.threads.forEach((thread, index) => {
        if (thread.summed) sums.threads[index] = reader.numbers(tables.instants);
    });
    for (const [type, from, to] of tables.heats)
        sums.heats.push({type, from, to, cells: reader.indexes(tables.columns * tables.rows)});
    sums.byTrack = tables.tracks.map((_, track) => sums.series.filter((series) => series.track === track));
    sums.byType = tables.types.map((_, type) => sums.series.filter((series) => series.track === TOTAL + type));
}
