"""Settings, read once from the environment; docs/configuration.md documents each variable."""

import hmac
import sys
from pathlib import Path

from csp.constants import NONE, SELF

from chatapp import environment, logs

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(environment.text("DATA_DIR", str(BASE_DIR / "var"))).resolve()

DEBUG = environment.flag("DEBUG")
SECRET_KEY = environment.text("SECRET_KEY") or environment.generated_secret(DATA_DIR / "secret_key")
# Former keys: what they signed and encrypted is still accepted.
SECRET_KEY_FALLBACKS = environment.words("SECRET_KEY_FALLBACKS")
# The salt for encrypting upstream keys at rest; the secret is SECRET_KEY.
SALT_KEY = "chatapp.upstream.api_key"

HOST = environment.text("HOST", "127.0.0.1")
PORT = environment.port("PORT", 8000)
WORKERS = environment.number("WORKERS", 1)  # processes that share the port
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS") or ["localhost", "127.0.0.1", "[::1]", HOST]
CSRF_TRUSTED_ORIGINS = environment.origins("CSRF_TRUSTED_ORIGINS")
SERVED_OVER_TLS = any(origin.startswith("https://") for origin in CSRF_TRUSTED_ORIGINS)
# Peers whose X-Forwarded-For, X-Forwarded-Proto and X-Request-ID headers are trusted.
CHATAPP_TRUSTED_PROXIES = environment.networks("CHATAPP_TRUSTED_PROXIES", "127.0.0.1,::1")

OPENAI_BASE_URL = environment.url("OPENAI_BASE_URL", ("http", "https")).rstrip("/")
OPENAI_API_KEY = environment.text("OPENAI_API_KEY")
DATABASE_URL = environment.text("DATABASE_URL")
REDIS_URL = environment.url("REDIS_URL", ("redis", "rediss", "unix"))

# The maximum size of a request body, also for Django's own form limit.
CHATAPP_MAX_BODY_BYTES = environment.size("CHATAPP_MAX_BODY_BYTES", 2 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = CHATAPP_MAX_BODY_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2100  # an import for a team lists up to 2,000 people

# Seconds for which a reply goes on after its last tab is closed or its last connection is lost.
CHATAPP_CLOSE_GRACE = environment.seconds("CHATAPP_CLOSE_GRACE", 1)
CHATAPP_DROP_GRACE = environment.seconds("CHATAPP_DROP_GRACE", 10)
# Seconds that running replies have to end after SIGTERM.
CHATAPP_DRAIN_SECONDS = environment.seconds("CHATAPP_DRAIN_SECONDS", 20)
# Seconds to wait for an upstream's usage report after the text of a reply is complete.
CHATAPP_USAGE_SECONDS = environment.seconds("CHATAPP_USAGE_SECONDS", 30)

# The maximum length of a prompt; the limit of a socket's messages follows from it.
CHATAPP_MAX_PROMPT_CHARACTERS = environment.number("CHATAPP_MAX_PROMPT_CHARACTERS", 200_000)

# Limits per person: replies in total, everything else per process.
CHATAPP_TABS_PER_PERSON = environment.number("CHATAPP_TABS_PER_PERSON", 250)
CHATAPP_REPLIES_PER_PERSON = environment.number("CHATAPP_REPLIES_PER_PERSON", 250)
# For a person's forks, projects, prompts, presets and notes, which no limit on replies covers.
CHATAPP_STORED_BYTES_PER_PERSON = environment.size(
    "CHATAPP_STORED_BYTES_PER_PERSON", 512 * 1024 * 1024
)
# Limits for the files that people attach.
CHATAPP_FILE_BYTES = environment.size("CHATAPP_FILE_BYTES", 100 * 1024 * 1024)
CHATAPP_FILES_PER_MESSAGE = environment.number("CHATAPP_FILES_PER_MESSAGE", 20)
CHATAPP_FILE_PAGES = environment.number("CHATAPP_FILE_PAGES", 1000)
CHATAPP_FILE_CHARACTERS = environment.number("CHATAPP_FILE_CHARACTERS", 2_000_000)
CHATAPP_FILE_PIXELS = environment.number("CHATAPP_FILE_PIXELS", 60_000_000)
CHATAPP_SCANNED_PAGES = environment.number("CHATAPP_SCANNED_PAGES", 20)
CHATAPP_FILE_BYTES_PER_PERSON = environment.size(
    "CHATAPP_FILE_BYTES_PER_PERSON", 2 * 1024 * 1024 * 1024
)
# For the files that one person has uploaded to import chats from.
CHATAPP_IMPORT_BYTES = environment.size("CHATAPP_IMPORT_BYTES", 4 * 1024 * 1024 * 1024)
CHATAPP_TIME_ZONE = environment.zone("CHATAPP_TIME_ZONE", "UTC")
# The average for one tab; five times as many are possible for a moment.
CHATAPP_ACTIONS_PER_SECOND = environment.number("CHATAPP_ACTIONS_PER_SECOND", 10)

# The bearer token of Prometheus; without it there is no /metrics.
CHATAPP_METRICS_TOKEN = environment.text("CHATAPP_METRICS_TOKEN")

# The mail server; without it the app sends no email, and links are copied by hand.
EMAIL_URL = environment.url("EMAIL_URL", ("smtp", "smtps", "smtp+tls", "smtp+ssl"))
MAIL = environment.mail("EMAIL_URL") if EMAIL_URL else {}
# The base of links in emails, since a request may claim any host and port.
PUBLIC_ORIGIN = environment.first_origin(CSRF_TRUSTED_ORIGINS, needed_by=EMAIL_URL and "EMAIL_URL")
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST, EMAIL_PORT = MAIL.get("EMAIL_HOST", ""), MAIL.get("EMAIL_PORT") or 25
EMAIL_HOST_USER = MAIL.get("EMAIL_HOST_USER") or ""
EMAIL_HOST_PASSWORD = MAIL.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS = bool(MAIL.get("EMAIL_USE_TLS"))
EMAIL_USE_SSL = bool(MAIL.get("EMAIL_USE_SSL"))
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = environment.text("CHATAPP_MAIL_FROM") or "chatapp@localhost"
PASSWORD_RESET_TIMEOUT = 3 * 86400  # seconds

INSTALLED_APPS = [
    "chatapp",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "csp",
]
MIDDLEWARE = [
    "chatapp.server.probes.middleware.ProbesMiddleware",
    "chatapp.api.middleware.ApiErrorsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "chatapp.server.middleware.database_away.DatabaseAwayMiddleware",
    "chatapp.server.middleware.bad_input.BadInputMiddleware",
    "chatapp.server.middleware.static_files.StaticFilesMiddleware",
    "chatapp.server.middleware.branding.BrandingMiddleware",
    "chatapp.sessions.idle_sessions.SessionMiddleware",
    "chatapp.server.middleware.rate_limit.RateLimitMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
ROOT_URLCONF = "chatapp.urls"
ASGI_APPLICATION = "chatapp.asgi.application"
# The app's pages use Jinja2. Django's own engine renders mail, and allauth's messages.
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "environment": "chatapp.rendering.fragments.environment.environment",
            "context_processors": [
                "chatapp.rendering.fragments.environment.csrf_input_once",
                "chatapp.accounts.navigation.own_pages",
                "chatapp.staff.navigation.staff_page",
            ],
        },
    },
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates" / "django"],
        "APP_DIRS": True,
    },
]

