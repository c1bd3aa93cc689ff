SELECT plan(1);

CREATE ROLE harel_test_role;
DO $$
BEGIN
    PERFORM harel_grant('harel_test_role', 'reader');
    PERFORM harel_protect(false), harel_grant('harel_test_role', 'none');
    DROP EXTENSION harel;
END
$$;

SELECT is_empty($$SELECT FROM pg_extension WHERE extname = 'harel'$$, 'the extension can be dropped');

SELECT * FROM finish();
