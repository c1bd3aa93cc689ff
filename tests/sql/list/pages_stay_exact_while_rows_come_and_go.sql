SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas(i, 'd', '{"status": "S"}', 0) FROM unnest('{b,d,f,h,j,l}'::text[]) i;
END
$$;
CREATE TEMP TABLE page AS SELECT 1 AS page, l.* FROM harel_list('d', '{S}', true, 2) l;
DO $$
BEGIN
    -- The row that the cursor names goes, and so does one ahead; rows come before and after it.
    DELETE FROM executions WHERE id IN ('d', 'h');
    PERFORM harel_commit_cas(i, 'd', '{"status": "S"}', 0) FROM unnest('{a,c,dd,g}'::text[]) i;
END
$$;
INSERT INTO page SELECT 2, l.* FROM harel_list('d', '{S}', true, 2, (SELECT max(next_cursor) FROM page)) l;
DO $$
BEGIN
    DELETE FROM executions WHERE id = 'dd';
    PERFORM harel_commit_cas(i, 'd', '{"status": "S"}', 0) FROM unnest('{e,z}'::text[]) i;
    -- A commit in between moves no row.
    PERFORM harel_commit_cas('j', 'd', '{"status": "S", "n": 2}', 1);
END
$$;
INSERT INTO page SELECT 3, l.* FROM harel_list('d', '{S}', true, 2, (SELECT next_cursor FROM page WHERE page = 2 AND next_cursor IS NOT NULL)) l;
INSERT INTO page SELECT 4, l.* FROM harel_list('d', '{S}', true, 2, (SELECT next_cursor FROM page WHERE page = 3 AND next_cursor IS NOT NULL)) l;

SELECT is(ARRAY(SELECT id FROM page WHERE page = 1 ORDER BY id), '{b,d}', 'page 1');
SELECT is(ARRAY(SELECT id FROM page WHERE page = 2 ORDER BY id), '{dd,f}', 'page 2 goes on behind a row that is gone');
SELECT is(ARRAY(SELECT id FROM page WHERE page = 3 ORDER BY id), '{g,j}', 'page 3 has what came ahead of it, not what came behind');
SELECT is(ARRAY(SELECT id FROM page WHERE page = 4 ORDER BY id), '{l,z}', 'page 4 has the rest');
SELECT is((SELECT count(next_cursor) FROM page WHERE page = 4), 0::bigint, 'and is the last');
SELECT is((SELECT count(DISTINCT id) = count(*) FROM page), true, 'no row comes twice');

SELECT * FROM finish();
