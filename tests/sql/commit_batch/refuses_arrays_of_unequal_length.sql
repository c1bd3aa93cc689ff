SELECT plan(8);

SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d}', '{1,1}', '{0,0}')$$, 'ST004', NULL, 'too few definitions');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d,d}', '{1,1}', '{0,0}')$$, 'ST004', NULL, 'too many definitions');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1}', '{0,0}')$$, 'ST004', NULL, 'too little data');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{0,0,0}')$$, 'ST004', NULL, 'too many versions');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', NULL)$$, 'ST004', NULL, 'no versions');
SELECT throws_ok($$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{0,0}', '{ev}')$$, 'ST004', NULL, 'too few events');
SELECT throws_ok(
    $$SELECT harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{0,0}', p_traces => '{s,s,s}')$$, 'ST004', NULL, 'too many traces'
);
SELECT is_empty('SELECT * FROM executions', 'nothing is written');

SELECT * FROM finish();
