SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 100, p_now => 2);

SELECT is(
    (SELECT deadline FROM harel_extend('{g}', (SELECT ARRAY[token] FROM lease), 10, 3)), 102::float8, 'it is later'
);
SELECT is(
    (SELECT deadline FROM harel_extend('{g}', (SELECT ARRAY[token] FROM lease), 0, 4)), 102::float8, 'also than 0'
);
SELECT is((SELECT available_at FROM transport_groups), 102::float8, 'and stays');

SELECT * FROM finish();
