"""One page in a browser, used as a person would: every wait is for something
that can be seen, and ends after a minute."""

import json
import pathlib
import re

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.instance import LIMIT, ROOT, wait_for

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-prefers-reduced-motion",
)
SCREENSHOTS = ROOT / "build" / "screenshots"


def start_driver(downloads):
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(LIMIT)
    driver.set_script_timeout(LIMIT)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    driver.downloads = downloads
    return driver


class Page:
    def __init__(self, driver, url):
        self.driver = driver
        self.url = url
        self.expected = []  # patterns of console messages that the test provokes
        self.requests = []
        driver.get_log("browser")
        driver.get_log("performance")

    # How it is looked at

    def resize(self, width, height, phone=False):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, path):
        self.driver.get(self.url + path)

    def leave(self):
        self.driver.get("about:blank")

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    # What is seen

    def all(self, selector):
        return [element for element in self.driver.find_elements(By.CSS_SELECTOR, selector) if element.is_displayed()]

    def find(self, selector, text=""):
        """The first visible element with this text, once there is one."""

        def look():
            try:
                return next((element for element in self.all(selector) if text in element.text), None)
            except StaleElementReferenceException:  # redrawn meanwhile
                return None

        return wait_for(look, f"{selector} with the text {text!r}")

    def gone(self, selector, text=""):
        def look():
            try:
                return not any(text in element.text for element in self.all(selector))
            except StaleElementReferenceException:
                return False

        wait_for(look, f"the end of {selector} with the text {text!r}")

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def wait(self, expression, what=None):
        """Waits until a JavaScript expression is true, and gives its value."""
        return wait_for(lambda: self.script(f"return {expression}"), what or expression)

    def in_frame(self, frame, expression, what):
        """The value of an expression inside a frame, once it is true."""

        def look():
            self.driver.switch_to.frame(frame)
            try:
                return self.script(f"return {expression}")
            finally:
                self.driver.switch_to.default_content()

        return wait_for(look, what)

    # What is done

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def click(self, selector, text=""):
        self.find(selector, text).click()

    def tab_to(self, selector, most=60):
        """Presses Tab until what has the focus is meant."""
        for _ in range(most):
            self.press(Keys.TAB)
            if self.script("return document.activeElement.matches(arguments[0])", selector):
                return
        raise AssertionError(f"{selector} is not reached by Tab")

    def downloaded(self, name):
        """The content of a finished download."""
        path = pathlib.Path(self.driver.downloads) / name
        wait_for(lambda: path.exists() and not path.with_name(name + ".crdownload").exists(), f"the download {name}")
        content = path.read_bytes()
        path.unlink()
        return content

    # What must not be

    def seen_requests(self):
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return self.requests

    def check_quiet(self):
        for url in self.seen_requests():
            local = (self.url + "/", "data:", "blob:", "about:", "file:")
            assert url.startswith(local), f"a request left the origin: {url}"
        for entry in self.driver.get_log("browser"):
            if not any(re.search(pattern, entry["message"]) for pattern in self.expected):
                raise AssertionError(f"the console says: {entry['message']}")
