-- Version 2: threads that are due are found by the version of their graph. Summaries are made anew, as those of version 1 do not have it.

ALTER TABLE {schema}.threads ADD COLUMN graph_version bigint;
UPDATE {schema}.threads SET summary = NULL, due_at = NULL, is_ready = false;
