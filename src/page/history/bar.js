// SPDX-License-Identifier: BSD-3-Clause
// The time of the whole trace: where lines were printed, where messages came, and the cursor.

const bar = document.getElementById('bar');

function drawBar() {
    const width = Math.max(100, document.body.clientWidth), height = 64, high = height - BOTTOM;
    const to = sized(bar, width, height), columns = new Uint32Array(Math.ceil(width / 3) + 1);
    for (const time of lines.times) columns[Math.floor(time / tables.end * width / 3)]++;
    const most = columns.reduce((a, b) => Math.max(a, b), 1);
    to.fillStyle = theme.accent;
    columns.forEach((value, i) => value && to.fillRect(i * 3, high - Math.max(2, value / most * (high - 4)), 2, Math.max(2, value / most * (high - 4))));
    to.fillStyle = theme.alarm;
    for (const {time} of problems) to.fillRect(Math.min(width - 2, time / tables.end * width), 0, 2, high);
    drawTimes(to, 0, width, high, 0, tables.end);
    drawCursor(to, 0, width, height);
    bar.setAttribute('aria-valuemax', tables.end);
    bar.setAttribute('aria-valuenow', Math.round(now()));
    bar.setAttribute('aria-valuetext', exact(now()));
}

function dragTo(event) {
    goToTime(Math.max(0, Math.min(1, event.offsetX / bar.clientWidth)) * tables.end);
}

bar.addEventListener('pointerdown', (event) => {
    bar.setPointerCapture(event.pointerId);
    dragTo(event);
});
bar.addEventListener('pointermove', (event) => bar.hasPointerCapture(event.pointerId) && dragTo(event));
