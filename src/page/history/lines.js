// SPDX-License-Identifier: BSD-3-Clause
// Printed lines and messages: only those that are in view are elements.

const LINE = 18; // pixels
const TALL = 8e6; // pixels that every browser can scroll over; of more lines, one pixel is several
const found = {is: null, list: [], shown: []}; // a byte for each line; lines that match; lines that can be seen

// All words, and none of those behind a minus; capital letters count if there are any.
function matcher(query) {
    const isExact = query !== query.toLowerCase(), words = query.split(/\s+/).filter(Boolean);
    const without = words.filter((word) => word.length > 1 && word.startsWith('-')).map((word) => word.slice(1));
    const wanted = words.filter((word) => word.length < 2 || !word.startsWith('-'));
    return (text) => {
        const line = isExact ? text : text.toLowerCase();
        return wanted.every((word) => line.includes(word)) && !without.some((word) => line.includes(word));
    };
}

function searchLines() {
    const matches = matcher(view.query);
    found.is = new Uint8Array(lines.times.length);
    found.list = [];
    found.shown = [];
    for (let i = 0; i < lines.times.length; i++) {
        const isFound = view.query !== '' && matches(lines.texts[i]);
        found.is[i] = isFound;
        if (isFound) found.list.push(i);
        if ((!view.only || !view.query || isFound) && (!view.messages || lines.kinds[i])) found.shown.push(i);
    }
    document.getElementById('matches').textContent = view.query ? count(found.list.length, 'match').replace(/matchs$/, 'matches') : count(lines.times.length, 'line');
}

const box = document.getElementById('lines');

function showLines() {
    const count_ = found.shown.length, high = Math.min(TALL, count_ * LINE), room = Math.ceil(box.clientHeight / LINE) + 1;
    document.getElementById('lines-height').style.height = high + 'px';
    const share = high > box.clientHeight ? Math.min(1, box.scrollTop / (high - box.clientHeight)) : 0;
    const first = Math.max(0, count_ * LINE > TALL ? Math.floor(share * (count_ - room + 1)) : Math.floor(box.scrollTop / LINE));
    const shown = document.getElementById('lines-shown'), current = view.line >= 0 ? view.line : lineAt(now());
    shown.style.top = (count_ * LINE > TALL ? box.scrollTop : first * LINE) + 'px';
    shown.replaceChildren(...found.shown.slice(first, first + room).map((index) =>
        make('div', {className: 'line' + (found.is[index] ? ' found' : '') + ['', ' message', ' problem'][lines.kinds[index]] + (index === current ? ' now' : ''), on: {click: () => chooseLine(index)}},
            make('span', {className: 'time', text: exact(lines.times[index])}), lines.texts[index])));
}

// The last line until a time, -1: none.
function lineAt(time) {
    let low = 0, high = lines.times.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (lines.times[middle] <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

function chooseLine(index) {
    view.line = index;
    view.time = lines.times[index] >= tables.end ? null : lines.times[index];
    showAll();
    keepAddress();
}

function scrollToLine(index) {
    let low = 0, high = found.shown.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (found.shown[middle] < index) low = middle + 1;
        else high = middle;
    }
    const count_ = found.shown.length, scale = Math.min(TALL, count_ * LINE) / Math.max(1, count_);
    const top = low * scale;
    if (top < box.scrollTop || top + LINE > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - box.clientHeight / 2);
    showLines();
}

function scrollToTime() {
    scrollToLine(view.line >= 0 ? view.line : lineAt(now()));
}

function goToMatch(by) {
    const at = view.line >= 0 ? view.line : lineAt(now());
    const next = by > 0 ? found.list.find((index) => index > at) : found.list.findLast((index) => index < at);
    const index = next ?? (by > 0 ? found.list[0] : found.list.at(-1));
    if (index === undefined) return;
    chooseLine(index);
    scrollToLine(index);
}

function listenLines() {
    const query = document.getElementById('query');
    const change = () => {
        Object.assign(view, {query: query.value.trim(), only: document.getElementById('only').checked, messages: document.getElementById('messages').checked});
        searchLines();
        scrollToTime();
        keepAddress();
    };
    query.addEventListener('input', change);
    document.getElementById('only').addEventListener('change', change);
    document.getElementById('messages').addEventListener('change', change);
    document.getElementById('search').addEventListener('submit', (event) => {
        event.preventDefault();
        goToMatch(1);
    });
    document.getElementById('previous').addEventListener('click', () => goToMatch(-1));
    document.getElementById('next').addEventListener('click', () => goToMatch(1));
    box.addEventListener('scroll', showLines);
}
