// SPDX-License-Identifier: BSD-3-Clause
// What is seen: the cursor in time, what is searched, how maps are sorted and filtered; and the address that keeps it.

const view = {
    time: null, // of the cursor, ns; null: the end
    query: '', only: false, messages: false,
    line: -1, // the line that the cursor stands at
};
let theme = {};
const now = () => view.time ?? tables.end;

function readTheme() {
    const style = getComputedStyle(document.body);
    for (const name of ['back', 'fore', 'dim', 'line', 'band', 'accent', 'alarm', 'found']) theme[name] = style.getPropertyValue('--' + name).trim();
}

const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;
const HUES = [212, 28, 140, 350, 268, 52, 184, 322];
const hue = (index) => `hsl(${HUES[index % HUES.length]} 62% ${isDark() ? 66 : 45}%)`;

// The time of day, if it is known.
function wall(time) {
    if (tables.replay || tables.realtime === '0') return '';
    const date = new Date(Number((BigInt(tables.start) + BigInt(tables.realtime) + BigInt(Math.round(time))) / 1000000n));
    return isNaN(date) ? '' : `${date.toLocaleDateString('sv')} ${date.toLocaleTimeString('sv')}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

// ---- the address ----

function keepAddress() {
    const parts = new URLSearchParams();
    if (view.time !== null) parts.set('t', Math.round(view.time));
    if (view.query) parts.set('q', view.query);
    if (view.only) parts.set('only', 1);
    if (view.messages) parts.set('messages', 1);
    for (const map of maps) {
        const {sort, isDown, filter, chosen, isGrowth} = map.view;
        if (sort !== map.standard || isDown !== map.standardDown) parts.set('s.' + map.name, sort + (isDown ? '-' : '+'));
        if (filter) parts.set('f.' + map.name, filter);
        if (chosen !== null) parts.set('k.' + map.name, chosen);
        if (isGrowth) parts.set('g.' + map.name, 1);
    }
    const text = parts.toString();
    window.history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
}

function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1)), time = parts.get('t');
    view.time = time !== null && Number.isFinite(Number(time)) ? Math.max(0, Math.min(tables.end, Number(time))) : null;
    view.query = parts.get('q') || '';
    view.only = parts.has('only');
    view.messages = parts.has('messages');
    for (const map of maps) {
        const sort = /^(\d+)([-+ ])$/.exec(parts.get('s.' + map.name) || ''), chosen = parts.get('k.' + map.name);
        Object.assign(map.view, {
            sort: sort && Number(sort[1]) < map.heads.length ? Number(sort[1]) : map.standard, isDown: sort ? sort[2] === '-' : map.standardDown, filter: parts.get('f.' + map.name) || '',
            chosen: chosen !== null && map.keys[chosen] ? Number(chosen) : null, isGrowth: parts.has('g.' + map.name),
        });
    }
    document.getElementById('query').value = view.query;
    document.getElementById('only').checked = view.only;
    document.getElementById('messages').checked = view.messages;
    searchLines();
    showAll();
    scrollToTime();
}

// ---- the cursor ----

// Times at which something is new: states of maps; without maps, lines.
function moments() {
    const times = maps.some((map) => map.times.length) ? maps.flatMap((map) => [...map.times]) : lines.times;
    return [...new Set(times)].sort((a, b) => a - b);
}

function goToTime(time) {
    view.time = time === null || time >= tables.end ? null : Math.max(0, time);
    view.line = -1;
    showAll();
    scrollToTime();
    keepAddress();
}

function step(by) {
    const times = moments(), at = now();
    const next = by > 0 ? times.find((time) => time > at) : times.findLast((time) => time < at);
    if (next !== undefined) goToTime(next);
    else if (by > 0) goToTime(null);
}

function showCursor() {
    const time = now(), day = wall(time);
    document.getElementById('cursor').textContent = (view.time === null ? 'End: ' : '') + exact(time) + (day ? '  ' + day : '');
}

function showAll() {
    showCursor();
    drawBar();
    showMaps();
    showLines();
}
