"""Stores very many conversations for reviewers in a PostgreSQL database at once.

`python -m bench.reviewed CONVERSATIONS` gives two hundred people that many over two years, with ten
times as many messages. Models and upstreams come and go, and some are rare; so are endings, tools,
flags, feedback, words and high costs. Reviewers have opened many, and have groups, rules and a
sample.
"""

import sys
import time
from datetime import timedelta

import django

PEOPLE, DAYS = 200, 730
# Each has its share, and the ages between which it is used (0: two years ago, 1: today).
MODELS = {
    "old-large": (0.5, 0.0, 0.3),
    "old-small": (0.5, 0.0, 0.35),
    "old-rare": (0.004, 0.0, 0.2),
    "middle-large": (0.5, 0.3, 0.7),
    "middle-small": (0.4, 0.25, 0.6),
    "new-large": (0.5, 0.6, 1.0),
    "new-small": (0.5, 0.6, 1.0),
    "new-mini": (0.2, 0.8, 1.0),
    "always": (0.1, 0.0, 1.0),
    "seldom": (0.01, 0.0, 1.0),
    "rare": (0.001, 0.0, 1.0),
    "hardly-ever": (0.0001, 0.0, 1.0),
}
UPSTREAMS = {
    "East": (0.6, 0.0, 1.0),
    "West": (0.3, 0.3, 1.0),
    "Old": (0.4, 0.0, 0.25),
    "Rare": (0.001, 0.0, 1.0),
}
ENDINGS = {
    "complete": 0.93,
    "stopped": 0.03,
    "length": 0.015,
    "failed": 0.012,
    "abandoned": 0.005,
    "cut_off": 0.004,
    "timed_out": 0.0015,
    "refused": 0.001,
    "interrupted": 0.0008,
    "content_filter": 0.0004,
    "no_answer": 0.0002,
    "over_budget": 0.0001,
}
TOOLS = {
    "web_search": (0.04, 0.0, 1.0),
    "read_page": (0.02, 0.4, 1.0),
    "old_tool": (0.04, 0.0, 0.25),
    "seldom_tool": (0.002, 0.0, 1.0),
    "rare_tool": (0.0001, 0.0, 1.0),
}
CATEGORIES = {"harassment": (0.5, 0.0, 1.0), "violence": (0.05, 0.0, 1.0), "rare": (0.01, 0.0, 1.0)}
RULES = {"often": (0.9, 0.0, 1.0), "seldom": (0.1, 0.0, 1.0), "rare": (0.002, 0.0, 1.0)}
GROUPS = {"all": PEOPLE, "some": 20, "few": 2}  # people in each
SAMPLED = 5_000  # conversations
WORDS, MAX_WORDS = 6, 50_000  # words per entry, and distinct words; the first is the most common
LISTED = 100_000  # times
LABELS = ("billing", "praise", "privacy", "safety")

