SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd1', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas('e', 'd2', '{"status": "DONE", "parent_id": "p"}', 1);
END
$$;

SELECT is_empty($$SELECT * FROM harel_list(p_statuses => '{RUNNING}')$$, 'no longer under the status before');
SELECT is_empty($$SELECT * FROM harel_list('d1')$$, 'nor the definition before');
SELECT is_empty($$SELECT * FROM harel_list(p_roots_only => true)$$, 'nor among the roots');
SELECT is((SELECT version FROM harel_list('d2', '{DONE}')), 2, 'but under the new ones');

SELECT * FROM finish();
