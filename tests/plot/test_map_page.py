"""A map's page in Chromium: it asks the network for nothing, finds words, and shows the nearest ones."""

import json
import shutil
import time

import numpy as np
import pytest

from any2vec import Vectors

webdriver = pytest.importorskip("selenium.webdriver")
pytest.importorskip("bokeh")
pytest.importorskip("sklearn")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(DRIVER is None, reason="needs Chromium and its driver")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader"]
PATIENCE = 60.0  # seconds, of a machine that does much else


@pytest.fixture
def browser():
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield opened
    opened.quit()


def wait(condition):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def logged(browser, kind):
    return [entry["message"] for entry in browser.get_log(kind) if kind != "browser" or entry["level"] == "SEVERE"]


TEXTS = """
    const plot = Bokeh.documents[0].roots()[0], texts = plot.renderers.find((one) => one.glyph.type === "Text");
    const { x, y, text } = texts.data_source.data, pen = document.createElement("canvas").getContext("2d");
    const scale = plot.inner_width / (plot.x_range.end - plot.x_range.start);
    pen.font = "12px sans-serif";
    return text.map((word, i) => [
        (x[i] - plot.x_range.start) * scale, (plot.y_range.end - y[i]) * scale, pen.measureText(word).width,
    ]);
"""  # middle, bottom and width of the words that are written, in pixels


@pytest.mark.parametrize("width", [400, 1280])
def test_page(browser, tmp_path, width):
    words = ["<b>bold</b>", *(f"word{i}" for i in range(1, 200))]
    rows = np.random.default_rng(1).standard_normal((200, 8), np.float32)
    vectors = Vectors(words, rows)
    vectors.map(method="pca", clusters=3).save(tmp_path / "map.html")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.get((tmp_path / "map.html").as_uri())
    box = wait(lambda: browser.find_elements("id", "find"))[0]
    wait(box.is_enabled)
    texts = browser.execute_script(TEXTS)
    assert len(texts) > 10
    for place, (x, y, long) in enumerate(texts):
        assert long / 2 <= x
        for left, bottom, other in texts[:place]:
            assert abs(x - left) > (long + other) / 2 + 4 or abs(y - bottom) > 17 + 2
    size = "return Bokeh.documents[0].roots()[0].renderers[0].glyph.size.value"
    assert (browser.execute_script(size) < 7) == (width == 400)
    box.send_keys("word19")
    assert [item.text for item in browser.find_elements("css selector", "#found li")][:2] == ["word19", "word190"]
    box.send_keys(webdriver.Keys.ENTER)
    expected = vectors.most_similar("word19", topn=10)
    shown = [item.text.split("\n") for item in browser.find_elements("css selector", "#word li")]
    assert shown == [[word, f"{cosine:.3f}"] for word, cosine in expected]
    browser.find_elements("css selector", "#word li button")[0].click()
    assert browser.find_element("css selector", "#word h2").text == expected[0][0]
    browser.find_element("id", "whole").click()
    box.clear()
    box.send_keys("BOLD", webdriver.Keys.ENTER)
    assert browser.find_element("css selector", "#word h2").text == "<b>bold</b>"
    x, y = browser.execute_script("""
        const map = document.getElementById("map").getBoundingClientRect();
        return [map.x + map.width / 2, map.y + map.height / 2];
    """)  # where the word is now
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        where = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", where)
    tip = wait(lambda: browser.execute_script("return document.getElementById('tip').textContent"))
    assert tip.startswith("<b>bold</b> (")
    legend = browser.find_elements("css selector", "#legend button")
    assert sum(int(button.text.split("\n")[1]) for button in legend) == 200
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert logged(browser, "browser") == []
    events = [json.loads(message)["message"] for message in logged(browser, "performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked
    assert [url for url in asked if not url.startswith(("data:", "file:"))] == []
