SELECT plan(3);

DO $$ BEGIN PERFORM harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(1, 3) n; END $$;
CREATE TEMP TABLE ours AS SELECT next_cursor FROM harel_list(p_limit => 2) WHERE next_cursor IS NOT NULL;
CREATE TEMP TABLE bad (what text, cursor text);
INSERT INTO bad
SELECT format('cut to %s characters', n), left(next_cursor, n) FROM ours, generate_series(0, length(next_cursor) - 1) n
UNION ALL
SELECT format('cut by %s characters in front', n), right(next_cursor, -n) FROM ours, generate_series(1, length(next_cursor) - 1) n
UNION ALL
SELECT format('another character at %s', n), overlay(next_cursor PLACING CASE WHEN substr(next_cursor, n, 1) = 'A' THEN 'B' ELSE 'A' END FROM n)
FROM ours, generate_series(1, length(next_cursor)) n
UNION ALL
SELECT v.what, v.cursor
FROM ours, LATERAL (VALUES
    ('a blank behind', next_cursor || ' '), ('a line feed behind', next_cursor || E'\n'), ('twice', next_cursor || next_cursor),
    ('in small letters', lower(next_cursor)), ('a blank', ' '), ('an id', 'e1'), ('a number', '42'), ('no base64', '!"§$%&'),
    ('base64 of an id', encode('e1', 'base64')), ('base64 of bytes that are no text', encode('\xff00fffe', 'base64')),
    ('a mark with nothing behind', encode('h1|', 'base64')),
    ('a mark with a wrong checksum', encode('h1|0000e1', 'base64')),
    ('bytes that are no text behind a right checksum', encode('h1|'::bytea || substr(sha256('\xff'), 1, 4) || '\xff'::bytea, 'base64')),
    ('a NUL byte behind a right checksum', encode('h1|'::bytea || substr(sha256('\x00'), 1, 4) || '\x00'::bytea, 'base64')),
    ('a long text', repeat('A', 100000))
) AS v (what, cursor);
CREATE FUNCTION pg_temp.code(p_cursor text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM harel_list(p_cursor => p_cursor);
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    RETURN sqlstate;
END
$$;

SELECT is(ARRAY(SELECT pg_temp.code(next_cursor) FROM ours), '{accepted}', 'its own is accepted');
SELECT is_empty(
    $$SELECT what, left(cursor, 40), pg_temp.code(cursor) FROM bad WHERE pg_temp.code(cursor) <> 'ST007'$$,
    'each of the others raises ST007'
);
SELECT is((SELECT count(*) FROM bad), 50::bigint, 'fifty were tried');

SELECT * FROM finish();
