"""Reading HTML pages in tests."""

import html.parser
import re

VOID = {"meta", "input", "br", "hr", "link", "img"}


class Page(html.parser.HTMLParser):
    """Elements with their attributes and text; fails where tags are not closed in order."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.elements, self.texts = [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else None, []).append(data)

    def all(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]


def check_self_contained(text: str) -> Page:
    """Assert that a page loads nothing, has unique ids and no broken link, label or reference."""
    page = Page(text)
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "data", "background"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        for name in {"href", "xlink:href"} & set(attributes):
            assert attributes[name].startswith("data:image/png" if tag == "image" else "#")
    outside = re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/)", text)
    assert outside is None, text[outside.start() - 80 : outside.start() + 80]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = {a["href"][1:] for a in page.all("a")} | {a["for"] for a in page.all("label", "output")}
    used |= {a["aria-labelledby"] for a in page.all("section")}
    used |= {a["xlink:href"][1:] for a in page.all("use")}
    used |= set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(ids)
    assert all(a["aria-label"] for a in page.all("div") if a.get("role") == "img")
    assert len(page.all("table")) == len(page.all("caption"))
    return page
