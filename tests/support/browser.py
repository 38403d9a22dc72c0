"""A headless Chromium from the distribution's packages, through Selenium; tests skip, with the reason, without one."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
)


@contextmanager
def chromium(tmp_path):
    """A driver; its network is off, so that a page which needs one shows errors."""
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed: no test in a browser"
    )
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip(
            "there is no chromium with chromedriver (apt-get install chromium chromium-driver)"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for switch in (*_SWITCHES, f"--user-data-dir={tmp_path / 'chromium'}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(driver, log_output=os.devnull)
    chrome = webdriver.Chrome(options=options, service=service)
    try:
        chrome.execute_cdp_cmd("Network.enable", {})
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        chrome.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        yield chrome
    finally:
        chrome.quit()


def said(driver):
    """What the console says, warnings and errors."""
    return [
        entry["message"]
        for entry in driver.get_log("browser")
        if entry["level"] in ("SEVERE", "WARNING")
    ]
