SELECT plan(4);

SELECT throws_ok(
    $$SELECT harel_publish('g', 'a', 0, 'NaN')$$, 'ST006', 'a time must be a finite number of seconds since the epoch',
    'NaN'
);
SELECT throws_ok($$SELECT harel_publish('g', 'a', 0, 'Infinity')$$, 'ST006', NULL, 'infinity');
SELECT throws_ok($$SELECT harel_publish('g', 'a', 0, '-Infinity')$$, 'ST006', NULL, 'minus infinity');
SELECT is_empty('SELECT * FROM transport_groups', 'nothing is published');

SELECT * FROM finish();
