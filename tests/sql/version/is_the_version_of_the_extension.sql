SELECT plan(2);

SELECT is(harel_version(), (SELECT extversion FROM pg_extension WHERE extname = 'harel'), 'as the catalog has it');
SELECT is(harel_version(), '1.1', 'which is 1.0');

SELECT * FROM finish();
