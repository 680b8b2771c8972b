// SPDX-License-Identifier: BSD-3-Clause
// Lines over time, small ones in tables, and heat maps of histograms.

const LEFT = 62, BOTTOM = 18;

// A number as short as it can be read.
function short(number) {
    const size = Math.abs(number);
    for (const [unit, name] of [[1e18, 'E'], [1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'K']]) if (size >= unit) return Number((number / unit).toPrecision(3)) + name;
    return String(Number(number.toPrecision(3)));
}

// The distance of marks of an axis: 1, 2 or 5 times a power of ten.
function markDistance(span, most) {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, span / most)));
    return [1, 2, 5, 10].map((times) => times * power).find((distance) => distance >= span / most) || 10 * power;
}

function drawTimes(to, left, width, y, from, until) {
    const distance = markDistance(until - from, Math.max(1, (width - left) / 110));
    to.fillStyle = theme.dim;
    to.textAlign = 'left';
    for (let time = Math.ceil(from / distance) * distance; time <= until; time += distance) {
        const x = left + (time - from) / (until - from) * (width - left);
        to.fillRect(x, y, 1, 4);
        if (x < width - 70) to.fillText(exact(time, distance >= 1e6 ? 1 : distance >= 1e3 ? 2 : 3), x + 3, y + 9);
    }
}

function drawCursor(to, left, width, height) {
    const x = left + now() / tables.end * (width - left);
    to.fillStyle = theme.found;
    to.fillRect(Math.min(width - 1, x), 0, 1, height);
}

// A click in a chart is a time.
function listenTime(canvas, left, width, act) {
    canvas.onclick = (event) => act(Math.max(0, Math.min(1, (event.offsetX - left) / (width - left))) * tables.end);
}

// Lines: [{points: [[time, value], …], colour}]; isSteps: a value holds until the next.
function drawLines(canvas, width, height, series) {
    const to = sized(canvas, width, height), high = height - BOTTOM;
    let most = 0, least = 0;
    for (const {points} of series) {
        for (const [, value] of points) {
            most = Math.max(most, value);
            least = Math.min(least, value);
        }
    }
    if (most === least) most = least + 1;
    to.fillStyle = theme.band;
    to.fillRect(LEFT, 0, width - LEFT, high);
    to.fillStyle = theme.dim;
    to.textAlign = 'right';
    to.fillText(short(most), LEFT - 6, 8);
    to.fillText(short(least), LEFT - 6, high - 6);
    drawTimes(to, LEFT, width, high, 0, tables.end);
    drawCursor(to, LEFT, width, high);
    const place = ([time, value]) => [LEFT + time / tables.end * (width - LEFT), 2 + (high - 4) * (1 - (value - least) / (most - least))];
    for (const {points, colour} of series) {
        to.strokeStyle = to.fillStyle = colour;
        to.lineWidth = 1.5;
        to.beginPath();
        points.forEach((point, i) => (i ? to.lineTo(...place(point)) : to.moveTo(...place(point))));
        to.stroke();
        if (points.length < 60) for (const point of points) to.fillRect(place(point)[0] - 1.5, place(point)[1] - 1.5, 3, 3);
    }
    listenTime(canvas, LEFT, width, goToTime);
}

function drawSpark(canvas, points, colour) {
    const width = 90, height = 16, to = sized(canvas, width, height);
    const most = points.reduce((a, [, b]) => Math.max(a, b), 0), least = points.reduce((a, [, b]) => Math.min(a, b), 0);
    to.strokeStyle = colour;
    to.beginPath();
    points.forEach(([time, value], i) => {
        const x = 1 + time / tables.end * (width - 2), y = height - 1.5 - (most > least ? (value - least) / (most - least) * (height - 3) : 0);
        if (i) to.lineTo(x, y);
        else to.moveTo(x, y);
    });
    to.stroke();
    to.fillStyle = theme.found;
    to.fillRect(Math.min(width - 1, 1 + now() / tables.end * (width - 2)), 0, 1, height);
}

// What came to the rows of a histogram between a state and the next.
function drawHeatMap(canvas, tip, map, key, width) {
    const columns = map.states.map((_, i) => ({from: sinceWhen(map, i).from, to: map.times[i], counts: rowsOf(map, i, key, true)}));
    let first = map.rows.length, last = -1, most = 1;
    for (const {counts} of columns) {
        counts.forEach((value, row) => {
            if (!value) return;
            first = Math.min(first, row);
            last = Math.max(last, row);
            most = Math.max(most, value);
        });
    }
    const count_ = Math.max(0, last - first + 1), height = Math.min(260, Math.max(40, count_ * 14)) + BOTTOM, high = (height - BOTTOM) / Math.max(1, count_);
    const left = 84, to = sized(canvas, width, height);
    const toX = (time) => left + time / tables.end * (width - left);
    to.fillStyle = theme.band;
    to.fillRect(left, 0, width - left, height - BOTTOM);
    for (const {from, to: until, counts} of columns) {
        for (let row = first; row <= last; row++) {
            if (!counts[row]) continue;
            to.fillStyle = heatColour(Math.log(counts[row] + 1) / Math.log(most + 1));
            to.fillRect(toX(from), height - BOTTOM - (row - first + 1) * high, Math.max(1.5, toX(until) - toX(from)), Math.max(1, high - 0.5));
        }
    }
    to.fillStyle = theme.fore;
    to.textAlign = 'right';
    for (let row = first, lastY = Infinity; row <= last; row++) {
        const y = height - BOTTOM - (row - first + 0.5) * high;
        if (y > lastY - 13) continue;
        lastY = y;
        to.fillText(map.rows[row][0], left - 4, Math.max(7, y));
    }
    drawTimes(to, left, width, height - BOTTOM, 0, tables.end);
    drawCursor(to, left, width, height - BOTTOM);
    canvas.setAttribute('aria-label', `${map.name}: how often which value came when`);
    canvas.onpointermove = (event) => {
        const time = (event.offsetX - left) / (width - left) * tables.end, row = first + Math.floor((height - BOTTOM - event.offsetY) / high);
        const column = columns.find((one) => one.from < time && one.to >= time);
        tip.textContent = column && row >= first && row <= last ? `${map.rows[row][0]} from ${exact(column.from)} to ${exact(column.to)}: ${commas(column.counts[row])}` : '';
    };
    listenTime(canvas, left, width, goToTime);
}
