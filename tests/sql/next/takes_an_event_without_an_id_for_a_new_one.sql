SELECT plan(2);

CREATE TEMP TABLE sample (name text, event text);
INSERT INTO sample VALUES
('empty', ''), ('word', 'ev'), ('text', '"ev"'), ('number', '5'), ('null', 'null'), ('list', '["id"]'),
('list of objects', '[{"id": "ev"}]'), ('half', '{"id": "ev"'), ('object', '{}'), ('no id', '{"kind": "x"}'),
('null id', '{"id": null}'), ('deeper', '{"data": {"id": "ev"}}'), ('deep', repeat('[', 100000));
DO $$
BEGIN
    PERFORM harel_commit_cas(name, 'd', '{}', 0, 'ev') FROM sample;
    PERFORM harel_publish(name, event, p_now => 100) FROM sample;
END
$$;
CREATE TEMP TABLE answer AS SELECT * FROM harel_next('w', 30, 100, p_now => 100);

SELECT is((SELECT count(*) FROM answer), 13::bigint, 'all are handed out, also what is not JSON');
SELECT is_empty('SELECT group_id, event FROM answer WHERE already_processed', 'and none counts as processed');

SELECT * FROM finish();
