SELECT plan(2);

SELECT is(harel_send('unknown', 'ev', 100), NULL, 'there is no such execution');
SELECT is_empty('SELECT * FROM transport_groups', 'and nothing is published');

SELECT * FROM finish();
