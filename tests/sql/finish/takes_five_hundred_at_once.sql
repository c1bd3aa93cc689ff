SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(1, 500) n;
    PERFORM harel_publish('e' || n, 'ev', p_now => 100) FROM generate_series(1, 500) n;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, 1000, p_now => 100);
CREATE TEMP TABLE answer AS SELECT f.* FROM
(
    SELECT
        array_agg(group_id ORDER BY group_id DESC) AS ids,
        array_agg(token) AS tokens,
        array_agg('d'::text) AS defns,
        array_agg(to_json(group_id)::text ORDER BY group_id DESC) AS datas,
        array_agg(1::bigint) AS olds,
        array_agg(row_number::integer ORDER BY row_number) AS places,
        array_agg(NULL::text) AS targets
    FROM (SELECT *, row_number() OVER () FROM lease) l
) b,
harel_finish(
    b.ids, b.tokens, b.defns, b.datas, b.olds, p_emit_commits => b.places, p_emit_targets => b.targets,
    p_emit_events => b.ids, p_now => 101
) f;

SELECT is((SELECT count(*) FROM answer WHERE result = 'finished'), 500::bigint, 'all are finished');
SELECT is_empty(
    $$SELECT a.group_id, o.event FROM answer a LEFT JOIN outbox o ON o.seq = a.outbox_seqs[1]
    WHERE o.event IS DISTINCT FROM a.group_id$$, 'each is told the seq of its own event'
);
SELECT is_empty('SELECT id FROM executions WHERE data <> format(''"%s"'', id)', 'each has its own data');
SELECT is_empty('SELECT * FROM transport_groups', 'nothing is left in the queue');

SELECT * FROM finish();
