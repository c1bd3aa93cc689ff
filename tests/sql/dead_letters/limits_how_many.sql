SELECT plan(7);

INSERT INTO dead_letters (group_id, seq, event, reason, attempts, published_at)
SELECT 'g' || n % 2, n, n::text, 'r', 1, now() FROM generate_series(1, 5) n;

SELECT is(ARRAY(SELECT event FROM harel_dead_letters(NULL, 2)), '{1,2}', 'to the oldest');
SELECT is(ARRAY(SELECT event FROM harel_dead_letters('g1', 2)), '{1,3}', 'of a group too');
SELECT is((SELECT count(*) FROM harel_dead_letters(NULL, 9)), 5::bigint, 'to all there are');
SELECT is((SELECT count(*) FROM harel_dead_letters(NULL, NULL)), 5::bigint, 'NULL to all');
SELECT is_empty('SELECT * FROM harel_dead_letters(NULL, 0)', '0 to none');
SELECT throws_ok('SELECT * FROM harel_dead_letters(NULL, -1)', 'ST008', 'limit must not be negative', '-1 is refused');
SELECT throws_ok($$SELECT * FROM harel_dead_letters('g1', -1)$$, 'ST008', NULL, 'for a group too');

SELECT * FROM finish();
