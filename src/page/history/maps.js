// SPDX-License-Identifier: BSD-3-Clause
// Maps: the state at the cursor as a table, and its change over time.

const ROWS_SHOWN = 25, LINES_DRAWN = 8;
const GAPS_MAX = 40; // of longer histograms, rows without values are left out
const QUANTILES = [0.5, 0.9, 0.99];

// Small lines beside the keys; what has no key has a large one.
const hasSparks = (map) => map.keyed && map.kind !== 'texts';

// What the columns of a map's table are: its keys, then its value. ':' at the end: a number.
function headsOf(map) {
    const keys = !map.keyed ? [] : map.columns.length ? map.columns.map((name, i) => clean(name) || `key ${i + 1}`) : ['key'];
    const values = {
        numbers: map.adds ? ['value:', 'per second:'] : ['value:'], stats: ['average:', 'count:', 'total:'],
        rows: ['count:', 'p50:', 'p90:', 'p99:', 'max:'], series: ['value:'], texts: ['value'],
    }[map.kind];
    return [...keys, ...values, ...(hasSparks(map) ? ['over time'] : [])];
}

function prepareMap(map, index) {
    map.heads = headsOf(map);
    map.keyColumns = map.keyed ? map.columns.length || 1 : 0;
    // The column that it is sorted by at first: keys of texts, the largest of other values.
    map.standard = map.kind === 'texts' ? 0 : map.keyColumns;
    map.standardDown = map.kind !== 'texts';
    map.view = {sort: map.standard, isDown: map.standardDown, filter: '', chosen: null, isGrowth: false, all: false};
    map.section = make('section', {className: 'map' + (['rows', 'series', 'numbers'].includes(map.kind) && map.keyed ? ' chooses' : ''), id: 'map-' + index, 'aria-label': map.name});
    const filter = make('input', {type: 'search', 'aria-label': `Keys of ${map.name}`, placeholder: 'Filter keys', on: {input: () => changeMap(map, {filter: filter.value.trim()})}});
    const growth_ = make('input', {type: 'checkbox', on: {change: () => changeMap(map, {isGrowth: growth_.checked})}});
    map.parts = {filter, growth: growth_, about: make('span', {className: 'about'}), chart: make('div', {}), table: make('div', {}), bars: make('div', {}), note: make('p', {className: 'note'})};
    const tools = make('div', {className: 'tools'}, ...(map.keyed ? [filter] : []), ...(map.adds ? [make('label', {}, growth_, ' only what came since the state before')] : []));
    map.section.append(make('h2', {text: map.name}), map.parts.about, map.parts.note, tools, map.parts.chart, map.parts.table, map.parts.bars);
    return map.section;
}

function changeMap(map, change) {
    Object.assign(map.view, change);
    showMap(map);
    keepAddress();
}

function notesOf(map) {
    const notes = [];
    if (map.keysLeft) notes.push(`${commas(map.keysLeft)} keys are left out: those with the ${commas(tables.keysMax)} largest values are kept.`);
    if (map.statesLeft) notes.push(`${commas(map.statesLeft)} states are left out, evenly: ${commas(tables.statesMax)} are kept at most.`);
    if (map.slow) notes.push('To read this map takes so long that events would have waited: no more states were taken until the end.');
    return notes.join(' ');
}

// ---- cells ----

const rowLabel = (map, row) => (row < 0 ? '' : map.rows[row][0]);

function countsOfKey(map, index, key) {
    return rowsOf(map, index, key, map.view.isGrowth);
}

// The cells of a key's line: what they are sorted by, and what is shown.
function cellsOf(map, index, key) {
    const value = map.states[index].get(key), cells = map.keyed ? map.keys[key].map((part) => ({by: part, text: part})) : [];
    const number = (by, text = commas(by)) => cells.push({by, text});
    if (map.kind === 'numbers') {
        const grown = map.adds && map.view.isGrowth ? growth(map, index, key).by : value;
        number(grown, typeof grown === 'number' && !Number.isInteger(grown) ? short(grown) : commas(grown));
        if (map.adds) number(rateOf(map, index, key), short(rateOf(map, index, key)));
    } else if (map.kind === 'stats') {
        value.forEach((one) => number(one));
    } else if (map.kind === 'rows') {
        const counts = countsOfKey(map, index, key);
        number(counts.reduce((sum, one) => sum + one, 0));
        for (const share of QUANTILES) number(quantileRow(counts, share), rowLabel(map, quantileRow(counts, share)));
        number(counts.findLastIndex((one) => one), rowLabel(map, counts.findLastIndex((one) => one)));
    } else if (map.kind === 'series') {
        const point = pointAt(map, value);
        number(point ? point[1] : 0, point ? commas(point[1]) : '');
    } else {
        cells.push({by: map.texts[value], text: map.texts[value]});
    }
    return cells;
}

