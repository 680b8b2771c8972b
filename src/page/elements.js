// SPDX-License-Identifier: BSD-3-Clause
// Times, counts and elements, for all pages. What was recorded or printed is untrusted: it only ever becomes the text of a
// node or of a canvas, and characters that are not seen or that turn the direction of what follows are written as their
// numbers.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;

function clean(text) {
    return String(text).replace(HIDDEN, (character) => '\\u' + character.codePointAt(0).toString(16).padStart(4, '0'));
}

const commas = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
const count = (number, word) => commas(number) + ' ' + word + (number === 1 ? '' : 's');

// A duration, exact to the nanosecond, in microseconds as listings have them.
function micros(nanoseconds) {
    const whole = Math.round(nanoseconds);
    return commas(Math.floor(whole / 1000)) + '.' + String(whole % 1000).padStart(3, '0');
}

// A duration for people, with three digits.
function brief(nanoseconds) {
    const [unit, name] = nanoseconds < 1e3 ? [1, 'ns'] : nanoseconds < 1e6 ? [1e3, 'µs'] : nanoseconds < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
    const value = nanoseconds / unit;
    return (value >= 100 || unit === 1 ? Math.round(value) : value.toPrecision(3).replace(/\.?0+$/, '')) + ' ' + name;
}

// A time since the start, exact: 1.234 567 890 s, without the last zeros of `digits` groups.
function exact(nanoseconds, digits = 3) {
    if (nanoseconds < 0) return '−' + exact(-nanoseconds, digits);
    const whole = Math.round(nanoseconds);
    const seconds = Math.floor(whole / 1e9);
    const rest = String(whole - seconds * 1e9).padStart(9, '0');
    return commas(seconds) + '.' + [rest.slice(0, 3), rest.slice(3, 6), rest.slice(6)].slice(0, digits).join('\u202f') + ' s';
}

// ---- elements ----

// An element with a class, a text, and children: never markup.
function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
        if (name === 'text') element.textContent = value;
        else if (name === 'on') for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
        else if (name in element && name !== 'list') element[name] = value;
        else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
}

// A table: heads with ':' at their end are of numbers.
function makeTable(caption, heads, rows) {
    const isNumber = heads.map((head) => head.endsWith(':'));
    const cell = (tag, value, i) => {
        const element = make(tag, {className: isNumber[i] ? 'number' : ''});
        element.append(value instanceof Node ? value : String(value));
        if (tag === 'th') element.scope = 'col';
        return element;
    };
    const head = make('tr', {}, ...heads.map((text, i) => cell('th', text.replace(/:$/, ''), i)));
    const body = make('tbody', {}, ...rows.map((row) => {
        const line = make('tr', {className: row.className || ''}, ...row.map((value, i) => cell('td', value, i)));
        return line;
    }));
    return make('table', {}, make('caption', {text: caption}), make('thead', {}, head), body);
}

function sized(canvas_, width, height) {
    const ratio = devicePixelRatio || 1;
    canvas_.width = Math.round(width * ratio);
    canvas_.height = Math.round(height * ratio);
    canvas_.style.width = width + 'px';
    canvas_.style.height = height + 'px';
    const to = canvas_.getContext('2d');
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
    to.font = '11px system-ui, sans-serif';
    to.textBaseline = 'middle';
    return to;
}

// Colours of a cell: from the background's to a bright one, by the logarithm of how often it was.
function heatColour(share) {
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    const light = isDark ? 22 + 58 * share : 90 - 62 * share;
    return `hsl(${(isDark ? 250 : 45) + (isDark ? -200 : -45) * share + (isDark ? 0 : 360)} ${60 + 30 * share}% ${light}%)`;
}
