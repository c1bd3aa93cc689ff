SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"priority": 2}', 0);
    PERFORM harel_publish('e', 'ev1', 4, 100);
    PERFORM harel_send('e', 'ev2', 101);
    PERFORM harel_publish('e', 'ev3', 4, 102);
END
$$;

SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY seq), '{ev1,ev2,ev3}', 'it stands among those published');
SELECT is((SELECT priority::integer FROM transport_groups), 4, 'and the group keeps its priority');

SELECT * FROM finish();
