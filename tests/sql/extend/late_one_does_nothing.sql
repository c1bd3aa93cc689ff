SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT is_empty(
    $$SELECT * FROM harel_extend('{g}', (SELECT ARRAY[token] FROM lease), 30, 12)$$, 'at the deadline the lease is over'
);
SELECT is((SELECT available_at FROM transport_groups), 12::double precision, 'and is not brought back');
SELECT is((SELECT attempts FROM harel_claim('v', 10, p_now => 12)), 2, 'another can have the message');

SELECT * FROM finish();
