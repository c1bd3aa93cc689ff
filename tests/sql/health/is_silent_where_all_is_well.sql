SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit('a', 'd', '{"status": "RUNNING"}', 0, 'ev', '{x}', '{1}', '{c}', '{r}', '{"{}"}');
    PERFORM harel_publish('a', '1', p_now => 999);
END
$$;
-- What holds for the server that the tests run on is not this test's.
CREATE TEMP VIEW own AS
SELECT * FROM harel_health(harel_version(), 1000.5, 1000)
WHERE problem NOT IN (SELECT problem FROM harel__health_of_server(1000));

SELECT is_empty('SELECT * FROM own', 'nothing of this store');
SELECT is(ARRAY(SELECT problem FROM harel_health('1.0', 1000, 1000) WHERE problem ~ 'different versions'),
    '{"client and store are of different versions"}', 'but an old client');

SELECT * FROM finish();