SQLITE = {
    "ENGINE": "chatapp.db.sqlite",
    "NAME": DATA_DIR / "chatapp.sqlite3",
    # IMMEDIATE: writers queue at BEGIN instead of failing when they upgrade; readers never wait.
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # secure_delete overwrites most deleted content; `vacuuming` describes the exceptions.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
        "PRAGMA secure_delete=ON;",
    },
    "CONN_MAX_AGE": None,
    # A file: in memory, one writing thread locks out all others.
    "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
}
# Short timeouts, so that a database outage is reported within seconds and nothing hangs.
POSTGRESQL = {
    "ENGINE": "chatapp.db.postgresql",
    "CONN_HEALTH_CHECKS": True,
    "OPTIONS": {
        "connect_timeout": 3,
        "tcp_user_timeout": 5000,  # ms
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 2,
        "pool": {"min_size": 1, "max_size": 10, "timeout": 3, "reconnect_timeout": 1},
    },
}
DATABASES = {
    "default": environment.database("DATABASE_URL", **POSTGRESQL) if DATABASE_URL else SQLITE
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Separates installations that share a Redis, including a copy from its original.
INSTALLATION = hmac.new(
    SECRET_KEY.encode(), str(DATABASES["default"]["NAME"]).encode(), "sha256"
).hexdigest()[:16]
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": f"chatapp.{INSTALLATION}"},
    }
    if REDIS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}

# Counts sign-in attempts. Above MAX_ENTRIES in the database, expired entries are removed.
DATABASE_CACHE = {
    "BACKEND": "chatapp.sessions.shared_cache.SharedCache",
    "LOCATION": "chatapp_cacheentry",
    "OPTIONS": {"MAX_ENTRIES": 1000},
}
REDIS_CACHE = {
    "BACKEND": "chatapp.sessions.redis_cache.RedisOrDatabase",
    "LOCATION": REDIS_URL,
    "KEY_PREFIX": f"chatapp.{INSTALLATION}",
    "OPTIONS": {
        # Seconds; short, because somebody is waiting to sign in.
        "socket_connect_timeout": 0.5,
        "socket_timeout": 0.5,
    },
}
CACHES = (
    {"default": REDIS_CACHE, "database": DATABASE_CACHE}
    if REDIS_URL
    else {"default": DATABASE_CACHE}
)

