"""The moderation chunk that the demo sends on request: a flagged prompt and an unchecked answer."""

MODEL = "omni-moderation-latest"
SCORES = {"violence": 0.91, "harassment": 0.12, "self-harm": 0.01}

MODERATION = {
    "input": {
        "type": "moderation_results",
        "model": MODEL,
        "results": [
            {
                "type": "moderation_result",
                "model": MODEL,
                "flagged": True,
                "categories": {name: score > 0.5 for name, score in SCORES.items()},
                "category_scores": SCORES,
                "category_applied_input_types": {name: ["text"] for name in SCORES},
            }
        ],
    },
    "output": {"type": "error", "code": "server_error", "message": "moderation is not available"},
}
