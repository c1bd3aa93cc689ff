SELECT plan(9);

SELECT throws_ok(
    $$SELECT harel_publish_many('{g,h}', '{a}')$$, 'ST004', 'the arrays for the messages must be parallel',
    'fewer events'
);
SELECT throws_ok($$SELECT harel_publish_many('{g}', '{a,b}')$$, 'ST004', NULL, 'fewer groups');
SELECT throws_ok($$SELECT harel_publish_many(NULL, '{a}')$$, 'ST004', NULL, 'no groups');
SELECT throws_ok($$SELECT harel_publish_many('{g}', NULL)$$, 'ST004', NULL, 'no events');
SELECT throws_ok($$SELECT harel_publish_many('{g,h}', '{a,b}', '{0}')$$, 'ST004', NULL, 'fewer priorities');
SELECT throws_ok($$SELECT harel_publish_many('{}', '{}', '{0}')$$, 'ST004', NULL, 'priorities of nothing');
SELECT throws_ok($$SELECT harel_publish_many('{{g,h}}', '{{a,b}}', '{{0,0}}')$$, 'ST004', NULL, 'two dimensions');
SELECT throws_ok($$SELECT harel_publish_many('[0:0]={g}', '[0:0]={a}', '[0:0]={0}')$$, 'ST004', NULL, 'counted from 0');
SELECT is_empty('SELECT * FROM transport_groups', 'nothing is published');

SELECT * FROM finish();
