SELECT plan(5);

DO $$ BEGIN PERFORM harel_publish('g' || n % 7, n::text, 0, n) FROM generate_series(1, 21) n; END $$;

SELECT is(
    (SELECT count(DISTINCT group_id) FROM harel_claim('w', 10, 3, p_now => 30)), 3::bigint, 'three of three groups'
);
SELECT is((SELECT count(*) FROM harel_claim('w', 10, p_now => 30)), 1::bigint, 'one where no limit is given');
SELECT is((SELECT count(*) FROM harel_claim('w', 10, 99, p_now => 30)), 3::bigint, 'no more than there are groups');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 99, p_now => 30)', 'then none');
SELECT is((SELECT count(*) FROM transport_messages), 21::bigint, 'all messages are still there');

SELECT * FROM finish();
