SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('unknown', 'ev', p_now => 100); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 30, p_now => 100);

SELECT is(
    (
        SELECT f.result FROM lease l, harel_finish('{unknown}', ARRAY[l.token], '{d}', '{NULL}', '{0}', p_now => 101) f
    ),
    'finished', 'the ack is one'
);
SELECT is_empty('SELECT * FROM executions', 'no execution is made');
SELECT is_empty('SELECT * FROM transport_messages', 'and the message is gone');

SELECT * FROM finish();
