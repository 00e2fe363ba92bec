CREATE TABLE public.dedup_brakes (
    run_id bigint NOT NULL,
    kind text NOT NULL,
    name_digest bytea NOT NULL,
    name text NOT NULL,
    documents integer NOT NULL,
    duplicates integer NOT NULL,
    raised double precision NOT NULL
);
COMMENT ON TABLE public.dedup_brakes IS 'clusters, named by their leader, and hosts that went over a limit in a run, with their counts then';
CREATE TABLE public.dedup_documents (
    id bigint NOT NULL,
    key text NOT NULL,
    key_digest bytea NOT NULL,
    given_digest bytea,
    space text DEFAULT ''::text NOT NULL,
    body_digest bytea,
    text_digest bytea,
    text_bytes integer NOT NULL,
    fingerprint bigint NOT NULL,
    sketch bytea NOT NULL,
    indexed integer NOT NULL,
    leader_id bigint,
    canonical_digest bytea,
    redirected smallint DEFAULT '0'::smallint NOT NULL,
    keeper_id bigint,
    exported_id bigint,
    first_run_id bigint NOT NULL,
    last_run_id bigint NOT NULL,
    content_run_id bigint NOT NULL
);
COMMENT ON TABLE public.dedup_documents IS 'one row a key; a duplicate names the leader of its cluster, an original none';
CREATE SEQUENCE public.dedup_documents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.dedup_documents_id_seq OWNED BY public.dedup_documents.id;
CREATE TABLE public.dedup_fingerprints (
    table_number smallint NOT NULL,
    permuted bigint NOT NULL,
    document_id bigint NOT NULL
);
COMMENT ON TABLE public.dedup_fingerprints IS 'the permuted tables, sorted by their primary key';
CREATE TABLE public.dedup_hosts (
    run_id bigint NOT NULL,
    host text NOT NULL,
    documents integer NOT NULL,
    duplicates integer NOT NULL
);
COMMENT ON TABLE public.dedup_hosts IS 'how many documents of a host a run has decided';
CREATE TABLE public.dedup_index_changes (
    sequence bigint NOT NULL,
    stamp bigint NOT NULL,
    document_id bigint NOT NULL,
    fingerprint bigint NOT NULL,
    added smallint NOT NULL
);
COMMENT ON TABLE public.dedup_index_changes IS 'the latest changes of the permuted tables, for indexes in memory; added: 1, removed: 0';
CREATE SEQUENCE public.dedup_index_changes_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.dedup_index_changes_sequence_seq OWNED BY public.dedup_index_changes.sequence;
CREATE TABLE public.dedup_properties (
    name text NOT NULL,
    value text NOT NULL
);
COMMENT ON TABLE public.dedup_properties IS 'what this database was made with: schema version, scheme, its word lists, table design, scope, item class';
CREATE TABLE public.dedup_run_rows (
    table_name text NOT NULL,
    run_column text NOT NULL,
    runs_table text,
    key_column text
);
COMMENT ON TABLE public.dedup_run_rows IS 'tables of others whose rows belong to runs, and go when their run is cancelled';
CREATE TABLE public.dedup_runs (
    id bigint NOT NULL,
    name text NOT NULL,
    started double precision NOT NULL,
    finished double precision,
    outcome text
);
COMMENT ON TABLE public.dedup_runs IS 'one crawl or one batch; times are seconds since 1970';
CREATE SEQUENCE public.dedup_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.dedup_runs_id_seq OWNED BY public.dedup_runs.id;
CREATE TABLE public.dedup_skipped (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    key_digest bytea NOT NULL,
    key text NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    referrer text NOT NULL
);
COMMENT ON TABLE public.dedup_skipped IS 'pages that a run did not decide, why, and where they are linked from';
CREATE SEQUENCE public.dedup_skipped_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.dedup_skipped_id_seq OWNED BY public.dedup_skipped.id;
CREATE TABLE public.dedup_unexamined (
    run_id bigint NOT NULL,
    item_class text NOT NULL,
    reason text NOT NULL,
    fields text NOT NULL,
    items bigint NOT NULL
);
COMMENT ON TABLE public.dedup_unexamined IS 'how many items of a class a run did not examine, and why; fields: the names of what they have';
CREATE TABLE public.dedup_verdicts (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    document_id bigint NOT NULL,
    verdict text NOT NULL,
    original_id bigint,
    matched_id bigint,
    distance smallint,
    similarity double precision,
    rule text,
    kept text,
    decided double precision NOT NULL,
    batch bigint
);
COMMENT ON TABLE public.dedup_verdicts IS 'one row a decision; original: the leader of the cluster that it belongs to, or, where it is no duplicate, that it resembles; matched: the member that it was found by. The same text again under its own key, in the same process and run, was found by itself';
CREATE SEQUENCE public.dedup_verdicts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.dedup_verdicts_id_seq OWNED BY public.dedup_verdicts.id;
CREATE TABLE public.dedup_words (
    text_digest bytea NOT NULL,
    words bytea NOT NULL
);
COMMENT ON TABLE public.dedup_words IS 'the tokens of the texts that the permuted tables hold, a line feed between them, deflated';
CREATE TABLE public.frontier (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    url_digest bytea NOT NULL,
    url text NOT NULL,
    host text NOT NULL,
    kind text NOT NULL,
    depth integer NOT NULL,
    priority integer NOT NULL,
    referrer text,
    meta text,
    state text NOT NULL,
    attempts integer NOT NULL,
    kept integer NOT NULL,
    worker text,
    lease_until double precision
);
COMMENT ON TABLE public.frontier IS 'one row a URL of a run; attempts: how many processes died with it; meta: JSON of redirects and retries';
CREATE TABLE public.frontier_hosts (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    host text NOT NULL,
    is_open integer NOT NULL,
    worker text,
    owned_since double precision,
    free_from double precision NOT NULL,
    delay double precision NOT NULL
);
COMMENT ON TABLE public.frontier_hosts IS 'one row a host of a run; it belongs to one worker at a time; delay: seconds between requests';
CREATE SEQUENCE public.frontier_hosts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.frontier_hosts_id_seq OWNED BY public.frontier_hosts.id;
CREATE SEQUENCE public.frontier_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.frontier_id_seq OWNED BY public.frontier.id;
CREATE TABLE public.frontier_options (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    options text NOT NULL,
    saved double precision NOT NULL
);
COMMENT ON TABLE public.frontier_options IS 'with what each run was started last, as JSON, to go on with it; saved: seconds since 1970';
CREATE SEQUENCE public.frontier_options_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.frontier_options_id_seq OWNED BY public.frontier_options.id;
CREATE TABLE public.frontier_runs (
    id bigint NOT NULL,
    name text NOT NULL,
    started double precision NOT NULL,
    finished double precision
);
COMMENT ON TABLE public.frontier_runs IS 'one crawl, continued as often as it takes; times are seconds since 1970';
CREATE SEQUENCE public.frontier_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.frontier_runs_id_seq OWNED BY public.frontier_runs.id;
CREATE TABLE public.frontier_workers (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    name text NOT NULL,
    lease_until double precision,
    kept integer NOT NULL,
    counts text NOT NULL,
    has_closed integer NOT NULL
);
COMMENT ON TABLE public.frontier_workers IS 'one row a worker of a run; lease_until: empty once it has left; kept: pages; counts: JSON of its stats; has_closed: whether it ended the run';
CREATE SEQUENCE public.frontier_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.frontier_workers_id_seq OWNED BY public.frontier_workers.id;
CREATE TABLE public.page_versions (
    id bigint NOT NULL,
    url_digest bytea NOT NULL,
    url text NOT NULL,
    canonical text,
    title text,
    author text,
    date text,
    language text,
    description text,
    text text NOT NULL,
    html bytea NOT NULL,
    problem text,
    fetched timestamp with time zone NOT NULL,
    depth integer NOT NULL,
    referrer text,
    run text,
    gone timestamp with time zone,
    reason text NOT NULL,
    replaced timestamp with time zone NOT NULL
);
COMMENT ON TABLE public.page_versions IS 'what pages held before; reason: updated, duplicate, gone, moved; replaced: when it left pages';
CREATE SEQUENCE public.page_versions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.page_versions_id_seq OWNED BY public.page_versions.id;
CREATE TABLE public.pages (
    id bigint NOT NULL,
    url_digest bytea NOT NULL,
    url text NOT NULL,
    canonical text,
    title text,
    author text,
    date text,
    language text,
    description text,
    text text NOT NULL,
    html bytea NOT NULL,
    problem text,
    fetched timestamp with time zone NOT NULL,
    depth integer NOT NULL,
    referrer text,
    run text,
    gone timestamp with time zone
);
COMMENT ON TABLE public.pages IS 'one row a kept page, its latest version; html is compressed by zlib; times are UTC; gone: since when it is not there any more';
CREATE SEQUENCE public.pages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.pages_id_seq OWNED BY public.pages.id;
CREATE TABLE public.visits (
    id bigint NOT NULL,
    url_digest bytea NOT NULL,
    url text NOT NULL,
    depth integer NOT NULL,
    etag text,
    last_modified text,
    body_digest bytea,
    seen double precision NOT NULL,
    run text,
    gone double precision,
    moved_to_digest bytea
);
COMMENT ON TABLE public.visits IS 'one row a page, kept or duplicate; gone: since when it is not there; times are seconds since 1970';
CREATE SEQUENCE public.visits_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.visits_id_seq OWNED BY public.visits.id;
ALTER TABLE ONLY public.dedup_documents ALTER COLUMN id SET DEFAULT nextval('public.dedup_documents_id_seq'::regclass);
ALTER TABLE ONLY public.dedup_index_changes ALTER COLUMN sequence SET DEFAULT nextval('public.dedup_index_changes_sequence_seq'::regclass);
ALTER TABLE ONLY public.dedup_runs ALTER COLUMN id SET DEFAULT nextval('public.dedup_runs_id_seq'::regclass);
ALTER TABLE ONLY public.dedup_skipped ALTER COLUMN id SET DEFAULT nextval('public.dedup_skipped_id_seq'::regclass);
ALTER TABLE ONLY public.dedup_verdicts ALTER COLUMN id SET DEFAULT nextval('public.dedup_verdicts_id_seq'::regclass);
ALTER TABLE ONLY public.frontier ALTER COLUMN id SET DEFAULT nextval('public.frontier_id_seq'::regclass);
ALTER TABLE ONLY public.frontier_hosts ALTER COLUMN id SET DEFAULT nextval('public.frontier_hosts_id_seq'::regclass);
ALTER TABLE ONLY public.frontier_options ALTER COLUMN id SET DEFAULT nextval('public.frontier_options_id_seq'::regclass);
ALTER TABLE ONLY public.frontier_runs ALTER COLUMN id SET DEFAULT nextval('public.frontier_runs_id_seq'::regclass);
ALTER TABLE ONLY public.frontier_workers ALTER COLUMN id SET DEFAULT nextval('public.frontier_workers_id_seq'::regclass);
ALTER TABLE ONLY public.page_versions ALTER COLUMN id SET DEFAULT nextval('public.page_versions_id_seq'::regclass);
ALTER TABLE ONLY public.pages ALTER COLUMN id SET DEFAULT nextval('public.pages_id_seq'::regclass);
ALTER TABLE ONLY public.visits ALTER COLUMN id SET DEFAULT nextval('public.visits_id_seq'::regclass);
INSERT INTO public.dedup_documents VALUES (3, 'http://127.0.0.1:8899/a-copy', '\x34d693bf12dfbea85252771aee381932', NULL, '', '\x1983c59bbb57247897a2399f4c3df8fe', '\x970c2619f9615a17ebd7a038e6276644', 1276, 7762768239579041420, '\x46e3f036713dd708395914f35a3a71aad3f93133ca4690c4db36621aa015a95b69eac146b90f69770e030988f61eac22752f6af49f4b0f375909a2df95d0e7d10000000000000000b5000000ae000000', 0, 2, NULL, 0, NULL, NULL, 1, 1, 1);
INSERT INTO public.dedup_documents VALUES (8, 'http://127.0.0.1:8899/short', '\x6e5c6ba8479663759c116d02b54a0d86', NULL, '', '\x90dede61c147fb38471a0de75874a2b7', '\xdc8ede07d94bf951742d9a8a738dab44', 117, 2776318287683456139, '\x66469a384b5eec388bd1a5a9ede0b271625fb5d2897a5c39df87cca9661783c1dd49862accfd62de7bab1e47342b4c53b9c95890134a731dc2751f4c6866fe1900000000000000001700000015000000', 1, NULL, NULL, 0, NULL, NULL, 1, 1, 1);
INSERT INTO public.dedup_documents VALUES (9, 'http://127.0.0.1:8899/short-copy', '\x77b465c1050301293079b5d8e0b9e6f4', NULL, '', '\x90dede61c147fb38471a0de75874a2b7', '\xdc8ede07d94bf951742d9a8a738dab44', 117, 2776318287683456139, '\x66469a384b5eec388bd1a5a9ede0b271625fb5d2897a5c39df87cca9661783c1dd49862accfd62de7bab1e47342b4c53b9c95890134a731dc2751f4c6866fe1900000000000000001700000015000000', 0, 8, NULL, 0, NULL, NULL, 1, 1, 1);
INSERT INTO public.dedup_documents VALUES (1, 'http://127.0.0.1:8899/', '\xb713df18cc8f0fd932aefaf3b35cd190', NULL, '', '\x6e356d187afbafc4b34e3c92101b5b14', '\x90355f0fe1439d27820c2a3192f6d373', 1284, 7759329173432372364, '\xaef18071438adb38b0aaef1038153f2332b5e704226f2bc782920df228b7a1cb955051c87df45833729f371854a20802b2f169c38ff01e61ecf7a348898142550000000000000000b5000000af000000', 1, NULL, NULL, 0, NULL, NULL, 1, 2, 1);
INSERT INTO public.dedup_documents VALUES (2, 'http://127.0.0.1:8899/a', '\x780608ab8686c0f55310c06a135c4c7d', NULL, '', '\x1983c59bbb57247897a2399f4c3df8fe', '\x970c2619f9615a17ebd7a038e6276644', 1276, 7762768239579041420, '\x46e3f036713dd708395914f35a3a71aad3f93133ca4690c4db36621aa015a95b69eac146b90f69770e030988f61eac22752f6af49f4b0f375909a2df95d0e7d10000000000000000b5000000ae000000', 1, NULL, NULL, 0, NULL, NULL, 1, 2, 1);
INSERT INTO public.dedup_documents VALUES (5, 'http://127.0.0.1:8899/b', '\x1de6da25cba55239c126eb4a37c9ddeb', NULL, '', '\x025534f2f8b05b8a91a563706b24205e', '\x15bbd1394ee0f35bafd878db92e5ceed', 1281, 7763863280548044428, '\x5081dc361b922f8aad4afb6d98a57608d5e96bf42fec833126e67655431d0e637cff705d55b9f2f822da6818c2f716565eaab8b28a13c154d827dce9b6d03a140000000000000000b5000000b0000000', 1, NULL, NULL, 0, NULL, NULL, 1, 2, 2);
INSERT INTO public.dedup_documents VALUES (4, 'http://127.0.0.1:8899/a-near', '\x8ba45bdc78d208712079ac5f81bff22f', NULL, '', '\xe3bf40b4c8f5f196e5fa40931f2dc83d', '\x0892a3bc3a1a3e0c5d2223f73ef78deb', 1271, 7759390471139036812, '\x46e38036713dd7083c5914f35a3d71aad7f931331a7490c4d73f621aa014795b69aac146b90f697708831988f61eac22752f6af49f4bef375909a21f95d0e7d10000000000000000b7000000b2000000', 1, 2, NULL, 0, NULL, NULL, 1, 2, 1);
INSERT INTO public.dedup_documents VALUES (7, 'http://127.0.0.1:8899/c', '\x84cc62cbb26ad33c683fa164926b67e5', NULL, '', '\x49965eda14da36ab89f4693db3a07ef8', '\xc23c68c89189d3825a1bd39ab5760c20', 1318, 7750282237207858316, '\xaa349221717cd240acb684c48cdab41112c8bb3f5f1323385ab212cda49eead03d451f2f5c117ce1a5c0ae21210aeb06c9f41826fabedff900fe06eff175b5650000000000000000b5000000ad000000', 1, NULL, NULL, 0, NULL, NULL, 1, 2, 1);
INSERT INTO public.dedup_documents VALUES (10, 'http://127.0.0.1:8899/d', '\x45dad3e27a88641bfc5d5043d6be2c62', NULL, '', '\x7c76b75a35358652bc70919831ff3386', '\xeca7af98fa8428e376388af8de5bfb77', 1275, 7763898469080882820, '\x8671e9da41bfca4e4b4989c99cb2b076bdcd080a1a4522992d65e27296a31f9b511bc60c3c25233b6bb70a92dc878756953c64c4c3a7a1767171df2be7cfc4f30000000000000000b5000000af000000', 1, NULL, NULL, 0, NULL, NULL, 2, 2, 2);
INSERT INTO public.dedup_documents VALUES (6, 'http://127.0.0.1:8899/b-copy', '\xd48ffc95578d11e62d774a749b9c6105', NULL, '', '\x1c8c82d3b34f0fdbc96be6c8c3828551', '\x945e0fd5de50c77355a6b80e1dfc0eb5', 1288, 7723361657074470412, '\x5cd9ece2868edf5b7968f4e3d3882fa5bdb4cc40d5122e7969d109c9ef779c7c535d94024870c9c753931ded50c735fdc2f8b8379d76defee2340a2c902ac22a0000000000000000b5000000ac000000', 1, NULL, NULL, 0, NULL, NULL, 1, 2, 2);
INSERT INTO public.dedup_fingerprints VALUES (0, 7759329173432372364, 1);
INSERT INTO public.dedup_fingerprints VALUES (1, -5997268930387571572, 1);
INSERT INTO public.dedup_fingerprints VALUES (2, -4196392029812093812, 1);
INSERT INTO public.dedup_fingerprints VALUES (3, 904216023161750979, 1);
INSERT INTO public.dedup_fingerprints VALUES (0, 7762768239579041420, 2);
INSERT INTO public.dedup_fingerprints VALUES (1, -1975554411672695156, 2);
INSERT INTO public.dedup_fingerprints VALUES (2, -4482370553674133876, 2);
INSERT INTO public.dedup_fingerprints VALUES (3, 1048331263713591755, 2);
INSERT INTO public.dedup_fingerprints VALUES (0, 7759390471139036812, 4);
INSERT INTO public.dedup_fingerprints VALUES (1, -1980058062839673204, 4);
INSERT INTO public.dedup_fingerprints VALUES (2, -4482370605214790004, 4);
INSERT INTO public.dedup_fingerprints VALUES (3, 1048331212172935627, 4);
INSERT INTO public.dedup_fingerprints VALUES (0, 7750282237207858316, 7);
INSERT INTO public.dedup_fingerprints VALUES (1, -8601475552285864820, 7);
INSERT INTO public.dedup_fingerprints VALUES (2, -3905909991891972980, 7);
INSERT INTO public.dedup_fingerprints VALUES (3, 5515901903543847371, 7);
INSERT INTO public.dedup_fingerprints VALUES (0, 2776318287683456139, 8);
INSERT INTO public.dedup_fingerprints VALUES (1, 8558289032055557259, 8);
INSERT INTO public.dedup_fingerprints VALUES (2, -1672200473382941557, 8);
INSERT INTO public.dedup_fingerprints VALUES (3, 903858513473038539, 8);
INSERT INTO public.dedup_fingerprints VALUES (0, 7763863280548044428, 5);
INSERT INTO public.dedup_fingerprints VALUES (1, -3997952101756707188, 5);
INSERT INTO public.dedup_fingerprints VALUES (2, -2755240079868502388, 5);
INSERT INTO public.dedup_fingerprints VALUES (3, -2410433233397950013, 5);
INSERT INTO public.dedup_fingerprints VALUES (0, 7763898469080882820, 10);
INSERT INTO public.dedup_fingerprints VALUES (1, -1691827617700520316, 10);
INSERT INTO public.dedup_fingerprints VALUES (2, -3331700831634989436, 10);
INSERT INTO public.dedup_fingerprints VALUES (3, -2412685032674700861, 10);
INSERT INTO public.dedup_fingerprints VALUES (0, 7723361657074470412, 6);
INSERT INTO public.dedup_fingerprints VALUES (1, -1981184512368062964, 6);
INSERT INTO public.dedup_fingerprints VALUES (2, -3905910402667393524, 6);
INSERT INTO public.dedup_fingerprints VALUES (3, -3599384153029490229, 6);
INSERT INTO public.dedup_hosts VALUES (1, '127.0.0.1:8899', 9, 4);
INSERT INTO public.dedup_hosts VALUES (2, '127.0.0.1:8899', 7, 1);
INSERT INTO public.dedup_index_changes VALUES (1, 3988753270851564941, 1, 7759329173432372364, 1);
INSERT INTO public.dedup_index_changes VALUES (2, 3563979476804027270, 2, 7762768239579041420, 1);
INSERT INTO public.dedup_index_changes VALUES (3, 7163614231510365636, 4, 7759390471139036812, 1);
INSERT INTO public.dedup_index_changes VALUES (4, 9202268635335802512, 5, 7723361657074470412, 1);
INSERT INTO public.dedup_index_changes VALUES (5, 331628313180430280, 7, 7750282237207858316, 1);
INSERT INTO public.dedup_index_changes VALUES (6, 3119569888805276348, 8, 2776318287683456139, 1);
INSERT INTO public.dedup_index_changes VALUES (7, 4400975825030284674, 5, 7723361657074470412, 0);
INSERT INTO public.dedup_index_changes VALUES (8, 5170311309865509385, 5, 7763863280548044428, 1);
INSERT INTO public.dedup_index_changes VALUES (9, 5781908120179695072, 10, 7763898469080882820, 1);
INSERT INTO public.dedup_index_changes VALUES (10, 4839713537233173432, 6, 7723361657074470412, 1);
INSERT INTO public.dedup_properties VALUES ('schema version', '5');
INSERT INTO public.dedup_properties VALUES ('scheme', '1:words/count/mmh3/64/sketch3x128x4');
INSERT INTO public.dedup_properties VALUES ('table design', '4 choose 1');
INSERT INTO public.dedup_properties VALUES ('scope', 'all');
INSERT INTO public.dedup_properties VALUES ('item class', 'Page');
INSERT INTO public.dedup_run_rows VALUES ('pages', 'run', NULL, 'url_digest');
INSERT INTO public.dedup_run_rows VALUES ('page_versions', 'run', NULL, NULL);
INSERT INTO public.dedup_run_rows VALUES ('visits', 'run', NULL, 'url_digest');
INSERT INTO public.dedup_run_rows VALUES ('frontier', 'run_id', 'frontier_runs', NULL);
INSERT INTO public.dedup_run_rows VALUES ('frontier_hosts', 'run_id', 'frontier_runs', NULL);
INSERT INTO public.dedup_run_rows VALUES ('frontier_options', 'run_id', 'frontier_runs', NULL);
INSERT INTO public.dedup_run_rows VALUES ('frontier_workers', 'run_id', 'frontier_runs', NULL);
INSERT INTO public.dedup_run_rows VALUES ('frontier_runs', 'name', NULL, NULL);
INSERT INTO public.dedup_runs VALUES (1, 'run1', 1795389222.5527513, 1795389225.1899402, 'finished');
INSERT INTO public.dedup_runs VALUES (2, 'run2', 1795389227.8211129, 1795389229.6879728, 'finished');
INSERT INTO public.dedup_verdicts VALUES (1, 1, 1, 'new', NULL, NULL, NULL, NULL, NULL, NULL, 1795389224.7079198, 4101325860781424640);
INSERT INTO public.dedup_verdicts VALUES (2, 1, 2, 'new', NULL, NULL, NULL, NULL, NULL, NULL, 1795389224.8585243, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (3, 1, 3, 'exact duplicate', 2, 2, 0, 1, 'same_text', NULL, 1795389224.86046, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (4, 1, 4, 'near duplicate', 2, 2, 3, 0.8583333333333333, 'jaccard', NULL, 1795389224.8786352, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (5, 1, 5, 'new', NULL, NULL, NULL, NULL, NULL, NULL, 1795389224.8972964, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (6, 1, 6, 'exact duplicate', 5, 5, 0, 1, 'same_text', NULL, 1795389224.8987718, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (7, 1, 7, 'new', NULL, NULL, NULL, NULL, NULL, NULL, 1795389224.9040108, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (8, 1, 8, 'new', NULL, NULL, NULL, NULL, NULL, NULL, 1795389224.910425, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (9, 1, 9, 'exact duplicate', 8, 8, 0, 1, 'same_text', NULL, 1795389224.9129786, 4101325860781424641);
INSERT INTO public.dedup_verdicts VALUES (10, 2, 1, 'unchanged', NULL, NULL, NULL, NULL, NULL, NULL, 1795389229.133093, 3150025552866312192);
INSERT INTO public.dedup_verdicts VALUES (11, 2, 2, 'unchanged', NULL, NULL, NULL, NULL, NULL, NULL, 1795389229.3104923, 3150025552866312193);
INSERT INTO public.dedup_verdicts VALUES (12, 2, 5, 'updated', NULL, NULL, NULL, NULL, NULL, NULL, 1795389229.3422747, 3150025552866312193);
INSERT INTO public.dedup_verdicts VALUES (13, 2, 4, 'near duplicate', 2, 2, 3, 0.8583333333333333, NULL, NULL, 1795389229.3466475, 3150025552866312193);
INSERT INTO public.dedup_verdicts VALUES (14, 2, 7, 'unchanged', NULL, NULL, NULL, NULL, NULL, NULL, 1795389229.3477845, 3150025552866312193);
INSERT INTO public.dedup_verdicts VALUES (15, 2, 10, 'new', NULL, NULL, NULL, NULL, NULL, NULL, 1795389229.3535526, 3150025552866312193);
INSERT INTO public.dedup_verdicts VALUES (16, 2, 6, 'new', NULL, NULL, NULL, NULL, NULL, NULL, 1795389229.495344, 3150025552866312194);
INSERT INTO public.dedup_words VALUES ('\x90355f0fe1439d27820c2a3192f6d373', '\x785e6d54ddce82300cbdef5bd65165616ea6540d6fff4577ce802f5e9141cf6f17d6500f89d9a45884b9947c71f54da2bd3f27ad615e25b5674db9c8d5dc3749fa08cd55dac3aa4d5ff41a1ab955796929b691ecdadcd6189cb3faa53d5d387cc02f39d26c556eea9355e85c6d8dfcd222a0e390d55bae26a9b415f27dbe799ad527b9789e6e2677f5c5627887b51fe6c334cde632f4e0e2debce67a13ea220e78efed05f577feb4240fed4fda5800230d6c83a5ede1a9cfb6f35ab44e025a98e1c71fe56170d88782e7d727543f401cd5b8c5d329cf46d634b756465f1dce30c02fc8d476f7dc6e9f47398c74d1c57c631478392c8e693a18df794fe824b59acc43d0cb411b3b25006a23c809060fa7e804a2638caca1537ede852138350a3e04e8378f1d2ca80735e3c1d531c7014e004778461210a0542eea14019d714f673fe8073424df6f2e197975390ff5fe600d237edb174082febbf8e713d690a58f9cbca3ef73fb185f60b6df0c8ceccefb6bdc4ae8828e55e0afc16abfd83fe6b6cdd3');
INSERT INTO public.dedup_words VALUES ('\x970c2619f9615a17ebd7a038e6276644', '\x785e7553db8e8320107d9fbfa43855224233a04dff7eb39d731493dd174d80395778589a6695bea8c4ba9798b23cc2aaf691185e3da4225bb592ca2c5d435cd46409f6a8bb490ea5ab15a92f2d3a7d115a5c6acde7c9acbdab09565b0f53da3799834d7ac1c65c1bc6b760ab769eb774a8c9b39ab62e47ca39ccca612d732a3a523fb5f574842c20a5ba35f5b80c74d5e2126ca2c911c1995a0f3dd5224e3f7e6920d612d5fa8ddd67a1ee15d22fb9bcfd07b12b9438e460fbefb84e1608eef5ad2694fffff8b637dd37492d8732c1051430c43a0857b38fd019259ed53b167ae1ee560f4ebb6d6e9c1d1c2167fd5003d97d71500ea9f8a111148e4b40254034edbb513b0678043719830c8adad8ff0d01cad8d7f31b8607cdf821e7b476993fdf815f388240293263b70e7d23771ec85d21d3fbc2221c219fdb301b735cff8299ce1d8a0286d8690df5303f2e731e9719a8976f9e47fc6e03af0e907c7ccca45e170ea8ac8360bc9a887b451c201fc463e5b405d1f7a786e010e357fa0f7033ca6f');
INSERT INTO public.dedup_words VALUES ('\x0892a3bc3a1a3e0c5d2223f73ef78deb', '\x785e6d53ddae83200cbeef5b76d829116129d5656f7fe2fa9569726e3401fafdc243f3340bf1ccb9922d42a9ed35e5420f5e453f94f865e7d6d6b4e63a9309a7459416d647db950a5713add45e5265fa22f4b4b456c6c92266a284d56e3ce57da39975921f6c2aad637c635dc5e2bce643949e4da51b1db9149e2586a5ceb9ca95fa29ddf2c185401aead66c69b9d0354d0beb1426af08ced48d2db74a4e7ffd8681d46a12b51bbbcf42dd8bf3494e6fff41ec0a250e79b1fd7f5c830582adbd4529e4639c4985a7934a9b09d9c2f64db29569f4f3e64e554ece927df729aa1f0a3ba16bf4bd77d9374219b1bbb5032da191d818c11f5c8a7c28f7c2752298c622e49ee31be0fd871a8089e6430986556cd76809037104971883914e688bd26f0850162579189e6e640e39c3dacffcb8fc7ecb02044a915914ead03772e781dc1532fd4660118e10d36d381a735cff82399c3b5408b8c41ed6504fe417cb318f1b0cd49fef388ff8dd069e1a20e3be4526edf73c801a7504583c6ac4bd220e905fc46365d882e8fbfb427088f12bfd0f3dd3c7a0');
INSERT INTO public.dedup_words VALUES ('\xc23c68c89189d3825a1bd39ab5760c20', '\x785e7553dbaea3300c7cf75fbac185a8b9544ea0eadfaf1666c26675ce5344628fe762b2facbbaf4cda47ad8d41779e8cbfc2ba19660de25d4bd8498a4d78fb9c496b42c92e2c3d5bfe2d6772fb69c00adeb12f74c804dfd5177bf6be371031c31255d6d06485aba7919a3c9e813ffdecbd35a8f87266961ab358db20963555fac08b9047d778d65a820e478c7fd84f18a3d6c56c44fc66f8de7f86e1a3673a1aea7b97f85b7f56df421efcdf63c5e2e140a26216a859669fe109aab9758569a66658dc504125f60c9a209021d94fdac6ead234364fef0b8ac369c99dae13849d20210a0b2612234e57ac002141e9a927d85da411cfb7191f9314454302cb06f5d7bac45c8061a71d43b80ff3de606b271f87b45383e6ffe6485c9e08303fe8db66143aa0dfdbca27274d2cf7c6d0880b8505302d44024ec096b2ff3183d6f2704701ff99e6b88c9c88741e2f31f0bb11c748e271bf08c408713bf1a888ca81f7bc17c8176775fbf0c55c126726036e8c2aa4ed2f3a5921d1c4b2b065f40d0eb93c01fe3e6dc1c');
INSERT INTO public.dedup_words VALUES ('\xdc8ede07d94bf951742d9a8a738dab44', '\x785e25cb410ec3200c44d1fddcd29481584563c990206e5f29ddfdc57f8d9907eb22fee513c316b1a2da41e1c7ee4944438b8ed07ba63f4c982a1425eac157b127f645c117b68f81bc05ebe642618be40bf950aefe0333cd286c');
INSERT INTO public.dedup_words VALUES ('\x15bbd1394ee0f35bafd878db92e5ceed', '\x785e5d53db92ac200c7ccf5f46cc2825c25444b7e6ef4fcda65b3cfb442949df1256f5a99d2e7d35699e56f559f6f3b073975d7db32e5bee69b52a8bfa6c558eb4b65624b5b3a65ca4bdaddafcdb4e28cf9739cb53abc9bc4b3e8ad601ddbce6ba3cbb497e6929f611f6f5f6632e456b37afd24dd36a2e2f73ff3cbb59f093bf27d942c9954bd1c5e4e83ae7af2f90efed8272fef983122c941cc70061336d277d77cd554a9e5cfdf3a5ebb955796b684220f457da0180a0a17fe44b294487237a19dac323aef71039e966fe91971d3d5f5ae4d5dc8ecef0d3a0b6bae46a8283ca51c7bfd6fb1df9a31755143a94459693e779194b814fb77e3a178659de108806a3e73512b9dd0cef5c42468ce9931306900d2eff5340e63017bb86ae0d6b8f2c39cd4700489537782ecc01866fd59cef50cf650603d3e71edd0d814b9a87004e2006148b00dab072933391414e7b8c8ef081c22f30f0f3c14df11c1252a3789e34459a369e2cb05981f120d4129e50c3390ff9784c6c8ef95126020d2b9144fbe5fd07714ece32');
INSERT INTO public.dedup_words VALUES ('\xeca7af98fa8428e376388af8de5bfb77', '\x785e6553dbae84200c7cef5f22769588b0a9e8c6bf3fd9d31930d92723b4736b5982cd5aa4ad2a394d16ec961c4a532bb2a516d7ef5dfda8c95eada4b2c84b8f96ae90e54a398745a5beb5e8fc8fc0a3acada949d3105735a916d760b31c2dcce9dc65b2342f2aaf6a7a3489b91ee8df836dda4078c4b5d62c31bc5b48a5834070ac25aab527fb1436b5bb175abad4ba894ffa9a122d4b2ada2d3eb8d39143993b5d8376d0bdd4ecee8698451de4b19e25a63c42e4d7a3e035bf2eeed10f7d64c0afd35293ffede7a1e72e7bbd408d5a268258dfc18f193aaa1ce3e11be5f0b93bb8cbf33920b29f4666b8069bea69dfe9b6548b00a2ef42f220389d6199515169df2c221119882e67f8c682fcb4b952dce2d38b1eceb186f4e19e37ec8b933179a4538778a6cd55404ade86725866127574e381404117e7ca990b268647f1108e55252ec09cfa0a39eb8d2784d98ec8b85e680134746eb48e225a1bed8c63f781403eac735a90cd218e6ec8e6136001f3c7750f83093f62032f17860838f6f4a89a723cb73faea1cb07');
INSERT INTO public.dedup_words VALUES ('\x945e0fd5de50c77355a6b80e1dfc0eb5', '\x785e6553dbb283200c7ccf5f464c9511a113d133fefd99965d2bed4b1969b2b784597d28bb4b9d4d823eabc67c9d83c771326109cf5afecce58829e9641252d96c7cf72fb186d9b2acc573cc933c35e66a7ee1adfb66fb2a495fb759521c5cfdbc23f00acc832ee6e785f330f7532c4f319b6c55c7b8afe25677cf5040e6054ac87c684a764a531e4a0ee655e296348f3d000a29f151dcb62a9043348f8739c0ba6e206e556b2c990493fa6899ba0189e3e69db29acbe261561f8567e36cff11bf6bde738849a01f4793880fa6489e5b37c424abaf713144085e902560606a2dc757e61856e36cbf0c0cc04d7d97d8c3b61a0f4d42169472ba20650a5b984b49f221871adca39a0736947e9aa69ebe19effdb73ad8a12e1075dd6065b097488c872fe4f2c88bdfe481cef5e7fa55d3309b7391c0f771bfeeef0745833f44088213c767e701100b6cfec517b380090d2d1088284ffb7e6df4c5bd5c00d676167d2cba9967ddaabed8f5ca103c3700b78ce4d6cedc313df0008cd1c14228ed7dbcb3fb07a06bd08c');
INSERT INTO public.page_versions VALUES (1, '\x1de6da25cba55239c126eb4a37c9ddeb', 'http://127.0.0.1:8899/b', NULL, 'Harbour', NULL, NULL, 'en', NULL, 'Harbour
The captain captain bridge harbour harbour tower village closed. The kitchen morning painter captain museum lantern library closed. The library bridge bakery painter ferry engine stadium returned. The morning kitchen captain valley tower concert island returned.
The valley lantern forest bridge captain river tower returned. The island station island garden engine forest forest closed. The concert ferry orchard orchard river ferry station closed. The council valley valley tower valley painter concert closed.
The forest letter morning engine kitchen valley island moved. The morning bakery tower tower captain letter ferry returned. The festival kitchen letter stadium valley orchard school moved. The island school valley valley village morning tower returned.
The forest forest letter tower bakery kitchen island returned. The school painter orchard station village festival village closed. The forest island library lantern teacher island school moved. The museum morning festival village valley concert valley returned.
The museum kitchen winter school valley tower island opened. The morning village station kitchen river island village closed. The kitchen market bridge bakery stadium bridge lantern closed. The painter forest island market teacher valley council moved.', '\x785e65545bb2a4200cdd0a2b18ebfe3b7ecf02660311d342896045f496bb9fa239e1eaf447372586f34ab077790d26509c7f731c7ac7340d7df639f0f087644c87f45d7decbbfa724cd335f424d9dbb2ebbe7e0addd7d06fc35fc7c6d296c9c7b68ee2a7998dab956dcde99bc59c3e049ad9d890769e7e9902b0f86c1d47b326893ece66231f334b035c8f9d8fb508cf2cd1043f0ac9f580d03d708fb4b05c0de8c52297e138fbc866cf34f96335c2f990a81a947b8116e53e2904be4c156f53b42cd9f83d509c7e10fa6ed33050af5a5f4978cf06b21454fcc902cc06f29601e43d53f6292ad14c32715403c0c4724f41f555bf49ac23998cae95b5be5382e7e9235a1f0c2c60a92af1a0812a118edffc4355e05c3aa8a942f982708106776b3affef02fa57b9ebbf6607e46ae319de8bf7ec4f0a6da050ab1d07ade6b15b975230377a08c20b94ebe2ebe0aaa5aaaa09f88ce099442d872fd507be06f2ce00ec1a75538b8ee9056a667503bd7863801bf87a3974283393752c3a5d20bce5800ba7563fa810894e011e9b8d5b16405a60f8db1705068c3857a38198b4f1c79d54873ab40bd0ea40e3a016dd63d0c29564e1760bd1049d0aec6a38f7f3da83679c40d314e1c2a67a7b6a8cef08baf6e12c0fe537a6f23dedca7778f80754940e1c', NULL, '2026-11-22 23:13:44.766741+00', 1, 'http://127.0.0.1:8899/', 'run1', NULL, 'updated', '2026-11-22 23:13:49.631182+00');
INSERT INTO public.pages VALUES (3, '\x84cc62cbb26ad33c683fa164926b67e5', 'http://127.0.0.1:8899/c', NULL, 'Market', NULL, NULL, 'en', NULL, 'Market
The orchard bakery concert council tower island library returned. The stadium bakery harbour library river island village returned. The lantern concert orchard winter festival school concert returned. The garden stadium captain council orchard stadium council returned.
The kitchen river painter teacher harbour ferry teacher opened. The museum teacher river village captain lantern school returned. The festival morning island engine garden kitchen morning returned. The island council forest tower market bridge council returned.
The winter lantern painter engine teacher stadium captain moved. The engine valley village garden bakery tower concert returned. The bakery orchard forest station painter island island opened. The captain lantern library painter festival ferry festival moved.
The concert forest bakery bakery market festival stadium closed. The stadium village bakery lantern museum market harbour returned. The captain stadium school harbour tower morning harbour returned. The forest council river museum engine teacher engine opened.
The bridge library library teacher bridge garden festival moved. The concert forest island lantern valley orchard bridge moved. The river harbour market library concert bridge winter returned. The museum library lantern council festival bridge captain moved.', '\x785e6d945d8ea4300c84af92130c9a77861becdb5ec0809b441d126402236ebf82b83c30da8716ca8f8baacf6e5a5fe6e822a5e98b53d77aa6b16b4b2891bb3f246f2e6d53576d53cffa3c1e5d4b52c270eefa4fbbe73fbb76e9fe7a7659064f32ba9ede2c871b721a588a1bf29686105dc9df2c2eac91d2e862e885e470c26593c4e3873b15d64263d8662878923e6ff27339ec3f0a7b889126fea510291596642f87a7ef70eebb17af25ec14dd3af89ca35d7b8a4c2423277333d05228240b024d3bd77d13699b054cdea10c9e9393cbfa42e1b2519806cfe210f0c52287c36e5ed888ccdbcadb6c475506d1610ca13594f9b8985ae4394b0a69023f4e5348ec34eb5b7de2d253434b00e09585d7a20d9daf3970bd8471626364f53716da03b8050c3582884655c3cd79070cbdb9538c7c3850d0043a33d5d4fffbaa57d03f8db1162a2127073f1a561ff9d68cdfbc3197a834d4b59fb6ac116e24604f1da82f7d2850ab362031af70823d30d052a0d5a951254c99f5e492401848e9f0e072e58871c0ee5342ed5bcfafe1d4776bafd0555d2acd1b0a9d1ba0c413757a3cd51e1b934ab4e678b2d4b68184ce0a5aae72b7f2fa8f423e250617e89396e9003f21685e94e0c58062965503d8ab850b44639fd57371feead7b6393fd2dd3f29af193d', NULL, '2026-11-22 23:13:44.76909+00', 1, 'http://127.0.0.1:8899/', 'run1', NULL);
INSERT INTO public.pages VALUES (4, '\x6e5c6ba8479663759c116d02b54a0d86', 'http://127.0.0.1:8899/short', NULL, 'Ferry', NULL, NULL, 'en', NULL, 'Ferry
The ferry is late today because of fog on the river and nobody knows when it will run again before the evening.', '\x785e3d8e416ec3300c04bfb22fa8903bcb635fd00f50116d0a55c8406662f8f78513b4873dcc2c092c59de0686f8faa9ce642a8d297b0ee52f9df3a0f2062aefaa463b986466bf9ed62e7f677661baf3b7299653a06f18928a8c2607aa5ee5b12962c1122bc291a698fda913e20d1e35da811f8f7dc36eeae889bd8f81f970c82add517589a9af477daa775f3fa8dc99caff9a13ced4d7c862791bfc0b17ce4ef8', NULL, '2026-11-22 23:13:44.769162+00', 1, 'http://127.0.0.1:8899/', 'run1', NULL);
INSERT INTO public.pages VALUES (5, '\x780608ab8686c0f55310c06a135c4c7d', 'http://127.0.0.1:8899/a', NULL, 'Bridge', NULL, NULL, 'en', NULL, 'Bridge
The council bakery captain morning teacher harbour lantern opened. The school teacher letter school stadium garden morning closed. The market school river forest village garden engine opened. The festival letter lantern kitchen morning orchard bakery opened.
The forest station river river river stadium concert opened. The forest garden painter winter engine kitchen river closed. The teacher letter school concert orchard tower orchard closed. The teacher letter museum island river engine village opened.
The ferry stadium kitchen captain museum market kitchen moved. The forest kitchen festival valley island engine valley closed. The museum museum bakery forest school captain valley returned. The bakery captain bridge school orchard kitchen morning returned.
The engine painter ferry tower concert forest festival moved. The harbour letter painter valley market teacher ferry returned. The tower school kitchen river school bridge museum returned. The stadium ferry ferry valley orchard river teacher closed.
The concert island captain concert orchard garden valley moved. The captain bakery tower letter island lantern painter opened. The garden morning captain village forest kitchen valley closed. The valley teacher concert winter engine bridge school moved.', '\x785e7d545dce9b3010bc8a4fd0e87ba73cf40cbd80633660616cb4183ee5f615ec8c4ba4aa0f09c2f6cececf9a6eaa4b72c9e7f1a7e4be9bc40f7d57634dd2ffd2388cd23decad7bd8deb30cefbef35a633857a7af766efaeabbb5ff3d890b65cf2126f7f4b3e8db05bf561fb35b8ae6984757c58749d44d5e9f65d7b37b15cdaeac9265f8e14e882d4ca524c7a3496a15e5ea56fd10f7c58d5e07f98b1b52d958bf789da5b240e321ea5e4565abee8829f951582d798c593e9abf64abf1f0c9a12d09ceb186e9d6b06898bc0ed40988eeb1d20874dcaaafb1646734eeff54124a0ea2f59385158f4673f5f124e1beed01d6331819e6dd807f3bd7fa80792ddfa28e3afe53bfec9bec8b8b5bf279801070a09fc5b8dfe58beadb5123b9b671304824c5dda51ccc10ee71a7a572f894e44d2e64618b7709e08c0742022806835c00a952773d455cfd51c133cf6bce3952f48cec38130de2e6032832c2d7658b59cf4040ab69bcd9d0ae890d23514019f6316ec36e242e1dd66933de33f85a8458843438f559cdf80cd9fed19b1e18162920829b7e8a44623494cb84c1a403fce6000b1088e9c1dd0426af28dd29368c977ee03221a2716e61fd0c63d01e2a2e002c3581e0fd7915e1211c35f697078ff6b13c5fce9f7d431fe7a7b7ff0318470779', NULL, '2026-11-22 23:13:44.75174+00', 1, 'http://127.0.0.1:8899/', 'run1', NULL);
INSERT INTO public.pages VALUES (2, '\x1de6da25cba55239c126eb4a37c9ddeb', 'http://127.0.0.1:8899/b', NULL, 'Harbour', NULL, NULL, 'en', NULL, 'Harbour
The orchard museum market kitchen garden school council opened. The harbour river garden concert island museum morning opened. The orchard valley concert tower lantern teacher ferry opened. The lantern winter island river village stadium morning moved.
The morning lantern winter ferry museum museum stadium moved. The harbour captain library station painter garden valley closed. The ferry orchard school lantern harbour island village moved. The river island museum bakery festival forest museum closed.
The engine engine library museum engine letter ferry closed. The museum lantern village morning bridge harbour bridge returned. The stadium lantern valley concert stadium school festival moved. The council painter winter harbour engine island winter returned.
The lantern ferry tower engine kitchen bakery station closed. The forest station market village bridge festival orchard moved. The teacher bakery library captain orchard market station closed. The museum letter river bridge tower festival harbour moved.
The kitchen painter station river station museum station closed. The teacher stadium engine captain captain library painter opened. The museum library winter forest letter museum council moved. The garden library ferry station bakery river tower opened.', '\x785e5d545b92ac200cdd4a56d056ff3b7ecf02ee0610d342358215d129777fcb4e8e3af361514892f348a00d754a945c1ebf38776d6037746d8d3571f7eda42fabb48d6edb460ffb32ec5deba4467ffc0dcf2b303cbb76eefe05a6223e3819685a175e279a9cbcb9d23b561f38d3e864e04c8b0fa524f265cd3e262a33671e1e74e4072d49123716c4fb923d4ba5b82497afda4572cce3af74c06f2e25de0989b5fcb01c622b4ba6cace07167ab1c8fe2b1d113ff15881a75cb698921b9996ea86784833f8a96c3c3cda66860538f8534cd1c05d97abd6f6d700efe6ea62a6147b71b21fb035964cb3536ea35a03a1a92ca8a04070c2bc0619f86bd2204a457cd255ad9d1bdddebd59767af152e3e612bd8af052d108afe0370b388f3133d90209168ebf5cebd9042bf1216061607c51545b7b89c3780d8a6d85eb2ae714c1d7b386b964e38063f3e694757301b309bb6d22806a1acc253b3c39dc9c000395a97368c96fbb14662e1a7cb7c27cc691dd263862d24ffa68f94d0646dd30d0090cd799a1858173a7806e68b774380c58d59cf0f046e16f1e4028bc048c16c3ce80b0bd73800af4cd0c840aac50079c72bbd9561d21d631f337a9388b41eb55c76724edb2215b9b09a6e6adaa514f8a227f3c68ce17f3d81c9f3ea4cdf10077ff018f3e0bc2', NULL, '2026-11-22 23:13:49.207342+00', 1, 'http://127.0.0.1:8899/', 'run2', NULL);
INSERT INTO public.pages VALUES (1, '\xb713df18cc8f0fd932aefaf3b35cd190', 'http://127.0.0.1:8899/', NULL, 'Start', NULL, NULL, 'en', NULL, 'Start
The letter library tower lantern council ferry captain opened. The station valley letter forest library harbour station opened. The kitchen garden ferry festival letter kitchen engine closed. The ferry orchard bridge market council valley captain opened.
The teacher festival garden morning kitchen forest market moved. The winter painter orchard kitchen morning engine forest opened. The teacher lantern island winter garden lantern station opened. The winter festival forest river forest engine bridge returned.
The captain school council river orchard engine kitchen opened. The library river market teacher bakery winter forest closed. The station river forest harbour council concert island opened. The valley harbour bakery school concert island winter returned.
The harbour garden winter stadium teacher harbour festival closed. The ferry library kitchen bridge bridge lantern concert closed. The kitchen lantern kitchen bakery bridge market captain returned. The forest orchard ferry library valley bridge kitchen moved.
The captain painter valley bakery bakery teacher festival opened. The captain tower market captain forest bakery tower returned. The winter garden winter bakery kitchen river garden moved. The river engine market winter orchard letter lantern moved.', '\x785e6d55418ee4200cfc0aeafb6c34f70c9fd8fd8043dc0d0a81c8a17b94dfaf12ca281df5890076b9aa6c91de97399a48e9f1c3c9f69e69b47d0925b2fd5b484adfd54ddfd5ab218f9bed494a70fba9ffd630ff6dfbc5fef36c2297c262621884643325ffee3b4a852519979fc98568ee2cb219474ba1904c5e38f1f8c7ece96ba11272322f8a913745bb67e1b534504f32e4a7b4e033c0148af39ccc8364e4844a775e4b7851543c0de2f408898d8b79550235218bf324a319248c0f3633c9c4a5d107b90bffbe5bd484c2e43c8b6975c166ce92427a18ad0f5d809ff34b59fc86dd30b3505d95ce843cc5017fc0e4930dca409d0f6ba4341ae0828e5e7ef211914d016a4878edbaea06e561927079ca4ee064845ab43a9f736c06561455059809e2f2498676bc26c027d536d0c4b2a926703af75275d56c04e8f0281797936329060e9daba3cf9a817a4dcb5b1e587c3241f3e13a22d7426378ce46d5685473fcaca44ea5ba31c129188f45bba982cef99aa131ba872420c05f6d5ad3728c24ecd3a6bd338253c051f43ad01fc641e75ad3c0a22e6a4833229f5aa2dceabb72210c8a105543de45c0fbf74e207e02eb3a2d08a9120e03ea3986159581a7a6e07951976bf2a1bf6b8fe6627b325ef8fe73ebe8663bea3bb2e674f6959864bf383e2eb7c3cd76c3f5eccbe565db2f8e8fcbadbbd9ce5dcec69bedc67a7690abef7ab7ff0dec7fbd7132a4', NULL, '2026-11-22 23:13:44.677621+00', 0, NULL, 'run1', NULL);
INSERT INTO public.pages VALUES (7, '\xd48ffc95578d11e62d774a749b9c6105', 'http://127.0.0.1:8899/b-copy', NULL, 'Harbour', NULL, NULL, 'en', NULL, 'Harbour
The captain captain bridge harbour harbour tower village closed. The kitchen morning painter captain museum lantern library closed. The library bridge bakery painter ferry engine stadium returned. The morning kitchen captain valley tower concert island returned.
The valley lantern forest bridge captain river tower returned. The island station island garden engine forest forest closed. The concert ferry orchard orchard river ferry station closed. The council valley valley tower valley painter concert closed.
The forest letter morning engine kitchen valley island moved. The morning bakery tower tower captain letter ferry returned. The festival kitchen letter stadium valley orchard school moved. The island school valley valley village morning tower returned.
The forest forest letter tower bakery kitchen island returned. The school painter orchard station village festival village closed. The forest island library lantern teacher island school moved. The museum morning festival village valley concert valley returned.
The museum kitchen winter school valley tower island opened. The morning village station kitchen river island village closed. The kitchen market bridge bakery stadium bridge lantern closed. The painter forest island market teacher valley council moved.', '\x785e65545bb2a4200cdd0a2b18ebfe3b7ecf02660311d342896045f496bb9fa239e1eaf447372586f34ab077790d26509c7f731c7ac7340d7df639f0f087644c87f45d7decbbfa724cd335f424d9dbb2ebbe7e0addd7d06fc35fc7c6d296c9c7b68ee2a7998dab956dcde99bc59c3e049ad9d890769e7e9902b0f86c1d47b326893ece66231f334b035c8f9d8fb508cf2cd1043f0ac9f580d03d708fb4b05c0de8c52297e138fbc866cf34f96335c2f990a81a947b8116e53e2904be4c156f53b42cd9f83d509c7e10fa6ed33050af5a5f4978cf06b21454fcc902cc06f29601e43d53f6292ad14c32715403c0c4724f41f555bf49ac23998cae95b5be5382e7e9235a1f0c2c60a92af1a0812a118edffc4355e05c3aa8a942f982708106776b3affef02fa57b9ebbf6607e46ae319de8bf7ec4f0a6da050ab1d07ade6b15b975230377a08c20b94ebe2ebe0aaa5aaaa09f88ce099442d872fd507be06f2ce00ec1a75538b8ee9056a667503bd7863801bf87a3974283393752c3a5d20bce5800ba7563fa810894e011e9b8d5b16405a60f8db1705068c3857a38198b4f1c79d54873ab40bd0ea40e3a016dd63d0c29564e1760bd1049d0aec6a38f7f3da83679c40d314e1c2a67a7b6a8cef08baf6e12c0fe537a6f23dedca7778f80754940e1c', NULL, '2026-11-22 23:13:49.207438+00', 1, 'http://127.0.0.1:8899/', 'run2', NULL);
INSERT INTO public.pages VALUES (8, '\x45dad3e27a88641bfc5d5043d6be2c62', 'http://127.0.0.1:8899/d', NULL, 'Garden', NULL, NULL, 'en', NULL, 'Garden
The library lantern kitchen tower morning festival village opened. The village letter teacher orchard stadium bridge forest closed. The market tower school captain orchard garden concert opened. The bakery orchard river kitchen winter engine lantern closed.
The island captain teacher garden ferry teacher morning opened. The council library library letter council council river opened. The winter teacher winter ferry captain ferry museum moved. The winter concert forest painter stadium winter ferry closed.
The forest garden museum river tower engine ferry closed. The lantern harbour station museum village library bakery opened. The library painter festival station harbour museum tower moved. The school festival station ferry school school festival closed.
The bridge lantern river kitchen tower captain garden opened. The concert morning engine tower garden bakery village opened. The letter bridge festival ferry library winter market closed. The island village letter tower valley tower forest moved.
The teacher letter market bakery kitchen teacher morning moved. The captain museum bridge engine harbour winter station moved. The island council station lantern island festival concert opened. The museum painter station museum ferry morning harbour closed.', '\x785e65545daea5200cde4a573027f7ddf17536301b40ec512282a9e88dbb9f68bf32dc9c076380b6df4f0bdd5cd648d1a5e937a7be9bd98d7d574289dcff713272ea5ebaea5e7a36e4f1ea3b2725f87b77feaa71f357df6dfddf992986419c5c77d9c2926809c5cf9ca8e46f165ab3a490267af35ec2e9229d21463731e58d138fbfe82e617b914b61a1c2cecf2c94c5cf4e46da8b1bc3b1d220619c98de59782fe463deadc0ea64e102c8ddcf3947f26e2b2ea45a657a9893cfc9b314ca0dfee01696ab464a3859aa8eef70eb224e53485c5502bd7b6de643d8a34b63853511807db3c85595992bb921e1f3917c88fffdb4bf9a62c7f657926d0110350c2c15d858e96a3d763e565af369e008367360f1e674db1a80282df2e900b2a01820ca533b030f7fe43ff0e6eaec64c887dc1d2f2127428d3a1f412db17e35e2cd35a35ce7cd4a59699454428d03989a8f3c258b53fc6ad0a70783cea80952f50b464941ad1793fa941b15e6bfcd070cd33cc443bc79929b74dc1f70a82c5582398426e2ca40c1d3054cb0554635053f5d8c7ce186a1d1ea5e73056cf4900908105ecc04049946adf2103067d023e88009d640f0b7be36e9e06f37c422ac1738aeb698d9ad8340b629b212d856238db81182858f0faffa56de8bfb1bf2fd84beee97b7ff075d0f0815', NULL, '2026-11-22 23:13:49.212467+00', 1, 'http://127.0.0.1:8899/', 'run2', NULL);
INSERT INTO public.visits VALUES (2, '\x34d693bf12dfbea85252771aee381932', 'http://127.0.0.1:8899/a-copy', 1, NULL, NULL, '\x1983c59bbb57247897a2399f4c3df8fe', 1795389224.753199, 'run1', NULL, NULL);
INSERT INTO public.visits VALUES (5, '\x77b465c1050301293079b5d8e0b9e6f4', 'http://127.0.0.1:8899/short-copy', 1, NULL, NULL, '\x90dede61c147fb38471a0de75874a2b7', 1795389224.770305, 'run1', NULL, NULL);
INSERT INTO public.visits VALUES (8, '\x6e5c6ba8479663759c116d02b54a0d86', 'http://127.0.0.1:8899/short', 1, NULL, NULL, '\x90dede61c147fb38471a0de75874a2b7', 1795389224.769162, 'run1', NULL, NULL);
INSERT INTO public.visits VALUES (1, '\xb713df18cc8f0fd932aefaf3b35cd190', 'http://127.0.0.1:8899/', 0, NULL, NULL, '\x6e356d187afbafc4b34e3c92101b5b14', 1795389229.118273, 'run2', NULL, NULL);
INSERT INTO public.visits VALUES (3, '\x8ba45bdc78d208712079ac5f81bff22f', 'http://127.0.0.1:8899/a-near', 1, NULL, NULL, '\xe3bf40b4c8f5f196e5fa40931f2dc83d', 1795389229.207963, 'run2', NULL, NULL);
INSERT INTO public.visits VALUES (9, '\x780608ab8686c0f55310c06a135c4c7d', 'http://127.0.0.1:8899/a', 1, NULL, NULL, '\x1983c59bbb57247897a2399f4c3df8fe', 1795389229.203403, 'run2', NULL, NULL);
INSERT INTO public.visits VALUES (7, '\x84cc62cbb26ad33c683fa164926b67e5', 'http://127.0.0.1:8899/c', 1, NULL, NULL, '\x49965eda14da36ab89f4693db3a07ef8', 1795389229.209279, 'run2', NULL, NULL);
INSERT INTO public.visits VALUES (6, '\x1de6da25cba55239c126eb4a37c9ddeb', 'http://127.0.0.1:8899/b', 1, NULL, NULL, '\x025534f2f8b05b8a91a563706b24205e', 1795389229.207342, 'run2', NULL, NULL);
INSERT INTO public.visits VALUES (4, '\xd48ffc95578d11e62d774a749b9c6105', 'http://127.0.0.1:8899/b-copy', 1, NULL, NULL, '\x1c8c82d3b34f0fdbc96be6c8c3828551', 1795389229.207438, 'run2', NULL, NULL);
INSERT INTO public.visits VALUES (16, '\x45dad3e27a88641bfc5d5043d6be2c62', 'http://127.0.0.1:8899/d', 1, NULL, NULL, '\x7c76b75a35358652bc70919831ff3386', 1795389229.212467, 'run2', NULL, NULL);
SELECT pg_catalog.setval('public.dedup_documents_id_seq', 10, true);
SELECT pg_catalog.setval('public.dedup_index_changes_sequence_seq', 10, true);
SELECT pg_catalog.setval('public.dedup_runs_id_seq', 2, true);
SELECT pg_catalog.setval('public.dedup_skipped_id_seq', 1, false);
SELECT pg_catalog.setval('public.dedup_verdicts_id_seq', 16, true);
SELECT pg_catalog.setval('public.frontier_hosts_id_seq', 1, false);
SELECT pg_catalog.setval('public.frontier_id_seq', 16, true);
SELECT pg_catalog.setval('public.frontier_options_id_seq', 2, true);
SELECT pg_catalog.setval('public.frontier_runs_id_seq', 2, true);
SELECT pg_catalog.setval('public.frontier_workers_id_seq', 1, false);
SELECT pg_catalog.setval('public.page_versions_id_seq', 1, true);
SELECT pg_catalog.setval('public.pages_id_seq', 8, true);
SELECT pg_catalog.setval('public.visits_id_seq', 16, true);
ALTER TABLE ONLY public.dedup_brakes
    ADD CONSTRAINT dedup_brakes_pkey PRIMARY KEY (run_id, kind, name_digest);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_key_digest_key UNIQUE (key_digest);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dedup_fingerprints
    ADD CONSTRAINT dedup_fingerprints_pkey PRIMARY KEY (table_number, permuted, document_id);
ALTER TABLE ONLY public.dedup_hosts
    ADD CONSTRAINT dedup_hosts_pkey PRIMARY KEY (run_id, host);
ALTER TABLE ONLY public.dedup_index_changes
    ADD CONSTRAINT dedup_index_changes_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.dedup_properties
    ADD CONSTRAINT dedup_properties_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.dedup_run_rows
    ADD CONSTRAINT dedup_run_rows_pkey PRIMARY KEY (table_name);
ALTER TABLE ONLY public.dedup_runs
    ADD CONSTRAINT dedup_runs_name_key UNIQUE (name);
ALTER TABLE ONLY public.dedup_runs
    ADD CONSTRAINT dedup_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dedup_skipped
    ADD CONSTRAINT dedup_skipped_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dedup_skipped
    ADD CONSTRAINT dedup_skipped_run_id_key_digest_key UNIQUE (run_id, key_digest);
ALTER TABLE ONLY public.dedup_unexamined
    ADD CONSTRAINT dedup_unexamined_pkey PRIMARY KEY (run_id, item_class, reason);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dedup_words
    ADD CONSTRAINT dedup_words_pkey PRIMARY KEY (text_digest);
ALTER TABLE ONLY public.frontier_hosts
    ADD CONSTRAINT frontier_hosts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.frontier_options
    ADD CONSTRAINT frontier_options_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.frontier_options
    ADD CONSTRAINT frontier_options_run_id_key UNIQUE (run_id);
ALTER TABLE ONLY public.frontier
    ADD CONSTRAINT frontier_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.frontier_runs
    ADD CONSTRAINT frontier_runs_name_key UNIQUE (name);
ALTER TABLE ONLY public.frontier_runs
    ADD CONSTRAINT frontier_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.frontier_workers
    ADD CONSTRAINT frontier_workers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.page_versions
    ADD CONSTRAINT page_versions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pages
    ADD CONSTRAINT pages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pages
    ADD CONSTRAINT pages_url_digest_key UNIQUE (url_digest);
ALTER TABLE ONLY public.visits
    ADD CONSTRAINT visits_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.visits
    ADD CONSTRAINT visits_url_digest_key UNIQUE (url_digest);
CREATE INDEX dedup_documents_body ON public.dedup_documents USING btree (body_digest, id);
CREATE INDEX dedup_documents_given ON public.dedup_documents USING btree (given_digest) WHERE (given_digest IS NOT NULL);
CREATE INDEX dedup_documents_leader ON public.dedup_documents USING btree (leader_id, canonical_digest);
CREATE INDEX dedup_documents_text ON public.dedup_documents USING btree (text_digest, id);
CREATE INDEX dedup_verdicts_document ON public.dedup_verdicts USING btree (document_id);
CREATE INDEX dedup_verdicts_matched ON public.dedup_verdicts USING btree (matched_id) WHERE (matched_id IS NOT NULL);
CREATE INDEX dedup_verdicts_original ON public.dedup_verdicts USING btree (original_id) WHERE (original_id IS NOT NULL);
CREATE INDEX dedup_verdicts_run ON public.dedup_verdicts USING btree (run_id, verdict);
CREATE UNIQUE INDEX frontier_host ON public.frontier_hosts USING btree (run_id, host);
CREATE INDEX frontier_hosts_open ON public.frontier_hosts USING btree (run_id, free_from, id) WHERE (is_open = 1);
CREATE INDEX frontier_hosts_owned ON public.frontier_hosts USING btree (run_id, worker) WHERE (worker IS NOT NULL);
CREATE INDEX frontier_queued ON public.frontier USING btree (run_id, priority DESC, id) WHERE (state = 'queued'::text);
CREATE INDEX frontier_suspects ON public.frontier USING btree (run_id, attempts) WHERE ((state = 'queued'::text) AND (attempts >= 2));
CREATE INDEX frontier_taken ON public.frontier USING btree (run_id, worker) WHERE (state = 'taken'::text);
CREATE UNIQUE INDEX frontier_url ON public.frontier USING btree (run_id, url_digest);
CREATE UNIQUE INDEX frontier_worker ON public.frontier_workers USING btree (run_id, name);
CREATE INDEX page_versions_url ON public.page_versions USING btree (url_digest, id);
CREATE INDEX pages_run ON public.pages USING btree (run);
CREATE INDEX visits_moving ON public.visits USING btree (moved_to_digest) WHERE ((moved_to_digest IS NOT NULL) AND (gone IS NULL));
ALTER TABLE ONLY public.dedup_brakes
    ADD CONSTRAINT dedup_brakes_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_content_run_id_fkey FOREIGN KEY (content_run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_last_run_id_fkey FOREIGN KEY (last_run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_leader_id_fkey FOREIGN KEY (leader_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_hosts
    ADD CONSTRAINT dedup_hosts_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_skipped
    ADD CONSTRAINT dedup_skipped_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_unexamined
    ADD CONSTRAINT dedup_unexamined_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_matched_id_fkey FOREIGN KEY (matched_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_original_id_fkey FOREIGN KEY (original_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.frontier_hosts
    ADD CONSTRAINT frontier_hosts_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.frontier_runs(id);
ALTER TABLE ONLY public.frontier_options
    ADD CONSTRAINT frontier_options_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.frontier_runs(id);
ALTER TABLE ONLY public.frontier
    ADD CONSTRAINT frontier_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.frontier_runs(id);
ALTER TABLE ONLY public.frontier_workers
    ADD CONSTRAINT frontier_workers_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.frontier_runs(id);
