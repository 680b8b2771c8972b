// SPDX-License-Identifier: BSD-3-Clause
// Brings the page up.

const KEYS = [
    ['←', '→', 'state before, state after', {ArrowLeft: () => step(-1), ArrowRight: () => step(1)}],
    ['Home', 'End', 'the first state, the end of the trace', {Home: () => goToTime(moments()[0] ?? 0), End: () => goToTime(null)}],
    ['/', '', 'search lines', {'/': () => document.getElementById('query').select()}],
    ['n', 'N', 'next match, previous match', {n: () => goToMatch(1), N: () => goToMatch(-1)}],
    ['o', '', 'only lines that match, or all', {o: () => document.getElementById('only').click()}],
    ['m', '', 'only messages, or all lines', {m: () => document.getElementById('messages').click()}],
    ['Esc', '', 'clears the search', {Escape: clearSearch}],
    ['?', '', 'these keys', {'?': showKeys}],
];
const keyActs = Object.assign({}, ...KEYS.map((row) => row[3]));

function clearSearch() {
    const query = document.getElementById('query');
    query.value = '';
    query.dispatchEvent(new Event('input'));
}

function showKeys() {
    const help = document.getElementById('help'), key = (name) => (name ? make('kbd', {text: name}) : '');
    help.replaceChildren(makeTable('Keys', ['', '', ''], KEYS.map(([one, other, text]) => [key(one), key(other), text])),
        make('p', {text: 'A click in the bar at the top, in a chart, or on a line goes to its time. A click on a column sorts by it, one on a key shows this key alone.'}),
        make('form', {method: 'dialog'}, make('button', {text: 'Close'})));
    if (!help.open) help.showModal();
}

function makeHeader() {
    const title = clean(tables.title.trim().replace(/\s+/g, ' '));
    document.title = `${title} – spoor`;
    document.getElementById('title').textContent = title;
    document.getElementById('title').title = title;
    const missing = problems.slice(0, 5).map(({text}) => text.split('\n')[0]).map(clean);
    if (problems.length > 5) missing.push(`and ${commas(problems.length - 5)} more: see “only messages”`);
    if (tables.failed) missing.push('There was not enough memory: something is missing on this page.');
    if (tables.linesLeft) missing.push(`The first ${commas(tables.linesLeft)} lines are not kept.`);
    if (!maps.length && !lines.times.length) missing.push('The script printed nothing.');
    const warning = document.getElementById('warning');
    warning.hidden = !missing.length;
    warning.textContent = missing.join(' · ');
}

function listen() {
    const on = (id, act) => document.getElementById(id).addEventListener('click', act);
    on('earlier', () => step(-1));
    on('later', () => step(1));
    on('end', () => goToTime(null));
    on('keys', showKeys);
    listenLines();
    addEventListener('resize', showAll);
    addEventListener('hashchange', readAddress);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
        readTheme();
        showAll();
    });
    document.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById('help').open) return;
        const isTyping = event.target.matches('input[type=search]');
        if (isTyping && event.key === 'Escape') event.target.blur();
        if (isTyping || !keyActs[event.key]) return;
        event.preventDefault();
        keyActs[event.key]();
    });
}

async function start() {
    await loadTables();
    await loadMaps();
    await loadLines();
    readTheme();
    makeHeader();
    maps.forEach((map, index) => document.getElementById('maps').append(prepareMap(map, index)));
    document.getElementById('maps').hidden = !maps.length;
    document.getElementById('output').hidden = !lines.times.length && maps.length > 0;
    listen();
    readAddress();
    document.getElementById('wait').hidden = true;
    document.body.dataset.state = 'ready';
}

start().catch((error) => {
    document.getElementById('wait').textContent = 'The page cannot show this trace: ' + error.message;
    throw error;
});
