// SPDX-License-Identifier: BSD-3-Clause
// Where the time goes: for each type of objects its steps, how long they take, how that changes with time, and the
// slowest objects.

const BINS_PER_OCTAVE = 4;

// The least value of a row of a histogram: 64 rows to an octave, as src/reader/latency.h has them.
function rowValue(row) {
    const octave = row >> 6;
    return octave ? (64 + (row & 63)) * 2 ** (octave - 1) : row;
}

// The least value of a row of a heat map: 8 rows to an octave.
const heatValue = (row) => (row < 8 ? row : (8 + (row & 7)) * 2 ** ((row >> 3) - 1));

const stepName = (latency) => (latency.from < 0 ? 'whole life' : `${tables.tracepoints[latency.from].name} → ${tables.tracepoints[latency.to].name}`);

function makeTimes() {
    const box = document.getElementById('times');
    const width = Math.min(1100, Math.max(260, box.clientWidth - 40));
    delete box.dataset.state;
    unknownWaits = [];
    const parts = tables.types.map((type, index) => makeType(index, width)).filter(Boolean);
    const meetings = make('section', {className: 'type'});
    box.replaceChildren(...(parts.length ? parts : [make('p', {text: 'No object both begins and goes on in what is shown: there are no steps to measure.'})]), meetings);
    tellWaits().then(() => tellMeetings(meetings)).then(() => (box.dataset.state = 'ready'));
}

function makeType(type, width) {
    const all = tables.latencies.filter((latency) => latency.type === type);
    const steps = all.filter((latency) => latency.from >= 0).sort((a, b) => b.sum - a.sum);
    const life = all.find((latency) => latency.from < 0);
    if (!all.length) return null;
    const total = steps.reduce((sum, step) => sum + step.sum, 0);
    const section = make('section', {className: 'type', 'aria-label': typeName(type)}, make('h2', {text: `${tables.types[type].letter} ${typeName(type)}`}));
    section.append(makeStepTable(steps, life, total));
    const box = make('div', {className: 'charts'});
    if (steps.length) box.append(makeHistogram(steps, width));
    const heat = makeHeat(type, width);
    if (heat) box.append(heat);
    section.append(box);
    const slowest = tables.slowest.filter((slow) => slow.type === type);
    if (slowest.length) section.append(makeSlowest(slowest));
    return section;
}

function makeStepTable(steps, life, total) {
    const row = (latency) => {
        const name = make('span', {}, ...(latency.from >= 0 ? [swatch(latency.from)] : []), stepName(latency));
        const share = make('span', {className: 'share'}, make('span', {className: 'share-bar'}));
        const part = latency.from >= 0 && total ? latency.sum / total : 1;
        share.firstChild.style.width = 100 * part + '%';
        if (latency.from >= 0) share.firstChild.style.background = colours[latency.from];
        share.title = (100 * part).toFixed(1) + ' %';
        const line = [name, share, latency.from >= 0 ? (100 * part).toFixed(1) + ' %' : '', commas(latency.count), micros(latency.sum / latency.count),
            ...latency.quantiles.map(micros), micros(latency.max)];
        line.className = latency.from < 0 ? 'life' : '';
        return line;
    };
    return makeTable('Steps, from one event of an object to its next, µs', ['step', 'time', 'share:', 'count:', 'mean:', 'p50:', 'p90:', 'p99:', 'p99.9:', 'max:'],
        [...steps.map(row), ...(life ? [row(life)] : [])]);
}

// ---- the histogram ----

