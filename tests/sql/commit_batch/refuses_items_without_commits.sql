SELECT plan(7);

SELECT throws_ok($$SELECT harel_commit_batch('{}', '{d}', '{}', '{}')$$, 'ST004', NULL, 'a definition alone');
SELECT throws_ok($$SELECT harel_commit_batch('{}', '{}', '{1}', '{0}')$$, 'ST004', NULL, 'data and a version beside no definition');
SELECT throws_ok($$SELECT harel_commit_batch(NULL, NULL, NULL, '{0}')$$, 'ST004', NULL, 'a version alone');
SELECT throws_ok($$SELECT harel_commit_batch('{}', '{}', '{}', '{}', '{ev}')$$, 'ST004', NULL, 'an event to mark');
SELECT throws_ok($$SELECT harel_commit_batch('{}', '{}', '{}', '{}', p_traces => '{s}')$$, 'ST004', NULL, 'a trace entry');
SELECT throws_ok(
    $$SELECT harel_commit_batch('{}', '{}', '{}', '{}', p_emit_commits => '{1}', p_emit_targets => '{x}', p_emit_events => '{a}')$$,
    'ST004', NULL, 'an event to send'
);
SELECT throws_ok(
    $$SELECT harel_commit_batch(NULL, NULL, NULL, NULL, p_emit_targets => '{x}', p_emit_events => '{a}')$$,
    'ST004', NULL, 'an event to send, in an empty batch of NULL arrays'
);

SELECT * FROM finish();
