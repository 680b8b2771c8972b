// SPDX-License-Identifier: BSD-3-Clause
// Draws the timeline. Where the view has few events, each is drawn from the chunks that have them; where it has many, how
// many there were and in which steps objects were is drawn from the sums. What is not decoded yet is drawn from the sums
// until it is.

const RULER = 34;
const EVENTS_PER_PIXEL = 60; // where there are more, sums are drawn
const LINKS_MAX = 300;
const view = {
    from: 0, to: 1, scroll: 0, width: 1, height: 1, // ns, ns, pixels
    selection: null, // {from, to, rows}
    object: null, // the serial of the chosen object
    event: null, // {time, thread} of the chosen event
    matches: [], // events that were found: {time, chunk, event}, by time
    isDetailed: true,
    frames: 0,
};
const canvas = document.getElementById('canvas');
const context = canvas.getContext('2d');
let theme = {};

function readTheme() {
    const style = getComputedStyle(document.body);
    for (const name of ['back', 'fore', 'dim', 'line', 'band', 'accent', 'alarm', 'found']) theme[name] = style.getPropertyValue('--' + name).trim();
    makeColours(matchMedia('(prefers-color-scheme: dark)').matches);
}

const stageHeight = () => view.height - RULER;
const toX = (time) => (time - view.from) / (view.to - view.from) * view.width;
const toTime = (x) => view.from + x / view.width * (view.to - view.from);

let isAsked = false;
function redraw() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
        isAsked = false;
        draw();
    });
}

