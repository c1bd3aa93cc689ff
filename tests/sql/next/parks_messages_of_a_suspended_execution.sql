SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "SUSPENDED"}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 100)$$, 'they are not handed out');
SELECT is(
    (SELECT concat_ws(' ', available_at, attempts, token, worker) FROM transport_groups), 'Infinity 0',
    'they can be claimed at no time, and this was no delivery'
);
SELECT is_empty('SELECT * FROM harel_dead_letters()', 'they are not dropped');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 1e15)$$, 'and not looked at again');
SELECT is(harel_resume('e'), true, 'once it is resumed');
SELECT is(
    (SELECT concat_ws(' ', event, attempts, status) FROM harel_next('w', 30, p_now => 1e15)), 'ev 1 RUNNING', 'they are'
);

SELECT * FROM finish();
