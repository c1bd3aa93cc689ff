SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 4, 5); END $$;

SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 1, 1, p_now => 4)', 'not before its time');
SELECT is((SELECT event FROM harel_claim('w', 10, 1, 4, p_now => 5)), 'a', 'at its time');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 1, 4, p_now => 6)', 'and not while it is leased');

SELECT * FROM finish();
