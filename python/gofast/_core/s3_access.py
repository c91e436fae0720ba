"""Who we are at S3, and where it is, as botocore finds it; by botocore itself where it is installed."""

from __future__ import annotations

import configparser
import functools
import os
from typing import Any

from .. import errors
from .remote_operations import S3Access

# What a profile may have in the place of keys.
_FOR_BOTOCORE = {"role_arn", "sso_session", "sso_start_url", "credential_process"}


def s3_access() -> S3Access:
    """The key, region and endpoint of now: keys of a role change while a program runs.

    Raises:
        OptionError: AWS_PROFILE is in none of the files, or botocore finds the settings broken.
    """
    session = _session(os.getpid(), *(item for item in os.environ.items() if item[0].startswith("AWS_")))
    made = _files() if session is None else _asked(session)
    environment = os.environ.get
    endpoint = environment("AWS_ENDPOINT_URL_S3") or environment("AWS_ENDPOINT_URL") or made["endpoint"]
    region = environment("AWS_REGION") or environment("AWS_DEFAULT_REGION") or made["region"]
    return {**made, "endpoint": endpoint, "region": region or "us-east-1"}


@functools.cache  # it keeps the keys of a role, and renews them
def _session(pid: int, *settings: tuple[str, str]) -> Any:
    try:
        from botocore.session import get_session  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    return get_session()


def _asked(session: Any) -> S3Access:
    try:
        found = session.get_credentials()
        keys = None if found is None else found.get_frozen_credentials()
        region = session.get_config_variable("region")
        endpoint = session.get_scoped_config().get("endpoint_url")
    except Exception as error:
        raise errors.OptionError(f"botocore finds no credentials for S3: {error}") from error
    return {
        "key": keys.access_key if keys else "",
        "secret": keys.secret_key if keys else "",
        "token": (keys.token if keys else None) or "",
        "region": region or "",
        "endpoint": endpoint or "",
    }


def _files() -> S3Access:
    """Of the environment, then of the files that the AWS tools share."""
    environment = os.environ
    profile = environment.get("AWS_PROFILE", "default")
    found: dict[str, str] = {}
    for variable, name, section in (
        ("AWS_CONFIG_FILE", "config", profile if profile == "default" else f"profile {profile}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile),
    ):
        parser = configparser.RawConfigParser()
        place = os.path.expanduser(environment.get(variable, f"~/.aws/{name}"))
        try:
            parser.read(place)
        except (configparser.Error, UnicodeDecodeError, OSError) as error:
            raise errors.OptionError(f"{place}: {error}") from None
        if parser.has_section(section):
            found |= parser.items(section)
    if "AWS_PROFILE" in environment and not found:
        raise errors.OptionError(f"AWS_PROFILE={profile!r}: neither ~/.aws/credentials nor config has it")
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    if environment.get("AWS_ACCESS_KEY_ID") and environment.get("AWS_SECRET_ACCESS_KEY"):
        found |= {name: environment.get(name.upper(), "") for name in names}
    elif names[0] not in found and _FOR_BOTOCORE & {*found}:
        raise errors.OptionError(f"the profile {profile!r} needs botocore for its keys: pip install botocore")
    key, secret, token = (found.get(name, "") for name in names)
    return {
        "key": key,
        "secret": secret,
        "token": token,
        "region": found.get("region", ""),
        "endpoint": found.get("endpoint_url", ""),
    }
