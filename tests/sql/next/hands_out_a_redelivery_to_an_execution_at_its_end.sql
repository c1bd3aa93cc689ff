SELECT plan(5);

-- The step that brought it to its end was committed and its ack was lost: that is no dead letter.
DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "CANCELLED"}', 0, 'last');
    PERFORM harel_publish('e', '{"id": "last"}', p_now => 100);
    PERFORM harel_publish('e', '{"id": "late"}', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT is(
    (SELECT concat_ws(' ', event, status, already_processed) FROM lease), '{"id": "last"} CANCELLED t',
    'it is handed out'
);
SELECT is_empty('SELECT * FROM harel_dead_letters()', 'and nothing is dropped');
SELECT is((SELECT harel_ack('e', token, 101) FROM lease), true, 'it can be acked');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 102)$$, 'what follows is not handed out');
SELECT is(ARRAY(SELECT event FROM harel_dead_letters()), '{"{\"id\": \"late\"}"}', 'but dropped');

SELECT * FROM finish();
