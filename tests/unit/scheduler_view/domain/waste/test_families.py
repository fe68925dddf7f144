"""Work of one family: the same name without what was generated."""

import pytest

from scheduler_view.domain.waste.families import families_of, stem_of


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("video-model-dpst", "video-model"),
        ("segmenter-7mtw", "segmenter"),
        ("nightly-29384720", "nightly"),
        ("render-scenes-cwt2-0", "render-scenes"),
        ("web-5d4f8c7b9d-xkqzw", "web"),
        ("detector-large", "detector-large"),
        ("vision-prod", "vision-prod"),
        ("dpst", "dpst"),
    ],
)
def test_generated_suffixes_are_left_out(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def test_a_name_that_no_other_shares_stays_whole() -> None:
    """A suffix that is a word without vowels is not generated: it has no others beside it."""
    names = ["video-model-dpst", "video-model-x9kq", "llm-sdxl", "llm-chat"]
    assert families_of(names) == {
        "video-model-dpst": "video-model",
        "video-model-x9kq": "video-model",
        "llm-sdxl": "llm-sdxl",
        "llm-chat": "llm-chat",
    }
