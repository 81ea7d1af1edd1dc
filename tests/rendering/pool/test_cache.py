"""The cache of rendered texts."""

import sys

from django.utils.safestring import SafeString

from chatapp.rendering.pool.cache import Cache, make_key

KEYS = [make_key(str(number)) for number in range(20)]
HTML = SafeString("a" * 500)


def list_cached(cache: Cache) -> list[int]:
    return [number for number, key in enumerate(KEYS) if cache.get(key) is not None]


def test_the_newest_entries_within_the_size_limit_are_kept() -> None:
    cache = Cache(3000)
    for key in KEYS:
        cache.put(key, HTML)
    assert list_cached(cache) == [15, 16, 17, 18, 19]
    assert 5 * sys.getsizeof(HTML) <= 3000 < 6 * sys.getsizeof(HTML)


def test_recently_used_entries_stay() -> None:
    cache = Cache(3000)
    for key in KEYS:
        cache.put(key, HTML)
        assert cache.get(KEYS[0]) == HTML
    assert list_cached(cache) == [0, 16, 17, 18, 19]


def test_storing_an_entry_again_is_not_counted_twice() -> None:
    cache = Cache(3000)
    for _ in range(20):
        cache.put(KEYS[0], HTML)
    cache.put(KEYS[1], HTML)
    assert list_cached(cache) == [0, 1]


def test_an_entry_over_the_size_limit_is_not_kept() -> None:
    cache = Cache(3000)
    cache.put(KEYS[0], SafeString("a" * 4000))
    assert list_cached(cache) == []


def test_any_text_has_a_key() -> None:
    assert len({make_key(text) for text in ("", "a", "\ud800", "\udfff")}) == 4
