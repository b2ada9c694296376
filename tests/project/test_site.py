"""The built site (`sphinx-build -W docs docs/_build`): links lead somewhere, nothing is loaded from elsewhere."""

import json
import os
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build"
PAGES = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if "_static" not in path.parts)
LOADING = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}

pytestmark = [pytest.mark.skipif(not PAGES, reason="needs the site: sphinx-build docs docs/_build"), pytest.mark.slow]


class Page(HTMLParser):
    """What a page names: links, what it loads, and the places that links may lead to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.places = set(), set(), {"", "top"}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        if given.get(LOADING.get(tag)) and given.get("rel") not in ("canonical", "author", "license"):
            self.loaded.add(given[LOADING[tag]])


@cache
def read(path):
    return Page(path)


def local(page, target):
    """Return the file that a link of a page leads to, and the place in it; None for one to elsewhere."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    path = (SITE / page).parent / unquote(parts.path) if parts.path else SITE / page
    return path.resolve(), unquote(parts.fragment)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere_and_all_that_a_page_loads_is_here(page):
    found = read(SITE / page)
    for target in found.links | {one for one in found.loaded if one and not one.startswith("data:")}:
        path, place = local(page, target) or (None, "")
        assert path or target not in found.loaded, target
        assert not path or path.is_file(), target
        assert not path or path.suffix != ".html" or place in read(path).places, target


def test_sections_are_there():
    names = {page.partition("/")[0].removesuffix(".html") for page in PAGES}
    assert names >= {"index", "start", "tutorials", "how-to", "how-it-works", "reference", "results", "questions"}


@pytest.fixture(scope="module")
def browser():
    """Start Chromium, which may not ask any network."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs Chromium and its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    flags = "headless disable-gpu no-first-run disable-background-networking disable-component-update disable-sync"
    for flag in [*flags.split(), *(["no-sandbox"] if os.geteuid() == 0 else [])]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    started.set_page_load_timeout(60)
    yield started
    started.quit()


def asked(browser):
    """Return the addresses that the browser asked for since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]


def visit(browser, address):
    """Open a page; nothing leaves the folder, and the console has no error."""
    asked(browser)
    browser.get(f"{SITE.as_uri()}/{address}")
    seen = asked(browser)
    assert seen
    assert not [one for one in seen if not one.startswith(("file:", "data:", "blob:"))]
    assert not [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]
    return {one.partition("?")[0].partition("#")[0] for one in seen if one.startswith("file:")}


@pytest.mark.parametrize("width", [400, 1280])
def test_pages_in_a_browser(browser, width):
    browser.set_window_size(width, 1000)
    for page in PAGES:
        visit(browser, page)
        wide = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{page} is {wide} pixels wider than {width}"
        broken = "return [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert not browser.execute_script(broken), page
        small = "return [...document.images].filter(i => i.clientWidth < i.naturalWidth / 2).map(i => i.src)"
        assert not browser.execute_script(small), page


def test_the_landing_page_is_light(browser):
    files = visit(browser, "index.html")
    assert sum(Path(unquote(urlsplit(one).path)).stat().st_size for one in files) < 1_500_000


def test_search_finds_a_class(browser):
    from selenium.webdriver.support.wait import WebDriverWait

    visit(browser, "search.html?q=Word2Vec")
    found = "return [...document.querySelectorAll('#search-results li a')].map(a => a.textContent)"
    titles = WebDriverWait(browser, 20).until(lambda _: browser.execute_script(found))
    assert any("any2vec.Word2Vec" in title for title in titles)
    assert not [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]
