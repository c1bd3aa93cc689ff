SELECT plan(2);

CREATE TEMP TABLE sample AS
SELECT unnest(ARRAY['=', '|', E'a\nb', ' ', '日本', repeat('x', 1000), '%s\', 'h1|']) AS id;
DO $$ BEGIN PERFORM harel_commit_cas(id, 'd', '{}', 0) FROM sample; END $$;
CREATE TEMP TABLE walk AS
WITH RECURSIVE pages (id, next_cursor) AS (
    SELECT l.id, l.next_cursor FROM harel_list(p_limit => 1) l
    UNION ALL
    SELECT l.id, l.next_cursor FROM pages p, harel_list(p_limit => 1, p_cursor => p.next_cursor) l
    WHERE p.next_cursor IS NOT NULL
)
SELECT * FROM pages LIMIT 100;

SELECT is(ARRAY(SELECT id FROM walk), ARRAY(SELECT id FROM sample ORDER BY id COLLATE "C"), 'page by page');
SELECT is_empty($$SELECT * FROM walk WHERE next_cursor !~ '^[A-Za-z0-9+/]+=*$'$$, 'and is one line of base64');

SELECT * FROM finish();
