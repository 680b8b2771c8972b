// SPDX-License-Identifier: BSD-3-Clause
// Where tracks are: threads, types of objects that several owners have, each owner with its types of objects, lines of
// another output. A track is closed,
// or open with its lanes; where those are many they are thin.

const HEAD = 22, THREAD = 26, WHOLE = 60, CLOSED = 20, GAP = 6, LINES = 26;
const rows = []; // from top to bottom: {kind, top, height, label, …}
let contentHeight = 0;

function laneHeight(lanes) {
    return lanes <= 8 ? 18 : lanes <= 20 ? 12 : lanes <= 48 ? 7 : Math.max(1, 320 / lanes);
}

function makeLayout() {
    const owners = new Map();
    tables.tracks.forEach((track, index) => {
        if (!owners.has(track.owner)) owners.set(track.owner, []);
        owners.get(track.owner).push(index);
    });
    const add = (row) => rows.push({isOpen: true, top: 0, height: 0, ...row});
    if (tables.threads.length) {
        add({kind: 'head', label: tables.spdk ? 'Lcores' : 'Threads'});
        tables.threads.forEach((thread, index) => add({kind: 'thread', thread: index, label: thread.label}));
    }
    const shared = tables.types.map((_, type) => type).filter((type) => tables.tracks.filter((track) => track.type === type).length > 1);
    if (shared.length) add({kind: 'head', label: 'All owners'});
    for (const type of shared) add({kind: 'whole', type, label: typeName(type)});
    for (const owner of [...owners.keys()].sort((a, b) => (a === 0) - (b === 0) || tables.owners[a].localeCompare(tables.owners[b], 'en', {numeric: true}))) {
        add({kind: 'head', label: tables.owners[owner] || 'no owner', owner});
        for (const track of owners.get(owner).sort((a, b) => tables.tracks[a].type - tables.tracks[b].type)) {
            const {lanes, type} = tables.tracks[track];
            add({kind: 'track', track, lanes, label: typeName(type)});
        }
    }
    if (lines.times.length) {
        add({kind: 'head', label: 'Output of a script'});
        add({kind: 'lines', label: 'lines'});
    }
    placeRows();
}

function placeRows() {
    let top = 0, isOpen = true;
    for (const row of rows) {
        row.top = top;
        if (row.kind === 'head') isOpen = row.isOpen;
        row.isShown = row.kind === 'head' || isOpen;
        if (!row.isShown) row.height = 0;
        else if (row.kind === 'head') row.height = HEAD;
        else if (row.kind === 'track') row.height = row.isOpen ? Math.max(CLOSED, Math.ceil(row.lanes * laneHeight(row.lanes))) + GAP : CLOSED + GAP;
        else row.height = {thread: THREAD, whole: WHOLE, lines: LINES}[row.kind];
        top += row.height;
    }
    contentHeight = top;
}

function rowAt(y) {
    return rows.find((row) => row.isShown && y >= row.top && y < row.top + row.height);
}

function toggleRow(row) {
    row.isOpen = !row.isOpen;
    placeRows();
    view.scroll = Math.max(0, Math.min(view.scroll, contentHeight - stageHeight()));
    showLabels();
    redraw();
}

// Scrolls so that a lane of a track is in view.
function revealLane(track, lane) {
    const row = rows.find((other) => other.track === track);
    if (!row || !row.isShown) return;
    const top = row.top + (row.isOpen ? lane * laneHeight(row.lanes) : 0);
    if (top < view.scroll || top + HEAD > view.scroll + stageHeight()) scrollBy(top - stageHeight() / 2 - view.scroll);
}

// The labels beside the canvas: those that are in view.
function showLabels() {
    const box = document.getElementById('labels');
    const visible = rows.filter((row) => row.isShown && row.top + row.height > view.scroll && row.top < view.scroll + stageHeight());
    box.replaceChildren(...visible.map((row) => {
        const canFold = row.kind === 'head' || row.kind === 'track';
        const text = (canFold ? (row.isOpen ? '▾ ' : '▸ ') : '') + row.label;
        const label = make(canFold ? 'button' : 'span', {className: 'label ' + row.kind, text, title: row.label});
        if (canFold) {
            label.setAttribute('aria-expanded', row.isOpen);
            label.addEventListener('click', () => {
                toggleRow(row);
                [...box.children].find((other) => other.title === row.label)?.focus();
            });
        }
        label.style.top = row.top - view.scroll + 'px';
        label.style.height = Math.min(row.height, HEAD) + 'px';
        return label;
    }));
}
