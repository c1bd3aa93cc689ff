SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_suspend('e');
    PERFORM harel_publish('e', 'ev1', p_now => 100);
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 1e15)$$, 'a message for it is not handed out');
SELECT is(harel_send('e', 'ev2', 100) IS NOT NULL, true, 'another one is sent');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 1e15)$$, 'nor is that');
SELECT is(harel_resume('e'), true, 'until it is resumed');
SELECT is((SELECT event FROM harel_next('w', 30, p_now => 1e15)), 'ev1', 'then they come');
SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY seq), '{ev1,ev2}', 'in their order');

SELECT * FROM finish();
