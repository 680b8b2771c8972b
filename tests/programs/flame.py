#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flame graphs in a browser: flame.py ROOT BROWSER DIRECTORY PICTURES FILE…. Clicks, searches and turns the graph of flame.sh over."""
import os
import sys

root, program, directory, pictures = sys.argv[1:5]
sys.path.insert(0, root + "/tests/lib")
from browser import start_browser  # noqa: E402

WIDTH = 1180
failed = False
file = name = None  # the graph that is looked at


def say(what, is_right, seen=""):
    global failed
    failed |= not is_right
    print(f"{'ok' if is_right else 'not ok'} {os.path.basename(program)}: {name}: {what}")
    if not is_right:
        print("  " + ascii(seen))


SETUP = """
window.frames_named = name => [...document.querySelectorAll("g.f")].filter(g => g.querySelector("title").textContent.split("\\n")[0] === name);
window.width_of = name => +frames_named(name)[0].querySelector("rect").getAttribute("width");
window.shown = () => [...document.querySelectorAll("g.f")].filter(g => g.style.display !== "none").map(g => g.querySelector("title").textContent.split("\\n")[0]);
window.top_of = name => frames_named(name)[0].getBoundingClientRect().top;
true
"""


def middle(browser, expression):
    box = browser.value(f"(() => {{ const box = {expression}.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()")
    return box


def click_on(browser, expression):
    browser.click(*middle(browser, expression))


def visit(browser, address):
    browser.open("file://" + file + address)
    browser.until("document.readyState === 'complete' && document.querySelectorAll('g.f').length > 0 && !document.querySelector('.controls').hasAttribute('display')")
    browser.value(SETUP)


def look_at(browser):
    del browser.requests[:]
    visit(browser, "")
    browser.screenshot(os.path.join(pictures, name + ".png"))
    say("half is half as wide", abs(browser.value("width_of('half')") - WIDTH / 2) < 0.01, browser.value("width_of('half')"))
    click_on(browser, "frames_named('half')[0]")
    say("a click zooms", browser.value("width_of('half')") == WIDTH and browser.value("shown()") == ["all", "p", "main", "half", "deep"], browser.value("shown()"))
    say("what called it is pale", browser.value("frames_named('main')[0].classList.contains('above') && !frames_named('half')[0].classList.contains('above')"))
    say("what it calls keeps its share", abs(browser.value("width_of('deep')") - WIDTH / 5) < 0.01, browser.value("width_of('deep')"))
    address = browser.value("location.hash")
    browser.key("Escape")
    say("Escape goes back", abs(browser.value("width_of('half')") - WIDTH / 2) < 0.01 and browser.value("location.hash") != address, browser.value("location.hash"))
    visit(browser, address)
    say("the address keeps the place", browser.value("width_of('half')") == WIDTH, address)
    click_on(browser, "document.querySelector('.reset')")
    say("whole goes back", abs(browser.value("width_of('half')") - WIDTH / 2) < 0.01)
    browser.key("/")
    for letter in "twice":
        browser.key(letter)
    browser.key("Enter")
    say("a search marks, and counts what is below another match once", browser.value("document.querySelectorAll('.f.found').length") == 2 and
        browser.value("document.querySelector('.found-text').textContent") == "found: 30.00%", browser.value("document.querySelector('.found-text').textContent"))
    browser.screenshot(os.path.join(pictures, name + ".search.png"))
    browser.key("Escape")
    say("Escape ends the search", browser.value("document.querySelectorAll('.f.found').length") == 0)
    browser.key("/")
    browser.key("(")
    browser.key("Enter")
    say("what is no regular expression is taken as it is", browser.value("document.querySelector('.found-text').textContent") == "found: 20.00%", browser.value("document.querySelector('.found-text').textContent"))
    browser.key("Escape")
    before = browser.value("top_of('all') > top_of('p')")
    browser.key("i")
    say("i turns it over", before and browser.value("top_of('all') < top_of('p')"))
    x, y = middle(browser, "frames_named('half')[0]")
    browser.mouse("mouseMoved", x, y)
    say("what is below the pointer is told", "50.0%" in browser.value("document.querySelector('.about').textContent"), browser.value("document.querySelector('.about').textContent"))
    say("names are only names", browser.value("window.broken === undefined && document.querySelectorAll('script').length === 1 && document.querySelectorAll('img').length === 0"))
    say("nothing goes wrong", not browser.problems, browser.problems)
    say("nothing is asked for", all(request.startswith("file://" + file) for request in browser.requests), browser.requests)


with start_browser(program, directory) as browser:
    for file in sys.argv[5:]:
        name = os.path.basename(file)
        look_at(browser)
sys.exit(failed)
