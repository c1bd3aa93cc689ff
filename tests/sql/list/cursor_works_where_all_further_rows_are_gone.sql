SELECT plan(2);

DO $$ BEGIN PERFORM harel_commit_cas(i, 'd', '{}', 0) FROM unnest('{a,b,c}'::text[]) i; END $$;
CREATE TEMP TABLE page AS SELECT * FROM harel_list(p_limit => 2);
DELETE FROM executions WHERE id > 'b';

SELECT isnt((SELECT max(next_cursor) FROM page), NULL, 'there was a next page');
SELECT is_empty('SELECT * FROM harel_list(p_cursor => (SELECT max(next_cursor) FROM page))', 'it is empty now');

SELECT * FROM finish();
