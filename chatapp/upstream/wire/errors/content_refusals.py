"""Recognise errors that refuse images, or contents that are lists of parts, in any gateway's words.

`tests/upstream/wire/test_content_refusals.py` has the messages that the patterns were made for.
Errors about one image (its format, size or address) match none of them: they say nothing about the
model.
"""

import re

_KINDS = r"(images?|image_urls?|vision|visual|multi-?modal)\b"
_NOT_ONE_IMAGE = r"(?!\W+(urls?|formats?|types?|sizes?|files?|larger|bigger|over|above|with)\b)"
_NO_IMAGES = re.compile(
    "|".join(
        [
            r"image_url is only supported by",
            r"no endpoints found that support image",
            rf"is not an? {_KINDS}",
            rf"(does not|doesn't|do not|cannot|can't|not able to|unable to) "
            rf"(support|accept|process|take|handle) (any |the )?{_KINDS}{_NOT_ONE_IMAGE}",
            r"\bimages?(_url)?s?\W+((inputs?|contents?|parts?|modality|understanding)\W+){0,2}"
            r"(is|are) not (supported|enabled|allowed|accepted|available)",
            r"unsupported content part type\W+image",
            r"missing data required for image input",
            r"unknown variant\W+image_url",
            r"variant of untagged enum \w*Content\b",
            r"input should be 'text'",
            r"unexpected item type in content",
            r"at most 0 images?\b",
        ]
    ),
    re.IGNORECASE,
)
_ONLY_TEXT = re.compile(
    "|".join(
        [
            r"\bcontent\b.{0,12}(must|should) be (a |of type )?string",
            r"\bcontent\b.{0,40}(input should be a valid string|str type expected)",
            r"sequence, expected a string",
            r"cannot unmarshal array into .*content of type string",
            r"can only concatenate str \(not \"list\"\) to str",
            r"value of type `java\.lang\.String` from Array value",
            r"expected string, received array",
        ]
    ),
    re.IGNORECASE,
)


def says_no_images(message: str) -> bool:
    """Whether the message says that the model takes no images."""
    return bool(_NO_IMAGES.search(message))


def says_only_text(message: str) -> bool:
    """Whether the message says that a content must be a text and not a list of parts."""
    return bool(_ONLY_TEXT.search(message))
