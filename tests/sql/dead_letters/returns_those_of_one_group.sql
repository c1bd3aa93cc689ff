SELECT plan(4);

INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)
SELECT g.id, n, g.id || n, 'r', 1, now() FROM (VALUES ('g'), ('G'), ('gg')) AS g (id), generate_series(1, 2) n;

SELECT is(ARRAY(SELECT event FROM harel_dead_letters('g')), '{g1,g2}', 'and not of one that is written like it');
SELECT is((SELECT count(*) FROM harel_dead_letters(NULL)), 6::bigint, 'NULL is all of them');
SELECT is_empty('SELECT * FROM harel_dead_letters($$x$$)', 'a group may have none');
SELECT is_empty('SELECT * FROM harel_dead_letters($$$$)', 'an empty text is no group');

SELECT * FROM finish();
