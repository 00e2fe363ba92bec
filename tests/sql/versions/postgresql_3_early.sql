CREATE TABLE public.dedup_documents (
    id bigint NOT NULL,
    key text NOT NULL,
    key_digest bytea NOT NULL,
    body_digest bytea,
    text_digest bytea,
    text_bytes integer NOT NULL,
    fingerprint bigint NOT NULL,
    sketch bytea NOT NULL,
    indexed integer NOT NULL,
    leader_id bigint,
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
CREATE TABLE public.dedup_properties (
    name text NOT NULL,
    value text NOT NULL
);
COMMENT ON TABLE public.dedup_properties IS 'what this database was made with: schema version, scheme, table design';
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
CREATE TABLE public.dedup_verdicts (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    document_id bigint NOT NULL,
    verdict text NOT NULL,
    original_id bigint,
    matched_id bigint,
    distance smallint,
    similarity double precision,
    decided double precision NOT NULL
);
COMMENT ON TABLE public.dedup_verdicts IS 'one row a decision; original: the leader, matched: the member that it was found by';
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
CREATE SEQUENCE public.frontier_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.frontier_id_seq OWNED BY public.frontier.id;
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
    run text
);
COMMENT ON TABLE public.pages IS 'one row a kept page, its latest version; html is compressed by zlib; times are UTC';
CREATE SEQUENCE public.pages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.pages_id_seq OWNED BY public.pages.id;
ALTER TABLE ONLY public.dedup_documents ALTER COLUMN id SET DEFAULT nextval('public.dedup_documents_id_seq'::regclass);
ALTER TABLE ONLY public.dedup_runs ALTER COLUMN id SET DEFAULT nextval('public.dedup_runs_id_seq'::regclass);
ALTER TABLE ONLY public.dedup_verdicts ALTER COLUMN id SET DEFAULT nextval('public.dedup_verdicts_id_seq'::regclass);
ALTER TABLE ONLY public.frontier ALTER COLUMN id SET DEFAULT nextval('public.frontier_id_seq'::regclass);
ALTER TABLE ONLY public.frontier_runs ALTER COLUMN id SET DEFAULT nextval('public.frontier_runs_id_seq'::regclass);
ALTER TABLE ONLY public.pages ALTER COLUMN id SET DEFAULT nextval('public.pages_id_seq'::regclass);
INSERT INTO public.dedup_documents VALUES (2, 'http://127.0.0.1:8899/a-copy', '\x34d693bf12dfbea85252771aee381932', '\x1983c59bbb57247897a2399f4c3df8fe', '\x970c2619f9615a17ebd7a038e6276644', 1276, 7762768239579041420, '\x46e3f036713dd708395914f35a3a71aad3f93133ca4690c4db36621aa015a95b69eac146b90f69770e030988f61eac22752f6af49f4b0f375909a2df95d0e7d10000000000000000b5000000ae000000', 1, NULL, 1, 1);
INSERT INTO public.dedup_documents VALUES (7, 'http://127.0.0.1:8899/short', '\x6e5c6ba8479663759c116d02b54a0d86', '\x90dede61c147fb38471a0de75874a2b7', '\xdc8ede07d94bf951742d9a8a738dab44', 117, 2776318287683456139, '\x66469a384b5eec388bd1a5a9ede0b271625fb5d2897a5c39df87cca9661783c1dd49862accfd62de7bab1e47342b4c53b9c95890134a731dc2751f4c6866fe1900000000000000001700000015000000', 1, NULL, 1, 1);
INSERT INTO public.dedup_documents VALUES (9, 'http://127.0.0.1:8899/short-copy', '\x77b465c1050301293079b5d8e0b9e6f4', '\x90dede61c147fb38471a0de75874a2b7', '\xdc8ede07d94bf951742d9a8a738dab44', 117, 2776318287683456139, '\x66469a384b5eec388bd1a5a9ede0b271625fb5d2897a5c39df87cca9661783c1dd49862accfd62de7bab1e47342b4c53b9c95890134a731dc2751f4c6866fe1900000000000000001700000015000000', 0, 7, 1, 1);
INSERT INTO public.dedup_documents VALUES (1, 'http://127.0.0.1:8899/', '\xb713df18cc8f0fd932aefaf3b35cd190', '\x6e356d187afbafc4b34e3c92101b5b14', '\x90355f0fe1439d27820c2a3192f6d373', 1284, 7759329173432372364, '\xaef18071438adb38b0aaef1038153f2332b5e704226f2bc782920df228b7a1cb955051c87df45833729f371854a20802b2f169c38ff01e61ecf7a348898142550000000000000000b5000000af000000', 1, NULL, 2, 1);
INSERT INTO public.dedup_documents VALUES (3, 'http://127.0.0.1:8899/a', '\x780608ab8686c0f55310c06a135c4c7d', '\x1983c59bbb57247897a2399f4c3df8fe', '\x970c2619f9615a17ebd7a038e6276644', 1276, 7762768239579041420, '\x46e3f036713dd708395914f35a3a71aad3f93133ca4690c4db36621aa015a95b69eac146b90f69770e030988f61eac22752f6af49f4b0f375909a2df95d0e7d10000000000000000b5000000ae000000', 0, 2, 2, 1);
INSERT INTO public.dedup_documents VALUES (4, 'http://127.0.0.1:8899/a-near', '\x8ba45bdc78d208712079ac5f81bff22f', '\xe3bf40b4c8f5f196e5fa40931f2dc83d', '\x0892a3bc3a1a3e0c5d2223f73ef78deb', 1271, 7759390471139036812, '\x46e38036713dd7083c5914f35a3d71aad7f931331a7490c4d73f621aa014795b69aac146b90f697708831988f61eac22752f6af49f4bef375909a21f95d0e7d10000000000000000b7000000b2000000', 1, 2, 2, 1);
INSERT INTO public.dedup_documents VALUES (6, 'http://127.0.0.1:8899/b-copy', '\xd48ffc95578d11e62d774a749b9c6105', NULL, NULL, 1288, 7723361657074470412, '\x5cd9ece2868edf5b7968f4e3d3882fa5bdb4cc40d5122e7969d109c9ef779c7c535d94024870c9c753931ded50c735fdc2f8b8379d76defee2340a2c902ac22a0000000000000000b5000000ac000000', 0, NULL, 1, 1);
INSERT INTO public.dedup_documents VALUES (5, 'http://127.0.0.1:8899/b', '\x1de6da25cba55239c126eb4a37c9ddeb', '\x025534f2f8b05b8a91a563706b24205e', '\x15bbd1394ee0f35bafd878db92e5ceed', 1281, 7763863280548044428, '\x5081dc361b922f8aad4afb6d98a57608d5e96bf42fec833126e67655431d0e637cff705d55b9f2f822da6818c2f716565eaab8b28a13c154d827dce9b6d03a140000000000000000b5000000b0000000', 1, NULL, 2, 2);
INSERT INTO public.dedup_documents VALUES (8, 'http://127.0.0.1:8899/c', '\x84cc62cbb26ad33c683fa164926b67e5', '\x49965eda14da36ab89f4693db3a07ef8', '\xc23c68c89189d3825a1bd39ab5760c20', 1318, 7750282237207858316, '\xaa349221717cd240acb684c48cdab41112c8bb3f5f1323385ab212cda49eead03d451f2f5c117ce1a5c0ae21210aeb06c9f41826fabedff900fe06eff175b5650000000000000000b5000000ad000000', 1, NULL, 2, 1);
INSERT INTO public.dedup_documents VALUES (10, 'http://127.0.0.1:8899/d', '\x45dad3e27a88641bfc5d5043d6be2c62', '\x7c76b75a35358652bc70919831ff3386', '\xeca7af98fa8428e376388af8de5bfb77', 1275, 7763898469080882820, '\x8671e9da41bfca4e4b4989c99cb2b076bdcd080a1a4522992d65e27296a31f9b511bc60c3c25233b6bb70a92dc878756953c64c4c3a7a1767171df2be7cfc4f30000000000000000b5000000af000000', 1, NULL, 2, 2);
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
INSERT INTO public.dedup_fingerprints VALUES (0, 2776318287683456139, 7);
INSERT INTO public.dedup_fingerprints VALUES (1, 8558289032055557259, 7);
INSERT INTO public.dedup_fingerprints VALUES (2, -1672200473382941557, 7);
INSERT INTO public.dedup_fingerprints VALUES (3, 903858513473038539, 7);
INSERT INTO public.dedup_fingerprints VALUES (0, 7750282237207858316, 8);
INSERT INTO public.dedup_fingerprints VALUES (1, -8601475552285864820, 8);
INSERT INTO public.dedup_fingerprints VALUES (2, -3905909991891972980, 8);
INSERT INTO public.dedup_fingerprints VALUES (3, 5515901903543847371, 8);
INSERT INTO public.dedup_fingerprints VALUES (0, 7763863280548044428, 5);
INSERT INTO public.dedup_fingerprints VALUES (1, -3997952101756707188, 5);
INSERT INTO public.dedup_fingerprints VALUES (2, -2755240079868502388, 5);
INSERT INTO public.dedup_fingerprints VALUES (3, -2410433233397950013, 5);
INSERT INTO public.dedup_fingerprints VALUES (0, 7763898469080882820, 10);
INSERT INTO public.dedup_fingerprints VALUES (1, -1691827617700520316, 10);
INSERT INTO public.dedup_fingerprints VALUES (2, -3331700831634989436, 10);
INSERT INTO public.dedup_fingerprints VALUES (3, -2412685032674700861, 10);
INSERT INTO public.dedup_properties VALUES ('schema version', '3');
INSERT INTO public.dedup_properties VALUES ('scheme', '1:words/count/mmh3/64/sketch3x128x4');
INSERT INTO public.dedup_properties VALUES ('table design', '4 choose 1');
INSERT INTO public.dedup_run_rows VALUES ('pages', 'run', NULL, 'url_digest');
INSERT INTO public.dedup_run_rows VALUES ('frontier', 'run_id', 'frontier_runs', NULL);
INSERT INTO public.dedup_run_rows VALUES ('frontier_runs', 'name', NULL, NULL);
INSERT INTO public.dedup_runs VALUES (1, 'run1', 1795386885.7392933, 1795386890.5383441, 'finished');
INSERT INTO public.dedup_runs VALUES (2, 'run2', 1795386894.7478223, 1795386900.0839982, 'finished');
INSERT INTO public.dedup_verdicts VALUES (1, 1, 1, 'new', NULL, NULL, NULL, NULL, 1795386889.9014182);
INSERT INTO public.dedup_verdicts VALUES (2, 1, 2, 'new', NULL, NULL, NULL, NULL, 1795386890.029273);
INSERT INTO public.dedup_verdicts VALUES (3, 1, 3, 'exact duplicate', 2, 2, 0, 1, 1795386890.0348094);
INSERT INTO public.dedup_verdicts VALUES (4, 1, 4, 'near duplicate', 2, 2, 3, 0.8583333333333333, 1795386890.067048);
INSERT INTO public.dedup_verdicts VALUES (5, 1, 5, 'new', NULL, NULL, NULL, NULL, 1795386890.0946984);
INSERT INTO public.dedup_verdicts VALUES (6, 1, 6, 'exact duplicate', 5, 5, 0, 1, 1795386890.0974846);
INSERT INTO public.dedup_verdicts VALUES (7, 1, 7, 'new', NULL, NULL, NULL, NULL, 1795386890.1438997);
INSERT INTO public.dedup_verdicts VALUES (8, 1, 8, 'new', NULL, NULL, NULL, NULL, 1795386890.1594706);
INSERT INTO public.dedup_verdicts VALUES (9, 1, 9, 'exact duplicate', 7, 7, 0, 1, 1795386890.1651413);
INSERT INTO public.dedup_verdicts VALUES (10, 2, 1, 'unchanged', NULL, NULL, NULL, NULL, 1795386899.3491042);
INSERT INTO public.dedup_verdicts VALUES (11, 2, 3, 'exact duplicate', 2, 2, 0, 1, 1795386899.385293);
INSERT INTO public.dedup_verdicts VALUES (12, 2, 4, 'near duplicate', 2, 2, 3, 0.8583333333333333, 1795386899.4012527);
INSERT INTO public.dedup_verdicts VALUES (13, 2, 5, 'updated', NULL, NULL, NULL, NULL, 1795386899.5131085);
INSERT INTO public.dedup_verdicts VALUES (14, 2, 8, 'unchanged', NULL, NULL, NULL, NULL, 1795386899.51914);
INSERT INTO public.dedup_verdicts VALUES (15, 2, 10, 'new', NULL, NULL, NULL, NULL, 1795386899.54134);
INSERT INTO public.dedup_words VALUES ('\x90355f0fe1439d27820c2a3192f6d373', '\x78016d54dbb283200c7ccf5f22a6ca54a113b19dfefdc1b24be14c9f6c35c95eb270646759f2aab269ce6ab285c99cbd25a7d7f5cfc5f2328a4f67f461939b5af9e6dd23bb10253d34eafce93eb2cb214579ba6dd33787dd92e991dbccd5d9944e131677fdf790fdaa5116677379549c5b690e6522c7b148e312a28adfd201f85a9fcc178859260bf3a2b23bbb6b6edc41ed07f9acae805b41051e58ecc962888b10177230774f4fa0bfc2e5923c8a27d79334d8c631a08d299d78e2d3ed70945fb3602cc8f0e30ff350d8e803c1c2f3125577007058639a4fe3eee8c8e1d794b6e6576da718f45353c79e89a9f53087922677d7921832ac5cbac551cdc0953961ea7c8a5e4b4ce14b878d9db201684dc8d0060e837436c263941452733877a1085635833b013579f480f6c0663cb83aeae8dad9c012fe87927f49c6b91b24304ec8fec807fe600c877f93cbd533baacaf5b0309dad0e4770be0807a5df0c48127a871cce74619b8c3efd17d94936c4d463b913c73f53552095c8c636479a3e10efba8fe03e6b6cdd3');
INSERT INTO public.dedup_words VALUES ('\x970c2619f9615a17ebd7a038e6276644', '\x78017594d1ae83201044dff94bc4ad9222342bdaf4ef2fb73b43b1495f3441d83d333b38699c1771751517ca91434c6ef277d1970bfe517dcc6e2b9a635e5c151f5651b77a9dcaa12ef95c45b32b0fc932bf2bec612d25f59d496adbe1b0ba573fc763738bd7593e65432a3b8e6f5eef52b95fe3d90edf8aca5edd1953f28d1387252f31cbd8fad676c5d32787a6a4bbc7daa83fed8a862660a6c8011e9d1a668d253b6b3f3e2920941c44eba5bb5182eed16cfb17feb4176049622507d934f66a57ef02e05a9ead24f17f1fdf8e5d9acb716f0ecc5001029a388a166da3a63222f6d15b2dcc855fb7726260b08c1ffa0cda1c92bcc8c0eeb6389003152fc48e63b02891041555eaa14cdb574e274b32d246a3c8c6145f2a808cf3babdcd30a3693f70bab48ff87e0f2ce52c025278c6d95ae94b73eb035c625a38b00845f0e7729813b3baf644672ab75204186ca7344484167399e71166eae943e77ed86f32905d94e4e5a32743e0be6f3f7e328ce657a2d07c80c74a9785bb78bd6ad728bc47f6077033ca6f');
INSERT INTO public.dedup_words VALUES ('\x0892a3bc3a1a3e0c5d2223f73ef78deb', '\x78015d54dbb2c2200c7ccf5f521a2b230527a53ae7ef0f35bbd8fa626780247b8b93a57951094b4845da5d25d6bdc494650a0fb53f89e1d98eabb55a496591a621ded5e41e6caabb490ea5a915a94f2d3a7f3a6cf15e6b1e2fb3b6fe4270bab530a77d9525d8acdfb631d70de56bb08736beb7f4eac5b76aba3579a59c43478b622d4b2a7a1e7debafd22b64c150a27ba4d6517fc7558b9dc04c9227f098d461b6548bf8f8f32f09c45aa25abb4c779440f7ecb21dc4dffe015822f19627da14f62ad79802c0adbe7b4bc2477910d3301fa3ac36ed1e84f631a2e679f8f30e9b143db4ccc96f6f6add5fd221aee1f7be69b70966f076ad2fb8049d783184efe267fd93b475e96701691c9ed8ae68ef1f648dda7b7e8804c5a66d3746ec279c93871811a33ac4c6e85e3a00194d72315c5d6a0e3883da97fc08bf479b4d80149ad1506f7d19ee730097303d11380423c87429a663ded77f3199ccbd15019c642735d8438979cc7a24987c86e97c0ff99d06028b96dc386a725aaddf95c73f0b97fa2751187e028f93410b0b78ddaf6b143e96fd033dd3c7a0');
INSERT INTO public.dedup_words VALUES ('\xdc8ede07d94bf951742d9a8a738dab44', '\x78011d8d410e80200c04effbcb2a5b6c246d5250c2ef25dee6309951662e8c8bd09faca3c9204614593878cad38950685484ff66dacb847881c71165e1f6981df3a2c306a6b5867c1c52c57c37347207f7822fddbc7e33cd286c');
INSERT INTO public.dedup_words VALUES ('\xc23c68c89189d3825a1bd39ab5760c20', '\x78017554dbb283200c7ce72f1153658ae044b4d3bf3fa9ee62e9cc7962c464b397e8e2f529d5d5595cd1307b1ddde09fa26f174a0ea2d5ce3d87985c2d2f5117b7e4f3e8521cd45b914add35cb78026cd58f715f08606043d9f5ae8dc70d70c494fc243d804157d1dc4693d12b7eeedd43b61a0f9fdc16e652522beb484c2641b22397e0d7eae307f25241c8f61ef71dc633d6301b889e8c57ebff8cafe2ed561d753d44cd01de9655e8c3b26f6236f0cd8542c12444add0d2cd6f4297a239e689ae4b9e6216078964c9a20e023951f6a3a899870c972bf341e36809b0a46b87e324490b4080ca9a8930792907560185165692b7a37610c7825d0bc535ebc6a3826181bd8dabb1644736d088e32b805f8fb9ad6c6cfe5e11b6c79b3f596132f8e0807fadadd990caf6f32950393ae9273604405ca8ce026a2038f684b597798c9eb71d02b8b77ccf65c6e49f20f1f865219683cef164f2788d409b13ff1ac8df063e70ec05f305dadd7d7d3254059bc881d9a00babda49874a76d0765ad1f802825e9f04fe00e3e6dc1c');
INSERT INTO public.dedup_words VALUES ('\x15bbd1394ee0f35bafd878db92e5ceed', '\x78015d54dbb283200c7ccf5f524c9529854e443bfdfb83cdaed8f3844092bd24b804bbd5cda42d2ad5e2126c92e7b6eaf69467b0873679a416172d32f7abbeac71a9354bac5b89294b7d69d1e99bde73bfa52ced6a0c8fb544b52669cda18cd2d54a2af3359be07bc8593fbdbee7b5faeec57a6e532bd234742e267735fb5cb319f04e4720d19cc99e720eb3cadac2940e5d007fd61dcc79f2af8aa3d00d376514613265c7f06a2115c9e966a1b3eb912dd522af7e7870827fd497eb0a748881f9f09754581dfe51cbe0ee1a7fedbd85877606775d5bea7872afd63fd9d738a0b5cca9a860217328e6a9b683beb3bce4228a4407336fedcdd2d44d277f6c4ddb661c187a7996f86d3dafe1c8a96668e710d262749f9810006f70f9c380c82ece670d591c7b78c96e5e0c80abbcc173a10f107cb2e67c0ff61c6620d07dced199e0cf90301702ec8037c80701b02ee504a723039cf2681dcb7b15ee80c0ed059be4fbd5f751c13592e74a5184b9fc2ec81ecf05ed81a9d93521867d1ef4f19858defb479a30d4a5b8138efb07714ece32');
INSERT INTO public.dedup_words VALUES ('\xeca7af98fa8428e376388af8de5bfb77', '\x780165544192c3200cbbfb9784b80953021d42d2d9dfaf1ba440774f9d00966459eee2caac49eaaa12c3545cf991e852d592e419aa5f3f77f9ad45b65c52488b3c74afe17451ce10a35b54f24b93ce17028fa2564390aace008ae4e257a391bdba391c9b4c25cc56f8c8c5b0c4c7bca37e73e5a91584bb5f738ee2ddabba906e90a509f639792d75649fdc534d3ed94a388d9b4dbcc3a729d1b48464ada2c5813bec7638df74d40eba871683e621bd185af7f9483ec46e22cd6c56f09abf4ddc500f7d64c067a3a505ed6b3b763513b77cc235bca523b0f565a67d3aa6e9df88dd733c479f006ff2dae06119a4f4427a68a39df27111d5909300e2ce028ce0747a5a98372abd9365922f242203913964df08c8bfb2a614b77f1f0d13470cd9c7775e1a199d873bc3bce836a300975a199ea3653a31546341b8085ca9a69cbe6062588a4138a24a5c6edbb5a6b699512da9d70766dba3c278a104d0d0c955e123b6d6cb69070602f9689dd3826c0eb15773c3b0297c40ff717d8f930e0fb681978121028eb11ef89fa29ce6db2faea1cb07');
INSERT INTO public.pages VALUES (1, '\xb713df18cc8f0fd932aefaf3b35cd190', 'http://127.0.0.1:8899/', NULL, 'Start', NULL, NULL, 'en', NULL, 'Start
The letter library tower lantern council ferry captain opened. The station valley letter forest library harbour station opened. The kitchen garden ferry festival letter kitchen engine closed. The ferry orchard bridge market council valley captain opened.
The teacher festival garden morning kitchen forest market moved. The winter painter orchard kitchen morning engine forest opened. The teacher lantern island winter garden lantern station opened. The winter festival forest river forest engine bridge returned.
The captain school council river orchard engine kitchen opened. The library river market teacher bakery winter forest closed. The station river forest harbour council concert island opened. The valley harbour bakery school concert island winter returned.
The harbour garden winter stadium teacher harbour festival closed. The ferry library kitchen bridge bridge lantern concert closed. The kitchen lantern kitchen bakery bridge market captain returned. The forest orchard ferry library valley bridge kitchen moved.
The captain painter valley bakery bakery teacher festival opened. The captain tower market captain forest bakery tower returned. The winter garden winter bakery kitchen river garden moved. The river engine market winter orchard letter lantern moved.', '\x78016d55d192a4200cfc156adfefac7b77fd89db1f40cc2835085664666bfe7e41d214baf30492a4d3e904ec97b83ae5b49f3fc90ffd427a1afa68a3a3e17fd41cfbae7cf45d318d617a0d7d3258935cfae51fdcd2aedf86af8594a3188995b3236b7ea918bef397f6e9d02b131ede58a76ec4c966f416b5f52a6ce469faab72f81e75b4c1aba7768e5e40bb05a63d56d045f3181e5c9d5b80bb8d6621af66cd535a4aa65b8ab609127870223f5b4fcab8b0834009086c5292498d6ca799d4aaf94eb1d2177217fe7db74184483a91e0945df20a9b35b0b77e56c82f7509fc1a9e60f16db3606a4bf2e4157410071ce12f30ad0c6000e5ed9e7693125ca10323446f01c4b3562039d83e735da51f925e44628a0fce8d6c848044bb59427055c08282aa0406c5b52c3046254074426da3be531a23302d9cda5ea2ae13690c0f66d1046f88a31285daecd2674448be5acb294e58bc1301f1a2ba782672937dac0ad5c0ab2ade5652a6126a4029115e16741305b5f188800fbea5a4cb98cbbdacb51c3713432637e3cc4894121ca097817e330e986b8495460a19085285685b82812aef0aeea510168ac0399e9e7311a2fdb913e20fd6655aea8dad77b29ccbb04a66c1c324e3f193e7aea9bfab8f667a24b45a986e9f1f9dfe183add777a50cdd91f13b657361c9b5f564f9a0f6bde5cac63328cd733e08deff04c8a3097887d091cd3f9b1beb301f1706850f303d8957f4497ff2cc30ffb7b4c50', NULL, '2026-11-22 22:34:49.717569+00', 0, NULL, 'run1');
INSERT INTO public.pages VALUES (3, '\x6e5c6ba8479663759c116d02b54a0d86', 'http://127.0.0.1:8899/short', NULL, 'Ferry', NULL, NULL, 'en', NULL, 'Ferry
The ferry is late today because of fog on the river and nobody knows when it will run again before the evening.', '\x78013d8fcb0dc3300c4357e104357a577dec045dc089e50feaca81a324c8f6b511b4070122443e5094f453509cc4078ba5c4ce5bd2ac85ed935b3bc95c82cc759aaa3f2db9a679ee164af79fad6fb4d857628491435e3b55195abd3b31f1ecb6955103428da802edce96776e70e2217580f1967aac38120bb2e2c8a5a06d02175d96ce08b575600ff2ce9225dec82c96ccbfcd1063ae9266bc66bf17ce4ef8', NULL, '2026-11-22 22:34:49.930121+00', 1, 'http://127.0.0.1:8899/', 'run1');
INSERT INTO public.pages VALUES (4, '\x84cc62cbb26ad33c683fa164926b67e5', 'http://127.0.0.1:8899/c', NULL, 'Market', NULL, NULL, 'en', NULL, 'Market
The orchard bakery concert council tower island library returned. The stadium bakery harbour library river island village returned. The lantern concert orchard winter festival school concert returned. The garden stadium captain council orchard stadium council returned.
The kitchen river painter teacher harbour ferry teacher opened. The museum teacher river village captain lantern school returned. The festival morning island engine garden kitchen morning returned. The island council forest tower market bridge council returned.
The winter lantern painter engine teacher stadium captain moved. The engine valley village garden bakery tower concert returned. The bakery orchard forest station painter island island opened. The captain lantern library painter festival ferry festival moved.
The concert forest bakery bakery market festival stadium closed. The stadium village bakery lantern museum market harbour returned. The captain stadium school harbour tower morning harbour returned. The forest council river museum engine teacher engine opened.
The bridge library library teacher bridge garden festival moved. The concert forest island lantern valley orchard bridge moved. The river harbour market library concert bridge winter returned. The museum library lantern council festival bridge captain moved.', '\x78015d544192a42010fc0a2f1863ef8e3fd8db7e00b55a894630107ba27fbf289935da275a2892ccacec6ae7bc78e36d98be2574ed2c76ecdaecb297eeaf4d4fc96d53bfdaa69ef5717c77ad4dd90da5a69dff685df9d9aeddbf594c4cc36cd3687afb94f436430c83a45cd63d0cce9b1c7f2419b7955747e35d9f6c294a92f71464fc3207c296ede8f6850805ad8f7bfa2d76af5f8497f3de4ef28150c0b3a4a08f93d38f3bf6cd43b6ec5ed69b6d9863f45a76a73115151294cd60d76cdd81598510936cb9af206db3d293a7cbc35cb0d2497d2d30078d2cb6ec2643810f49c50beec655d49165dfa418c2a30a43e92446d110a53c4e4f55f2125370616207244c2e888156f264d11d034da3d0474cc547347439f362fae4c6d20d96e8fd8b17e801d9d20c10a1447515ae2ff1c578a0b2f4cfcbdbd0052840ea6aca983da5715a8112f60f32ca83d9c560c80762b15c9bf1e93743cc9b6a75eda77e56091727480f0cc00b0b0cd5db6a888f1b9de01e3dc0555a8bd4008929bb9b4131844278585c7d641cb87b87007dedf99971bcfdd1557cc2cd8b15c80dade4ca34e0183d564f2ea1f8f092f30573005961cb0177b95eff51d407c7c882d8b88600df4d805e5e610b688a5206066dbf64a2d1b15ac6c6313a9a3a6d9b634877ff0129af193d', NULL, '2026-11-22 22:34:49.930863+00', 1, 'http://127.0.0.1:8899/', 'run1');
INSERT INTO public.pages VALUES (5, '\x34d693bf12dfbea85252771aee381932', 'http://127.0.0.1:8899/a-copy', NULL, 'Bridge', NULL, NULL, 'en', NULL, 'Bridge
The council bakery captain morning teacher harbour lantern opened. The school teacher letter school stadium garden morning closed. The market school river forest village garden engine opened. The festival letter lantern kitchen morning orchard bakery opened.
The forest station river river river stadium concert opened. The forest garden painter winter engine kitchen river closed. The teacher letter school concert orchard tower orchard closed. The teacher letter museum island river engine village opened.
The ferry stadium kitchen captain museum market kitchen moved. The forest kitchen festival valley island engine valley closed. The museum museum bakery forest school captain valley returned. The bakery captain bridge school orchard kitchen morning returned.
The engine painter ferry tower concert forest festival moved. The harbour letter painter valley market teacher ferry returned. The tower school kitchen river school bridge museum returned. The stadium ferry ferry valley orchard river teacher closed.
The concert island captain concert orchard garden valley moved. The captain bakery tower letter island lantern painter opened. The garden morning captain village forest kitchen valley closed. The valley teacher concert winter engine bridge school moved.', '\x78017d544192a3300cfc8a5fb0d4debd1ce60dfb01c728e08ab1296192caefc7446a0752537381c4585277ab253b95399ae8d2f88f526f2772436f4b2891fa2f0ec348b6937fb6936f973c3c7bebb8045fefd8e96fbb577fdaa5ff3f91f1794b3e44737137e2a7f16e292e2433674e218da690f313b1991c5ff2c67bf5429c4c5e28d1f0c7ec29563fe51cdbd548a55ec1e95adc10b6d98c8e077ae7f531af889f1ddfa82080c3bd465f33d35acc3dc4e8464234a531243a15bfd66be1eeaa2e5216006fa154e0ef82997de53080a7e2b7dd0221b462c55b424e46601c9f60e273f2c4e58c42e02ac9a52ab84bf09097a20622c9791400229f956b751479c98f9a133c7e899fb795aae261ad5a0c4a443140cf1fe813d7f68323b0363b484aed14becef98e1eaa7af8d2ba523b13e9092c402187470a8a595f6a46b444fc052c9a92a96cdc3cf861dfcb6b1e602968067430774b71b08142440baf2f59447a344461358e0719da988819914521ab7c68b7e46e205eb3249574a280571ca3874a4d953a47a37d92599e5a1b1a482e40d0161cf883a4ba07a2e31869d4e920f6360202b421c2478dad3931a250e7b84b3ed784ae23f8f6c3665afe68243d6a047558cfa378b687f4efa541d79665dd0bfb6ee8648776fbeaedbf0118470779', NULL, '2026-11-22 22:34:49.841885+00', 1, 'http://127.0.0.1:8899/', 'run1');
INSERT INTO public.pages VALUES (2, '\x1de6da25cba55239c126eb4a37c9ddeb', 'http://127.0.0.1:8899/b', NULL, 'Harbour', NULL, NULL, 'en', NULL, 'Harbour
The orchard museum market kitchen garden school council opened. The harbour river garden concert island museum morning opened. The orchard valley concert tower lantern teacher ferry opened. The lantern winter island river village stadium morning moved.
The morning lantern winter ferry museum museum stadium moved. The harbour captain library station painter garden valley closed. The ferry orchard school lantern harbour island village moved. The river island museum bakery festival forest museum closed.
The engine engine library museum engine letter ferry closed. The museum lantern village morning bridge harbour bridge returned. The stadium lantern valley concert stadium school festival moved. The council painter winter harbour engine island winter returned.
The lantern ferry tower engine kitchen bakery station closed. The forest station market village bridge festival orchard moved. The teacher bakery library captain orchard market station closed. The museum letter river bridge tower festival harbour moved.
The kitchen painter station river station museum station closed. The teacher stadium engine captain captain library painter opened. The museum library winter forest letter museum council moved. The garden library ferry station bakery river tower opened.', '\x780165544b92a3300cbd8a4f30d4ec19d67d80b980310ab8626c4a98a472fb16911e81ee953196f43e92dd4e754e2ef93cfea3dcb513f9a16b6bac89ba2fcf7dd9b86d74db367ad897e1d5b59e6b0c12d44e7f3f81f2dd2eddff895ce130791edcbcadb4cd6ef67ca7eaeeb18689b21be54896354ca52417ca96434cae2c9469f8e3f67c49deb11dc70731e243c981b8bab80adf4fedc239e6f1920ef8874f895e82a089b53ca59a2457e2ec2a7961c3ee46ccaf4b3a229e718f049e7279c494fc486ead7e88bb34839fcb43c8b7cd020b70f0a398a2c117b5e7536baf713120f8a5fa985d8a3d7ba129a13596ec16f9b973332b21349515154c9635c2bc0619f86b5642948a781350b557ab7b7f27e170a3b5464174b7c2f2892607053f5940798c999c2d9060daf197eaae43d95a8937010b03e30f456d77cf71903640886d99eac6c714c1d7a3c6751c706cde1cb24e2e603661b74d04504d83b964870787931360a032750e2d1997c2cc4583cf5698cf38b2db04474cfa411fc37f928151370c7402c37564e83505ce9902baa1ddd2e130605573c0c39b5f170242e12560b418760684ed990354c8d9fbea9981508115ea80737e5720c36e9375ccfc4d2ace62d0fa938d76d900a0cd0453f356d5a82786fc9e83e67831e585d85f89461fd2667f80bb6f8f3e0bc2', NULL, '2026-11-22 22:34:59.306707+00', 1, 'http://127.0.0.1:8899/', 'run2');
INSERT INTO public.pages VALUES (7, '\x45dad3e27a88641bfc5d5043d6be2c62', 'http://127.0.0.1:8899/d', NULL, 'Garden', NULL, NULL, 'en', NULL, 'Garden
The library lantern kitchen tower morning festival village opened. The village letter teacher orchard stadium bridge forest closed. The market tower school captain orchard garden concert opened. The bakery orchard river kitchen winter engine lantern closed.
The island captain teacher garden ferry teacher morning opened. The council library library letter council council river opened. The winter teacher winter ferry captain ferry museum moved. The winter concert forest painter stadium winter ferry closed.
The forest garden museum river tower engine ferry closed. The lantern harbour station museum village library bakery opened. The library painter festival station harbour museum tower moved. The school festival station ferry school school festival closed.
The bridge lantern river kitchen tower captain garden opened. The concert morning engine tower garden bakery village opened. The letter bridge festival ferry library winter market closed. The island village letter tower valley tower forest moved.
The teacher letter market bakery kitchen teacher morning moved. The captain museum bridge engine harbour winter station moved. The island council station lantern island festival concert opened. The museum painter station museum ferry morning harbour closed.', '\x780165544172c3200cfc0a2fa8a777d7d77ea01fc058b19960f060924e7f5fd9ec7a487b4a30d2aeb45ad12f650d26d8387f481cfa45ec34f4c59720c3a7cd93c4beaba7beab77639a7e86dee6e29dc6f4cbfb15a77ffb6df85ac4043f669b7f0ed822399abb2f6e91684afa966cd694a38fb3b9c95efcd306f3f421d8594cda24caf4660e087e0b5214c214b18a904dca6ed1b2cc5eece41fab19b39f34f396b2821917d24e80d5e6bb1450ee6e49291867b7627dbc50e6b343e3527492cb0bff68efa21d902ffba7b2b38f6f7ff46524ce3e6ab7e812ec7db75107bfebdd74d1b209d0de242b033f52955604971ed1791d0ff5e46f1585d7fcad45b60028941c3856628a514feb6317d5734d4f0a88608a038937d5efe89d037885acfa370a200b1d83a4d659cd000d5152333faaaae31ed3e3242c3e45038ccb1f9084f36a2c44d558f2e537adfd84223420e9ce4b01b8e65f5e2d16b77f83febb001e6543af56aaa49c05746a4748fde90f0856f3108fe6a9499b8efde19e70e56a0b540843c4cab45b04071399db78eeb1ae6e1035f079c0a0ab7f1a03d07ac804050ae63e31883d362ea4329811fa80081c20eae75c9b746e201689119c05aeaf0953ec564130d34584c0676c0f9e3416d49aa0bbde4a7d178eb7a1ab4f6877bcbcc32f5d0f0815', NULL, '2026-11-22 22:34:59.316268+00', 1, 'http://127.0.0.1:8899/', 'run2');
INSERT INTO public.pages VALUES (8, '\xd48ffc95578d11e62d774a749b9c6105', 'http://127.0.0.1:8899/b-copy', NULL, 'Harbour', NULL, NULL, 'en', NULL, 'Harbour
The captain captain bridge harbour harbour tower village closed. The kitchen morning painter captain museum lantern library closed. The library bridge bakery painter ferry engine stadium returned. The morning kitchen captain valley tower concert island returned.
The valley lantern forest bridge captain river tower returned. The island station island garden engine forest forest closed. The concert ferry orchard orchard river ferry station closed. The council valley valley tower valley painter concert closed.
The forest letter morning engine kitchen valley island moved. The morning bakery tower tower captain letter ferry returned. The festival kitchen letter stadium valley orchard school moved. The island school valley valley village morning tower returned.
The forest forest letter tower bakery kitchen island returned. The school painter orchard station village festival village closed. The forest island library lantern teacher island school moved. The museum morning festival village valley concert valley returned.
The museum kitchen winter school valley tower island opened. The morning village station kitchen river island village closed. The kitchen market bridge bakery stadium bridge lantern closed. The painter forest island market teacher valley council moved.', '\x780165544192a42010fc0a2f5863efaee779c07e00b55a894630107ba27f3f6593c968f70991222b33ab8a76ce8b37de86e99f84ae9dc58e5d9b5df6d27dd9d4c73db54dd9b64d39ece3f8ec5a9bb21b34a89dfffe06ea77bb76ff6731835db375a1ae7d72e324662e9075cdf15b927938efad9e0e3e6e32fe3107c0dde56196609698820b9359152d6b2c81977d937d3988ebdf60bceb934dcf0b04ff21776fefa21104ba49d29d84c905315bb6a353b824794f811c989b5c98fb61bd97a729e487180649d9b84db98cbf086db3d20cc493eb2d26d9b2012d8226f7507905f34a03c8ca31bb189868b269547f20009858ce46925fd11bd3a035180dd792b59c31c1f5f61e06e70d245c946343439908d74ffac1ca4b3e2a4857c19ce6020d6297f878af02ea571c82f7e83220171957f36e6ab553ecda508865c591967e6cc31ca3578e353ddd2f0708e782c6a5a4b7ea7d5a7075a28443177d78efa3d7348016adae6cd1121ca02a963fcea5446ee07338d89459acce5b62777dfa8081a3d48f54b0845d806d2dc6c90b2051f077196c64c4bd620db8c6553e66920ad9b4442b0d8d8b0c3adbc0c0c5a6bbd4294411d815984d9a73becf1a5ced041a5dac6694e929edf4b2a0a90fa73e0fc713d194f7b439dee1ee0754940e1c', NULL, '2026-11-22 22:34:59.313899+00', 1, 'http://127.0.0.1:8899/', 'run2');
SELECT pg_catalog.setval('public.dedup_documents_id_seq', 10, true);
SELECT pg_catalog.setval('public.dedup_runs_id_seq', 2, true);
SELECT pg_catalog.setval('public.dedup_verdicts_id_seq', 15, true);
SELECT pg_catalog.setval('public.frontier_id_seq', 16, true);
SELECT pg_catalog.setval('public.frontier_runs_id_seq', 2, true);
SELECT pg_catalog.setval('public.pages_id_seq', 8, true);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_key_digest_key UNIQUE (key_digest);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dedup_fingerprints
    ADD CONSTRAINT dedup_fingerprints_pkey PRIMARY KEY (table_number, permuted, document_id);
ALTER TABLE ONLY public.dedup_properties
    ADD CONSTRAINT dedup_properties_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.dedup_run_rows
    ADD CONSTRAINT dedup_run_rows_pkey PRIMARY KEY (table_name);
ALTER TABLE ONLY public.dedup_runs
    ADD CONSTRAINT dedup_runs_name_key UNIQUE (name);
ALTER TABLE ONLY public.dedup_runs
    ADD CONSTRAINT dedup_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.dedup_words
    ADD CONSTRAINT dedup_words_pkey PRIMARY KEY (text_digest);
ALTER TABLE ONLY public.frontier
    ADD CONSTRAINT frontier_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.frontier_runs
    ADD CONSTRAINT frontier_runs_name_key UNIQUE (name);
ALTER TABLE ONLY public.frontier_runs
    ADD CONSTRAINT frontier_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pages
    ADD CONSTRAINT pages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pages
    ADD CONSTRAINT pages_url_digest_key UNIQUE (url_digest);
CREATE INDEX dedup_documents_body ON public.dedup_documents USING btree (body_digest, id);
CREATE INDEX dedup_documents_leader ON public.dedup_documents USING btree (leader_id);
CREATE INDEX dedup_documents_text ON public.dedup_documents USING btree (text_digest, id);
CREATE INDEX dedup_verdicts_document ON public.dedup_verdicts USING btree (document_id);
CREATE INDEX dedup_verdicts_matched ON public.dedup_verdicts USING btree (matched_id) WHERE (matched_id IS NOT NULL);
CREATE INDEX dedup_verdicts_original ON public.dedup_verdicts USING btree (original_id) WHERE (original_id IS NOT NULL);
CREATE INDEX dedup_verdicts_run ON public.dedup_verdicts USING btree (run_id, verdict);
CREATE INDEX frontier_queued ON public.frontier USING btree (run_id, priority DESC, id) WHERE (state = 'queued'::text);
CREATE INDEX frontier_suspects ON public.frontier USING btree (run_id, attempts) WHERE ((state = 'queued'::text) AND (attempts >= 2));
CREATE INDEX frontier_taken ON public.frontier USING btree (run_id, worker) WHERE (state = 'taken'::text);
CREATE UNIQUE INDEX frontier_url ON public.frontier USING btree (run_id, url_digest);
CREATE INDEX pages_run ON public.pages USING btree (run);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_content_run_id_fkey FOREIGN KEY (content_run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_last_run_id_fkey FOREIGN KEY (last_run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.dedup_documents
    ADD CONSTRAINT dedup_documents_leader_id_fkey FOREIGN KEY (leader_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_document_id_fkey FOREIGN KEY (document_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_matched_id_fkey FOREIGN KEY (matched_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_original_id_fkey FOREIGN KEY (original_id) REFERENCES public.dedup_documents(id);
ALTER TABLE ONLY public.dedup_verdicts
    ADD CONSTRAINT dedup_verdicts_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.dedup_runs(id);
ALTER TABLE ONLY public.frontier
    ADD CONSTRAINT frontier_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.frontier_runs(id);