# A turn is a prompt and its reply. `age` is that of the conversation; `luck` chooses from the
# tables above: their shares form a line, on which luck is a position.
CONVERSATIONS = """
CREATE UNLOGGED TABLE made AS
SELECT number, gen_random_uuid() AS id, age, turns,
  (SELECT min(id) FROM chatapp_user WHERE username LIKE 'asker%')
    + floor(power(random(), 1.5) * {people})::int AS user_id,
  now() - (1 - age) * interval '{days} days' AS used,
  pick('model', age, random()) AS model, pick('upstream', age, random()) AS upstream
FROM (
  SELECT number, power(random(), 0.7) AS age, 1 + floor(-ln(1 - random()) * 4.8)::int AS turns
  FROM generate_series(1, {count}) AS number
) AS drawn;
INSERT INTO chatapp_conversation
  (id, user_id, title, indexed_title, created_at, updated_at, titled_by, is_pinned, is_temporary,
   is_unread, trashed_at)
SELECT id, user_id, 'Number ' || number, 'Number ' || number, used - turns * interval '3 minutes',
  used, 'model', false, false, false, CASE WHEN random() < 0.01 THEN now() END
FROM made;
"""
TURNS = """
CREATE UNLOGGED TABLE turns AS
SELECT made.id AS conversation, made.user_id, turn, gen_random_uuid() AS prompt,
  gen_random_uuid() AS reply, used - (turns - turn) * interval '3 minutes' AS at,
  CASE WHEN random() < 0.9 THEN made.model ELSE pick('model', age, random()) END AS model,
  made.upstream, pick('ending', age, random()) AS ending,
  CASE WHEN random() < 0.1 THEN pick('tool', age, random()) END AS tool,
  CASE WHEN random() < 0.005 THEN pick('category', age, random()) END AS category,
  CASE WHEN random() < 0.01 THEN pick('rule', age, random()) END AS rule,
  CASE WHEN random() < 0.01 THEN now() END AS deleted_at,
  row_number() OVER (ORDER BY number, turn) AS number
FROM made, generate_series(1, turns) AS turn;
INSERT INTO chatapp_message
  (id, conversation_id, parent_id, role, is_continuation, created_at, deleted_at, indexed_at,
   sequence, reasoning, content, refusal, ending, finish_reason, upstream_id, model, response_id,
   choice, slot, earlier_rounds, tool_runs, is_flagged, moderation,
   service_tier, system_fingerprint)
SELECT CASE WHEN is_reply THEN reply ELSE prompt END, conversation,
  CASE WHEN is_reply THEN prompt END, CASE WHEN is_reply THEN 'assistant' ELSE 'user' END, false,
  at, deleted_at, at, 2 * number + is_reply::int, '',
  repeat(md5(number::text) || ' ', (random() * 12)::int + is_reply::int * 4), '',
  CASE WHEN is_reply THEN ending ELSE '' END, '',
  CASE WHEN is_reply THEN (SELECT id FROM chatapp_upstream WHERE name = upstream) END,
  CASE WHEN is_reply THEN model ELSE '' END, '', 0, 0,
  CASE WHEN is_reply AND tool IS NOT NULL THEN jsonb_build_array(jsonb_build_object(
    'reasoning', '', 'content', '', 'refusal', '', 'tool_runs', jsonb_build_array(
      jsonb_build_object('id', 'call', 'name', tool, 'arguments', repeat('a', 60),
                         'state', 'done', 'result', repeat('words ', 60))))) ELSE '[]' END,
  '[]', is_reply AND category IS NOT NULL,
  CASE WHEN is_reply AND category IS NOT NULL THEN jsonb_build_object('input', jsonb_build_object(
    'results', jsonb_build_array(jsonb_build_object('categories', jsonb_build_array(category)))))
  END, '', ''
FROM turns, (VALUES (false), (true)) AS both_of(is_reply);
INSERT INTO chatapp_usage
  (message_id, user_id, upstream_id, upstream_name, model, kind, booked_at, day, ending, provenance,
   prompt_tokens, completion_tokens, total_tokens, cost)
SELECT reply, user_id, (SELECT id FROM chatapp_upstream WHERE name = upstream), upstream, model,
  'reply', at, (at AT TIME ZONE 'UTC')::date, ending, 'reported', 800, 200, 1000,
  exp(14.5 + 1.7 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))::bigint
FROM turns;
INSERT INTO chatapp_feedback (message_id, rating, note, given_at)
SELECT reply, CASE WHEN random() < 0.7 THEN 'up' ELSE 'down' END, '', at
FROM turns WHERE random() < 0.01;
INSERT INTO chatapp_rulefinding (found_at, rule_id, conversation_id, message_id)
SELECT at, (SELECT id FROM chatapp_reviewrule WHERE name = rule), conversation, reply
FROM turns WHERE rule IS NOT NULL;
"""
ENTRIES = """
INSERT INTO chatapp_searchentry (id, user_id, conversation_id, message_id, words)
SELECT {of_second} * extract(epoch FROM date_trunc('second', at))::bigint
    + row_number() OVER (PARTITION BY date_trunc('second', at)), user_id, conversation,
  CASE WHEN is_reply THEN reply ELSE prompt END,
  array_to_tsvector(ARRAY(
    SELECT DISTINCT lpad(user_id::text, 6, '0') || '_word'
      || translate(floor(exp(random() * ln({most})))::int::text, '0123456789', 'abcdefghij')
    FROM generate_series(1, {words})
  ))
FROM turns, (VALUES (false), (true)) AS both_of(is_reply);
"""
# With numbers below those that the log has assigned, so that its head does not include them.
LOOKS = """
INSERT INTO chatapp_auditevent
  (sequence, at, action, actor, target_type, target, person, detail_hash, key, previous, mac)
SELECT number - 2 * {listed}, now() - (1 - number::float / {listed}) * interval '{days} days',
  'conversations.listed', (SELECT min(id) FROM chatapp_user WHERE reviews), '', '', NULL, '', '',
  '', ''
FROM generate_series(1, {listed}) AS number;
INSERT INTO chatapp_auditevent
  (sequence, at, action, actor, target_type, target, person, detail_hash, key, previous, mac)
SELECT number - 10 * {listed}, used, 'conversation.opened',
  (SELECT min(id) FROM chatapp_user WHERE reviews), 'conversation', id::text, user_id, '', '', '',
  ''
FROM made WHERE random() < 0.1;
INSERT INTO chatapp_auditdetail (event_id, salt, content)
SELECT sequence, '', '{{"reason": "Somebody asked for it."}}' FROM chatapp_auditevent
WHERE action = 'conversation.opened';
"""
REVIEWS = """
INSERT INTO chatapp_review
  (conversation_id, verdict, decided_at, version, claimed_by_id, claimed_until)
SELECT id, (ARRAY['fine', 'minor', 'serious', 'unclear', ''])[1 + floor(random() * 5)::int],
  now(), 1, CASE WHEN random() < 0.05
    THEN (SELECT min(id) FROM chatapp_user WHERE reviews) + (random() > 0.5)::int END,
  now() + interval '1 day'
FROM made WHERE random() < 0.02;
UPDATE chatapp_review SET claimed_until = NULL WHERE claimed_by_id IS NULL;
INSERT INTO chatapp_review_labels (review_id, reviewlabel_id)
SELECT conversation_id, (SELECT min(id) FROM chatapp_reviewlabel) + floor(random() * {labels})::int
FROM chatapp_review WHERE random() < 0.5;
INSERT INTO chatapp_samplemember (sample_id, conversation_id)
SELECT (SELECT id FROM chatapp_reviewsample), id FROM made ORDER BY random() LIMIT {sampled};
DROP TABLE made, turns;
DROP FUNCTION pick;
DROP TABLE shares;
"""
PICK = """
CREATE UNLOGGED TABLE shares (kind text, name text, share float, since float, until float);
CREATE FUNCTION pick(asked text, age float, luck float) RETURNS text LANGUAGE sql AS $$
  SELECT name FROM (
    SELECT name, sum(share) OVER (ORDER BY name) AS up_to, sum(share) OVER () AS total
    FROM shares WHERE kind = asked AND age BETWEEN since AND until
  ) AS line WHERE up_to >= luck * total ORDER BY up_to LIMIT 1
$$;
"""
INDEXES = """
SELECT indexname, indexdef FROM pg_indexes
WHERE tablename IN ('chatapp_message', 'chatapp_searchentry') AND indexname NOT LIKE '%pkey'
"""


