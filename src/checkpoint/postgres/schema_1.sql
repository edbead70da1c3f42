-- Version 1 of the schema of a store. A name is in `name` as text for people, with U+0000 as \0; its exact bytes are `name_start`
-- (at most 2,000 of them) and `name_rest`. Keys of records are cut in the same way, as an index row holds at most 2,704 bytes; the
-- hash is SHA-256 of all bytes, and empty if nothing was cut.

CREATE SEQUENCE {schema}.epochs;

CREATE TABLE {schema}.threads (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    graph text,
    status text NOT NULL DEFAULT 'new',
    head bigint,
    epoch bigint NOT NULL DEFAULT 0,
    owner text,
    owner_host text,
    owner_pid bigint,
    lease_until timestamptz,
    -- The engine that calls one worker at a time for the thread, and for which it was claimed; its next call takes the lease over.
    engine text,
    wake_at timestamptz,
    due_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    metadata jsonb,
    metadata_bytes bytea,
    summary bytea,
    -- The rest of the head; a thread without them has no records and is not listed.
    next bigint,
    birth bigint,
    -- Number of the newest commit under this epoch.
    commit_number bigint NOT NULL DEFAULT 0,
    -- How often records were posted, and how often before the newest claim.
    posts bigint NOT NULL DEFAULT 0,
    posts_before bigint NOT NULL DEFAULT 0,
    -- Due now, whatever `due_at` is: that may be of another clock.
    is_ready boolean NOT NULL DEFAULT false,
    -- Not due until somebody writes the thread.
    is_left boolean NOT NULL DEFAULT false,
    -- It was left because somebody cancelled its run: a runner that has just started leaves it too.
    is_cancelled boolean NOT NULL DEFAULT false,
    -- The epoch of the claim before.
    epoch_before bigint NOT NULL DEFAULT 0,
    -- The newest epochs, up to eight, under which the thread was released.
    released_epochs bigint[] NOT NULL DEFAULT '{}',
    -- The handle on the store that claimed the thread.
    handle bigint NOT NULL DEFAULT 0,
    name_length integer NOT NULL,
    name_start bytea NOT NULL,
    name_hash bytea NOT NULL DEFAULT '',
    name_rest bytea NOT NULL DEFAULT '',
    UNIQUE (name_length, name_start, name_hash)
) WITH (fillfactor = 60);

-- For lists; no column of them changes with every commit. Names and graphs may be long.
CREATE INDEX threads_without_summary ON {schema}.threads (id) WHERE summary IS NULL AND birth IS NOT NULL;
CREATE INDEX threads_with_owner ON {schema}.threads (id) WHERE owner IS NOT NULL;
CREATE INDEX threads_due ON {schema}.threads (due_at, id) WHERE NOT is_ready AND due_at IS NOT NULL;
CREATE INDEX threads_ready ON {schema}.threads (due_at, id) WHERE is_ready;
CREATE INDEX threads_by_status ON {schema}.threads (status, name_length, name_start);
CREATE INDEX threads_by_graph ON {schema}.threads (md5(graph), name_length, name_start);
CREATE INDEX threads_by_start ON {schema}.threads (name_start);
CREATE INDEX threads_by_update ON {schema}.threads (updated_at);
CREATE INDEX threads_by_metadata ON {schema}.threads USING gin (metadata jsonb_path_ops);

CREATE TABLE {schema}.records (
    thread bigint NOT NULL,
    key bytea NOT NULL,
    bytes bytea NOT NULL,
    key_hash bytea NOT NULL DEFAULT '',
    key_rest bytea NOT NULL DEFAULT '',
    PRIMARY KEY (thread, key, key_hash)
);

-- The posts of the last hour, so that one whose answer was lost is not stored a second time. The signals themselves are records.
CREATE TABLE {schema}.signals (
    id bytea PRIMARY KEY,
    thread bigint NOT NULL,
    posted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Requests to whoever holds a thread, for as long as the lease is alive.
CREATE TABLE {schema}.requests (
    thread bigint NOT NULL,
    epoch bigint NOT NULL,
    request text NOT NULL,
    sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (thread, epoch, request)
);

-- Values beside threads.
CREATE TABLE {schema}.items (
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    bytes bytea NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, key)
);

CREATE TABLE {schema}.workers (
    name text COLLATE "C" PRIMARY KEY,
    handle bigint NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    threads integer NOT NULL DEFAULT 0,
    lease interval NOT NULL,
    version text,
    graphs text[]
);

