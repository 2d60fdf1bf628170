-- account 0001_initial 6f27ff6bdf57521a6561e0c606ee3278d2b6dac7eb068dbe1cdd07cd3f9eb6bf
-- account 0002_email_max_length c956ab7a3c3660a14b162e9e87dbc57851262ef4d3a895597eebc4eded595fc1
-- account 0003_alter_emailaddress_create_unique_verified_email 66b6f1939621bcfa44a5bfe2ae2df312918fd33b2031b154acfed1f4f6be4d10
-- account 0004_alter_emailaddress_drop_unique_email ebc6317e90c47d7a8f31fa348f1513f2b9bcda8bed3b0de9811df3bb75c39ef1
-- account 0005_emailaddress_idx_upper_email e7569f1662da1754fad09b5f65f439123effc85fc0b24c15ff881bcbf2aa42cb
-- account 0006_emailaddress_lower 54adb08cb3fba66b1b2eed10c4a9d7037ae40d778fe5df40628ef3639f4f4fe4
-- account 0007_emailaddress_idx_email 87fad70bfde8ae295155fcaac942a260164bee3a04f33fd00a70bf2351aef951
-- account 0008_emailaddress_unique_primary_email_fixup 794bf875bdbef9c47e9ccc736cb01711d84657381219f6af6c98a3829e2d6b7f
-- account 0009_emailaddress_unique_primary_email 79762cfa7b1e1d7c58be5061a6c032594f7d5e5f8c7288d64146e85cc0bfbd06
-- accounts 0001_initial 623efc71dc7984ebc0cb9bcabf629ea30acfe35bc5fb02688cb12f0aa2c78b79
-- accounts 0002_help_texts -
-- accounts 0002_version_1_0 58310dd978d4e6f70110a7f2cffc33f91ce97a1acb24aaaeab3b24e81fde5fbf
-- accounts 0003_profile_and_logins -
-- accounts 0004_language -
-- admin 0001_initial f4716989d9815b6231f0d7291754835e008c96818447fe57984bbf8985883335
-- admin 0002_logentry_remove_auto_add 2c127e659a2236edea0ed57eccd38786ae84e365790a80b96b758c617f50be43
-- admin 0003_logentry_add_action_flag_choices 02700a827190720e5c417495a395071b6baa28a34e74bc8f90824afaafc01841
-- agentsite 0001_initial 5e1a02405ed83d5a10f863292755aae01cf19bd8e3a1c3f30f2cf890f98ba946
-- auth 0001_initial 845cff319606332f49ef20ce165d1a17e522c426c5e56d7616133e9e4eaba5ef
-- auth 0002_alter_permission_name_max_length feaf97e0e8f7d148bec3db9bab2349c5e15888117c1ff2829deff63ef9e16cff
-- auth 0003_alter_user_email_max_length 9d5657b4db9872dc26c2d634c2f5911a3d69ab1d8552af4c6d633bc4001dfabf
-- auth 0004_alter_user_username_opts 9538db342c9a9bec4ca12b3137fb80772c4ea4afb861e8647a2962b1ea58344a
-- auth 0005_alter_user_last_login_null 79f60a35dc000fdd427bc05c85233ae5b9c4ada078ff0688fc9f78604bf7eaee
-- auth 0006_require_contenttypes_0002 00cb16e3405f14b62dbeffa15c68c9030291e4ddd513d733648ba460d6c5e781
-- auth 0007_alter_validators_add_error_messages 115db87dc327530fb5e1964ba3d03f9746492f90600406947be39f54f6cc042f
-- auth 0008_alter_user_username_max_length 02857f65f7d648147a5d12596b200a83e29145391d3f986ceb84b3b865a2c351
-- auth 0009_alter_user_last_name_max_length 19a89500e7f108a7397da9b1733181f92105f758663b3685b60f5c2da384d76e
-- auth 0010_alter_group_name_max_length 0963ed6498ac0b3a8430b6ca34c1b4a4b1d5f55b43d3db902f15a03ff74b14cd
-- auth 0011_update_proxy_permissions 85a5dde708dc4b6111e1bc71ce723ecfba7b1f8aedecfd130900ff7782765436
-- auth 0012_alter_user_first_name_max_length 6cefbc9f80903763ff8492a537a22836ef69f2227e19d402509b8099d2baecb0
-- contenttypes 0001_initial 35ed8489a147e0b42a15c21b5d4f0e8940de6f73fb326e9d6dea91b4d0b953cc
-- contenttypes 0002_remove_content_type_name 7d36494075750f0ed3c0f68d0cb1548eba59cc593f52f691f6cc37a043083766
-- knox 0001_initial 8f52d41745a8f6eb068a8e42d89a35219df1d10ae3da39f0e25f0e0cd0dee72e
-- knox 0002_auto_20150916_1425 19beb1dbf5ef20f4a6904626d8ba07726b04b57a28ff7bc8ef71e5d82f82f964
-- knox 0003_auto_20150916_1526 507d247021c7a76dabda58ce11c11f6c52f10907a6f066dd847ced3c0d0e0cd1
-- knox 0004_authtoken_expires 25e08dafa6f87f3dc00fbaef0220320f2775adad048787bcb5278093ca7f4602
-- knox 0005_authtoken_token_key 17ead5699a75f7d49f06eb69da855ba4ebe9d698c2729b5e00e293248457b2af
-- knox 0006_auto_20160818_0932 c411d6583008bc02c6f55581b2edbbfeb06cc1beb94bc62d923e5725eada5145
-- knox 0007_auto_20190111_0542 2599794c887e5a69d0a39324d10279ec4bb0d2ca7874ed21d726118efb278bb6
-- knox 0008_remove_authtoken_salt b0d4ed73543e0e10451b0a4b63ccf8ccf2ce86b74dc4b379ed483c626b20c964
-- knox 0009_extend_authtoken_field e57d2da414d92839f929eea94776d2591f994fda01d77a50910df511e49db5dd
-- llm_app 0001_initial e56eae8d263386e489599d6c6f8265bb70a65e6956dca8f76fad6a46f3424503
-- llm_app 0002_version_1_0 760827e9fbb991df8928445d2093054a9d92517bc63abe3c20cc12698f6370a2
-- llm_app 0003_cache_writes b6fef1586e054e6780f6c68dbb9775391c0317c55ef76f4183dfbb21e35416b6
-- llm_app 0003_protocols_of_plugins -
-- llm_app 0004_verdicts_and_lists -
-- llm_app 0005_learned_quirks -
-- llm_app 0006_help_texts -
-- llm_app 0007_agent_versions -
-- llm_app 0008_logs_by_time -
-- llm_app 0009_left_blobs -
-- llm_app 0010_some_tokens -
-- mfa 0001_initial a42b6353f2ed5dd754d1a8eb76a984cac58e0e587cf3fff131711c289c8a2e20
-- mfa 0002_authenticator_timestamps b6566eb07301e2e4042908f789c19ff1dfefb86393773d656bbaef7bbbed234e
-- mfa 0003_authenticator_type_uniq 88550a456154080cc3ecddcf8a32af3d81733bb6d56325ea67b201ee9f1ea1a2
-- sessions 0001_initial 2aa438e2393ee5135c4dda94bfde65fd49e8300f1c3f93bed25ae3a09f2f69b9
-- tasks_app 0001_initial b9b4fbd92a7ed8f3a52fef80defeaf57d51f64fe89c1e0295784cb601b14f2b0
-- tasks_app 0002_before_1_0 0baef418db0609338090d7876357438c190ed68a821c52a272d346174eb7289b
-- tasks_app 0003_version_1_0 61aaad69b07d3d1bfcf06c962d8830d207d7051149b887157f0c9fc14ff508bf
-- tasks_app 0004_content_refused f69c0a412e19d6d891099cf69f948e66b877ca6d8a752f7f28c1cb0c839fed93
-- tasks_app 0004_help_texts -
-- tasks_app 0005_agent_hooks -
-- tasks_app 0005_routing_by_files 16f18006fdbee45b74b8d9e0d0ca0a6821f1f9f511400090712b17a5615a1835
-- tasks_app 0006_agent_switches -
-- tasks_app 0006_approval_covers 56bf7103a3d4674dac54f9fdffe40b705d3cc79df42284b4fbe5dd8c242c354f
-- tasks_app 0007_help_texts -
-- tasks_app 0008_agent_environments -
-- tasks_app 0009_result_pages -
-- tasks_app 0010_guardrails_are_added_to -
-- tasks_app 0011_restrictions_of_agents -
-- tasks_app 0012_workspace_changes -
-- tasks_app 0013_process_samples -
-- tasks_app 0014_admission -
-- tasks_app 0015_history_limits -
-- tasks_app 0016_reading_indexes -
-- tasks_app 0017_fewer_indexes -
-- tasks_app 0018_quotas -
-- tasks_app 0019_agent_versions -
-- tasks_app 0020_session_texts -
-- tasks_app 0021_handoffs -
-- tasks_app 0022_tracing_and_routing -
-- tasks_app 0023_sessions_filed_and_shared -
-- tasks_app 0024_delegation -
-- tasks_app 0025_steering -
-- tasks_app 0026_told -
-- tasks_app 0027_projects -
-- tasks_app 0028_library -
-- tasks_app 0029_agents_of_roles -
-- tasks_app 0030_lists_by_time -
-- tasks_app 0031_project_notes -
-- tasks_app 0032_library_vectors -
-- tasks_app 0033_index_ended -
-- tasks_app 0034_result_log -
-- tasks_app 0035_task_silence -
-- tasks_app 0036_forks_did_not_fail -
-- tasks_app 0037_job_numbers -
-- tasks_app 0038_terms_without_unseen_characters -
-- tools_app 0001_initial 3533f5e91d30d54130d40e2b84194395b640d9bd16225fa3c3b7f03b9f3d5e55
-- tools_app 0002_skill_files_executable 1f145365a687d732cfeb9296c8adb107097663eb638351d3fabfc303de8f6152
-- tools_app 0003_help_texts -
-- tools_app 0003_version_1_0 719ad637189a6080f4e05e2165d66c5b9834d8db787dd14c100836dabb28601e
-- tools_app 0004_mcp_annotations 7fbac27e55fff1f536453b987bd21f4bdb0f6a37ddaafe699a8bfcbab3d1317b
-- tools_app 0004_roles_of_tools -
-- tools_app 0005_longer_skill_names -
-- usersessions 0001_initial b5d23c8ce06440612687e13145031ad82330d098e73de3b901d1fe0424ed12cb
CREATE TABLE "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app" varchar(255) NOT NULL, "name" varchar(255) NOT NULL, "applied" datetime NOT NULL);
CREATE TABLE "django_content_type" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app_label" varchar(100) NOT NULL, "model" varchar(100) NOT NULL);
CREATE UNIQUE INDEX "django_content_type_app_label_model_76bd3d3b_uniq" ON "django_content_type" ("app_label", "model");
CREATE TABLE "auth_group_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX "auth_group_permissions_group_id_permission_id_0cd325b0_uniq" ON "auth_group_permissions" ("group_id", "permission_id");
CREATE INDEX "auth_group_permissions_group_id_b120cbf9" ON "auth_group_permissions" ("group_id");
CREATE INDEX "auth_group_permissions_permission_id_84c5c92e" ON "auth_group_permissions" ("permission_id");
CREATE TABLE "auth_permission" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "content_type_id" integer NOT NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "codename" varchar(100) NOT NULL, "name" varchar(255) NOT NULL);
CREATE UNIQUE INDEX "auth_permission_content_type_id_codename_01ab375a_uniq" ON "auth_permission" ("content_type_id", "codename");
CREATE INDEX "auth_permission_content_type_id_2f476e4b" ON "auth_permission" ("content_type_id");
CREATE TABLE "auth_group" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE);
CREATE TABLE "accounts_user_groups" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "accounts_user_user_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "accounts_apitoken" ("digest" varchar(128) NOT NULL PRIMARY KEY, "token_key" varchar(25) NOT NULL, "created" datetime NOT NULL, "expiry" datetime NULL, "name" varchar(100) NOT NULL, "may_approve" bool NOT NULL, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX "accounts_user_groups_user_id_group_id_59c0b32f_uniq" ON "accounts_user_groups" ("user_id", "group_id");
CREATE INDEX "accounts_user_groups_user_id_52b62117" ON "accounts_user_groups" ("user_id");
CREATE INDEX "accounts_user_groups_group_id_bd11a704" ON "accounts_user_groups" ("group_id");
CREATE UNIQUE INDEX "accounts_user_user_permissions_user_id_permission_id_2ab516c2_uniq" ON "accounts_user_user_permissions" ("user_id", "permission_id");
CREATE INDEX "accounts_user_user_permissions_user_id_e4f0a161" ON "accounts_user_user_permissions" ("user_id");
CREATE INDEX "accounts_user_user_permissions_permission_id_113bb443" ON "accounts_user_user_permissions" ("permission_id");
CREATE INDEX "accounts_apitoken_token_key_8fc3309f" ON "accounts_apitoken" ("token_key");
CREATE INDEX "accounts_apitoken_user_id_bbee13e0" ON "accounts_apitoken" ("user_id");
CREATE TABLE "account_emailconfirmation" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "created" datetime NOT NULL, "sent" datetime NULL, "key" varchar(64) NOT NULL UNIQUE, "email_address_id" integer NOT NULL REFERENCES "account_emailaddress" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "account_emailconfirmation_email_address_id_5b7f8c58" ON "account_emailconfirmation" ("email_address_id");
CREATE TABLE "account_emailaddress" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "verified" bool NOT NULL, "primary" bool NOT NULL, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "email" varchar(254) NOT NULL);
CREATE UNIQUE INDEX "account_emailaddress_user_id_email_987c8728_uniq" ON "account_emailaddress" ("user_id", "email");
CREATE UNIQUE INDEX "unique_verified_email" ON "account_emailaddress" ("email") WHERE "verified";
CREATE INDEX "account_emailaddress_user_id_2c513194" ON "account_emailaddress" ("user_id");
CREATE INDEX "account_emailaddress_email_03be32b2" ON "account_emailaddress" ("email");
CREATE UNIQUE INDEX "unique_primary_email" ON "account_emailaddress" ("user_id", "primary") WHERE "primary";
CREATE TABLE "usersessions_usersession" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "created_at" datetime NOT NULL, "ip" char(39) NOT NULL, "last_seen_at" datetime NOT NULL, "session_key" varchar(40) NOT NULL UNIQUE, "user_agent" varchar(200) NOT NULL, "data" text NOT NULL CHECK ((JSON_VALID("data") OR "data" IS NULL)), "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "usersessions_usersession_user_id_af5e0a6d" ON "usersessions_usersession" ("user_id");
CREATE TABLE "django_session" ("session_key" varchar(40) NOT NULL PRIMARY KEY, "session_data" text NOT NULL, "expire_date" datetime NOT NULL);
CREATE INDEX "django_session_expire_date_a5c62663" ON "django_session" ("expire_date");
CREATE TABLE "accounts_user" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "password" varchar(128) NOT NULL, "last_login" datetime NULL, "is_superuser" bool NOT NULL, "username" varchar(150) NOT NULL UNIQUE, "first_name" varchar(150) NOT NULL, "last_name" varchar(150) NOT NULL, "email" varchar(254) NOT NULL, "is_staff" bool NOT NULL, "is_active" bool NOT NULL, "date_joined" datetime NOT NULL, "preferences" text NOT NULL, "mails" text NOT NULL CHECK ((JSON_VALID("mails") OR "mails" IS NULL)), "time_zone" varchar(64) NOT NULL, "language" varchar(8) NOT NULL);
CREATE TABLE "django_admin_log" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "object_id" text NULL, "object_repr" varchar(200) NOT NULL, "action_flag" smallint unsigned NOT NULL CHECK ("action_flag" >= 0), "change_message" text NOT NULL, "content_type_id" integer NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "action_time" datetime NOT NULL);
CREATE INDEX "django_admin_log_content_type_id_c4bce8eb" ON "django_admin_log" ("content_type_id");
CREATE INDEX "django_admin_log_user_id_c564eba6" ON "django_admin_log" ("user_id");
CREATE TABLE "applied_values" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(1000) NOT NULL UNIQUE, "digest" varchar(64) NOT NULL, "applied_at" datetime NOT NULL);
CREATE TABLE "knox_authtoken" ("digest" varchar(128) NOT NULL PRIMARY KEY, "created" datetime NOT NULL, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "expiry" datetime NULL, "token_key" varchar(25) NOT NULL);
CREATE INDEX "knox_authtoken_user_id_e5a5d899" ON "knox_authtoken" ("user_id");
CREATE INDEX "knox_authtoken_token_key_8f4f7d47" ON "knox_authtoken" ("token_key");
CREATE TABLE "blobs" ("sha256" varchar(64) NOT NULL PRIMARY KEY, "content" text NOT NULL, "created_at" datetime NOT NULL, "left_at" datetime NULL);
CREATE TABLE "service_keys" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE, "value" text NOT NULL);
CREATE TABLE "spending" ("key" varchar(60) NOT NULL PRIMARY KEY, "usd" decimal NOT NULL, "tokens" bigint unsigned NOT NULL CHECK ("tokens" >= 0));
CREATE TABLE "breaker_changes" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "before" varchar(9) NOT NULL, "after" varchar(9) NOT NULL, "reason" text NOT NULL, "at" datetime NOT NULL, "by_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "provider_id" bigint NOT NULL REFERENCES "providers" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "breaker_changes_by_id_e1d1313b" ON "breaker_changes" ("by_id");
CREATE INDEX "breaker_changes_provider_id_c184fcfd" ON "breaker_changes" ("provider_id");
CREATE TABLE "logical_models_roles" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "logicalmodel_id" bigint NOT NULL REFERENCES "logical_models" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX "logical_models_roles_logicalmodel_id_group_id_297cbcdd_uniq" ON "logical_models_roles" ("logicalmodel_id", "group_id");
CREATE INDEX "logical_models_roles_logicalmodel_id_fe722849" ON "logical_models_roles" ("logicalmodel_id");
CREATE INDEX "logical_models_roles_group_id_d470afb3" ON "logical_models_roles" ("group_id");
CREATE TABLE "reservations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "allowance" char(32) NOT NULL, "task_id" char(32) NULL, "usd" decimal NOT NULL, "tokens" bigint unsigned NOT NULL CHECK ("tokens" >= 0), "expires_at" datetime NOT NULL, "spending_id" varchar(60) NOT NULL REFERENCES "spending" ("key") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "reservations_allowance_b818d545" ON "reservations" ("allowance");
CREATE INDEX "reservations_task_id_ae7f00d7" ON "reservations" ("task_id");
CREATE INDEX "reservations_spending_id_9473aa6a" ON "reservations" ("spending_id");
CREATE TABLE "budgets" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "usd_per_task" decimal NULL, "usd_per_day" decimal NULL, "usd_per_month" decimal NULL, "tokens_per_task" bigint unsigned NULL CHECK ("tokens_per_task" >= 0), "tokens_per_day" bigint unsigned NULL CHECK ("tokens_per_day" >= 0), "tokens_per_month" bigint unsigned NULL CHECK ("tokens_per_month" >= 0), "role_id" integer NULL UNIQUE REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "user_id" bigint NULL UNIQUE REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "budget_of_a_user_or_of_a_role" CHECK (("user_id" IS NULL OR "role_id" IS NULL)));
CREATE UNIQUE INDEX "one_budget_of_all" ON "budgets" ((COALESCE("user_id", 0))) WHERE ("role_id" IS NULL AND "user_id" IS NULL);
CREATE TABLE "circuit_breakers" ("provider_id" bigint NOT NULL PRIMARY KEY REFERENCES "providers" ("id") DEFERRABLE INITIALLY DEFERRED, "state" varchar(9) NOT NULL, "forced" bool NOT NULL, "key_refused" bool NOT NULL, "reason" text NOT NULL, "probe_at" datetime NULL, "epoch" integer unsigned NOT NULL CHECK ("epoch" >= 0), "changed_at" datetime NULL, CONSTRAINT "breaker_state_known" CHECK ("state" IN ('closed', 'open', 'half_open')));
CREATE TABLE "logical_models" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "kind" varchar(10) NOT NULL, "context_window" integer unsigned NOT NULL CHECK ("context_window" >= 0), "max_output_tokens" integer unsigned NOT NULL CHECK ("max_output_tokens" >= 0), "is_default" bool NOT NULL, CONSTRAINT "model_kind_known" CHECK ("kind" IN ('text', 'image', 'audio', 'embedding')), CONSTRAINT "default_model_is_of_text" CHECK ((NOT "is_default" OR "kind" = 'text')));
CREATE UNIQUE INDEX "one_default_model" ON "logical_models" ("is_default") WHERE "is_default";
CREATE TABLE "secrets" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(64) NOT NULL, "value" text NOT NULL, "created_at" datetime NOT NULL, "owner_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "secret_name_once_per_owner" UNIQUE ("owner_id", "name"));
CREATE INDEX "secrets_owner_id_de3d9c26" ON "secrets" ("owner_id");
CREATE UNIQUE INDEX "secret_name_once_per_team" ON "secrets" ("name") WHERE "owner_id" IS NULL;
CREATE TABLE "secrets_roles" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "secret_id" bigint NOT NULL REFERENCES "secrets" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX "secrets_roles_secret_id_group_id_3ac5b653_uniq" ON "secrets_roles" ("secret_id", "group_id");
CREATE INDEX "secrets_roles_secret_id_4139c6d2" ON "secrets_roles" ("secret_id");
CREATE INDEX "secrets_roles_group_id_e9ac3ed8" ON "secrets_roles" ("group_id");
CREATE TABLE "providers" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "protocol" varchar(20) NOT NULL, "base_url" varchar(200) NOT NULL, "api_key" text NOT NULL, "litellm_provider" varchar(50) NOT NULL, "timeout_s" real NOT NULL, "total_timeout_s" real NOT NULL, "breaker" text NOT NULL CHECK ((JSON_VALID("breaker") OR "breaker" IS NULL)), "enabled" bool NOT NULL, "listed_models" text NOT NULL CHECK ((JSON_VALID("listed_models") OR "listed_models" IS NULL)), CONSTRAINT "provider_litellm_names_its_provider" CHECK ((NOT ("protocol" = 'litellm') OR NOT ("litellm_provider" = ''))));
CREATE TABLE "routes" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "provider_model" varchar(200) NOT NULL, "priority" smallint unsigned NOT NULL CHECK ("priority" >= 0), "context_window" integer unsigned NULL CHECK ("context_window" >= 0), "max_tokens" integer unsigned NULL CHECK ("max_tokens" >= 0), "temperature" real NULL, "thinking_budget" integer unsigned NULL CHECK ("thinking_budget" >= 0), "takes_images" bool NOT NULL, "extra_body" text NOT NULL CHECK ((JSON_VALID("extra_body") OR "extra_body" IS NULL)), "extra_headers" text NOT NULL CHECK ((JSON_VALID("extra_headers") OR "extra_headers" IS NULL)), "price" text NOT NULL CHECK ((JSON_VALID("price") OR "price" IS NULL)), "quirks" text NOT NULL CHECK ((JSON_VALID("quirks") OR "quirks" IS NULL)), "model_id" bigint NOT NULL REFERENCES "logical_models" ("id") DEFERRABLE INITIALLY DEFERRED, "provider_id" bigint NOT NULL REFERENCES "providers" ("id") DEFERRABLE INITIALLY DEFERRED, "tested_at" datetime NULL, "verdict" text NOT NULL, "works" bool NULL, CONSTRAINT "one_route_per_target" UNIQUE ("model_id", "provider_id", "provider_model"));
CREATE INDEX "routes_model_id_be844d29" ON "routes" ("model_id");
CREATE INDEX "routes_provider_id_1401982c" ON "routes" ("provider_id");
CREATE TABLE "learned_quirks" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "provider_model" varchar(200) NOT NULL, "quirk" varchar(50) NOT NULL, "value" text NOT NULL CHECK ((JSON_VALID("value") OR "value" IS NULL)), "reason" text NOT NULL, "learned_at" datetime NOT NULL, "provider_id" bigint NOT NULL REFERENCES "providers" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "a_quirk_is_learned_once" UNIQUE ("provider_id", "provider_model", "quirk", "value"));
CREATE INDEX "left_blobs" ON "blobs" ("left_at") WHERE "left_at" IS NOT NULL;
CREATE INDEX "learned_quirks_provider_id_734dbdb0" ON "learned_quirks" ("provider_id");
CREATE TABLE "llm_logs" ("id" char(32) NOT NULL PRIMARY KEY, "user_id" bigint NULL, "task_id" char(32) NULL, "session_id" char(32) NULL, "purpose" varchar(10) NOT NULL, "iteration" integer unsigned NOT NULL CHECK ("iteration" >= 0), "attempt" smallint unsigned NOT NULL CHECK ("attempt" >= 0), "model" varchar(100) NOT NULL, "provider" varchar(100) NOT NULL, "provider_model" varchar(200) NOT NULL, "adapter" varchar(20) NOT NULL, "adapter_version" smallint unsigned NOT NULL CHECK ("adapter_version" >= 0), "system_blob" varchar(64) NOT NULL, "tools_blob" varchar(64) NOT NULL, "compacted_blob" varchar(64) NOT NULL, "messages_blob" varchar(64) NOT NULL, "cut_seq" integer unsigned NOT NULL CHECK ("cut_seq" >= 0), "last_seq" integer unsigned NOT NULL CHECK ("last_seq" >= 0), "estimated_tokens" integer unsigned NOT NULL CHECK ("estimated_tokens" >= 0), "parameters" text NOT NULL CHECK ((JSON_VALID("parameters") OR "parameters" IS NULL)), "masked_spans" text NOT NULL CHECK ((JSON_VALID("masked_spans") OR "masked_spans" IS NULL)), "request_sha256" varchar(64) NOT NULL, "request_bytes" integer unsigned NOT NULL CHECK ("request_bytes" >= 0), "status" varchar(10) NOT NULL, "error_type" varchar(30) NOT NULL, "error" text NOT NULL, "finish_reason" varchar(50) NOT NULL, "input_tokens" integer unsigned NOT NULL CHECK ("input_tokens" >= 0), "cached_tokens" integer unsigned NOT NULL CHECK ("cached_tokens" >= 0), "output_tokens" integer unsigned NOT NULL CHECK ("output_tokens" >= 0), "thinking_tokens" integer unsigned NOT NULL CHECK ("thinking_tokens" >= 0), "usage_estimated" bool NOT NULL, "cost_usd" decimal NULL, "first_delta_ms" integer unsigned NULL CHECK ("first_delta_ms" >= 0), "duration_ms" integer unsigned NOT NULL CHECK ("duration_ms" >= 0), "created_at" datetime NOT NULL, "agent_version_id" bigint NULL, "cache_write_tokens" integer unsigned NOT NULL CHECK ("cache_write_tokens" >= 0), CONSTRAINT "llm_log_status_known" CHECK ("status" IN ('succeeded', 'failed', 'aborted')));
CREATE INDEX "llm_logs_task_id_ecdd93_idx" ON "llm_logs" ("task_id", "created_at");
CREATE INDEX "llm_logs_user_id_7e5242_idx" ON "llm_logs" ("user_id", "created_at");
CREATE INDEX "llm_logs_created_1fdf9f_idx" ON "llm_logs" ("created_at");
CREATE INDEX "llm_logs_session_c4ad9f_idx" ON "llm_logs" ("session_id", "created_at");
CREATE INDEX "llm_logs_provide_3f7e69_idx" ON "llm_logs" ("provider", "created_at");
CREATE TABLE "mfa_authenticator" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "type" varchar(20) NOT NULL, "data" text NOT NULL CHECK ((JSON_VALID("data") OR "data" IS NULL)), "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "created_at" datetime NOT NULL, "last_used_at" datetime NULL);
CREATE INDEX "mfa_authenticator_user_id_0c3a50c0" ON "mfa_authenticator" ("user_id");
CREATE UNIQUE INDEX "unique_authenticator_type" ON "mfa_authenticator" ("user_id", "type") WHERE "type" IN ('totp', 'recovery_codes');
CREATE TABLE "workflows" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "description" text NOT NULL);
CREATE TABLE "memory_notes" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "text" text NOT NULL, "terms" text NOT NULL, "auto" bool NOT NULL, "call_id" varchar(100) NOT NULL, "created_at" datetime NOT NULL, "changed_at" datetime NOT NULL, "owner_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "task_id" char(32) NULL REFERENCES "tasks" ("id") DEFERRABLE INITIALLY DEFERRED, "project_id" char(32) NULL REFERENCES "projects" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "prompt_sections" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "section" varchar(20) NOT NULL, "text" text NOT NULL, "created_at" datetime NOT NULL, "agent_id" bigint NOT NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "author_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "memory_notes_owner_id_61b188c1" ON "memory_notes" ("owner_id");
CREATE INDEX "prompt_sections_agent_id_ac433490" ON "prompt_sections" ("agent_id");
CREATE INDEX "prompt_sections_author_id_9d1f8117" ON "prompt_sections" ("author_id");
CREATE TABLE "workflow_steps" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "position" smallint unsigned NOT NULL CHECK ("position" >= 0), "title" varchar(200) NOT NULL, "instructions" text NOT NULL, "workflow_id" bigint NOT NULL REFERENCES "workflows" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "idempotency_keys" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "key" varchar(255) NOT NULL, "request_sha256" varchar(64) NOT NULL, "status" smallint unsigned NULL CHECK ("status" >= 0), "answer" text NULL CHECK ((JSON_VALID("answer") OR "answer" IS NULL)), "created_at" datetime NOT NULL, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "idempotency_key_once_per_user" UNIQUE ("user_id", "key"));
CREATE INDEX "memory_notes_task_id_c1439066" ON "memory_notes" ("task_id");
CREATE INDEX "workflow_steps_workflow_id_988a6b1d" ON "workflow_steps" ("workflow_id");
CREATE INDEX "idempotency_keys_user_id_fe2a5406" ON "idempotency_keys" ("user_id");
CREATE TABLE "memory_vectors" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "model" varchar(200) NOT NULL, "digest" varchar(64) NOT NULL, "values" BLOB NOT NULL, "note_id" bigint NOT NULL REFERENCES "memory_notes" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_vector_per_note_and_model" UNIQUE ("note_id", "model"));
CREATE INDEX "memory_vectors_note_id_27be4504" ON "memory_vectors" ("note_id");
CREATE INDEX "versions_of_a_section" ON "prompt_sections" ("agent_id", "section");
CREATE TABLE "loaded" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "kind" varchar(5) NOT NULL, "name" varchar(100) NOT NULL, "created_at" datetime NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "loaded_once" UNIQUE ("session_id", "kind", "name"), CONSTRAINT "loaded_kind_known" CHECK ("kind" IN ('group', 'skill')));
CREATE INDEX "loaded_session_id_d61bebe0" ON "loaded" ("session_id");
CREATE INDEX "memory_note_owner_i_1613f0_idx" ON "memory_notes" ("owner_id", "created_at" DESC);
CREATE TABLE "context_cuts" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "window" integer unsigned NOT NULL CHECK ("window" >= 0), "seq" integer unsigned NOT NULL CHECK ("seq" >= 0), "blob" varchar(64) NOT NULL, "masked_with" varchar(16) NOT NULL, "summary_seq" integer unsigned NULL CHECK ("summary_seq" >= 0), "cause" varchar(7) NOT NULL, "tokens_before" integer unsigned NOT NULL CHECK ("tokens_before" >= 0), "tokens_after" integer unsigned NOT NULL CHECK ("tokens_after" >= 0), "created_at" datetime NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "task_id" char(32) NOT NULL REFERENCES "tasks" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "context_cut_cause_known" CHECK ("cause" IN ('filled', 'refused')));
CREATE INDEX "context_cuts_session_id_8f8a3922" ON "context_cuts" ("session_id");
CREATE INDEX "context_cuts_task_id_81fa9d32" ON "context_cuts" ("task_id");
CREATE INDEX "newest_cut_of_a_window" ON "context_cuts" ("session_id", "window", "id" DESC);
CREATE TABLE "workspace_changes" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "call_id" varchar(100) NOT NULL, "tool" varchar(100) NOT NULL, "seq" integer unsigned NOT NULL CHECK ("seq" >= 0), "told" bool NOT NULL, "created_at" datetime NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "task_id" char(32) NULL REFERENCES "tasks" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "file_changes" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "path" varchar(4096) NOT NULL, "before_mode" integer unsigned NULL CHECK ("before_mode" >= 0), "before_size" bigint unsigned NOT NULL CHECK ("before_size" >= 0), "before_sha256" varchar(64) NOT NULL, "after_mode" integer unsigned NULL CHECK ("after_mode" >= 0), "after_size" bigint unsigned NOT NULL CHECK ("after_size" >= 0), "after_sha256" varchar(64) NOT NULL, "change_id" bigint NOT NULL REFERENCES "workspace_changes" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "changes_of_a_session" ON "workspace_changes" ("session_id", "id" DESC);
CREATE INDEX "changes_of_a_call" ON "workspace_changes" ("session_id", "call_id");
CREATE TABLE "engine_processes" ("name" varchar(100) NOT NULL PRIMARY KEY, "started_at" datetime NOT NULL, "seen_at" datetime NOT NULL, "counted" text NOT NULL CHECK ((JSON_VALID("counted") OR "counted" IS NULL)));
CREATE INDEX "workspace_changes_session_id_9c8b5097" ON "workspace_changes" ("session_id");
CREATE INDEX "workspace_changes_task_id_36df7a7f" ON "workspace_changes" ("task_id");
CREATE INDEX "file_changes_change_id_e3c02d08" ON "file_changes" ("change_id");
CREATE TABLE "agent_versions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "number" integer unsigned NOT NULL CHECK ("number" >= 0), "content" text NOT NULL CHECK ((JSON_VALID("content") OR "content" IS NULL)), "note" varchar(200) NOT NULL, "created_at" datetime NOT NULL, "agent_id" bigint NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "author_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "version_once_per_agent" UNIQUE ("agent_id", "number"));
CREATE INDEX "agent_versions_agent_id_30c2a495" ON "agent_versions" ("agent_id");
CREATE INDEX "agent_versions_author_id_d235dc20" ON "agent_versions" ("author_id");
CREATE TABLE "session_texts" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "first_seq" integer unsigned NOT NULL CHECK ("first_seq" >= 0), "last_seq" integer unsigned NOT NULL CHECK ("last_seq" >= 0), "terms" text NOT NULL, "masked_with" varchar(16) NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "session_tex_session_f5726c_idx" ON "session_texts" ("session_id", "first_seq");
CREATE TABLE "agents_handoffs" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "from_agent_id" bigint NOT NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "to_agent_id" bigint NOT NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX "agents_handoffs_from_agent_id_to_agent_id_3ccdf2c6_uniq" ON "agents_handoffs" ("from_agent_id", "to_agent_id");
CREATE INDEX "agents_handoffs_from_agent_id_bc7542e0" ON "agents_handoffs" ("from_agent_id");
CREATE INDEX "agents_handoffs_to_agent_id_d2fed665" ON "agents_handoffs" ("to_agent_id");
CREATE TABLE "tool_call_logs" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "session_id" char(32) NOT NULL, "call_id" varchar(100) NOT NULL, "name" varchar(100) NOT NULL, "arguments" text NOT NULL, "fingerprint" varchar(64) NOT NULL, "danger" varchar(10) NOT NULL, "status" varchar(11) NOT NULL, "looped" bool NOT NULL, "started_at" datetime NOT NULL, "duration_ms" integer unsigned NULL CHECK ("duration_ms" >= 0), "task_id" char(32) NOT NULL REFERENCES "tasks" ("id") DEFERRABLE INITIALLY DEFERRED, "checks" text NOT NULL, CONSTRAINT "tool_call_id_once_per_session" UNIQUE ("session_id", "call_id"), CONSTRAINT "tool_call_status_known" CHECK ("status" IN ('pending', 'started', 'waiting', 'succeeded', 'failed', 'blocked', 'rejected', 'interrupted', 'unknown')));
CREATE INDEX "tool_call_l_task_id_0a6135_idx" ON "tool_call_logs" ("task_id", "started_at");
CREATE TABLE "trace_sinks" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "kind" varchar(4) NOT NULL, "enabled" bool NOT NULL, "url" varchar(500) NOT NULL, "events" text NOT NULL CHECK ((JSON_VALID("events") OR "events" IS NULL)), "content" bool NOT NULL, "max_bytes" bigint unsigned NOT NULL CHECK ("max_bytes" >= 0), "cursor" bigint NOT NULL, "delivered" bigint unsigned NOT NULL CHECK ("delivered" >= 0), "delivered_at" datetime NULL, "failures" integer unsigned NOT NULL CHECK ("failures" >= 0), "last_error" text NOT NULL, "last_error_at" datetime NULL, "next_at" datetime DEFAULT (STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')) NOT NULL, "claimed_by" varchar(100) NOT NULL, "claimed_until" datetime NULL, CONSTRAINT "trace_sink_kind_known" CHECK ("kind" IN ('file', 'http', 'otlp')), CONSTRAINT "trace_sink_has_an_address" CHECK (("kind" = 'file' OR NOT ("url" = ''))));
CREATE TABLE "fired_rules" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "created_at" datetime NOT NULL, "task_id" char(32) NOT NULL REFERENCES "tasks" ("id") DEFERRABLE INITIALLY DEFERRED, "rule_id" bigint NOT NULL REFERENCES "routing_rules" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "rule_fires_once_per_task" UNIQUE ("rule_id", "task_id"));
CREATE TABLE "task_context" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "seq" integer unsigned NOT NULL CHECK ("seq" >= 0), "context_type" varchar(20) NOT NULL, "in_context" bool NOT NULL, "role" varchar(10) NOT NULL, "content" text NOT NULL, "thinking" text NOT NULL, "tool_call" text NOT NULL, "tool_call_id" varchar(100) NOT NULL, "images" text NOT NULL, "metadata" text NOT NULL CHECK ((JSON_VALID("metadata") OR "metadata" IS NULL)), "created_at" datetime NOT NULL, "hash" varchar(64) NOT NULL, "hash_key" varchar(16) NOT NULL, "masked_with" varchar(16) NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "task_id" char(32) NOT NULL REFERENCES "tasks" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "entry_seq_once_per_session" UNIQUE ("session_id", "seq"), CONSTRAINT "entry_role_known" CHECK ("role" IN ('user', 'assistant', 'tool', 'system')), CONSTRAINT "entry_result_names_its_call" CHECK ((("context_type" = 'tool_result' OR "tool_call_id" = '') AND 1 = (CASE WHEN "context_type" = 'tool_result' THEN 1 ELSE 0 END + CASE WHEN "tool_call_id" = '' THEN 1 ELSE 0 END))), CONSTRAINT "entry_tool_call_has_a_call" CHECK ((NOT ("context_type" = 'tool_call') OR NOT ("tool_call" = ''))), CONSTRAINT "entry_seq_from_one" CHECK ("seq" > 0), CONSTRAINT "entry_type_known" CHECK ("context_type" IN ('user_message', 'ai_message', 'tool_call', 'tool_result', 'system_reminder', 'status_notice', 'no_tool_call_retry', 'workflow_step', 'handoff', 'client_history')));
CREATE INDEX "fired_rules_task_id_668e674e" ON "fired_rules" ("task_id");
CREATE INDEX "fired_rules_rule_id_37d461dc" ON "fired_rules" ("rule_id");
CREATE UNIQUE INDEX "one_result_per_tool_call" ON "task_context" ("session_id", "tool_call_id") WHERE "context_type" = 'tool_result';
CREATE INDEX "task_context_task_id_b0946d99" ON "task_context" ("task_id");
CREATE TABLE "share_links" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "token_sha256" varchar(64) NOT NULL UNIQUE, "created_at" datetime NOT NULL, "expires_at" datetime NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "share_links_session_id_41920c86" ON "share_links" ("session_id");
CREATE TABLE "session_filings" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "is_pinned" bool NOT NULL, "is_archived" bool NOT NULL, "tags" text NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "filed_once_per_user" UNIQUE ("user_id", "session_id"));
CREATE INDEX "session_filings_session_id_a083d59a" ON "session_filings" ("session_id");
CREATE INDEX "session_filings_user_id_ff475eba" ON "session_filings" ("user_id");
CREATE TABLE "limits" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "max_iterations" integer unsigned NOT NULL CHECK ("max_iterations" >= 0), "tool_loop_threshold" integer unsigned NOT NULL CHECK ("tool_loop_threshold" >= 0), "tool_loop_window" integer unsigned NOT NULL CHECK ("tool_loop_window" >= 0), "tool_loop_refusals" integer unsigned NOT NULL CHECK ("tool_loop_refusals" >= 0), "no_tool_call_retries" integer unsigned NOT NULL CHECK ("no_tool_call_retries" >= 0), "result_tokens" integer unsigned NULL CHECK ("result_tokens" >= 0), "compact_at_percent" smallint unsigned NOT NULL CHECK ("compact_at_percent" >= 0), "tail_percent" smallint unsigned NOT NULL CHECK ("tail_percent" >= 0), "approval_hours" integer unsigned NOT NULL CHECK ("approval_hours" >= 0), "tool_call_limit" integer unsigned NULL CHECK ("tool_call_limit" >= 0), "stale_plan_after" integer unsigned NOT NULL CHECK ("stale_plan_after" >= 0), "budget_reminder_percent" smallint unsigned NOT NULL CHECK ("budget_reminder_percent" >= 0), "workspace_bytes" bigint unsigned NOT NULL CHECK ("workspace_bytes" >= 0), "same_tool_after" integer unsigned NOT NULL CHECK ("same_tool_after" >= 0), "history_bytes" bigint unsigned NOT NULL CHECK ("history_bytes" >= 0), "history_changes" integer unsigned NOT NULL CHECK ("history_changes" >= 0), "history_days" integer unsigned NOT NULL CHECK ("history_days" >= 0), "user_bytes" bigint unsigned NOT NULL CHECK ("user_bytes" >= 0), "user_sessions" integer unsigned NOT NULL CHECK ("user_sessions" >= 0), "handoff_limit" integer unsigned NOT NULL CHECK ("handoff_limit" >= 0), "title_model_id" bigint NULL REFERENCES "logical_models" ("id") DEFERRABLE INITIALLY DEFERRED, "children" integer unsigned NOT NULL CHECK ("children" >= 0), "children_at_once" integer unsigned NOT NULL CHECK ("children_at_once" >= 0), "children_depth" integer unsigned NOT NULL CHECK ("children_depth" >= 0), "children_minutes" integer unsigned NOT NULL CHECK ("children_minutes" >= 0), CONSTRAINT "limits_one_row" CHECK ("id" = 1), CONSTRAINT "limits_compact_at_in_range" CHECK ("compact_at_percent" BETWEEN 10 AND 90), CONSTRAINT "limits_tail_in_range" CHECK ("tail_percent" BETWEEN 1 AND 40));
CREATE INDEX "limits_title_model_id_a18792b6" ON "limits" ("title_model_id");
CREATE TABLE "inbox_messages" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "mode" varchar(9) NOT NULL, "content" text NOT NULL, "attachments" text NOT NULL CHECK ((JSON_VALID("attachments") OR "attachments" IS NULL)), "images" text NOT NULL CHECK ((JSON_VALID("images") OR "images" IS NULL)), "output_schema" text NOT NULL, "delivered_seq" integer unsigned NULL CHECK ("delivered_seq" >= 0), "created_at" datetime NOT NULL, "author_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "workflow_id" bigint NULL REFERENCES "workflows" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "inbox_mode_known" CHECK ("mode" IN ('interject', 'steer', 'queue')));
CREATE INDEX "inbox_messages_author_id_392f8515" ON "inbox_messages" ("author_id");
CREATE INDEX "inbox_messages_session_id_69769d0e" ON "inbox_messages" ("session_id");
CREATE INDEX "inbox_messages_workflow_id_4f9a2ac0" ON "inbox_messages" ("workflow_id");
CREATE INDEX "waiting_messages" ON "inbox_messages" ("session_id") WHERE "delivered_seq" IS NULL;
CREATE TABLE "session_members" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "may_write" bool NOT NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "role_id" integer NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "user_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "member_once_per_session" UNIQUE ("session_id", "user_id"), CONSTRAINT "role_once_per_session" UNIQUE ("session_id", "role_id"), CONSTRAINT "member_is_a_person_or_a_role" CHECK ((("user_id" IS NULL OR "role_id" IS NULL) AND 1 = (CASE WHEN "user_id" IS NULL THEN 1 ELSE 0 END + CASE WHEN "role_id" IS NULL THEN 1 ELSE 0 END))));
CREATE INDEX "session_members_session_id_618cf3e5" ON "session_members" ("session_id");
CREATE INDEX "session_members_role_id_c45fc758" ON "session_members" ("role_id");
CREATE INDEX "session_members_user_id_cc8e1211" ON "session_members" ("user_id");
CREATE TABLE "projects" ("id" char(32) NOT NULL PRIMARY KEY, "name" varchar(100) NOT NULL, "instructions" text NOT NULL, "version" integer unsigned NOT NULL CHECK ("version" >= 0), "created_at" datetime NOT NULL, "changed_at" datetime NOT NULL, "agent_id" bigint NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "project_members" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "may_write" bool NOT NULL, "project_id" char(32) NOT NULL REFERENCES "projects" ("id") DEFERRABLE INITIALLY DEFERRED, "role_id" integer NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "user_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "member_once_per_project" UNIQUE ("project_id", "user_id"), CONSTRAINT "role_once_per_project" UNIQUE ("project_id", "role_id"), CONSTRAINT "project_member_is_a_person_or_a_role" CHECK ((("user_id" IS NULL OR "role_id" IS NULL) AND 1 = (CASE WHEN "user_id" IS NULL THEN 1 ELSE 0 END + CASE WHEN "role_id" IS NULL THEN 1 ELSE 0 END))));
CREATE TABLE "library_passages" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "page" integer unsigned NOT NULL CHECK ("page" >= 0), "text" text NOT NULL, "terms" text NOT NULL, "file_id" bigint NOT NULL REFERENCES "library_files" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX "library_pas_file_id_abce3a_idx" ON "library_passages" ("file_id", "page");
CREATE TABLE "agent_pictures" ("agent_id" bigint NOT NULL PRIMARY KEY REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "png" BLOB NOT NULL);
CREATE INDEX "projects_agent_id_e1aaea54" ON "projects" ("agent_id");
CREATE INDEX "projects_owner_id_a6ce54bc" ON "projects" ("owner_id");
CREATE INDEX "project_members_project_id_bf2e42ec" ON "project_members" ("project_id");
CREATE INDEX "project_members_role_id_3ea7ee4f" ON "project_members" ("role_id");
CREATE INDEX "project_members_user_id_2e9d44b1" ON "project_members" ("user_id");
CREATE TABLE "agents_roles" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "agent_id" bigint NOT NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "agents" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "description" text NOT NULL, "is_default" bool NOT NULL, "denied_tools" text NOT NULL CHECK ((JSON_VALID("denied_tools") OR "denied_tools" IS NULL)), "withheld_patterns" text NOT NULL CHECK ((JSON_VALID("withheld_patterns") OR "withheld_patterns" IS NULL)), "prune_outputs" bool NOT NULL, "shorten_results" bool NOT NULL, "summarise" bool NOT NULL, "model_id" bigint NULL REFERENCES "logical_models" ("id") DEFERRABLE INITIALLY DEFERRED, "review_model_id" bigint NULL REFERENCES "logical_models" ("id") DEFERRABLE INITIALLY DEFERRED, "hooks" text NOT NULL CHECK ((JSON_VALID("hooks") OR "hooks" IS NULL)), "environments" text NOT NULL CHECK ((JSON_VALID("environments") OR "environments" IS NULL)), "blocked_commands" text NOT NULL CHECK ((JSON_VALID("blocked_commands") OR "blocked_commands" IS NULL)), "restricted_paths" text NOT NULL CHECK ((JSON_VALID("restricted_paths") OR "restricted_paths" IS NULL)), "delegates" bool NOT NULL, "helpers" text NOT NULL CHECK ((JSON_VALID("helpers") OR "helpers" IS NULL)), "instructions" text NOT NULL, "mark" varchar(20) NOT NULL, "max_iterations" integer unsigned NULL CHECK ("max_iterations" >= 0), "picture" varchar(64) NOT NULL, "skills" text NOT NULL CHECK ((JSON_VALID("skills") OR "skills" IS NULL)));
CREATE UNIQUE INDEX "agents_roles_agent_id_group_id_73d49040_uniq" ON "agents_roles" ("agent_id", "group_id");
CREATE INDEX "agents_roles_agent_id_6a025a9b" ON "agents_roles" ("agent_id");
CREATE INDEX "agents_roles_group_id_eb0bbe73" ON "agents_roles" ("group_id");
CREATE UNIQUE INDEX "one_default_agent" ON "agents" ("is_default") WHERE "is_default";
CREATE INDEX "agents_model_id_b52b8d09" ON "agents" ("model_id");
CREATE INDEX "agents_review_model_id_119168e9" ON "agents" ("review_model_id");
CREATE TABLE "library_vectors" ("passage_id" bigint NOT NULL PRIMARY KEY REFERENCES "library_passages" ("id") DEFERRABLE INITIALLY DEFERRED, "model" varchar(200) NOT NULL, "values" BLOB NOT NULL);
CREATE TABLE "library_files" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "key" char(32) NOT NULL, "name" varchar(120) NOT NULL, "size" bigint unsigned NOT NULL CHECK ("size" >= 0), "state" varchar(7) NOT NULL, "problem" text NOT NULL, "unit" varchar(20) NOT NULL, "count" integer unsigned NOT NULL CHECK ("count" >= 0), "pages_read" integer unsigned NOT NULL CHECK ("pages_read" >= 0), "tries" smallint unsigned NOT NULL CHECK ("tries" >= 0), "held_by" varchar(100) NOT NULL, "held_until" datetime NULL, "created_at" datetime NOT NULL, "added_by_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "project_id" char(32) NOT NULL REFERENCES "projects" ("id") DEFERRABLE INITIALLY DEFERRED, "vectors_of" varchar(200) NULL, "vectors_problem" text NOT NULL);
CREATE INDEX "memory_notes_project_id_ecb91208" ON "memory_notes" ("project_id");
CREATE INDEX "library_files_added_by_id_7f0c6687" ON "library_files" ("added_by_id");
CREATE INDEX "library_files_project_id_9ef6f6a0" ON "library_files" ("project_id");
CREATE INDEX "library_files_unread" ON "library_files" ("id") WHERE "state" IN ('waiting', 'reading');
CREATE INDEX "library_files_without_vectors" ON "library_files" ("id") WHERE ("state" = 'ready' AND "vectors_of" IS NULL);
CREATE TABLE "sessions" ("id" char(32) NOT NULL PRIMARY KEY, "title" varchar(200) NOT NULL, "denied_tools" text NOT NULL CHECK ((JSON_VALID("denied_tools") OR "denied_tools" IS NULL)), "off_record" bool NOT NULL, "parent_seq" integer unsigned NULL CHECK ("parent_seq" >= 0), "workdir" varchar(1000) NOT NULL, "summary" text NOT NULL, "next_steps" text NOT NULL CHECK ((JSON_VALID("next_steps") OR "next_steps" IS NULL)), "last_seq" integer unsigned NOT NULL CHECK ("last_seq" >= 0), "chain_head" varchar(64) NOT NULL, "held_by" varchar(100) NOT NULL, "held" text NOT NULL CHECK ((JSON_VALID("held") OR "held" IS NULL)), "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "agent_id" bigint NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "model_id" bigint NULL REFERENCES "logical_models" ("id") DEFERRABLE INITIALLY DEFERRED, "owner_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "files_bytes" bigint unsigned NOT NULL CHECK ("files_bytes" >= 0), "indexed_seq" integer unsigned NOT NULL CHECK ("indexed_seq" >= 0), "active_agent_id" bigint NULL REFERENCES "agents" ("id") DEFERRABLE INITIALLY DEFERRED, "allowed_tools" text NULL CHECK ((JSON_VALID("allowed_tools") OR "allowed_tools" IS NULL)), "folder" varchar(200) NOT NULL, "project_id" char(32) NULL REFERENCES "projects" ("id") DEFERRABLE INITIALLY DEFERRED, "last_job" integer unsigned NOT NULL CHECK ("last_job" >= 0), "left_out" text NOT NULL CHECK ((JSON_VALID("left_out") OR "left_out" IS NULL)), "parent_id" char(32) NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "root_id" char(32) NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "session_with_a_root_has_a_folder" CHECK ((("folder" = '' AND "root_id" IS NULL) OR ("root_id" IS NOT NULL AND NOT ("folder" = '')))));
CREATE UNIQUE INDEX "folder_once_per_root" ON "sessions" ("root_id", "folder") WHERE NOT ("folder" = '');
CREATE INDEX "sessions_agent_id_fd78684b" ON "sessions" ("agent_id");
CREATE INDEX "sessions_model_id_5465e3b8" ON "sessions" ("model_id");
CREATE INDEX "sessions_owner_id_fe11f324" ON "sessions" ("owner_id");
CREATE INDEX "sessions_active_agent_id_6af18f0b" ON "sessions" ("active_agent_id");
CREATE INDEX "sessions_project_id_7bca5628" ON "sessions" ("project_id");
CREATE INDEX "sessions_parent_id_0291e74f" ON "sessions" ("parent_id");
CREATE INDEX "sessions_root_id_982d63ff" ON "sessions" ("root_id");
CREATE INDEX "sessions_owner_i_fa7cf3_idx" ON "sessions" ("owner_id", "updated_at" DESC);
CREATE INDEX "held_sessions" ON "sessions" ("held_by") WHERE NOT ("held_by" = '');
CREATE INDEX "sessions_behind" ON "sessions" ("id") WHERE "last_seq" > ("indexed_seq");
CREATE INDEX "newest_sessions" ON "sessions" ("created_at" DESC, "owner_id", "root_id", "project_id", "id");
CREATE TABLE "tasks" ("id" char(32) NOT NULL PRIMARY KEY, "state" varchar(14) NOT NULL, "waiting_for" varchar(8) NULL, "stop_requested_at" datetime NULL, "stopped" bool NOT NULL, "failure_code" varchar(20) NOT NULL, "failure_detail" text NOT NULL, "iteration" integer unsigned NOT NULL CHECK ("iteration" >= 0), "max_iterations" integer unsigned NULL CHECK ("max_iterations" >= 0), "calls_made" integer unsigned NOT NULL CHECK ("calls_made" >= 0), "shown_tools" text NOT NULL CHECK ((JSON_VALID("shown_tools") OR "shown_tools" IS NULL)), "reminded" text NOT NULL CHECK ((JSON_VALID("reminded") OR "reminded" IS NULL)), "workflow" text NOT NULL CHECK ((JSON_VALID("workflow") OR "workflow" IS NULL)), "plan" text NOT NULL CHECK ((JSON_VALID("plan") OR "plan" IS NULL)), "output_schema" text NOT NULL, "misfits" smallint unsigned NOT NULL CHECK ("misfits" >= 0), "final_result" text NULL CHECK ((JSON_VALID("final_result") OR "final_result" IS NULL)), "input_tokens" bigint unsigned NOT NULL CHECK ("input_tokens" >= 0), "cached_tokens" bigint unsigned NOT NULL CHECK ("cached_tokens" >= 0), "output_tokens" bigint unsigned NOT NULL CHECK ("output_tokens" >= 0), "thinking_tokens" bigint unsigned NOT NULL CHECK ("thinking_tokens" >= 0), "cost_usd" decimal NULL, "epoch" integer unsigned NOT NULL CHECK ("epoch" >= 0), "lease_owner" varchar(100) NOT NULL, "lease_expires_at" datetime NULL, "crashes" smallint unsigned NOT NULL CHECK ("crashes" >= 0), "woken_at" datetime NULL, "created_at" datetime NOT NULL, "ended_at" datetime NULL, "session_id" char(32) NOT NULL REFERENCES "sessions" ("id") DEFERRABLE INITIALLY DEFERRED, "started_by_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "other_authors" text NOT NULL CHECK ((JSON_VALID("other_authors") OR "other_authors" IS NULL)), "terminal" varchar(100) NOT NULL, "admitted_at" datetime NULL, "agent_version_id" bigint NULL REFERENCES "agent_versions" ("id") DEFERRABLE INITIALLY DEFERRED, "handoffs" integer unsigned NOT NULL CHECK ("handoffs" >= 0), "deadline" datetime NULL, "number" integer unsigned NULL CHECK ("number" >= 0), "parent_call_id" bigint NULL REFERENCES "tool_call_logs" ("id") DEFERRABLE INITIALLY DEFERRED, "token_share" bigint unsigned NULL CHECK ("token_share" >= 0), "usd_share" decimal NULL, "told" varchar(20) NOT NULL, "silence" text NULL CHECK ((JSON_VALID("silence") OR "silence" IS NULL)), CONSTRAINT "task_state_known" CHECK ("state" IN ('initializing', 'thinking', 'executing_tool', 'finalizing', 'done', 'failed')), CONSTRAINT "task_ended_has_a_time" CHECK ((("ended_at" IS NOT NULL AND "state" IN ('done', 'failed')) OR ("ended_at" IS NULL AND "state" IN ('initializing', 'thinking', 'executing_tool', 'finalizing')))), CONSTRAINT "task_done_has_a_result" CHECK ((NOT ("state" = 'done') OR "final_result" IS NOT NULL)), CONSTRAINT "task_waits_in_its_state" CHECK (("waiting_for" IS NULL OR ("state" = 'initializing' AND "waiting_for" = 'siblings') OR ("state" = 'executing_tool' AND "waiting_for" IN ('reply', 'approval', 'children')))), CONSTRAINT "task_stopped_by_person_or_fork" CHECK ((NOT "stopped" OR "failure_code" = 'stopped' OR "state" = 'done')), CONSTRAINT "task_failed_has_a_code" CHECK ((("failure_code" IN ('stopped', 'max_iterations', 'no_tool_call', 'structural_error', 'provider_unavailable', 'authentication', 'budget_exceeded', 'tool_loop', 'tool_crashed', 'context_overflow', 'content_refused', 'time_limit', 'internal') AND "state" = 'failed') OR (NOT ("state" = 'failed') AND "failure_code" = ''))));
CREATE UNIQUE INDEX "one_active_task_per_session" ON "tasks" ("session_id") WHERE "ended_at" IS NULL;
CREATE INDEX "tasks_started_by_id_72fe01a1" ON "tasks" ("started_by_id");
CREATE INDEX "tasks_agent_version_id_2b20a0e7" ON "tasks" ("agent_version_id");
CREATE INDEX "tasks_parent_call_id_39a5914a" ON "tasks" ("parent_call_id");
CREATE INDEX "tasks_session_5807dc_idx" ON "tasks" ("session_id", "created_at" DESC);
CREATE INDEX "queued_tasks" ON "tasks" ("started_by_id", "created_at") WHERE ("admitted_at" IS NULL AND "ended_at" IS NULL AND "waiting_for" IS NULL);
CREATE INDEX "running_tasks" ON "tasks" ("started_by_id") WHERE ("admitted_at" IS NOT NULL AND "ended_at" IS NULL);
CREATE INDEX "newest_admissions" ON "tasks" ("started_by_id", "admitted_at" DESC) WHERE "admitted_at" IS NOT NULL;
CREATE INDEX "newest_tasks" ON "tasks" ("created_at" DESC);
CREATE INDEX "waiting_tasks" ON "tasks" ("session_id") WHERE "waiting_for" IS NOT NULL;
CREATE INDEX "active_task_leases" ON "tasks" ("lease_expires_at") WHERE "ended_at" IS NULL;
CREATE TABLE "routing_rules" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "enabled" bool NOT NULL, "match" varchar(7) NOT NULL, "pattern" text NOT NULL, "closeness" real NOT NULL, "target" varchar(8) NOT NULL, "target_name" varchar(100) NOT NULL, "text" text NOT NULL, "fault" text NOT NULL, CONSTRAINT "routing_rule_target_known" CHECK ("target" IN ('', 'skill', 'group', 'agent', 'workflow')), CONSTRAINT "routing_rule_match_known" CHECK ("match" IN ('words', 'regex', 'meaning', 'files')));
CREATE TABLE "approvals" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "fingerprint" varchar(64) NOT NULL, "reason" varchar(300) NOT NULL, "decision" varchar(8) NOT NULL, "scope" varchar(4) NOT NULL, "note" text NOT NULL, "decided_at" datetime NULL, "consumed_at" datetime NULL, "created_at" datetime NOT NULL, "expires_at" datetime NULL, "decided_by_id" bigint NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "tool_call_id" bigint NOT NULL UNIQUE REFERENCES "tool_call_logs" ("id") DEFERRABLE INITIALLY DEFERRED, "covers" varchar(200) NOT NULL, CONSTRAINT "approval_decision_known" CHECK ("decision" IN ('pending', 'approved', 'rejected')), CONSTRAINT "approval_scope_known" CHECK ("scope" IN ('once', 'task')), CONSTRAINT "approval_consumed_was_given" CHECK (("consumed_at" IS NULL OR "decision" = 'approved')));
CREATE INDEX "approvals_decided_by_id_71198aed" ON "approvals" ("decided_by_id");
CREATE INDEX "pending_approvals" ON "approvals" ("expires_at") WHERE "decision" = 'pending';
CREATE TABLE "allowed_addresses" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "address" varchar(255) NOT NULL UNIQUE);
CREATE TABLE "mcp_servers_roles" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "mcpserver_id" bigint NOT NULL REFERENCES "mcp_servers" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "search_engines" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "kind" varchar(10) NOT NULL, "base_url" varchar(200) NOT NULL, "priority" smallint unsigned NOT NULL CHECK ("priority" >= 0), "enabled" bool NOT NULL, CONSTRAINT "search_engine_kind_known" CHECK ("kind" IN ('tavily', 'brave', 'exa', 'serper', 'bocha', 'searxng', 'ddgs')));
CREATE TABLE "skills_roles" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "skill_id" bigint NOT NULL REFERENCES "skills" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "cached_searches" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "key" varchar(64) NOT NULL, "content" text NOT NULL, "created_at" datetime DEFAULT (STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')) NOT NULL, "user_id" bigint NOT NULL REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX "mcp_servers_roles_mcpserver_id_group_id_e646f5cd_uniq" ON "mcp_servers_roles" ("mcpserver_id", "group_id");
CREATE INDEX "mcp_servers_roles_mcpserver_id_55d8003f" ON "mcp_servers_roles" ("mcpserver_id");
CREATE INDEX "mcp_servers_roles_group_id_3f6ec842" ON "mcp_servers_roles" ("group_id");
CREATE UNIQUE INDEX "skills_roles_skill_id_group_id_832684c2_uniq" ON "skills_roles" ("skill_id", "group_id");
CREATE INDEX "skills_roles_skill_id_9f66a2be" ON "skills_roles" ("skill_id");
CREATE INDEX "skills_roles_group_id_27353795" ON "skills_roles" ("group_id");
CREATE INDEX "cached_searches_created_at_9814899c" ON "cached_searches" ("created_at");
CREATE INDEX "cached_searches_user_id_a9914ed1" ON "cached_searches" ("user_id");
CREATE INDEX "cached_sear_user_id_7a6ca3_idx" ON "cached_searches" ("user_id", "key");
CREATE TABLE "tool_settings" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL UNIQUE, "enabled" bool NOT NULL, "danger" varchar(10) NOT NULL, "approval" varchar(10) NOT NULL, "four_eyes" bool NOT NULL, "hosts" text NOT NULL CHECK ((JSON_VALID("hosts") OR "hosts" IS NULL)), "approvers_id" integer NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "tool_setting_approval_known" CHECK ("approval" IN ('never', 'by_danger', 'always')), CONSTRAINT "tool_setting_danger_known" CHECK ("danger" IN ('', 'safe', 'moderate', 'dangerous')));
CREATE INDEX "tool_settings_approvers_id_cafcfa10" ON "tool_settings" ("approvers_id");
CREATE TABLE "skill_files" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "path" varchar(300) NOT NULL, "content" BLOB NOT NULL, "skill_id" bigint NOT NULL REFERENCES "skills" ("id") DEFERRABLE INITIALLY DEFERRED, "executable" bool NOT NULL, CONSTRAINT "skill_file_once" UNIQUE ("skill_id", "path"));
CREATE INDEX "skill_files_skill_id_e0a8d7e4" ON "skill_files" ("skill_id");
CREATE TABLE "role_policies" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "allow" text NOT NULL CHECK ((JSON_VALID("allow") OR "allow" IS NULL)), "deny" text NOT NULL CHECK ((JSON_VALID("deny") OR "deny" IS NULL)), "approvals" text NOT NULL CHECK ((JSON_VALID("approvals") OR "approvals" IS NULL)), "role_id" integer NOT NULL UNIQUE REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "is_default" bool NOT NULL);
CREATE TABLE "tool_settings_roles" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "toolsetting_id" bigint NOT NULL REFERENCES "tool_settings" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "user_policies" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "deny" text NOT NULL CHECK ((JSON_VALID("deny") OR "deny" IS NULL)), "user_id" bigint NOT NULL UNIQUE REFERENCES "accounts_user" ("id") DEFERRABLE INITIALLY DEFERRED, "switched_off" text NOT NULL CHECK ((JSON_VALID("switched_off") OR "switched_off" IS NULL)));
CREATE UNIQUE INDEX "tool_settings_roles_toolsetting_id_group_id_e89c542f_uniq" ON "tool_settings_roles" ("toolsetting_id", "group_id");
CREATE INDEX "tool_settings_roles_toolsetting_id_855510ca" ON "tool_settings_roles" ("toolsetting_id");
CREATE INDEX "tool_settings_roles_group_id_dd1b0cbd" ON "tool_settings_roles" ("group_id");
CREATE UNIQUE INDEX "one_default_role" ON "role_policies" ("is_default") WHERE "is_default";
CREATE TABLE "skills" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "description" varchar(2048) NOT NULL, "body" text NOT NULL, "enabled" bool NOT NULL, "changed_at" datetime NOT NULL, "name" varchar(64) NOT NULL UNIQUE);
CREATE TABLE "mcp_servers" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(30) NOT NULL UNIQUE, "description" varchar(300) NOT NULL, "transport" varchar(15) NOT NULL, "command" text NOT NULL CHECK ((JSON_VALID("command") OR "command" IS NULL)), "environment" text NOT NULL CHECK ((JSON_VALID("environment") OR "environment" IS NULL)), "url" varchar(500) NOT NULL, "headers" text NOT NULL CHECK ((JSON_VALID("headers") OR "headers" IS NULL)), "credential" varchar(100) NOT NULL, "timeout_s" integer unsigned NOT NULL CHECK ("timeout_s" >= 0), "danger" varchar(10) NOT NULL, "enabled" bool NOT NULL, "listed_at" datetime NULL, "fault" text NOT NULL, "loop_exempt" text NOT NULL CHECK ((JSON_VALID("loop_exempt") OR "loop_exempt" IS NULL)), "skipped" text NOT NULL CHECK ((JSON_VALID("skipped") OR "skipped" IS NULL)), "trusts_annotations" bool NOT NULL, CONSTRAINT "mcp_transport_known" CHECK ("transport" IN ('stdio', 'streamable_http')), CONSTRAINT "mcp_danger_known" CHECK ("danger" IN ('safe', 'moderate', 'dangerous')));
CREATE TABLE "mcp_tools" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(100) NOT NULL, "description" text NOT NULL, "schema" text NOT NULL, "digest" varchar(64) NOT NULL, "confirmed" varchar(64) NOT NULL, "is_gone" bool NOT NULL, "server_id" bigint NOT NULL REFERENCES "mcp_servers" ("id") DEFERRABLE INITIALLY DEFERRED, "is_destructive" bool NOT NULL, "is_read_only" bool NOT NULL, "own_name" varchar(200) NOT NULL, CONSTRAINT "mcp_tool_once_per_server" UNIQUE ("server_id", "name"));
CREATE INDEX "mcp_tools_server_id_d42cb3a9" ON "mcp_tools" ("server_id");
