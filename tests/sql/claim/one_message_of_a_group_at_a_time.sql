SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', n::text, n % 5, 1) FROM generate_series(1, 5) n; END $$;

SELECT is(ARRAY(SELECT event FROM harel_claim('w', 10, 5, p_now => 2)), '{1}', 'one claim gives one of them');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 5, p_now => 3)', 'to the same worker no other');
SELECT is_empty('SELECT * FROM harel_claim($$v$$, 10, 5, p_now => 3)', 'nor to another one');
SELECT is_empty('SELECT * FROM harel_claim($$v$$, 10, 5, 1, p_now => 3)', 'nor by priority');

SELECT * FROM finish();
