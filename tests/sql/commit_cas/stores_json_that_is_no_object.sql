SELECT plan(2);

CREATE TEMP TABLE sample (data text);
INSERT INTO sample VALUES ('[1]'), ('"x"'), ('1'), ('null'), ('true'), ('["status"]'), ('[{"status": "RUNNING"}]'),
('"\u0000"'), ('["\u0000"]'), ('1e999999'), ('"status"'), ('[]');
DO $$ BEGIN PERFORM harel_commit_cas('e ' || data, 'd', data, 0) FROM sample; END $$;

SELECT is_empty(
    $$SELECT s.data, e.data, e.status FROM sample s LEFT JOIN executions e ON e.id = 'e ' || s.data
    WHERE e.data IS DISTINCT FROM s.data OR e.status <> '' OR num_nonnulls(e.outcome, e.active_path, e.parent_id) > 0$$,
    'it is stored byte for byte, with no status and no other field'
);
SELECT is((SELECT count(*) FROM harel_list()), 12::bigint, 'and listed');

SELECT * FROM finish();
