SELECT plan(3);

-- Digests, since what compresses well would fit into an index in any case.
CREATE TEMP TABLE long AS
SELECT
    left(string_agg(md5('i' || n), '' ORDER BY n), 1000) AS id,
    left(string_agg(md5('d' || n), '' ORDER BY n), 1000) AS definition_id,
    left(string_agg(md5('e' || n), '' ORDER BY n), 1000) AS event_id,
    string_agg(chr(65536 + hashint4(n) % 60000 + 60000), '' ORDER BY n) FILTER (WHERE n <= 100) AS status,
    string_agg(md5('p' || n), '' ORDER BY n) AS parent_id
FROM generate_series(1, 1000) n;

SELECT is(octet_length((SELECT status FROM long)), 400, 'a status of 400 bytes');
SELECT is(
    (
        SELECT harel_commit_cas(
            id, definition_id, format('{"status": "%s", "parent_id": "%s"}', status, parent_id), 0, event_id
        ) FROM long
    ),
    true, 'commits beside an id, a definition and an event of 1000 bytes and a parent of 32000'
);
SELECT is(
    (SELECT l.id FROM harel_list((SELECT definition_id FROM long), ARRAY[(SELECT status FROM long)]) l),
    (SELECT id FROM long), 'and is listed'
);

SELECT * FROM finish();