function resize() {
    const ratio = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    view.width = Math.max(50, box.width);
    view.height = Math.max(50, box.height);
    canvas.width = Math.round(view.width * ratio);
    canvas.height = Math.round(view.height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    showLabels();
    redraw();
}

// ---- the ruler ----

// The distance of marks, ns: 1, 2 or 5 times a power of ten.
function markDistance() {
    const least = (view.to - view.from) / Math.max(2, view.width / 130);
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return Math.max(1, [1, 2, 5, 10].map((times) => times * power).find((distance) => distance >= least));
}

function drawRuler() {
    const distance = markDistance();
    const digits = distance >= 1e6 ? 1 : distance >= 1e3 ? 2 : 3;
    context.fillStyle = theme.band;
    context.fillRect(0, 0, view.width, RULER);
    context.font = '11px ui-monospace, monospace';
    context.textBaseline = 'middle';
    for (let time = Math.ceil(view.from / distance) * distance; time <= view.to; time += distance) {
        const x = Math.round(toX(time)) + 0.5;
        context.strokeStyle = theme.line;
        context.beginPath();
        context.moveTo(x, RULER - 8);
        context.lineTo(x, view.height);
        context.stroke();
        context.fillStyle = theme.fore;
        const text = exact(time, digits);
        if (x + 4 + context.measureText(text).width < view.width) context.fillText(text, x + 4, RULER / 2 + 2);
    }
}

// ---- a part of the view ----

// Text within a width, or as much of it as fits; nothing if that is little.
function fitText(text, x, y, width) {
    const fits = Math.floor(width / 6.7);
    if (fits >= text.length) context.fillText(text, x, y);
    else if (fits >= 4) context.fillText(text.slice(0, fits - 1) + '…', x, y);
}

function drawHead(row, y) {
    context.fillStyle = theme.band;
    context.fillRect(0, y, view.width, row.height);
}

function drawThreadSums(row, y) {
    const values = sums.threads[row.thread];
    if (!values) return;
    const perPixel = (view.to - view.from) / view.width / tables.instant;
    let most = 0;
    const heights = new Float64Array(Math.ceil(view.width));
    for (let x = 0; x < heights.length; x++) {
        heights[x] = sumBetween(values, toTime(x) / tables.instant, perPixel);
        if (heights[x] > most) most = heights[x];
    }
    context.fillStyle = theme.accent;
    for (let x = 0; x < heights.length; x++) {
        const height = Math.ceil(heights[x] / most * (row.height - 6));
        if (height > 0) context.fillRect(x, y + row.height - 3 - height, 1, height);
    }
}

// The sum of values over so many instants, in parts of instants at both ends.
function sumBetween(values, from, length) {
    const to = Math.min(values.length, from + length);
    if (from < 0 || from >= to) return 0;
    let at = Math.floor(from), sum = 0;
    for (; at < to; at++) sum += values[at] * (Math.min(at + 1, to) - Math.max(at, from));
    return sum;
}

// How many objects are in which step: as high as `most` objects; 0: as there are in the view.
function drawSums(series, y, height, most) {
    if (!series.length) {
        context.fillStyle = theme.dim;
        context.font = '11px system-ui, sans-serif';
        context.fillText('not summed up: zoom in to see what is here', 8, y + Math.min(height, 18) / 2);
        return;
    }
    const span = (view.to - view.from) / view.width, perPixel = span / tables.instant;
    const floor = new Float32Array(Math.ceil(view.width)).fill(y + height);
    const objects = series.map(({values}) => Float32Array.from(floor, (_, x) => sumBetween(values, toTime(x) / tables.instant, perPixel) / span));
    if (!most) for (let x = 0; x < floor.length; x++) most = Math.max(most, objects.reduce((sum, at) => sum + at[x], 0));
    for (const [index, {tracepoint}] of series.entries()) {
        context.fillStyle = colours[tracepoint];
        for (let x = 0; x < floor.length; x++) {
            const part = objects[index][x] / most * height;
            if (part < 0.05) continue;
            context.fillRect(x, floor[x] - part, 1, part);
            floor[x] -= part;
        }
    }
}

function drawThreadEvents(row, y, shown) {
    const height = row.height - 8;
    context.font = '11px system-ui, sans-serif';
    let lastX = -1;
    for (const chunk of shown) {
        const {start, order} = chunk.eventsByThread;
        const end = start[row.thread + 1];
        const first = firstAt(chunk.times, order, start[row.thread], end, view.from);
        for (let i = first; i < end; i++) {
            const event = order[i], x = toX(chunk.times[event]);
            if (x > view.width) break;
            if (x < lastX + 1) continue;
            lastX = x;
            const tracepoint = chunk.tracepoints[event];
            context.fillStyle = colours[tracepoint];
            context.fillRect(Math.floor(x), y + 4, Math.max(1, Math.min(3, view.width / 400)), height);
            if (chunk.lost.has(event)) drawLost(x, y, row.height);
            const nextX = i + 1 < end ? toX(chunk.times[order[i + 1]]) : view.width;
            if (nextX - x > 40) {
                context.fillStyle = theme.fore;
                fitText(tables.tracepoints[tracepoint].name, x + 5, y + row.height / 2, nextX - x - 8);
            }
        }
    }
}

function drawLost(x, y, height) {
    context.fillStyle = theme.alarm;
    context.beginPath();
    context.moveTo(x - 5, y + 1);
    context.lineTo(x + 5, y + 1);
    context.lineTo(x, y + 9);
    context.fill();
    context.fillRect(Math.floor(x), y, 1, height);
}

// The first of events in order that is not before a time.
function firstAt(times, order, from, to, time) {
    while (from < to) {
        const middle = (from + to) >> 1;
        if (times[order[middle]] < time) from = middle + 1;
        else to = middle;
    }
    return from;
}

class Bars { // draws the steps of a track, none twice in a pixel
    constructor(row, y) {
        this.row = row;
        this.y = y;
        this.height = row.isOpen ? laneHeight(row.lanes) : (CLOSED - 2) / row.lanes;
        this.last = new Float64Array(row.lanes).fill(-1);
        context.font = '11px system-ui, sans-serif';
    }

    step(lane, from, to, tracepoint, label, isChosen, isFound) {
        const right = Math.min(view.width + 2, toX(to)), left = Math.max(-2, toX(from));
        if (right < 0 || left > view.width || (right < this.last[lane] + 0.5 && !isChosen)) return;
        this.last[lane] = right;
        const y = this.y + 2 + lane * this.height;
        const high = Math.max(1, this.height - (this.height > 6 ? 2 : this.height > 3 ? 1 : 0));
        context.fillStyle = colours[tracepoint];
        context.fillRect(left, y, Math.max(0.7, right - left - (right - left > 4 ? 0.5 : 0)), high);
        if (isChosen) {
            context.strokeStyle = theme.fore;
            context.lineWidth = 2;
            context.strokeRect(left, y, Math.max(1, right - left), high);
            context.lineWidth = 1;
        }
        if (isFound) {
            context.fillStyle = theme.found;
            context.fillRect(left, y + high - 3, Math.max(2, right - left), 3);
        }
        if (right - left > 30 && high >= 10) {
            context.fillStyle = '#14171c';
            fitText(label(), left + 3, y + high / 2 + 0.5, right - left - 5);
        }
    }
}

function drawTrackEvents(row, y, shown) {
    const bars = new Bars(row, y), track = row.track, type = tables.tracks[track].type;
    const across = crossing.byTrack;
    // Steps of a track are in the order of their ends.
    const onward = across.start[track + 1];
    for (let i = firstAt(crossing.end, across.order, across.start[track], onward, view.from); i < onward; i++) {
        const step = across.order[i], from = crossing.from[step], to = crossing.end[step];
        if (from > view.to) continue;
        const tracepoint = crossing.tracepoint[step];
        bars.step(crossing.lane[step], from, to, tracepoint,
            () => objectLabel(type, crossing.number[step], crossing.id[step]) + ' ' + tables.tracepoints[tracepoint].name,
            crossing.serial[step] === view.object, false);
        bars.last[crossing.lane[step]] = -1; // what else is in the lane may be before it
    }
    for (const chunk of shown) {
        const {start, order} = chunk.stepsByTrack, {times, stepFrom, objects, tracepoints} = chunk;
        for (let i = firstAt(chunk.stepEnds, order, start[track], start[track + 1], view.from); i < start[track + 1]; i++) {
            const step = order[i], to = chunk.stepEnds[step], event = stepFrom[step];
            if (times[event] > view.to) continue;
            const object = objects[event], tracepoint = tracepoints[event];
            bars.step(chunk.lanes[object], times[event], to, tracepoint,
                () => chunkObjectLabel(chunk, object) + ' ' + tables.tracepoints[tracepoint].name,
                chunk.serials[object] === view.object, false);
        }
    }
}

// Lines from events to the objects that they are related to: of the chosen object, or of all if they are few.
function drawLinks(shown) {
    const places = new Map(rows.filter((row) => row.kind === 'track' && row.isShown).map((row) => [row.track, row]));
    let links = 0;
    for (const chunk of shown) for (const event of chunk.related.keys()) if (chunk.times[event] >= view.from && chunk.times[event] <= view.to) links++;
    for (const chunk of shown) {
        for (const [event, related] of chunk.related) {
            const time = chunk.times[event], own = chunk.objects[event];
            if (time < view.from || time > view.to || own < 0) continue;
            for (const other of related) {
                const isChosen = chunk.serials[own] === view.object || chunk.serials[other] === view.object;
                if (!isChosen && links > LINKS_MAX) continue;
                const [a, b] = [own, other].map((object) => laneMiddle(places.get(chunk.tracks[object]), chunk.lanes[object]));
                if (a === null || b === null || own === other) continue;
                const x = toX(time), bend = Math.min(24, Math.abs(a - b) / 3);
                context.strokeStyle = isChosen ? theme.accent : theme.dim;
                context.lineWidth = isChosen ? 2 : 1;
                context.globalAlpha = isChosen ? 1 : view.object === null ? 0.5 : 0.2;
                context.beginPath();
                context.moveTo(x, a);
                context.bezierCurveTo(x - bend, a, x - bend, b, x, b);
                context.stroke();
                context.lineWidth = 1;
                context.fillStyle = context.strokeStyle;
                context.beginPath();
                context.arc(x, b, 2.5, 0, 7);
                context.fill();
                context.globalAlpha = 1;
            }
        }
    }
}

function laneMiddle(row, lane) {
    if (!row) return null;
    const height = row.isOpen ? laneHeight(row.lanes) : (CLOSED - 2) / row.lanes;
    return RULER + row.top - view.scroll + 2 + (lane + 0.5) * height;
}

function drawLines(y, height) {
    const {times, texts} = lines;
    context.font = '11px ui-monospace, monospace';
    let lastX = -9;
    for (let i = lowerBound(times, view.from); i < times.length && times[i] <= view.to; i++) {
        const x = toX(times[i]);
        if (x < lastX + 1) continue;
        lastX = x;
        context.fillStyle = theme.accent;
        context.fillRect(Math.floor(x), y + 4, 2, height - 8);
        const nextX = i + 1 < times.length ? toX(times[i + 1]) : view.width;
        context.fillStyle = theme.fore;
        if (nextX - x > 40) fitText(clean(texts[i]), x + 5, y + height / 2, nextX - x - 8);
    }
}

// Marks of what was found, on top of the tracks of their threads, and in the ruler.
function drawMatches() {
    context.fillStyle = theme.found;
    let lastX = -9;
    for (const {time} of view.matches) {
        const x = toX(time);
        if (x < 0 || x > view.width || x < lastX + 1) continue;
        lastX = x;
        context.fillRect(Math.floor(x) - 1, RULER - 7, 3, 7);
    }
}

function drawSelection() {
    const {selection} = view;
    if (!selection) return;
    const left = toX(selection.from), right = toX(selection.to);
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.14;
    if (selection.rows) {
        for (const row of selection.rows) context.fillRect(left, RULER + row.top - view.scroll, right - left, row.height);
    } else {
        context.fillRect(left, RULER, right - left, view.height);
    }
    context.globalAlpha = 1;
    context.fillRect(left, RULER - 3, right - left, 3);
    context.font = '600 11px system-ui, sans-serif';
    const text = brief(selection.to - selection.from), width = context.measureText(text).width + 10;
    const middle = (Math.max(0, left) + Math.min(view.width, right)) / 2;
    if (right - left < width || right < 0 || left > view.width) return;
    context.fillRect(middle - width / 2, 1, width, 15);
    context.fillStyle = theme.back;
    context.fillText(text, middle - width / 2 + 5, 9);
}

// ---- all of it ----

function draw() {
    view.frames++;
    context.clearRect(0, 0, view.width, view.height);
    drawRuler();
    const [first, end] = chunksBetween(view.from, view.to);
    const isFew = eventsBetween(view.from, view.to) <= EVENTS_PER_PIXEL * view.width;
    const shown = [];
    let isWhole = true;
    for (let i = first; i < end && isFew; i++) {
        const chunk = chunkNow(i);
        if (chunk) shown.push(chunk);
        else {
            isWhole = false;
            chunkLoad(i).then(redraw);
        }
    }
    view.isDetailed = isFew && isWhole;
    context.save();
    context.beginPath();
    context.rect(0, RULER, view.width, view.height);
    context.clip();
    for (const row of rows) {
        const y = RULER + row.top - view.scroll;
        if (!row.isShown || y > view.height || y + row.height < RULER) continue;
        if (row.kind === 'head') drawHead(row, y);
        else if (row.kind === 'lines') drawLines(y, row.height);
        else if (row.kind === 'thread') view.isDetailed ? drawThreadEvents(row, y, shown) : drawThreadSums(row, y);
        else if (row.kind === 'whole') drawSums(sums.byType[row.type], y + 2, row.height - GAP, 0);
        else if (view.isDetailed) drawTrackEvents(row, y, shown);
        else drawSums(sums.byTrack[row.track], y + 2, row.height - GAP, row.lanes);
    }
    if (view.isDetailed) drawLinks(shown);
    context.restore();
    drawSelection();
    drawMatches();
    drawEvent();
    showWindow(shown);
}

function drawEvent() {
    if (!view.event) return;
    const x = Math.round(toX(view.event.time)) + 0.5;
    context.strokeStyle = theme.alarm;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, RULER - 8);
    context.lineTo(x, view.height);
    context.stroke();
    context.setLineDash([]);
}

function showWindow(shown) {
    let events = 0;
    if (view.isDetailed) for (const {times} of shown) events += lowerBound(times, Math.floor(view.to) + 1) - lowerBound(times, Math.ceil(view.from));
    else events = Math.round(eventsBetween(view.from, view.to));
    document.getElementById('window').textContent =
        `${exact(view.from)} – ${exact(view.to)} (${brief(view.to - view.from)}, ${view.isDetailed ? '' : 'about '}${count(events, 'event')}${view.isDetailed ? '' : ', summed up'})`;
}
