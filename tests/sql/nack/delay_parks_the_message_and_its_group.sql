SELECT plan(6);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 2, 1), harel_publish('g', 'b', 2, 1), harel_publish('h', 'c', 0, 2); END $$;

SELECT is(
    (SELECT harel_nack('g', c.token, 100, p_now => 4) FROM harel_claim('w', 10, p_now => 3) c), true, 'for 100 seconds'
);
SELECT is(ARRAY(SELECT event FROM harel_claim('w', 1000, 5, p_now => 5)), '{c}', 'other groups are not held up');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 5, p_now => 103.999)', 'this one waits');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 5, 1, p_now => 103.999)', 'whatever its priority');
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 104)), 'a', 'until the time has come');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, 5, p_now => 105)', 'what is behind it is still behind it');

SELECT * FROM finish();
