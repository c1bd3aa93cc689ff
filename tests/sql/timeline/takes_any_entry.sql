SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_append_trace('a', e)
    FROM unnest(ARRAY[
        'no JSON', '"text"', '[1]', 'null', '{"to": "\u0000"}', '{"to": "\ud800", "from": "/a"}', '{"to": {"x": 1}}',
        '{"at": 1e400}', '{"at": "1"}', '{"at": 1e15}', '{"event": null, "from": 3}', '', repeat('[', 100000)
    ]) e;
END
$$;
SELECT results_eq(
    $$SELECT idx, source, target, entry FROM harel_timeline('a') WHERE idx IN (0, 5, 6, 10)$$,
    $$VALUES
        (0, NULL, NULL, 'no JSON'),
        (5, '/a', chr(65533), '{"to": "\ud800", "from": "/a"}'),
        (6, chr(65533), '{"x": 1}', '{"to": {"x": 1}}'),
        (10, '3', NULL, '{"event": null, "from": 3}')$$,
    'what can be read of it is, and the entry as it was written'
);
SELECT is(
    (SELECT count(*) FROM harel_timeline('a') WHERE at = now()), 13::bigint,
    'a time that is none is that of the commit'
);
SELECT harel_append_trace('b', '{"event": {"kind": "Pay", "note": "\u0000"}, "from": "/a", "to": "/b", "at": 12.5}');
SELECT results_eq(
    $$SELECT event, source, target, at FROM harel_timeline('b')$$,
    $$VALUES ('Pay', '/a', '/b', to_timestamp(12.5))$$,
    'what jsonb cannot hold hides nothing of the rest'
);
UPDATE trace SET recorded_at = NULL WHERE idx = 1;
SELECT is((SELECT at FROM harel_timeline('a') WHERE idx = 1), NULL, 'unknown in what an older version wrote');

SELECT * FROM finish();