AUTH_USER_MODEL = "chatapp.User"
AUTHENTICATION_BACKENDS = ["chatapp.accounts.Backend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "chatapp.accounts.passwords.ZxcvbnPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "chat"
ACCOUNT_ADAPTER = "chatapp.accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_CHANGE_EMAIL = False
# The key of `login_failed` is the account and the client (see `AccountAdapter`), so that one client
# cannot lock out others; the key of `login_failed_anywhere` is the account alone. The limits per
# address allow for an office behind one address, where everybody signs in in the morning.
ACCOUNT_RATE_LIMITS = {
    "login": "120/m/ip",
    "begin_login": "120/m/ip",
    "login_failed": "10/m/ip,5/5m/key",
    "login_failed_anywhere": "20/15m/key",
    # Emails triggered without signing in: per client and per address.
    "signup": "20/h/ip,3/h/key",
    "reset_password": "20/h/ip,3/h/key",
}
ACCOUNT_FORMS = {
    "login": "chatapp.accounts.forms.LoginForm",
    "change_password": "chatapp.accounts.forms.ChangePasswordForm",
}
# Seconds for which entering the password allows sensitive changes.
ACCOUNT_REAUTHENTICATION_TIMEOUT = 15 * 60
MFA_ADAPTER = "chatapp.accounts.second_factor.MFAAdapter"
MFA_FORMS = {
    "add_webauthn": "chatapp.accounts.passkeys.AddForm",
    "authenticate_webauthn": "chatapp.accounts.passkeys.AuthenticateForm",
    "reauthenticate_webauthn": "chatapp.accounts.passkeys.ReauthenticateForm",
    "login_webauthn": "chatapp.accounts.passkeys.LoginForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_REAUTHENTICATION_REQUIRED = False  # chatapp.accounts.urls does it, and drops the posted data
MFA_TOTP_TOLERANCE = 1  # one step of 30 s, for phones with a wrong clock

# Sign-in with the organisation's OpenID Connect provider: its discovery URL and our client there.
CHATAPP_OIDC_URL = environment.url("CHATAPP_OIDC_URL", ("http", "https"))
CHATAPP_OIDC_NAME = environment.text("CHATAPP_OIDC_NAME", "your organisation")
CHATAPP_OIDC_GROUPS_CLAIM = environment.text("CHATAPP_OIDC_GROUPS_CLAIM")
OIDC_APP = {
    "provider_id": "oidc",
    "name": CHATAPP_OIDC_NAME,
    "client_id": environment.text("CHATAPP_OIDC_CLIENT_ID"),
    "secret": environment.text("CHATAPP_OIDC_SECRET"),
    "settings": {"server_url": CHATAPP_OIDC_URL, "oauth_pkce_enabled": True},
}
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [OIDC_APP] if CHATAPP_OIDC_URL else []}}
SOCIALACCOUNT_ADAPTER = "chatapp.accounts.organisation.OrganisationAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True  # allauth's own table of addresses is not used

SESSION_ENGINE = "chatapp.sessions.session_store"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SERVED_OVER_TLS
# With the __Host- prefix, a browser accepts these cookies only from this host, over HTTPS and for
# the whole site, so that no other host of the domain can set them
# (https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-4.1.3).
SESSION_COOKIE_NAME = f"{'__Host-' if SERVED_OVER_TLS else ''}sessionid"
DEVICE_COOKIE_NAME = f"{'__Host-' if SERVED_OVER_TLS else ''}device"
CSRF_COOKIE_NAME = f"{'__Host-' if SERVED_OVER_TLS else ''}csrftoken"
# Seconds after which an unused session ends; capped, since no cookie lasts ten years anyway.
CHATAPP_IDLE_TIMEOUT = environment.seconds("CHATAPP_IDLE_TIMEOUT", 14 * 86400, least=60)
SESSION_COOKIE_AGE = int(min(CHATAPP_IDLE_TIMEOUT, 10 * 365 * 86400))
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# HSTS and the redirect from http are up to the proxy that has the certificate.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],  # includes the socket's origin (CSP 3)
        "worker-src": [SELF],
        "manifest-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "files": environment.files(
        DATA_DIR / "files",
        environment.text("CHATAPP_FILES_BUCKET"),
        environment.url("CHATAPP_FILES_ENDPOINT", ("http", "https")),
    ),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "chatapp.server.middleware.static_files.HashedStaticFilesStorage"
    },
}
WHITENOISE_MANIFEST_STRICT = False
WHITENOISE_ALLOW_ALL_ORIGINS = False  # other sites have no use for our files

LOGGING = logs.configuration(for_people=DEBUG or sys.stderr.isatty())