function makeHistogram(steps, width) {
    const bins = [], height = 200, left = 52, bottom = 20;
    let first = Infinity, last = 0;
    steps.forEach((step, index) => {
        for (let i = 0; i < step.rows.length; i += 2) {
            const bin = Math.floor(Math.log2(Math.max(1, rowValue(step.rows[i]))) * BINS_PER_OCTAVE);
            (bins[bin] ||= new Map()).set(index, (bins[bin].get(index) || 0) + step.rows[i + 1]);
            first = Math.min(first, bin);
            last = Math.max(last, bin);
        }
    });
    const totals = bins.map((bin) => [...bin.values()].reduce((sum, value) => sum + value, 0));
    let most = 1;
    totals.forEach((total) => (most = Math.max(most, total)));
    const canvas_ = make('canvas', {className: 'chart', role: 'img', 'aria-label': 'How often steps took how long; the table above has the numbers'});
    const to = sized(canvas_, width, height), wide = (width - left) / (last - first + 1);
    to.fillStyle = theme.dim;
    to.fillText(commas(most), 2, 8);
    to.fillText('0', 2, height - bottom);
    for (let bin = first; bin <= last; bin++) {
        let y = height - bottom;
        for (const [index, value] of [...(bins[bin] || new Map())].sort((a, b) => a[0] - b[0])) {
            const part = value / most * (height - bottom - 6);
            to.fillStyle = colours[steps[index].from];
            to.fillRect(left + (bin - first) * wide, y - part, Math.max(1, wide - 1), part);
            y -= part;
        }
    }
    to.fillStyle = theme.fore;
    let lastX = -100;
    for (let bin = first; bin <= last + 1; bin++) {
        const x = left + (bin - first) * wide;
        if (bin % BINS_PER_OCTAVE || x < lastX + 64 || x > width - 40) continue;
        lastX = x;
        to.fillRect(x, height - bottom, 1, 4);
        to.fillText(brief(2 ** (bin / BINS_PER_OCTAVE)), x + 3, height - bottom + 11);
    }
    const tip = make('output', {className: 'chart-tip'});
    canvas_.addEventListener('pointermove', (event) => {
        const bin = first + Math.floor((event.offsetX - left) / wide);
        const of = bins[bin];
        tip.textContent = of ? `${brief(2 ** (bin / BINS_PER_OCTAVE))} to ${brief(2 ** ((bin + 1) / BINS_PER_OCTAVE))}: ` +
            [...of].sort((a, b) => b[1] - a[1]).map(([index, value]) => `${stepName(steps[index])} ${commas(value)}`).join(', ') : '';
    });
    return make('figure', {}, make('figcaption', {text: 'How often steps took how long'}), canvas_, tip);
}

// ---- the heat map ----

function makeHeat(type, width) {
    const maps = sums.heats.filter((heat) => heat.type === type).sort((a, b) => a.from - b.from);
    if (!maps.length) return null;
    const choice = make('select', {'aria-label': 'Latency of'}, ...maps.map((heat, index) => make('option', {value: index, text: stepName(heat)})));
    const canvas_ = make('canvas', {className: 'chart heat', role: 'img', tabIndex: 0});
    const tip = make('output', {className: 'chart-tip'});
    const show = () => drawHeat(canvas_, maps[choice.value], width, tip);
    choice.addEventListener('change', show);
    show();
    return make('figure', {}, make('figcaption', {}, 'When it took how long: ', choice, ' a click goes there'), canvas_, tip);
}

function drawHeat(canvas_, heat, width, tip) {
    const left = 62, bottom = 20, height = 220, {cells} = heat, {rows: rowCount, columns} = tables;
    let first = rowCount, last = 0, most = 1, firstColumn = columns, lastColumn = 0;
    for (let i = 0; i < cells.length; i++) {
        if (!cells[i]) continue;
        const row = i % rowCount;
        first = Math.min(first, row);
        last = Math.max(last, row);
        firstColumn = Math.min(firstColumn, Math.floor(i / rowCount));
        lastColumn = Math.max(lastColumn, Math.floor(i / rowCount));
        most = Math.max(most, cells[i]);
    }
    const to = sized(canvas_, width, height), wide = (width - left) / (lastColumn + 1 - firstColumn), high = (height - bottom) / (last - first + 1);
    to.fillStyle = theme.band;
    to.fillRect(left, 0, width - left, height - bottom);
    for (let i = firstColumn * rowCount; i < (lastColumn + 1) * rowCount; i++) {
        if (!cells[i]) continue;
        to.fillStyle = heatColour(Math.log(cells[i] + 1) / Math.log(most + 1));
        const y = height - bottom - (i % rowCount - first + 1) * high;
        to.fillRect(left + (Math.floor(i / rowCount) - firstColumn) * wide, y, wide + 0.5, high + 0.5);
    }
    to.fillStyle = theme.fore;
    for (let row = first, lastY = Infinity; row <= last; row++) {
        const y = height - bottom - (row - first) * high;
        if ((row & 7 && last - first > 8) || y > lastY - 18) continue;
        lastY = y;
        to.fillText(brief(heatValue(row)), 2, Math.max(8, y));
        to.fillRect(left - 4, y, 4, 1);
    }
    const begin = firstColumn * tables.column, span = (lastColumn + 1 - firstColumn) * tables.column;
    for (let i = 0, step = Math.max(1, Math.floor(width / 140)); i < step; i++) {
        const x = left + (width - left) * i / step;
        to.fillRect(x, height - bottom, 1, 4);
        to.fillText(brief(begin + span * i / step), x + 3, height - bottom + 11);
    }
    canvas_.setAttribute('aria-label', `${stepName(heat)}: latencies from ${brief(heatValue(first))} to ${brief(heatValue(last + 1))} over ${brief(span)}`);
    const at = (event) => [firstColumn + Math.floor((event.offsetX - left) / wide), first + Math.floor((height - bottom - event.offsetY) / high)];
    canvas_.onpointermove = (event) => {
        const [column, row] = at(event), often = cells[column * rowCount + row];
        tip.textContent = column >= 0 && column < columns && row >= first && row <= last
            ? `${brief(heatValue(row))} to ${brief(heatValue(row + 1))}, from ${brief(column * tables.column)} to ${brief((column + 1) * tables.column)}: ${commas(often || 0)}` : '';
    };
    canvas_.onclick = (event) => {
        const [column] = at(event);
        if (column < firstColumn) return;
        showTab('timeline');
        goTo(column * tables.column, (column + 1) * tables.column, 0);
    };
}

