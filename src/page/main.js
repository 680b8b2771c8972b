// SPDX-License-Identifier: BSD-3-Clause
// Brings the page up: what is small first, then the first picture, then the rest.

let currentTab = 'timeline', hasTimes = false;

function showTab(name) {
    currentTab = name;
    for (const tab of ['timeline', 'times', 'about']) {
        document.getElementById(tab).hidden = tab !== name;
        const button = document.getElementById('tab-' + tab);
        button.setAttribute('aria-selected', tab === name);
        button.tabIndex = tab === name ? 0 : -1;
    }
    if (name === 'times' && !hasTimes) {
        hasTimes = true;
        makeTimes();
    }
    if (name === 'timeline') resize();
    keepAddress();
}

function makeAbout() {
    const name = (tracepoint) => tracepoint.group + ':' + tracepoint.name;
    const facts = [['program', clean(tables.program)], ['command', clean(tables.command) || 'unknown'], ['process', tables.pid || 'unknown'], ['host', clean(tables.host) || 'unknown'],
        ['recording', clean(tables.path)],
        ['format', tables.spdk ? "SPDK's" : "spoor's"], ['begins', wall(0) || 'at a time that is not known'],
        ['events', commas(tables.events)], ['from', exact(tables.first)], ['to', exact(tables.last)], ['objects', commas(tables.objectCount)]];
    if (tables.clockError) facts.push(['times are exact to', brief(Number(tables.clockError))]);
    if (tables.lines) facts.push(['merged lines', commas(tables.lines)]);
    const box = document.getElementById('about');
    const seconds = (tables.last - tables.first) / 1e9;
    const counted = tables.tracepoints.slice().sort((a, b) => b.count - a.count).map((tracepoint) =>
        [name(tracepoint), commas(tracepoint.count), seconds > 0 ? commas(Math.round(tracepoint.count / seconds)) : '-']);
    box.replaceChildren(makeTable('The recording', ['', ''], facts), ...tables.notes.map((note) => make('p', {className: 'note', text: clean(note)})),
        makeTable('Events', ['tracepoint', 'count:', 'per second:'], counted));
}

function makeHeader() {
    const program = clean(tables.program || tables.path.split('/').pop());
    document.title = `${program} – spoor`;
    document.getElementById('title').textContent = program + (tables.pid ? ` (${tables.pid})` : '');
    const missing = tables.notes.map(clean);
    if (!tables.events) missing.unshift('There are no events in this recording, or none passed the filters.');
    if (tables.leftOut) missing.push(`${commas(tables.leftOut)} steps of rare kinds are not in what is summed up: zoom in to see them.`);
    const warning = document.getElementById('warning');
    warning.hidden = !missing.length;
    warning.textContent = missing.join(' · ');
}

function listen() {
    const on = (id, act) => document.getElementById(id).addEventListener('click', act);
    for (const tab of ['timeline', 'times', 'about']) on('tab-' + tab, () => showTab(tab));
    document.querySelector('nav').addEventListener('keydown', (event) => {
        const tabs = ['timeline', 'times', 'about'], by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
        if (!by) return;
        showTab(tabs[(tabs.indexOf(currentTab) + by + 3) % 3]);
        document.getElementById('tab-' + currentTab).focus();
        event.stopPropagation();
    });
    on('zoom-in', () => zoom(0.5));
    on('zoom-out', () => zoom(2));
    on('earlier', () => pan(-0.3));
    on('later', () => pan(0.3));
    on('whole', showAll);
    on('select-view', selectView);
    on('keys', showKeys);
    on('panel-close', closePanel);
    on('previous', () => goToMatch(-1));
    on('next', () => goToMatch(1));
    document.getElementById('search').addEventListener('submit', (event) => {
        event.preventDefault();
        const text = document.getElementById('query').value.trim();
        if (text === search.text && view.matches.length) goToMatch(1);
        else runSearch(text);
    });
    document.getElementById('query').addEventListener('search', (event) => !event.target.value && runSearch(''));
    addEventListener('resize', () => {
        resize();
        if (hasTimes) makeTimes();
    });
    addEventListener('hashchange', (event) => readAddress(new URL(event.newURL).hash));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
        readTheme();
        redraw();
        if (hasTimes) makeTimes();
    });
}

async function start() {
    readTheme();
    makeHeader();
    await Promise.all([loadSums(), loadCrossing(), loadLines()]);
    makeLayout();
    makeAbout();
    listen();
    Object.assign(view, {from: tables.first, to: Math.max(tables.last, tables.first + SPAN_MIN)});
    resize();
    const address = location.hash;
    showAll();
    document.getElementById('wait').hidden = true;
    performance.mark('painted');
    if (address) await readAddress(address);
    if (tables.events <= KEPT_EVENTS) for (let i = 0; i < chunks.length; i++) await chunkLoad(i);
    redraw();
    document.body.dataset.state = 'ready';
}

start().catch((error) => {
    document.getElementById('wait').textContent = 'The page cannot show this recording: ' + error.message;
    throw error;
});
