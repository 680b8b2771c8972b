// SPDX-License-Identifier: BSD-3-Clause
// Pointer and keys. What is drawn under a point, where the view goes, and the address, which keeps it.

const SPAN_MIN = 20; // ns

function setView(from, to) {
    const room = Math.max(tables.last - tables.first, 1000) * 0.05, least = tables.first - room, most = tables.last + room;
    let span = Math.min(Math.max(to - from, SPAN_MIN), most - least);
    from = from + (to - from - span) / 2;
    from = Math.min(Math.max(from, least), most - span);
    Object.assign(view, {from, to: from + span});
    keepAddressSoon();
    redraw();
}

function zoom(by, x = view.width / 2) {
    const time = toTime(x);
    setView(time - (time - view.from) * by, time + (view.to - time) * by);
}

const pan = (share) => setView(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

// Shows a time in the middle, or all of two times with a little around them.
function goTo(from, to = from, around = 0.15) {
    if (to > from) return setView(from - around * (to - from), to + around * (to - from));
    const span = view.to - view.from;
    if (from < view.from + span * 0.05 || from > view.to - span * 0.05) setView(from - span / 2, from + span / 2);
    else redraw();
}

const showAll = () => setView(tables.first - 0.02 * (tables.last - tables.first), tables.last + 0.02 * (tables.last - tables.first));

function scrollBy(pixels) {
    view.scroll = Math.max(0, Math.min(view.scroll + pixels, contentHeight - stageHeight()));
    showLabels();
    redraw();
}

// ---- the address ----

let addressTimer = 0;
function keepAddressSoon() {
    clearTimeout(addressTimer);
    addressTimer = setTimeout(keepAddress, 150);
}

function keepAddress() {
    clearTimeout(addressTimer);
    const parts = [`t=${Math.round(view.from)},${Math.round(view.to)}`];
    if (currentTab !== 'timeline') parts.push('v=' + currentTab);
    if (view.selection && !view.selection.rows) parts.push(`s=${Math.round(view.selection.from)},${Math.round(view.selection.to)}`);
    if (view.event) parts.push(`e=${view.event.chunk},${view.event.event}`);
    else if (view.object !== null && view.objectTime !== undefined) parts.push(`o=${view.object},${Math.round(view.objectTime)}`);
    if (search.text) parts.push('q=' + encodeURIComponent(search.text));
    history.replaceState(null, '', '#' + parts.join('&'));
}

// The address is what a link said: location.hash may have been written again by keepAddress() before its event came.
async function readAddress(address) {
    const parts = new Map(address.slice(1).split('&').map((part) => [part.slice(0, 1), part.slice(2)]));
    const pair = (name) => (parts.get(name) || '').split(',').map(Number);
    const isPair = ([a, b]) => Number.isFinite(a) && Number.isFinite(b);
    const time = pair('t');
    if (isPair(time) && time[1] > time[0]) setView(...time);
    if (['timeline', 'times', 'about'].includes(parts.get('v'))) showTab(parts.get('v'));
    let words = '';
    try {
        words = decodeURIComponent(parts.get('q') || '');
    } catch { /* a link that was cut */ }
    if (words) {
        document.getElementById('query').value = words;
        await runSearch(words);
    }
    const selection = pair('s'), event = pair('e'), object = pair('o');
    if (isPair(selection) && selection[1] > selection[0]) {
        view.selection = {from: selection[0], to: selection[1], rows: null};
        await showSelection();
    } else if (isPair(event) && chunks[event[0]] && event[1] >= 0 && event[1] < chunks[event[0]].events) {
        await showEvent(await chunkLoad(event[0]), event[1]);
    } else if (isPair(object)) {
        view.objectTime = object[1];
        await showObject(...object);
    }
}

// ---- what is under a point ----

// Finds {row, chunk, event, step, serial} at a place of the canvas, as far as it is decoded.
function hitAt(x, y) {
    const row = y >= RULER ? rowAt(y - RULER + view.scroll) : null;
    if (!row || !view.isDetailed) return row ? {row} : null;
    const near = (view.to - view.from) / view.width * 5, time = toTime(x);
    if (row.kind === 'lines') {
        const at = lowerBound(lines.times, time - near);
        return lines.times[at] <= time + near ? {row, line: at} : {row};
    }
    const [first, end] = chunksBetween(time - near, time + near);
    let best = null;
    for (let i = first; i < end; i++) {
        const chunk = chunkNow(i);
        if (!chunk) continue;
        const found = row.kind === 'thread' ? eventNear(chunk, row, time, near) : row.kind === 'track' ? stepAt(chunk, row, time, near, y) : null;
        if (found && (!best || found.distance < best.distance)) best = found;
    }
    if (!best && row.kind === 'track') best = crossingAt(row, time, y);
    return {row, ...best};
}

function eventNear(chunk, row, time, near) {
    const {start, order} = chunk.eventsByThread, end = start[row.thread + 1];
    let best = null;
    for (let i = firstAt(chunk.times, order, start[row.thread], end, time - near); i < end; i++) {
        const event = order[i], distance = Math.abs(chunk.times[event] - time);
        if (chunk.times[event] > time + near) break;
        if (!best || distance < best.distance) best = {chunk, event, distance};
    }
    return best;
}

function laneAt(row, y) {
    const height = row.isOpen ? laneHeight(row.lanes) : (CLOSED - 2) / row.lanes;
    return Math.floor((y - RULER + view.scroll - row.top - 2) / height);
}

function stepAt(chunk, row, time, near, y) {
    const lane = laneAt(row, y), {start, order} = chunk.stepsByTrack;
    let best = null;
    for (let i = start[row.track]; i < start[row.track + 1]; i++) {
        const step = order[i], event = chunk.stepFrom[step], object = chunk.objects[event];
        if (chunk.lanes[object] !== lane) continue;
        const from = chunk.times[event], to = chunk.times[chunk.stepTo[step]];
        if (from > time + near || to < time - near) continue;
        const distance = from <= time && to >= time ? 0 : Math.min(Math.abs(from - time), Math.abs(to - time));
        if (!best || distance < best.distance) best = {chunk, event, until: to, serial: chunk.serials[object], object, distance};
    }
    return best;
}

function crossingAt(row, time, y) {
    const lane = laneAt(row, y), {start, order} = crossing.byTrack;
    for (let i = start[row.track]; i < start[row.track + 1]; i++) {
        const step = order[i], from = crossing.from[step];
        if (crossing.lane[step] === lane && from <= time && from + crossing.length[step] >= time) return {crossing: step, serial: crossing.serial[step]};
    }
    return null;
}

// ---- the tip ----

function tipText(hit) {
    if (hit.line !== undefined) return exact(lines.times[hit.line]) + '\n' + clean(lines.texts[hit.line]);
    if (hit.crossing !== undefined) {
        const i = hit.crossing, type = tables.tracks[hit.row.track].type;
        return `${objectLabel(type, crossing.number[i], crossing.id[i])} ${tables.tracepoints[crossing.tracepoint[i]].name}\n${micros(crossing.length[i])} µs from ${exact(crossing.from[i])}`;
    }
    if (!hit.chunk) return hit.row.kind === 'whole' || (hit.row.kind === 'track' && !view.isDetailed) ? `${hit.row.label}: how many objects are in which step` + (view.isDetailed ? '' : '; zoom in for each') : '';
    const {chunk, event} = hit, object = chunk.objects[event];
    const label = object >= 0 ? chunkObjectLabel(chunk, object) + ' ' : '';
    const related = relatedText(chunk, event);
    const head = `${label}${related ? `(${related}) ` : ''}${tables.tracepoints[chunk.tracepoints[event]].name}`;
    const when = hit.until === undefined ? exact(chunk.times[event]) : `${micros(hit.until - chunk.times[event])} µs from ${exact(chunk.times[event])}`;
    return [head, when, argumentsText(chunk, event)].filter(Boolean).join('\n');
}

function showTip(x, y) {
    const tip = document.getElementById('tip');
    const hit = hitAt(x, y), text = hit ? tipText(hit) : '';
    document.getElementById('pointer').textContent = exact(toTime(x)) + (wall(toTime(x)) ? '  ' + wall(toTime(x)) : '');
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const left = canvas.offsetLeft + x, width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(0, Math.min(left + 14, canvas.offsetLeft + view.width - width - 4)) + 'px';
    tip.style.top = (y + 18 + height > view.height ? Math.max(0, y - height - 10) : y + 18) + 'px';
}

// ---- the pointer ----

const drag = {kind: null, x: 0, y: 0, hasMoved: false};

function pointerPlace(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
}

canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const [x, y] = pointerPlace(event);
    Object.assign(drag, {kind: event.shiftKey || y < RULER ? 'select' : 'pan', x, y, hasMoved: false, from: view.from, to: view.to, scroll: view.scroll});
    canvas.setPointerCapture(event.pointerId);
    document.getElementById('tip').hidden = true;
});

