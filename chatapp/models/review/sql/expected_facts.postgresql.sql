-- The facts of each conversation, some more than once.
SELECT reply.conversation_id, 'model ' || reply.model AS fact
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.model <> ''
UNION ALL
SELECT reply.conversation_id, 'upstream ' || reply.upstream_id
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.upstream_id IS NOT NULL
UNION ALL
SELECT reply.conversation_id, 'ending ' || reply.ending
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.ending NOT IN ('', 'streaming', 'complete')
UNION ALL
SELECT reply.conversation_id, 'tool ' || substr(run.name #>> '{}', 1, 200)
FROM chatapp_message AS reply
CROSS JOIN jsonb_path_query(reply.earlier_rounds, '$[*].tool_runs[*].name') AS run(name)
WHERE reply.role = 'assistant' AND run.name #>> '{}' <> ''
UNION ALL
SELECT reply.conversation_id, 'tool ' || substr(run.name #>> '{}', 1, 200)
FROM chatapp_message AS reply
CROSS JOIN jsonb_path_query(reply.tool_runs, '$[*].name') AS run(name)
WHERE reply.role = 'assistant' AND run.name #>> '{}' <> ''
UNION ALL
SELECT reply.conversation_id, 'flagged'
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.is_flagged
UNION ALL
SELECT reply.conversation_id, 'flagged moderation'
FROM chatapp_message AS reply
WHERE reply.role = 'assistant' AND reply.is_flagged
UNION ALL
SELECT reply.conversation_id, 'category ' || substr(category.name #>> '{}', 1, 200)
FROM chatapp_message AS reply
CROSS JOIN jsonb_path_query(reply.moderation, '$.*.results[*].categories[*]') AS category(name)
WHERE reply.role = 'assistant' AND reply.is_flagged AND category.name #>> '{}' <> ''
UNION ALL
SELECT reply.conversation_id, 'feedback'
FROM chatapp_message AS reply
JOIN chatapp_feedback AS rated ON rated.message_id = reply.id
WHERE reply.role = 'assistant'
UNION ALL
SELECT reply.conversation_id, 'feedback ' || rated.rating
FROM chatapp_message AS reply
JOIN chatapp_feedback AS rated ON rated.message_id = reply.id
WHERE reply.role = 'assistant'
UNION ALL
SELECT reply.conversation_id, 'flagged'
FROM chatapp_message AS reply
JOIN chatapp_feedback AS rated ON rated.message_id = reply.id
WHERE reply.role = 'assistant' AND rated.rating = 'down'
UNION ALL
SELECT conversation_id, 'flagged'
FROM chatapp_rulefinding
UNION ALL
SELECT conversation_id, 'flagged rule'
FROM chatapp_rulefinding
UNION ALL
SELECT conversation_id, 'flagged rule-' || rule_id
FROM chatapp_rulefinding