const compare = (a, b) => (typeof a === 'string' || typeof b === 'string' ? String(a).localeCompare(String(b), 'en', {numeric: true}) : a < b ? -1 : a > b ? 1 : 0);

// Keys of a state that pass the filter, sorted.
function keysShown(map, index) {
    const matches = matcher(map.view.filter), {sort, isDown} = map.view;
    const keys = [...map.states[index].keys()].filter((key) => !map.view.filter || matches(map.keys[key].join(' ')));
    const by = new Map(keys.map((key) => [key, cellsOf(map, index, key)]));
    keys.sort((a, b) => (isDown ? -1 : 1) * compare(by.get(a)[sort]?.by ?? 0, by.get(b)[sort]?.by ?? 0) || a - b);
    return keys.map((key) => ({key, cells: by.get(key)}));
}

// A key's value over time; counters: how much a second, without states that follow another at once, as at the end.
function pointsOf(map, key) {
    if (map.kind === 'series') return seriesPoints(map, map.states.at(-1)?.get(key) || []);
    if (!map.adds) return map.states.map((state, i) => [map.times[i], numberOf(map, state.get(key))]);
    const least = tables.end / map.states.length / 10;
    return map.states.map((_, i) => [map.times[i], rateOf(map, i, key)]).filter(([time], i) => map.states.length < 3 || time - sinceWhen(map, i).from >= least);
}

// Intervals of a time series count from 1970.
const epochTime = (map, epoch) => Number(BigInt(epoch) * BigInt(map.interval) - BigInt(tables.start) - BigInt(tables.realtime));

function seriesPoints(map, points) {
    return points.map(([epoch, value]) => [epochTime(map, epoch), Number(value)]).filter(([time]) => time <= tables.end).map(([time, value]) => [Math.max(0, time), value]);
}

// The last point until the cursor.
const pointAt = (map, points) => (view.time === null ? points.at(-1) : points.findLast(([epoch]) => epochTime(map, epoch) <= view.time));

// ---- a map ----

function makeHead(map) {
    return map.heads.map((head, i) => {
        const name = head.replace(/:$/, ''), {sort, isDown} = map.view;
        if (hasSparks(map) && i === map.heads.length - 1) return name;
        const button = make('button', {text: name + (sort === i ? (isDown ? ' ↓' : ' ↑') : ''), on: {click: () => changeMap(map, sort === i ? {isDown: !isDown} : {sort: i, isDown: i >= map.keyColumns})}});
        return button;
    });
}

function makeMapTable(map, index, rows) {
    const shown = map.view.all ? rows : rows.slice(0, ROWS_SHOWN), most = rows.reduce((a, {key}) => Math.max(a, numberOf(map, map.states[index].get(key))), 0);
    const table = makeTable('', map.heads, shown.map(({key, cells}, i) => {
        const row = cells.map(({text}) => text);
        if (hasSparks(map)) {
            const spark = make('canvas', {className: 'spark'});
            drawSpark(spark, pointsOf(map, key), i < LINES_DRAWN ? hue(i) : theme.dim);
            row.push(spark);
        }
        row.className = map.view.chosen === key ? 'chosen' : '';
        return row;
    }));
    table.tHead.rows[0].replaceChildren(...makeHead(map).map((head, i) => make('th', {scope: 'col', className: map.heads[i].endsWith(':') ? 'number' : ''}, head)));
    table.caption.remove();
    if (map.section.classList.contains('chooses')) {
        [...table.tBodies[0].rows].forEach((row, i) => {
            row.tabIndex = 0;
            const act = () => changeMap(map, {chosen: map.view.chosen === shown[i].key ? null : shown[i].key});
            row.addEventListener('click', act);
            row.addEventListener('keydown', (event) => event.key === 'Enter' && act());
            row.dataset.most = most;
        });
    }
    const parts = [table];
    if (rows.length > shown.length) parts.push(make('button', {text: `Show all ${commas(rows.length)} keys`, on: {click: () => changeMap(map, {all: true})}}));
    return parts;
}

