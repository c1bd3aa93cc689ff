SELECT plan(3);

DO $$
BEGIN
    -- a and b are done, b by way of a retry, c has paid and waits, d has not begun, e is another's.
    PERFORM harel_commit_cas(id, defn, format('{"status": "%s", "active_path": %s}', status, coalesce(to_json(path), 'null')), 0)
    FROM (VALUES
        ('a', 'order', 'DONE', '/done'), ('b', 'order', 'DONE', '/done'), ('c', 'order', 'RUNNING', '/shipping'),
        ('d', 'order', 'PENDING', NULL), ('e', 'other', 'DONE', '/x')
    ) v (id, defn, status, path);
    PERFORM harel_append_trace(id, json_build_object('event', event, 'from', source, 'to', target, 'at', at)::text)
    FROM (VALUES
        ('a', 'Place', NULL, '/paying', 100), ('a', 'Paid', '/paying', '/shipping', 110), ('a', 'Sent', '/shipping', '/done', 140),
        ('b', 'Place', NULL, '/paying', 100), ('b', 'Failed', '/paying', '/paying', 102), ('b', 'Paid', '/paying', '/shipping', 120),
        ('b', 'Sent', '/shipping', '/done', 130),
        ('c', 'Place', NULL, '/paying', 100), ('c', 'Paid', '/paying', '/shipping', 105),
        ('e', 'Place', NULL, '/elsewhere', 100)
    ) v (id, event, source, target, at);
END
$$;
SELECT results_eq(
    $$SELECT kind, source, count, median, round(p95::numeric, 1), waiting, longest, ended
    FROM harel_flow('order', p_now => 205) WHERE kind <> 'transition'$$,
    $$VALUES
        ('definition', NULL, 4::bigint, NULL::float8, NULL::numeric, 2::bigint, NULL::float8, 2::bigint),
        ('state', '/paying', 4, 7.5, 16.8, 0, NULL, 0),
        ('state', '/shipping', 3, 20, 29.0, 1, 100, 0),
        ('state', '/done', 2, NULL, NULL, 0, NULL, 2)$$,
    'how often entered, how long, who is there now, and since when'
);
SELECT results_eq(
    $$SELECT source, target, event, count, median FROM harel_flow('order') WHERE kind = 'transition'$$,
    $$VALUES
        ('/paying', '/shipping', 'Paid', 3::bigint, 10::float8),
        (NULL, '/paying', 'Place', 3, NULL),
        ('/shipping', '/done', 'Sent', 2, 20),
        ('/paying', '/paying', 'Failed', 1, 2)$$,
    'which way by which event, how often, and after how long'
);
SELECT is_empty($$SELECT * FROM harel_flow('unknown')$$, 'of nobody');

SELECT * FROM finish();
