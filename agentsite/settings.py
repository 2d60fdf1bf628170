"""Django's settings for both modes: `REDIS_URL` selects the team mode, otherwise the mode is embedded."""

from typing import Any
from urllib.parse import urlsplit

from agentsite import environment, postgresql
from agentsite.admin_site import UNFOLD  # noqa: F401
from agentsite.environment import BASE_DIR, EMBEDDED, REDIS_URL, VAR_DIR, env, get_key
from agentsite.log_settings import LOGGING  # noqa: F401

DEBUG = EMBEDDED and env.bool("DEBUG", default=False)  # `make dev`; `serve` refuses it beyond loopback
SECRET_KEY = get_key("SECRET_KEY")
FIELD_ENCRYPTION_KEY = get_key("FIELD_ENCRYPTION_KEY")
AGENTSITE_URL = environment.public_url()
_HOSTS = environment.allowed_hosts(env.list("ALLOWED_HOSTS", default=[]))
HOSTS_OF_OTHERS = [*_HOSTS, *environment.allowed_hosts(filter(None, [urlsplit(AGENTSITE_URL).hostname]))]
ALLOWED_HOSTS = [*HOSTS_OF_OTHERS, "127.0.0.1", "localhost", "[::1]"]
_ORIGINS = environment.trusted_origins(env.list("CSRF_TRUSTED_ORIGINS", default=[]))
CSRF_TRUSTED_ORIGINS = [*_ORIGINS, *filter(None, [AGENTSITE_URL])]
CSRF_FAILURE_VIEW = "agentsite.refusals.csrf_failure"
TRUSTED_PROXIES = environment.trusted_proxies(env.list("TRUSTED_PROXIES", default=[]))
SECURE_HSTS_SECONDS = env.integer("AGENTSITE_HSTS_SECONDS", 2_592_000)  # 30 days; sent over https alone
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = any(origin.startswith("https://") for origin in _ORIGINS)

INSTALLED_APPS = [
    "agentsite.accounts",
    "tasks_app",
    "tools_app",
    "llm_app",
    "agentsite",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
]
MIDDLEWARE = [
    "tasks_app.runtime.log_ids.RequestIds",
    "django.middleware.security.SecurityMiddleware",
    "agentsite.static_files.StaticFilesMiddleware",
    "agentsite.middleware.SecureCookiesMiddleware",
    "agentsite.middleware.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "agentsite.middleware.TimeZoneAndLanguageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "agentsite.middleware.RetryLaterMiddleware",
]
ROOT_URLCONF = "agentsite.urls"
ASGI_APPLICATION = "agentsite.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["agentsite.template_loader.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- data -------------------------------------------------------------------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {"default": environment.database_settings()}
if "sqlite" in DATABASES["default"]["ENGINE"]:
    # WAL, IMMEDIATE transactions and a queue of this process's writers: they wait for each other instead of failing.
    DATABASES["default"] |= {
        "ENGINE": "agentsite.sqlite",
        "CONN_MAX_AGE": None,
        "TEST": {"NAME": str(VAR_DIR / "test.sqlite3")},  # threads share a file, not memory
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        },
    }
else:
    DATABASES["default"] |= {
        "ENGINE": "agentsite.postgresql",
        "CONN_MAX_AGE": 0,  # as the pool requires; connections return to it before every wait
        "OPTIONS": {
            **postgresql.OPTIONS,
            **DATABASES["default"].get("OPTIONS", {}),  # from DATABASE_URL, such as sslmode
            "pool": {"min_size": 1, "max_size": 32, "timeout": 20, "reconnect_timeout": 10},
        },
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
WORKSPACES_DIR = VAR_DIR / "workspaces"
HOMES_DIR = VAR_DIR / "homes"  # home folders of the programs that agents run, one per session
VERSIONS_DIR = VAR_DIR / "versions"  # histories of workspaces: earlier contents of their files
STORAGES = environment.storage_settings()  # for files outside sessions, such as those of projects
LIBRARY_DIR = VAR_DIR / "library"  # these files, unless they are in a bucket
LIBRARY_FOLDERS_DIR = VAR_DIR / "library_folders"  # the same files by name, for reading in workspaces
TRACES_DIR = VAR_DIR / "traces"  # output of file sinks
SKILLS_DIR = VAR_DIR / "skills"  # folders with a SKILL.md, in addition to the shipped ones
RUN_DIR = VAR_DIR / "run"

CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    if EMBEDDED
    else {
        "BACKEND": "agentsite.team_cache.RedisOrLocalCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
    }
}
CACHES["tries"] = CACHES["default"] | (  # sign-in attempts: at most 20 MB; the oldest are dropped first
    {"LOCATION": "tries", "OPTIONS": {"MAX_ENTRIES": 30_000}} if EMBEDDED else {"KEY_PREFIX": "tries"}
)