def fill(count: int) -> None:
    from django.db import connection

    from chatapp.models.review import facets
    from chatapp.models.search.search_entries import IDS_PER_SECOND

    _create_people()
    with connection.cursor() as cursor:
        # The figures include the time of triggers; here they would take most of it.
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("SET maintenance_work_mem = '512MB'; SET work_mem = '256MB'; SET jit = off")
        cursor.execute("SELECT setseed(0.13)")
        cursor.execute(PICK)
        cursor.executemany("INSERT INTO shares VALUES (%s, %s, %s, %s, %s)", _shares())
        cursor.execute(INDEXES)
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f'DROP INDEX "{name}"')
        cursor.execute(CONVERSATIONS.format(people=PEOPLE, days=DAYS, count=count))
        cursor.execute(TURNS)
        cursor.execute(ENTRIES.format(of_second=IDS_PER_SECOND, most=MAX_WORDS, words=WORDS))
        cursor.execute(LOOKS.format(listed=LISTED, days=DAYS))
        cursor.execute(REVIEWS.format(labels=len(LABELS), sampled=SAMPLED))
        for _, definition in indexes:
            cursor.execute(definition)
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("ANALYZE")
        facets.complete()
        cursor.execute("VACUUM ANALYZE")


def _create_people() -> None:
    from django.contrib.auth.models import Group
    from django.utils import timezone

    from chatapp.models import ReviewLabel, ReviewRule, ReviewSample, Upstream, User

    User.objects.create(username="reviewer", is_staff=True, reviews=True)
    User.objects.create(username="another reviewer", is_staff=True, reviews=True)
    joined = timezone.now() - timedelta(DAYS)
    people = User.objects.bulk_create(
        User(username=f"asker{number}", date_joined=joined) for number in range(PEOPLE)
    )
    for name, count in GROUPS.items():
        Group.objects.create(name=name).user_set.set(people[-count:])
    for name in UPSTREAMS:
        Upstream.objects.create(name=name, base_url="http://127.0.0.1/v1")
    ReviewLabel.objects.bulk_create(ReviewLabel(name=name) for name in LABELS)
    words = {
        "kind": ReviewRule.Kind.WORDS,
        "applies_to": ReviewRule.AppliesTo.BOTH,
        "text": "none such",
    }
    ReviewRule.objects.bulk_create(ReviewRule(name=name, **words) for name in RULES)
    ReviewSample.objects.create(name="sample", filters={}, share=5, size=SAMPLED)


def _shares() -> list[tuple[str, str, float, float, float]]:
    always = {name: (share, 0.0, 1.0) for name, share in ENDINGS.items()}
    tables = {
        **{"model": MODELS, "upstream": UPSTREAMS, "tool": TOOLS, "ending": always},
        **{"category": CATEGORIES, "rule": RULES},
    }
    return [(kind, name, *span) for kind, table in tables.items() for name, span in table.items()]


if __name__ == "__main__":
    django.setup()
    began_at = time.monotonic()
    fill(int(sys.argv[1]))
    print(f"filled in {time.monotonic() - began_at:.0f} s")
