SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_append_trace('a', '{"event": "Place", "to": "/paying", "at": 100}');
    PERFORM harel_append_trace('a', '{"event": {"kind": "Paid", "id": "x"}, "to": "/shipping", "at": 107.5}');
    PERFORM harel_append_trace('a', '{"event": "Look", "from": "/elsewhere", "at": 110}');
    PERFORM harel_append_trace('b', '{"event": "Other", "to": "/x", "at": 1}');
END
$$;
SELECT results_eq(
    $$SELECT idx, extract(epoch FROM at)::float8, dwell, event, source, target FROM harel_timeline('a')$$,
    $$VALUES
        (0, 100::float8, NULL::float8, 'Place', NULL, '/paying'),
        (1, 107.5, 7.5, 'Paid', '/paying', '/shipping'),
        (2, 110, 2.5, 'Look', '/elsewhere', NULL)$$,
    'event, time, dwell, and the states; a source that is not told is the target before'
);
SELECT results_eq(
    $$SELECT idx, dwell, source FROM harel_timeline('a', p_limit => 2)$$,
    $$VALUES (1, 7.5::float8, '/paying'), (2, 2.5, '/elsewhere')$$,
    'the last two, whose first one knows what was before it'
);
SELECT results_eq(
    $$SELECT idx, dwell, source FROM harel_timeline('a', p_after => 0)$$,
    $$VALUES (1, 7.5::float8, '/paying'), (2, 2.5, '/elsewhere')$$,
    'those after an entry, which know what was before them'
);
SELECT is_empty($$SELECT * FROM harel_timeline('a', p_after => 2)$$, 'none after the last');
SELECT is_empty($$SELECT * FROM harel_timeline('unknown') UNION ALL SELECT * FROM harel_timeline(NULL)$$, 'none of nobody');

SELECT * FROM finish();