# --- channel layer and broker, which differ between the embedded and the team mode ------------------------------
_CHANNELS = {"address": REDIS_URL, "socket_connect_timeout": 2, "health_check_interval": 5}
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "tasks_app.runtime.broadcast.InProcessLayer", "CONFIG": {"capacity": 2000}}
    if EMBEDDED
    else {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [_CHANNELS]}}
}
CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
_ONE_TRY = {"max_retries": 1, "interval_start": 0, "interval_max": 0}  # a request waits for this
CELERY_BROKER_TRANSPORT = "agentsite.broker:EmbeddedTransport" if EMBEDDED else None
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {} if EMBEDDED else {"socket_timeout": 5, "socket_connect_timeout": 2, **_ONE_TRY}
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # otherwise a full or read-only Redis would end the worker
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False  # the reaper finds messages that the broker lost
CELERY_TASK_ACKS_LATE = False  # a message only wakes a worker: the row is authoritative
CELERY_WORKER_PREFETCH_MULTIPLIER, CELERY_WORKER_DISABLE_PREFETCH = 1, not EMBEDDED  # others may have a free thread
CELERY_WORKER_CONCURRENCY = env.integer("AGENTSITE_THREADS", 128, minimum=1)  # a stalled call holds a thread
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"  # stores no state: jobs may run late after a restart
CELERY_BEAT_SCHEDULE = {"clean up": {"task": "tasks_app.clean_up", "schedule": 600.0, "options": {"expires": 600}}}

# --- people -----------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "agentsite.accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_RATE_LIMITS = {"login": None, "login_failed": None}  # allauth's lock out offices: see accounts.login_limits
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[agentsite] "
MFA_ADAPTER = "agentsite.accounts.two_factor.TwoFactorAdapter"
MFA_TOTP_TOLERANCE = 1  # codes are valid 30 s early or late: clocks differ, and typing takes time
_FORMS = {"authenticate": "SignInForm", "reauthenticate": "ConfirmForm"}
MFA_FORMS = {name: f"agentsite.accounts.two_factor.{form}" for name, form in _FORMS.items()}
KNOX_TOKEN_MODEL = "accounts.ApiToken"  # noqa: S105  a name
REST_KNOX = {"AUTH_HEADER_PREFIX": "Bearer", "TOKEN_TTL": None, "TOKEN_MODEL": KNOX_TOKEN_MODEL}

# --- mail: none without EMAIL_URL -------------------------------------------------------------------------------
vars().update(environment.mail_settings())
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="agentsite@localhost")
_OWN = f"http://127.0.0.1:{env.integer('PORT', 8000)}"
PUBLIC_URL = AGENTSITE_URL or next(iter(CSRF_TRUSTED_ORIGINS), _OWN)  # base of the links in mails and notifications

# --- the web ----------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
SERVESTATIC_USE_FINDERS = SERVESTATIC_AUTOREFRESH = DEBUG
SERVESTATIC_USE_STATIC_ROOT = False
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-src": ["'self'"],  # previews, which are sandboxed
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "manifest-src": ["'self'"],
    }
}
JSON_BYTES = env.integer("AGENTSITE_JSON_BYTES", 1024**2, minimum=1024)  # parsing blocks all other threads
DATA_UPLOAD_MAX_MEMORY_SIZE = max(JSON_BYTES, 4 * 1024**2)  # also for forms: a message of 1 MiB may take 3 in them
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SECURE_REFERRER_POLICY = "same-origin"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "tasks_app.api.authentication.BearerToken",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["tasks_app.api.formats.OrjsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["tasks_app.api.formats.JSONBody"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "tasks_app.api.formats.NewestFirst",
    "EXCEPTION_HANDLER": "tasks_app.api.problems.exception_handler",
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "agentsite",
    "DESCRIPTION": "Chat with an agent that works; everything the browser does, for programs.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "tasks_app.api.problems.add_problem_responses",
    ],
    "ENUM_NAME_OVERRIDES": {"WaitingForEnum": "tasks_app.models.task_state.WaitingFor"},
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": False},  # its links would be inside of buttons
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# --- the rest ---------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"  # for programs, terminals and the admin
LANGUAGES = [("de", "Deutsch"), ("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
SANDBOX = env.str("AGENTSITE_SANDBOX", default="")
WORKSHOP = env.str("AGENTSITE_WORKSHOP", default="") or "1"  # 0, 1, or the folder of an installed one
PACKAGES = env.bool("AGENTSITE_PACKAGES", default=False)  # at the first start: commands can install packages
_READER = env.str("AGENTSITE_READER_URL", default="")  # renders pages that need JavaScript; empty: use the browser
READER_SERVICE = {"base_url": _READER, "key": env.str("AGENTSITE_READER_KEY", default="")} if _READER else {}
HOOKS: list[str] = env.list("AGENTSITE_HOOKS", default=[])  # "package.module.Class", in addition to entry points
LEASE_SECONDS = env.integer("AGENTSITE_LEASE_SECONDS", 15, minimum=1)
MAX_RUNNING = env.integer("AGENTSITE_MAX_RUNNING", 200, minimum=1)  # tasks; up to ten times as many are queued
MAX_RUNNING_PER_USER = env.integer("AGENTSITE_MAX_RUNNING_PER_USER", 20, minimum=1)
LEAST_FREE_DISK = env.integer("AGENTSITE_FREE_DISK", 200_000_000)  # bytes; with less, new tasks and files are refused
# Limits per token or session, and per address; 0: no limit.
REQUESTS_PER_MINUTE = {
    "token": env.integer("AGENTSITE_REQUESTS_PER_TOKEN", 30_000),
    "address": env.integer("AGENTSITE_REQUESTS_PER_ADDRESS", 60_000),
}
STREAMS = {
    "token": env.integer("AGENTSITE_STREAMS_PER_TOKEN", 2_000),
    "address": env.integer("AGENTSITE_STREAMS_PER_ADDRESS", 4_000),
}
