"""The page in a real browser, from a file and without a network: no error, folding, sorting, pictures, inert names."""

from __future__ import annotations

import pytest

import fairlp
import fairlp_clusters
from browser import chromium, said
from report_cases import hostile, queued

for package in ("matplotlib", "jinja2"):
    pytest.importorskip(package)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, (instance, observed) in {"plain": queued(), "hostile": hostile()}.items():
        fairlp_clusters.report(instance, folder / f"{name}.html", observed=observed)
    crowded = fairlp.Instance.from_arrays(
        [[1.0, 4.0]] * 5,
        [[40.0, 160.0]],
        users=[f"a-user-with-a-long-name-{k}" for k in range(5)],
        queue=[f"an-organisation-with-a-long-name/team-{k}" for k in range(5)],
        resources=["cpu", "memory"],
        task_limits=[20] * 5,
    )
    observed = [[0], [20], [10], [10], [0]]
    fairlp_clusters.report(crowded, folder / "crowded.html", observed=observed)
    return folder


def opened(driver, page):
    """Open a page."""
    said(driver)
    driver.get(page.as_uri())


@pytest.mark.parametrize(("name", "sections"), [("plain", 3), ("hostile", 3)])
def test_the_page_draws_everything_without_an_error_and_names_are_inert(
    driver, pages, name, sections
):
    opened(driver, pages / f"{name}.html")
    assert said(driver) == []
    assert driver.execute_script("return window.broken") is None
    assert driver.execute_script("return document.querySelectorAll('section').length") == sections
    assert driver.execute_script("return document.querySelectorAll('img').length") == 0
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert driver.execute_script(wide)


def column(driver, table, number):
    read = (
        f"return Array.from(document.querySelectorAll('#{table} tbody tr'), r => "
        f"r.cells[{number}].textContent)"
    )
    return driver.execute_script(read)


def test_sorting_by_numbers_and_by_names_with_the_keyboard(driver, pages):
    from selenium.webdriver.common.keys import Keys

    opened(driver, pages / "plain.html")
    buttons = driver.find_elements("css selector", "#user-table thead button")
    sorts = (
        "return Array.from(document.querySelectorAll('#user-table thead th'), h => "
        "h.getAttribute('aria-sort'))"
    )
    buttons[2].send_keys(Keys.ENTER)  # tasks, the most first
    assert column(driver, "user-table", 2) == ["20", "18", "4", "3", "2"]
    assert driver.execute_script(sorts)[:3] == ["none", "none", "descending"]
    buttons[2].send_keys(Keys.SPACE)
    assert column(driver, "user-table", 2) == ["2", "3", "4", "18", "20"]
    buttons[0].send_keys(Keys.ENTER)
    assert column(driver, "user-table", 0) == ["ann", "bob", "cid", "dee", "eva"]
    assert driver.execute_script(sorts)[:3] == ["ascending", "none", "none"]
    assert said(driver) == []


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_light_and_dark(driver, pages, scheme, dark):
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    opened(driver, pages / "plain.html")
    colours = """
      const sum = (c) => c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
      const of = getComputedStyle(document.body);
      return [of.backgroundColor, of.color].map(sum);
    """
    paper, ink = driver.execute_script(colours)
    assert (paper < 150 and ink > 600) if dark else (paper == 765 and ink < 200)


def test_on_a_telephone_the_page_is_no_wider_than_it(driver, pages):
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        for name in ("plain", "hostile"):
            opened(driver, pages / f"{name}.html")
            assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
