SELECT plan(4);

INSERT INTO shards VALUES ('north', true, now()), ('south', false, now());
SELECT is(harel_commit_cas('e', 'd', '{}', 0), true, 'the rows came alone, and an execution of another shard is taken');
SELECT isnt(
    (SELECT detail FROM harel_health() WHERE problem ~ 'sequence'), NULL, 'which harel_health() knows the reason of'
);
SELECT is(harel_reset_sequences(), 1, 'the register follows');
SELECT throws_ok($$SELECT harel_commit_cas('g', 'd', '{}', 0)$$, 'ST018', NULL, 'and none is taken any more');

SELECT * FROM finish();
