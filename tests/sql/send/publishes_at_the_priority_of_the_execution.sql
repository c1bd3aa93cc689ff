SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"priority": 3}', 0);
    PERFORM harel_commit_cas('f', 'd', '{}', 0);
END
$$;
CREATE TEMP TABLE answer AS SELECT id, harel_send(id, 'ev of ' || id, 100) AS seq FROM unnest('{e,f}'::text[]) id;

SELECT is(
    ARRAY(SELECT concat_ws(' ', group_id, priority, available_at) FROM transport_groups ORDER BY group_id),
    '{e 3 100,f 0 100}',
    'that of data, and 0 where it has none'
);
SELECT is_empty(
    $$SELECT a.id FROM answer a LEFT JOIN transport_messages m ON m.group_id = a.id AND m.seq = a.seq
    WHERE m.event IS DISTINCT FROM 'ev of ' || a.id$$, 'it returns the number of the message'
);

SELECT * FROM finish();