// ---- the slowest ----

const waitsKnown = new Map(); // by the serial number of an object: what is said of its waits

function makeSlowest(slowest) {
    const lines_ = slowest.map((slow) => {
        const label = objectLabel(slow.type, slow.number + 1, BigInt(slow.id));
        const cell = make('span', {className: 'waits'});
        const known = waitsKnown.get(slow.serial);
        if (known) cell.append(...known);
        else if (chunksOf(slow) > WAITS_CHUNKS) cell.append('long: its story tells');
        else unknownWaits.push({slow, cell});
        return [timelineLink(slow.serial, label, slow.begun, slow.begun, slow.ended), micros(slow.ended - slow.begun), exact(slow.begun), cell];
    });
    return makeTable('The slowest, each with its story and whom it waited for', ['object', 'µs:', 'from:', 'its longest step, and who of its owner was in which meanwhile'], lines_);
}

// An object's story, and the timeline between two times.
function timelineLink(serial, label, time, from, to) {
    return link(label, () => {
        showTab('timeline');
        goTo(from, to);
        showObject(serial, time);
    });
}

// Says of the slowest objects whom they waited for, one after the other: their chunks are read for it.
const WAITS_CHUNKS = 8;
let unknownWaits = [];

function chunksOf(slow) {
    const [first, end] = chunksBetween(slow.begun, slow.ended);
    return end - first;
}

async function tellWaits() {
    for (const {slow, cell} of unknownWaits.splice(0)) {
        const story = await storyOf(slow.serial, slow.begun, slow.ended);
        const [wait] = await waitsOf(story);
        const {step, others} = wait || {};
        const told = !wait ? ['no step is long']
            : [`${tables.tracepoints[step.tracepoint].name} ${micros(step.to - step.from)} µs: `,
                ...(others.length ? others.slice(0, 3).flatMap((other, i) => [i ? ', ' : '', timelineLink(other.serial, other.label, step.from, step.from, step.to),
                    ` in ${tables.tracepoints[other.tracepoint].name} ${(100 * other.time / (step.to - step.from)).toFixed(0)} %`]) : ['nobody']),
                ...(wait.count > 3 ? [`, and ${commas(wait.count - 3)} more`] : [])];
        waitsKnown.set(slow.serial, told);
        cell.replaceChildren(...told);
    }
}

// Who waited for whom in the whole recording, if it is not too long to be read at once.
async function tellMeetings(box) {
    if (tables.events > KEPT_EVENTS) {
        box.append(make('p', {text: 'Who waited for whom: select a part of the timeline (Shift and drag, or “Select view”).'}));
        return;
    }
    const table = makeMeetings(await meetingsOf(tables.first, tables.last, null));
    if (table) box.append(table);
}
