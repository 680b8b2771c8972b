/* Zoom, search and turning a flame graph over. This text stands in XML as it is: it has no less-than sign and no ampersand. */
(function () {
    "use strict";
    var svg = document.querySelector("svg.flame");
    var width = +svg.dataset.width, margin = +svg.dataset.margin, top = +svg.dataset.top;
    var height = +svg.dataset.row, depth = +svg.dataset.depth, letter = +svg.dataset.letter;
    var frames = Array.from(svg.querySelectorAll("g.f"), function (group) {
        var lines = group.querySelector("title").textContent.split("\n");
        return {
            group: group, rect: group.querySelector("rect"), text: group.querySelector("text"),
            name: lines[0], about: lines.join("  "),
            start: +group.dataset.s, count: +group.dataset.n, depth: +group.dataset.d
        };
    });
    var root = frames[0];
    var state = { zoom: 0, search: "", icicle: svg.dataset.icicle === "1" };
    var typing = false; /* keys go into the words that are searched for */

    function element(id) { return svg.querySelector("." + id); }

    function within(frame, outer) {
        return frame.start >= outer.start ? outer.start + outer.count >= frame.start + frame.count : false;
    }

    /* Where a frame is when another one is zoomed to: null if nowhere. */
    function place(frame, zoomed) {
        if (zoomed.depth > frame.depth)
            return within(zoomed, frame) ? { x: 0, w: width, above: true } : null;
        if (!within(frame, zoomed))
            return null;
        var scale = width / zoomed.count;
        var w = frame.count * scale;
        return w > 0.1 ? { x: (frame.start - zoomed.start) * scale, w: w, above: false } : null;
    }

    function fit(name, w) {
        var letters = Math.floor((w - 6) / letter);
        if (3 > letters)
            return "";
        return name.length > letters ? name.slice(0, letters - 2) + ".." : name;
    }

    function draw() {
        var zoomed = frames[state.zoom] || root;
        frames.forEach(function (frame) {
            var at = place(frame, zoomed);
            frame.group.style.display = at ? "" : "none";
            if (!at)
                return;
            var y = top + (state.icicle ? frame.depth : depth - frame.depth) * height;
            frame.group.setAttribute("transform", "translate(" + (margin + at.x).toFixed(2) + "," + y + ")");
            frame.rect.setAttribute("width", at.w.toFixed(2));
            frame.text.textContent = fit(frame.name, at.w);
            frame.group.classList.toggle("above", at.above);
        });
        element("reset").style.display = state.zoom ? "" : "none";
        element("turn").textContent = state.icicle ? "flame" : "icicle";
    }

    /* Marks the frames whose name has the words, and says how much is in them; what is below one counts once. */
    function find() {
        var expression = null, counted = 0, end = -1;
        if (state.search)
            try {
                expression = new RegExp(state.search, "i");
            } catch (error) {
                expression = new RegExp(state.search.replace(/[^A-Za-z0-9_ ]/g, "\\$" + "\u0026"), "i");
            }
        frames.forEach(function (frame) {
            var found = expression ? expression.test(frame.name) : false;
            frame.group.classList.toggle("found", found);
            if (found ? frame.start >= end : false) {
                counted += frame.count;
                end = frame.start + frame.count;
            }
        });
        element("found-text").textContent = expression
            ? "found: " + (root.count ? 100 * counted / root.count : 0).toFixed(2) + "%" : "";
        element("search").textContent = typing ? "search: " + state.search + "_"
            : expression ? "search: " + state.search : "search";
    }

    /* The address keeps what is seen. */
    function remember() {
        var parts = [];
        if (state.zoom)
            parts.push("zoom=" + state.zoom);
        if (state.search)
            parts.push("search=" + encodeURIComponent(state.search));
        if (state.icicle)
            parts.push("icicle=1");
        try {
            history.replaceState(null, "", "#" + parts.join(";"));
        } catch (error) { /* the document is part of another one */ }
    }

    function recall() {
        location.hash.slice(1).split(";").forEach(function (part) {
            var at = part.indexOf("="), value = part.slice(at + 1);
            try {
                value = decodeURIComponent(value);
            } catch (error) { return; }
            if (part.slice(0, at) === "zoom")
                state.zoom = frames[+value] ? +value : 0;
            if (part.slice(0, at) === "search")
                state.search = value;
            if (part.slice(0, at) === "icicle")
                state.icicle = value === "1";
        });
    }

    function change(what) {
        Object.assign(state, what);
        draw();
        find();
        remember();
    }

    function ask() {
        typing = true;
        change({ search: "" });
    }

    /* A key while words are typed: what is found is seen at once. */
    function type(event) {
        var words = state.search;
        event.preventDefault();
        if (event.key === "Enter" || event.key === "Escape")
            typing = false;
        if (event.key === "Escape")
            words = "";
        else if (event.key === "Backspace")
            words = words.slice(0, -1);
        else if (event.key.length === 1)
            words += event.key;
        change({ search: words });
    }

    function frame_of(target) {
        var group = target.closest ? target.closest("g.f") : null;
        return group ? frames.findIndex(function (frame) { return frame.group === group; }) : -1;
    }

    svg.addEventListener("click", function (event) {
        var at = frame_of(event.target);
        if (at >= 0)
            change({ zoom: at });
        else if (event.target.classList.contains("reset"))
            change({ zoom: 0 });
        else if (event.target.classList.contains("search"))
            ask();
        else if (event.target.classList.contains("turn"))
            change({ icicle: !state.icicle });
    });
    svg.addEventListener("mouseover", function (event) {
        var at = frame_of(event.target);
        element("about").textContent = at >= 0 ? frames[at].about : "";
    });
    window.addEventListener("keydown", function (event) {
        if (event.altKey || event.metaKey)
            return;
        if (typing ? !event.ctrlKey : false) {
            type(event);
            return;
        }
        if (event.key === "/" || (event.ctrlKey ? event.key === "f" : false)) {
            event.preventDefault();
            ask();
        } else if (event.ctrlKey)
            return;
        else if (event.key === "i")
            change({ icicle: !state.icicle });
        else if (event.key === "Escape")
            change(state.zoom ? { zoom: 0 } : { search: "" });
    });
    window.addEventListener("hashchange", function () {
        Object.assign(state, { zoom: 0, search: "", icicle: false });
        recall();
        draw();
        find();
    });
    element("controls").removeAttribute("display");
    recall();
    draw();
    find();
}());
