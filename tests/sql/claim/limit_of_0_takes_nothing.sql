SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 4, 1); END $$;

SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 0, p_now => 2)', 'in the order of time');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 0, 1, p_now => 2)', 'nor by priority');
SELECT is((SELECT attempts FROM transport_groups), 0, 'nothing is leased');

SELECT * FROM finish();
