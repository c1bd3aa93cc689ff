SELECT plan(4);

-- Digests, since what compresses well would fit into an index in any case.
CREATE TEMP TABLE long AS
SELECT left(string_agg(md5(n::text), '' ORDER BY n), 1000) AS id FROM generate_series(1, 32) n;

SELECT lives_ok('SELECT harel_publish(id, $$a$$, 4, 1) FROM long', '1000 bytes');
SELECT lives_ok($$SELECT harel_publish(repeat('ü', 500), 'b', 4, 1)$$, 'of 500 characters');
SELECT lives_ok($$SELECT harel_publish('x', 'c', 4, 1)$$, 'and one byte');
SELECT is((SELECT count(*) FROM harel_claim('w', 10, 9, p_now => 2)), 3::bigint, 'all can be claimed');

SELECT * FROM finish();