canvas.addEventListener('pointermove', (event) => {
    const [x, y] = pointerPlace(event);
    if (!drag.kind) return showTip(x, y);
    drag.hasMoved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
    if (!drag.hasMoved) return;
    if (drag.kind === 'pan') {
        const by = (x - drag.x) / view.width * (drag.to - drag.from);
        setView(drag.from - by, drag.to - by);
        scrollBy(drag.scroll - (y - drag.y) - view.scroll);
    } else {
        select(drag.x, x, drag.y, y);
    }
});

function select(x0, x1, y0, y1) {
    const [from, to] = [toTime(Math.min(x0, x1)), toTime(Math.max(x0, x1))];
    const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)].map((y) => y - RULER + view.scroll);
    const touched = y0 < RULER ? null : rows.filter((row) => row.isShown && row.kind !== 'head' && row.top < bottom && row.top + row.height > top);
    view.selection = {from, to, rows: touched && touched.length ? touched : null};
    redraw();
}

canvas.addEventListener('pointerup', (event) => {
    const [x, y] = pointerPlace(event), {kind, hasMoved} = drag;
    drag.kind = null;
    if (kind === 'select' && hasMoved) showSelection();
    else if (kind && !hasMoved) choose(hitAt(x, y));
});

canvas.addEventListener('pointercancel', () => (drag.kind = null));
canvas.addEventListener('pointerleave', () => {
    document.getElementById('tip').hidden = true;
    document.getElementById('pointer').textContent = '';
});
canvas.addEventListener('dblclick', (event) => zoom(0.25, pointerPlace(event)[0]));

