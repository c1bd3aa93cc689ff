SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_publish('unknown', 'ev', p_now => 100);
    PERFORM harel_commit_cas('suspended', 'd', '{"status": "SUSPENDED"}', 0);
    PERFORM harel_publish('suspended', 'ev', p_now => 100);
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_sleep => 60, p_now => 200)$$, 'nothing can be handed out');
SELECT ok((SELECT last_value > 0 FROM transport_asleep_until), 'so the worker goes to sleep');

SELECT * FROM finish();