function makeBars(map, counts) {
    const first = counts.findIndex((value) => value), last = counts.findLastIndex((value) => value), most = counts.reduce((a, b) => Math.max(a, b), 1);
    const rows = [];
    for (let row = first; row >= 0 && row <= last; row++) {
        if (!counts[row] && last - first >= GAPS_MAX) continue;
        const share = make('span', {className: 'share'}, make('span', {className: 'share-bar'}));
        share.firstChild.style.width = 100 * counts[row] / most + '%';
        rows.push([map.rows[row][0], commas(counts[row]), share]);
    }
    const table = makeTable('', ['values', 'count:', ''], rows);
    table.className = 'bars';
    table.caption.remove();
    return table;
}

// What is drawn of a map: a histogram and its heat map, or lines of the first keys.
function drawMap(map, index, rows) {
    const width = Math.max(200, map.parts.chart.clientWidth), canvas = make('canvas', {className: 'chart', role: 'img'});
    const chosen = rows.find(({key}) => key === map.view.chosen) || rows[0];
    map.parts.bars.replaceChildren();
    if (!chosen || map.kind === 'texts') return map.parts.chart.replaceChildren();
    const name = map.keyed ? map.keys[chosen.key].join(', ') : '';
    if (map.kind === 'rows') {
        const tip = make('output', {className: 'chart-tip'});
        drawHeatMap(canvas, tip, map, chosen.key, width);
        const caption = make('figcaption', {text: (name ? name + ': ' : '') + 'how often which value came when'});
        map.parts.bars.replaceChildren(makeBars(map, countsOfKey(map, index, chosen.key)));
        return map.parts.chart.replaceChildren(make('figure', {}, caption, canvas, tip));
    }
    const drawn = map.view.chosen !== null ? [chosen] : rows.slice(0, LINES_DRAWN);
    drawLines(canvas, width, 120, drawn.map(({key}) => ({points: pointsOf(map, key), colour: hue(Math.max(0, rows.findIndex((row) => row.key === key)))})));
    canvas.setAttribute('aria-label', `${map.name} over time; the table has the numbers`);
    const what = map.adds ? 'per second' : map.kind === 'stats' ? 'average' : 'value';
    const of = !map.keyed ? '' : map.view.chosen !== null ? `, ${name}` : rows.length > drawn.length ? `, the first ${drawn.length} keys of the table` : '';
    return map.parts.chart.replaceChildren(make('figure', {}, make('figcaption', {text: what + of}), canvas));
}

function showMap(map) {
    const index = map.kind === 'series' ? map.states.length - 1 : stateAt(map, now()), {about, filter, growth: growth_, note, table, chart} = map.parts;
    filter.value = map.view.filter;
    growth_.checked = map.view.isGrowth;
    note.textContent = notesOf(map);
    note.hidden = !note.textContent;
    if (index < 0) {
        about.textContent = map.times.length ? `its first state is at ${exact(map.times[0])}` : 'no state is known';
        chart.replaceChildren();
        table.replaceChildren();
        map.parts.bars.replaceChildren();
        return;
    }
    const rows = keysShown(map, index), keys = map.states[index].size;
    about.textContent = map.kind === 'series' ? `intervals of ${brief(map.interval)}` : `${map.printed ? 'printed' : 'state'} at ${exact(map.times[index])} (${index + 1} of ${map.times.length})` +
        (map.keyed ? `, ${rows.length < keys ? `${commas(rows.length)} of ` : ''}${count(keys, 'key')}` : '');
    map.section.dataset.time = map.times[index];
    table.replaceChildren(...(map.keyed || map.kind !== 'rows' || rows.length ? makeMapTable(map, index, rows) : []));
    drawMap(map, index, rows);
}

function showMaps() {
    maps.forEach(showMap);
}