function choose(hit) {
    if (!hit) return;
    if (hit.serial !== undefined) {
        const time = hit.chunk ? hit.chunk.times[hit.event] : crossing.from[hit.crossing];
        Object.assign(view, {event: null, selection: null, objectTime: time});
        showObject(hit.serial, time);
    } else if (hit.chunk) {
        view.selection = null;
        showEvent(hit.chunk, hit.event);
    }
}

document.getElementById('stage').addEventListener('wheel', (event) => {
    event.preventDefault();
    const unit = event.deltaMode ? 30 : 1, isBeside = event.target !== canvas;
    if (isBeside) return scrollBy(event.deltaY * unit);
    const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (sideways) pan(sideways * unit / view.width);
    if (event.deltaY && !event.shiftKey) zoom(Math.exp(Math.max(-3, Math.min(3, event.deltaY * unit / 250))), pointerPlace(event)[0]);
}, {passive: false});

// ---- keys ----

const KEYS = [
    ['w', 's', 'zoom in, zoom out', {w: () => zoom(0.7), s: () => zoom(1 / 0.7), '+': () => zoom(0.7), '-': () => zoom(1 / 0.7)}],
    ['a', 'd', 'earlier, later (also ← →)', {a: () => pan(-0.15), d: () => pan(0.15), ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15)}],
    ['↑', '↓', 'tracks further up, further down', {ArrowUp: () => scrollBy(-60), ArrowDown: () => scrollBy(60), PageUp: () => scrollBy(-stageHeight()), PageDown: () => scrollBy(stageHeight())}],
    ['0', '', 'everything', {0: showAll}],
    ['f', '', 'the selection or the object, as wide as the view', {f: showChosen}],
    ['v', '', 'selects what is in view: counts and percentiles', {v: selectView}],
    ['[', ']', 'event before, event after, of the object', {'[': () => stepEvent(-1), ']': () => stepEvent(1)}],
    ['/', '', 'search', {'/': () => document.getElementById('query').select()}],
    ['n', 'N', 'next match, previous match', {n: () => goToMatch(1), N: () => goToMatch(-1)}],
    ['1', '3', 'timeline, where the time goes, recording: 1, 2, 3', {1: () => showTab('timeline'), 2: () => showTab('times'), 3: () => showTab('about')}],
    ['Esc', '', 'closes what is open', {Escape: closePanel}],
    ['?', '', 'these keys', {'?': showKeys}],
];
const keyActs = Object.assign({}, ...KEYS.map((row) => row[3]));

function selectView() {
    view.selection = {from: view.from, to: view.to, rows: null};
    return showSelection();
}

function showChosen() {
    if (view.selection) goTo(view.selection.from, view.selection.to, 0);
    else document.querySelector('#panel-buttons .link')?.click();
}

function showKeys() {
    const help = document.getElementById('help');
    const key = (name) => (name ? make('kbd', {text: name}) : '');
    help.replaceChildren(makeTable('Keys', ['', '', ''], KEYS.map(([one, other, text]) => [key(one), key(other), text])),
        make('p', {text: 'Wheel: zoom. Shift and wheel: earlier, later. Wheel over the names: up, down. Drag: moves. Drag with Shift, or in the ruler: selects. Click on an object: its story.'}),
        make('form', {method: 'dialog'}, make('button', {text: 'Close'})));
    if (!help.open) help.showModal();
}

document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById('help').open) return;
    const isTyping = event.target.id === 'query';
    if (isTyping && event.key !== 'Escape') return;
    if (isTyping) canvas.focus();
    const isScrolling = event.target.closest?.('#panel-body, #times, #about') && /^(Arrow|Page)/.test(event.key);
    const act = keyActs[event.key];
    if (!act || isScrolling) return;
    event.preventDefault();
    act();
});
