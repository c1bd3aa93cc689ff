\echo Use "ALTER EXTENSION harel UPDATE TO '1.1'" to load this file. \quit

-- From 1.0 to 1.1. Each function is replaced by that of 1.1, which keeps its grants; nothing here rewrites a table.
-- Every statement can be run again.