-- Writes records of a thread whose row the caller has locked.
CREATE FUNCTION {schema}.put_records(
    p_thread bigint, p_keys bytea[], p_values bytea[], p_hashes bytea[], p_rests bytea[]
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO {schema}.records (thread, key, bytes, key_hash, key_rest)
    SELECT p_thread, k, v, coalesce(h, ''), coalesce(r, '') FROM unnest(p_keys, p_values, p_hashes, p_rests) AS u(k, v, h, r)
    ON CONFLICT (thread, key, key_hash) DO UPDATE SET bytes = excluded.bytes
$$;

-- A commit: nothing is written unless the epoch, the number of the commit before and the head fit. The last one of a lease releases
-- the thread.
CREATE FUNCTION {schema}.commit_records(
    p_thread bigint, p_epoch bigint, p_number bigint, p_expected bigint, p_head bigint, p_next bigint, p_birth bigint,
    p_deletes bytea[], p_delete_hashes bytea[], p_keys bytea[], p_values bytea[], p_hashes bytea[], p_rests bytea[],
    p_is_last boolean
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {schema}.threads
    SET head = p_head, next = p_next, birth = p_birth, commit_number = p_number, status = 'running',
        summary = NULL, due_at = NULL, is_ready = false, is_left = false
    WHERE id = p_thread AND epoch = p_epoch AND commit_number = p_number - 1 AND head IS NOT DISTINCT FROM p_expected;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF cardinality(p_deletes) > 0 THEN
        DELETE FROM {schema}.records WHERE thread = p_thread AND key = ANY (p_deletes) AND (key_hash = '' OR key_hash = ANY (p_delete_hashes));
    END IF;
    INSERT INTO {schema}.records (thread, key, bytes, key_hash, key_rest)
    SELECT p_thread, k, v, coalesce(h, ''), coalesce(r, '') FROM unnest(p_keys, p_values, p_hashes, p_rests) AS u(k, v, h, r)
    ON CONFLICT (thread, key, key_hash) DO UPDATE SET bytes = excluded.bytes;
    IF p_is_last THEN
        PERFORM {schema}.release_thread(p_thread, p_epoch, false, false);
    END IF;
    RETURN true;
END $$;

-- Returns the first of some items that is not as expected, counted from 1; 0 if all are. `p_expected` is 0 for any value, 1 for none
-- and 2 for the one in `p_found`. Items that somebody expects something of are locked.
CREATE FUNCTION {schema}.check_items(p_namespaces text[], p_keys text[], p_expected integer[], p_found bytea[])
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    t_bytes bytea;
BEGIN
    FOR i IN 1 .. cardinality(p_keys) LOOP
        CONTINUE WHEN p_expected[i] = 0;
        SELECT bytes INTO t_bytes FROM {schema}.items WHERE namespace = p_namespaces[i] AND key = p_keys[i] FOR UPDATE;
        IF FOUND <> (p_expected[i] = 2) OR (FOUND AND t_bytes <> p_found[i]) THEN
            RETURN i;
        END IF;
    END LOOP;
    RETURN 0;
END $$;

-- Writes items that were checked; no value deletes one.
CREATE FUNCTION {schema}.put_items(p_namespaces text[], p_keys text[], p_expected integer[], p_values bytea[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_keys) LOOP
        IF p_values[i] IS NULL THEN
            DELETE FROM {schema}.items WHERE namespace = p_namespaces[i] AND key = p_keys[i];
        ELSIF p_expected[i] = 1 THEN
            INSERT INTO {schema}.items (namespace, key, bytes) VALUES (p_namespaces[i], p_keys[i], p_values[i]) ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'an item was written in the meantime' USING ERRCODE = 'serialization_failure';
            END IF;
        ELSE
            INSERT INTO {schema}.items (namespace, key, bytes) VALUES (p_namespaces[i], p_keys[i], p_values[i])
            ON CONFLICT (namespace, key) DO UPDATE SET bytes = excluded.bytes, updated_at = excluded.updated_at;
        END IF;
    END LOOP;
END $$;

-- Writes items without a commit, once for each id. Returns the first that is not as expected, counted from 1; 0 if all were written.
CREATE FUNCTION {schema}.write_items(p_id bytea, p_namespaces text[], p_keys text[], p_expected integer[], p_found bytea[], p_values bytea[])
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    t_wrong integer;
BEGIN
    IF EXISTS (SELECT FROM {schema}.signals WHERE id = p_id) THEN
        RETURN 0;
    END IF;
    t_wrong := {schema}.check_items(p_namespaces, p_keys, p_expected, p_found);
    IF t_wrong = 0 THEN
        INSERT INTO {schema}.signals (id, thread) VALUES (p_id, 0);
        PERFORM {schema}.put_items(p_namespaces, p_keys, p_expected, p_values);
    END IF;
    RETURN t_wrong;
END $$;

-- A commit that also writes items: -1 if the commit was refused, or the first item that is not as expected; 0 if all is written.
CREATE FUNCTION {schema}.commit_with_items(
    p_thread bigint, p_epoch bigint, p_number bigint, p_expected bigint, p_head bigint, p_next bigint, p_birth bigint,
    p_deletes bytea[], p_delete_hashes bytea[], p_keys bytea[], p_values bytea[], p_hashes bytea[], p_rests bytea[],
    p_is_last boolean,
    i_namespaces text[], i_keys text[], i_expected integer[], i_found bytea[], i_values bytea[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    t_wrong integer;
BEGIN
    -- The row of the thread is locked first, as by every commit.
    PERFORM FROM {schema}.threads
    WHERE id = p_thread AND epoch = p_epoch AND commit_number = p_number - 1 AND head IS NOT DISTINCT FROM p_expected FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN -1;
    END IF;
    t_wrong := {schema}.check_items(i_namespaces, i_keys, i_expected, i_found);
    IF t_wrong > 0 THEN
        RETURN t_wrong;
    END IF;
    PERFORM {schema}.put_items(i_namespaces, i_keys, i_expected, i_values);
    PERFORM {schema}.commit_records(p_thread, p_epoch, p_number, p_expected, p_head, p_next, p_birth,
        p_deletes, p_delete_hashes, p_keys, p_values, p_hashes, p_rests, p_is_last);
    RETURN 0;
END $$;

-- Makes a handle the only writer of a thread, which may not exist yet. `r_is_claimed` is false if another lease is alive, and the
-- rest is then about that lease.
CREATE FUNCTION {schema}.claim_thread(
    p_length integer, p_start bytea, p_hash bytea, p_rest bytea, p_name text,
    p_handle bigint, p_owner text, p_host text, p_pid bigint, p_lease_ms bigint, p_takes_over boolean, p_engine text,
    OUT r_is_claimed boolean, OUT r_id bigint, OUT r_epoch bigint, OUT r_epoch_before bigint,
    OUT r_owner text, OUT r_host text, OUT r_pid bigint, OUT r_until_ms bigint, OUT r_is_cancelled boolean,
    OUT r_head bigint, OUT r_next bigint, OUT r_birth bigint
) LANGUAGE plpgsql AS $$
DECLARE
    t record;
BEGIN
    LOOP
        SELECT id, handle, lease_until, epoch, owner, owner_host, owner_pid, engine,
            is_left AND is_cancelled AS is_cancelled, head, next, birth INTO t FROM {schema}.threads
        WHERE name_length = p_length AND name_start = p_start AND name_hash = p_hash FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO {schema}.threads (name, name_length, name_start, name_hash, name_rest)
        VALUES (p_name, p_length, p_start, p_hash, p_rest) ON CONFLICT DO NOTHING;
    END LOOP;
    r_is_claimed := t.lease_until IS NULL OR t.lease_until <= clock_timestamp() OR t.handle = p_handle OR p_takes_over
        OR coalesce(t.engine = p_engine, false);
    r_id := t.id;
    r_epoch_before := t.epoch;
    r_is_cancelled := t.is_cancelled;
    r_head := t.head;
    r_next := t.next;
    r_birth := t.birth;
    IF NOT r_is_claimed THEN
        r_epoch := t.epoch;
        r_owner := t.owner;
        r_host := t.owner_host;
        r_pid := t.owner_pid;
        r_until_ms := extract(epoch FROM t.lease_until) * 1000;
        RETURN;
    END IF;
    UPDATE {schema}.threads
    SET epoch = nextval('{schema}.epochs'), epoch_before = t.epoch, commit_number = 0, posts_before = posts, handle = p_handle, owner = p_owner,
        owner_host = p_host, owner_pid = p_pid, engine = p_engine, lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    WHERE id = t.id
    RETURNING epoch, extract(epoch FROM lease_until) * 1000 INTO r_epoch, r_until_ms;
END $$;

-- Frees a thread, if the epoch is still its lease; one without a head is forgotten. One that is left is not due until somebody
-- else writes it, unless records were posted under the lease.
CREATE FUNCTION {schema}.release_thread(p_thread bigint, p_epoch bigint, p_is_left boolean, p_is_cancelled boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {schema}.threads SET owner = NULL, owner_host = NULL, owner_pid = NULL, lease_until = NULL, engine = NULL,
        handle = 0,
        released_epochs = p_epoch || released_epochs[1:7],
        is_left = is_left OR (p_is_left AND posts = posts_before),
        is_cancelled = p_is_cancelled OR (is_cancelled AND is_left)
    WHERE id = p_thread AND epoch = p_epoch AND birth IS NOT NULL;
    IF NOT FOUND THEN
        DELETE FROM {schema}.threads WHERE id = p_thread AND epoch = p_epoch AND birth IS NULL;
    END IF;
    DELETE FROM {schema}.requests WHERE thread = p_thread AND epoch <= p_epoch;
END $$;

-- Stores a request to whoever holds a thread and wakes the holder's handle; without a holder, no row is returned. The notification
-- takes a lock of the whole server, which is why no commit sends one.
CREATE FUNCTION {schema}.send_request(p_length integer, p_start bytea, p_hash bytea, p_request text, p_channel text)
RETURNS TABLE (r_owner text, r_host text, r_pid bigint, r_until_ms bigint) LANGUAGE plpgsql AS $$
DECLARE
    t record;
BEGIN
    SELECT id, epoch, owner, owner_host, owner_pid, lease_until INTO t FROM {schema}.threads
    WHERE name_length = p_length AND name_start = p_start AND name_hash = p_hash AND lease_until > clock_timestamp() FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO {schema}.requests (thread, epoch, request) VALUES (t.id, t.epoch, p_request) ON CONFLICT DO NOTHING;
    PERFORM pg_notify(p_channel, t.id::text);
    RETURN QUERY SELECT t.owner::text, t.owner_host::text, t.owner_pid::bigint, (extract(epoch FROM t.lease_until) * 1000)::bigint;
END $$;

-- Deletes every record of a thread. Its row remains until the lease is released.
CREATE FUNCTION {schema}.delete_thread(p_thread bigint, p_epoch bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM {schema}.threads WHERE id = p_thread AND epoch = p_epoch FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE {schema}.threads
    SET head = NULL, next = NULL, birth = NULL, graph = NULL, status = 'new', wake_at = NULL, due_at = NULL, metadata = NULL,
        metadata_bytes = NULL, summary = NULL, is_ready = false, is_left = false, created_at = clock_timestamp()
    WHERE id = p_thread;
    DELETE FROM {schema}.records WHERE thread = p_thread;
    RETURN true;
END $$;

-- Stores records without a lease, once for each id; false if there is no such thread. If all of them have to be new and one is not,
-- nothing is stored, and the answer is NULL.
CREATE FUNCTION {schema}.post_records(
    p_length integer, p_start bytea, p_hash bytea, p_id bytea, p_keys bytea[], p_values bytea[], p_hashes bytea[], p_rests bytea[],
    p_is_new boolean
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    t_id bigint;
BEGIN
    SELECT id INTO t_id FROM {schema}.threads
    WHERE name_length = p_length AND name_start = p_start AND name_hash = p_hash AND birth IS NOT NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM {schema}.signals WHERE id = p_id) THEN
        RETURN true;
    END IF;
    IF p_is_new AND EXISTS (
        SELECT FROM unnest(p_keys, p_hashes) AS u(k, h)
        JOIN {schema}.records AS r ON r.thread = t_id AND r.key = u.k AND r.key_hash = coalesce(u.h, '')
    ) THEN
        RETURN NULL;
    END IF;
    INSERT INTO {schema}.signals (id, thread) VALUES (p_id, t_id);
    PERFORM {schema}.put_records(t_id, p_keys, p_values, p_hashes, p_rests);
    UPDATE {schema}.threads SET posts = posts + 1, summary = NULL, due_at = NULL, is_ready = false, is_left = false WHERE id = t_id;
    RETURN true;
END $$;
